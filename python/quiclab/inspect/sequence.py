"""Packets of two endpoints matched to arrows: sent by one, received by the other.

A packet is known by its number and its space (0-RTT and 1-RTT share one), which never repeats (RFC 9000, section 12.3).
Packets that do not appear at the other end are classified:

| fate | when |
| --- | --- |
| `ARRIVED` | it is at both ends |
| `DROPPED` | it is not recorded at the other end, although a later packet is; or the network reports the drop |
| `ONE_END` | unknown: only one end recorded, packets omitted, or in transit at the end of the recording |
| `RECEIVED` | only the receiving end has it |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quiclab.inspect.columns import Integers, differences
from quiclab.inspect.ends import End, Packets
from quiclab.libraries import np

ARRIVED, DROPPED, ONE_END, RECEIVED = range(4)
ZERO_RTT, ONE_RTT = 2, 3


@dataclass(frozen=True)
class Arrows:
    """The packets from one endpoint to another.

    Attributes
    ----------
    columns
        Columns of the page.
    shown, of
        How many packets are in them, of how many.
    step
        They are those whose number is a multiple of this, and those that did not arrive or were declared lost.
    early
        How many arrive before they are sent.
    """

    columns: dict[str, Any]
    shown: int
    of: int
    step: int
    early: int


def arrows(source: End | None, target: End | None, most: int) -> Arrows:
    """Return the packets from one endpoint to another.

    Parameters
    ----------
    source, target
        Sending and receiving end; `None` if nothing is known of it.
    most
        Maximum number of packets to show, and of lost packets in addition.
    """
    sent = source.sent if source else Packets()
    received = target.received if target else Packets()
    arrival, unmatched = _match(sent, received)
    fate = np.where(arrival >= 0, ARRIVED, ONE_END)
    taken = sent.time_us[arrival >= 0]
    if source is not None and source.drops is not None:
        dropped = np.array([number in source.drops for number in sent.number.tolist()], dtype=bool)
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
        "bytes": np.concatenate((sent.size_bytes, received.size_bytes[unmatched])),
        "frames": np.concatenate((_codes(sent, names), _codes(received, names)[unmatched])),
        "declared": np.concatenate((_declared(source), np.zeros(len(unmatched), dtype=np.int64))),
    }
    order = np.argsort(rows["time"], kind="stable")
    rows = {name: column[order] for name, column in rows.items()}
    step = max(1, -(-len(order) // most))
    lost = np.flatnonzero((rows["fate"] == DROPPED) | (rows["declared"] > 0))
    kept = rows["number"] % step == 0
    kept[lost[:: max(1, -(-len(lost) // most))]] = True
    shown = {name: differences(column[kept]) for name, column in rows.items()}
    early = int((rows["flight"] < 0).sum())
    return Arrows({"contents": names, **shown}, int(kept.sum()), len(order), step, early)


def _keys(number: Integers, space: Integers) -> Integers:
    """Return one integer for number and space."""
    return number * 8 + np.where(space == ZERO_RTT, ONE_RTT, space)


def _match(sent: Packets, received: Packets) -> tuple[Integers, Integers]:
    """Return the position of each sent packet among those received (-1: none), and received packets never sent."""
    if not len(sent) or not len(received):
        return np.full(len(sent), -1, dtype=np.int64), np.arange(len(received), dtype=np.int64)
    keys, first = np.unique(_keys(received.number, received.space), return_index=True)  # a copy does not count
    wanted = _keys(sent.number, sent.space)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = keys[place] == wanted
    arrival = np.where(found, first[place], -1).astype(np.int64)
    return arrival, np.setdiff1d(first, arrival[found]).astype(np.int64)


def _codes(packets: Packets, names: list[str]) -> Integers:
    codes = np.array([names.index(text) for text in packets.contents], dtype=np.int64)
    return codes[packets.frames] if len(packets) else np.zeros(0, dtype=np.int64)


def _declared(source: End | None) -> Integers:
    """Return for each packet sent when the sender declared it lost: µs after sending, 0 if it did not."""
    if source is None or not len(source.sent):
        return np.zeros(0, dtype=np.int64)
    when = dict(zip(_keys(source.lost[1], source.lost[2]).tolist(), source.lost[0].tolist(), strict=True))
    keys, times = _keys(source.sent.number, source.sent.space).tolist(), source.sent.time_us.tolist()
    return np.array([max(when[key] - time, 1) if key in when else 0 for key, time in zip(keys, times, strict=True)])
