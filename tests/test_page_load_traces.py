"""What the page-load studies read from traces, on traces made by hand; and on two short runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import quiclab
from conftest import ROOT
from quiclab.result import FlowResult, RunResult
from quiclab.result.metrics import Statistics
from quiclab.scenario.quantity import milliseconds
from quiclab_studies.page_load import traces

COUNTED = {"lost_packets": 12.0, "spurious_losses": 9.0}
FLOW = FlowResult(1.0, None, True, False, None, 0, None, 0.0, Statistics(COUNTED), Statistics(html_ms=120.0))


class Made:
    """What the metrics read of a run: series of one or two flows that start after 1 s; the HTML took 120 ms."""

    def __init__(self, series: Mapping[str, Sequence[tuple[float, float]]], finish_s: float | None = None) -> None:
        rows = [
            {"time_s": 1.0 + at_s, "element": f"{name.partition(':')[0]}.sender", "metric": metric, "value": value}
            for name, steps in series.items()
            for metric in [name.partition(":")[2]]
            for at_s, value in steps
        ]
        self.series = pl.DataFrame(rows).with_columns(pl.col("element", "metric").cast(pl.Categorical))
        self.flows = {name.partition(":")[0]: replace(FLOW, finish_s=finish_s) for name in series}
        self.scenario = self
        self.data: dict[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        return {"flows": {name: {"workload": {"html_think_time": "10 ms"}} for name in self.flows}}


def made(series: Mapping[str, Sequence[tuple[float, float]]], finish_s: float | None = None) -> Any:
    return Made(series, finish_s)


SLOW_START = {
    "one:min_rtt_ms": [(0.05, 40.0), (0.10, 36.0)],
    "one:cwnd_bytes": [(0.05, 10e3), (0.10, 20e3), (0.15, 40e3), (0.20, 40e3), (0.25, 41e3)],
    # unlimited at first: no samples
    "one:ssthresh_bytes": [(0.15, 40e3), (0.20, 40e3), (0.25, 40e3)],
    "one:lost_packets": [(0.05, 0.0), (0.10, 2.0), (0.15, 2.0), (0.20, 5.0), (0.25, 5.0)],
    "one:srtt_ms": [(0.05, 36.0), (0.10, 37.0), (0.15, 45.0), (0.17, 60.0), (0.18, 70.0), (0.25, 50.0)],
}


def test_the_end_of_slow_start() -> None:
    run = made(SLOW_START)
    # the HTML is there after 120 ms, of which are 36 ms of round trip and 10 ms of thinking
    assert traces.request_s(run) == pytest.approx(0.074)
    assert traces.left_slow_start(run) == 1
    assert traces.hystart_exit_s(run) == pytest.approx(0.15 - 0.074)
    assert traces.losses_before_exit(run) == 2
    assert traces.srtt_after_exit_ms(run) == 60  # at 0.17 s
    # 74 + 50 ms: the last sample before is that of 100 ms
    assert traces.srtt_at(50)(run) == 37
    # of the four samples of the window from 74 ms on, three are at the threshold
    assert traces.ca_fraction(run) == 0.75


def test_a_slow_start_that_does_not_end() -> None:
    never = made({name: steps for name, steps in SLOW_START.items() if name != "one:ssthresh_bytes"})
    assert traces.left_slow_start(never) == traces.ca_fraction(never) == 0
    for metric in (traces.hystart_exit_s, traces.losses_before_exit, traces.srtt_after_exit_ms):
        assert math.isnan(metric(never)), metric.__name__
    below = made({**SLOW_START, "one:ssthresh_bytes": [(0.10, 50e3), (0.15, 50e3)]})
    assert traces.left_slow_start(below) == 0


def per_second(value: Callable[[int], float], end_s: int = 150) -> list[tuple[float, float]]:
    return [(float(second), float(value(second))) for second in range(end_s + 1)]


BULK = {
    # one packet a second until 100 s, then none; the window is 10 kB, and 60 kB from 110 s on
    "one:lost_packets": per_second(lambda t: min(t, 100)),
    "one:cwnd_bytes": per_second(lambda t: 60e3 if t >= 110 else 10e3),
    "one:reordering_packets": per_second(lambda t: 3 + t // 2),
}


def test_a_bulk_trace() -> None:
    run = made(BULK)
    values = {metric.name: metric.value(run, {}) for metric in traces.REORDERING_METRICS}
    assert values["seconds_with_losses"] == 100
    assert (values["lost_0_40"], values["lost_80_120"]) == (40, 20)
    assert values["threshold_80s"] == 43
    # the counters of the sender
    assert (values["declared_lost"], values["declared_falsely"]) == (12, 9)
    assert (values["cwnd_0_60_kb"], values["cwnd_110_130_kb"]) == (10, 60)
    # 110 samples of 10 kB and 41 of 60 kB: 73 % are not above 10 kB
    assert values["cwnd_p80_kb"] == 60
    assert values["cwnd_mean_kb"] == pytest.approx((110 * 10 + 41 * 60) / 151)


def test_a_truncated_bulk_trace_has_no_later_values() -> None:
    run = made({name: steps[:101] for name, steps in BULK.items()})
    values = {metric.name: metric.value(run, {}) for metric in traces.REORDERING_METRICS}
    missing = {name for name, value in values.items() if math.isnan(value)}
    assert missing == {"seconds_with_losses", "lost_80_120", "cwnd_110_130_kb", "cwnd_p80_kb"}


def test_concurrent_flows_are_distinguished() -> None:
    run = made(
        {
            # a change every second sample, and one every sample; the second ends after 2 s
            "one:cwnd_bytes": [(0.0, 10e3), (0.5, 10e3), (1.0, 12e3), (1.5, 12e3), (2.0, 14e3)],
            "two:cwnd_bytes": [(0.0, 20e3), (0.5, 22e3), (1.0, 24e3), (1.5, 20e3), (2.0, 24e3), (2.5, 99e3)],
        },
        finish_s=3.0,
    )
    mean_kb, updates = traces.FAIRNESS_METRICS
    assert [mean_kb.value(run, {"flow": flow}) for flow in (1, 2)] == pytest.approx([11.6, 22.0])
    assert [updates.value(run, {"flow": flow}) for flow in (1, 2)] == [1.0, 2.0]
    assert math.isnan(mean_kb.value(run, {"flow": 3}))


def test_durations_of_scenarios() -> None:
    texts = ("10 ms", "0.5 s", "250 us", "250 µs", "100 ns", "0 s")
    assert [milliseconds(text) for text in texts] == pytest.approx([10, 500, 0.25, 0.25, 1e-4, 0])


SHORT = {
    "links.down1.loss": "0 %",
    "links.down1.rate": "20 Mbit/s",
    "flows.main.workload.objects": [{"count": 1, "size": "500 kB", "kind": "image"}],
    "flows.main.workload.html": "500 B",
    "record": {"series_interval": "2 ms"},
}
QUIC = {
    "flows.main.stack": "lab-quic",
    "flows.main.sender": {"profile": "chromium-quic1"},
    "flows.main.receiver": {"profile": "chromium-quic1"},
}


def short(changes: Mapping[str, Any]) -> RunResult:
    scenario = quiclab.load(ROOT / "scenarios" / "page_http2.toml")
    for path, value in {**SHORT, **changes}.items():
        scenario = scenario.with_value(path, value)
    return quiclab.run(scenario)


def test_the_request_of_a_run_leaves_after_the_handshake() -> None:
    # 36 ms of round trip: QUIC's handshake takes one, TCP's and that of TLS two, beside a few packets to serialise
    assert traces.request_s(short(QUIC)) == pytest.approx(0.036, abs=0.003)
    assert traces.request_s(short({})) == pytest.approx(0.072, abs=0.003)


def test_the_reordering_that_is_permitted_is_a_series_of_both_transports() -> None:
    for changes in (QUIC, {}):
        run = short(changes)
        values = {value for _, value in traces.trace(run, "reordering_packets")}
        assert values == {3.0}


def test_it_grows_where_the_profile_adapts() -> None:
    overtaking = {"mean": "40 ms", "deviation": "15 ms", "distribution": "normal", "reorder": True}
    last = {}
    for profile in ("chromium-quic1", "chromium-gquic37"):
        ends = {f"flows.main.{end}": {"profile": profile} for end in ("sender", "receiver")}
        run = short({**QUIC, **ends, "links.down1.delay": overtaking, "record": {"series_interval": "20 ms"}})
        steps = [value for _, value in traces.trace(run, "reordering_packets")]
        assert steps == sorted(steps)
        last[profile] = steps[-1]
    assert last["chromium-gquic37"] == 3 < last["chromium-quic1"]
