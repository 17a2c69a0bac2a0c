"""Figures of the gallery that show one run over time.

`time` has a panel for each metric, with a line for each element; `scatter` has a mark for each packet of an element,
by what happened to it, at the bytes that its flow had sent before it.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from quiclab import RunResult
from quiclab.report.figures.theme import WIDTH, colours, declaration
from quiclab.report.panels import Line, Panel, panels
from quiclab.result.metrics import metrics
from quiclab.result.series import extremes, rates

#: Metrics that are derived from others, with their axis.
DERIVED = {
    "goodput": "Goodput [Mbit/s]",
    "rate": "Rate of the link [Mbit/s]",
    "round_trip": "RTT of probes [ms]",
}
#: Axes of common metrics; others have their name and unit.
TITLES = {
    "cwnd_bytes": "Congestion window [kB]",
    "in_flight_bytes": "In flight [kB]",
    "queue_bytes": "Queue [kB]",
    "queue_packets": "Queue [packets]",
    "srtt_ms": "Smoothed RTT [ms]",
    "pacing_rate_mbps": "Pacing rate [Mbit/s]",
    "lost_packets": "Declared lost [packets]",
}
#: Points of a line; of more samples the last one of each step is drawn.
MAX_POINTS = 400
HEIGHT = 300
ARRIVED, DROPPED = "arrived", "dropped"


def series(result: RunResult, metric: str, elements: list[str], every: str) -> pl.DataFrame:
    """Return the samples of a metric: `time_s`, `series`, `value`; sizes in kB.

    Parameters
    ----------
    result
        A run with time series.
    metric
        A metric of the series, or one of `DERIVED`.
    elements
        Elements of the metric; flows for goodput and round-trip times, links for rates.
    every
        Interval of goodput.
    """
    parts = []
    for element in elements:
        if metric == "goodput":
            part = result.goodput_over_time(element, every).rename({"goodput_mbps": "value"})
        elif metric == "round_trip":
            part = result.round_trips(element).rename({"rtt_ms": "value"})
        elif metric == "rate":
            sent = pl.col("direction") == "sent"
            part = rates(result.series).filter(pl.col("element") == element, sent).rename({"rate_mbps": "value"})
        else:
            part = result.series.filter(pl.col("element") == element, pl.col("metric") == metric)
        if part.is_empty():
            raise ValueError(f"{metric} of {element}: expected samples in the time series of the run, got none")
        scale = 1e-3 if metric.endswith("_bytes") else 1.0
        name = element.removesuffix(".sender")
        parts.append(part.select("time_s", series=pl.lit(name), value=pl.col("value").cast(pl.Float64) * scale))
    return pl.concat(parts)


def between(data: pl.DataFrame, start_s: float, end_s: float) -> pl.DataFrame:
    """Return the samples between two times; an end of 0 is that of the run."""
    time = pl.col("time_s")
    return data.filter(time >= start_s, (time <= end_s) | (end_s == 0))


def thinned(data: pl.DataFrame) -> pl.DataFrame:
    """Return at most `MAX_POINTS` samples of each series, with its peaks and troughs."""
    parts = data.partition_by("series", maintain_order=True)
    return pl.concat([part[extremes(part["value"].to_numpy(), MAX_POINTS)] for part in parts])


def time(shown: list[tuple[str, pl.DataFrame]], start_s: float) -> dict[str, Any]:
    """Return the specification of panels over time, one below the other.

    Parameters
    ----------
    shown
        Metric and samples of each panel, as of `series`.
    start_s
        Where the axis begins.
    """
    return declaration(panels([Panel(_lines(data), "", _title(metric)) for metric, data in shown], start=start_s))


def _lines(data: pl.DataFrame) -> dict[str, Line]:
    parts = thinned(data).partition_by("series", as_dict=True, maintain_order=True)
    return {str(name): part.select("time_s", "value").rows() for (name,), part in parts.items()}


def _title(metric: str) -> str:
    unit = next((found.unit for found in metrics() if metric in found.names), "")
    return DERIVED.get(metric) or TITLES.get(metric) or f"{metric} [{unit}]"


def packets(result: RunResult, elements: list[str], start_s: float, end_s: float) -> pl.DataFrame:
    """Return packets of elements: `time_s`, `series`, `value`, the kB of its flow that had arrived there before it.

    Parameters
    ----------
    result
        A run with packets.
    elements
        With one, `series` is what happened to a packet: it arrived, or was dropped. With several it is the element,
        and the packets are those that depart from it.
    start_s, end_s
        Times between which packets are returned.
    """
    kind, element = pl.col("event").cast(pl.String), pl.col("element").cast(pl.String)
    found = result.packets.filter(element.is_in(elements), pl.col("direction").cast(pl.String) == "down")
    if len(elements) > 1:
        data = found.filter(kind == "departure").with_columns(series=element)
    else:
        dropped = found.filter(kind == "drop")["packet_id"]
        lost = pl.col("packet_id").is_in(dropped.implode())
        data = found.filter(kind == "arrival").with_columns(
            series=pl.when(lost).then(pl.lit(DROPPED)).otherwise(pl.lit(ARRIVED))
        )
    before = pl.col("size_bytes").cast(pl.Int64).cum_sum().over("element", "flow") - pl.col("size_bytes")
    data = data.with_columns(time_s=pl.col("time_ns") / 1e9, value=before / 1e3)
    shown = data.filter(pl.col("time_s").is_between(start_s, end_s))
    return shown.select("time_s", "series", flow=pl.col("flow").cast(pl.String), value="value")


def scatter(data: pl.DataFrame) -> dict[str, Any]:
    """Return the specification of a figure of packets."""
    names = sorted(set(data["series"]))
    x = alt.X(
        "time_s:Q", title="Time [s]", scale=alt.Scale(zero=False, nice=False, padding=8), axis=alt.Axis(grid=False)
    )
    y = alt.Y("value:Q", title="Sent before [kB]", scale=alt.Scale(zero=False))
    dropped = alt.datum.series == DROPPED
    size = alt.condition(dropped, alt.value(60), alt.value(14))
    # the few that are dropped are above the many that are not
    rows = data.sort(pl.col("series") == DROPPED, maintain_order=True).to_dicts()
    marks = alt.Chart({"values": rows}).mark_point(filled=True, opacity=0.9)
    drawn = marks.encode(x=x, y=y, color=colours(names), size=size)
    return declaration(drawn.properties(width=WIDTH, height=HEIGHT))
