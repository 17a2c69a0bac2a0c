"""Shared parts of figures: colours and dashes of flows, axes, and the parameter by which the page hides flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt
from quiclab.analysis.pacing import series
from quiclab.report.figures.theme import COLOURS, WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLEAR: Final = COLOURS[:5]
DASHES: Final = ((1, 0), (6, 3), (2, 2))
#: Number of flows that can be distinguished.
MAX_DRAWN: Final = len(CLEAR) * len(DASHES)
HEIGHT: Final = 280
# width of the labels of a vertical axis in pixels, so that figures stand exactly below one another
LABELS: Final = 40


def style(number: int) -> tuple[str, tuple[int, int]]:
    """Return colour and dashes of a flow by its number."""
    return CLEAR[number % len(CLEAR)], DASHES[number // len(CLEAR) % len(DASHES)]


def colour_of(names: Sequence[str]) -> alt.Color:
    """Return the colour of each flow."""
    return alt.Color("series:N", scale=_scale(names, [style(number)[0] for number in range(len(names))]), legend=None)


def dash_of(names: Sequence[str]) -> alt.StrokeDash:
    """Return the dashes of each flow."""
    dashes = [list(style(number)[1]) for number in range(len(names))]
    return alt.StrokeDash("series:N", scale=_scale(names, dashes), legend=None)


def _scale(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(values))


def rows_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return rows of flows that are not hidden."""
    chart: alt.Chart = alt.Chart({"values": list(rows)}).transform_filter("indexof(hidden, datum.series) < 0")
    return chart


def hideable(chart: Any) -> Any:
    """Give a figure the parameter by which the page hides flows."""
    return chart.add_params(alt.param(name="hidden", value=[]))


def sized(*layers: alt.Chart) -> Any:
    """Return layers as a figure of the common size."""
    return hideable(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))


def tips(*fields: tuple[str, ...], flow: str = "Flow") -> list[alt.Tooltip]:
    """Return the tooltip: the flow, and fields with their titles and formats."""
    return [alt.Tooltip("series:N", title=flow), *(tip(*field) for field in fields)]


def tip(field: str, title: str, form: str = "") -> alt.Tooltip:
    """Return one field that a pointer shows."""
    return alt.Tooltip(field, title=title, format=form) if form else alt.Tooltip(field, title=title)


def curves(
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    x: alt.X,
    y: alt.Y,
    shown: Sequence[alt.Tooltip],
    **line: Any,
) -> list[alt.Chart]:
    """Return a line for each flow, and points on it that a pointer finds.

    Parameters
    ----------
    names
        All flows.
    rows, x, y
        The data.
    shown
        The tooltip.
    line
        How the lines are drawn.
    """
    drawn = rows_of(rows).mark_line(**line)
    hover = rows_of(rows).mark_point(size=60, opacity=0, filled=True, clip=line.get("clip", False))
    colour = colour_of(names)
    return [
        drawn.encode(x=x, y=y, color=colour, strokeDash=dash_of(names)),
        hover.encode(x=x, y=y, color=colour, tooltip=list(shown)),
    ]


def time_axis(domain: tuple[float, float]) -> alt.X:
    """Return a logarithmic axis of intervals."""
    scale = alt.Scale(type="log", domain=list(domain), nice=False)
    ticks = alt.Axis(grid=False, values=series.ticks(*domain), labelOverlap=True, format=".6~g")
    return alt.X("at:Q", title="Interval [ms]", scale=scale, axis=ticks)


def share_axis(most: float) -> alt.Y:
    """Return an axis of shares up to this one."""
    axis = alt.Axis(tickCount=6, format="~%", minExtent=LABELS, maxExtent=LABELS)
    return alt.Y("share:Q", title="Share of the intervals", axis=axis, scale=alt.Scale(domain=[0, most], nice=False))
