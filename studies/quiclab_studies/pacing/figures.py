"""Figures of the pacing studies: distributions of intervals, bursts and acknowledgements of stacks side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quiclab.analysis.pacing.runs.extract import SKIP_S
from quiclab.report.figures.theme import COLOURS, NEUTRAL, WIDTH
from quiclab.study import BASE, Figure
from quiclab.study.libraries import alt
from quiclab_studies.declarations import drawn_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quiclab.study.evaluate import Evaluation

Kept = Mapping[str, Any]
ROW_HEIGHT = 46
MIN_MS = 0.0005
GAIN_COLOUR = COLOURS[1]


def in_rows(chart: Any, order: Sequence[str]) -> Any:
    """Return a chart with a row for each stack, in this order, each with a vertical scale of its own."""
    names = alt.Header(labelAngle=0, labelAlign="left", labelLimit=200)
    row = alt.Row("stack:N", sort=list(order), title=None, header=names)
    rows = chart.properties(width=WIDTH, height=ROW_HEIGHT).facet(row=row, spacing=4)
    return rows.resolve_scale(y="independent")


def kept_of(evaluation: Evaluation, engine: str, rate: int) -> dict[str, list[Kept]]:
    """Return the stored data of the runs at a rate, by configuration."""
    table = evaluation.table.filter(
        (evaluation.table["engine"] == engine)
        & (evaluation.table["variant"] == BASE)
        & (evaluation.table["bottleneck_rate_mbps"] == rate)
    )
    found: dict[str, list[Kept]] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(row["configuration"], []).append(json.loads(row["result"])["kept"])
    return found


def pooled(runs: list[Kept], read: Callable[[Kept], Kept]) -> list[tuple[float, float]]:
    """Return the density over the logarithm of all intervals of the runs: time [ms], part of the intervals in 1 %."""
    counts: dict[int, int] = {}
    for run in runs:
        values = read(run)
        for at_ms, count in zip(values["at_ms"], values["counts"], strict=True):
            if at_ms >= MIN_MS:
                step = round(STEPS_AN_OCTAVE * math.log2(at_ms / MIN_MS))
                counts[step] = counts.get(step, 0) + count
    total = sum(counts.values())
    if not total:
        return []
    steps = sorted({near for step in counts for near in (step - 1, step, step + 1)})
    return [(MIN_MS * 2 ** (step / STEPS_AN_OCTAVE), 100 * counts.get(step, 0) / total) for step in steps]


STEPS_AN_OCTAVE = 32


def densities(rate: int, read: Callable[[Kept], Kept], title: str, *, gains: bool) -> Callable[[Evaluation, str], Any]:
    """Return what draws the distribution of intervals of each configuration, one below the other."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        runs = kept_of(evaluation, engine, rate)
        order = [label for name, label in evaluation.study.design.labels.items() if name in runs]
        rows = [
            {"stack": evaluation.study.design.labels[name], "ms": at_ms, "percent": percent}
            for name, found in runs.items()
            for at_ms, percent in pooled(found, read)
        ]
        marks = [
            {"stack": evaluation.study.design.labels[name], "ms": item["interval_ms"], "gain": f"gain {item['gain']:g}"}
            for name, found in runs.items()
            for item in (found[0]["data"]["clusters"]["expected"] if gains else ())
            if item["gain"] == 1 or "bbr" in name
        ]
        x = alt.X("ms:Q", scale=alt.Scale(type="log"), title=title)
        area = (
            alt.Chart()
            .mark_area(color=COLOURS[0], opacity=0.8, line={"color": COLOURS[0], "strokeWidth": 1})
            .encode(x=x, y=alt.Y("percent:Q", title="[%]", axis=alt.Axis(tickCount=2)))
            .transform_filter("isValid(datum.percent)")
        )
        rules = (
            alt.Chart()
            .mark_rule(color=GAIN_COLOUR, strokeDash=[3, 3])
            .encode(x="ms:Q")
            .transform_filter("isValid(datum.gain)")
        )
        # a layer without rows has no domain on a logarithmic axis
        layers = [*([area] if rows else []), *([rules] if marks else [])]
        return in_rows(alt.layer(*layers, data={"values": [*rows, *marks]}), order)

    return draw


def shares(rate: int, kind: str, most: int, title: str) -> Callable[[Evaluation, str], Any]:
    """Return what draws how many packets bursts have, or ACKs cover, as shares by configuration."""

    def table(found: Kept) -> Mapping[str, int]:
        sizes: Mapping[str, int] = found["data"]["bursts"]["sizes"] if kind == "burst" else found["acks"]["packets"]
        return sizes

    def draw(evaluation: Evaluation, engine: str) -> Any:
        cells = []
        runs = kept_of(evaluation, engine, rate)
        for name, found in runs.items():
            counts: dict[int, int] = {}
            for run in found:
                for packets, count in table(run).items():
                    group = min(int(packets), most)
                    counts[group] = counts.get(group, 0) + count
            total = sum(counts.values())
            cells += [
                {
                    "stack": evaluation.study.design.labels[name],
                    "packets": f"{packets}{' or more' if packets == most else ''}",
                    "percent": 100 * count / total,
                    "text": f"{100 * count / total:.0f}" if count >= 0.005 * total else "",
                }
                for packets, count in counts.items()
            ]
        order = [label for name, label in evaluation.study.design.labels.items() if name in runs]
        base = alt.Chart({"values": cells}).encode(
            x=alt.X(
                "packets:N",
                sort=[f"{n}{' or more' if n == most else ''}" for n in range(1, most + 1)],
                title=title,
                axis=alt.Axis(labelAngle=0),
            ),
            y=alt.Y("stack:N", sort=order, title=None),
        )
        squares = base.mark_rect().encode(
            color=alt.Color(
                "percent:Q",
                scale=alt.Scale(scheme="blues", domain=[0, 100]),
                legend=alt.Legend(title="Share [%]", orient="bottom", direction="horizontal"),
            ),
            tooltip=[
                alt.Tooltip("stack:N", title="Stack"),
                alt.Tooltip("packets:N", title=title),
                alt.Tooltip("percent:Q", title="Share [%]", format=".2f"),
            ],
        )
        text = base.mark_text(fontSize=10).encode(
            text="text:N", color=alt.condition("datum.percent > 55", alt.value("#ffffff"), alt.value(NEUTRAL))
        )
        layers: Any = alt.layer(squares, text).properties(width=WIDTH, height=24 * len(order))
        return layers

    return draw


def frequency(rate: int) -> Callable[[Evaluation, str], Any]:
    """Return what draws the packets per ACK over time, of the first run of each configuration, one below the other."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        runs = kept_of(evaluation, engine, rate)
        order = [label for name, label in evaluation.study.design.labels.items() if name in runs]
        rows = [
            {"stack": evaluation.study.design.labels[name], "s": SKIP_S + second, "packets": packets}
            for name, found in runs.items()
            for second, packets in enumerate(found[0]["over_time"]["covered_median"])
        ]
        return in_rows(
            alt.Chart({"values": rows})
            .mark_line(color=COLOURS[0], strokeWidth=1.4)
            .encode(
                x=alt.X("s:Q", title="Time [s]", scale=alt.Scale(nice=False)),
                y=alt.Y("packets:Q", title=None, axis=alt.Axis(tickCount=2)),
                tooltip=[
                    alt.Tooltip("stack:N", title="Stack"),
                    alt.Tooltip("s:Q", title="Time [s]"),
                    alt.Tooltip("packets:Q", title="Packets per ACK"),
                ],
            ),
            order,
        )

    return draw


def interval_figures(of: str = "") -> tuple[Figure, ...]:
    """Return the figures of the intervals: as published, or of something else."""
    found = []
    for rate, number in ((10, "6.9, 6.11, 6.13a and 6.14"), (100, "6.10, 6.12 and 6.13b")):
        found += [
            drawn_figure(
                f"Intervals between packets, {rate} Mbit/s",
                "Part of the intervals by their length, in bins of 2 %. Dashed: evenly spaced packets at the rate of "
                "the bottleneck, with BBR's gains.",
                densities(rate, lambda run: run["data"]["intervals"], "Interval [ms]", gains=True),
                of or f"Figures {number}",
            ),
            drawn_figure(
                f"Intervals between acknowledgements, {rate} Mbit/s",
                "Part of the intervals by their length, in bins of 2 %.",
                densities(rate, lambda run: run["acks"]["intervals"], "Interval [ms]", gains=False),
                of or f"Figures {number}",
            ),
            drawn_figure(
                f"Packets in a burst, {rate} Mbit/s",
                "Bursts by how many packets they have: those within half of the bottleneck's spacing of each other.",
                shares(rate, "burst", 12, "Packets in a burst"),
                "not published",
            ),
        ]
    found.append(
        Figure(
            "How much of the spacing answers acknowledgements",
            "not published",
            "rate",
            "Bursts that begin within half of the bottleneck's spacing after an acknowledgement, less those that would "
            "by chance.",
            metric="ack_clocked",
        )
    )
    return tuple(found)


def rate_figures() -> tuple[Figure, ...]:
    """Return the figures of a pacer's rate: within the spacing, and over time."""
    return (
        Figure(
            "Rate within the spacing, over that of the bottleneck",
            "Figures 6.13 and 6.14",
            "rate",
            "Interval of evenly spaced packets over the median interval.",
            metric="pace_ratio",
        ),
        Figure(
            "Variation of the rate of a second",
            "not published",
            "rate",
            "Standard deviation over mean of the rate at the tap in each second.",
            metric="rate_variation",
        ),
    )


def acks_figures() -> tuple[Figure, ...]:
    """Return the figures of the acknowledgements."""
    return (
        *(
            drawn_figure(
                f"Packets that an acknowledgement covers, {rate} Mbit/s",
                "Acknowledgements by the packets that they newly cover; those that cover none are left out.",
                shares(rate, "covered", 12, "Packets per ACK"),
                f"Figures {number}",
            )
            for rate, number in ((10, "6.3a, 6.5a and 6.8"), (100, "6.3b, 6.5b and 6.7"))
        ),
        *(
            drawn_figure(
                f"Packets per acknowledgement over time, {rate} Mbit/s",
                "Median of the packets that the acknowledgements of a second cover, of one run each.",
                frequency(rate),
                f"Figures {number}",
            )
            for rate, number in ((10, "6.4 and 6.8"), (100, "6.6 and 6.7"))
        ),
        Figure("Duplicate acknowledgements", "Figure 6.3", "rate", "Of all acknowledgements.", metric="dup_ack_share"),
        Figure("Acknowledgements in a second", "section 6.2", "rate", "Mean over the run.", metric="ack_rate_hz"),
        Figure(
            "Interval between acknowledgements over the round trip time",
            "section 6.2.2",
            "rate",
            "Interval that half of the time lies in or below; the round trip time is the mean, queue included.",
            metric="ack_over_rtt",
        ),
    )
