"""Figures: one altair declaration gives SVG, PNG and the interactive chart of the report.

Published series are thin and dashed with hollow squares, measured ones solid with filled circles, a few pixels to the
left and to the right of the value that they share; colour is the configuration. The colours are three of Okabe and
Ito's palette, lightened or darkened so that each has a contrast of at least 3:1 on white and on near black, and they
differ in lightness, too.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import vl_convert

from quiclab import stats
from quiclab.errors import QuiclabError
from quiclab.study import with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.claims import Key
    from quiclab.criteria import Criterion
    from quiclab.evaluate import Evaluation
    from quiclab.stats import Summary
    from quiclab.study import Figure, Study

COLOURS = ("#c8651b", "#2f80c3", "#2a9273", "#b0609a", "#8c7a1f")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
PUBLISHED, MEASURED = "published", "measured"

# pixels by which the two sources stand beside their common value, so that their error bars can be told apart
SHIFT = 3.0
CAP = 6.0
# height of a setting in the figure of a criterion, and of its band of limits, in pixels
STEP = 20
BAND = 14
# more measured values than this on an axis, and round numbers are easier to read
MOST_TICKS = 16
ROUND_TICKS = 6
# values of pairs that differ by more than this factor stand on a logarithmic axis
LOG_ABOVE = 20
# the axis starts at zero where the lowest value is below this part of the highest
ZERO_BELOW = 0.5
# what the legend shows of a source, as filled outlines in a box from -1 to 1: dashes with a hollow square between them,
# and a line with a disc
SYMBOLS = {
    PUBLISHED: "M-1,-.04H-.72V.04H-1ZM-.58,-.04H-.24V.04H-.58ZM.24,-.04H.58V.04H.24ZM.72,-.04H1V.04H.72Z"
    "M-.24,-.24H.24V.24H-.24ZM-.16,-.16V.16H.16V-.16Z",
    MEASURED: "M-1,-.06H1V.06H-1ZM-.24,0A.24,.24,0,1,1,.24,0A.24,.24,0,1,1,-.24,0Z",
}
NEUTRAL = "#808890"


def theme(text: str, grid: str, background: str | None) -> dict[str, Any]:
    """Return the Vega-Lite configuration of a colour scheme."""
    axis = {"labelColor": text, "titleColor": text, "tickColor": grid, "domainColor": grid, "gridColor": grid}
    return {
        "background": background,
        "font": FONT,
        "axis": {**axis, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "gridOpacity": 0.6},
        "legend": {
            "labelColor": text,
            "titleColor": text,
            "labelFontSize": 13,
            "labelLimit": 260,
            "columnPadding": 16,
            "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 2}},
        },
        "view": {"stroke": None},
    }


LIGHT = theme("#24292f", "#d4d8dd", "#ffffff")
DARK = theme("#e6e8eb", "#3b4149", None)


def figure_data(evaluation: Evaluation, figure: Figure, engine: str) -> pl.DataFrame:
    """Return the points of a figure.

    Columns: `x`, `series` (label of the configuration), `source` (published or measured), `mean`, `low`, `high`
    (mean minus and plus one standard deviation), `std`, `n`.
    """
    study = evaluation.study
    metric = study.metric_of(figure.metric)
    first_part = tuple(part.values[0] for part in study.parts)
    position = 1 + [factor.name for factor in study.factors].index(figure.x)
    rows = []

    def add(key: tuple[Any, ...], source: str, summary: Summary) -> None:
        series = study.series_key(key)
        if not metric.of and series[1:] != first_part:
            return  # a metric of the whole run is the same in all of its parts
        shown = study.series_label(series) if metric.of else study.labels.get(str(key[0]), str(key[0]))
        std = 0.0 if math.isnan(summary.std) else summary.std
        rows.append(
            {
                "x": key[position],
                "series": shown,
                "source": source,
                "mean": summary.mean,
                "low": summary.mean - std,
                "high": summary.mean + std,
                "std": std,
                "n": summary.n,
            }
        )

    for row in evaluation.reference(figure.metric):
        add(row.key, PUBLISHED, row.summary)
    for key, summary in evaluation.summaries(engine, metric=figure.metric).items():
        add(key, MEASURED, summary)
    return pl.DataFrame(rows, infer_schema_length=None)


def starts_at_zero(data: pl.DataFrame) -> bool:
    """Whether the axis of the values starts at zero: where they differ by more than a factor of two."""
    lowest, highest = min(data["low"].to_list()), max(data["high"].to_list())
    return bool(lowest < ZERO_BELOW * highest)


def chart(evaluation: Evaluation, figure: Figure, engine: str) -> alt.LayerChart | alt.FacetChart:
    """Declare a figure: lines, error bars of one standard deviation and marks."""
    if figure.pairs:
        return pairs(evaluation, figure, engine)
    if figure.criterion:
        return agreement(evaluation, figure, engine)
    study = evaluation.study
    factor = study.factor(figure.x)
    data = figure_data(evaluation, figure, engine)
    metric = study.metric_of(figure.metric)
    y_title = with_unit(metric.label, metric.unit)
    colour = _colours(list(dict.fromkeys(data["series"].to_list())))
    x = alt.X(
        "x:Q",
        title=with_unit(factor.label, factor.unit),
        scale=alt.Scale(nice=False, padding=14),
        axis=alt.Axis(grid=False, labelOverlap="greedy", labelSeparation=5, **_ticks(data)),
    )
    y = alt.Y("mean:Q", title=y_title, scale=alt.Scale(zero=starts_at_zero(data)), axis=alt.Axis(tickCount=7))
    low, high = alt.Y("low:Q", title=y_title), alt.Y("high:Q", title=y_title)
    tooltip = [
        alt.Tooltip("series:N", title="Configuration"),
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("x:Q", title=factor.label),
        alt.Tooltip("mean:Q", title=with_unit("Mean", metric.unit), format=".2f"),
        alt.Tooltip("std:Q", title=with_unit("Standard deviation", metric.unit), format=".2f"),
        alt.Tooltip("n:Q", title="Runs"),
    ]
    base = alt.Chart({"values": data.to_dicts()})
    layers: list[alt.Chart] = []
    for source, shift, width, dash in ((PUBLISHED, -SHIFT, 1.2, [5, 4]), (MEASURED, SHIFT, 2.0, [1, 0])):
        shown = base.transform_filter(alt.datum.source == source)
        mark: dict[str, Any] = {"size": 50, "opacity": 1, "xOffset": shift}
        mark |= {"shape": "circle", "filled": True} if source == MEASURED else {"shape": "square", "strokeWidth": 1.4}
        cap = shown.mark_tick(orient="horizontal", size=CAP, thickness=width, xOffset=shift, opacity=1)
        layers += [
            shown.mark_line(strokeWidth=width, strokeDash=dash, xOffset=shift).encode(x=x, y=y, color=colour),
            shown.mark_rule(strokeWidth=width, xOffset=shift).encode(x=x, y=low, y2="high:Q", color=colour),
            cap.encode(x=x, y=low, color=colour),
            cap.encode(x=x, y=high, color=colour),
            shown.mark_point(**mark).encode(x=x, y=y, color=colour, tooltip=tooltip),
        ]
    return alt.layer(*layers, _legend_of_sources(base)).properties(width=680, height=380)


def agreement_data(evaluation: Evaluation, figure: Figure, engine: str) -> pl.DataFrame:
    """Return the points of a figure of a criterion.

    Columns: `setting`, `series` (label of the configuration), `difference`, its interval from `least` to `most`, and
    `limit` (percent of the reference, or the unit of the metric, or multiples of the limit where limits differ), `low`
    (-limit), `reference`, `measured`, `outcome`; settings that were not run have none.
    """
    study = evaluation.study
    labels = study.labels
    found = next(item for item in evaluation.criteria(engine) if item.criterion.identity == figure.criterion)
    rows = []
    for line in found.lines:
        scale = _scale(found.criterion, line.limit)
        name = str(line.key[0])
        margin = 0.0 if math.isnan(line.margin) else line.margin
        rows.append(
            {
                "setting": _setting(study, line.key),
                "series": labels[name],
                "difference": scale * line.difference,
                "least": scale * (line.difference - margin),
                "most": scale * (line.difference + margin),
                "limit": scale * line.limit,
                "low": -scale * line.limit,
                "reference": line.reference,
                "measured": line.measured,
                "outcome": str(line.outcome),
            }
        )
    return pl.DataFrame(rows).filter(pl.col("difference").is_not_nan())


def _setting(study: Study, key: Key) -> str:
    """Return the name of a setting in a figure of a criterion."""
    values = [f"{value} {factor.unit}".strip() for factor, value in zip(study.factors, key[1:], strict=False)]
    return ", ".join([study.labels[str(key[0])], *values])


def _differ(criterion: Criterion) -> bool:
    return not criterion.relative and len(set(criterion.limits.values())) > 1


def _scale(criterion: Criterion, limit: float) -> float:
    """Return what turns a difference into what the figure shows."""
    return 100.0 if criterion.relative else 1.0 / limit if _differ(criterion) else 1.0


def agreement(evaluation: Evaluation, figure: Figure, engine: str) -> alt.LayerChart | alt.FacetChart:
    """Declare a figure of a criterion: one row a setting, its limits as a band and its difference as a mark."""
    study = evaluation.study
    criterion = next(item for item in study.criteria if item.identity == figure.criterion)
    metric = next(item for item in study.metrics if item.name == (criterion.metric or study.metric.name))
    unit = "%" if criterion.relative else "limits" if _differ(criterion) else metric.unit
    data = agreement_data(evaluation, figure, engine)
    if data.is_empty():
        return nothing_yet()
    series = [label for label in study.labels.values() if label in set(data["series"])]
    base = alt.Chart({"values": data.to_dicts()})
    title = with_unit(f"{metric.label}: difference from the reference", unit)
    y = alt.Y("setting:N", sort=data["setting"].to_list(), title=None, axis=alt.Axis(labelLimit=330))
    x = alt.X("difference:Q", title=title, axis=alt.Axis(tickCount=9))
    tooltip = [
        alt.Tooltip("setting:N", title="Setting"),
        alt.Tooltip("reference:Q", title=with_unit("Reference", metric.unit), format=".4g"),
        alt.Tooltip("measured:Q", title=with_unit("Measured", metric.unit), format=".4g"),
        alt.Tooltip("difference:Q", title=with_unit("Difference", unit), format="+.2f"),
        alt.Tooltip("limit:Q", title=with_unit("Limit", unit), format=".4g"),
        alt.Tooltip("outcome:N", title="Outcome"),
    ]
    band = base.mark_bar(color=NEUTRAL, opacity=0.25, height=BAND).encode(
        y=y, x=alt.X("low:Q", title=title), x2="limit:Q"
    )
    zero = base.mark_rule(color=NEUTRAL).encode(x=alt.X(datum=0, title=title))
    interval = base.mark_rule(strokeWidth=1.4).encode(
        y=y, x=alt.X("least:Q", title=title), x2="most:Q", color=_colours(series)
    )
    marks = base.mark_point(filled=True, opacity=1, size=70).encode(
        y=y,
        x=x,
        color=_colours(series),
        shape=alt.Shape(
            "outcome:N",
            scale=alt.Scale(domain=["pass", "miss"], range=["circle", "cross"]),
            legend=alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=90),
        ),
        tooltip=tooltip,
    )
    return alt.layer(band, zero, interval, marks).properties(width=680, height=alt.Step(STEP))


def pairs_data(evaluation: Evaluation, figure: Figure, engine: str) -> pl.DataFrame:
    """Return the points of a figure of pairs.

    Columns: `setting`, `series` (label of the configuration), `source` (published or measured), `mean`, `low`, `high`
    (95 % interval of the mean); two rows for each setting of the criterion that was run.
    """
    study = evaluation.study
    criterion = next(item for item in study.criteria if item.identity == figure.criterion)
    sides = {
        PUBLISHED: {row.key: row.summary for row in evaluation.reference(criterion.metric)},
        MEASURED: evaluation.summaries(engine, metric=criterion.metric),
    }
    rows = []
    for key in criterion.limits:
        for source, summaries in sides.items():
            if key in summaries:
                half = stats.half_width(summaries[key])
                half = 0.0 if math.isnan(half) else half
                mean = summaries[key].mean
                rows.append(
                    {
                        "setting": _setting(study, key),
                        "series": study.labels[str(key[0])],
                        "source": source,
                        "mean": mean,
                        "low": mean - half,
                        "high": mean + half,
                    }
                )
    texts, numbers = ("setting", "series", "source"), ("mean", "low", "high")
    columns: dict[str, type[pl.DataType]] = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(rows, schema=columns).filter(pl.col("mean").is_not_nan())


def pairs(evaluation: Evaluation, figure: Figure, engine: str) -> alt.LayerChart | alt.FacetChart:
    """Declare a figure of pairs: one row a setting, reference and measurement one above the other."""
    study = evaluation.study
    criterion = next(item for item in study.criteria if item.identity == figure.criterion)
    metric = next(item for item in study.metrics if item.name == (criterion.metric or study.metric.name))
    data = pairs_data(evaluation, figure, engine)
    if data.is_empty():
        return nothing_yet()
    series = [label for label in study.labels.values() if label in set(data["series"])]
    base = alt.Chart({"values": data.to_dicts()})
    title = with_unit(metric.label, metric.unit)
    means = data["mean"].to_list()
    scale = alt.Scale(type="log") if min(means) > 0 and max(means) > LOG_ABOVE * min(means) else alt.Scale(zero=False)
    y = alt.Y(
        "setting:N", sort=list(dict.fromkeys(data["setting"])), title=None, axis=alt.Axis(labelLimit=330, grid=True)
    )
    x, low = alt.X("mean:Q", title=title, scale=scale), alt.X("low:Q", title=title, scale=scale)
    tooltip = [
        alt.Tooltip("setting:N", title="Setting"),
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("mean:Q", title=with_unit("Mean", metric.unit), format=".4g"),
    ]
    colour = _colours(series)
    layers: list[alt.Chart] = []
    for source, shift in ((PUBLISHED, -SHIFT), (MEASURED, SHIFT)):
        shown = base.transform_filter(alt.datum.source == source)
        mark: dict[str, Any] = {"size": 50, "opacity": 1, "yOffset": shift}
        mark |= {"shape": "circle", "filled": True} if source == MEASURED else {"shape": "square", "strokeWidth": 1.4}
        layers += [
            shown.mark_rule(strokeWidth=1.4, yOffset=shift).encode(y=y, x=low, x2="high:Q", color=colour),
            shown.mark_point(**mark).encode(y=y, x=x, color=colour, tooltip=tooltip),
        ]
    return alt.layer(*layers, _legend_of_sources(base)).properties(width=680, height=alt.Step(STEP))


def nothing_yet() -> alt.LayerChart | alt.FacetChart:
    """Declare what stands for a figure whose part of the study was not run."""
    text = alt.Chart({"values": [{"text": "None of these settings has been run yet."}]})
    return alt.layer(text.mark_text(align="left", x=0).encode(text="text:N")).properties(width=680, height=40)


def _ticks(data: pl.DataFrame) -> dict[str, Any]:
    """Return where the ticks of the horizontal axis are: at the measured values, unless there are many."""
    values = data["x"].unique().sort().to_list()
    return {"values": values} if len(values) <= MOST_TICKS else {"tickCount": ROUND_TICKS}


def _colours(series: list[str]) -> alt.Color:
    legend = alt.Legend(
        title=None, orient="top", direction="horizontal", symbolType="square", symbolStrokeWidth=0, symbolOpacity=1
    )
    return alt.Color(
        "series:N",
        scale=alt.Scale(domain=series, range=[COLOURS[index % len(COLOURS)] for index in range(len(series))]),
        legend=legend,
    )


def _legend_of_sources(base: alt.Chart) -> alt.Chart:
    """Return a layer that draws nothing: it brings the legend that tells published from measured."""
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        symbolSize=900,
        symbolStrokeWidth=0,
        symbolOpacity=1,
    )
    shape = alt.Shape("source:N", scale=alt.Scale(domain=list(SYMBOLS), range=list(SYMBOLS.values())), legend=legend)
    layer: alt.Chart = base.mark_point(size=0, opacity=0, filled=True, color=NEUTRAL).encode(shape=shape)
    return layer


def specification(evaluation: Evaluation, figure: Figure, engine: str) -> dict[str, Any]:
    """Return the Vega-Lite specification of a figure, without a theme."""
    spec: dict[str, Any] = chart(evaluation, figure, engine).to_dict()
    spec.pop("config", None)
    return spec


def to_svg(spec: Mapping[str, Any], config: Mapping[str, Any] = LIGHT) -> str:
    """Render a specification as SVG."""
    try:
        return str(vl_convert.vegalite_to_svg(json.dumps(spec), config=dict(config)))
    except ValueError as error:
        raise QuiclabError(f"the figure cannot be drawn: {error}") from error


def to_png(spec: Mapping[str, Any], config: Mapping[str, Any] = LIGHT, scale: float = 2.0) -> bytes:
    """Render a specification as PNG with `scale` pixels a point."""
    try:
        return bytes(vl_convert.vegalite_to_png(json.dumps(spec), scale=scale, config=dict(config)))
    except ValueError as error:
        raise QuiclabError(f"the figure cannot be drawn: {error}") from error
