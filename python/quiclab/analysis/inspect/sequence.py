"""Packets of two endpoints matched to arrows: sent by one, received by the other.

A packet is known by its number, its space (0-RTT and 1-RTT share one) and in Multipath QUIC its path, which together
never repeat (RFC 9000, section 12.3; draft-ietf-quic-multipath-21, section 2.4).
Packets that do not appear at the other end are classified:

| fate | when |
| --- | --- |
| `ARRIVED` | it is at both ends |
| `DROPPED` | it is not recorded at the other end, although a later packet is; or the network reports the drop |
| `ONE_END` | unknown: only one end recorded, or in transit at the end of the recording |
| `RECEIVED` | only the receiving end has it |

Where the reader of one end has omitted packets, the two ends have different ones. A packet is then shown with both of
its ends, or not at all, unless it was lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from quiclab._base.libraries import np
from quiclab.analysis.inspect.columns import Flags, Integers, among
from quiclab.analysis.inspect.ends import ONE_RTT, ZERO_RTT, End, Packets

ARRIVED, DROPPED, ONE_END, RECEIVED = range(4)
PATH_STEP = 1 << 52
"""Distance of the paths in one integer for each packet: no connection sends so many packets."""


@dataclass(frozen=True)
class Arrows:
    """The packets from one endpoint to another.

    Attributes
    ----------
    rows
        Columns, in the order of time: `time` [µs], `flight` [µs], `fate`, `number`, `space`, `path`, `bytes`, `frames`,
        and `declared` lost so long after it was sent [µs], 0 if it was not.
    contents
        Texts of `frames`.
    of
        Number of all packets, if fewer are shown.
    step
        They are those whose number is a multiple of this, and those that did not arrive or were declared lost.
    one_end
        How many are not shown because the reader has omitted them at the other end.
    early
        How many arrive before they are sent.
    """

    rows: dict[str, Integers]
    contents: list[str]
    of: int
    step: int
    one_end: int
    early: int

    @property
    def shown(self) -> int:
        """How many packets are shown."""
        return len(self.rows["time"])

    @property
    def bad(self) -> Flags:
        """Which packets did not arrive or were declared lost."""
        found: Flags = (self.rows["fate"] == DROPPED) | (self.rows["declared"] > 0)
        return found

    @property
    def numbered(self) -> Flags:
        """Which packets are in the chart of packet numbers: those sent, of application data."""
        found: Flags = (self.rows["space"] >= ZERO_RTT) & (self.rows["fate"] != RECEIVED)
        return found


def arrows(source: End | None, target: End | None, most: int, window: tuple[int, int] | None = None) -> Arrows:
    """Return the packets from one endpoint to another.

    Parameters
    ----------
    source, target
        Sending and receiving end; `None` if nothing is known of it.
    most
        Maximum number of packets to show, and of lost packets in addition.
    window
        Time to which they are limited [µs]: packets that are sent, arrive or are in flight in it.
    """
    sent = source.sent if source else Packets()
    received = target.received if target else Packets()
    arrival, unmatched = _match(sent, received)
    fate = np.where(arrival >= 0, ARRIVED, ONE_END)
    taken = sent.time_us[arrival >= 0]
    if source is not None and source.drops is not None:
        dropped = among(sent.number, np.sort(np.fromiter(source.drops, dtype=np.int64, count=len(source.drops))))
        fate[dropped & (arrival < 0)] = DROPPED
    elif source and target and source.complete and target.complete and len(taken):
        fate[(arrival < 0) & (sent.time_us < taken.max())] = DROPPED
    flight = np.where(arrival >= 0, received.time_us[arrival] - sent.time_us if len(received) else 0, 0)
    drops = source.drops if source and source.drops else {}
    for index in np.flatnonzero(fate == DROPPED).tolist():
        when, _ = drops.get(int(sent.number[index]), (int(sent.time_us[index]), ""))
        flight[index] = when - sent.time_us[index]
    names = list(dict.fromkeys([*sent.contents, *received.contents]))
    rows = {
        "time": np.concatenate((sent.time_us, received.time_us[unmatched])),
        "flight": np.concatenate((flight, np.zeros(len(unmatched), dtype=np.int64))),
        "fate": np.concatenate((fate, np.full(len(unmatched), RECEIVED))),
        "number": np.concatenate((sent.number, received.number[unmatched])),
        "space": np.concatenate((sent.space, received.space[unmatched])),
        "path": np.concatenate((sent.path, received.path[unmatched])),
        "bytes": np.concatenate((sent.size_bytes, received.size_bytes[unmatched])),
        "frames": np.concatenate((_codes(sent, names), _codes(received, names)[unmatched])),
        "declared": np.concatenate((_declared(source), np.zeros(len(unmatched), dtype=np.int64))),
    }
    order = np.argsort(rows["time"], kind="stable")
    rows = {name: column[order] for name, column in rows.items()}
    one_end = 0
    if source and target and not (source.complete and target.complete):
        both = (rows["fate"] == ARRIVED) | (rows["fate"] == DROPPED) | (rows["declared"] > 0)
        one_end = int((~both).sum())
        rows = _only(rows, both)
    if window is not None:
        end = rows["time"] + np.maximum(rows["flight"], 0)
        rows = _only(rows, (end >= window[0]) & (rows["time"] <= window[1]))
    of = len(rows["time"])
    step = max(1, -(-of // most))
    lost = np.flatnonzero((rows["fate"] == DROPPED) | (rows["declared"] > 0))
    kept = rows["number"] % step == 0
    kept[lost[:: max(1, -(-len(lost) // most))]] = True
    early = int((rows["flight"] < 0).sum())
    return Arrows(_only(rows, kept), names, of, step, one_end, early)


def _only(rows: dict[str, Integers], kept: Flags) -> dict[str, Integers]:
    return {name: column[kept] for name, column in rows.items()}


def _keys(number: Integers, space: Integers, path: Integers) -> Integers:
    """Return one integer for number, space and path: numbers of a space of application data without paths as before."""
    return number * 8 + np.where(space == ZERO_RTT, ONE_RTT, space) + path * PATH_STEP


def _match(sent: Packets, received: Packets) -> tuple[Integers, Integers]:
    """Return the position of each sent packet among those received (-1: none), and received packets never sent."""
    if not len(sent) or not len(received):
        return np.full(len(sent), -1, dtype=np.int64), np.arange(len(received), dtype=np.int64)
    own = _keys(received.number, received.space, received.path)
    keys, first = np.unique(own, return_index=True)  # a copy does not count
    wanted = _keys(sent.number, sent.space, sent.path)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = keys[place] == wanted
    arrival = np.where(found, first[place], -1).astype(np.int64)
    matched = np.zeros(len(received), dtype=bool)
    matched[arrival[found]] = True
    unmatched = np.sort(first)
    return arrival, unmatched[~matched[unmatched]].astype(np.int64)


def _codes(packets: Packets, names: list[str]) -> Integers:
    codes = np.array([names.index(text) for text in packets.contents], dtype=np.int64)
    return codes[packets.frames] if len(packets) else np.zeros(0, dtype=np.int64)


def _declared(source: End | None) -> Integers:
    """Return for each packet sent when the sender declared it lost: µs after sending, 0 if it did not."""
    if source is None or not len(source.sent):
        return np.zeros(0, dtype=np.int64)
    found = np.zeros(len(source.sent), dtype=np.int64)
    if not len(source.lost[0]):
        return found
    # of several, the last
    lost, place = np.unique(_keys(*source.lost[1:])[::-1], return_index=True)
    when = source.lost[0][::-1][place]
    keys = _keys(source.sent.number, source.sent.space, source.sent.path)
    at = np.minimum(np.searchsorted(lost, keys), len(lost) - 1)
    declared = lost[at] == keys
    found[declared] = np.maximum(when[at[declared]] - source.sent.time_us[declared], 1)
    return found
