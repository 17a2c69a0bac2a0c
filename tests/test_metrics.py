"""Metrics: every number of a result has a definition, and totals of several connections add up."""

from __future__ import annotations

import re

import jsonschema
import pytest

import quiclab
from conftest import ROOT, undefined
from quiclab._base.native import extension
from quiclab.report.summary import run_summary
from quiclab.result.metrics import Statistics, metrics, result_schema
from quiclab.scenario import load

#: Scenarios whose elements have metrics of their own, and a time that is enough for all of these.
SCENARIOS = {
    "dual_connectivity_flow_control": "2 s",
    "tunnel": "2 s",
    "media": "2 s",
    "live": "2 s",
    "page_load": "5 s",
    "request_response": "2 s",
    "datagrams_and_ping": "2 s",
    "cake": "2 s",
    "red": "2 s",
    "l4s": "2 s",
    "multipath_quic": "2 s",
    "policer": "2 s",
    "short_flows": "1 s",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_number_of_a_result_has_a_definition(name: str) -> None:
    scenario = load(ROOT / "scenarios" / f"{name}.toml").with_values(
        {"duration": SCENARIOS[name], "record.series_interval": "500 ms"}
    )
    result = quiclab.run(scenario)
    assert not result.series.is_empty()
    assert undefined(result) == set()
    jsonschema.validate(result.data, result_schema())


def of_flow(stack: str, start: str, **values: object) -> quiclab.Scenario:
    """Return a scenario with a download of 100 kB, without loss."""
    text = f"""
        version = 1
        name = "downloads"
        links.down = {{ rate = "10 Mbit/s", delay = "10 ms" }}
        links.up = {{ delay = "10 ms" }}
        record.series_interval = "100 ms"
        [flows.web]
        stack = "{stack}"
        start = "{start}"
        down = ["down"]
        up = ["up"]
        workload = {{ kind = "download", size = "100 kB" }}
    """
    return quiclab.Scenario.from_toml(text).with_values({f"flows.web.{name}": value for name, value in values.items()})


@pytest.mark.parametrize("stack", ["quinn", "lab-quic", "lab-tcp"])
def test_totals_of_the_connections_of_a_flow_add_up(stack: str) -> None:
    """Two connections one after the other have twice the totals of one, each of them."""
    one = quiclab.run(of_flow(stack, "0 s")).flows["web"]
    arrivals = {"kind": "regular", "interval": "2 s", "duration": "4 s"}
    several = quiclab.run(of_flow(stack, "0 s", arrivals=arrivals))
    totals = {name for metric in metrics() if metric.kind == "counter" and metric.at_end for name in metric.names}
    for end in ("sender", "receiver"):
        expected = {name: 2 * value for name, value in getattr(one, end).items() if name in totals}
        assert expected["packets_sent"] > 0
        found = getattr(several.flows["web"], end)
        assert {name: found.get(name) for name in expected} == pytest.approx(expected, rel=0.2)
    assert undefined(several) == set()


def test_the_objects_of_a_page_with_several_servers_are_counted_once() -> None:
    objects = [{"size": "10 kB", "origin": origin, "after": [0]} for origin in (0, 1, 2)]
    page = {"kind": "page", "html": "10 kB", "resources": objects}
    assert quiclab.run(of_flow("lab-quic", "0 s", workload=page)).flows["web"].receiver.objects == 3


def test_a_unit_in_a_name_is_the_unit() -> None:
    words = {"ms": "ms", "bytes": "B", "packets": "packets", "mbps": "Mbit/s", "share": "0 to 1"}
    for metric in metrics():
        for word in metric.names[0].split("_"):
            assert metric.unit if word in words else True, metric
    assert {metric.unit for metric in metrics() if "one_way_delay_ms_mean" in metric.names} == {"ms"}


def test_statistics_have_attributes() -> None:
    statistics = Statistics(lost_packets=3.0, packets_sent=10.0)
    assert (statistics.lost_packets, statistics["packets_sent"]) == (3.0, 10.0)
    assert {"lost_packets", "packets_sent"} <= set(dir(statistics))
    with pytest.raises(AttributeError, match="did you mean `lost_packets`"):
        _ = statistics.lost_packet


def test_phases_have_names_and_colours_of_the_palette() -> None:
    palette = {"blue", "orange", "green", "vermillion", "purple", "sky", "grey"}
    names, colours, meanings = zip(*extension().phases(), strict=True)
    assert len(set(names)) == len(names) == len(set(meanings))
    assert set(colours) <= palette
    c4 = {colour for name, colour, _ in extension().phases() if name.startswith("c4_")}
    assert len(c4) == 6, "phases of one control are told apart"


def test_the_summary_of_a_run_names_phases(capsys: pytest.CaptureFixture[str]) -> None:
    run_summary(quiclab.run(load(ROOT / "scenarios/tcp_download.toml")), {})
    assert re.findall(r"phase +(\w+)", capsys.readouterr().out) == ["congestion_avoidance", "slow_start"]
