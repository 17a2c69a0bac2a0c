"""Figures: one altair declaration gives SVG, PNG and the interactive chart of the report.

Published series are dashed with hollow marks, measured ones solid with filled marks; colour is the configuration. The
colours are three of Okabe and Ito's palette, lightened or darkened so that each has a contrast of at least 3:1 on white
and on near black, and they differ in lightness, too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import vl_convert

from quiclab.errors import QuiclabError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.evaluate import Evaluation
    from quiclab.stats import Summary
    from quiclab.study import Figure

COLOURS = ("#c8651b", "#2f80c3", "#2a9273", "#b0609a", "#8c7a1f")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
PUBLISHED, MEASURED = "published", "measured"


def theme(text: str, grid: str, background: str | None) -> dict[str, Any]:
    """Return the Vega-Lite configuration of a colour scheme."""
    axis = {"labelColor": text, "titleColor": text, "tickColor": grid, "domainColor": grid, "gridColor": grid}
    return {
        "background": background,
        "font": FONT,
        "axis": {**axis, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "gridOpacity": 0.6},
        "legend": {"labelColor": text, "titleColor": text, "labelFontSize": 12, "labelLimit": 260, "columns": 3},
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
    labels = study.labels
    position = 1 + [factor.name for factor in study.factors].index(figure.x)
    rows = []

    def add(key: tuple[Any, ...], source: str, summary: Summary) -> None:
        std = 0.0 if summary.n < 2 else summary.std
        rows.append(
            {
                "x": key[position],
                "series": labels.get(key[0], key[0]),
                "source": source,
                "mean": summary.mean,
                "low": summary.mean - std,
                "high": summary.mean + std,
                "std": std,
                "n": summary.n,
            }
        )

    for row in evaluation.published:
        add(row.key, PUBLISHED, row.summary)
    for key, summary in evaluation.summaries(engine).items():
        add(key, MEASURED, summary)
    return pl.DataFrame(rows)


def chart(evaluation: Evaluation, figure: Figure, engine: str) -> alt.LayerChart | alt.FacetChart:
    """Declare a figure: lines, error bars of one standard deviation and marks."""
    study = evaluation.study
    factor = study.factor(figure.x)
    data = figure_data(evaluation, figure, engine)
    series = list(study.labels.values())
    y_title = f"{study.metric.label} [{study.metric.unit}]"
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=series, range=list(COLOURS[: len(series)])),
        legend=alt.Legend(title=None, orient="top", symbolType="circle", symbolStrokeWidth=0, symbolOpacity=1),
    )
    dash = alt.StrokeDash(
        "source:N",
        scale=alt.Scale(domain=[PUBLISHED, MEASURED], range=[[5, 4], [1, 0]]),
        legend=alt.Legend(title=None, orient="bottom", symbolStrokeColor="#808890", symbolSize=400),
    )
    x = alt.X("x:Q", title=f"{factor.label} [{factor.unit}]", scale=alt.Scale(nice=False, padding=12))
    y = alt.Y("mean:Q", title=y_title, scale=alt.Scale(zero=False))
    tooltip = [
        alt.Tooltip("series:N", title="Configuration"),
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("x:Q", title=factor.label),
        alt.Tooltip("mean:Q", title=f"Mean [{study.metric.unit}]", format=".2f"),
        alt.Tooltip("std:Q", title=f"Standard deviation [{study.metric.unit}]", format=".2f"),
        alt.Tooltip("n:Q", title="Runs"),
    ]
    base = alt.Chart({"values": data.to_dicts()})
    lines = base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1.4).encode(x=x, y=alt.Y("low:Q", title=y_title), y2="high:Q", color=colour)
    encoded = {"x": x, "y": y, "color": colour, "tooltip": tooltip}
    hollow = base.mark_point(size=46, strokeWidth=1.6, opacity=1, shape="square").encode(**encoded)
    filled = base.mark_point(size=46, strokeWidth=1.6, opacity=1, filled=True).encode(**encoded)
    return alt.layer(
        lines,
        bars,
        hollow.transform_filter(alt.datum.source == PUBLISHED),
        filled.transform_filter(alt.datum.source == MEASURED),
    ).properties(width=640, height=380)


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
