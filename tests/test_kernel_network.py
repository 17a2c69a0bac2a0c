"""Calibration of networks: what is wanted of a scenario, and verdicts on figures of probes; nothing is sent."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from quiclab.errors import QuiclabError
from quiclab.experiment.networks import check_networks
from quiclab.experiment.sweeps import Plan
from quiclab.lane.calibration import network
from quiclab.lane.calibration.network import Check, burst, goodput, networks, queue, rate, round_trip, route, verdict
from quiclab.lane.run import Lane
from quiclab.scenario import load


@pytest.fixture
def lanes(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the one network of scenarios/lanes.toml."""
    found = networks(load(request.config.rootpath / "scenarios" / "lanes.toml").to_dict())
    [(name, of)] = found.values()
    assert name == "main"
    return of


def test_a_route_is_its_slowest_link_and_all_delays(lanes: dict[str, Any]) -> None:
    down, up = route(lanes, "down"), route(lanes, "up")
    assert (down.rate_bps, down.overhead_bytes, down.queue_packets) == (20e6, 14, 60)
    assert [down.delay_s, up.delay_s] == pytest.approx([0.02, 0.02])
    assert up.rate_bps is None
    # 1200 B of payload in 1242 B on the wire
    assert down.payload_bps(1200, 1228) == pytest.approx(20e6 * 1200 / 1242)


def test_a_burst_is_faster_than_the_link_and_fills_its_queue(lanes: dict[str, Any]) -> None:
    down = route(lanes, "down")
    workload = burst(down)
    payload = 20e6 * 1200 / 1242
    assert workload["rate"] == f"{round(1.5 * payload)} bit/s"
    excess = 0.5 * payload / 9600 * float(workload["duration"].split()[0]) / 1e3
    assert down.queue_packets is not None
    assert excess > down.queue_packets


def test_figures_of_the_wanted_network(lanes: dict[str, Any]) -> None:
    down, up = route(lanes, "down"), route(lanes, "up")
    checks = [
        round_trip("main", down, up, {"rtt_min_ms": 40.4}),
        rate("main", "down", down, {"rate_mbps": 19.3}),
        queue("main", "down", down, {"queue_packets": 61}),
        goodput("main", down, 18.2),
    ]
    assert [check.ok for check in checks] == [True] * 4
    assert verdict(checks) is None


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (lambda down, up: round_trip("main", down, up, {"rtt_min_ms": 45.0}), "is 45 ms instead of 40.0"),
        (lambda down, up: round_trip("main", down, up, {}), "no echo was received"),
        (lambda down, _: rate("main", "down", down, {"rate_mbps": 25.0}), "is 25 Mbit/s instead of 19.32"),
        (lambda down, _: queue("main", "down", down, {"queue_packets": 120}), "is 120 packets instead of 60"),
        (lambda down, _: queue("main", "down", down, {}), "nothing was dropped"),
        (lambda down, _: goodput("main", down, 9.0), "is 9 Mbit/s instead of 19.13"),
    ],
)
def test_other_networks(lanes: dict[str, Any], figure: Any, message: str) -> None:
    check = figure(route(lanes, "down"), route(lanes, "up"))
    assert check.ok is False
    assert message in str(verdict([check]))


def test_unmeasurable_values_have_a_message(lanes: dict[str, Any]) -> None:
    link = lanes["links"]["bottleneck"]
    link["loss"] = {"kind": "independent", "probability": "1 %"}
    assert queue("main", "down", route(lanes, "down"), {"queue_packets": 5}).ok is None
    # loss makes TCP slower, never faster
    assert goodput("main", route(lanes, "down"), 3.0).ok is True
    assert goodput("main", route(lanes, "down"), 30.0).ok is False
    link["rate"] = {"kind": "trace", "file": "a.csv", "format": "csv", "at_end": "loop"}
    traced = route(lanes, "down")
    assert traced.rate_bps is None
    assert "follows a trace" in traced.notes[0]


def test_a_bearer_has_the_rate_of_its_links(request: pytest.FixtureRequest) -> None:
    found = networks(load(request.config.rootpath / "scenarios" / "dual_connectivity.toml").to_dict())
    [(_, of)] = found.values()
    down = route(of, "down")
    links = [of["links"][name]["rate"] for name in of["bearers"]["dc"]["links"]]
    assert down.rate_bps == sum(float(text.split()[0]) * 1e6 for text in links)
    assert any("through the bearer `dc`" in note for note in down.notes)


def test_a_sweep_measures_each_network_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    file = request.config.rootpath / "scenarios" / "lanes.toml"
    measured = []

    def calibrate(scenario: Any, *_: Any) -> list[Check]:
        measured.append(scenario.to_dict()["links"]["far"]["delay"]["mean"])
        return [Check("main", "rate down", "Mbit/s", 20.0, 10.0, measured[-1] == "20 ms")]

    monkeypatch.setattr(network, "calibrate", calibrate)

    text, varied = file.read_text(), ("links.far.delay=20 ms,50 ms",)
    plan = Plan(file=file, text=text, sets=(("flows.main.stack", "linux"),), varied=varied, lane=Lane())
    check_networks(plan, [0, 0], StringIO())
    assert measured == ["20 ms"]
    check_networks(replace(plan, lane=Lane("virtual")), [1], StringIO())
    assert measured == ["20 ms"]
    with pytest.raises(QuiclabError, match="does not match the scenario: rate down of flow `main` is 10"):
        check_networks(plan, [0, 1], StringIO())
