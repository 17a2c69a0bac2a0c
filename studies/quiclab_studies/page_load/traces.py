"""Values of the page-load studies from time series: window, threshold, RTT estimate and losses of the end that sends.

Names and definitions are those of the reference's vocabulary. All are numbers of one run, from samples of
`record.series_interval`: a time is exact to one step, and a change that is taken back within a step is not seen.

| reference | implementation |
| --- | --- |
| Hybrid Slow Start while window < ssthresh | the first sample with a window of at least the threshold ends it |
| time after the request | since the request for the HTML has left the browser: published traces are the server's |
| samples of the bulk trace | from the start of the flow to its end |
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from quiclab.scenario.quantity import milliseconds
from quiclab.study import Metric
from quiclab.study.libraries import pl
from quiclab_studies.reductions import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quiclab.result import RunResult
    from quiclab.study import Value

KEPT_SERIES = ("cwnd_bytes", "ssthresh_bytes", "srtt_ms", "min_rtt_ms", "lost_packets", "reordering_packets")
"""Series that these metrics need."""
SRTT_TIMES_MS = tuple(range(100, 601, 50))
"""Times after the request at which the RTT estimate is taken."""
AFTER_EXIT_S = 0.02
BULK_S = 150


def flow_of(result: RunResult, number: int = 1) -> str | None:
    """Return the name of a flow by its number, in the order of the scenario; `None` if there are fewer."""
    names = list(result.flows)
    return names[number - 1] if number <= len(names) else None


def trace(result: RunResult, metric: str, number: int = 1) -> list[tuple[float, float]]:
    """Return a series of the sender of a flow: seconds since the flow started, and the value."""
    name = flow_of(result, number)
    if name is None or result.series.is_empty():
        return []
    wanted = (pl.col("element").cast(pl.String) == f"{name}.sender") & (pl.col("metric").cast(pl.String) == metric)
    start_s, finish_s = result.flows[name].start_s, result.flows[name].finish_s
    last_s = math.inf if finish_s is None else finish_s
    rows = result.series.filter(wanted).select("time_s", "value").iter_rows()
    return [(at_s - start_s, value) for at_s, value in rows if start_s <= at_s <= last_s]


def value_at(steps: Sequence[tuple[float, float]], at_s: float) -> float:
    """Return the last value that was sampled until a time; NaN before the first."""
    found = math.nan
    for step_s, value in steps:
        if step_s > at_s + 1e-9:
            break
        found = value
    return found


def between(steps: Sequence[tuple[float, float]], start_s: float, end_s: float) -> list[float]:
    """Return the values sampled between two times; none if the trace ends before."""
    if not steps or steps[-1][0] < end_s - 1.0:
        return []
    return [value for at_s, value in steps if start_s <= at_s <= end_s]


def html_ms(result: RunResult) -> float:
    """From the start of the browser to the whole HTML [ms]."""
    name = flow_of(result)
    return math.nan if name is None else float(result.flows[name].receiver.get("html_ms", math.nan))


def request_s(result: RunResult) -> float:
    """When the request for the HTML left, since the start: a round trip and the think time before the HTML."""
    rtts = [value for _, value in trace(result, "min_rtt_ms")]
    name = flow_of(result)
    if name is None or not rtts:
        return math.nan
    workload = result.scenario.to_dict()["flows"][name]["workload"]
    return max(0.0, (html_ms(result) - min(rtts) - milliseconds(workload.get("html_think_time") or "0 s")) / 1e3)


def exit_s(result: RunResult) -> float:
    """When the window reached the threshold, since the start of the flow; NaN if it never did."""
    thresholds = trace(result, "ssthresh_bytes")
    if not thresholds:
        return math.nan
    windows = dict(trace(result, "cwnd_bytes"))
    return next((at_s for at_s, limit in thresholds if windows.get(at_s, -1.0) >= limit), math.nan)


def left_slow_start(result: RunResult) -> float:
    """Whether the window reached the threshold: 1 or 0."""
    return float(not math.isnan(exit_s(result)))


def hystart_exit_s(result: RunResult) -> float:
    """When the window first reached the threshold, after the request [s]."""
    return exit_s(result) - request_s(result)


def losses_before_exit(result: RunResult) -> float:
    """Packets declared lost until slow start ended."""
    found = exit_s(result)
    return math.nan if math.isnan(found) else value_at(trace(result, "lost_packets"), found)


def srtt_after_exit_ms(result: RunResult) -> float:
    """Smoothed RTT 20 ms after slow start ended [ms]."""
    found = exit_s(result)
    return math.nan if math.isnan(found) else value_at(trace(result, "srtt_ms"), found + AFTER_EXIT_S)


def srtt_at(after_request_ms: int) -> Callable[[RunResult], float]:
    """Return the smoothed RTT some time after the request [ms]."""
    return lambda result: value_at(trace(result, "srtt_ms"), request_s(result) + after_request_ms / 1e3)


def ca_fraction(result: RunResult) -> float:
    """Part of the transfer, from the request on, with a window of at least the threshold."""
    first_s = request_s(result)
    thresholds = dict(trace(result, "ssthresh_bytes"))
    windows = [(at_s, value) for at_s, value in trace(result, "cwnd_bytes") if at_s >= first_s]
    return mean([float(value >= thresholds.get(at_s, math.inf)) for at_s, value in windows])


def cwnd_kb(result: RunResult, start_s: float, end_s: float) -> float:
    """Mean congestion window between two times [kB]."""
    return mean(between(trace(result, "cwnd_bytes"), start_s, end_s)) / 1e3


def cwnd_mean_kb(result: RunResult, flow: Value = 1) -> float:
    """Mean congestion window of a flow over all of it [kB]."""
    return mean([value for _, value in trace(result, "cwnd_bytes", int(flow))]) / 1e3


def cwnd_p80_kb(result: RunResult) -> float:
    """80th percentile of the congestion window over 150 s [kB]: the smallest that 80 % of the samples do not exceed."""
    values = sorted(between(trace(result, "cwnd_bytes"), 0.0, BULK_S))
    return values[math.ceil(0.8 * len(values)) - 1] / 1e3 if values else math.nan


def cwnd_updates_per_s(result: RunResult, flow: Value) -> float:
    """Changes of the window per second, at most one a sample."""
    steps = trace(result, "cwnd_bytes", int(flow))
    if len(steps) < 2:
        return math.nan
    changes = sum(before[1] != after[1] for before, after in pairwise(steps))
    return changes / (steps[-1][0] - steps[0][0])


def lost(result: RunResult, start_s: float, end_s: float) -> float:
    """Packets declared lost between two times; NaN if the trace ends before."""
    steps = trace(result, "lost_packets")
    if not steps or steps[-1][0] < end_s - 1.0:
        return math.nan
    before = value_at(steps, start_s)
    return value_at(steps, end_s) - (0.0 if math.isnan(before) else before)


def declared_lost(result: RunResult) -> float:
    """Packets declared lost in the whole transfer."""
    return counted(result, "lost_packets")


def declared_falsely(result: RunResult) -> float:
    """Packets declared lost in the whole transfer that were acknowledged later."""
    return counted(result, "spurious_losses")


def counted(result: RunResult, name: str) -> float:
    """Return a counter of the first sender; NaN if there is none."""
    flow = flow_of(result)
    return math.nan if flow is None else float(result.flows[flow].sender.get(name, math.nan))


def seconds_with_losses(result: RunResult) -> float:
    """Seconds of the first 150 in which a packet is declared lost."""
    steps = trace(result, "lost_packets")
    if not steps or steps[-1][0] < BULK_S - 1.0:
        return math.nan
    totals = [0.0 if math.isnan(value) else value for value in (value_at(steps, t) for t in range(BULK_S + 1))]
    return float(sum(after > before for before, after in pairwise(totals)))


def threshold_80s(result: RunResult) -> float:
    """Reordering that the sender permits after 80 s [packets]."""
    steps = trace(result, "reordering_packets")
    return value_at(steps, 80.0) if steps and steps[-1][0] >= 79.0 else math.nan


HTML = Metric("html_ms", "Time to the whole HTML", "ms", html_ms)
WINDOW_METRICS = (Metric("cwnd_mean_kb", "Mean congestion window", "kB", cwnd_mean_kb),)
HYSTART_METRICS = (
    Metric("left_slow_start", "Part of the runs that leave Hybrid Slow Start", "", left_slow_start),
    Metric("hystart_exit_s", "End of Hybrid Slow Start, after the request", "s", hystart_exit_s),
    Metric("losses_before_exit", "Packets declared lost until then", "", losses_before_exit),
    Metric("srtt_after_exit_ms", "Smoothed RTT 20 ms later", "ms", srtt_after_exit_ms),
    Metric("ca_fraction", "Part of the transfer in congestion avoidance", "", ca_fraction),
    *(
        Metric(f"srtt_{at_ms}_ms", f"Smoothed RTT {at_ms} ms after the request", "ms", srtt_at(at_ms))
        for at_ms in SRTT_TIMES_MS
    ),
)
REORDERING_METRICS = (
    *WINDOW_METRICS,
    Metric("cwnd_p80_kb", "80th percentile of the congestion window", "kB", cwnd_p80_kb),
    Metric("cwnd_0_60_kb", "Mean congestion window, 0 to 60 s", "kB", lambda result: cwnd_kb(result, 0, 60)),
    Metric("cwnd_110_130_kb", "Mean congestion window, 110 to 130 s", "kB", lambda result: cwnd_kb(result, 110, 130)),
    Metric("seconds_with_losses", "Seconds with declared losses, of 150", "", seconds_with_losses),
    Metric("threshold_80s", "Reordering that is permitted after 80 s", "packets", threshold_80s),
    Metric("lost_0_40", "Packets declared lost, 0 to 40 s", "", lambda result: lost(result, 0, 40)),
    Metric("lost_80_120", "Packets declared lost, 80 to 120 s", "", lambda result: lost(result, 80, 120)),
    Metric("declared_lost", "Packets declared lost", "", declared_lost),
    Metric("declared_falsely", "Packets declared lost that were acknowledged later", "", declared_falsely),
)
FAIRNESS_METRICS = (
    Metric("cwnd_mean_kb", "Mean congestion window", "kB", cwnd_mean_kb, of="flow"),
    Metric("cwnd_updates_per_s", "Changes of the window per second", "1/s", cwnd_updates_per_s, of="flow"),
)
