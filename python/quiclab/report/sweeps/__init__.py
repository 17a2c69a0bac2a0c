"""Sweeps from Python, and their figures, files and pages.

| module | subject |
| --- | --- |
| `api` | `quiclab.sweep` |
| `figure`, `crowded` | the figure, chosen by what varies; those with too many settings |
| `difference_map` | the map of a comparison |
| `output` | files and page |
"""

from quiclab.report.sweeps.api import SweepResult, run_plan, sweep

__all__ = ["SweepResult", "run_plan", "sweep"]
