"""Figures over a factor that is a number.

Published series are thin and dashed with hollow squares, measured ones solid with filled circles, a few pixels to the
left and to the right of the value that they share; estimates are thin and dotted. Colour is the series. Where several
configurations have several parts each, colour is the part, and the mark is the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import alt, pl
from quiclab.report.figures.points import figure_data, starts_at_zero
from quiclab.report.figures.theme import (
    MEASURED,
    MODEL,
    PUBLISHED,
    SHIFT,
    SYMBOLS,
    WIDTH,
    Layers,
    colours,
    empty_chart,
    legend_of_symbols,
)
from quiclab.study import with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Figure
    from quiclab.study.evaluate import Evaluation

CAP = 6.0
HEIGHT = 380
# more measured values than this on an axis, and round numbers are easier to read
MAX_TICKS = 16
ROUND_TICKS = 6


@dataclass(frozen=True)
class Style:
    """Style of a kind of series.

    Attributes
    ----------
    name
        Label in the legend.
    symbol
        Symbol in the legend: an SVG path in a box from -1 to 1.
    shift
        Horizontal offset of marks from their value [pixels].
    width
        Width of the line [pixels].
    dash
        Lengths of dashes and gaps of the line [pixels].
    shape
        Shape of the marks; empty for no marks.
    filled
        Whether marks are filled.
    """

    name: str
    symbol: str
    shift: float
    width: float
    dash: tuple[float, ...]
    shape: str = ""
    filled: bool = True


SOURCES = {
    PUBLISHED: Style(PUBLISHED, SYMBOLS[PUBLISHED], -SHIFT, 1.2, (5, 4), "square", filled=False),
    MEASURED: Style(MEASURED, SYMBOLS[MEASURED], SHIFT, 2.0, (1, 0), "circle"),
    MODEL: Style(MODEL, SYMBOLS[MODEL], 0.0, 1.3, (1.5, 3)),
}
# of several configurations with several parts: shapes and dashes, with what the legend shows
MARKS = (
    ("circle", (1.0, 0.0), SYMBOLS[MEASURED]),
    ("triangle-up", (7.0, 3.0), "M-1,-.06H-.4V.06H-1ZM.4,-.06H1V.06H.4ZM-.3,.24H.3L0,-.3Z"),
    ("diamond", (2.0, 2.0), "M-1,-.06H-.8V.06H-1ZM-.6,-.06H-.4V.06H-.6ZM.4,-.06H.6V.06H.4ZM.8,-.06H1V.06H.8Z"
     "M-.3,0L0,-.3L.3,0L0,.3Z"),
)  # fmt: skip


def chart(evaluation: Evaluation, figure: Figure, engine: str) -> Layers:
    """Declare a figure: lines, error bars of one standard deviation and marks."""
    study = evaluation.study
    factor = study.design.factor(figure.x)
    data = figure_data(evaluation, figure, engine)
    if data.is_empty():
        return empty_chart()
    data, styles = styled(data, study.measures.model.label if study.measures.model else "")
    metric = study.measures.metric_of(figure.metric)
    y_title = with_unit(metric.label, metric.unit)
    colour = colours(list(dict.fromkeys(data["series"].to_list())))
    x = alt.X(
        "x:Q",
        title=with_unit(factor.label, factor.unit),
        scale=alt.Scale(nice=False, padding=14),
        axis=alt.Axis(grid=False, labelOverlap="greedy", labelSeparation=5, **_ticks(data)),
    )
    y = alt.Y("mean:Q", title=y_title, scale=alt.Scale(zero=starts_at_zero(data)), axis=alt.Axis(tickCount=7))
    low, high = alt.Y("low:Q", title=y_title), alt.Y("high:Q", title=y_title)
    tooltip = [
        alt.Tooltip("configuration:N", title="Configuration"),
        *([alt.Tooltip("part:N", title=study.design.parts[0].label)] if any(data["part"]) else []),
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("x:Q", title=factor.label),
        alt.Tooltip("mean:Q", title=with_unit("Mean", metric.unit), format=".4~g"),
        alt.Tooltip("std:Q", title=with_unit("Standard deviation", metric.unit), format=".3~g"),
        alt.Tooltip("n:Q", title="Runs"),
    ]
    base = alt.Chart({"values": data.to_dicts()})
    layers: list[alt.Chart] = []
    for style in styles:
        shown = base.transform_filter(alt.datum.style == style.name)
        line = shown.mark_line(strokeWidth=style.width, strokeDash=list(style.dash), xOffset=style.shift)
        layers.append(line.encode(x=x, y=y, color=colour))
        if not style.shape:
            continue
        mark: dict[str, Any] = {"size": 50, "opacity": 1, "xOffset": style.shift, "shape": style.shape}
        mark |= {"filled": True} if style.filled else {"strokeWidth": 1.4}
        cap = shown.mark_tick(orient="horizontal", size=CAP, thickness=style.width, xOffset=style.shift, opacity=1)
        layers += [
            shown.mark_rule(strokeWidth=style.width, xOffset=style.shift).encode(x=x, y=low, y2="high:Q", color=colour),
            cap.encode(x=x, y=low, color=colour),
            cap.encode(x=x, y=high, color=colour),
            shown.mark_point(**mark).encode(x=x, y=y, color=colour, tooltip=tooltip),
        ]
    symbols = {style.name: style.symbol for style in styles}
    if len(symbols) > 1:
        layers.append(legend_of_symbols(base, symbols))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def styled(data: pl.DataFrame, model: str) -> tuple[pl.DataFrame, list[Style]]:
    """Add the column `style`, which distinguishes kinds of series, and return how each is drawn.

    Parameters
    ----------
    data
        Points of a figure; of several configurations with parts, `series` becomes the part.
    model
        What the legend calls estimates.
    """
    configurations = list(dict.fromkeys(data["configuration"].to_list()))
    sources = [source for source in SOURCES if source in data["source"].to_list()]
    by_part = any(data["part"]) and len(configurations) > 1
    names = {PUBLISHED: PUBLISHED, MEASURED: MEASURED, MODEL: model}
    if not by_part:
        style = pl.col("source").replace(names)
        return data.with_columns(style=style), [replace(SOURCES[source], name=names[source]) for source in sources]
    # configurations are told apart by marks, and their sources by name; only few studies have both
    styles: list[Style] = []
    middle = (len(configurations) - 1) / 2
    for source in sources:
        for index, configuration in enumerate(configurations):
            shape, dash, symbol = MARKS[index % len(MARKS)]
            name = configuration if len(sources) == 1 else f"{configuration}, {names[source]}"
            drawn = SOURCES[source]
            shift = drawn.shift if len(sources) > 1 else 2 * SHIFT * (index - middle)
            if source == MEASURED:
                styles.append(Style(name, symbol, shift, 1.6, dash, shape))
            else:
                styles.append(replace(drawn, name=name))
    suffix = pl.lit("") if len(sources) == 1 else ", " + pl.col("source").replace(names)
    return data.with_columns(style=pl.col("configuration") + suffix, series=pl.col("part")), styles


def caption(evaluation: Evaluation, figure: Figure, engine: str) -> str:
    """Return a description of the marks of a figure."""
    data = figure_data(evaluation, figure, engine)
    sources = set(data["source"])
    model = evaluation.study.measures.model
    sentences = [printed(figure, sources, f"Dashed with squares: published ({figure.source}).")]
    if any(data["part"]) and data["configuration"].n_unique() > 1:
        sentences.append(f"Marks: measured with {engine}; shape and dash distinguish the configurations.")
    else:
        sentences.append(f"Solid with circles: measured with {engine}.")
    if model is not None and MODEL in sources:
        sentences.append(f"Dotted: {model.label}, an estimate without simulation ({model.source}).")
    together = "; the two sources are drawn slightly left and right of their common value"
    sentences.append(f"Bars: one standard deviation{together if PUBLISHED in sources else ''}.")
    if not starts_at_zero(data):
        sentences.append("The vertical axis does not start at zero.")
    return " ".join(filter(None, sentences))


def printed(figure: Figure, sources: set[str], published: str) -> str:
    """Return the part of the caption about the published points, or that none exist; empty without a source."""
    if PUBLISHED in sources or not figure.source:
        return published if PUBLISHED in sources else ""
    return f"No published numbers of this figure are stored ({figure.source}); all points are measured."


def _ticks(data: pl.DataFrame) -> dict[str, Any]:
    """Return where the ticks of the horizontal axis are: at the measured values, unless there are many."""
    values: Sequence[float] = data["x"].unique().sort().to_list()
    return {"values": values} if len(values) <= MAX_TICKS else {"tickCount": ROUND_TICKS}
