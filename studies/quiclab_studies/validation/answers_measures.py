"""What is measured of a run that answers a question: a number, from its result and its time series."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab.study.libraries import pl
from quiclab_studies.reductions import series

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.result import RunResult

    Measure = Callable[[RunResult], float]

#: Time series that are stored with the runs.
SERIES = ("delivered_bytes", "cwnd_bytes", "ssthresh_bytes", "pacing_rate_mbps")


def goodput_mbps(flow: str = "main", after: str | None = None) -> Measure:
    """Return the goodput of a flow [Mbit/s], from its start or from a time on."""

    def measured(result: RunResult) -> float:
        return result.flows[flow].goodput_mbps if after is None else result.goodput(flow, after=after)

    return measured


def completion_s(result: RunResult) -> float:
    """Return how long the download took [s]; infinity if it did not complete."""
    flow = result.flows["main"]
    return flow.download_time_s if flow.completed and flow.download_time_s is not None else math.inf


def completed(result: RunResult) -> float:
    """Return 1 if the download completed, 0 if the connection failed before."""
    return float(result.flows["main"].completed)


def reductions(result: RunResult) -> float:
    """Return how often the sender reduced its window."""
    return float(result.flows["main"].sender["congestion_events"])


def dropped_share(link: str, packets_sent: int | None = None) -> Measure:
    """Return the share of the packets that a link dropped [%]."""

    def measured(result: RunResult) -> float:
        counters = result.elements[link]
        return 100 * float(counters["dropped"]["packets"]) / (packets_sent or float(counters["received"]["packets"]))

    return measured


def undelivered_share(flow: str, sent_bytes: int) -> Measure:
    """Return the share of what a flow sends that does not arrive [%]."""
    return lambda result: 100 * (1 - result.flows[flow].delivered_bytes / sent_bytes)


def longest_buffer_packets(result: RunResult) -> float:
    """Return the largest number of datagrams in the receiver's socket buffer."""
    return float(result.flows["main"].receiver["longest_receive_buffer_packets"])


def silence_after_s(end_s: float) -> Measure:
    """Return how long after the end of an outage the receiver has further data [s]; infinity if it has none."""

    def measured(result: RunResult) -> float:
        rows = series(result, "main.receiver", "delivered_bytes").with_columns(more=pl.col("value").diff())
        times = rows.filter(pl.col("time_s") > end_s, pl.col("more") > 0)["time_s"]
        return math.inf if times.is_empty() else float(times[0]) - end_s

    return measured


def until_rate_s(start_s: float, rate_mbps: float, over_s: float = 0.2) -> Measure:
    """Return how long after a time the goodput reaches a rate [s]: the mean over a short while; infinity if never."""

    def measured(result: RunResult) -> float:
        rows = series(result, "main.receiver", "delivered_bytes").sort("time_s")
        steps = max(1, round(over_s / (rows["time_s"][1] - rows["time_s"][0])))
        reached = rows.with_columns(
            rate=8e-6 * pl.col("value").diff(steps) / pl.col("time_s").diff(steps),
        ).filter(pl.col("time_s") >= start_s + over_s, pl.col("rate") >= rate_mbps)["time_s"]
        return math.inf if reached.is_empty() else float(reached[0]) - start_s

    return measured


def threshold_share(before_s: float, at_s: float) -> Measure:
    """Return the slow start threshold at a time as a share of the window before another time."""

    def measured(result: RunResult) -> float:
        window = series(result, "main.sender", "cwnd_bytes").filter(pl.col("time_s") < before_s)["value"][-1]
        threshold = series(result, "main.sender", "ssthresh_bytes").filter(pl.col("time_s") <= at_s)["value"]
        return math.nan if threshold.is_empty() else float(threshold[-1]) / float(window)

    return measured


def lost_time_share(after_s: float, step_s: float = 0.1) -> Measure:
    """Return the share of the time that a sender leaves its bottleneck without data [%].

    Goodput compared with that of the median step: what is missing from steps that are not full is time of the link.
    """

    def measured(result: RunResult) -> float:
        rows = series(result, "main.receiver", "delivered_bytes").sort("time_s")
        steps = max(1, round(step_s / (rows["time_s"][1] - rows["time_s"][0])))
        rates = rows.filter(pl.col("time_s") >= after_s).gather_every(steps)["value"].diff().drop_nulls()
        return 100 * (1 - _number(rates.mean()) / _number(rates.median()))

    return measured


def when_delivered_s(size_bytes: float) -> Measure:
    """Return when the receiver has more than a number of bytes [s]."""

    def measured(result: RunResult) -> float:
        rows = series(result, "main.receiver", "delivered_bytes").sort("time_s")
        return _number(rows.filter(pl.col("value") > size_bytes)["time_s"].min())

    return measured


def window_growth(from_s: Measure, within_s: float) -> Measure:
    """Return the largest window within a time, as a multiple of the window at its beginning."""

    def measured(result: RunResult) -> float:
        start = from_s(result)
        rows = series(result, "main.sender", "cwnd_bytes")
        before = rows.filter(pl.col("time_s") <= start)["value"]
        inside = rows.filter(pl.col("time_s").is_between(start, start + within_s))["value"]
        return _number(inside.max()) / float(before[-1])

    return measured


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
