"""Runs a process to its end or to a deadline, reading its output line by line."""

from __future__ import annotations

import fcntl
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Lines that an error can cite.
KEPT_LINES = 60
#: Pipe to the host, so that the guest's console does not wait for a host under load.
PIPE_BYTES = 1 << 20
#: The last message of the kernel, at any log level.
POWER_DOWN = "reboot: Power down"


@dataclass(frozen=True)
class Watched:
    """Result of a process.

    Parameters
    ----------
    lines
        The last lines that it wrote.
    wall_s, cpu_s
        Seconds that it took, and CPU seconds of it and all its descendants.
    ended
        Whether it ended by itself; else it has been killed at the deadline.
    """

    lines: tuple[str, ...]
    wall_s: float
    cpu_s: float
    ended: bool


def watch(
    command: list[str],
    environment: Mapping[str, str],
    timeout_s: float,
    on_line: Callable[[str], None] | None,
    grace_s: float = 0.0,
) -> Watched:
    """Run a command that ends everything it has started when it is killed itself.

    Parameters
    ----------
    command
        It runs at `/`, without input, in a separate session.
    environment
        All of it.
    timeout_s
        Seconds until it is killed.
    on_line
        Is called with each line that it writes.
    grace_s
        Seconds that it has after SIGTERM when the caller is interrupted; none by default.
    """
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        cwd="/",
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 (it is a pipe)

    def take(line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        if text == POWER_DOWN:
            return
        lines.append(text)
        if on_line is not None:
            on_line(text)

    ended = False
    with process.stdout as pipe:
        with suppress(OSError):  # a user may have used up what pipes may hold
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        try:
            ended = _read(pipe, started + timeout_s, take) and _ends(process.pid, started + timeout_s)
        except KeyboardInterrupt:
            if grace_s > 0:
                os.kill(process.pid, signal.SIGTERM)
                ended = _ends(process.pid, time.monotonic() + grace_s)
            raise
        finally:
            if not ended:
                # it has not been waited for, so that its number is still its own
                os.killpg(process.pid, signal.SIGKILL)
                while os.read(pipe.fileno(), PIPE_BYTES):
                    pass  # the pipe ends with the last process of the guest
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    return Watched(tuple(lines), time.monotonic() - started, usage.ru_utime + usage.ru_stime, ended)


def _read(pipe: IO[bytes], deadline: float, take: Callable[[bytes], None]) -> bool:
    """Hand over lines until the pipe ends; returns False at the deadline."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            piece = os.read(pipe.fileno(), PIPE_BYTES)
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole if piece else filter(None, [rest]):
                take(line)
            if not piece:
                return True
    return False


def _ends(pid: int, deadline: float) -> bool:
    """Wait for the end of a process, without taking its status; returns False at the deadline."""
    handle = os.pidfd_open(pid)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            return bool(selector.select(max(0.0, deadline - time.monotonic())))
    finally:
        os.close(handle)
