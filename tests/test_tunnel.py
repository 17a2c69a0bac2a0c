"""The studies of the tunnel: what their metrics are made of, and that every finding is tested."""

from __future__ import annotations

import math

import polars as pl
import pytest
import yaml

import quiclab
from conftest import ROOT
from quiclab.errors import QuiclabError
from quiclab.result import RunResult
from quiclab.result.series import by_flow
from quiclab.study.recording import result_of, series_of
from quiclab.study.registry import find
from quiclab_studies.tunnel.common import START_S
from quiclab_studies.tunnel.where import (
    FEW_BYTES,
    SOJOURN_SERIES,
    STEADY,
    WHERE_IT_WAITS,
    codel_drops,
    sojourn_quantile,
)

SHORT = {"duration": "6 s", "flows.down1.workload.duration": "3 s", "flows.ping.workload.count": 20}


@pytest.fixture(scope="module")
def short() -> RunResult:
    """Return a short run of the published tunnel with FQ-CoDel."""
    scenario = quiclab.load(ROOT / "scenarios" / "tunnel_published.toml")
    for path, value in {**SHORT, "tunnels.vpn.queue": {"kind": "fq_codel"}}.items():
        scenario = scenario.with_value(path, value)
    return quiclab.run(scenario, seed=1)


def test_series_by_flow_add_up_to_the_records(short: RunResult) -> None:
    series = by_flow(short)
    passed = series.filter((pl.col("element") == "out:down1") & (pl.col("metric") == "passed_bytes"))
    tap = short.taps["out"].filter(pl.col("flow").cast(pl.String) == "down1")
    assert passed["value"].max() == tap["size_bytes"].sum()
    assert passed["value"].is_sorted()
    sent = short.sojourns.filter(
        (pl.col("element").cast(pl.String) == "vpn.server")
        & (pl.col("flow").cast(pl.String) == "down1")
        & (pl.col("outcome").cast(pl.String) == "sent")
    )
    longest = series.filter((pl.col("element") == "vpn.server:down1") & (pl.col("metric") == "sojourn_longest_ms"))
    assert longest["value"].max() == sent["sojourn_ms"].max()


def test_every_metric_of_every_study_has_a_value_in_a_short_run(short: RunResult) -> None:
    study = find("tunnel/single")
    absent = {metric.name for metric in study.measures.metrics if math.isnan(metric.value(short, {}))}
    # seconds 5 to 30 of the load are not part of a short run
    assert absent == {"sojourn_median_5_30_ms", "sojourn_p99_5_30_ms"}
    rtt = study.measures.metric.value(short, {})
    # both ways 10 ms; a quarter of a window at most waits in the links, and a packet until it is full
    assert 20 < rtt < 40


def test_metrics_of_stored_runs_are_those_of_the_runs(short: RunResult) -> None:
    series = find("tunnel/single").measures.kept_series
    stored = result_of(short.to_json(), series_of(short, series))
    median = sojourn_quantile("sojourn_median_ms", 0, 0.5)
    assert 0 < median(stored) == median(short) < 100
    for metric in find("tunnel/single").measures.metrics:
        assert metric.value(stored, {}) == pytest.approx(metric.value(short, {}), nan_ok=True), metric.name
    # a table that is not kept is no empty one
    with pytest.raises(QuiclabError, match="`sojourns` of a stored run is not kept"):
        _ = stored.sojourns


def test_studies_keep_the_series_of_their_metrics() -> None:
    further = {metric.name for metric in (*STEADY, *FEW_BYTES)}
    studies = [find(f"tunnel/{name}").measures for name in STUDIES]
    using = [measures for measures in studies if further & {metric.name for metric in measures.metrics}]
    assert len(using) > 1
    assert all(set(SOJOURN_SERIES) <= set(measures.kept_series) for measures in using)


def test_steps_have_the_time_of_their_end() -> None:
    rows = [(START_S + at_s, "vpn.server:down1", "codel_dropped_packets", 1.0) for at_s in (5.0, 5.1, 30.0, 30.1)]
    series = pl.DataFrame(rows, ["time_s", "element", "metric", "value"], orient="row")
    assert codel_drops(RunResult({}, series=series)) == 2


def test_drops_of_codel_are_counted_by_flow_and_step(short: RunResult) -> None:
    dropped = short.sojourns.filter(pl.col("outcome").cast(pl.String) == "codel")
    counted = by_flow(short).filter(pl.col("metric") == "codel_dropped_packets")
    assert counted["value"].sum() == len(dropped) > 0


def test_each_ping_counts_once(short: RunResult) -> None:
    samples = short.series.filter(
        (pl.col("element").cast(pl.String) == "ping.receiver") & (pl.col("metric").cast(pl.String) == "rtt_ms")
    )
    received = short.flows["ping"].receiver["packets_received"]
    # the last answer may come after the last step
    assert received - 1 <= len(samples) <= received


def test_every_finding_of_the_reference_belongs_to_a_study() -> None:
    entries = yaml.safe_load(
        (ROOT / "studies/quiclab_studies/tunnel/reference/claims.yaml").read_text(encoding="utf-8")
    )
    claims = {claim.identity for name in STUDIES for claim in find(f"tunnel/{name}").measures.claims}
    assert claims == {entry["id"] for entry in entries}


def test_windows_that_only_grow_move_the_queue_from_the_tunnel_into_the_paths() -> None:
    # Y07: section 4.5 of the thesis
    study = find("tunnel/window")
    measured: dict[str, dict[str, float]] = {}
    only = {"configuration": ("static", "cubic_grows"), "network": ("homo",), "scheduler": ("rr",)}
    for point in study.points((study.design.default_engine,), only=only):
        scenario = quiclab.load(ROOT / "scenarios" / "tunnel_published.toml")
        for path, value in {**point.changes, "duration": "14 s"}.items():
            scenario = scenario.with_value(path, value)
        result = quiclab.run(scenario, seed=1)
        measured[point.configuration] = {metric.name: metric.value(result, {}) for metric in WHERE_IT_WAITS}
    static, grows = measured["static"], measured["cubic_grows"]
    assert static["in_flight_bdp"] <= 1 < grows["in_flight_bdp"]
    assert static["path_drops"] == 0
    # the window leaves the queue to FQ-CoDel, or nothing
    assert static["tunnel_queue_bytes"] > static["path_queue_bytes"]
    assert grows["tunnel_queue_bytes"] < grows["path_queue_bytes"]


STUDIES = ("bottleneck", "single", "delayed", "four", "rrul", "window", "media")
