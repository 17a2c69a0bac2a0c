"""Figures of settings without an order: one row a configuration, name or part of a run, with its mean as a mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab._base.libraries import alt
from quiclab.report.figures.lines import printed
from quiclab.report.figures.points import figure_data, starts_at_zero
from quiclab.report.figures.theme import (
    COLOURS,
    MEASURED,
    NEUTRAL,
    PUBLISHED,
    SYMBOLS,
    Layers,
    colours,
    empty_chart,
    legend_of_symbols,
    of_rows,
)
from quiclab.study import with_unit

if TYPE_CHECKING:
    import polars as pl

    from quiclab.study import Figure
    from quiclab.study.evaluate import Evaluation

# heights in pixels: of what stands in one row, and between rows
LANE = 14
BETWEEN = 20
CAP = 8.0
# values that differ by less than this part of the largest stand on an axis from zero: closer, it would show noise
SAME_WITHIN = 0.05


def from_zero(data: pl.DataFrame) -> bool:
    """Whether the axis of the values starts at zero: where they differ by much, or hardly at all."""
    if starts_at_zero(data):
        return True
    lowest, highest = min(data["low"].to_list()), max(data["high"].to_list())
    return bool(highest - lowest < SAME_WITHIN * highest)


def chart(evaluation: Evaluation, figure: Figure, engine: str) -> Layers:
    """Declare a figure: in each row one mark a configuration and source, with a bar of one standard deviation."""
    study = evaluation.study
    data = figure_data(evaluation, figure, engine)
    if data.is_empty():
        return empty_chart()
    metric = study.measures.metric_of(figure.metric)
    data = data.with_columns(style=data["source"])
    names = list(dict.fromkeys(data["x"].cast(str).to_list()))
    series = list(dict.fromkeys(data["series"].to_list()))
    # rows that are configurations have their names next to them: colours would say it again
    said = set(series) == set(names)
    title = with_unit(metric.label, metric.unit)
    row = study.design.factor(figure.x).label if figure.x and not said else None
    y = alt.Y("x:N", sort=names, title=row, axis=alt.Axis(labelLimit=330, grid=True))
    x = alt.X("mean:Q", title=title, scale=alt.Scale(zero=from_zero(data)), axis=alt.Axis(tickCount=8))
    low, high = alt.X("low:Q", title=title), alt.X("high:Q", title=title)
    colour = alt.value(COLOURS[0]) if said or len(series) == 1 else colours(series)
    tooltip = [
        alt.Tooltip("series:N", title="Configuration"),
        alt.Tooltip("x:N", title=row or "Setting"),
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("mean:Q", title=with_unit("Mean", metric.unit), format=".4~g"),
        alt.Tooltip("std:Q", title=with_unit("Standard deviation", metric.unit), format=".3~g"),
        alt.Tooltip("n:Q", title="Runs"),
    ]
    base = alt.Chart({"values": data.to_dicts()})
    sources = [source for source in (PUBLISHED, MEASURED) if source in data["source"].to_list()]
    lanes = [(label, source) for label in ([None] if said else series) for source in sources]
    layers: list[alt.Chart] = []
    for index, (label, source) in enumerate(lanes):
        shift = LANE * (index - (len(lanes) - 1) / 2)
        shown = base.transform_filter(alt.datum.source == source)
        if label is not None:
            shown = shown.transform_filter(alt.datum.series == label)
        width = 2.0 if source == MEASURED else 1.4
        cap = shown.mark_tick(orient="vertical", size=CAP, thickness=width, yOffset=shift, opacity=1)
        bar = shown.mark_rule(strokeWidth=width, yOffset=shift).encode(y=y, x=low, x2="high:Q", color=colour)
        mark = shown.mark_point(
            size=80,
            opacity=1,
            yOffset=shift,
            shape="circle" if source == MEASURED else "square",
            filled=source == MEASURED,
            strokeWidth=1.6,
        )
        layers += [
            bar,
            cap.encode(y=y, x=low, color=colour),
            cap.encode(y=y, x=high, color=colour),
            mark.encode(y=y, x=x, color=colour, tooltip=tooltip),
        ]
    if len(sources) > 1:
        layers.append(legend_of_symbols(base, {source: SYMBOLS[source] for source in sources}))
    zero = base.mark_rule(color=NEUTRAL, opacity=0.5).encode(x=alt.X(datum=0)) if from_zero(data) else None
    return of_rows(alt.layer(*([zero] if zero else []), *layers), len(names), LANE * len(lanes) + BETWEEN)


def caption(evaluation: Evaluation, figure: Figure, engine: str) -> str:
    """Return a description of the marks of a figure."""
    data = figure_data(evaluation, figure, engine)
    sentences = [
        printed(figure, set(data["source"]), f"Squares: published ({figure.source})."),
        f"Circles: measured with {engine}.",
        "Bars: one standard deviation.",
    ]
    if not from_zero(data):
        sentences.append("The horizontal axis does not start at zero.")
    return " ".join(filter(None, sentences))
