"""Settings of fixed differences: valid in both lanes, compared by hand-computed numbers, and run in the sim lane."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import quiclab_process
from quiclab.lane.run import Lane
from quiclab.scenario import Scenario
from quiclab.study import Study
from quiclab.study.criteria import Outcome
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.validation import regressions
from quiclab_studies.validation.blind import KERNEL, MODEL
from quiclab_studies.validation.regressions_cells import BY_NAME, CELLS, EXPLAINING
from quiclab_studies.validation.regressions_views import BETWEEN_RUNS, HEADS, MODEL_AND_LINUX, relative

NAME = "validation/regressions"


@dataclass(frozen=True)
class Stored:
    """Runs of one setting: the values of goodput and of all other metrics, by engine."""

    runs: Mapping[str, Sequence[float]]
    study: Study = field(default_factory=lambda: find(NAME))

    def samples(self, engine: str, variant: str = "", metric: str = "") -> dict[Key, list[float]]:
        del variant
        if metric == "late_goodput_mbps":
            return {("tcp", "acks"): [math.nan] * len(self.runs[engine])}
        return {("tcp", "acks"): list(self.runs[engine])}


def test_settings_are_valid_scenarios_in_both_lanes() -> None:
    study = find(NAME)
    jobs = Plan(study, list(study.points((MODEL, KERNEL), 1, variants=()))).first_runs()
    assert len({job.scenario for job in jobs}) == 2 * len(BY_NAME)
    assert {job.recipe.lane for job in jobs} == {None, Lane(clock="virtual")}
    stacks = Lane(clock="virtual").stacks()
    for job in jobs[len(BY_NAME) :]:
        scenario = Scenario(json.loads(job.scenario), study.home / "scenarios")
        assert "lab-tcp" not in scenario.resolved_json(stacks)


def test_settings_have_the_values_of_their_descriptions() -> None:
    # bandwidth-delay product in frames of 1514 bytes: 5 Mbit/s x 20 ms are 8.3, 10 Mbit/s x 40 ms 33.0
    assert BY_NAME["short_queue"].case.queue_packets == 17
    assert BY_NAME["bbr_bursts"].case.queue_packets == 33
    # 1 / 101 of the time in bad periods, in which half of the packets are lost: 0.5 %
    loss = BY_NAME["bbr_bursts"].case.loss
    assert isinstance(loss, dict)
    bad = loss["good_to_bad"] / (loss["good_to_bad"] + loss["bad_to_good"])
    assert bad * loss["loss_in_bad"] == pytest.approx(0.005, rel=1e-3)
    assert [len(cell.case.flows) for cell in CELLS if cell.name == "late_flow"] == [2]
    assert "traces/steps.csv" in BY_NAME["rate_step"].description
    assert all(10 <= cell.case.seconds <= 30 for cell in CELLS)


def test_settings_that_explain_are_in_no_criterion() -> None:
    judged = {key[1] for item in regressions.CRITERIA for key in item.limits}
    assert judged == {cell.name for cell in CELLS}
    assert judged.isdisjoint(cell.name for cell in EXPLAINING)


def test_a_setting_without_timestamps_differs_in_nothing_else() -> None:
    study = find(NAME)
    names = ("bearer_jitter", "bearer_jitter_no_timestamps")
    points = study.points((MODEL,), 1, only={"cell": names}, variants=())
    one, other = (json.loads(job.scenario) for job in Plan(study, list(points)).first_runs())
    for end in ("sender", "receiver"):
        assert other["flows"]["flow1"][end]["tcp"].pop("timestamps") is False
    assert one == other


def test_the_table_has_means_and_differences() -> None:
    runs = Stored({MODEL: [11.0, 11.0], KERNEL: [10.0, 10.5]})
    rows = regressions.VIEWS.listing(runs, "")
    goodput = dict(zip(HEADS, rows[0], strict=True))
    # 11 / 10.25 - 1 = 7.3 %; 10.5 / 10 - 1 = 5 %
    assert (goodput["lab-tcp"], goodput["Linux"], goodput["difference"]) == ("11.00", "10.25", "+7.3 %")
    assert goodput["runs of Linux differ by"] == "+5.0 %"
    # all metrics but the goodput of a late flow, which there is not
    assert len(rows) == len(regressions.VIEWS.metrics) - 1
    assert regressions.VIEWS.listing(Stored({MODEL: [11.0], KERNEL: []}), "") == []


def test_a_difference_from_nothing_is_not_defined() -> None:
    assert relative(0.0, 0.0) == 0.0
    assert math.isnan(relative(1.0, 0.0))
    assert relative(9.0, 10.0) == pytest.approx(-10)


def test_the_figure_has_both_pairs() -> None:
    drawn = regressions.VIEWS.chart(Stored({MODEL: [11.0, 11.0], KERNEL: [10.0, 10.5]}), "").to_dict()
    [values] = drawn["datasets"].values()
    assert {row["pair"] for row in values} == {MODEL_AND_LINUX, BETWEEN_RUNS}
    assert {round(row["difference"], 1) for row in values} == {7.3, 5.0}


def test_runs_give_every_metric(tmp_path: Path) -> None:
    options = ["study", "run", NAME, "--runs", "1", "--only", "cell=short_queue", "--engines", MODEL]
    done = quiclab_process(*options, "--jobs", "1", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    evaluation = Evaluation(find(NAME), tmp_path)
    key: Key = ("tcp", "short_queue")
    found = {item.name: evaluation.samples(MODEL, metric=item.name)[key][0] for item in regressions.VIEWS.metrics}
    assert math.isnan(found["late_goodput_mbps"])
    # 5 Mbit/s carry 1448 bytes in each frame of 1514
    assert 0 < found["goodput_mbps"] < 5 * 1448 / 1514
    # 20 ms without queue, and at most 17 frames before it
    assert 20 < found["srtt_ms"] < 20 + 17 * 1514 * 8 / 5e3
    # each drop is sent again, and most segments are acknowledged in pairs
    segments = found["goodput_mbps"] * 20e6 / 8 / 1448
    assert found["retransmissions"] == pytest.approx(found["drops"], abs=2)
    assert segments / 2 <= found["acks"] <= segments
    # the reference is missing, and the criteria say so
    for item in regressions.CRITERIA[:1]:
        assert item.assess(evaluation.samples(MODEL)).outcome is Outcome.NOT_RUN
