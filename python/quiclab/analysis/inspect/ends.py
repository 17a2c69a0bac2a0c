"""One endpoint of a connection as the report shows it, from any source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from quiclab._base.libraries import np
from quiclab.analysis.inspect.columns import Integers

Samples: TypeAlias = tuple[Integers, Integers]
"""Times [µs] and values of a metric, in the unit of `METRICS`."""

METRICS = {
    "cwnd_bytes": 1,
    "in_flight_bytes": 1,
    "ssthresh_bytes": 1,
    "srtt_ms": 1000,
    "latest_rtt_ms": 1000,
    "min_rtt_ms": 1000,
    "pacing_rate_mbps": 1000,
}
"""Metrics over time, and by what each is multiplied to be an integer: bytes, µs, kbit/s."""

ZERO_RTT, ONE_RTT = 2, 3
"""Packet number spaces of application data, as in qlog."""
NO_SPACE = 4
"""Code of the packet number space where there is none: 0 Initial, 1 Handshake, 2 0-RTT, 3 1-RTT, as in qlog."""


ACK_BYTES = 80
"""Packet records do not have contents. IP packets up to this have little or no data: headers of IPv4 (20 B) and TCP
(20 B and at most 40 B of options), or of IPv4, UDP and QUIC with tag (about 55 B) and a short ACK frame."""
LITTLE, UNKNOWN = f"little or no data (at most {ACK_BYTES} B)", "contents not known"
"""Contents of such packets of TCP, and of all packets of QUIC that are known from packet records only."""


def none() -> Integers:
    """Return no numbers."""
    return np.zeros(0, dtype=np.int64)


@dataclass
class Packets:
    """Packets that an endpoint has sent, or received, in the order of time.

    Attributes
    ----------
    time_us, number, space, size_bytes, path
        One value for each packet; `space` 0 Initial, 1 Handshake, 2 0-RTT, 3 1-RTT, or `NO_SPACE`. `path` is the path
        ID of Multipath QUIC, otherwise 0: each path has packet numbers of its own.
    frames
        Its contents: an index into `contents`.
    contents
        Texts such as `ack+stream`.
    """

    time_us: Integers = field(default_factory=none)
    number: Integers = field(default_factory=none)
    space: Integers = field(default_factory=none)
    size_bytes: Integers = field(default_factory=none)
    frames: Integers = field(default_factory=none)
    contents: list[str] = field(default_factory=list)
    path: Integers = field(default_factory=none)

    def __post_init__(self) -> None:
        """Let packets without paths be of path 0."""
        if len(self.path) != len(self.time_us):
            self.path = np.zeros(len(self.time_us), dtype=np.int64)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.time_us)


@dataclass
class End:
    """An endpoint of a connection.

    Attributes
    ----------
    role
        `client`, `server`, `network` or `unknown`.
    sent, received
        Its packets; `complete` if the reader omitted none.
    lost
        Time [µs], number, space and path of the packets that it declared lost; number -1 where it is not known.
    acks
        Time [µs] of each acknowledgement that arrived, and `acks_are`: the largest number acknowledged, or how many
        packets have been acknowledged so far; `acks_complete` if the reader omitted none, and all are of one path.
    metrics
        Samples of each metric of `METRICS` that is known.
    credit
        Changes of flow control [µs]: 0 a limit was raised, 1 the credit of the connection is used up, 2 that of a
        stream.
    phases
        When the congestion control changed its state [µs], and to which.
    streams
        As the reader of qlog gives them.
    frame_kinds
        Kind of frame -> number and bytes; empty where contents are not known.
    rest, contents_note
        Labels of bytes outside of all kinds, and of all bytes.
    sizes
        Size of packets [B] -> number sent, number received.
    parameters
        Transport parameters by whose they are: `local`, `remote` or `unknown`.
    facts
        Numbers of the overview, by name.
    notes
        Messages about omitted data.
    drops
        Packets that the network dropped: their number -> time [µs] and element; `None` if unknown.
    ends_us
        Where the recording ends although the endpoint goes on [µs]; `None` if it does not.
    whole_us
        First and last instant of its recording [µs], where only a part may have been read: a part begins with the
        values that hold then, also after the end; `None` if all was read. Tables of the run, which are read whole, add
        to it with `cover`.
    offset_us
        By how much its times have been shifted.
    """

    role: str
    sent: Packets = field(default_factory=Packets)
    received: Packets = field(default_factory=Packets)
    complete: bool = True
    lost: tuple[Integers, Integers, Integers, Integers] = field(
        default_factory=lambda: (none(), none(), none(), none())
    )
    acks: Samples = field(default_factory=lambda: (none(), none()))
    acks_are: str = "number"
    acks_complete: bool = True
    credit: Samples = field(default_factory=lambda: (none(), none()))
    ends_us: int | None = None
    metrics: dict[str, Samples] = field(default_factory=dict)
    phases: list[tuple[int, str]] = field(default_factory=list)
    streams: list[dict[str, Any]] = field(default_factory=list)
    frame_kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    rest: str = "headers, tags, and frames without a length"
    contents_note: str = "QUIC packets in both directions; UDP and IP headers (28 B a datagram) are not counted."
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    drops: dict[int, tuple[int, str]] | None = None
    whole_us: tuple[int, int] | None = None
    offset_us: int = 0

    @property
    def first_us(self) -> int | None:
        """When something happens first [µs]."""
        if self.whole_us is not None:
            return self.whole_us[0]
        times = [times[0] for times in self._times() if len(times)]
        return int(min(times)) if times else None

    @property
    def last_us(self) -> int | None:
        """When something happens last [µs]."""
        if self.whole_us is not None:
            return self.whole_us[1]
        times = [times[-1] for times in self._times() if len(times)]
        return int(max(times)) if times else None

    def cover(self, times: Integers) -> None:
        """Let its recording have further times, in order, of something that was read whole."""
        if self.whole_us is not None and len(times):
            first, last = self.whole_us
            self.whole_us = min(first, int(times[0])), max(last, int(times[-1]))

    def _times(self) -> list[Integers]:
        own = [self.sent.time_us, self.received.time_us, self.lost[0], self.acks[0]]
        return own + [times for times, _ in self.metrics.values()]

    def shift(self, offset_us: int) -> None:
        """Move all times; those of `streams`, which stay as they were read, when they are shown."""
        self.offset_us += offset_us
        self.sent.time_us = self.sent.time_us + offset_us
        self.received.time_us = self.received.time_us + offset_us
        self.lost = (self.lost[0] + offset_us, *self.lost[1:])
        self.acks = (self.acks[0] + offset_us, self.acks[1])
        self.metrics = {name: (times + offset_us, values) for name, (times, values) in self.metrics.items()}
        self.credit = (self.credit[0] + offset_us, self.credit[1])
        self.ends_us = None if self.ends_us is None else self.ends_us + offset_us
        self.whole_us = None if self.whole_us is None else (self.whole_us[0] + offset_us, self.whole_us[1] + offset_us)
        self.phases = [(time + offset_us, state) for time, state in self.phases]
