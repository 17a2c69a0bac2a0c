"""Processes of this machine, which die with the process that started them."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from multiprocessing import active_children, connection, get_context, parent_process
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from quiclab.errors import RequestError
from quiclab.stacks.registry import register, registered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from quiclab.stacks.protocol import PythonStack

Result = TypeVar("Result")


class WorkerDiedError(Exception):
    """A worker died with the task that it was running, for instance because memory was exhausted."""


class Executor(Protocol):
    """Where tasks run; a context manager, which waits for no task when it is left by an exception.

    Attributes
    ----------
    workers
        Number of tasks that run at a time.
    """

    workers: int

    def __enter__(self) -> Self:
        """Start."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Start a task; its future raises `WorkerDiedError` if its worker dies."""

    def restart(self) -> bool:
        """Replace workers that died; returns whether the tasks of all others are lost with them."""

    def abandon(self) -> None:
        """End all tasks without waiting for them."""


def available_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Worker processes.

    Parameters
    ----------
    workers
        Their number; by default the CPUs that this process may use.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or available_cpus()
        self._stacks: Sequence[PythonStack] = ()
        self._others: set[Any] = set()
        self._needs_script = True
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Start the processes.

        Raises
        ------
        RequestError
            If a registered stack cannot be handed to another process.
        """
        self._others, self._stacks = set(active_children()), registered()
        try:
            self._needs_script = b"__main__" in pickle.dumps(self._stacks)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            message = f"a registered stack is not available to worker processes, which import it: {error}"
            raise RequestError(message) from error
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes, after an exception at once."""
        if kind is not None:
            self.abandon()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Start a task."""
        if self._pool is None:
            raise RuntimeError("the executor is not entered")
        try:
            with nullcontext() if self._needs_script else _without_script():
                return self._pool.submit(function, *arguments)  # starts a process where one is missing
        except BrokenProcessPool as error:
            failed: Future[Result] = Future()
            failed.set_exception(error)
            return failed

    def restart(self) -> bool:
        """Replace the pool: after the death of one process the library uses none of the others.

        It ends them by SIGTERM, which they leave to this process, and waits for them: they are killed first.
        """
        self.abandon()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._start()
        return True

    def abandon(self) -> None:
        """Kill the processes: a worker has nothing on the disk."""
        for process in set(active_children()) - self._others:
            process.kill()

    def _start(self) -> None:
        context = get_context("spawn")
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=context, initializer=_start_worker, initargs=(self._stacks,)
        )


@contextmanager
def _without_script() -> Iterator[None]:
    """Let processes that start now not run the user's script again, which they do to find what it defines.

    So a script needs no `if __name__ == "__main__":`.
    """
    script = sys.modules["__main__"]
    hidden: dict[str, Any] = {
        name: script.__dict__.pop(name) for name in ("__file__", "__spec__") if name in script.__dict__
    }
    script.__spec__ = None
    try:
        yield
    finally:
        script.__dict__.update(hidden)


def _start_worker(stacks: Sequence[PythonStack]) -> None:
    """Take over stacks; leave signals to the parent, and die with it: a killed parent must not leave workers behind.

    `timeout` and schedulers send SIGTERM to all processes. It has a handler, because programs that a worker starts
    inherit an ignored signal.
    """
    for stack in stacks:
        register(stack)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)
    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def follow() -> None:
            connection.wait([sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
