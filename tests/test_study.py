"""Studies: what they vary is what was published."""

from __future__ import annotations

import json

import pytest

from quiclab.errors import RequestError
from quiclab.evaluate import jobs_of, read_published
from quiclab.registry import find, find_all, studies

NAME = "dual_connectivity/share"


def test_names_are_the_agreed_ones() -> None:
    assert list(studies()) == ["dual_connectivity/batch_size", "dual_connectivity/share"]
    assert [study.name for study in find_all("dual_connectivity")] == list(studies())
    with pytest.raises(RequestError, match="is a group"):
        find("dual_connectivity")
    with pytest.raises(RequestError, match="there is no study `dual`; there are dual_connectivity/batch_size"):
        find_all("dual")


@pytest.mark.parametrize("name", ["dual_connectivity/batch_size", "dual_connectivity/share"])
def test_the_grid_is_that_of_the_published_table(name: str) -> None:
    study = find(name)
    available = {configuration.name for configuration in study.configurations}
    published = {row.key for row in read_published(study) if row.key[0] in available}
    points = [point for point in study.points((study.default_engine,)) if point.variant == ""]
    assert {(point.configuration, *point.values.values()) for point in points} == published
    assert len(points) == len(published)
    assert {point.runs for point in points} == {10}
    assert {int(row.cells["n_runs"]) for row in read_published(study)} == {10}


def test_scenarios_are_the_published_default_point() -> None:
    study = find("dual_connectivity/batch_size")
    points = list(study.points(("quinn",), only={"batch": ("2",), "variant": ("",)}))
    jobs = jobs_of(study, points)
    assert [job.seed for job in jobs] == [*range(1, 11)] * 2
    for job, buffer in ((jobs[0], 212_992), (jobs[10], 33_554_432)):
        tree = json.loads(job.scenario)
        assert tree["bearers"]["dc"]["batch_packets"] == 2
        size, unit = tree["hosts"]["client"]["receive_buffer"].split()
        assert round(float(size) * {"B": 1, "kB": 1000, "KiB": 1024, "MiB": 1024**2}[unit]) == buffer
        assert tree["hosts"]["client"]["receive_datagram"] == "35 us"
        flow = tree["flows"]["dc"]
        assert flow["stack"] == "quinn"  # resolved: a stack that both ends have is written once
        assert flow["receiver"]["host"] == "client"
        assert flow["sender"]["congestion_control"] == "newreno"
        for link in ("down1", "down2"):
            assert tree["links"][link]["rate"] == "20 Mbit/s"
            assert tree["links"][link]["queue"] == {"kind": "drop_tail", "packets": 100}
            assert tree["links"][link]["delay"]["deviation"] == "1 ms"
    assert jobs[0].replay.startswith("quiclab run scenarios/dual_connectivity.toml --set ")
    assert "--set bearers.dc.batch_packets=2" in jobs[0].replay
    assert "--set 'hosts.client.receive_buffer=212992 B'" in jobs[0].replay
    assert jobs[3].replay.endswith("--seed 4")


def test_variants_change_the_cost_of_a_datagram_only() -> None:
    study = find(NAME)
    points = list(study.points(("quinn",), 10, {"share": ("50",), "configuration": ("quic_large_buffer",)}))
    scenarios = {job.labels["variant"]: json.loads(job.scenario) for job in jobs_of(study, points)}
    assert set(scenarios) == {"", "slow_receiver", "free_receiver"}
    costs = {name: tree["hosts"]["client"].pop("receive_datagram") for name, tree in scenarios.items()}
    assert costs == {"": "35 us", "slow_receiver": "300 us", "free_receiver": "0 ns"}
    assert scenarios[""] == scenarios["slow_receiver"] == scenarios["free_receiver"]


def test_engines_and_only() -> None:
    study = find(NAME)
    assert study.chosen_engines("default") == ("quinn",)
    assert study.chosen_engines("all") == ("quinn", "noq", "aioquic")
    assert study.chosen_engines("noq,quinn") == ("quinn", "noq")
    with pytest.raises(RequestError, match="has no engine `linux`"):
        study.chosen_engines("linux")
    slow = list(study.points(("aioquic",), 10))
    assert {point.runs for point in slow} == {3}
    assert {point.variant for point in slow} == {""}
    with pytest.raises(RequestError, match="has no `loss` to choose by"):
        list(study.points(("quinn",), only={"loss": ("0",)}))
    with pytest.raises(RequestError, match=r"no setting of .* has"):
        list(study.points(("quinn",), only={"share": ("55",)}))
