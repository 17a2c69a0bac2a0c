"""The interface of a QUIC library in Python: its connection, below the applications of quiclab."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Connected(NamedTuple):
    """The handshake is complete at this end: streams may be opened."""


class Received(NamedTuple):
    """Data of a stream have arrived in order; a stream that the peer has opened appears with its first one.

    Attributes
    ----------
    stream
        Identifier of the stream (RFC 9000 section 2.1).
    data
        The bytes.
    end
        Whether nothing more comes.
    """

    stream: int
    data: bytes
    end: bool


class Reset(NamedTuple):
    """The peer has reset a stream."""

    stream: int


class Acknowledged(NamedTuple):
    """All that was written to a stream, and its end, is acknowledged."""

    stream: int


class Writable(NamedTuple):
    """A stream to which `write` took nothing takes data again."""

    stream: int


class Available(NamedTuple):
    """More streams may be opened than before."""


class Datagram(NamedTuple):
    """A DATAGRAM frame has arrived (RFC 9221)."""

    data: bytes


class ClosedByPeer(NamedTuple):
    """The peer's application has ended the connection, without an error."""


class Lost(NamedTuple):
    """The connection has failed."""

    reason: str


Event = Connected | Received | Reset | Acknowledged | Writable | Available | Datagram | ClosedByPeer | Lost


class PythonConnection(Protocol):
    """One end of one connection of a QUIC library, as the event loop and the applications of quiclab call it.

    All times are integer nanoseconds of virtual time. A connection has no clock, no socket and no thread, and draws
    random numbers from the seed of its `EndpointSetup` only: the same calls must give the same datagrams.

    The loop calls `connect` once at a client, `receive` for each datagram that arrives, and `wake` at the time that
    `next_wake` returned. After each of these it takes `events` until there are none, which the application answers by
    opening and writing streams; then `outputs`, then `next_wake`. An exception in any method ends the run.
    """

    def connect(self, now_ns: int) -> None:
        """Begin the handshake (clients only)."""

    def receive(self, now_ns: int, datagram: bytes) -> None:
        """Take a UDP payload that arrives at `now_ns`."""

    def wake(self, now_ns: int) -> None:
        """Handle the timers that are due at `now_ns`; there may be none."""

    def events(self) -> Sequence[Event]:
        """Return what has happened since the last call, in order."""

    def outputs(self, now_ns: int) -> Sequence[bytes]:
        """Return the UDP payloads to send now, in order; IPv4 and UDP headers (28 B) are added."""

    def next_wake(self, now_ns: int) -> int | None:
        """Return the next deadline [ns], or None while only datagrams are awaited."""

    def open(self, bidirectional: bool) -> int | None:
        """Open the next stream of its kind and return its identifier; None if the peer allows no more now."""

    def write(self, stream: int, data: bytes) -> int:
        """Queue data and return how many bytes were taken; 0 once enough wait, until `Writable`.

        An application may have data without end: a library that always takes all ends the run with an error.
        """

    def finish(self, stream: int) -> None:
        """End a stream after what has been written."""

    def reset(self, stream: int) -> None:
        """Abandon a stream: what is queued is not sent (RESET_STREAM)."""

    def set_priority(self, stream: int, priority: int) -> None:
        """Send data of streams with a higher priority first, if the library can."""

    def send_datagram(self, data: bytes) -> int | None:
        """Queue a DATAGRAM frame; if it cannot be sent, return the largest size that can [B]."""

    def waiting_datagram_bytes(self) -> int:
        """Return the bytes of datagrams that wait."""

    def close(self, now_ns: int) -> None:
        """Close the connection without an error."""

    def statistics(self) -> dict[str, float]:
        """Return values over the whole run, by the names that `PythonEndpoint.sample` lists."""

    def sample(self) -> dict[str, float]:
        """Return the current values, as `PythonEndpoint.sample`."""
