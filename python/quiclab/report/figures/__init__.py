"""Figures: one altair declaration gives SVG, PNG and the interactive chart of the report.

| module | draws |
| --- | --- |
| `lines` | a metric over a factor that is a number: series published, measured and estimated |
| `rows` | a metric of settings that have no order: one row a setting |
| `heatmap` | the difference of two configurations over two factors, with its significance |
| `agreement` | how far a criterion is met, setting by setting |
| `over_time` | the time series of a run |
| `plot` | what Python returns: a figure for notebooks and files |
| `theme` | what they share: colours, symbols, light and dark, formats of files |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import alt
from quiclab.report.figures import agreement, heatmap, lines, rows
from quiclab.report.figures.agreement import agreement_data, pairs_data
from quiclab.report.figures.over_time import plot_series
from quiclab.report.figures.plot import Plot
from quiclab.report.figures.points import figure_data, is_ordered, starts_at_zero
from quiclab.report.figures.theme import (
    COLOURS,
    DARK,
    LIGHT,
    NEUTRAL,
    SHIFT,
    THUMBNAIL,
    check_format,
    declaration,
    empty_chart,
    in_format,
    titled,
    to_png,
    to_svg,
)

if TYPE_CHECKING:
    from quiclab.study import Figure
    from quiclab.study.evaluate import Evaluation

__all__ = [
    "COLOURS",
    "DARK",
    "LIGHT",
    "NEUTRAL",
    "SHIFT",
    "THUMBNAIL",
    "Plot",
    "agreement_data",
    "caption",
    "chart",
    "check_format",
    "declaration",
    "figure_data",
    "in_format",
    "pairs_data",
    "plot_series",
    "specification",
    "starts_at_zero",
    "titled",
    "to_png",
    "to_svg",
]


def _kind(evaluation: Evaluation, figure: Figure) -> Any:
    """Return the module that draws a figure, unless the study does."""
    if figure.map is not None:
        return heatmap
    if figure.pairs or figure.criterion:
        return agreement
    return lines if is_ordered(evaluation.study, figure) else rows


def chart(evaluation: Evaluation, figure: Figure, engine: str) -> alt.TopLevelMixin:
    """Declare a figure."""
    if figure.draw is not None:
        drawn: alt.TopLevelMixin = figure.draw(evaluation, engine)
    else:
        drawn = _kind(evaluation, figure).chart(evaluation, figure, engine)
    return drawn


def caption(evaluation: Evaluation, figure: Figure, engine: str) -> str:
    """Return a description of the marks of a figure."""
    if figure.draw is not None:
        return ""  # its own caption says it
    said: str = _kind(evaluation, figure).caption(evaluation, figure, engine)
    return said


def specification(evaluation: Evaluation, figure: Figure, engine: str) -> dict[str, Any]:
    """Return the Vega-Lite specification of a figure, without a theme; that of a sentence if it has no data."""
    spec = declaration(chart(evaluation, figure, engine))
    # without data, an axis has no domain, and a drawing no size
    return spec if _has_data(spec) else declaration(empty_chart())


def _has_data(part: Any) -> bool:
    """Return whether any data of a specification has rows."""
    if not isinstance(part, dict):
        return isinstance(part, list) and any(map(_has_data, part))
    own = [part.get("data", {}).get("values"), *part.get("datasets", {}).values()]
    return any(own) or any(_has_data(value) for name, value in part.items() if name not in ("data", "datasets"))
