"""Metrics: every number of a result has a definition, and totals of several connections add up."""

from __future__ import annotations

import re

import jsonschema
import pytest

import quiclab
from conftest import ROOT
from quiclab.metrics import Statistics, metrics, result_schema
from quiclab.native import extension
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
}


def pattern(in_series: bool) -> re.Pattern[str]:
    """Return a pattern of all names at the end of a run, or in time series."""
    known = [
        re.escape(name).replace("<k>", r"\d+")
        for metric in metrics()
        if (metric.in_series if in_series else metric.at_end)
        for name in metric.names
    ]
    return re.compile("|".join(known))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_number_of_a_result_has_a_definition(name: str) -> None:
    scenario = load(ROOT / "scenarios" / f"{name}.toml").with_values(
        {"duration": SCENARIOS[name], "record.series_interval": "500 ms"}
    )
    result = quiclab.run(scenario)
    at_end = {name for element in result.elements.values() for name in element["statistics"]}
    at_end |= {name for flow in result.flows.values() for end in (flow.sender, flow.receiver) for name in end}
    assert at_end
    assert {name for name in at_end if not pattern(False).fullmatch(name)} == set()
    in_series = set(result.series["metric"].cast(str))
    assert in_series
    assert {name for name in in_series if not pattern(True).fullmatch(name)} == set()
    jsonschema.validate(result.data, result_schema())


@pytest.mark.parametrize("stack", ["quinn", "lab-quic", "lab-tcp"])
def test_totals_of_the_connections_of_a_flow_add_up(stack: str) -> None:
    """A flow with arrivals has each total that a single connection has: none is lost."""
    text = """
        version = 1
        name = "arrivals"
        links.down = { rate = "10 Mbit/s", delay = "10 ms", loss = { kind = "independent", probability = 0.01 } }
        links.up = { delay = "10 ms" }
        [flows.web]
        stack = "lab-tcp"
        down = ["down"]
        up = ["up"]
        workload = { kind = "download", size = "100 kB" }
    """
    single = quiclab.Scenario.from_toml(text).with_value("flows.web.stack", stack)
    several = single.with_value("flows.web.arrivals", {"kind": "poisson", "interval": "50 ms", "duration": "1 s"})
    one, all_of = (quiclab.run(scenario).flows["web"] for scenario in (single, several))
    totals = {name for metric in metrics() if metric.kind == "counter" and metric.at_end for name in metric.names}
    for end in ("sender", "receiver"):
        expected = totals & set(getattr(one, end))
        assert expected
        found = getattr(all_of, end)
        assert expected - set(found) == set()
    assert all_of.sender.packets_sent > one.sender.packets_sent


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
