"""Time series of a run: a panel for each metric, a line for each element that has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, pl
from quiclab.errors import RequestError, unknown
from quiclab.report.figures.plot import Plot
from quiclab.report.figures.theme import WIDTH, colours
from quiclab.result.metrics import metrics, pattern
from quiclab.result.series import extremes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quiclab.result import RunResult

HEIGHT: Final = 180
#: Samples of a line: more than pixels across.
MAX_SAMPLES: Final = 1500


def plot_series(result: RunResult, *names: str, elements: str | Iterable[str] | None = None) -> Plot:
    """Draw time series of a run: a panel for each metric, a line for each element.

    Parameters
    ----------
    result
        A run whose scenario has `record.series_interval`.
    names
        Metrics of its series, such as `cwnd_bytes`.
    elements
        Elements that are drawn, such as `main.sender` (default: all that have the metric).

    Raises
    ------
    RequestError
        If the run has no time series, or none of this name.
    """
    if result.series.is_empty():
        raise RequestError("the run has no time series: set record.series_interval, such as `10 ms`", path="record")
    series = result.series.select("time_s", pl.col("element", "metric").cast(pl.String), "value")
    known = series["metric"].unique(maintain_order=True).to_list()
    if not names:
        raise unknown("metric", "", known, "names")
    chosen = [elements] if isinstance(elements, str) else None if elements is None else list(elements)
    panels = []
    for name in names:
        if name not in known:
            raise unknown("metric", name, known, "names")
        data = series.filter(pl.col("metric") == name)
        there = data["element"].unique(maintain_order=True).to_list()
        for element in chosen or ():
            if element not in there:
                raise unknown("element", element, there, "elements")
        panels.append(_panel(data, name, chosen or there))
    return Plot(panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=16).resolve_scale(color="independent"))


def _panel(data: pl.DataFrame, metric: str, elements: Sequence[str]) -> Any:
    """Declare the lines of a metric."""
    parts = [data.filter(pl.col("element") == element) for element in elements]
    drawn = pl.concat([part[extremes(part["value"].to_numpy(), MAX_SAMPLES)] for part in parts])
    rows = drawn.select("time_s", "value", series="element")
    return (
        alt.Chart({"values": rows.to_dicts()})
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X("time_s:Q", title="Time [s]", axis=alt.Axis(grid=False)),
            y=alt.Y("value:Q", title=_title(metric), axis=alt.Axis(titlePadding=16)),
            color=colours(elements, lines=True),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )


def _title(metric: str) -> str:
    """Return the title of an axis: the name of a metric without its unit, and the unit as it is defined."""
    defined = ((item.unit, name) for item in metrics() for name in item.names)
    unit = next((unit for unit, name in defined if re.fullmatch(pattern(name), metric)), "")
    return f"{metric} [{unit}]" if unit else metric
