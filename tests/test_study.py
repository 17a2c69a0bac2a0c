"""Studies: what they vary is what was published."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.cli.study_group import for_each, with_keys, with_lane
from quiclab.errors import QuiclabError, RequestError, StoppedError
from quiclab.experiment.plan import Task
from quiclab.experiment.runs import Runs
from quiclab.result import FlowResult, RunResult
from quiclab.result.metrics import Statistics
from quiclab.scenario import load
from quiclab.study import Study, registry
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import Plan
from quiclab.study.published import number, read_published
from quiclab.study.registry import find, find_all, studies
from quiclab_studies.page_load.bulk import RATE_MBPS

NAME = "dual_connectivity/share"
PUBLISHED = (
    "batch_size",
    *("bandwidth_ratio", "bandwidth_ratio_matched", "delay_ratio_low", "delay_ratio_high", "loss", "loss_duplicated"),
    *("fairness_batch_size", "fairness_share", "fairness_bandwidth_ratio", "fairness_bandwidth_ratio_matched"),
    *("fairness_delay_ratio_low", "fairness_delay_ratio_high", "fairness_loss", "fairness_loss_duplicated"),
)


def test_names_are_the_agreed_ones() -> None:
    alone = (
        "file_size",
        "batch_size",
        "share",
        "bandwidth_ratio",
        "bandwidth_ratio_matched",
        "delay_ratio_low",
        "delay_ratio_high",
        "loss",
        "loss_duplicated",
    )
    parts = (
        *("pdcp", "proxy", "reordering", "utilisation"),
        *alone,
        *("fairness_default", *(f"fairness_{name}" for name in alone[1:])),
        *(
            "pairs",
            "pacer_off",
            "pacer_high_delay",
            "better_link",
            "ngtcp2_default",
            *(f"ngtcp2_{name}" for name in alone),
        ),
        *(f"ngtcp2_fairness_{name}" for name in alone[1:]),
        *(f"lte_{name}" for name in ("batch_size", "share", "delay_ratio_low", "delay_ratio_high")),
        *("lte_loss", "lte_loss_duplicated", "fixed_window"),
        *(f"beyond_{name}" for name in ("splitters", "fairness", "timer", "duplication", "multipath", "bbr")),
    )
    dual_connectivity = [f"dual_connectivity/{name}" for name in parts]
    linux_tcp = [f"validation/linux_tcp/{part}" for part in ("bulk", "short", "pairs", "dual_connectivity")]
    lab_quic = [f"validation/lab_quic/{part}" for part in ("quinn", "aioquic", "aioquic_dual_connectivity")]
    published = ("bottleneck", "single", "delayed", "four", "rrul", "window", "media")
    tunnel = [f"tunnel/{part}" for part in (*published, "beyond_delay", "beyond_rate", "beyond_loss")]
    pacing = [f"pacing/{part}" for part in ("utilisation", "intervals", "acks", "clusters", "kernel")]
    exchanged = ("pacers", "pacers_tcp", "fairness", "bursts", "ack_frequency", "flows", "changing")
    pacing += ["pacing/matrix", "pacing/matrix_libraries"]
    pacing += [f"pacing/beyond_{part}" for part in (*exchanged, "dual_connectivity")]
    page_load = [
        f"page_load/{part}" for part in ("sizes", "counts", "fairness", "hystart", "loss_window", "reordering")
    ]
    agreed = [
        *dual_connectivity,
        *pacing,
        *page_load,
        *tunnel,
        "validation/answers",
        "validation/aqm",
        "validation/blind",
        "validation/blind_quic",
        *lab_quic,
        "validation/lanes",
        *linux_tcp,
        "validation/loss_detection",
        "validation/profiles",
        "validation/regressions",
    ]
    groups = {name.split("/")[0] for name in agreed}
    assert [name for name in studies() if name.split("/")[0] in groups] == agreed
    assert [study.name for study in find_all("dual_connectivity")] == dual_connectivity
    with pytest.raises(RequestError, match="got the group"):
        find("dual_connectivity")
    with pytest.raises(RequestError, match="unknown study `dual`; `quiclab study list` lists all"):
        find_all("dual")


def test_a_group_is_found_without_loading_the_others() -> None:
    every = studies()
    for group in {name.split("/")[0] for name in every}:
        assert [study.name for study in find_all(group)] == [name for name in every if name.startswith(f"{group}/")]
    likely = [source.prefix for source in registry.sources() if source.may_have("dual_connectivity/share")]
    assert likely == ["dual_connectivity"]
    assert not any(source.may_have("dual") for source in registry.sources())
    assert [source.prefix for source in registry.sources() if source.may_have("validation/linux_tcp")] == [
        "validation/linux_tcp"
    ]


def test_a_wrong_trace_where_the_published_one_belongs_leaves_the_studies_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    file = tmp_path / "quiclab" / "traces" / "lte.csv"
    file.parent.mkdir(parents=True)
    file.write_text("nothing\n")
    script = (
        "from quiclab.study.registry import find\n"
        "study = find('dual_connectivity/lte_loss')\n"
        "print(study.presentation.title, study.presentation.abstract, study.measures.claims[0].reason, sep='\\n')"
    )
    # a process of its own: the trace is looked up when the study is loaded
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    title, abstract, reason = done.stdout.splitlines()
    assert "synthetic" in title
    assert f"cannot be used: {file}, line 1" in abstract
    assert f"cannot be used: {file}, line 1" in reason


@pytest.mark.parametrize("name", [f"dual_connectivity/{name}" for name in (*PUBLISHED, "share")])
def test_the_grid_is_that_of_the_published_table(name: str) -> None:
    study = find(name)
    available = {configuration.name for configuration in study.design.configurations}
    published = {row.key for row in read_published(study) if row.key[0] in available}
    points = [point for point in study.points((study.design.default_engine,)) if point.variant == ""]
    assert {(point.configuration, *point.values.values()) for point in points} == published
    assert len(points) == len(published)
    assert {point.runs for point in points} == {10}
    assert {int(row.cells["n_runs"]) for row in read_published(study)} == {10}


def test_scenarios_are_the_published_default_point() -> None:
    study = find("dual_connectivity/batch_size")
    points = list(study.points(("quinn",), only={"batch": ("2",), "variant": ("",)}))
    plan = Plan(study, points)
    assert Runs.of(plan).seeds.tolist() == [*range(1, 11)] * 3
    jobs = plan.first_runs()
    for job, buffer in ((jobs[0], 212_992), (jobs[1], 33_554_432)):
        tree = json.loads(job.scenario)
        assert tree["bearers"]["dc"]["batch_packets"] == 2
        size, unit = tree["hosts"]["client"]["receive_buffer"].split()
        assert float(size) * {"B": 1, "KiB": 1024, "MiB": 1024**2}[unit] == buffer
        assert tree["hosts"]["client"]["receive_datagram"] == "100 us"
        assert tree["hosts"]["client"]["memory_return"] == "in_quarters"
        assert tree["links"]["proxies"]["delay"]["mean"] == "2 ms"
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
    assert 'receive_buffer = "212992 B"' in jobs[0].replay
    tcp = json.loads(jobs[2].scenario)["flows"]["dc"]
    assert (tcp["stack"], tcp["sender"]["profile"], tcp["receiver"]["profile"]) == (
        "lab-tcp",
        "linux-5.3",
        "linux-4.15",
    )
    assert tcp["sender"]["tcp"]["mss"] == tcp["receiver"]["tcp"]["mss"] == "1280 B"
    assert tcp["sender"]["tls"]["version"] == "1.3"
    assert (tcp["workload"]["kind"], tcp["workload"]["html"]) == ("page", "100 MB")
    assert plan.replay_of(Task(0, 4)).endswith("--seed 4")


def test_variants_change_only_their_fields() -> None:
    study = find(NAME)
    only = {"share": ("50",), "configuration": ("quic_large_buffer",)}
    points = list(study.points(("lab-quic",), 10, only))
    scenarios = {job.point.labels["variant"]: json.loads(job.scenario) for job in Plan(study, points).first_runs()}
    assert set(scenarios) == {"", *(variant.name for variant in study.design.variants)}
    costs = {name: tree["hosts"]["client"].pop("receive_datagram") for name, tree in scenarios.items()}
    assert {name: cost for name, cost in costs.items() if cost != "100 us"} == {
        "slow_receiver": "300 us",
        "fast_receiver": "35 us",
    }
    assert scenarios[""] == scenarios["slow_receiver"] == scenarios["fast_receiver"]
    constant = scenarios["no_jitter"]["links"]
    assert all(constant[link]["delay"]["distribution"] == "constant" for link in ("down1", "down2", "up1"))
    # readings of the QUIC client's host leave TCP as it is, and are not run twice
    tcp = list(study.points(("lab-quic",), 1, {**only, "configuration": ("tcp",)}))
    plan = Plan(study, tcp)
    identities = {point.variant: plan.identity(index) for index, point in enumerate(tcp)}
    assert identities["slow_receiver"] == identities["memory_at_once"] == identities[""]
    assert identities["no_jitter"] != identities[""]


def test_parts_of_one_run_are_one_run() -> None:
    study = find("dual_connectivity/fairness_share")
    points = list(study.points(("lab-quic",), 2, {"share": ("50",)}, ()))
    assert [point.values["flow"] for point in points] == ["dc", "sc1", "sc2"]
    plan = Plan(study, points)
    runs = Runs.of(plan)
    assert (len(runs), runs.is_first.sum()) == (6, 2)
    tree = json.loads(plan.scenario(0))
    assert {name: flow["down"] for name, flow in tree["flows"].items()} == {
        name: ["proxies", name] for name in ("dc", "sc1", "sc2")
    }
    assert tree["bearers"]["sc1"]["links"] == ["down1"]
    assert tree["bearers"]["sc2"]["links"] == ["down2"]
    assert (tree["duration"], tree["until"]) == ("3 min", "duration_over")


def test_all_parts_of_a_setting_are_measured_in_the_same_runs() -> None:
    names, repetitions = [], 3
    for study in map(find, studies()):
        points = list(study.points((study.design.default_engine,), repetitions, variants=()))
        seeds: dict[tuple[object, ...], set[int]] = {}
        for point in points:
            swept = (point.configuration, *(point.values[factor.column] for factor in study.design.swept))
            seeds.setdefault(swept, set()).add(study.design.first_seed(point))
        assert {len(found) for found in seeds.values()} == {1}, study.name
        if study.design.parts:
            names.append(study.name)
            runs = Runs.of(Plan(study, points))
            assert (different := runs.is_first.sum()) == len(seeds) * repetitions, study.name
            assert len(runs) == different * math.prod(len(part.values) for part in study.design.parts)
    assert {"page_load/fairness", "pacing/clusters", "tunnel/bottleneck"} <= set(names)


def test_the_flows_of_a_run_have_no_more_than_the_link(tmp_path: Path) -> None:
    """The rate is that of a capture behind the link, so that what was queued before the start adds nothing."""
    assert cli.invoke(["study", "run", "page_load/fairness", "--runs", "2", "--out", str(tmp_path)]) == 0
    evaluation = Evaluation(find("page_load/fairness"), tmp_path)
    totals: dict[tuple[object, int], float] = {}
    for key, values in evaluation.by_seed(evaluation.study.design.default_engine).items():
        for seed, value in values.items():
            if not math.isnan(value):
                totals[key[0], seed] = totals.get((key[0], seed), 0.0) + value
    assert len(totals) == 2 * len(evaluation.study.design.configurations)
    # 60 s at the rate of the link; nothing is delivered that the link did not carry
    assert all(0.8 * RATE_MBPS < total <= RATE_MBPS for total in totals.values())


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_columns_of_a_setting_are_those_of_its_published_row(name: str) -> None:
    study = find(f"dual_connectivity/{name}")
    published = {row.key: row.cells for row in read_published(study)}
    compared = 0
    for job in Plan(study, list(study.points(("lab-quic",), 1, None, ()))).first_runs():
        key = job.point.key
        assert study.presentation.describe is not None
        described = study.presentation.describe(
            json.loads(job.scenario), dict(zip(study.design.columns, key, strict=True))
        )
        for column, cell in published.get(key, {}).items():
            # the receiver of TCP starts with the buffer of Linux 4.15, not with that of 4.20 and later
            if (key[0], column) == ("tcp", "recv_buffer_default_bytes"):
                assert (number_of(cell), described[column]) == (131_072, 87_380)
            elif column in described and column not in ("cc", "flow_links"):
                compared += 1
                assert number_of(cell) == pytest.approx(described[column], abs=tolerance(described[column], cell)), (
                    key,
                    column,
                )
    assert compared > 10


def number_of(cell: str) -> object:
    return {"true": True, "false": False, "": None}.get(cell, number(cell))


def tolerance(value: object, cell: str) -> float:
    """Return how far the cell of a number that is not whole may be: Table 5.11 has 5.6 where Table 5.6 has 5.7."""
    return 1.5 * 10.0 ** -len(cell.partition(".")[2]) if isinstance(value, float) else 0.0


@pytest.mark.parametrize("name", ["page_load/fairness", "tunnel/single"])
def test_a_setting_that_removes_entries_is_replayed_by_its_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    study = find(name)
    job = Plan(study, list(study.points(study.chosen_engines("default"), 1, {}, ()))[:1]).first_runs()[0]
    file, *words = shlex.split(job.replay.removeprefix("quiclab run "))
    sets = [word.partition("=") for flag, word in pairwise(words) if flag == "--set"]
    scenario = load(file, [(path, value) for path, _, value in sets])
    assert json.loads(scenario.resolved_json()) == json.loads(job.scenario)


def test_throughput_is_delivered_bytes_over_time() -> None:
    flow = FlowResult(0.0, 4.0, True, False, None, 10_000_000, 4.0, 20.0, Statistics(), Statistics())
    measure = find(NAME).measures.metric.measure
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
        raise StoppedError("stopped: 1 of 2 runs", 2)

    with pytest.raises(StoppedError):
        for_each(group("a", "b"), action)
    assert seen == ["group/a"]


def test_studies_of_a_group_without_the_key_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    every = find_all("dual_connectivity")
    chosen = ["share", "fairness_share", "ngtcp2_share", "ngtcp2_fairness_share", "lte_share"]
    found = [study.name for study in with_keys(every, {"share": ("50",)})]
    assert found == [f"dual_connectivity/{name}" for name in chosen]
    assert "dual_connectivity/batch_size: skipped, has no share" in capsys.readouterr().err
    assert with_keys(every, {"moon": ("1",)}) == every  # each of them says what it has
    assert with_keys(every, {"variant": ("",)}) == every


def test_engines_and_only() -> None:
    study = find(NAME)
    assert study.chosen_engines("default") == ("lab-quic",)
    assert study.chosen_engines("all") == ("lab-quic", "quinn", "noq", "aioquic")
    assert study.chosen_variants("none") == ()
    assert "no_jitter" in study.chosen_variants("all")
    assert study.chosen_variants("no_jitter,queue_81") == ("no_jitter", "queue_81")
    with pytest.raises(RequestError, match="unknown variant `moon`; expected `slow_receiver`"):
        study.chosen_variants("moon")
    assert study.chosen_engines("noq,quinn") == ("quinn", "noq")
    with pytest.raises(RequestError, match="unknown engine `linux`"):
        study.chosen_engines("linux")
    slow = list(study.points(("aioquic",), 10))
    assert {point.runs for point in slow} == {3}
    assert {point.variant for point in slow} == {""}
    with pytest.raises(RequestError, match="unknown column `loss`"):
        list(study.points(("quinn",), only={"loss": ("0",)}))
    with pytest.raises(RequestError, match=r'--only share: expected .* got "55"'):
        list(study.points(("quinn",), only={"share": ("55",)}))


def test_a_group_skips_studies_without_an_engine_of_the_lane(capsys: pytest.CaptureFixture[str]) -> None:
    pacing = find_all("pacing")
    there = with_lane(pacing, "sim")
    assert {study.name for study in pacing} - {study.name for study in there} == {"pacing/kernel"}
    assert capsys.readouterr().err == "skipped, without an engine of lane sim: pacing/kernel\n"
    assert with_lane(pacing, None) == pacing
    # alone it is an error, with the engines that there are
    assert with_lane([find("pacing/kernel")], "sim") == [find("pacing/kernel")]
