"""Executors: where the runs of a sweep or a study are made.

| module | runs on |
| --- | --- |
| `processes` | processes of this machine |
| `ray` | nodes of a Ray cluster |
| `loop` | feeds an executor with batches of tasks, and takes their results |

An executor is a context manager with `workers` and `submit`; `executor_of` reads the value of `--executor`.
"""

from __future__ import annotations

from quiclab.errors import RequestError, nearest, unexpected
from quiclab.experiment.executors.loop import Interrupt, run_batches
from quiclab.experiment.executors.processes import Executor, Processes, WorkerDiedError, available_cpus


def executor_of(text: str, workers: int | None = None) -> Executor:
    """Return the executor that `--executor` names.

    Parameters
    ----------
    text
        `processes`, or the address of a Ray cluster: `ray`, `ray:HOST:PORT` or `ray://HOST:PORT`.
    workers
        Number of processes (default: one per CPU).

    Raises
    ------
    RequestError
        If there is no such executor, or Ray is not installed.
    """
    if text == "processes":
        return Processes(workers)
    if text != "ray" and not text.startswith("ray:"):
        suggestion = nearest(text, ("processes", "ray"))
        hint = f"did you mean `{suggestion}`?" if suggestion else ""
        raise unexpected("--executor", "`processes`, `ray`, `ray:HOST:PORT` or `ray://HOST:PORT`", text, hint)
    if workers is not None:
        raise RequestError("--jobs and --executor ray contradict each other: the cluster knows its CPUs")
    from quiclab.experiment.executors.ray import Ray  # noqa: PLC0415 - needs an extra of the package

    return Ray(text)


__all__ = [
    "Executor",
    "Interrupt",
    "Processes",
    "WorkerDiedError",
    "available_cpus",
    "executor_of",
    "run_batches",
]
