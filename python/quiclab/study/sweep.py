"""Sweeps: many runs over worker processes, with results that survive a kill.

A run is identified by its resolved scenario, its seed, the build of the engine and its other inputs (see
`inputs`); stored runs are reused.
The table of a sweep is sorted by the sweep's own order, so that it does not depend on the number of workers, on the
order in which runs finished, or on how often the sweep was killed and continued.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

from quiclab.errors import QuiclabError, RequestError
from quiclab.libraries import pl
from quiclab.native import build_id
from quiclab.progress import CountProgress
from quiclab.result import RunResult, run_and_keep
from quiclab.scenario import Scenario
from quiclab.series import by_flow
from quiclab.stacks.registry import register, registered
from quiclab.study.inputs import fingerprint, source_of
from quiclab.study.store import Row, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from quiclab.lane.run import Lane
    from quiclab.result import Keep
    from quiclab.stacks.protocol import PythonStack

FLUSH_SECONDS = 5.0
FLUSH_RUNS = 200
INTERRUPT_POLL_S = 0.25

Work: TypeAlias = "tuple[str | None, bytes | None, str]"
"""Result as JSON and its series, or `None` and why there is none."""


@dataclass(frozen=True)
class Job:
    """One run of a sweep.

    Attributes
    ----------
    labels
        Columns that identify the setting.
    scenario
        The resolved scenario as JSON.
    seed
        Seed of the run.
    replay
        The command that repeats this run alone.
    base_dir
        Directory that files named in the scenario are relative to.
    lane
        How it runs in the kernel lane; None for the sim lane.
    series
        Metrics of time series that are kept with the result.
    keep
        The function that processes the recordings of a run.
    """

    labels: Mapping[str, str | int | float]
    scenario: str
    seed: int
    replay: str
    base_dir: str = "."
    lane: Lane | None = None
    series: tuple[str, ...] = ()
    keep: Keep | None = None

    @property
    def identity(self) -> str:
        """128-bit hash over resolved scenario, seed, builds and other inputs; 32 hexadecimal digits.

        The function that processes recordings is also an input: its code determines the stored data.
        """
        scenario = json.loads(self.scenario)
        canonical = json.dumps(scenario, sort_keys=True, separators=(",", ":"))
        builds = [build_id()] if self.lane is None else self.lane.identity(scenario)
        lines = [canonical, str(self.seed), *builds, *fingerprint(scenario, Path(self.base_dir)), *self.series]
        if self.keep is not None:
            lines.append(f"{self.keep.__module__}.{self.keep.__qualname__} {source_of(self.keep, 'keep')}")
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


@dataclass
class Outcome:
    """The outcome of a sweep.

    Attributes
    ----------
    total
        Runs of the sweep.
    done
        Runs that are stored now.
    executed
        Runs made by this call.
    failures
        Job and reason of each run that failed.
    interrupted
        Whether Ctrl-C ended it.
    """

    total: int
    done: int
    executed: int = 0
    failures: list[tuple[Job, str]] = field(default_factory=list)
    interrupted: bool = False


def execute(
    jobs: Sequence[Job],
    directory: Path | Store,
    *,
    title: str = "sweep",
    workers: int | None = None,
    flush_runs: int = FLUSH_RUNS,
    flush_seconds: float = FLUSH_SECONDS,
    on_flush: Callable[[], None] | None = None,
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
            flusher = _Flusher(store, flush_runs, flush_seconds, on_flush)
            try:
                _run_all(pending, count, outcome, progress, flusher)
            finally:
                flusher.flush()
    return outcome


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


def available_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def collect(jobs: Sequence[Job], directory: Path) -> pl.DataFrame:
    """Return the stored runs of a sweep in its own order.

    Returns
    -------
    DataFrame
        The labels of the jobs, then `seed`, `identity`, `digest`, `result` (JSON) and `series` (the time series that
        are kept, as bytes); one row a stored run.
    """
    identities = [job.identity for job in jobs]
    results = Store(directory).results(set(identities))
    rows = [
        {
            **job.labels,
            "seed": job.seed,
            "identity": identity,
            "digest": str(json.loads(results[identity][0])["digest"]),
            "result": results[identity][0],
            "series": results[identity][1],
        }
        for job, identity in zip(jobs, identities, strict=True)
        if identity in results
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col("series").cast(pl.Binary)) if rows else frame


def result_of(text: str, series: bytes | None) -> RunResult:
    """Return a stored run, with the time series that were kept of it."""
    result = RunResult.from_json(text)
    return result if series is None else replace(result, series=pl.read_ipc(BytesIO(series)))


def _kept(result: RunResult, metrics: tuple[str, ...]) -> bytes | None:
    """Return the time series of some metrics as bytes."""
    if not metrics or result.series.is_empty():
        return None
    buffer = BytesIO()
    names = pl.col(pl.Categorical).cast(pl.String)
    tables = [result.series.with_columns(names), by_flow(result)]
    kept = pl.concat([table.filter(pl.col("metric").is_in(metrics)) for table in tables if not table.is_empty()])
    kept.write_ipc(buffer, compression="zstd")
    return buffer.getvalue()


class _Interrupt:
    """Counts Ctrl-C, so that it never cuts a shard or a result in two; a third one acts as usual."""

    count = 0

    def __enter__(self) -> _Interrupt:
        self._before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._before)

    def _request(self, number: int, frame: object) -> None:
        del number, frame
        self.count += 1
        if self.count > 2:
            raise KeyboardInterrupt


class _Flusher:
    """Collects finished runs and writes them as shards."""

    def __init__(self, store: Store, runs: int, seconds: float, on_flush: Callable[[], None] | None) -> None:
        self.store, self.runs, self.seconds, self.on_flush = store, runs, seconds, on_flush
        self.rows: list[Row] = []
        self.last = time.monotonic()

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if len(self.rows) >= self.runs:
            self.flush()

    def flush_if_due(self) -> None:
        """Write results that have waited long enough, even if no further run ends."""
        if time.monotonic() - self.last >= self.seconds:
            self.flush()

    def flush(self) -> None:
        self.last = time.monotonic()
        if not self.rows:
            return
        self.store.append(self.rows)
        # only now: a disk that was full for a moment must not lose them
        self.rows = []
        if self.on_flush is not None:
            self.on_flush()


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start worker processes; an early end of the sweep also ends them, without waiting for their runs."""
    others, stacks = set(active_children()), registered()
    try:
        pickle.dumps(stacks)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        message = f"a registered stack is not available to worker processes, which import it: {error}"
        raise RequestError(message) from error
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(stacks,))
    try:
        yield pool
    except BaseException:
        for process in set(active_children()) - others:
            process.kill()  # a worker has nothing on the disk
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _run_all(
    pending: Mapping[str, Job], workers: int, outcome: Outcome, progress: CountProgress, flusher: _Flusher
) -> None:
    queue = iter(pending.items())
    running: dict[Future[Work], tuple[str, Job]] = {}

    def submit(pool: ProcessPoolExecutor) -> None:
        # a few more than there are workers, so that none waits, and few enough that Ctrl-C ends soon
        while len(running) < workers + 1 and (item := next(queue, None)) is not None:
            identity, job = item
            running[pool.submit(_work, job)] = (identity, job)

    def settle(futures: set[Future[Work]]) -> None:
        for future in futures:
            identity, job = running.pop(future)
            if future.cancelled():
                continue
            result, series, reason = future.result()
            if result is None:
                outcome.failures.append((job, reason))
                progress.line(f"failed: {reason}; replay with: {job.replay}")
            else:
                outcome.executed += 1
                outcome.done += 1
                flusher.add((identity, result, series))
            progress.advance()

    try:
        with _Interrupt() as interrupt, _workers(workers) as pool:
            submit(pool)
            while running:
                finished, _ = wait(running, timeout=INTERRUPT_POLL_S, return_when=FIRST_COMPLETED)
                settle(finished)
                flusher.flush_if_due()
                if interrupt.count > 1:
                    raise _Abandoned
                if not interrupt.count:
                    submit(pool)
                elif not outcome.interrupted:
                    outcome.interrupted = True
                    progress.line("stopping: waiting for the runs under way; press Ctrl-C again to leave them")
                    for future in running:
                        future.cancel()
    except _Abandoned:
        outcome.interrupted = True
    except BrokenProcessPool as error:
        raise QuiclabError(
            "a worker process died (out of memory?); completed runs are stored, repeat the command to continue"
        ) from error


class _Abandoned(Exception):  # noqa: N818 - a wish of the user
    """Ctrl-C was pressed twice: do not wait for running jobs."""


def _start_worker(stacks: Sequence[PythonStack]) -> None:
    """Take over stacks; leave Ctrl-C to the parent, and die with it: a killed parent must not leave workers behind."""
    for stack in stacks:
        register(stack)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def follow() -> None:
            connection.wait([sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def _work(job: Job) -> Work:
    """Run once; returns the result as JSON and the series to keep, or `None` and the reason."""
    parsed = Scenario.from_dict(json.loads(job.scenario))
    try:
        result = run_and_keep(parsed, job.seed, job.base_dir, job.keep, job.lane)
    except QuiclabError as error:
        return None, None, error.message
    if problem := result.invalid_reason:
        return None, None, problem
    for name, flow in result.flows.items():
        if flow.failed:
            reason = f": {flow.failure}" if flow.failure else ""
            return None, None, f"flow `{name}` failed after {flow.delivered_bytes} bytes{reason}"
        if not flow.completed and parsed.until in (None, "workloads_done"):
            return None, None, f"flow `{name}` did not finish within {parsed.duration}"
    return result.to_json(), _kept(result, job.series), ""
