"""RFC 9002 as specified: RTT (section 5.3), loss detection (section 6.1) with the pseudocode of appendix A.

An independent model: it shares nothing with the engines. It takes when a sender sent packets and when which
acknowledgements arrived, and returns the declared losses with time and threshold. Constants are the recommended
ones.

| section | here |
| --- | --- |
| 6.1.1 | kPacketThreshold = 3 |
| 6.1.2 | kTimeThreshold = 9/8 of max(smoothed_rtt, latest_rtt), kGranularity = 1 ms at least |
| 5.3 | delays of Initial and Handshake packets count as 0; of others max_ack_delay at most |
| 6.2 | a probe timeout declares nothing lost: probes are sent packets |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quiclab.analysis.losses.events import AckReceived, Lost, Sent

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKET_THRESHOLD = 3
TIME_THRESHOLD = 9 / 8
GRANULARITY_MS = 1.0
MAX_ACK_DELAY_MS = 25.0
PACKETS, TIME = "packet threshold", "time threshold"


@dataclass
class _Rtt:
    """The estimator of section 5, in milliseconds."""

    latest: float = 0.0
    smoothed: float = 0.0
    variation: float = 0.0
    least: float | None = None

    def update(self, latest: float, delay: float) -> None:
        self.latest = latest
        if self.least is None:
            self.least, self.smoothed, self.variation = latest, latest, latest / 2
            return
        self.least = min(self.least, latest)
        adjusted = latest - delay if latest >= self.least + delay else latest
        self.variation = 3 / 4 * self.variation + 1 / 4 * abs(self.smoothed - adjusted)
        self.smoothed = 7 / 8 * self.smoothed + 1 / 8 * adjusted


@dataclass
class _Space:
    """A packet number space."""

    sent: dict[int, float] = field(default_factory=dict)
    largest: int | None = None
    loss_time: float | None = None


def declared(events: Iterable[Sent | AckReceived], closed_ms: float = math.inf) -> list[Lost]:
    """Return what RFC 9002 declares lost of the 1-RTT packets, in the order of declaration.

    Parameters
    ----------
    events
        Ack-eliciting packets of all spaces, and acknowledgements, in the order of the sender.
    closed_ms
        When the connection was closed.
    """
    rtt, spaces, found = _Rtt(), {name: _Space() for name in ("initial", "handshake", "1RTT")}, []
    for event in events:
        for name, space in spaces.items():
            # OnLossDetectionTimeout; at equal times the acknowledgement comes first
            while space.loss_time is not None and space.loss_time < event.time_ms:
                now, space.loss_time = space.loss_time, None
                found += _detect(now, name, space, rtt)
        space = spaces[event.space]
        if isinstance(event, Sent):
            space.sent[event.number] = event.time_ms
        else:
            found += _heard(event, space, rtt)
    last = spaces["1RTT"]
    while last.loss_time is not None and last.loss_time < closed_ms:
        found += _detect(last.loss_time, "1RTT", last, rtt)
    return found


def _heard(ack: AckReceived, space: _Space, rtt: _Rtt) -> list[Lost]:
    """Apply OnAckReceived of appendix A.7."""
    largest = max(last for _, last in ack.ranges)
    space.largest = largest if space.largest is None else max(space.largest, largest)
    newly = [number for number in space.sent if any(first <= number <= last for first, last in ack.ranges)]
    if not newly:
        return []
    if largest in newly:
        delay = min(ack.delay_ms, MAX_ACK_DELAY_MS) if ack.space == "1RTT" else 0.0
        rtt.update(ack.time_ms - space.sent[largest], delay)
    for number in newly:
        del space.sent[number]
    return _detect(ack.time_ms, ack.space, space, rtt)


def _detect(now: float, name: str, space: _Space, rtt: _Rtt) -> list[Lost]:
    """Apply DetectAndRemoveLostPackets of appendix A.10; losses of the handshake are not reported."""
    space.loss_time = None
    if space.largest is None:
        return []
    delay = max(TIME_THRESHOLD * max(rtt.latest, rtt.smoothed), GRANULARITY_MS)
    found = []
    for number, sent in list(space.sent.items()):
        if number > space.largest:
            continue
        behind = space.largest >= number + PACKET_THRESHOLD
        if behind or sent + delay <= now:
            del space.sent[number]
            found.append(Lost(number, sent, now, PACKETS if behind else TIME))
        else:
            space.loss_time = min(space.loss_time or sent + delay, sent + delay)
    return found if name == "1RTT" else []
