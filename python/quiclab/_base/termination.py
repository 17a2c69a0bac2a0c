"""SIGTERM, of `kill` and of schedulers of jobs, in commands: it ends them as Ctrl-C does.

Only `quiclab.cli.main` takes it over. A script that uses quiclab as a library keeps its own handler, or none.
"""

from __future__ import annotations

import signal

#: Whether the command has received it.
_received = [False]


def take_over() -> None:
    """Let SIGTERM end this command as Ctrl-C does, unless it is ignored or has a handler."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def is_taken_over() -> bool:
    """Return whether SIGTERM ends this process as Ctrl-C does."""
    return signal.getsignal(signal.SIGTERM) is _end


def was_received() -> bool:
    """Return whether SIGTERM has ended this command."""
    return _received[0]


def _end(number: int, frame: object) -> None:
    """Raise what Ctrl-C raises."""
    del number, frame
    _received[0] = True
    raise KeyboardInterrupt
