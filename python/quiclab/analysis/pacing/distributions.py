"""Figures of intervals: density, density around the expected ones, distribution function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt
from quiclab.analysis.pacing import series
from quiclab.analysis.pacing.axes import colour_of, curves, dash_of, rows_of, share_axis, sized, time_axis, tips
from quiclab.analysis.pacing.labels import duration, percent
from quiclab.report.figures.theme import NEUTRAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.analysis.pacing.document import Expected, Found, Intervals

#: Marks of clusters that were found, at most, of each flow: the largest.
MAX_FOUND: Final = 6
# room for marks above the highest step
HEADROOM: Final = 1.12
# range around expected intervals, as a factor
ZOOM: Final = 1.6
#: Expected intervals of flows whose frames differ by less are drawn together.
ALIKE: Final = 1.005
SHARES: Final = (("what:N", "Interval"), ("share:Q", "Share", ".2%"))
NO_INTERVAL: Final = "No intervals."


@dataclass(frozen=True)
class FlowIntervals:
    """Intervals of flows by their labels, the clusters found and expected in them, and the window around the latter."""

    intervals: Mapping[str, Intervals]
    found: Mapping[str, Sequence[Found]]
    expected: Mapping[str, Sequence[Expected]]
    window_ms: float

    @property
    def names(self) -> list[str]:
        """Labels of all flows."""
        return list(self.intervals)

    @property
    def around_ms(self) -> list[float]:
        """Expected intervals of all flows."""
        return [near["interval_ms"] for item in self.expected.values() for near in item]

    @property
    def span_ms(self) -> tuple[float, float] | None:
        """Span of all intervals and of the expected ones; `None` without an interval."""
        some = [intervals for intervals in self.intervals.values() if intervals["counts"]]
        return series.span(some, self.around_ms) if some else None


def density(flows: FlowIntervals) -> Any:
    """Declare the share of the intervals in logarithmic steps, with clusters that were found and expected."""
    domain = flows.span_ms
    if domain is None:
        return NO_INTERVAL
    x = time_axis(domain)
    bins = {name: series.density(intervals) for name, intervals in flows.intervals.items() if intervals["counts"]}
    y = share_axis(max(part.share for parts in bins.values() for part in parts) * HEADROOM)
    rows = [
        {"series": name, "at": part.from_ms, "share": part.share, "middle": part.middle_ms, "what": _between(part)}
        for name, parts in bins.items()
        for part in parts
    ]
    lines = rows_of(rows).mark_line(interpolate="step-after", strokeWidth=1.8, clip=True, strokeJoin="round")
    fill = rows_of(rows).mark_area(interpolate="step-after", opacity=0.16 if len(bins) <= 3 else 0.06, clip=True)
    hover = rows_of([row for row in rows if row["share"]]).mark_point(size=90, opacity=0, filled=True, clip=True)
    heights = {name: [(part.from_ms, part.to_ms, part.share) for part in parts] for name, parts in bins.items()}
    colour, dash = colour_of(flows.names), dash_of(flows.names)
    return sized(
        *_expected(flows, x),
        fill.encode(x=x, y=y.copy().stack(None), color=colour, detail="series:N"),
        lines.encode(x=x, y=y, color=colour, strokeDash=dash),
        hover.encode(x=_on(x, "middle:Q"), y=y, color=colour, tooltip=tips(*SHARES)),
        _peaks(flows, heights, x, y),
    )


def zoomed(flows: FlowIntervals) -> Any:
    """Declare the share of the intervals around the expected ones, of which there is one, in bins of 1 %."""
    low = max(min(flows.around_ms) / ZOOM - flows.window_ms, 0.0)
    high = max(flows.around_ms) * ZOOM + flows.window_ms
    parts = {name: series.detail(intervals, low, high) for name, intervals in flows.intervals.items()}
    most = max((share for points in parts.values() for _, share in points), default=0.0)
    if not most:
        return "No interval is close to an expected interval."
    x = alt.X(
        "at:Q",
        title="Interval [ms]",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(grid=False, tickCount=8),
    )
    y = share_axis(most * HEADROOM)
    rows = [
        {"series": name, "at": at_ms, "share": share, "what": duration(at_ms)}
        for name, points in parts.items()
        for at_ms, share in points
    ]
    heights = {name: [(at_ms, at_ms, share) for at_ms, share in points] for name, points in parts.items()}
    return sized(
        *_expected(flows, x),
        *curves(flows.names, rows, x, y, tips(*SHARES), strokeWidth=1.6, clip=True),
        _peaks(flows, heights, x, y),
    )


def _peaks(
    flows: FlowIntervals,
    heights: Mapping[str, Sequence[tuple[float, float, float]]],
    x: alt.X,
    y: alt.Y,
) -> alt.Chart:
    """Return a triangle above each cluster that was found.

    Parameters
    ----------
    heights
        Data of each flow: from, to and share.
    """
    rows = [
        {
            "series": name,
            "at": peak["centre_ms"],
            "share": _highest(heights[name], peak),
            "inside": peak["share"],
            "centre": duration(peak["centre_ms"]),
            "what": f"{duration(peak['from_ms'])} to {duration(peak['to_ms'])}",
        }
        for name, clusters in flows.found.items()
        for peak in sorted(clusters, key=lambda item: -item["share"])[:MAX_FOUND]
        if _highest(heights.get(name, ()), peak)
    ]
    shown = tips(("centre:N", "Centre"), ("what:N", "Reaches from"), ("inside:Q", "Share", ".1%"), flow="Cluster of")
    marks = rows_of(rows).mark_point(shape="triangle-down", size=70, filled=True, opacity=1, yOffset=-9, clip=True)
    drawn: alt.Chart = marks.encode(x=x, y=y, color=colour_of(flows.names), tooltip=shown)
    return drawn


def _highest(parts: Sequence[tuple[float, float, float]], peak: Found) -> float:
    """Return the largest share that is drawn within a cluster."""
    return max((share for begin, end, share in parts if begin <= peak["to_ms"] and end >= peak["from_ms"]), default=0.0)


def _on(x: alt.X, field: str) -> alt.X:
    """Return the same axis for another field: a layer with a separate scale would widen it."""
    other: alt.X = x.copy()
    other["shorthand"] = field
    return other


def _between(part: series.Bin) -> str:
    return f"{duration(part.from_ms)} to {duration(part.to_ms)}"


def _expected(flows: FlowIntervals, x: alt.X) -> list[alt.Chart]:
    """Return windows, rules and names of expected intervals."""
    rows = [
        {
            "series": name,
            "at": near["interval_ms"],
            "gain": near["gain"],
            "inside": near["share"],
            "from": max(near["interval_ms"] - flows.window_ms, series.FLOOR_MS),
            "to": near["interval_ms"] + flows.window_ms,
            "interval": duration(near["interval_ms"]),
            "centre": duration(near["centre_ms"]),
        }
        for name, all_near in flows.expected.items()
        for near in all_near
    ]
    if not rows:
        return []
    shown = tips(
        ("gain:Q", "Pacing gain"),
        ("interval:N", "Interval"),
        ("inside:Q", "Share in the window", ".1%"),
        ("centre:N", "Their mean"),
        flow="Expected of",
    )
    windows = rows_of(rows).mark_rect(opacity=0.13 / max(len(flows.expected) - 1, 1), clip=True)
    rules = rows_of(rows).mark_rule(strokeDash=[4, 3], strokeWidth=1.2, opacity=0.85, clip=True)
    layers = [
        windows.encode(x=_on(x, "from:Q"), x2="to:Q", color=alt.value(NEUTRAL)),
        rules.encode(
            x=x, color=alt.value(NEUTRAL) if _alike(flows.expected) else colour_of(flows.names), tooltip=shown
        ),
    ]
    first = next(near for near in flows.expected.values() if near)
    for number, near in enumerate(sorted(first, key=lambda item: -item["interval_ms"])):
        text = [{"at": near["interval_ms"], "text": f"gain {near['gain']:g}" if len(first) > 1 else "expected"}]
        # above the plot, and above one another: gains lie close together on a narrow page
        label = alt.Chart({"values": text}).mark_text(align="right", dx=3, fontSize=11, color=NEUTRAL)
        layers.append(label.encode(x=x, text="text:N", y=alt.value(-8 - 12 * number)))
    return layers


def _alike(expected: Mapping[str, Sequence[Expected]]) -> bool:
    """Return whether all flows have the same expected intervals, up to invisible differences."""
    of_first = [near[0]["interval_ms"] for near in expected.values() if near]
    return max(of_first) <= ALIKE * min(of_first)


def distribution(flows: FlowIntervals) -> Any:
    """Declare which part of the intervals is no longer than each time."""
    lines = {name: series.distribution(intervals) for name, intervals in flows.intervals.items() if intervals["counts"]}
    domain = flows.span_ms
    if domain is None:
        return NO_INTERVAL
    x = time_axis(domain)
    rows = []
    for name, points in lines.items():
        ends = [(min(domain[0], points[0][0]), 0.0), *points, (max(domain[1], points[-1][0]), 1.0)]
        rows += [
            {"series": name, "at": at_ms, "share": share, "what": f"{percent(share)} up to {duration(at_ms)}"}
            for at_ms, share in ends
        ]
    y = share_axis(1.0)
    line = {"interpolate": "step-after", "strokeWidth": 1.8, "clip": True}
    return sized(
        *_expected(flows, x),
        *curves(flows.names, rows, x, y, tips(("what:N", "Intervals")), **line),
    )
