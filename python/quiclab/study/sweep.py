"""Sweeps: many runs over worker processes, with results that survive a kill.

A run is identified by its resolved scenario, its seed, the versions of what computes it and its other inputs (see
`quiclab.identity`); stored runs are reused.
The table of a sweep is sorted by the sweep's own order, so that it does not depend on the number of workers, on the
order in which runs finished, or on how often the sweep was killed and continued.
"""

from __future__ import annotations

import json
import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from quiclab.errors import QuiclabError
from quiclab.executors import Interrupt, Processes, available_cpus, run_all
from quiclab.failures import note_failures, read_failures
from quiclab.identity import BUILD
from quiclab.libraries import pl
from quiclab.native import build_id
from quiclab.progress import CountProgress
from quiclab.result import NOT_KEPT, TABLES, RunResult
from quiclab.scenario import Scenario
from quiclab.store import Flusher, Store
from quiclab.study.job import Job
from quiclab.study.store import results, schema
from quiclab.study.workers import Outcome, Work, run_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "FLUSH_RUNS",
    "FLUSH_SECONDS",
    "Job",
    "Outcome",
    "available_cpus",
    "check_networks",
    "collect",
    "execute",
    "result_of",
]


FLUSH_SECONDS = 5.0
FLUSH_RUNS = 200


def execute(
    jobs: Sequence[Job],
    directory: Path | Store,
    *,
    title: str = "sweep",
    workers: int | None = None,
    flush_runs: int = FLUSH_RUNS,
    flush_seconds: float = FLUSH_SECONDS,
    on_flush: Callable[[], None] | None = None,
    trial: Callable[[Job, RunResult], None] | None = None,
    stream: TextIO | None = None,
) -> Outcome:
    """Run the jobs that are not stored.

    Parameters
    ----------
    jobs
        All runs of the sweep.
    directory
        Results directory; or its store, which may be locked by the caller already.
    title
        Title of the progress.
    workers
        Number of processes; by default the CPUs this process may use.
    flush_runs, flush_seconds
        A shard is written after this number of runs or this time.
    on_flush
        Called after each shard is on the disk.
    trial
        Called with the first run that ends; an error of it ends the sweep, and keeps the runs that were made.
    stream
        Output stream of progress (default: stderr).

    Raises
    ------
    RequestError
        If the directory cannot be written to or another sweep holds it.
    """
    store = directory if isinstance(directory, Store) else Store(directory)
    with store.locked():
        stored = store.identities()
        pending: dict[str, Job] = {}
        total = set()
        for job in jobs:
            identity = job.identity
            total.add(identity)
            if identity not in stored:
                pending.setdefault(identity, job)
        outcome = Outcome(total=len(total), done=len(total) - len(pending))
        if not pending:
            return outcome
        check_networks(pending.values(), stream or sys.stderr)
        count = min(_workers_for(pending.values(), workers), len(pending))
        with CountProgress(title, outcome.total, outcome.done, stream=stream) as progress:
            flusher = Flusher(store, schema(), flush_runs, flush_seconds, on_flush)
            known, failed, repaired = read_failures(store.directory), dict[str, str](), set[str]()

            def settle(identity: str, job: Job, work: Work) -> None:
                nonlocal trial
                result, series, reason = work
                if result is None:
                    outcome.failures.append((job, reason))
                    failed[identity] = reason
                    progress.line(f"failed: {reason}; replay with: {job.replay}")
                else:
                    outcome.executed += 1
                    outcome.done += 1
                    if identity in known:
                        repaired.add(identity)
                    flusher.add((identity, job.versions, build_id(), result, series))
                    if trial is not None:
                        trial(job, result_of(result, series))
                        trial = None
                progress.advance()

            try:
                with Processes(count) as executor:
                    outcome.interrupted = run_all(
                        executor,
                        pending.items(),
                        run_pending,
                        lambda task, work: settle(*task, work),
                        tick=flusher.flush_if_due,
                        say=progress.line,
                        name=lambda task: task[1].replay,
                    )
            finally:
                with Interrupt() as late:  # what was run is stored, whatever comes now
                    flusher.flush()
                    note_failures(store.directory, failed, repaired)
                outcome.interrupted = outcome.interrupted or late.number
    return outcome


def run_pending(task: tuple[str, Job]) -> Work:
    """Run the job of a task, whose identity is known already."""
    return run_job(task[1])


def check_networks(jobs: Iterable[Job], stream: TextIO) -> None:
    """Measure each network that runs in real time are going to have, once for each lane and network.

    Raises
    ------
    QuiclabError
        If a network does not match: results would be invalid.
    """
    if not any(job.lane is not None and job.lane.clock == "real" for job in jobs):
        return
    from quiclab.calibration.network import calibrate, networks, verdict  # noqa: PLC0415 - for this lane only

    def say(message: str) -> None:
        print(message, file=stream, flush=True)

    seen: set[tuple[object, ...]] = set()
    for job in jobs:
        if job.lane is None or job.lane.clock != "real":
            continue
        plain = json.loads(job.scenario)
        found = {(job.lane.emulation, job.lane.delay_stage, job.base_dir, key) for key in networks(plain)}
        if found <= seen:
            continue
        seen |= found
        checks = calibrate(Scenario.from_dict(plain), job.lane, say, job.base_dir)
        if problem := verdict(checks):
            raise QuiclabError(f"{problem}; no run was started")


def _workers_for(jobs: Iterable[Job], asked: int | None) -> int:
    """Return the number of concurrent runs: one in real time, because runs would disturb each other."""
    in_real_time = any(job.lane is not None and job.lane.clock == "real" for job in jobs)
    return 1 if in_real_time else asked or available_cpus()


def collect(jobs: Sequence[Job], directory: Path) -> pl.DataFrame:
    """Return the stored runs of a sweep in its own order.

    Returns
    -------
    DataFrame
        The labels of the jobs, then `seed`, `identity`, `build`, `digest`, `result` (JSON) and `series` (the time
        series that are kept, as bytes); one row a stored run.
    """
    identities = [job.identity for job in jobs]
    stored = results(Store(directory), set(identities))
    rows = [
        {
            **job.labels,
            "seed": job.seed,
            "identity": identity,
            BUILD: stored[identity][0],
            "digest": str(json.loads(stored[identity][1])["digest"]),
            "result": stored[identity][1],
            "series": stored[identity][2],
        }
        for job, identity in zip(jobs, identities, strict=True)
        if identity in stored
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col("series").cast(pl.Binary)) if rows else frame


def result_of(text: str, series: bytes | None) -> RunResult:
    """Return a stored run, with the time series that were kept of it; to read another table of it is an error."""
    tables: dict[str, Any] = dict.fromkeys(TABLES, NOT_KEPT)
    tables["series"] = pl.DataFrame() if series is None else pl.read_ipc(BytesIO(series))
    return RunResult(RunResult.from_json(text).data, **tables)
