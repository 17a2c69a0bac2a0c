"""Feeds an executor with batches of tasks, and takes their results.

Tasks are handed over in batches of about `batch_s`, by the time that finished ones took: many short tasks cost no more
than their own time, and a worker that dies costs little. Results do not depend on batches or workers.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from quiclab._base.termination import is_taken_over
from quiclab.errors import QuiclabError
from quiclab.experiment.executors.processes import WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from quiclab.experiment.executors.processes import Executor

Task = TypeVar("Task")
Result = TypeVar("Result")

BATCH_S: Final = 0.5
#: What a batch takes in addition for each worker: handing one over costs this process about a millisecond [s].
BATCH_S_PER_WORKER: Final = 0.002
MAX_BATCH: Final = 10_000
POLL_S: Final = 0.25
#: Times that a batch is tried when the worker that runs it dies.
TRIES: Final = 3


class Interrupt:
    """Counts Ctrl-C, so that it never cuts a result in two; a third one acts as usual.

    SIGTERM, of `kill` and of schedulers of jobs, which soon send SIGKILL, counts as two: runs in progress are
    abandoned. Only in commands: where quiclab is a library, SIGTERM is the caller's. An ignored Ctrl-C stays ignored.

    Attributes
    ----------
    count
        How often Ctrl-C was pressed.
    number
        The last signal; 0 if there was none.
    """

    count = 0
    number = 0

    def __enter__(self) -> Self:
        """Take over the signals, in the main thread."""
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
                self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._request)
            if is_taken_over():
                self._before[signal.SIGTERM] = signal.signal(signal.SIGTERM, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _request(self, number: int, frame: object) -> None:
        del frame
        self.number = number
        self.count = max(2, self.count) if number == signal.SIGTERM else self.count + 1
        if self.count > 2:
            raise KeyboardInterrupt


def batch_s(workers: int) -> float:
    """Return how long a batch takes at least, with a number of workers [s]."""
    return BATCH_S + BATCH_S_PER_WORKER * workers


class _Batches(Generic[Task]):
    """Cuts tasks into batches of about the same duration."""

    def __init__(self, tasks: Iterable[Task], workers: int) -> None:
        self._tasks = iter(tasks)
        self._task_s = self._batch_s = batch_s(workers)

    def next(self) -> list[Task]:
        """Return the next batch; empty at the end."""
        size = max(1, min(MAX_BATCH, int(self._batch_s / self._task_s))) if self._task_s > 0 else MAX_BATCH
        return list(islice(self._tasks, size))

    def took(self, count: int, seconds: float) -> None:
        """Learn from a finished batch; recent ones count most."""
        self._task_s += (seconds / count - self._task_s) / 2


def timed(work: Callable[[Any], Result], batch: object) -> tuple[Result, float]:
    """Run a batch; also returns the time that it took [s]."""
    begin = time.perf_counter()
    return work(batch), time.perf_counter() - begin


@dataclass
class _Running(Generic[Task]):
    """A batch that an executor has."""

    tasks: Sequence[Task]
    tries: int = 1


def run_batches(
    executor: Executor,
    tasks: Iterable[Task],
    pack: Callable[[Sequence[Task]], object],
    work: Callable[[Any], Result],
    settle: Callable[[Sequence[Task], Result], None],
    *,
    tick: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda _: None,
    name: Callable[[Task], str] = str,
) -> int:
    """Run all tasks batch by batch; returns the signal that ended it before, or 0.

    Parameters
    ----------
    executor
        Where; entered already.
    tasks
        The tasks, which are taken as they are needed.
    pack
        From the tasks of a batch to what crosses to a worker.
    work
        Runs a packed batch, in a worker.
    settle
        Called with the tasks of each batch and its result, in the order in which they end.
    tick
        Called several times a second.
    say
        Called with messages for the user.
    name
        Names a task for the user.

    Raises
    ------
    QuiclabError
        If a worker dies again and again with the same batch.
    """
    batches, running, again = (
        _Batches(tasks, executor.workers),
        dict[Future[tuple[Result, float]], _Running[Task]](),
        deque[_Running[Task]](),
    )

    alone = False

    def submit() -> None:
        # a few more than there are workers, so that none waits, and few enough that Ctrl-C ends soon; one by one where
        # the death of a worker has ended several batches, so that the next death shows which one kills
        while len(running) < (1 if alone and again else executor.workers + 1):
            batch = again.popleft() if again else _Running(batches.next())
            if not batch.tasks:
                return
            running[executor.submit(timed, work, pack(batch.tasks))] = batch

    with Interrupt() as interrupt:
        stopping = False
        submit()
        while running:
            finished, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
            died = False
            for future in finished:
                batch = running.pop(future)
                if future.cancelled():
                    continue
                try:
                    result, seconds = future.result()
                except (BrokenProcessPool, WorkerDiedError) as error:
                    died = True
                    again += _halves(batch, error, name)
                    continue
                batches.took(len(batch.tasks), seconds)
                settle(batch.tasks, result)
            if interrupt.count > 1:  # first: what has sent it may have sent it to the workers, too
                tick()
                executor.abandon()
                return interrupt.number
            if died:
                say("a worker died; its runs are made again")
                alone = executor.restart()
                if alone:
                    again += [_Running(batch.tasks, batch.tries) for batch in running.values()]
                    running.clear()
            tick()
            if not interrupt.count:
                submit()
            elif not stopping:
                stopping = True
                say("stopping: waiting for the runs under way; press Ctrl-C again to leave them")
                for future in running:
                    future.cancel()
        return interrupt.number


def _halves(batch: _Running[Task], error: Exception, name: Callable[[Task], str]) -> list[_Running[Task]]:
    """Return a batch in two parts, so that a task that kills its worker is soon alone.

    Raises
    ------
    QuiclabError
        If it is alone and has killed its worker several times.
    """
    if len(batch.tasks) > 1:
        middle = len(batch.tasks) // 2
        return [_Running(batch.tasks[:middle]), _Running(batch.tasks[middle:])]
    if batch.tries >= TRIES:
        raise QuiclabError(
            f"a worker process died {TRIES} times with the same run (out of memory?): {name(batch.tasks[0])}; "
            "completed runs are stored, repeat the command to continue"
        ) from error
    return [_Running(batch.tasks, batch.tries + 1)]
