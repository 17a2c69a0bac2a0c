"""Figures beyond the pacing thesis: curves in small panels, and maps of sender and receiver."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from quiclab.report.figures.theme import COLOURS, WIDTH, Layers
from quiclab.study import with_unit
from quiclab.study.libraries import alt
from quiclab_studies.declarations import drawn_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.result.stats import Summary
    from quiclab.study import Factor, Metric, Value
    from quiclab.study.evaluate import Evaluation

HEIGHT = 150
DASHES = ([1, 0], [6, 3])
"""Strokes: whole for the first five series, dashed for those that have their colours again."""


def series_of(evaluation: Evaluation, engine: str, metric: str) -> dict[tuple[Value, ...], Summary]:
    """Return the summaries that have a number."""
    found = evaluation.summaries(engine, metric=metric)
    return {key: summary for key, summary in found.items() if not math.isnan(summary.mean)}


def styles(labels: Sequence[str]) -> tuple[alt.Color, alt.StrokeDash]:
    """Return colour and stroke of each series, with one legend for both."""
    count = len(COLOURS)
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=4,
        symbolType="stroke",
        symbolStrokeWidth=3,
        symbolSize=250,
        symbolOpacity=1,
    )
    rows = range(len(labels))
    return (
        alt.Color(
            "series:N",
            scale=alt.Scale(domain=list(labels), range=[COLOURS[row % count] for row in rows]),
            legend=legend,
        ),
        alt.StrokeDash(
            "series:N",
            scale=alt.Scale(domain=list(labels), range=[DASHES[row // count % len(DASHES)] for row in rows]),
            legend=legend,
        ),
    )


def curves(x: str, *metrics: Metric, columns: str = "") -> Callable[..., alt.VConcatChart]:
    """Return what draws metrics over a factor of numbers, a row of panels each; a further factor has the columns.

    Parameters
    ----------
    x
        Short name of the factor.
    metrics
        The panels, from top to bottom.
    columns
        Short name of the factor of the columns.
    """

    def draw(evaluation: Evaluation, engine: str) -> alt.VConcatChart:
        study = evaluation.study
        names = [factor.name for factor in study.design.factors]
        at, across = names.index(x), names.index(columns) if columns else None
        shown: tuple[Value, ...] = study.design.factors[across].values if across is not None else ("",)
        colour, dash = styles([study.design.labels[item.name] for item in study.design.configurations])
        rows = []
        for metric in metrics:
            found = series_of(evaluation, engine, metric.name)
            panels = []
            for value in shown:
                cells = [
                    {"series": study.design.labels[str(key[0])], "x": key[1 + at], **interval(summary)}
                    for key, summary in found.items()
                    if across is None or key[1 + across] == value
                ]
                factor = study.design.factors[across] if across is not None else None
                heading = f"{factor.label}: {factor.word(value)}" if factor else ""
                panels.append(lines(cells, metric, study.design.factors[at], colour, dash, heading, len(shown)))
            unit = with_unit(metric.label, metric.unit)
            rows.append(alt.hconcat(*panels, spacing=14, title=unit).resolve_scale(y="shared"))
        return alt.vconcat(*rows, spacing=18)

    return draw


def interval(summary: Summary) -> dict[str, float]:
    """Return the mean, and a standard deviation below and above it."""
    spread = 0.0 if math.isnan(summary.std) else summary.std
    return {"mean": summary.mean, "low": summary.mean - spread, "high": summary.mean + spread}


def numbers(factor: Factor) -> alt.X:
    """Return the logarithmic axis of a factor of numbers, with its values as ticks."""
    scale = alt.Scale(type="log", nice=False, domain=[factor.values[0], factor.values[-1]])
    axis = alt.Axis(values=[float(value) for value in factor.values], format=".6~g", labelOverlap=True)
    return alt.X("x:Q", scale=scale, title=with_unit(factor.label, factor.unit), axis=axis)


def tips(metric: Metric, *at: alt.Tooltip) -> list[alt.Tooltip]:
    """Return the tooltip of a mean: its series, where it is, and its value."""
    value = alt.Tooltip("mean:Q", title=with_unit(metric.label, metric.unit), format=".4g")
    return [alt.Tooltip("series:N", title="Series"), *at, value]


def lines(
    cells: Sequence[Mapping[str, Any]],
    metric: Metric,
    factor: Factor,
    colour: alt.Color,
    dash: alt.StrokeDash,
    heading: str,
    count: int,
) -> Layers:
    """Return one panel: lines with the standard deviation."""
    height = alt.Y("mean:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    base = alt.Chart({"values": list(cells)}).encode(x=numbers(factor), color=colour)
    spread = base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    points = base.mark_point(filled=True, size=26, opacity=1).encode(
        y=height, tooltip=tips(metric, alt.Tooltip("x:Q", title=with_unit(factor.label, factor.unit)))
    )
    drawn = base.mark_line(strokeWidth=1.8).encode(y=height, strokeDash=dash)
    return alt.layer(spread, drawn, points).properties(
        width=(WIDTH - 30 * count) / count, height=HEIGHT, title=alt.TitleParams(heading, fontWeight="normal")
    )


def dots(*metrics: Metric) -> Callable[..., alt.VConcatChart]:
    """Return what draws metrics of each configuration, a row of panels each, a column for each value of the factor."""

    def draw(evaluation: Evaluation, engine: str) -> alt.VConcatChart:
        study = evaluation.study
        factor = study.design.factors[0]
        order = [item.label for item in study.design.configurations]
        rows = []
        for metric in metrics:
            found = series_of(evaluation, engine, metric.name)
            panels = []
            for column, value in enumerate(factor.values):
                cells = [
                    {"series": study.design.labels[str(key[0])], **interval(summary)}
                    for key, summary in found.items()
                    if key[1] == value
                ]
                labels = alt.Axis(labels=column == 0, ticks=column == 0, grid=True, labelLimit=180)
                base = alt.Chart({"values": cells}).encode(y=alt.Y("series:N", sort=order, title=None, axis=labels))
                across = alt.X("mean:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=3))
                points = base.mark_point(filled=True, size=36, opacity=1, color=COLOURS[0]).encode(
                    x=across, tooltip=tips(metric)
                )
                spread = base.mark_rule(strokeWidth=1.5, color=COLOURS[0]).encode(
                    x=alt.X("low:Q", title=None), x2="high:Q"
                )
                title = alt.TitleParams(factor.word(value), fontWeight="normal")
                panels.append(alt.layer(spread, points).properties(width=120, height=16 * len(order), title=title))
            rows.append(alt.hconcat(*panels, spacing=14, title=with_unit(metric.label, metric.unit)))
        return alt.vconcat(*rows, spacing=18)

    return draw


def pairs(metric: Metric, *, decimals: int = 2, log: bool = False) -> Callable[..., alt.VConcatChart]:
    """Return what draws a metric as a map of sender and receiver, one for each rate."""

    def draw(evaluation: Evaluation, engine: str) -> alt.VConcatChart:
        study = evaluation.study
        receiver, rate = study.design.factors
        found = series_of(evaluation, engine, metric.name)
        top = max((summary.mean for summary in found.values()), default=1.0)
        maps = []
        for value in rate.values:
            cells = [
                {
                    "sender": study.design.labels[str(key[0])],
                    "receiver": str(key[1]),
                    "mean": max(summary.mean, 1e-3) if log else summary.mean,
                    "text": f"{summary.mean:.{decimals}f}",
                    "dark": summary.mean > 0.45 * top or (log and summary.mean > top**0.55),
                }
                for key, summary in found.items()
                if key[2] == value
            ]
            maps.append(square(cells, study.design.configurations, receiver.values, f"{value} Mbit/s", top, log=log))
        # pages give charts their own width, but leave those alone that stand above one another
        return alt.vconcat(alt.hconcat(*maps, spacing=20).resolve_scale(color="shared"))

    def square(
        cells: Sequence[Mapping[str, Any]],
        senders: Sequence[Any],
        receivers: Sequence[Value],
        title: str,
        top: float,
        *,
        log: bool,
    ) -> Layers:
        base = alt.Chart({"values": list(cells)}).encode(
            x=alt.X(
                "receiver:N",
                sort=[str(item) for item in receivers],
                title="Receiver",
                axis=alt.Axis(orient="top", labelAngle=-45),
            ),
            y=alt.Y("sender:N", sort=[item.label for item in senders], title="Sender"),
        )
        scale = alt.Scale(scheme="blues", type="log" if log else "linear", domain=[1 if log else 0, top])
        squares = base.mark_rect(stroke="white").encode(
            color=alt.Color("mean:Q", scale=scale, legend=None),
            tooltip=[
                alt.Tooltip("sender:N", title="Sender"),
                alt.Tooltip("receiver:N", title="Receiver"),
                alt.Tooltip("text:N", title=with_unit(metric.label, metric.unit)),
            ],
        )
        text = base.mark_text(fontSize=9).encode(
            text="text:N", color=alt.condition("datum.dark", alt.value("#ffffff"), alt.value("#24292f"))
        )
        size = 30
        return alt.layer(squares, text).properties(
            width=size * len(receivers), height=0.75 * size * len(senders), title=title
        )

    return draw


figure = partial(drawn_figure, source="not published")
"""A figure of nothing that was published."""
