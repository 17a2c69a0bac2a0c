"""Lines over time, one panel below the other with a common axis: for views of single runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from quiclab._base.libraries import alt
from quiclab.report.figures.theme import NEUTRAL, WIDTH, Layers, colours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.result import RunResult

DIGITS = 4
LINE_WIDTH = 1.3
# ticks of the common axis, on average: more, such as one a second, are too close to read
TICKS = 10
# width of the labels of an axis in pixels: the same everywhere, so that panels stand exactly below one another
LABELS = 40

Line: TypeAlias = "Sequence[tuple[float, float]]"
"""Points of a line: place on the horizontal axis, value."""


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes
    ----------
    lines
        Name -> points; a name has the same colour in all panels.
    title
        Title above the panel.
    y
        Title of the vertical axis, with its unit.
    level
        A value that a thin dashed line shows, such as a capacity.
    height
        Height [pixels].
    """

    lines: Mapping[str, Line]
    title: str
    y: str
    level: float | None = None
    height: int = 130


def panels(shown: Sequence[Panel], x: str = "Time [s]", *, start: float = 0.0) -> alt.VConcatChart:
    """Declare panels with lines.

    Parameters
    ----------
    shown
        The panels, from top to bottom, with at least one point.
    x
        Title of the horizontal axis, with its unit.
    start
        Where this axis begins, unless lines begin before.
    """
    series = list(dict.fromkeys(name for panel in shown for name in panel.lines))
    places = [place for panel in shown for line in panel.lines.values() for place, _ in line]
    domain = [min(start, *places), max(places)]
    heights = {name: _range([panel for panel in shown if panel.y == name]) for name in {panel.y for panel in shown}}
    charts = [_chart(panel, series, domain, x if panel is shown[-1] else None, heights[panel.y]) for panel in shown]
    return alt.vconcat(*charts, spacing=14)


def panel_per_run(
    results: Mapping[str, RunResult],
    lines: Callable[[RunResult], Mapping[str, Line]],
    y: str,
    x: str = "Time [s]",
    **attributes: Any,
) -> alt.VConcatChart:
    """Declare a panel for each run.

    Parameters
    ----------
    results
        The runs, by the titles of their panels.
    lines
        Function from a run to the lines of its panel.
    y, x
        Titles of the axes, with their units.
    attributes
        Further attributes of each panel.
    """
    return panels([Panel(lines(result), label, y, **attributes) for label, result in results.items()], x)


def _range(shown: Sequence[Panel]) -> list[float]:
    """Return the range of the values of panels with the same quantity, which have the same scale."""
    values = [value for panel in shown for line in panel.lines.values() for _, value in line]
    values += [panel.level for panel in shown if panel.level is not None]
    return [min(0.0, *values), max(0.0, *values)]


def _chart(panel: Panel, series: Sequence[str], domain: Sequence[float], x: str | None, y: Sequence[float]) -> Layers:
    rows = [
        {"x": round(place, DIGITS), "y": round(value, DIGITS), "series": name}
        for name, line in panel.lines.items()
        for place, value in line
    ]
    base = alt.Chart({"values": rows})
    across = alt.X(
        "x:Q", title=x, scale=alt.Scale(domain=list(domain), nice=False), axis=alt.Axis(grid=False, tickCount=TICKS)
    )
    up = alt.Y(
        "y:Q",
        title=panel.y,
        scale=alt.Scale(domain=list(y), nice=True),
        axis=alt.Axis(tickCount=4, minExtent=LABELS, maxExtent=LABELS),
    )
    layers = [
        base.mark_line(strokeWidth=LINE_WIDTH, clip=True).encode(
            x=across,
            y=up,
            color=colours(series, lines=True),
            tooltip=[
                alt.Tooltip("series:N", title="Line"),
                alt.Tooltip("x:Q", title=x or "Time"),
                alt.Tooltip("y:Q", title=panel.y, format=".4~g"),
            ],
        )
    ]
    if panel.level is not None:
        level = base.mark_rule(color=NEUTRAL, strokeDash=[4, 3]).encode(y=alt.Y(datum=panel.level))
        layers.insert(0, level)
    drawn = alt.layer(*layers).properties(width=WIDTH, height=panel.height)
    return drawn.properties(title=panel.title) if panel.title else drawn
