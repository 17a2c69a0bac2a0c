"""The figures: intervals, bursts, rate over time, packets per ACK.

A flow has one colour, and beyond the fifth one dashes, in all of them; the page has one legend for all. A figure has the
parameter `hidden`, a list of flows that it leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import altair as alt

from quiclab.figures.theme import COLOURS, NEUTRAL, WIDTH
from quiclab.pacing import series
from quiclab.pacing.shown import duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.pacing.document import Expected, Flow, Found, Intervals
    from quiclab.pacing.settings import Settings
    from quiclab.pacing.shown import Shown

DASHES: Final = ((1, 0), (6, 3), (2, 2))
#: As many flows can be told apart.
MOST_DRAWN: Final = len(COLOURS) * len(DASHES)
HEIGHT: Final = 280
# width of the labels of a vertical axis in pixels, so that figures stand exactly below one another
LABELS: Final = 40
# room for marks above the highest step
HEADROOM: Final = 1.12
# what is shown around expected intervals, as a factor
ZOOM: Final = 1.6
NO_INTERVAL: Final = "There is no interval."
#: Expected intervals of flows whose frames differ by less stand together.
ALIKE: Final = 1.005
#: Marks of clusters that were found, at most, of each flow: the largest.
MOST_FOUND: Final = 6


@dataclass(frozen=True)
class Figure:
    """A figure, with what stands around it; a sentence instead of the chart where there is nothing to show."""

    title: str
    caption: str
    chart: alt.TopLevelMixin | str


def style(number: int) -> tuple[str, tuple[int, int]]:
    """Return colour and dashes of a flow by its number."""
    return COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]


def figures(flows: Sequence[Shown], settings: Settings) -> list[Figure]:
    """Declare the figures of these flows, of which there are `MOST_DRAWN` at most.

    Parameters
    ----------
    flows
        What is drawn.
    settings
        What the analysis was told.
    """
    bottleneck_mbps, step_s, window_ms = settings.bottleneck_mbps, settings.rate_step_s, settings.window_ms
    names = [item.label for item in flows]
    data = {item.label: item.flow["data"]["intervals"] for item in flows}
    acks = {item.label: item.flow["acks"]["intervals"] for item in flows}
    expected = {item.label: item.flow["data"]["clusters"]["expected"] for item in flows}
    found = {item.label: item.flow["data"]["clusters"]["found"] for item in flows}
    around = [near["interval_ms"] for item in expected.values() for near in item]
    bins = f"Each step is {100 * (10 ** (1 / series.PER_DECADE) - 1):.1f} % of its value wide."
    rest = f"The axis leaves out the rarest {100 * series.TAIL:g} % at each end."
    marked = "Triangles: clusters that were found in the distribution itself."
    windows = " Dashed: expected intervals, with their windows." if around else ""
    zoomed = []
    if around:
        caption = f"Share in each bin of 1 % of its value, on a linear axis. {marked}{windows}"
        chart = _zoomed(names, data, found, expected, window_ms)
        zoomed.append(Figure("Intervals around the expected ones", caption, chart))
    return [
        Figure(
            "Intervals between packets: density",
            f"{bins} {marked}{windows} {rest}{_shortest(data)}",
            _density(names, data, found, expected, window_ms),
        ),
        *zoomed,
        Figure(
            "Intervals between packets: distribution function",
            f"Part of the intervals that is no longer.{windows}",
            _distribution(names, data, expected, window_ms),
        ),
        Figure(
            "Packets in bursts of each size",
            "Part of the packets that left in a burst of so many; 1 is a packet that stands alone.",
            _bars(names, flows, lambda flow: flow["data"]["bursts"]["sizes"], "Packets in a burst", "packets"),
        ),
        Figure(
            "Rate over time",
            _rate_caption(flows, step_s, bottleneck_mbps),
            _rates(names, flows, bottleneck_mbps, step_s),
        ),
        Figure(
            "Packets per ACK",
            "Part of the ACKs that newly acknowledge so many packets.",
            _bars(names, flows, lambda flow: flow["acks"]["packets"], "Packets that an ACK newly acknowledges", "ACKs"),
        ),
        Figure(
            "Intervals between ACKs: density",
            f"{bins} {marked} {rest}{_shortest(acks)}",
            _density(names, acks, {item.label: item.flow["acks"]["found"] for item in flows}, {}, window_ms),
        ),
        Figure(
            "Intervals between ACKs: distribution function",
            "Part of the intervals that is no longer.",
            _distribution(names, acks, {}, window_ms),
        ),
    ]


def _shortest(shown: Mapping[str, Intervals]) -> str:
    """Return a sentence about intervals that a logarithmic axis cannot show, if there are any."""
    least = [item["at_ms"][0] for item in shown.values() if item["at_ms"]]
    if min(least, default=1.0) >= series.FLOOR_MS:
        return ""
    return f" What is shorter than {duration(series.FLOOR_MS)}, such as packets with one stamp, stands there."


def _colour(names: Sequence[str]) -> alt.Color:
    return alt.Color("series:N", scale=_scale(names, [style(number)[0] for number in range(len(names))]), legend=None)


def _dash(names: Sequence[str]) -> alt.StrokeDash:
    dashes = [list(style(number)[1]) for number in range(len(names))]
    return alt.StrokeDash("series:N", scale=_scale(names, dashes), legend=None)


def _scale(names: Sequence[str], values: Sequence[Any]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(values))


def _shown(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return rows of flows that are not hidden."""
    chart: alt.Chart = alt.Chart({"values": list(rows)}).transform_filter("indexof(hidden, datum.series) < 0")
    return chart


def _hideable(chart: Any) -> Any:
    """Give a figure the parameter by which the page hides flows."""
    return chart.add_params(alt.param(name="hidden", value=[]))


def _sized(*layers: alt.Chart) -> Any:
    return _hideable(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT))


def _time_axis(domain: tuple[float, float]) -> alt.X:
    scale = alt.Scale(type="log", domain=list(domain), nice=False)
    ticks = alt.Axis(grid=False, values=series.ticks(*domain), labelOverlap=True, format="~g")
    return alt.X("at:Q", title="Interval [ms]", scale=scale, axis=ticks)


def _share_axis(most: float) -> alt.Y:
    axis = alt.Axis(tickCount=6, format="~%", minExtent=LABELS, maxExtent=LABELS)
    return alt.Y("share:Q", title="Share of the intervals", axis=axis, scale=alt.Scale(domain=[0, most], nice=False))


def _density(
    names: Sequence[str],
    shown: Mapping[str, Intervals],
    found: Mapping[str, Sequence[Found]],
    expected: Mapping[str, Sequence[Expected]],
    window_ms: float,
) -> Any:
    bins = {name: series.density(intervals) for name, intervals in shown.items() if intervals["counts"]}
    if not bins:
        return NO_INTERVAL
    around = [near["interval_ms"] for item in expected.values() for near in item]
    x = _time_axis(series.span([shown[name] for name in bins], around))
    y = _share_axis(max(part.share for parts in bins.values() for part in parts) * HEADROOM)
    rows = [
        {"series": name, "at": part.from_ms, "share": part.share, "middle": part.middle_ms, "what": _between(part)}
        for name, parts in bins.items()
        for part in parts
    ]
    lines = _shown(rows).mark_line(interpolate="step-after", strokeWidth=1.8, clip=True, strokeJoin="round")
    fill = _shown(rows).mark_area(interpolate="step-after", opacity=0.16 if len(bins) <= 3 else 0.06, clip=True)
    hover = _shown([row for row in rows if row["share"]]).mark_point(size=90, opacity=0, filled=True, clip=True)
    tips = [
        alt.Tooltip("series:N", title="Flow"),
        alt.Tooltip("what:N", title="Interval"),
        alt.Tooltip("share:Q", title="Share", format=".2%"),
    ]
    heights = {name: [(part.from_ms, part.to_ms, part.share) for part in parts] for name, parts in bins.items()}
    colour, dash = _colour(names), _dash(names)
    return _sized(
        *_expected(names, expected, window_ms, x),
        fill.encode(x=x, y=y.copy().stack(None), color=colour, detail="series:N"),
        lines.encode(x=x, y=y, color=colour, strokeDash=dash),
        hover.encode(x=alt.X("middle:Q"), y=y, color=colour, tooltip=tips),
        _peaks(names, found, heights, x, y),
    )


def _zoomed(
    names: Sequence[str],
    shown: Mapping[str, Intervals],
    found: Mapping[str, Sequence[Found]],
    expected: Mapping[str, Sequence[Expected]],
    window_ms: float,
) -> Any:
    around = [near["interval_ms"] for item in expected.values() for near in item]
    low, high = max(min(around) / ZOOM - window_ms, 0.0), max(around) * ZOOM + window_ms
    parts = {name: series.detail(intervals, low, high) for name, intervals in shown.items()}
    most = max((share for points in parts.values() for _, share in points), default=0.0)
    if not most:
        return "No interval is near an expected one."
    x = alt.X(
        "at:Q",
        title="Interval [ms]",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(grid=False, tickCount=8),
    )
    y = _share_axis(most * HEADROOM)
    rows = [
        {"series": name, "at": at_ms, "share": share, "what": duration(at_ms)}
        for name, points in parts.items()
        for at_ms, share in points
    ]
    tips = [
        alt.Tooltip("series:N", title="Flow"),
        alt.Tooltip("what:N", title="Interval"),
        alt.Tooltip("share:Q", title="Share", format=".2%"),
    ]
    heights = {name: [(at_ms, at_ms, share) for at_ms, share in points] for name, points in parts.items()}
    colour = _colour(names)
    return _sized(
        *_expected(names, expected, window_ms, x),
        _shown(rows).mark_line(strokeWidth=1.6, clip=True).encode(x=x, y=y, color=colour, strokeDash=_dash(names)),
        _shown(rows).mark_point(size=60, opacity=0, filled=True).encode(x=x, y=y, color=colour, tooltip=tips),
        _peaks(names, found, heights, x, y),
    )


def _peaks(
    names: Sequence[str],
    found: Mapping[str, Sequence[Found]],
    heights: Mapping[str, Sequence[tuple[float, float, float]]],
    x: alt.X,
    y: alt.Y,
) -> alt.Chart:
    """Return a triangle above each cluster that was found.

    Parameters
    ----------
    heights
        What is drawn of each flow: from, to and share.
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
        for name, clusters in found.items()
        for peak in sorted(clusters, key=lambda item: -item["share"])[:MOST_FOUND]
        if _highest(heights.get(name, ()), peak)
    ]
    tips = [
        alt.Tooltip("series:N", title="Cluster of"),
        alt.Tooltip("centre:N", title="Centre"),
        alt.Tooltip("what:N", title="Reaches from"),
        alt.Tooltip("inside:Q", title="Share", format=".1%"),
    ]
    marks = _shown(rows).mark_point(shape="triangle-down", size=70, filled=True, opacity=1, yOffset=-9, clip=True)
    drawn: alt.Chart = marks.encode(x=x, y=y, color=_colour(names), tooltip=tips)
    return drawn


def _highest(parts: Sequence[tuple[float, float, float]], peak: Found) -> float:
    """Return the largest share that is drawn within a cluster."""
    return max((share for begin, end, share in parts if begin <= peak["to_ms"] and end >= peak["from_ms"]), default=0.0)


def _between(part: series.Bin) -> str:
    return f"{duration(part.from_ms)} to {duration(part.to_ms)}"


def _expected(
    names: Sequence[str], expected: Mapping[str, Sequence[Expected]], window_ms: float, x: alt.X
) -> list[alt.Chart]:
    """Return windows, rules and names of expected intervals."""
    rows = [
        {
            "series": name,
            "at": near["interval_ms"],
            "gain": near["gain"],
            "inside": near["share"],
            "from": max(near["interval_ms"] - window_ms, series.FLOOR_MS),
            "to": near["interval_ms"] + window_ms,
            "interval": duration(near["interval_ms"]),
            "centre": duration(near["centre_ms"]),
        }
        for name, all_near in expected.items()
        for near in all_near
    ]
    if not rows:
        return []
    tips = [
        alt.Tooltip("series:N", title="Expected of"),
        alt.Tooltip("gain:Q", title="Pacing gain"),
        alt.Tooltip("interval:N", title="Interval"),
        alt.Tooltip("inside:Q", title="Share in the window", format=".1%"),
        alt.Tooltip("centre:N", title="Their mean"),
    ]
    windows = _shown(rows).mark_rect(opacity=0.13 / max(len(expected) - 1, 1), clip=True)
    rules = _shown(rows).mark_rule(strokeDash=[4, 3], strokeWidth=1.2, opacity=0.85, clip=True)
    layers = [
        windows.encode(x=alt.X("from:Q"), x2="to:Q", color=alt.value(NEUTRAL)),
        rules.encode(x=x, color=alt.value(NEUTRAL) if _alike(expected) else _colour(names), tooltip=tips),
    ]
    first = next(near for near in expected.values() if near)
    for number, near in enumerate(sorted(first, key=lambda item: -item["interval_ms"])):
        text = [{"at": near["interval_ms"], "text": f"gain {near['gain']:g}" if len(first) > 1 else "expected"}]
        # above the plot, and above one another: gains lie close together on a narrow page
        label = alt.Chart({"values": text}).mark_text(align="left", dx=-3, fontSize=11, color=NEUTRAL)
        layers.append(label.encode(x=x, text="text:N", y=alt.value(-8 - 12 * number)))
    return layers


def _alike(expected: Mapping[str, Sequence[Expected]]) -> bool:
    """Say whether all flows have the same expected intervals, but for what nobody sees."""
    of_first = [near[0]["interval_ms"] for near in expected.values() if near]
    return max(of_first) <= ALIKE * min(of_first)


def _distribution(
    names: Sequence[str],
    shown: Mapping[str, Intervals],
    expected: Mapping[str, Sequence[Expected]],
    window_ms: float,
) -> Any:
    lines = {name: series.distribution(intervals) for name, intervals in shown.items() if intervals["counts"]}
    if not lines:
        return NO_INTERVAL
    around = [near["interval_ms"] for item in expected.values() for near in item]
    domain = series.span([shown[name] for name in lines], around)
    x = _time_axis(domain)
    rows = []
    for name, points in lines.items():
        ends = [(min(domain[0], points[0][0]), 0.0), *points, (max(domain[1], points[-1][0]), 1.0)]
        rows += [
            {"series": name, "at": at_ms, "share": share, "what": f"{percent(share)} up to {duration(at_ms)}"}
            for at_ms, share in ends
        ]
    y = _share_axis(1.0)
    tips = [alt.Tooltip("series:N", title="Flow"), alt.Tooltip("what:N", title="Intervals")]
    drawn = _shown(rows).mark_line(interpolate="step-after", strokeWidth=1.8, clip=True)
    hover = _shown(rows).mark_point(size=60, opacity=0, filled=True, clip=True)
    colour = _colour(names)
    return _sized(
        *_expected(names, expected, window_ms, x),
        drawn.encode(x=x, y=y, color=colour, strokeDash=_dash(names)),
        hover.encode(x=x, y=y, color=colour, tooltip=tips),
    )


def _bars(
    names: Sequence[str], flows: Sequence[Shown], counts_of: Callable[[Flow], Mapping[str, int]], title: str, of: str
) -> Any:
    """Return one panel of bars for each flow, below one another with common axes."""
    counts = {item.label: counts_of(item.flow) for item in flows if counts_of(item.flow)}
    if not counts:
        return f"There are no {of} to count."
    bars = series.groups({number: 1 for item in counts.values() for number in item})
    labels = [str(first) if first == last else f"{first}–{last}" for first, last in bars]
    shares = {name: series.in_groups(item, bars, by_size=of == "packets") for name, item in counts.items()}
    most = max(max(parts) for parts in shares.values())
    panels = []
    for name, parts in shares.items():
        last = name == list(shares)[-1]
        rows = [{"series": name, "bar": label, "share": part} for label, part in zip(labels, parts, strict=True)]
        axis = alt.Axis(labelAngle=0, labelOverlap="greedy", labels=last, ticks=last)
        panel = _shown(rows).mark_bar(color=style(list(names).index(name))[0], tooltip=True)
        drawn = panel.encode(
            x=alt.X("bar:O", title=title if last else None, axis=axis, scale=alt.Scale(domain=labels, paddingInner=0.2)),
            y=alt.Y(
                "share:Q",
                title=None,
                scale=alt.Scale(domain=[0, most]),
                axis=alt.Axis(tickCount=3, format="~%", minExtent=LABELS, maxExtent=LABELS),
            ),
            tooltip=[
                alt.Tooltip("series:N", title="Flow"),
                alt.Tooltip("bar:N", title=title),
                alt.Tooltip("share:Q", title=f"Share of the {of}", format=".1%"),
            ],
        )
        height = 170 if len(shares) == 1 else 84
        sized = drawn.properties(width=WIDTH, height=height)
        panels.append(sized if len(shares) == 1 else sized.properties(title=name))
    return _hideable(alt.vconcat(*panels, spacing=10))


def _rates(names: Sequence[str], flows: Sequence[Shown], bottleneck_mbps: float | None, step_s: float) -> Any:
    rows = [
        {"series": item.label, "at": at_s, "rate": rate}
        for item in flows
        for at_s, rate in series.rates(item.flow["data"]["rate_over_time_mbps"], step_s)[0]
    ]
    if not rows:
        return "There is no rate: no flow lasts long enough."
    x = alt.X(
        "at:Q",
        title="Time since the first packet that counts [s]",
        scale=alt.Scale(nice=False, domainMin=0),
        axis=alt.Axis(grid=False),
    )
    axis = alt.Axis(tickCount=6, minExtent=LABELS, maxExtent=LABELS)
    y = alt.Y("rate:Q", title="Rate [Mbit/s]", axis=axis, scale=alt.Scale(domainMin=0))
    tips = [
        alt.Tooltip("series:N", title="Flow"),
        alt.Tooltip("at:Q", title="From [s]", format=".4~g"),
        alt.Tooltip("rate:Q", title="Rate [Mbit/s]", format=".4~g"),
    ]
    drawn = _shown(rows).mark_line(interpolate="step-after", strokeWidth=1.5)
    hover = _shown(rows).mark_point(size=60, opacity=0, filled=True)
    colour = _colour(names)
    layers = [
        drawn.encode(x=x, y=y, color=colour, strokeDash=_dash(names)),
        hover.encode(x=x, y=y, color=colour, tooltip=tips),
    ]
    if bottleneck_mbps is not None:
        level = alt.Chart({"values": [{"rate": bottleneck_mbps}]})
        layers.insert(0, level.mark_rule(color=NEUTRAL, strokeDash=[4, 3]).encode(y=y))
    return _sized(*layers)


def _rate_caption(flows: Sequence[Shown], step_s: float, bottleneck_mbps: float | None) -> str:
    longest = max((len(item.flow["data"]["rate_over_time_mbps"]) for item in flows), default=0)
    over_s = series.rates([0.0] * longest, step_s)[1]
    level = "" if bottleneck_mbps is None else " Dashed: the bottleneck."
    return f"Bits of the frames in steps of {duration(1000 * over_s)}.{level}"
