"""What keeps a sender from sending more, over time, from recorded state.

An interval lies between two changes of that state, after everything that the sender does at its beginning. The first
row that holds is the cause:

| cause | when |
| --- | --- |
| handshake | no packet of application data has been sent |
| congestion window | no more than a full packet of it is free: RFC 9002, section 7, and quinn does not fill it to the last byte; TCP: less than its last burst took, because Linux waits for room for more than one segment (`tcp_tso_should_defer`) |
| flow control | the credit of the connection or of a stream is used up (RFC 9000, section 4.1), or, before any limit is known, sending resumes at the moment at which a frame of the peer raises the first |
| pacing | the next packet leaves within `PACED` times what the last ones take at the pacing rate |
| application | none of these: nothing to send, or a limit that is not recorded |

Packets that only acknowledge are neither paced nor limited and do not count.
"""  # noqa: E501 - a table

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab._base.libraries import np
from quiclab.analysis.inspect.columns import Floats, Integers, among, distinct
from quiclab.analysis.inspect.ends import ACK_BYTES, LITTLE, NO_SPACE, UNKNOWN, ZERO_RTT

if TYPE_CHECKING:
    from quiclab.analysis.inspect.ends import End, Samples

CAUSES = ("handshake", "congestion window", "flow control", "pacing", "application")
HANDSHAKE, WINDOW, CREDIT, PACING, APPLICATION = range(len(CAUSES))
PACED = 1.25
"""Tolerance of pacing: a rate that has grown by a quarter since, such as in slow start, still counts."""
RAISED = 0
"""Change of credit: a limit was raised. Others are that it is used up."""
TCP_HEADERS_BYTES = 52
"""IPv4 (20 B) and TCP with timestamps (32 B): packet records count them, congestion windows do not."""
NOT_ACK_ELICITING = {"ack", "padding", "connection_close", "application_close"}
"""Frames that do not elicit acknowledgements (RFC 9002 section 2), as `Packets.contents` names them."""


@dataclass(frozen=True)
class Limits:
    """What limits a sender.

    Attributes
    ----------
    time_us, cause
        When the cause changes, and to which of `CAUSES`; the last one holds until `until_us`.
    until_us
        Last recorded event.
    labels
        Texts of the causes: what `application` may be depends on what was recorded.
    """

    time_us: Integers
    cause: Integers
    until_us: int
    labels: tuple[str, ...]

    def time_of(self, edges: Integers | Floats) -> Floats:
        """Return for each interval between edges [µs] the time of each cause, as rows [µs]."""
        start = np.append(self.time_us, self.until_us)
        rows = []
        for cause in range(len(CAUSES)):
            so_far = np.concatenate(([0], np.where(self.cause == cause, np.diff(start), 0).cumsum()))
            rows.append(np.diff(np.interp(edges, start, so_far)))
        return np.array(rows)

    def percent(self) -> dict[str, float]:
        """Return the share of the time after the handshake of each cause [%]."""
        of = self.time_of(np.array([self.time_us[0], self.until_us]))[:, 0]
        whole = of[HANDSHAKE + 1 :].sum()
        return {CAUSES[cause]: 100 * float(of[cause] / whole) for cause in range(1, len(CAUSES))} if whole else {}


def limits(end: End) -> Limits | None:
    """Return what limits an endpoint; `None` if its window or its packets were not all recorded."""
    window, flight = end.metrics.get("cwnd_bytes"), end.metrics.get("in_flight_bytes")
    departures, sizes = _departures(end)
    until = end.last_us
    if window is None or flight is None or not len(departures) or until is None or not end.complete:
        return None
    first = int(end.first_us or 0)
    groups = np.flatnonzero(np.diff(departures, prepend=departures[0] - 1))
    instants = departures[groups]
    carried = np.add.reduceat(sizes, groups)
    # the first limit that is known: until it was raised, the one before it was not
    raised = end.credit[0][:1][end.credit[1][:1] == RAISED]
    times = distinct(np.array([first]), window[0], flight[0], end.credit[0], instants)
    times = times[(times >= first) & (times < until)]
    if not len(times):
        return None

    free = _held(window, times, 0) - _held(flight, times, 0)
    used_up = _held(end.credit, times, RAISED) != RAISED
    following = np.searchsorted(instants, times, side="right")
    before = np.maximum(following - 1, 0)
    full = free < _needed(end, sizes, carried[before])
    last, next_ = instants[before], instants[np.minimum(following, len(instants) - 1)]
    between = (following > 0) & (following < len(instants))
    resumed = between & among(next_, raised) & (times < next_)
    rate = end.metrics.get("pacing_rate_mbps")
    paced = np.zeros(len(times), dtype=bool)
    if rate is not None:
        kbps = np.maximum(_held(rate, times, 0), 1)
        paced = between & (next_ - last <= PACED * 8000 * carried[before] / kbps)

    # without Initial or Handshake packets the recording begins later
    early = bool((end.sent.space < ZERO_RTT).any() or (end.received.space < ZERO_RTT).any())
    handshake = (times < departures[0]) & early
    cause = np.select([handshake, full, used_up, paced, resumed], [HANDSHAKE, WINDOW, CREDIT, PACING, CREDIT])
    cause[~(handshake | full | used_up | paced | resumed)] = APPLICATION
    kept = np.concatenate(([True], np.diff(cause) != 0))
    return Limits(times[kept], cause[kept].astype(np.int64), int(until), labels(end))


def _departures(end: End) -> tuple[Integers, Integers]:
    """Return time and size of the packets of application data that the window limits."""
    sent = end.sent
    data = np.array([text != LITTLE and not NOT_ACK_ELICITING.issuperset(text.split("+")) for text in sent.contents])
    rows = sent.space >= ZERO_RTT
    if sent.contents == [UNKNOWN]:
        rows = rows & (sent.size_bytes > ACK_BYTES)
    elif len(data):
        rows = rows & data[sent.frames]
    return sent.time_us[rows], sent.size_bytes[rows]


def _needed(end: End, sizes: Integers, burst: Integers) -> Integers:
    """Return how much of the window must be free to send more [B], at instants before which `burst` [B] were sent."""
    packet = int(sizes.max())
    if not (end.sent.space == NO_SPACE).any():
        # quinn sends no packet that would fill the window exactly (`>=` in its `poll_transmit`)
        return np.full(len(burst), packet + 1)
    payload = packet - TCP_HEADERS_BYTES
    return np.maximum(burst // packet, 1) * payload


def _held(samples: Samples, times: Integers, before: int) -> Integers:
    """Return the values that hold after each instant; `before` the first sample."""
    place = np.searchsorted(samples[0], times, side="right") - 1
    if not len(samples[0]):
        return np.full(len(times), before, dtype=np.int64)
    return np.where(place < 0, before, samples[1][np.maximum(place, 0)])


def labels(end: End) -> tuple[str, ...]:
    """Return the texts of the causes; those that the recording cannot tell apart share one."""
    others = ["application"]
    if (end.sent.space == NO_SPACE).any():
        others.append("receive window")
    if "pacing_rate_mbps" not in end.metrics:
        others.append("pacing")
    last = f"{', '.join(others[:-1])} or {others[-1]} (not told apart)" if len(others) > 1 else "application"
    return (*CAUSES[:-1], last)
