"""System calls of a program, from `strace`: datagrams per call, buffers, and wait calls.

Only calls on UDP sockets count, which `strace -yy` names as such. What is read:

| line | meaning |
| --- | --- |
| `recvfrom`, `recvmsg` `= N` | a receiving call of one datagram; of more, if N is beyond one (GRO) |
| `recvmmsg(..., 32, ...) = N` | a receiving call of N datagrams that had room for 32 |
| `sendto`, `sendmsg` `= N` | a sending call of one datagram; of more, if N is beyond one (GSO) |
| `sendmmsg(...) = N` | a sending call of N datagrams |
| `... = -1 EAGAIN` | a call that found nothing; its cost is part of that of the others |
| `setsockopt(..., SO_RCVBUF, [N], 4)` | the receive buffer that the program requests |
| `epoll_wait(...) = 0` and similar | a timer that fired, and whether its granularity is a millisecond |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from quiclab.errors import QuiclabError
from quiclab.lane.kernel.programs import found

#: The package that brings the program.
PACKAGE: Final = "strace"
#: Calls that wait with a timeout in whole milliseconds, and those that take nanoseconds (their manual pages).
_MILLISECOND_WAITS: Final = ("epoll_wait", "epoll_pwait", "poll")
_NANOSECOND_WAITS: Final = ("epoll_pwait2", "ppoll", "select", "pselect6")
#: Of Ethernet: less headers of IPv4 and UDP it is the longest payload of one datagram; more in one call are several.
_MAX_PAYLOAD_BYTES: Final = 1500 - 28
#: As strace has it: a call, its arguments, its result.
_CALL: Final = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\d+)")
_RESUMED: Final = re.compile(r"<\.\.\. (\w+) resumed>")
_ROOM: Final = re.compile(r", (\d+), [^,]*, [^,]*$")
_SOCKET: Final = re.compile(r"\d+<UDP(v6)?:")
_SET: Final = re.compile(r"(?:\d+<UDP(?:v6)?:[^,]*>), SOL_SOCKET, SO_RCVBUF(?P<force>FORCE)?, \[(?P<bytes>\d+)\]")


@dataclass
class Direction:
    """Calls of one direction.

    Parameters
    ----------
    calls
        Calls that moved something.
    datagrams
        Datagrams that they moved.
    largest
        Maximum number of datagrams in one of them.
    room
        Maximum number of datagrams that one of them could move; 1 for calls of one message.
    empty
        Calls that moved nothing.
    """

    calls: int = 0
    datagrams: int = 0
    largest: int = 0
    room: int = 1
    empty: int = 0

    def add(self, datagrams: int, room: int = 1) -> None:
        """Count a call."""
        self.calls += 1
        self.datagrams += datagrams
        self.largest = max(self.largest, datagrams)
        self.room = max(self.room, room)

    @property
    def batch(self) -> float:
        """Mean datagrams per call; NaN without calls."""
        return self.datagrams / self.calls if self.calls else float("nan")

    @property
    def most(self) -> int:
        """Maximum number of datagrams per call, as observed: by capacity, or as moved."""
        return max(self.largest, self.room, 1)


@dataclass
class SyscallLog:
    """Results of the system call log of a program.

    Parameters
    ----------
    receive, send
        Calls on UDP sockets.
    receive_buffer
        Size requested with SO_RCVBUF [B]; None if not requested.
    beyond_limit
        Whether it was requested with SO_RCVBUFFORCE, which ignores the limit.
    waits
        Waits that ended by their timeout, by system call.
    """

    receive: Direction = field(default_factory=Direction)
    send: Direction = field(default_factory=Direction)
    receive_buffer: int | None = None
    beyond_limit: bool = False
    waits: dict[str, int] = field(default_factory=dict)

    @property
    def grain_s(self) -> float:
        """Step of its timers [s]: a millisecond if most of its waits that timed out can be set to no less, else 0."""
        coarse = sum(self.waits.get(name, 0) for name in _MILLISECOND_WAITS)
        return 1e-3 if 2 * coarse > sum(self.waits.values()) else 0.0

    @property
    def waits_with(self) -> str:
        """The system call that most of its timers fire in; `none` if none did."""
        return max(self.waits, key=lambda name: self.waits[name]) if self.waits else "none"


def tracer() -> tuple[str, ...]:
    """Return the words before a command that is traced; `{directory}`, `{flow}` and `{role}` stay to be filled in.

    Raises
    ------
    QuiclabError
        If `strace` is missing.
    """
    program = found("strace")
    if program is None:
        raise QuiclabError(
            f"counting system calls requires the program `strace`; `apt-get install {PACKAGE}` installs it"
        )
    waits = ",".join((*_MILLISECOND_WAITS, *_NANOSECOND_WAITS))
    # the filter makes calls that are not traced cost nothing
    options = ["--follow-forks", "--seccomp-bpf", "--quiet=all", "-yy", "-s", "0", "-e", "signal=none"]
    return (
        program,
        *options,
        "-e",
        f"trace=network,{waits}",
        "-o",
        trace_file("{directory}", "{flow}", "{role}"),
        "--",
    )


def trace_file(directory: Path | str, flow: str, role: str) -> str:
    """Return where the trace of an end is: `role` is `server` or `client`."""
    return f"{directory}/{flow}.{role}.strace"


def read_trace(lines: Iterable[str]) -> SyscallLog:
    """Read what `strace -f -yy` wrote.

    Parameters
    ----------
    lines
        Its lines, each with the number of the process before the call.
    """
    trace = SyscallLog()
    for name, arguments, result in _calls(lines):
        if name in _MILLISECOND_WAITS or name in _NANOSECOND_WAITS:
            if result == 0 and not _at_once(name, arguments):
                trace.waits[name] = trace.waits.get(name, 0) + 1
        elif name == "setsockopt":
            asked = _SET.search(arguments)
            if asked is not None and result == 0:
                trace.receive_buffer = max(trace.receive_buffer or 0, int(asked["bytes"]))
                trace.beyond_limit |= asked["force"] is not None
        elif _SOCKET.match(arguments) and (direction := _direction(trace, name)) is not None:
            if result < 0:
                direction.empty += 1
            elif name.endswith("mmsg"):
                room = _ROOM.search(arguments) if name == "recvmmsg" else None
                direction.add(result, int(room[1]) if room else result)
            else:
                # several datagrams in one call have equal size, except the last: this gives a minimum
                direction.add(max(1, -(-result // _MAX_PAYLOAD_BYTES)))
    return trace


def _direction(trace: SyscallLog, name: str) -> Direction | None:
    if name.startswith("recv"):
        return trace.receive
    return trace.send if name.startswith("send") else None


def _at_once(name: str, arguments: str) -> bool:
    """Whether a wait was a look only: its timeout is zero. Of those with a structure none is taken for one."""
    if name not in _MILLISECOND_WAITS:
        return "tv_nsec=0" in arguments and "tv_sec=0" in arguments
    timeout = 3 if name != "poll" else 2
    words = re.sub(r"<[^>]*>|\[[^\]]*\]", "", arguments).split(", ")
    return len(words) > timeout and words[timeout].strip() == "0"


def _calls(lines: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    """Give name, arguments and result of each call; one that another thread's interrupts is put together again."""
    open_calls: dict[str, str] = {}
    for line in lines:
        process, _, text = line.strip().partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            open_calls[process] = text.removesuffix("<unfinished ...>").rstrip()
            continue
        if (resumed := _RESUMED.match(text)) is not None:
            begun = open_calls.pop(process, "")
            text = f"{begun}{text[resumed.end() :]}" if begun.startswith(f"{resumed[1]}(") else ""
        call = _CALL.match(text)
        if call is not None:
            yield call["name"], call["arguments"].strip(), int(call["result"])
