"""RFC 8985 as specified: RACK's loss detection (section 6.2) for segments with SACK and timestamps.

An independent model, as `rfc9002`. A tail loss probe (section 7) declares nothing lost: it is a sent packet, and
its acknowledgement is processed by RACK. A retransmission timeout (section 6.3) is not modelled.

| section | here |
| --- | --- |
| 6.2 step 1 | min_RTT is the least RTT of the connection: runs last some seconds |
| 6.2 step 2 | a retransmitted segment counts if its timestamp is echoed and its RTT is not below min_RTT |
| | the first applies only to cumulatively acknowledged segments: out-of-order segments echo an older timestamp |
| | (RFC 7323 section 4.3), and a tail loss probe could never reveal losses before it |
| 6.2 step 3 | a segment below FACK that was sent once is delivered: reordering is seen |
| 6.2 step 4 | DupThresh = 3; min_RTT / 4, a multiple with each round of DSACK, SRTT at most; back after 16 recoveries |
| 6.2 step 5 | lost when sent before RACK.segment and RACK.rtt + RACK.reo_wnd ago |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quiclab.analysis.losses.events import AckReceived, Lost, Sent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quiclab.analysis.losses.events import Range

DUP_THRESH = 3
PERSIST = 16
EXACT_MS = 1e-9
STRICT, WINDOW = "reordering window 0: three selectively acknowledged", "reordering window"


@dataclass
class _Segment:
    number: int
    span: Range
    sent_ms: float
    """Time of the last transmission."""
    lost: bool = False
    """Declared lost and not yet sent again: its time of transmission is infinite in step 5."""
    retransmitted: bool = False
    sacked: bool = False


@dataclass
class _Rack:
    """State of section 5.3, and further state of the connection."""

    segments: list[_Segment] = field(default_factory=list)
    una: int = 0
    nxt: int = 0
    fack: int = 0
    newest: tuple[float, int] = (-1.0, -1)
    """RACK.xmit_ts and RACK.end_seq."""
    rtt_ms: float = 0.0
    min_rtt_ms: float = math.inf
    srtt_ms: float | None = None
    reordering_seen: bool = False
    mult: int = 1
    persist: int = PERSIST
    dsack_round: int | None = None
    recovery_until: int | None = None
    timer_ms: float | None = None


def declared(events: Iterable[Sent | AckReceived], closed_ms: float = math.inf) -> list[Lost]:
    """Return what RFC 8985 declares lost, in the order of declaration.

    Parameters
    ----------
    events
        Segments with data, and acknowledgements, in the order of the sender.
    closed_ms
        When the connection was closed.
    """
    rack, found = _Rack(), []
    for event in events:
        if rack.timer_ms is not None and rack.timer_ms < event.time_ms:
            found += _detect(rack, rack.timer_ms, dsack=False, leaving=False)
        if isinstance(event, Sent):
            _sent(rack, event)
        else:
            found += _heard(rack, event)
    if rack.timer_ms is not None and rack.timer_ms < closed_ms:
        found += _detect(rack, rack.timer_ms, dsack=False, leaving=False)
    return found


def _sent(rack: _Rack, event: Sent) -> None:
    start, end = event.span
    rack.nxt = max(rack.nxt, end)
    covered = [item for item in rack.segments if start < item.span[1] and item.span[0] < end]
    for segment in covered:
        segment.sent_ms, segment.retransmitted, segment.lost = event.time_ms, True, False
    if not covered and start >= rack.una:
        rack.segments.append(_Segment(event.number, event.span, event.time_ms))


def _heard(rack: _Rack, ack: AckReceived) -> list[Lost]:
    if ack.cumulative < rack.una:
        return []
    newly = []
    for segment in rack.segments:
        start, end = segment.span
        selectively = any(first <= start and end <= behind for first, behind in ack.ranges)
        if not segment.sacked and (end <= ack.cumulative or selectively):
            segment.sacked = True
            newly.append(segment)
    _sample(rack, ack, newly)
    for segment in newly:
        _update(rack, ack, segment)
    for segment in sorted(newly, key=lambda item: item.span):
        # step 3
        if segment.span[1] > rack.fack:
            rack.fack = segment.span[1]
        elif not segment.retransmitted:
            rack.reordering_seen = True
    rack.una = max(rack.una, ack.cumulative)
    rack.segments = [segment for segment in rack.segments if segment.span[1] > rack.una]
    leaving = rack.recovery_until is not None and rack.una >= rack.recovery_until
    if leaving:
        rack.recovery_until = None
    return _detect(rack, ack.time_ms, dsack=_is_dsack(ack), leaving=leaving)


def _is_dsack(ack: AckReceived) -> bool:
    """Return whether the first block reports a duplicate (RFC 2883 section 4)."""
    if not ack.ranges:
        return False
    first, behind = ack.ranges[0]
    within = len(ack.ranges) > 1 and ack.ranges[1][0] <= first and behind <= ack.ranges[1][1]
    return behind <= ack.cumulative or within


def _sample(rack: _Rack, ack: AckReceived, newly: list[_Segment]) -> None:
    """Update the RTTs from segments sent once: the minimum, and the smoothed one (RFC 6298) from the newest."""
    samples = [ack.time_ms - segment.sent_ms for segment in newly if not segment.retransmitted]
    if samples:
        rack.min_rtt_ms = min(rack.min_rtt_ms, *samples)
        rack.srtt_ms = samples[-1] if rack.srtt_ms is None else 7 / 8 * rack.srtt_ms + 1 / 8 * samples[-1]


def _update(rack: _Rack, ack: AckReceived, segment: _Segment) -> None:
    """Step 2: the segment sent last among those delivered."""
    rtt = ack.time_ms - segment.sent_ms
    if segment.retransmitted:
        # timestamps count whole milliseconds
        in_order = segment.span[1] <= ack.cumulative
        if in_order and ack.echo_ms is not None and ack.echo_ms < int(segment.sent_ms):
            return
        if rtt < rack.min_rtt_ms:
            return
    rack.rtt_ms = rtt
    rack.newest = max(rack.newest, (segment.sent_ms, segment.span[1]))


def _window(rack: _Rack, *, dsack: bool, leaving: bool) -> float:
    """Step 4: RACK_update_reo_wnd."""
    if rack.dsack_round is not None and rack.una >= rack.dsack_round:
        rack.dsack_round = None
    if rack.dsack_round is None and dsack:
        rack.dsack_round = rack.nxt
        rack.mult += 1
        rack.persist = PERSIST
    elif leaving:
        rack.persist -= 1
        if rack.persist <= 0:
            rack.mult = 1
    if not rack.reordering_seen:
        sacked = sum(segment.sacked for segment in rack.segments)
        if rack.recovery_until is not None or sacked >= DUP_THRESH:
            return 0.0
    return min(rack.mult * rack.min_rtt_ms / 4, rack.srtt_ms or 0.0)


def _detect(rack: _Rack, now: float, *, dsack: bool, leaving: bool) -> list[Lost]:
    """Step 5: RACK_detect_loss, and the timer of RACK_detect_loss_and_arm_timer."""
    window = _window(rack, dsack=dsack, leaving=leaving)
    found, timeout = [], 0.0
    for segment in rack.segments:
        if segment.sacked or segment.lost or (segment.sent_ms, segment.span[1]) >= rack.newest:
            continue
        remaining = segment.sent_ms + rack.rtt_ms + window - now
        if remaining <= EXACT_MS:
            found.append(Lost(segment.number, segment.sent_ms, now, WINDOW if window else STRICT))
            segment.lost = True
        else:
            timeout = max(timeout, remaining)
    rack.timer_ms = now + timeout if timeout else None
    if found and rack.recovery_until is None:
        rack.recovery_until = rack.nxt
    return found
