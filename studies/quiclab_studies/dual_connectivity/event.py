"""A view of one reordering event, from packet records: which packets arrived, waited, were given up and dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.report.figures.theme import COLOURS, NEUTRAL, WIDTH, empty_chart
from quiclab.result import RunResult
from quiclab.study.libraries import alt

if TYPE_CHECKING:
    import polars as pl

TIMER_MS = 200.0
BEFORE_MS, AFTER_MS = 90.0, 90.0
RED = "#d03b3b"
ARRIVED = {0: "arrives over link 1", 1: "arrives over link 2"}
DELIVERED, DROPPED, LOST = "delivered", "dropped at the socket", "lost in a queue"


@dataclass(frozen=True)
class Event:
    """The first expiry of t-Reordering in a run.

    Attributes
    ----------
    time_ns
        Network time of the expiry [ns].
    numbers
        COUNT values of the missing packets, for which the receiving end stopped waiting.
    """

    time_ns: int
    numbers: tuple[int, ...]


def numbers_of(packets: pl.DataFrame) -> dict[int, int]:
    """Return the number that the sending end of the bearer gave each packet, by the packet's identity."""
    sent = packets.filter((packets["element"] == "dc.ingress") & (packets["event"] == "arrival"))
    return {identity: number for number, identity in enumerate(sent["packet_id"].to_list())}


def first_expiry(packets: pl.DataFrame, numbers: Mapping[int, int]) -> Event | None:
    """Return the first delivery of packets with a gap before them; `None` if there was none."""
    delivered = packets.filter((packets["element"] == "dc.egress") & (packets["event"] == "departure"))
    missing: list[int] = []
    expected, time_ns = 0, -1
    for at, identity in delivered.select("time_ns", "packet_id").iter_rows():
        if missing and at != time_ns:
            break
        number = numbers[identity]
        if number > expected:
            time_ns = at
            missing += range(expected, number)
        expected = number + 1
    return Event(time_ns, tuple(missing)) if missing else None


def rows_of(packets: pl.DataFrame) -> tuple[list[dict[str, object]], Event | None]:
    """Return the data of the figure: time after the expiry [ms], number after the first lost one, and what happened."""
    numbers = numbers_of(packets)
    event = first_expiry(packets, numbers)
    if event is None:
        return [], None
    low, high = (event.time_ns + 1e6 * ms for ms in (-TIMER_MS - BEFORE_MS, AFTER_MS))
    rows: list[dict[str, object]] = []
    near = packets.filter((packets["time_ns"] >= low) & (packets["time_ns"] <= high))
    for at, element, what, port, identity in near.select(
        "time_ns", "element", "event", "port", "packet_id"
    ).iter_rows():
        number = numbers.get(identity)
        kind = {
            ("dc.egress", "arrival"): ARRIVED.get(port),
            ("dc.egress", "departure"): DELIVERED,
            ("dc.receiver", "drop"): DROPPED,
            ("down1", "drop"): LOST,
            ("down2", "drop"): LOST,
        }.get((element, what))
        if number is not None and kind is not None:
            since_ms = round((at - event.time_ns) / 1e6, 3)
            rows.append({"x": since_ms, "y": number - event.numbers[0], "series": kind})
    return rows, event


def draw(results: Mapping[str, RunResult]) -> alt.TopLevelMixin:
    """Draw the packets around the first expiry of t-Reordering."""
    [result] = results.values()
    rows, event = rows_of(result.packets)
    if event is None:
        return empty_chart("The timer never expires in this run.")
    colour = {
        ARRIVED[0]: COLOURS[1],
        ARRIVED[1]: COLOURS[2],
        DELIVERED: NEUTRAL,
        DROPPED: RED,
        LOST: COLOURS[0],
    }
    shapes = ["circle", "circle", "M-1,-.25H1V.25H-1Z", "cross", "triangle-down"]
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=90)
    base = alt.Chart({"values": rows})

    def marks(kinds: Sequence[str], size: int) -> alt.Chart:
        shown: alt.Chart = base.transform_filter(alt.FieldOneOfPredicate("series", list(kinds)))
        drawn: alt.Chart = shown.mark_point(filled=True, opacity=0.9, size=size).encode(
            x=alt.X("x:Q", title="Time since t-Reordering expired [ms]", scale=alt.Scale(nice=False)),
            y=alt.Y("y:Q", title="Number, from the lost one on [packets]"),
            color=alt.Color(
                "series:N", scale=alt.Scale(domain=list(colour), range=list(colour.values())), legend=legend
            ),
            shape=alt.Shape("series:N", scale=alt.Scale(domain=list(colour), range=shapes), legend=legend),
            tooltip=[
                alt.Tooltip("series:N", title="Packet"),
                alt.Tooltip("x:Q", title="Time [ms]"),
                alt.Tooltip("y:Q", title="Number after the lost one"),
            ],
        )
        return drawn

    text = f"t-Reordering: {TIMER_MS:.0f} ms"
    waits = [{"from": -TIMER_MS, "to": 0.0, "y": 0, "text": text}]
    timer = alt.Chart({"values": waits})
    span = timer.mark_rule(strokeWidth=2.5, color=COLOURS[0], opacity=0.8).encode(x="from:Q", x2="to:Q", y="y:Q")
    label = timer.mark_text(align="right", baseline="top", dx=-8, dy=6, color=COLOURS[0], fontSize=12).encode(
        x="to:Q", y="y:Q", text="text:N"
    )
    arrived = marks((*ARRIVED.values(), DELIVERED, DROPPED), 18)
    return alt.layer(span, arrived, marks((LOST,), 130), label).properties(width=WIDTH, height=400)
