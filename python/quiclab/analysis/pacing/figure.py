"""The figures: intervals, bursts, rate over time, packets per ACK.

A flow has one colour, and beyond the fifth one dashes, in all of them; the page has one legend for all. A figure has
the parameter `hidden`, a list of hidden flows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import alt
from quiclab.analysis.pacing import distributions, series
from quiclab.analysis.pacing.axes import LABELS, curves, hideable, rows_of, sized, style, tips
from quiclab.analysis.pacing.labels import duration
from quiclab.report.figures.theme import NEUTRAL, WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.analysis.pacing.document import Flow, Intervals
    from quiclab.analysis.pacing.labels import LabelledFlow
    from quiclab.analysis.pacing.settings import Settings


@dataclass(frozen=True)
class Figure:
    """A figure with its texts; a message instead of the chart if there is no data."""

    title: str
    caption: str
    chart: alt.TopLevelMixin | str


def figures(flows: Sequence[LabelledFlow], settings: Settings) -> list[Figure]:
    """Declare the figures of these flows, of which there are `MAX_DRAWN` at most.

    Parameters
    ----------
    flows
        The data.
    settings
        The settings of the analysis.
    """
    bottleneck_mbps, step_s = settings.bottleneck_mbps, settings.rate_step_s
    data = distributions.FlowIntervals(
        {item.label: item.flow["data"]["intervals"] for item in flows},
        {item.label: item.flow["data"]["clusters"]["found"] for item in flows},
        {item.label: item.flow["data"]["clusters"]["expected"] for item in flows},
        settings.window_ms,
    )
    acks = distributions.FlowIntervals(
        {item.label: item.flow["acks"]["intervals"] for item in flows},
        {item.label: item.flow["acks"]["found"] for item in flows},
        {},
        settings.window_ms,
    )
    names = data.names
    bins = f"Bin width: {100 * (10 ** (1 / series.PER_DECADE) - 1):.1f} % of the value."
    rest = f"The axis omits the rarest {100 * series.TAIL:g} % at each end."
    marked = "Triangles: clusters found in the distribution."
    windows = " Dashed: expected intervals, with their windows." if data.around_ms else ""
    zoomed = []
    if data.around_ms:
        caption = f"Share per bin of 1 % of the value, on a linear axis. {marked}{windows}"
        chart = distributions.zoomed(data)
        zoomed.append(Figure("Intervals around the expected ones", caption, chart))
    return [
        Figure(
            "Intervals between packets: density",
            f"{bins} {marked}{windows} {rest}{_shortest(data.intervals)}",
            distributions.density(data),
        ),
        *zoomed,
        Figure(
            "Intervals between packets: distribution function",
            f"Share of intervals up to this length.{windows}",
            distributions.distribution(data),
        ),
        Figure(
            "Packets in bursts of each size",
            "Share of packets that left in a burst of this size; 1: an isolated packet.",
            _bars(names, flows, lambda flow: flow["data"]["bursts"]["sizes"], "Packets in a burst", "packets"),
        ),
        Figure(
            "Rate over time",
            _rate_caption(flows, step_s, bottleneck_mbps),
            _rates(names, flows, bottleneck_mbps),
        ),
        Figure(
            "Packets per ACK",
            "Share of ACKs that newly acknowledge this number of packets.",
            _bars(names, flows, lambda flow: flow["acks"]["packets"], "Packets that an ACK newly acknowledges", "ACKs"),
        ),
        Figure(
            "Intervals between ACKs: density",
            f"{bins} {marked} {rest}{_shortest(acks.intervals)}",
            distributions.density(acks),
        ),
        Figure(
            "Intervals between ACKs: distribution function",
            "Share of intervals up to this length.",
            distributions.distribution(acks),
        ),
    ]


def _shortest(shown: Mapping[str, Intervals]) -> str:
    """Return a sentence about intervals that a logarithmic axis cannot show, if there are any."""
    least = [item["at_ms"][0] for item in shown.values() if item["at_ms"]]
    if min(least, default=1.0) >= series.FLOOR_MS:
        return ""
    return (
        f" Everything shorter than {duration(series.FLOOR_MS)}, such as packets with equal timestamps, is drawn there."
    )


def _bars(
    names: Sequence[str],
    flows: Sequence[LabelledFlow],
    counts_of: Callable[[Flow], Mapping[str, int]],
    title: str,
    of: str,
) -> Any:
    """Return one panel of bars for each flow, below one another with common axes."""
    counts = {item.label: counts_of(item.flow) for item in flows if counts_of(item.flow)}
    if not counts:
        return f"No {of} to count."
    bars = series.groups({number: 1 for item in counts.values() for number in item})
    labels = [str(first) if first == last else f"{first}–{last}" for first, last in bars]
    shares = {name: series.in_groups(item, bars, by_size=of == "packets") for name, item in counts.items()}
    most = max(max(parts) for parts in shares.values())
    panels = []
    for name, parts in shares.items():
        last = name == list(shares)[-1]
        rows = [{"series": name, "bar": label, "share": part} for label, part in zip(labels, parts, strict=True)]
        across = alt.Scale(domain=labels, paddingInner=0.2)
        axis = alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=4, labels=last, ticks=last)
        panel = rows_of(rows).mark_bar(color=style(list(names).index(name))[0], tooltip=True)
        drawn = panel.encode(
            x=alt.X("bar:O", title=title if last else None, axis=axis, scale=across),
            y=alt.Y(
                "share:Q",
                title=None,
                scale=alt.Scale(domain=[0, most], nice=True),
                axis=alt.Axis(tickCount=3, format="~%", minExtent=LABELS, maxExtent=LABELS),
            ),
            tooltip=tips(("bar:N", title), ("share:Q", f"Share of the {of}", ".1%")),
        )
        height = 170 if len(shares) == 1 else 84
        sized = drawn.properties(width=WIDTH, height=height)
        panels.append(sized if len(shares) == 1 else sized.properties(title=name))
    return hideable(alt.vconcat(*panels, spacing=10))


def _rates(names: Sequence[str], flows: Sequence[LabelledFlow], bottleneck_mbps: float | None) -> Any:
    lines = {
        item.label: series.rates(item.flow["data"]["rate_over_time_mbps"], item.flow["data"]["rate_step_s"])[0]
        for item in flows
    }
    rows = [{"series": name, "at": at_s, "rate": rate} for name, line in lines.items() for at_s, rate in line]
    if not rows:
        return "No rate: no flow lasts long enough."
    x = alt.X(
        "at:Q",
        title="Time since the first counted packet [s]",
        scale=alt.Scale(nice=False, domainMin=0),
        axis=alt.Axis(grid=False),
    )
    axis = alt.Axis(tickCount=6, minExtent=LABELS, maxExtent=LABELS)
    most = max(bottleneck_mbps or 0.0, *(rate for line in lines.values() for _, rate in line))
    scale = alt.Scale(domain=[0, most * distributions.HEADROOM or 1.0], nice=False)
    y = alt.Y("rate:Q", title="Rate [Mbit/s]", axis=axis, scale=scale)
    shown = tips(("at:Q", "From [s]", ".4~g"), ("rate:Q", "Rate [Mbit/s]", ".4~g"))
    layers = curves(names, rows, x, y, shown, interpolate="step-after", strokeWidth=1.5)
    if bottleneck_mbps is not None:
        level = alt.Chart({"values": [{"rate": bottleneck_mbps}]})
        layers.insert(0, level.mark_rule(color=NEUTRAL, strokeDash=[4, 3]).encode(y=y))
    return sized(*layers)


def _rate_caption(flows: Sequence[LabelledFlow], step_s: float, bottleneck_mbps: float | None) -> str:
    steps = [(item.flow["data"]["rate_over_time_mbps"], item.flow["data"]["rate_step_s"]) for item in flows]
    over_s = max((series.rates(rates, own_s)[1] for rates, own_s in steps), default=step_s)
    level = "" if bottleneck_mbps is None else " Dashed: the bottleneck."
    return f"Bits of the frames in steps of {duration(1000 * over_s)}.{level}"
