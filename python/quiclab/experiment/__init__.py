"""Experiments: settings with many seeds, whose runs are made, stored and read in one way by sweeps and studies.

| module | subject |
| --- | --- |
| `plan` | settings, and the runs that follow from them |
| `recording` | the columns that are stored of each run |
| `runs` | the runs of a plan as columns: identities, seeds, settings |
| `execute` | runs that are not stored yet are made |
| `kept` | tables of single runs, stored as files |
| `table` | stored runs in the order of the plan, and those that failed |
| `shards` | parts of a plan, for clusters without a daemon |
| `networks` | networks of the kernel lane, measured before runs in real time |
| `own_code` | errors of functions that a study brings |
"""

from __future__ import annotations

from quiclab.experiment.execute import Outcome, check, execute, until
from quiclab.experiment.plan import Plan, Recipe, Task
from quiclab.experiment.recording import Recording
from quiclab.experiment.runs import Runs

__all__ = ["Outcome", "Plan", "Recipe", "Recording", "Runs", "Task", "check", "execute", "until"]
