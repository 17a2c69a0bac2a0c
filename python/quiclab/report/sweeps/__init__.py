"""Sweeps from Python, and their figures, files and pages.

| module | subject |
| --- | --- |
| `api` | `quiclab.sweep` |
| `layout` | kinds of figures, and the one that what varies asks for |
| `figure`, `named` | the figure: over numbers, and of names |
| `axes`, `labels`, `crowded` | what figures share; texts in place of names; those with too many settings |
| `difference_map` | the map of a comparison |
| `output` | files and page |
"""

from quiclab.report.sweeps.api import SweepResult, run_plan, sweep

__all__ = ["SweepResult", "run_plan", "sweep"]
