"""Metrics of a sweep: numbers that `--metric` names, each measured in a run.

A metric of flows has a column for each flow where a scenario has several: `goodput_mbps.main`; of a flow with a `count`
it is the mean over its flows. Some can be measured in a window of time: `goodput@10s..60s`. Every metric that an end
of a flow defines is one by its name, `sender.ack_frames_received`; any other number of a result is named by its path,
such as `elements.down1.dropped.packets`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import count, takewhile
from re import fullmatch
from typing import TYPE_CHECKING, Any, Final, TypedDict

from quiclab._base.libraries import np
from quiclab.errors import RequestError, alternatives, nearest, unexpected, unknown
from quiclab.result import windows
from quiclab.result.metrics import metrics, pattern
from quiclab.result.windows import Window
from quiclab.scenario.quantity import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from quiclab.result import FlowResult, RunResult

#: Ends of a flow, as results name them.
ENDS: Final = ("sender", "receiver")
#: Interval of the samples that percentiles over time are of, where the scenario has none.
SERIES_INTERVAL: Final = "10 ms"
#: Unit of shares, which axes do not show.
SHARE: Final = "0 to 1"
EVERYTHING: Final = Window(after_s=-math.inf)


class _Sampled(TypedDict):
    """Fields of a metric that is a statistic of samples."""

    of_flow: Callable[[RunResult, str], float]
    within_flow: Callable[[RunResult, str, Window], float]
    series: tuple[str, ...]


@dataclass(frozen=True)
class Metric:
    """A metric that has a name.

    Attributes
    ----------
    name
        For `--metric`.
    column
        Its column, or the start of its columns: the unit is the suffix.
    label, unit
        Title of an axis.
    meaning
        Its definition, for the list of metrics.
    of_flow
        Measures a flow; its name is the second argument.
    of_run
        Measures a run, where it is a metric of the whole.
    series
        Metrics of time series that it needs, at an end of each flow.
    within_flow, within_run
        The same measurements within a window of time; `None` if it cannot be measured in one.
    workload
        The only workload whose flows have it; `None` is all.
    place
        The end of a flow, and the name of the number there, if that is how it is named.
    """

    name: str
    column: str
    label: str
    unit: str
    meaning: str
    of_flow: Callable[[RunResult, str], float] | None = None
    of_run: Callable[[RunResult], float] | None = None
    series: tuple[str, ...] = ()
    within_flow: Callable[[RunResult, str, Window], float] | None = None
    within_run: Callable[[RunResult, Window], float] | None = None
    workload: str | None = None
    place: str = ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _flow(result: RunResult, flow: str) -> FlowResult:
    return result.flows[flow]


def _sender(*names: str) -> Callable[[RunResult, str], float]:
    """Return the metric of a sender, under the first of several names that its stack gives it."""

    def measure(result: RunResult, flow: str) -> float:
        table = _flow(result, flow).sender
        return next((_number(table[name]) for name in names if name in table), math.nan)

    return measure


def _of_end(text: str, name: str = "", label: str = "", meaning: str = "", workload: str | None = None) -> Metric:
    """Return the metric of an end of a flow, such as `sender.lost_packets`, from its definition.

    Parameters
    ----------
    text
        The end, and the name of its number.
    name, label, meaning, workload
        As of `Metric`, where it has a short name.
    """
    end, _, key = text.partition(".")
    of_ends = [metric for metric in metrics() if metric.at_end and metric.in_flow]
    ordered = sorted(of_ends, key=lambda metric: f"`{workload}`" not in metric.element)
    defined = [(item, metric) for metric in ordered for item in metric.names]
    if (metric := next((metric for item, metric in defined if fullmatch(pattern(item), key)), None)) is None:
        names = [f"{end}.{item}" for end in ENDS for item, _ in defined]
        raise unknown("metric", text, names, "--metric", "quiclab result metrics")
    return Metric(
        name or text,
        f"{name}_{metric.unit}" if name and metric.unit in ("ms", "packets") else name or text,
        label or f"{key} of the {end}",
        metric.unit if metric.unit != SHARE else "",
        meaning or _within_a_sentence(metric.meaning),
        of_flow=lambda result, flow: _number(getattr(_flow(result, flow), end).get(key)),
        workload=workload,
        place="" if name else text,
    )


def _within_a_sentence(text: str) -> str:
    """Return a meaning without the capital letter and the full stop of a sentence."""
    return (text if text[1:2].isupper() else text[:1].lower() + text[1:]).rstrip(".")


def _samples(end: str, metric: str, statistic: Callable[[Any], float]) -> _Sampled:
    """Return measurements of a statistic of the samples of an end of a flow, of all and of those within a window."""

    def within(result: RunResult, flow: str, window: Window) -> float:
        if result.series.is_empty():
            return math.nan
        values = windows.within(result, f"{flow}.{end}", metric, window)["value"].to_numpy()
        return float(statistic(values)) if len(values) else math.nan

    return {
        "of_flow": lambda result, flow: within(result, flow, EVERYTHING),
        "within_flow": within,
        "series": (metric,),
    }


def _quantile(percent: int) -> Callable[[Any], float]:
    return lambda values: float(np.quantile(values, percent / 100))


def _goodput_within(result: RunResult, flow: str, window: Window) -> float:
    return math.nan if result.series.is_empty() else windows.goodput_mbps(result, flow, window)


def _delivered_within(result: RunResult, flow: str, window: Window) -> float:
    delivered = None if result.series.is_empty() else windows.Delivered.of(result, flow)
    return math.nan if delivered is None else delivered.bytes_in(window)


def jain(goodputs: Iterable[float]) -> float:
    """Return Jain's fairness index of goodputs; 1 if all are equal (Jain et al., DEC-TR-301, 1984)."""
    values = list(goodputs)
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else math.nan


def _fairness(result: RunResult) -> float:
    return jain(flow.goodput_mbps for flow in result.flows.values())


def _fairness_within(result: RunResult, window: Window) -> float:
    return jain(_goodput_within(result, flow, window) for flow in result.flows)


def _drops(result: RunResult) -> float:
    return math.fsum(_number(_dropped(element)) for element in result.elements.values())


def _dropped(element: Mapping[str, Any]) -> object:
    dropped = element.get("dropped")
    return dropped.get("packets", 0) if isinstance(dropped, dict) else 0


METRICS: Final = (
    Metric(
        "goodput",
        "goodput_mbps",
        "Goodput",
        "Mbit/s",
        "delivered bits over the time from the start of the client to the last of them",
        of_flow=lambda result, flow: _flow(result, flow).goodput_mbps,
        within_flow=_goodput_within,
    ),
    Metric(
        "download_time",
        "download_time_s",
        "Download time",
        "s",
        "from the start of the client to the last byte; none if it did not arrive",
        of_flow=lambda result, flow: _number(_flow(result, flow).download_time_s),
    ),
    Metric(
        "delivered",
        "delivered_bytes",
        "Delivered",
        "B",
        "bytes that the receiving application got",
        of_flow=lambda result, flow: float(_flow(result, flow).delivered_bytes),
        within_flow=_delivered_within,
    ),
    Metric(
        "completed",
        "completed",
        "Completed",
        "",
        "1 if the workload was done, 0 otherwise",
        of_flow=lambda result, flow: float(_flow(result, flow).completed),
    ),
    Metric(
        "retransmissions",
        "retransmitted_packets",
        "Retransmissions",
        "packets",
        "packets sent again by TCP; packets declared lost by QUIC, which sends their data again",
        of_flow=_sender("retransmitted_packets", "lost_packets"),
    ),
    _of_end("sender.lost_packets", "lost", "Declared lost"),
    _of_end("sender.congestion_events", "congestion_events", "Congestion events"),
    _of_end("sender.srtt_ms", "srtt", "Smoothed RTT at the end", "smoothed RTT of the sender at the end of the run"),
    _of_end("sender.min_rtt_ms", "min_rtt", "Minimum RTT", "minimum RTT of the sender at the end of the run"),
    *(
        Metric(
            f"rtt_p{percent}",
            f"rtt_p{percent}_ms",
            f"RTT, {percent}th percentile over time" if percent != 50 else "RTT, median over time",
            "ms",
            f"{percent}th percentile over time of the sender's smoothed RTT",
            **_samples("sender", "srtt_ms", _quantile(percent)),
        )
        for percent in (50, 95, 99)
    ),
    Metric(
        "ping",
        "ping_ms",
        "Round-trip time of probes, mean",
        "ms",
        "mean round-trip time of the probes of a ping",
        **_samples("receiver", "rtt_ms", lambda values: float(np.mean(values))),
        workload="ping",
    ),
    *(
        Metric(
            f"ping_p{percent}",
            f"ping_p{percent}_ms",
            f"Round-trip time of probes, {percent}th percentile" if percent != 50 else "Round-trip time, median",
            "ms",
            f"{percent}th percentile of the round-trip times of the probes of a ping",
            **_samples("receiver", "rtt_ms", _quantile(percent)),
            workload="ping",
        )
        for percent in (50, 95, 99)
    ),
    *(
        _of_end(
            f"receiver.frame_delay_ms_p{percent}",
            f"frame_delay_p{percent}",
            f"Frame delay, {percent}th percentile" if percent != 50 else "Frame delay, median",
            f"{percent}th percentile over the frames of a live video of the time from capture to the last byte",
            "live",
        )
        for percent in (50, 95, 99)
    ),
    _of_end("receiver.late_share", "late_share", "Share of late or missing frames", workload="live"),
    Metric(
        "fairness",
        "fairness",
        "Jain's fairness index",
        "",
        "Jain's index of the goodputs of all flows: 1 if they are equal",
        of_run=_fairness,
        within_run=_fairness_within,
    ),
    Metric(
        "total_goodput",
        "total_goodput_mbps",
        "Goodput of all flows",
        "Mbit/s",
        "sum of the goodputs of all flows",
        of_run=lambda result: math.fsum(flow.goodput_mbps for flow in result.flows.values()),
        within_run=lambda result, window: math.fsum(_goodput_within(result, flow, window) for flow in result.flows),
    ),
    Metric(
        "drops",
        "dropped_packets",
        "Drops",
        "packets",
        "packets that any element dropped, for whatever reason",
        of_run=_drops,
    ),
)


@dataclass(frozen=True)
class Measure:
    """A column of a sweep that holds measurements.

    Attributes
    ----------
    column
        Its name.
    label, unit
        Title of an axis.
    measure
        From a run to the number; NaN where there is none.
    series
        Metrics of time series that it needs.
    path
        Place of the number in a result, if that is how it is named.
    """

    column: str
    label: str
    unit: str
    measure: Callable[[RunResult], float]
    series: tuple[str, ...] = ()
    path: str = ""

    def place_in(self, result: RunResult) -> str:
        """Return the path in a result, of the first flow where a `count` makes several of one."""
        flow = next((name for name in (self.path.split(".")[1:2]) if name not in result.flows), "")
        return self.path.replace(f".{flow}.", f".{flow}1.", 1) if flow and f"{flow}1" in result.flows else self.path

    @property
    def is_never_negative(self) -> bool:
        """Whether no run can have a value below zero: so for all metrics with a name, but not for any path."""
        return self.path != self.column

    @property
    def title(self) -> str:
        """Title of an axis."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


def workloads(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return the kind of the workload of each flow of a resolved scenario."""
    return {name: str(flow["workload"]["kind"]) for name, flow in scenario["flows"].items()}


def measures(names: Iterable[str], kinds: Mapping[str, str]) -> list[Measure]:
    """Return the columns of the requested metrics.

    Parameters
    ----------
    names
        Names of metrics, an end and the name of its metric, or paths in a result.
    kinds
        The flows of the scenario, as of `workloads`.

    Raises
    ------
    RequestError
        If a name is neither, or no flow has the metric.
    """
    known = {metric.name: metric for metric in METRICS}
    found: list[Measure] = []
    if "" in (asked := list(names)):
        raise unexpected("--metric", "names joined by commas", ",".join(asked))
    for name in dict.fromkeys(asked):
        base, at, window = name.partition("@")
        if (metric := _of_end(base) if base.partition(".")[0] in ENDS else known.get(base)) is not None:
            metric = metric if not at else _windowed(metric, window)
            having = [flow for flow, kind in kinds.items() if metric.workload in (None, kind)]
            if not having:
                raise unexpected("--metric", f"a flow with the workload `{metric.workload}` for `{base}`", got="none")
            found += _columns(metric, having, f"@{window}" if at else "")
        elif name.split(".")[0] in ("flows", "elements", "run", "series") and "." in name:
            found.append(Measure(name, name, "", _at(name), path=name))
        elif any(name in metric.names for metric in metrics() if metric.at_end):
            raise unexpected("--metric", alternatives([f"{end}.{name}" for end in ENDS]), name)
        else:
            raise unknown("metric", name, known, "--metric", "quiclab sweep --list-metrics")
    return found


def _windowed(metric: Metric, text: str) -> Metric:
    """Return a metric as it is measured within a window."""
    of_flow, of_run = metric.within_flow, metric.within_run
    if of_flow is None and of_run is None:
        names = [item.name for item in METRICS if item.within_flow or item.within_run]
        raise unexpected("--metric", f"{alternatives(names)} with a window", f"{metric.name}@{text}")
    window = Window.read(text)
    return replace(
        metric,
        label=f"{metric.label}, {text}",
        of_flow=of_flow and (lambda result, flow: of_flow(result, flow, window)),
        of_run=of_run and (lambda result: of_run(result, window)),
        series=metric.series or ("delivered_bytes",),
    )


def _columns(metric: Metric, flows: list[str], window: str = "") -> list[Measure]:
    if (of_run := metric.of_run) is not None:
        return [Measure(f"{metric.column}{window}", metric.label, metric.unit, of_run, metric.series)]
    several = len(flows) > 1
    return [
        Measure(
            f"{metric.column}.{flow}{window}" if several else f"{metric.column}{window}",
            f"{metric.label} of {flow}" if several else metric.label,
            metric.unit,
            _bound(metric, flow),
            metric.series,
            f"flows.{flow}.{metric.place}" if metric.place else "",
        )
        for flow in flows
    ]


def _bound(metric: Metric, flow: str) -> Callable[[RunResult], float]:
    def measure(result: RunResult) -> float:
        if metric.of_flow is None:
            return math.nan
        values = [metric.of_flow(result, single) for single in _singles(result, flow)]
        return math.fsum(values) / len(values) if values else math.nan

    return measure


def _singles(result: RunResult, flow: str) -> list[str]:
    """Return the names of the flows of a run that a flow of the scenario stands for: several, if it has a `count`."""
    if flow in result.flows:
        return [flow]
    return list(takewhile(result.flows.__contains__, (f"{flow}{number}" for number in count(1))))


def _at(path: str) -> Callable[[RunResult], float]:
    """Return the number at a path of a result; NaN where there is none."""

    def measure(result: RunResult) -> float:
        value, rest, _ = _walk(result.data, path)
        if rest:
            return math.nan
        if isinstance(value, str) and (found := parse(value)) is not None:
            return float(found[1])
        return _number(value)

    return measure


def _walk(data: object, path: str) -> tuple[object, str, str]:
    """Follow a path as far as there are names for it; returns the value there, the rest of the path and its start."""
    value, rest = data, path
    while rest and isinstance(value, dict):
        # names of elements contain dots, such as dc.sender: the longest name that fits is meant
        name = next((key for key in sorted(value, key=len, reverse=True) if f"{rest}.".startswith(f"{key}.")), None)
        if name is None:
            break
        value, rest = value[name], rest[len(name) + 1 :]
    return value, rest, path.removesuffix(rest).rstrip(".")


def no_number(path: str, result: RunResult) -> RequestError | None:
    """Return the error about a path that leads to no number of a result; `None` if this run has no value there."""
    value, rest, way = _walk(result.data, path)
    field = f"--metric {way}".rstrip()
    if rest and isinstance(value, dict):
        steps = rest.split(".")
        parts = [".".join(steps[:count]) for count in (2, 1) if count <= len(steps)]
        wrong = next((part for part in parts if nearest(part, value)), steps[0])
        return unknown("name", wrong, value, field, "quiclab run --json")
    if value is None and not rest:
        return None
    got = "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else ""
    return unexpected(field, "the path of a number", value, "`quiclab run --json` shows a result", got=got)
