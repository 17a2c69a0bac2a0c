"""Runs over worker processes: one shard after another reaches the disk, Ctrl-C included."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from multiprocessing import active_children, connection, get_context, parent_process
from typing import TYPE_CHECKING, TypeAlias

from quiclab.errors import QuiclabError, RequestError
from quiclab.libraries import pl
from quiclab.progress import CountProgress
from quiclab.result import RunResult, run_and_keep
from quiclab.scenario import Scenario
from quiclab.series import by_flow
from quiclab.stacks.registry import register, registered
from quiclab.study.job import Job
from quiclab.study.store import Row, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from quiclab.stacks.protocol import PythonStack

INTERRUPT_POLL_S = 0.25
Work: TypeAlias = "tuple[str | None, bytes | None, str]"
"""Result as JSON and its series, or `None` and why there is none."""


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


class Flusher:
    """Collects finished runs and writes them as shards."""

    def __init__(self, store: Store, runs: int, seconds: float, on_flush: Callable[[], None] | None) -> None:
        self.store, self.runs, self.seconds, self.on_flush = store, runs, seconds, on_flush
        self.rows: list[Row] = []
        self.last = time.monotonic()

    def add(self, row: Row) -> None:
        """Take a finished run; writes a shard if there are enough."""
        self.rows.append(row)
        if len(self.rows) >= self.runs:
            self.flush()

    def flush_if_due(self) -> None:
        """Write results that have waited long enough, even if no further run ends."""
        if time.monotonic() - self.last >= self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write all results that are not on the disk."""
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


def run_all(
    pending: Mapping[str, Job], workers: int, outcome: Outcome, progress: CountProgress, flusher: Flusher
) -> None:
    """Run the jobs in worker processes; results go to `flusher`, counts and failures to `outcome`."""
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
