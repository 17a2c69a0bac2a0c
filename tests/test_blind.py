"""Random scenarios: drawn from a seed alone, valid in both lanes, and evaluated with the seed that was run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import quiclab_process, tool
from quiclab.lane.run import Lane
from quiclab.report.figures.agreement import chart
from quiclab.result.stats import summarise
from quiclab.scenario import Scenario
from quiclab.scenario.quantity import nanoseconds
from quiclab.study import BASE
from quiclab.study.claims import Judgement
from quiclab.study.criteria import Criterion, Outcome
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.manifest import read_manifest, write_manifest
from quiclab.study.multiverse import multiverse
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.validation import aqm, blind
from quiclab_studies.validation.aqm_cells import CELLS
from quiclab_studies.validation.blind_cases import CASES, PACKETS, RATE_MBPS, RTT_MS, SECONDS, draw_case
from quiclab_studies.validation.blind_views import PAIRS, quantile


def test_a_case_depends_on_seed_and_number_alone() -> None:
    assert draw_case(3, 7) == draw_case(3, 7)
    cases = [draw_case(3, number) for number in range(1, CASES + 1)] + [draw_case(4, 7)]
    assert len({str(case) for case in cases}) == CASES + 1


@pytest.mark.parametrize("seed", [1, 2])
def test_cases_are_valid_scenarios_in_both_lanes(seed: int) -> None:
    study = find("validation/blind").with_seed(seed)
    jobs = Plan(study, list(study.points((blind.MODEL, blind.KERNEL), 1, variants=()))).first_runs()
    assert len({job.scenario for job in jobs}) == 2 * CASES
    assert {job.recipe.lane for job in jobs} == {None, Lane(clock="virtual")}
    stacks = Lane(clock="virtual").stacks()
    for job in jobs[CASES :: CASES // 10]:
        assert "lab-tcp" not in Scenario.from_dict(json.loads(job.scenario)).resolved_json(stacks)


@pytest.mark.parametrize(("name", "case"), [("validation/blind", 155), ("validation/blind_quic", 7)])
def test_all_flows_of_a_case_start_later(name: str, case: int) -> None:
    study = find(name).with_seed(13)
    model = study.design.default_engine
    only = {"case": (str(case),), "configuration": (study.design.configurations[0].name,)}
    points = study.points((model,), 1, only, ("start_300us",))
    first, later = (json.loads(job.scenario) for job in Plan(study, list(points)).first_runs())
    starts = [{name: nanoseconds(flow["start"]) for name, flow in it["flows"].items()} for it in (first, later)]
    assert starts[1] == {name: start + 300_000 for name, start in starts[0].items()}
    for scenario in (first, later):
        for flow in scenario["flows"].values():
            del flow["start"]
    assert first == later


def test_draws_cover_their_ranges() -> None:
    cases = [draw_case(1, number) for number in range(1, CASES + 1)]
    for values, (least, most) in (
        ([case.rate_mbps for case in cases], RATE_MBPS),
        ([case.rtt_ms for case in cases], RTT_MS),
    ):
        assert least <= min(values) < 2 * least
        assert most / 2 < max(values) <= most
    assert all(5 <= case.seconds <= SECONDS[1] for case in cases)
    # 1514 B a packet
    assert all(case.rate_mbps * case.seconds / (1514 * 8e-6) <= 1.01 * PACKETS for case in cases)
    for share in (
        sum(case.bearer is not None for case in cases),
        sum(case.loss is not None for case in cases),
        sum(len(case.flows) > 1 for case in cases),
    ):
        assert CASES / 10 < share < CASES * 0.6


def test_results_are_evaluated_with_the_seed_that_was_run(tmp_path: Path) -> None:
    options = ["study", "run", "validation/blind", "--runs", "1", "--only", "case=5", "--only", "engine=lab-tcp"]
    done = quiclab_process(*options, "--seed", "9", "--jobs", "1", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    evaluation = Evaluation(find("validation/blind"), tmp_path)
    assert evaluation.study.design.seed == 9
    [goodput] = evaluation.samples(blind.MODEL)["tcp", 5]
    assert 0 < goodput < draw_case(9, 5).rate_mbps
    # another seed has other runs
    done = quiclab_process(*options, "--seed", "10", "--jobs", "1", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert Evaluation(find("validation/blind"), tmp_path).study.design.seed == 10


def test_a_seed_that_is_none_is_refused(tmp_path: Path) -> None:
    done = quiclab_process("study", "run", "validation/blind", "--seed", "-1", "--out", tmp_path)
    assert done.returncode == 2
    assert "--seed" in done.stderr


def test_a_share_of_the_settings_may_miss() -> None:
    keys: list[Key] = [("tcp", number) for number in range(1, 21)]
    criterion = Criterion("X", "", dict.fromkeys(keys, 1.0), dict.fromkeys(keys, 0.05), share=0.95)
    samples: dict[Key, list[float]] = {key: [1.01] for key in keys}
    assert criterion.assess({**samples, keys[0]: [2.0]}).outcome is Outcome.PASSED
    assert criterion.assess({**samples, keys[0]: [2.0], keys[1]: [0.5]}).outcome is Outcome.MISS
    assert criterion.assess({**samples, keys[0]: [math.nan]}).outcome is Outcome.NOT_RUN


def test_quantiles_are_hand_computed() -> None:
    values = [-4.0, 1.0, 2.0, 3.0]
    assert [quantile(values, share) for share in (0.25, 0.5, 0.75, 1.0)] == [1.0, 2.0, 3.0, 4.0]
    assert blind.VIEWS.apart({("tcp", 1): 11.0, ("tcp", 2): 5.0}, {("tcp", 1): 10.0}, "goodput_mbps") == {
        ("tcp", 1): pytest.approx(10.0)
    }


def test_settings_that_scatter_are_those_with_a_wide_range_in_either_engine() -> None:
    further = tool("further_runs")
    values = {
        blind.MODEL: {("tcp", 1): [10.0, 10.3], ("tcp", 2): [10.0, 10.0], ("tcp", 3): [0.0, 0.0]},
        blind.KERNEL: {("tcp", 1): [10.0, 10.0], ("tcp", 2): [10.0, 10.5]},
    }
    evaluation = SimpleNamespace(study=find("validation/blind"), samples=lambda engine: values[engine])
    assert further.scattered(evaluation, 0.04) == {("tcp", 2)}
    assert further.settings_of(evaluation, {("tcp", 2), ("tcp", 3)}, 8) == {
        (blind.MODEL, "tcp", (2,)): 8,
        (blind.MODEL, "tcp", (3,)): 8,
        (blind.KERNEL, "tcp", (2,)): 8,
    }


def test_starts_are_run_for_the_cases_with_the_largest_differences(tmp_path: Path) -> None:
    further = tool("further_runs")
    study = find("validation/blind").with_seed(13)
    runs: dict[str, dict[Key, list[float]]] = {
        blind.MODEL: {("tcp", 4): [1.0], ("tcp", 9): [2.0]},
        blind.KERNEL: {("tcp", 4): [1.0], ("tcp", 9): [1.0]},
    }

    def samples(engine: str, variant: str = "", metric: str = "") -> dict[Key, list[float]]:
        assert not variant
        return runs[engine] if metric in ("", "goodput_mbps") else {}

    evaluation = SimpleNamespace(study=study, samples=samples, directory=tmp_path)
    points = further.later_points(evaluation, 2)
    assert {(point.values["case"], point.variant) for point in points} == {
        (case, f"start_{start}us") for case in (4, 9) for start in (50, 500)
    }
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert manifest.variants == ("start_50us", "start_500us")


def test_the_kernel_has_later_starts_where_the_models_own_range_exceeds_a_limit(tmp_path: Path) -> None:
    further, study = tool("further_runs"), find("validation/aqm")
    keys: list[Key] = [("tcp", cell.name) for cell in CELLS]
    wide, narrow, late, *_ = keys
    values: dict[tuple[str, str], dict[Key, list[float]]] = {
        ("", "sojourn_ms"): {wide: [10.0, 10.4], narrow: [10.0, 10.4], late: [10.0, 10.0]},
        ("start_200us", "sojourn_ms"): {wide: [11.2], narrow: [10.9]},
        ("serialised", "sojourn_ms"): {narrow: [20.0]},
        ("", "signals"): {late: [100.0, 111.0]},
    }

    def samples(engine: str, variant: str = "", metric: str = "") -> dict[Key, list[float]]:
        return {key: [1.0] for key in keys} if engine == aqm.KERNEL else values.get((variant, metric), {})

    evaluation = SimpleNamespace(study=study, samples=samples, directory=tmp_path)
    assert further.uncertain(evaluation) == {wide, late}
    write_manifest(study, tmp_path, 1, partial=False, variants=("start_200us", "start_800us", "serialised"))
    points = further.kernel_points(evaluation)
    assert {(point.engine, point.variant, point.values["cell"], point.runs) for point in points} == {
        (aqm.KERNEL, start, key[1], 1) for key in (wide, late) for start in ("start_200us", "start_800us")
    }


def test_starts_are_no_interpretations() -> None:
    study = find("validation/blind")
    judged = []

    def judgements(engine: str, variant: str) -> list[Judgement]:
        judged.append((engine, variant))
        return []

    evaluation = SimpleNamespace(study=study, samples=lambda *_: {("tcp", 1): [1.0]}, judgements=judgements)
    assert multiverse(evaluation) == []  # type: ignore[arg-type]
    assert judged == [(blind.MODEL, BASE)]


def test_intervals_that_reach_zero_are_cut_on_a_logarithmic_axis() -> None:
    study = find("validation/blind")
    goodputs: dict[Key, list[float]] = {("tcp", 1): [0.5, 1.5], ("tcp", 2): [100.0, 100.0]}
    found = {key: summarise(values) for key, values in goodputs.items()}
    evaluation = SimpleNamespace(
        study=study,
        reference=lambda _: [SimpleNamespace(key=key, summary=summary) for key, summary in found.items()],
        summaries=lambda *_, **__: found,
    )
    figure = next(one for one in study.presentation.figures if one.criterion == "VB-1")
    drawn = chart(evaluation, figure, blind.MODEL).to_dict()  # type: ignore[arg-type]
    rows = [row for values in drawn["datasets"].values() for row in values if "low" in row]
    assert {(row["setting"], row["low"]) for row in rows} == {("TCP, 1", 1 / 1.5), ("TCP, 2", 100.0)}
    assert {row["setting"]: row["high"] for row in rows} == pytest.approx(
        {"TCP, 1": 1 + 12.706 * 0.5, "TCP, 2": 100.0}, 1e-3
    )
    scales = [layer["encoding"]["x"]["scale"] for layer in drawn["layer"] if "x" in layer.get("encoding", {})]
    assert all(scale == {"type": "log", "domain": [1 / 1.5, 150.0], "nice": False} for scale in scales)
    assert scales


def test_two_runs_of_the_kernel_are_dashed() -> None:
    runs: dict[str, dict[Key, list[float]]] = {
        engine: {("tcp", 1): [1.0, 1.1]} for engine in (blind.MODEL, blind.KERNEL)
    }
    drawn = blind.VIEWS.curves(
        SimpleNamespace(samples=lambda engine, **_: runs[engine]),
        blind.MODEL,
    ).to_dict()
    scale = drawn["encoding"]["strokeDash"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {PAIRS[0]: [1, 0], PAIRS[1]: [4, 2]}
