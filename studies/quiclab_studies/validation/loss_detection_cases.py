"""Disturbances of the packets of a download, case by case, with hand-computed results of each standard.

The n-th packet of the link `down` is dropped or held back. MID lies in the middle of the first flight, of 60 packets or
of the 64 KiB that TCP's first window allows, whatever the handshake; the last packet of a download, and the
retransmission of a packet, have the number that a run without that part of the disturbance shows: runs are the same up
to there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from quiclab.analysis.losses import judge
from quiclab.experiment.recording import run_and_keep
from quiclab.result import RunResult
from quiclab.scenario import load
from quiclab.study import Changes, Value

SCENARIO = "scenarios/loss_detection.toml"
CASE = "case"
"""Stands among the changes until the engine is known."""
MID, NEXT, LATER = 40, 80, 220
"""Packets of the link in the first, second and fourth flight."""
SIZE, LONGER = "200 kB", "400 kB"
MAX_WAIT, PAUSE, LONG_NS = "1 s", "500 ms", 400_000_000
MIN_DATA_BYTES = 150
"""An IP packet with fewer has no data: acknowledgements have some 80 B."""

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Done:
    """A disturbance of the link `down`, and of the link `up`.

    Attributes
    ----------
    lost
        Identifiers of the dropped packets.
    held
        Packets that are held back: identifier, duration, number of packets that overtake each.
    acks_lost
        Identifiers of the dropped packets of the return path.
    size
        Size of the download.
    goes_on
        Whether the connection continues after the download: if the client closed it after the last byte, no
        acknowledgement would report the last packets. lab-quic and lab-tcp have a second response half a second later;
        the clients of quinn and noq keep the connection open.
    """

    lost: Numbers = ()
    held: tuple[tuple[int, str, int | None], ...] = ()
    acks_lost: Numbers = ()
    size: str = SIZE
    goes_on: bool = False

    def changes(self, stack: Changes) -> Changes:
        """Return its changes to the scenario of a stack."""
        found: dict[str, object] = {"flows.main.workload": {"kind": "download", "size": self.size}}
        if self.goes_on and str(stack["flows.main.stack"]).startswith("lab-"):
            responses = {"kind": "request_response", "count": 2, "response": self.size, "pause": PAUSE}
            found["flows.main.workload"] = responses
        if self.lost:
            found["links.down.loss"] = {"kind": "listed", "packets": list(self.lost)}
        if self.held:
            holds = [{"packet": number, "by": by, "behind": behind} for number, by, behind in self.held]
            found["links.down.holds"] = [{k: v for k, v in hold.items() if v is not None} for hold in holds]
        if self.acks_lost:
            found["links.up.loss"] = {"kind": "listed", "packets": list(self.acks_lost)}
        return found


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes
    ----------
    name, label
        Its name, and its description in prose.
    done
        From the changes of the engine to the disturbance.
    quic, tcp
        Number of packets that RFC 9002 and RFC 8985 declare lost, and of spurious losses, with the engines that
        follow them and acknowledge out-of-order packets immediately.
    why
        How these follow.
    """

    name: str
    label: str
    done: Callable[[Changes], Done]
    quic: tuple[int, int]
    tcp: tuple[int, int]
    why: str


def _of(done: Done) -> Callable[[Changes], Done]:
    return lambda _: done


def _behind(packets: int, *numbers: int, size: str = SIZE) -> Done:
    return Done(held=tuple((number, MAX_WAIT, packets) for number in numbers), size=size)


def _tail(*, lost: int = 0, held: str = "") -> Callable[[Changes], Done]:
    """Drop the last packets of the download, or hold the last but two back."""

    def done(engine: Changes) -> Done:
        last = last_data(json.dumps(dict(engine), sort_keys=True))
        if held:
            return Done(held=((last - 2, held, None),), goes_on=True)
        return Done(lost=tuple(range(last - lost + 1, last + 1)), goes_on=True)

    return done


def _twice_lost(engine: Changes) -> Done:
    return Done(lost=(MID, retransmission(json.dumps(dict(engine), sort_keys=True))))


CASES = (
    Case("single", "one packet lost", _of(Done(lost=(MID,))), (1, 0), (1, 0), "Three later ones are acknowledged."),
    Case(
        "burst",
        "ten packets lost in a row",
        _of(Done(lost=tuple(range(MID, MID + 10)))),
        (10, 0),
        (10, 0),
        "Three later ones are acknowledged of the tenth, too.",
    ),
    Case(
        "last",
        "the last packet lost",
        _tail(lost=1),
        (1, 0),
        (0, 0),
        "QUIC: the acknowledgement of a probe, more than 9/8 RTT later. TCP: the probe sends the segment itself again, "
        "and nothing is declared lost (RFC 8985 section 7.3).",
    ),
    Case(
        "last_three",
        "the last three packets lost",
        _tail(lost=3),
        (3, 0),
        (2, 0),
        "As before: the probe of TCP is the last of the three; the two before it were sent earlier (section 6.2).",
    ),
    Case(
        "retransmission",
        "one packet lost, and its retransmission",
        _twice_lost,
        (2, 0),
        (2, 0),
        "A retransmission is a separate packet (RFC 9002 section 2), and has its own time (RFC 8985 section 3.1).",
    ),
    *(
        Case(
            f"behind_{packets}",
            f"one packet overtaken by {packets}",
            _of(_behind(packets, MID)),
            (int(packets >= 3),) * 2,
            (int(packets >= 3),) * 2,
            "kPacketThreshold and DupThresh are 3; min_RTT / 4 has not passed." if packets < 3 else "3 or more.",
        )
        for packets in (1, 2, 3, 5, 20)
    ),
    Case(
        "twice_5",
        "overtaken by 5, and again a flight later",
        _of(_behind(5, MID, NEXT)),
        (2, 2),
        (2, 2),
        "Recommended thresholds do not adapt. RACK: what was sent again does not count as reordering seen "
        "(section 6.2, step 3), so three acknowledged above it are enough again.",
    ),
    Case(
        "seen_5",
        "overtaken by 2, a flight later by 5",
        _of(Done(held=((MID, MAX_WAIT, 2), (NEXT, MAX_WAIT, 5)))),
        (1, 1),
        (0, 0),
        "RACK: the first is reordering seen without a retransmission: from then on only min_RTT / 4 counts.",
    ),
    Case(
        "grown",
        "overtaken by 2, then late by 30 ms in two flights",
        _of(Done(held=((MID, MAX_WAIT, 2), (NEXT, "30 ms", None), (LATER, "30 ms", None)), size=LONGER)),
        (2, 2),
        (1, 1),
        "RACK: 30 ms are more than min_RTT / 4 = 25 ms; the DSACK doubles the window to 50 ms (step 4).",
    ),
    *(
        Case(
            f"late_{late}",
            f"the last but two late by {late} ms (RTT 100 ms)",
            _tail(held=f"{late} ms"),
            (int(late > 12),) * 2,
            (int(late > 25),) * 2,
            "9/8 RTT are 12.5 ms more than the RTT, min_RTT / 4 is 25 ms; only two later packets are acknowledged.",
        )
        for late in (10, 20, 30, 50)
    ),
    Case(
        "acks",
        "six acknowledgements lost in a row",
        _of(Done(acks_lost=tuple(range(20, 26)))),
        (0, 0),
        (0, 0),
        "Later acknowledgements repeat the information of lost ones.",
    ),
)
BY_NAME = {case.name: case for case in CASES}


def chosen(case: Value) -> Changes:
    """Note a case among the changes."""
    return {CASE: case}


def resolved(stack: Changes) -> Callable[[Changes], Changes]:
    """Return the changes of a configuration: its stack, and the disturbance of the case."""

    def change(noted: Changes) -> Changes:
        done = BY_NAME[str(noted[CASE])].done(stack)
        return {**{key: value for key, value in noted.items() if key != CASE}, **stack, **done.changes(stack)}

    return change


@cache
def last_data(engine: str) -> int:
    """Return which packet of the link is the last with data, before the pause, where nothing disturbs."""
    packets = _data_packets(_scouted(engine, Done(goes_on=True)))
    for (number, time_ns), (_, next_ns) in pairwise(packets):
        if next_ns - time_ns > LONG_NS:
            return number
    return packets[-1][0]


@cache
def retransmission(engine: str) -> int:
    """Return which packet of the link is the first with data once MID has been declared lost."""
    result = _scouted(engine, Done(lost=(MID,)))
    declared_ns = result.data["kept"]["declared"][0]["time_ms"] * 1e6
    return next(number for number, time_ns in _data_packets(result) if time_ns >= declared_ns)


def _scouted(engine: str, done: Done) -> RunResult:
    scenario = load(Path(__file__).parents[1] / SCENARIO)
    stack = json.loads(engine)
    for path, value in {**stack, **done.changes(stack)}.items():
        scenario = scenario.with_value(path, value)
    return run_and_keep(scenario, 1, Path(), judge)


def _data_packets(result: RunResult) -> list[tuple[int, int]]:
    """Return number and time of the packets with data, as the link counts them."""
    rows: list[Mapping[str, int]] = [
        row
        for row in result.packets.iter_rows(named=True)
        if row["element"] == "main.sender" and row["event"] == "departure"
    ]
    return [(number, row["time_ns"]) for number, row in enumerate(rows) if row["size_bytes"] >= MIN_DATA_BYTES]
