"""Sweeps: a scenario over the levels of some factors, with many seeds, from nothing to tables.

| module | subject |
| --- | --- |
| `factors` | `--vary PATH=VALUES`: factors and their levels |
| `design` | which combinations of levels run: all, levels in step, or a random design |
| `metrics` | what is measured in each run |
| `plan` | scenario, design, seeds and metrics, and the runs that follow from them |
| `plan_file` | the plan as a file, for shards |
| `adaptive` | more seeds where intervals are wide |
| `session` | a sweep in progress: checked, run, read |
| `table` | one row a run; one row a setting, with 95 % intervals |
| `tables` | these with their plan, and what a reader must know |

`quiclab.report.sweeps` has what is made of them: figures, files and page, and `quiclab.sweep`.
"""

from __future__ import annotations

from quiclab.experiment.sweeps.plan import Plan

__all__ = ["Plan"]
