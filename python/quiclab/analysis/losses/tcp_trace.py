"""Event log of a TCP sender, from the captures of both ends of a flow and the recovery events of its qlog file.

TCP has no event that names what is lost. When the counter of lost segments increases by N, N segments have been
declared lost;
the retransmissions that follow identify them, in their order. A retransmission without such a count before it is a tail
loss probe.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.analysis.losses.events import AckReceived, Lost, SenderLog, Sent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quiclab.analysis.losses.events import Range

TOLD = "the counter of lost segments (qlog), and the retransmissions that follow it (capture)"
EPOCH_NS = 946_684_800 * 10**9
ENHANCED_PACKET, OUTBOUND = 6, 2
FLAGS, PACKET_ID = 2, 5
SYN, ACK = 0x02, 0x10
TIMESTAMPS, SACK = 8, 5
AT_ONCE_MS = 1e-3
HANDSHAKE = -1
"""Number of the SYN, which is none of the segments with data."""


@dataclass(frozen=True)
class Segment:
    """A TCP segment of a capture."""

    time_ns: int
    outbound: bool
    identity: int
    sequence: int
    acknowledged: int
    flags: int
    payload: int
    blocks: tuple[Range, ...]
    stamp: tuple[int, int] | None

    @property
    def time_ms(self) -> float:
        """When it passed."""
        return self.time_ns / 1e6


def read(directory: Path, flow: str) -> SenderLog:
    """Read the trace of a flow's sender; `directory` has the captures and qlog files of both ends."""
    trace = SenderLog(told=TOLD)
    segments = list(_capture(directory / f"{flow}.sender.pcapng"))
    arrived = {item.identity for item in _capture(directory / f"{flow}.receiver.pcapng") if not item.outbound}
    offset = next((item.stamp[0] - int(item.time_ms) for item in segments if item.outbound and item.stamp), 0)
    numbers: dict[int, int] = {}
    for item in segments:
        if item.outbound and item.flags & SYN:
            # for the RTT of the handshake; SYN takes a position
            span = (item.sequence, item.sequence + 1)
            trace.events.append(Sent(item.time_ms, HANDSHAKE, span, space="handshake"))
        elif item.outbound and item.payload:
            again = item.sequence in numbers
            number = numbers.setdefault(item.sequence, len(numbers))
            span = (item.sequence, item.sequence + item.payload)
            trace.events.append(Sent(item.time_ms, number, span, again=again))
            if item.identity in arrived:
                trace.arrived.add((number, item.time_ms))
        elif not item.outbound and item.flags & ACK and not item.flags & SYN:
            echo = None if item.stamp is None else float(item.stamp[1] - offset)
            trace.events.append(AckReceived(item.time_ms, item.blocks, cumulative=item.acknowledged, echo_ms=echo))
    trace.lost = _declared(trace.events, list(_counts(directory / f"{flow}.sender.sqlog")))
    return trace


def _counts(path: Path) -> Iterator[tuple[float, int]]:
    """Return when the counter of lost segments went up, and by how many."""
    before = 0
    for record in path.read_text(encoding="utf-8").split("\x1e"):
        if not record.strip():
            continue
        event = json.loads(record)
        count = event.get("data", {}).get("lost_packets", before)
        if count > before:
            yield float(event["time"]), count - before
            before = count


def _declared(events: list[Sent | AckReceived], counts: list[tuple[float, int]]) -> list[Lost]:
    """Identify the declared losses: each retransmission takes the oldest open declaration."""
    found: list[Lost] = []
    open_ms = [time_ms for time_ms, count in counts for _ in range(count)]
    last_sent: dict[int, float] = {}
    for event in events:
        if not isinstance(event, Sent) or event.number == HANDSHAKE:
            continue
        # the counter is reported after packets sent at that instant
        if event.again and open_ms and open_ms[0] <= event.time_ms + AT_ONCE_MS:
            found.append(Lost(event.number, last_sent[event.number], open_ms.pop(0)))
        last_sent[event.number] = event.time_ms
    return found


def _capture(path: Path) -> Iterator[Segment]:
    """Read the TCP segments of a capture (pcapng, little-endian, nanoseconds, as the engine writes it)."""
    data = path.read_bytes()
    place = 0
    while place + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind == ENHANCED_PACKET:
            _, high, low, captured, _ = struct.unpack_from("<5I", data, place + 8)
            packet = data[place + 28 : place + 28 + captured]
            options = _options(data[place + 28 + (captured + 3) // 4 * 4 : place + length - 4])
            direction = int.from_bytes(options.get(FLAGS, b""), "little") & 3
            identity = int.from_bytes(options.get(PACKET_ID, b""), "little")
            yield _segment((high << 32 | low) - EPOCH_NS, direction == OUTBOUND, identity, packet)
        place += length


def _options(data: bytes) -> dict[int, bytes]:
    found, place = {}, 0
    while place + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, place)
        if code == 0:
            break
        found[code] = data[place + 4 : place + 4 + length]
        place += 4 + (length + 3) // 4 * 4
    return found


def _segment(time_ns: int, outbound: bool, identity: int, packet: bytes) -> Segment:
    header = (packet[0] & 15) * 4
    total = struct.unpack_from("!H", packet, 2)[0]
    sequence, acknowledged, offset, flags = struct.unpack_from("!IIBB", packet, header + 4)
    length = (offset >> 4) * 4
    blocks, stamp, place = [], None, header + 20
    while place < header + length and packet[place] != 0:
        if packet[place] == 1:
            place += 1
            continue
        kind, size = packet[place], packet[place + 1]
        if kind == TIMESTAMPS:
            stamp = struct.unpack_from("!II", packet, place + 2)
        elif kind == SACK:
            blocks = [struct.unpack_from("!II", packet, place + 2 + 8 * index) for index in range((size - 2) // 8)]
        place += size
    payload = total - header - length
    return Segment(time_ns, outbound, identity, sequence, acknowledged, flags, payload, tuple(blocks), stamp)
