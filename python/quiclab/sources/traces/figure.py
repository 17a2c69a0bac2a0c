"""The figure of a trace: its rate over time, and its mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, np
from quiclab.report.figures import COLOURS, NEUTRAL, titled
from quiclab.sources.traces.describe import statistics

if TYPE_CHECKING:
    from quiclab.sources.traces.trace import Trace

#: More rates than this are shown as means over equal times: a figure has no more pixels.
MAX_SHOWN: Final = 2000


def points(trace: Trace) -> tuple[list[dict[str, float]], float | None]:
    """Return what is drawn, `time_s` and `rate_mbps`, and over which time rates are means [s], or `None`."""
    edges = np.array([*trace.starts_ns, trace.end_ns], dtype=np.int64) / 1e9
    rates = np.array(trace.rates_bps, dtype=np.int64) / 1e6
    width = None
    if len(rates) > MAX_SHOWN:
        width = trace.duration_s / MAX_SHOWN
        delivered = np.concatenate([[0.0], np.cumsum(rates * np.diff(edges))])
        even = np.linspace(0, trace.duration_s, MAX_SHOWN + 1)
        edges, rates = even, np.diff(np.interp(even, edges, delivered)) / width
    # the last rate reaches to the end
    pairs = zip(edges.tolist(), [*rates.tolist(), float(rates[-1])], strict=True)
    return [{"time_s": time, "rate_mbps": rate} for time, rate in pairs], width


def specification(trace: Trace) -> dict[str, Any]:
    """Return the Vega-Lite specification of the figure, without a theme; its title states the origin of the trace."""
    data, width = points(trace)
    numbers = statistics(trace)
    subtitle = [
        f"mean {numbers.mean_mbps:.3g} Mbit/s (dashed), standard deviation {numbers.deviation_mbps:.3g} Mbit/s, "
        f"{numbers.least_mbps:.3g} to {numbers.largest_mbps:.3g} Mbit/s"
    ]
    if width is not None:
        subtitle.append(f"shown as means over {width:.3g} s")
    base = alt.Chart({"values": data})
    x = alt.X(
        "time_s:Q",
        title="Time [s]",
        scale=alt.Scale(domain=[0, trace.duration_s], nice=False),
        axis=alt.Axis(grid=False, tickCount=10, labelFlush=False),
    )
    y = alt.Y("rate_mbps:Q", title="Rate [Mbit/s]", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=7))
    line = base.mark_line(interpolate="step-after", strokeWidth=1.5, color=COLOURS[1]).encode(x=x, y=y)
    mean = base.mark_rule(strokeDash=[6, 4], strokeWidth=1.2, color=NEUTRAL).encode(y=alt.datum(numbers.mean_mbps))
    return titled(alt.layer(line, mean), trace.title, subtitle, width=680, height=260)
