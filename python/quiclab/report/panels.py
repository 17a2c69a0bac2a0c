"""Lines over time, one panel below the other with a common axis: for views of single runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from quiclab._base.libraries import alt
from quiclab.report.figures.panel_chart import chart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.result import RunResult

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


def panels(shown: Sequence[Panel], x: str = "Time [s]") -> alt.VConcatChart:
    """Declare panels with lines.

    Parameters
    ----------
    shown
        The panels, from top to bottom, with at least one point.
    x
        Title of the horizontal axis, with its unit.
    """
    return chart(shown, x)


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
