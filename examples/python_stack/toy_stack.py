"""A transport of one's own as a stack of quiclab: stop-and-wait, with one datagram in flight.

The client sends a request until data arrives; the server sends numbered data, and each again until it is acknowledged.
"""

import struct
from collections.abc import Mapping
from typing import Any

from quiclab.stacks import EndpointSetup, OptionError, PythonStack, StackOption

HEADER = struct.Struct("!cI")  # kind, and number of the data
REQUEST, DATA, LAST, ACK = b"R", b"D", b"L", b"A"


class Endpoint:
    """One end of a download."""

    def __init__(self, setup: EndpointSetup) -> None:
        self._data_size = setup.options.get("datagram_size", 1200) - HEADER.size
        self._timeout_ns: int = setup.options.get("initial_rtt", 200_000_000)
        self._start_ns = setup.start_ns
        self._end_ns = setup.start_ns + setup.workload.get("duration", 1 << 62)
        self._left: int = setup.workload.get("size", 1 << 62)
        self._number = self._delivered = 0  # number of the data in flight (server), or expected (client)
        self._unanswered = b"" if setup.server else HEADER.pack(REQUEST, 0)
        self._deadline = None if setup.server else setup.start_ns
        self._out: list[bytes] = []
        self._finished: int | None = None

    def receive(self, now_ns: int, datagram: bytes) -> None:
        """Take a UDP payload that arrives at `now_ns`."""
        kind, number = HEADER.unpack_from(datagram)
        if kind == REQUEST and not self._unanswered and self._finished is None:
            self._send_data(now_ns)
        elif kind == ACK and number == self._number and self._finished is None:
            self._number += 1
            if self._unanswered.startswith(LAST):
                self._deadline, self._finished = None, now_ns
            else:
                self._send_data(now_ns)
        elif kind in {DATA, LAST}:
            self._out.append(HEADER.pack(ACK, number))
            self._deadline = None
            if number == self._number and self._finished is None:
                self._number += 1
                self._delivered += len(datagram) - HEADER.size
                self._finished = now_ns if kind == LAST else None

    def wake(self, now_ns: int) -> None:
        """Send what was not answered in time; the first time, send the request."""
        self._out.append(self._unanswered)
        self._deadline = now_ns + self._timeout_ns

    def _send_data(self, now_ns: int) -> None:
        size = min(self._data_size, self._left)
        self._left -= size
        kind = LAST if self._left == 0 or now_ns >= self._end_ns else DATA
        self._unanswered = HEADER.pack(kind, self._number) + bytes(size)
        self.wake(now_ns)

    def outputs(self) -> list[bytes]:
        """Return the UDP payloads to send now, and forget them."""
        out, self._out = self._out, []
        return out

    def next_wake(self) -> int | None:
        """Return when the datagram in flight is sent again [ns]."""
        return self._deadline

    def progress(self) -> tuple[int | None, int | None, int, bool]:
        """Return start and finish [ns], bytes delivered, and that it does not fail: it tries for ever."""
        return self._start_ns, self._finished, self._delivered, False

    def statistics(self) -> dict[str, float]:
        """Return no metrics."""
        return {}

    sample = statistics


def validate(options: Mapping[str, Any]) -> None:
    """Refuse datagrams that no Ethernet packet holds."""
    size = options.get("datagram_size", 1200)
    if size > 1472:
        raise OptionError("datagram_size", f"{size} B", "at most 1472 B")


STACK = PythonStack(
    name="toy",
    version="1.0",
    description="Stop-and-wait over UDP, one datagram in flight",
    protocol="udp",
    proprietary=True,
    endpoint=Endpoint,
    validate=validate,
    options=(
        StackOption("datagram_size", "UDP payload of a full datagram", "1200 B", "toy_stack.py"),
        StackOption("initial_rtt", "time until a datagram is sent again", "200 ms", "toy_stack.py"),
    ),
)
