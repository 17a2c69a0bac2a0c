"""Studies: what they vary is what was published."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from quiclab.cli_study import StoppedError, for_each, with_keys
from quiclab.errors import QuiclabError, RequestError
from quiclab.evaluate import jobs_of, read_published
from quiclab.registry import find, find_all, part_files, studies
from quiclab.result import FlowResult, RunResult
from quiclab.study import Study

NAME = "dual_connectivity/share"


def test_names_are_the_agreed_ones() -> None:
    dual_connectivity = ["dual_connectivity/batch_size", "dual_connectivity/share"]
    linux_tcp = [f"validation/linux_tcp/{part}" for part in ("bulk", "short", "pairs", "dual_connectivity")]
    lab_quic = [f"validation/lab_quic/{part}" for part in ("quinn", "aioquic", "aioquic_dual_connectivity")]
    assert list(studies()) == [*dual_connectivity, *linux_tcp, *lab_quic, "validation/lanes"]
    assert [study.name for study in find_all("dual_connectivity")] == dual_connectivity
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
        assert float(size) * {"B": 1, "KiB": 1024, "MiB": 1024**2}[unit] == buffer
        assert tree["hosts"]["client"]["receive_datagram"] == "35 us"
        flow = tree["flows"]["dc"]
        assert flow["stack"] == "quinn"
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


def test_parts_of_studies_are_not_left_where_others_would_import_them() -> None:
    assert studies()
    parts = part_files()
    assert [path.name for path in parts] == [
        "_dual_connectivity_claims.py",
        "_dual_connectivity_links.py",
        "_dual_connectivity_model.py",
        "_dual_connectivity_setting.py",
        "_lab_quic.py",
        "_lab_quic_aioquic.py",
        "_linux_tcp.py",
        "_linux_tcp_bulk.py",
        "_linux_tcp_metrics.py",
        "_linux_tcp_parts.py",
    ]
    assert not {path.stem for path in parts} & set(sys.modules)
    assert str(parts[0].parent) not in sys.path


def test_throughput_is_what_was_delivered_over_the_time_it_took() -> None:
    flow = FlowResult(0.0, 4.0, True, False, None, 10_000_000, 4.0, 20.0, {}, {})
    measure = find(NAME).metric.measure
    for result, expected in ((flow, 20.0), (replace(flow, completed=False, download_time_s=None), math.nan)):
        run = cast("RunResult", SimpleNamespace(flows={"dc": result}))
        assert measure(run) == pytest.approx(expected, nan_ok=True)


def group(*names: str) -> list[Study]:
    return [replace(find(NAME), name=f"group/{name}") for name in names]


def test_a_failing_study_does_not_keep_the_others_of_its_group() -> None:
    seen = []

    def action(study: Study) -> None:
        seen.append(study.name)
        if study.name.endswith("b"):
            raise RequestError("it is stale")

    with pytest.raises(QuiclabError, match=r"1 of 3 studies failed: group/b: it is stale") as error:
        for_each(group("a", "b", "c"), action)
    assert error.value.exit_code == 1
    assert seen == ["group/a", "group/b", "group/c"]
    with pytest.raises(RequestError, match=r"^it is stale$"):
        for_each(group("b"), action)
    with pytest.raises(QuiclabError, match="2 of 2 studies failed") as error:
        for_each(group("ab", "b"), action)
    assert error.value.exit_code == 2


def test_who_stops_a_group_stops_all_of_it() -> None:
    seen = []

    def action(study: Study) -> None:
        seen.append(study.name)
        raise StoppedError("stopped: 1 of 2 runs")

    with pytest.raises(StoppedError):
        for_each(group("a", "b"), action)
    assert seen == ["group/a"]


def test_studies_of_a_group_without_the_key_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    every = find_all("dual_connectivity")
    assert [study.name for study in with_keys(every, {"share": ("50",)})] == [NAME]
    assert "dual_connectivity/batch_size: left out, has no share" in capsys.readouterr().err
    assert with_keys(every, {"moon": ("1",)}) == every  # each of them says what it has
    assert with_keys(every, {"variant": ("",)}) == every


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
