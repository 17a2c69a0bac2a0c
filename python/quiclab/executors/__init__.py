"""Executors: where the runs of a sweep or a study are made.

| module | runs on |
| --- | --- |
| `processes` | processes of this machine |
| `loop` | feeds an executor with batches of tasks, and takes their results |

An executor is a context manager with `workers` and `submit`; `executor_of` reads the value of `--executor`.
"""

from __future__ import annotations

from quiclab.executors.loop import Interrupt, run_all
from quiclab.executors.processes import Executor, Processes, WorkerDiedError, available_cpus

__all__ = ["Executor", "Interrupt", "Processes", "WorkerDiedError", "available_cpus", "run_all"]
