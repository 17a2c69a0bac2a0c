"""The study `validation/lab_quic`: reference, settings and criteria, and a small sample of its runs."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from typing import Any

import pytest

from conftest import ROOT
from quiclab.experiment.execute import execute
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.report import figures
from quiclab.result import RunResult, run
from quiclab.result.stats import Summary, difference_half_width, summarise
from quiclab.scenario import Scenario
from quiclab.study import Study
from quiclab.study.claims import Verdict
from quiclab.study.compare import compare_document, table_rows
from quiclab.study.criteria import Criterion, Outcome
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import RESULTS, Plan
from quiclab.study.published import read_published
from quiclab.study.registry import find, find_all

NAME = "validation/lab_quic"
QUINN, AIOQUIC, DUAL_CONNECTIVITY = PARTS = [
    f"{NAME}/{part}" for part in ("quinn", "aioquic", "aioquic_dual_connectivity")
]
REFERENCE = ROOT / "studies/quiclab_studies/validation/reference/aioquic"


def criterion(name: str, identity: str) -> Criterion:
    return next(item for item in find(name).measures.criteria if item.identity == identity)


def rows(file: str) -> list[dict[str, str]]:
    with (REFERENCE / file).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def changes(name: str, engine: str, **values: str | int) -> dict[str, Any]:
    """What one setting of a part changes in its base scenario."""
    points = find(name).points((engine,), only={key: (str(value),) for key, value in values.items()})
    return dict(next(points).changes)


def runs(name: str, engine: str, seeds: int, seconds: float | None = None, **values: str | int) -> list[RunResult]:
    """Runs of one setting, for a time of their own if it is given."""
    points = list(find(name).points((engine,), runs=seeds, only={key: (str(value),) for key, value in values.items()}))
    found = []
    plan = Plan(find(name), points)
    for task in map(Runs.of(plan).task, range(seeds)):
        scenario = Scenario.from_dict(json.loads(plan.scenario(task.setting)))
        if seconds is not None:
            for path in ("duration", "flows.main.workload.duration"):
                scenario = scenario.with_value(path, f"{seconds} s")
        found.append(run(scenario, task.seed))
    return found


def measured(name: str, metric: str, results: list[RunResult]) -> Summary:
    study = find(name)
    measure = next(item.measure for item in study.measures.metrics if item.name == metric)
    return summarise([measure(result) for result in results])


# the name


def test_the_name_stands_for_its_parts() -> None:
    assert [study.name for study in find_all(NAME)] == PARTS
    assert [study.name for study in find_all(NAME)] == PARTS


# the reference


@pytest.mark.parametrize("name", [AIOQUIC, DUAL_CONNECTIVITY])
def test_the_grid_is_that_of_the_reference(name: str) -> None:
    study = find(name)
    published = {row.key for row in read_published(study)}
    assert {(point.configuration, *point.values.values()) for point in study.points(("lab-quic",))} == published
    for metric in study.measures.further:
        assert {row.key for row in read_published(study, metric.name)} == published


def test_means_are_those_of_the_summary() -> None:
    table = {row.key[1]: row.cells for row in read_published(find(AIOQUIC))}
    summary = rows("path_summary.csv")
    assert len(table) == len(summary) == 18
    for row in summary:
        loss = "" if row["loss_percent"] == "0" else f"_loss{row['loss_percent']}"
        jitter = "" if row["jitter"] == "none" else "_jitter"
        cells = table[f"{row['rate_mbps']}mbit_{row['rtt_ms']}ms{loss}{jitter}"]
        assert cells["n_runs"] == row["runs"]
        assert float(cells["goodput_mbps_mean"]) == pytest.approx(float(row["goodput_mbps_mean"]), rel=1e-5)
        assert float(cells["first_byte_ms_mean"]) == pytest.approx(float(row["first_byte_ms_mean"]), rel=1e-5)
        events = float(row["congestion_events_sum"]) / int(row["runs"])
        assert float(cells["congestion_events_mean"]) == pytest.approx(events, rel=1e-5)


# the settings


def test_a_chain_is_that_of_the_reference() -> None:
    by_setting = {(row["rate_mbps"], row["rtt_ms"]): row for row in rows("path_summary.csv")}
    for (rate, rtt), row in by_setting.items():
        plain = changes(AIOQUIC, "lab-quic", path=f"{rate}mbit_{rtt}ms")
        assert plain["links.bottleneck.rate"] == f"{rate} Mbit/s"
        assert plain["links.bottleneck.queue.packets"] == int(row["queue_packets"])
        assert plain["links.far.delay"] == plain["links.back.delay"] == f"{int(rtt) / 2:g} ms"
        assert "links.bottleneck.loss" not in plain
    lossy = changes(AIOQUIC, "lab-quic", path="10mbit_112ms_loss0.1_jitter")
    assert lossy["links.bottleneck.loss"] == "0.1 %"
    assert lossy["links.far.delay"] == {"mean": "56 ms", "deviation": "1 ms", "distribution": "normal", "reorder": True}
    assert (lossy["duration"], lossy["flows.main.workload"]["duration"]) == ("60 s", "60 s")


def test_random_settings_last_5000_round_trips() -> None:
    seconds = {
        point.values["path"]: point.changes["duration"]
        for point in find(QUINN).points(("quinn",), only={"configuration": ("cubic",)})
    }
    assert len(seconds) == 18
    assert seconds["20mbit_20ms"] == seconds["10mbit_112ms"] == "30 s"
    # 5000 x 20, 36 and 112 ms
    assert seconds["20mbit_20ms_jitter"] == "100 s"
    assert seconds["100mbit_36ms_loss1"] == "180 s"
    assert seconds["10mbit_112ms_loss0.1_jitter"] == "560 s"


def test_both_stacks_run_in_the_same_network() -> None:
    study = find(QUINN)
    assert study.chosen_engines("default") == ("lab-quic",)
    assert study.with_reference(["lab-quic"]) == ("lab-quic", "quinn")
    assert find(AIOQUIC).with_reference(["lab-quic"]) == ("lab-quic",)
    scenarios = {}
    for engine in ("quinn", "lab-quic"):
        (job, *_) = Plan(
            study, list(study.points((engine,), runs=1, only={"path": ("20mbit_20ms_loss1",)}))
        ).first_runs()
        plain = json.loads(job.scenario)
        flow = plain["flows"]["main"]
        assert flow.pop("stack") == engine
        for end in ("sender", "receiver"):
            assert flow[end].pop("profile", "quinn") == "quinn"
            flow[end].pop("tls", None)
        scenarios[engine] = plain
    assert scenarios["quinn"] == scenarios["lab-quic"]


@pytest.mark.parametrize("name", PARTS)
def test_every_setting_is_a_valid_scenario(name: str) -> None:
    study = find(name)
    engines = study.chosen_engines("all")
    jobs = Plan(study, list(study.points(engines, runs=1))).first_runs()
    assert len({job.scenario for job in jobs}) == len(jobs)


# the criteria


def test_limits_are_the_agreed_ones() -> None:
    for name, prefix, configurations in ((QUINN, "LQ-Q", 2), (AIOQUIC, "LQ-A", 1)):
        clean, lossy, server, client, events = (criterion(name, f"{prefix}{n}").limits for n in range(1, 6))
        assert Counter(clean.values()) == {0.03: 6 * configurations}
        assert Counter(lossy.values()) == {0.08: 12 * configurations}
        assert server == client == {**clean, **lossy}
        assert Counter(events.values()) == {0.10: 15 * configurations}
    assert Counter(criterion(AIOQUIC, "LQ-A6").limits.values()) == {1.0: 6}
    batches = criterion(DUAL_CONNECTIVITY, "LQ-D1")
    assert batches.median_limit == 0.05
    assert Counter(batches.limits.values()) == {0.10: 11}


@pytest.mark.parametrize("name", [AIOQUIC, DUAL_CONNECTIVITY])
def test_the_reference_meets_its_own_criteria(name: str) -> None:
    for item in find(name).measures.criteria:
        assert item.assess({key: [value] for key, value in item.reference.items()}).passed


def test_an_interval_has_the_scatter_of_both_sides() -> None:
    # deviations 1 and 2, three runs each: errors 1/3 and 4/3, Welch's freedom (5/3)^2 / ((1/9 + 16/9) / 2) = 2.941;
    # t(0.975, 2.941) = 3.2197
    one, two = summarise([9.0, 10.0, 11.0]), summarise([18.0, 20.0, 22.0])
    half = difference_half_width(one, two)
    assert half == pytest.approx(3.2197 * math.sqrt(5 / 3), rel=1e-3)
    # a single run adds no scatter: t(0.975, 2) = 4.3027
    assert difference_half_width(one, summarise([20.0])) == pytest.approx(4.302653 / math.sqrt(3))
    assert math.isnan(difference_half_width(summarise([1.0]), summarise([])))
    assert difference_half_width(summarise([5.0, 5.0]), summarise([5.0, 5.0])) == 0.0
    key = ("a", 1)
    item = Criterion("X", "", {key: 20.0}, {key: 0.05})
    (line,) = item.assess({key: [9.0, 10.0, 11.0]}, {key: two}).lines
    assert line.margin == pytest.approx(half / 20)
    (line,) = Criterion("X", "", {key: 20.0}, {key: 0.05}, statistic="median").assess({key: [1.0, 2.0]}).lines
    assert math.isnan(line.margin)


def test_a_criterion_without_its_reference_was_not_run() -> None:
    item = Criterion("X", "", {}, {("a", 1): 0.05})
    assert item.assess({("a", 1): [1.0, 2.0]}).outcome is Outcome.NOT_RUN


# an engine in the place of a published table


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Evaluation]:
    """The part with quinn, of which the settings without randomness are run, twice."""
    out = tmp_path_factory.mktemp(str(RESULTS))
    study = find(QUINN)
    keep = {"path": ("10mbit_112ms",)}
    points = list(study.points(study.with_reference(["lab-quic"]), 2, keep))
    directory = out / study.name
    plan = Plan(study, points)
    execute(Runs.of(plan), Store(directory), plan.executor(workers=1))
    (directory / "sweep.json").write_text(json.dumps({"runs": 2, "partial": True}))
    return study, Evaluation(study, out)


def test_the_runs_of_the_other_engine_are_the_reference(small: tuple[Study, Evaluation]) -> None:
    study, evaluation = small
    quinn = evaluation.summaries("quinn")
    assert (
        {row.key for row in evaluation.published}
        == set(quinn)
        == {(name, "10mbit_112ms") for name in ("newreno", "cubic")}
    )
    document = compare_document(evaluation, "lab-quic")
    assert len(document["rows"]) == 2
    for row in document["rows"]:
        assert row["published_mean"] == pytest.approx(quinn[row["configuration"], "10mbit_112ms"].mean, abs=1e-4)
        assert abs(row["relative_difference"]) < 0.03
    assert {metric.name for metric in study.measures.further} == set(document["further"])
    (first, *_) = document["criteria"]
    lines = {line["path"]: line for line in first["lines"] if line["configuration"] == "newreno"}
    # seeds change no more than which packet numbers quinn skips
    assert lines["10mbit_112ms"]["outcome"] == "pass"
    assert 0 <= lines["10mbit_112ms"]["margin"] < 0.003
    assert lines["20mbit_20ms"]["outcome"] == "not run"
    engines = [row["engine"] for row in table_rows(evaluation, ["lab-quic", "quinn"])]
    assert engines == ["lab-quic"] * 2 + ["quinn"] * 2
    # most settings were not run
    assert {item.verdict for item in evaluation.judgements("lab-quic")} == {Verdict.NOT_TESTED}


def test_figures_show_pairs_and_differences_with_intervals(small: tuple[Study, Evaluation]) -> None:
    study, evaluation = small
    differences, _, pairs, *_ = study.presentation.figures
    shown = figures.agreement_data(evaluation, differences, "lab-quic")
    assert shown["setting"].to_list() == ["NewReno, 10mbit_112ms", "CUBIC, 10mbit_112ms"]
    assert (shown["least"] <= shown["difference"]).all()
    assert (shown["difference"] <= shown["most"]).all()
    both = figures.pairs_data(evaluation, pairs, "lab-quic")
    assert both["source"].to_list() == ["published", "measured"] * 2
    assert (both["low"] <= both["mean"]).all()
    for figure in (differences, pairs):
        assert figures.to_svg(figures.specification(evaluation, figure, "lab-quic")).startswith("<svg")


# a sample: a few seconds of what the study runs


@pytest.mark.parametrize("control", ["newreno", "cubic"])
def test_without_randomness_both_send_equally(control: str) -> None:
    engines = ("quinn", "lab-quic")
    both = {engine: runs(QUINN, engine, 1, 10.0, configuration=control, path="20mbit_20ms") for engine in engines}
    for metric, limit in (("goodput_mbps", 0.01), ("data_packets", 0.01), ("client_packets", 0.01), ("srtt_ms", 0.02)):
        quinn, lab = (measured(QUINN, metric, both[engine]).mean for engine in engines)
        assert lab == pytest.approx(quinn, rel=limit), metric


@pytest.mark.parametrize("control", ["newreno", "cubic"])
@pytest.mark.parametrize("path", ["20mbit_20ms_loss1", "100mbit_36ms_jitter"])
def test_random_runs_differ_no_more_than_they_scatter(control: str, path: str) -> None:
    engines = ("quinn", "lab-quic")
    both = {engine: runs(QUINN, engine, 6, 20.0, configuration=control, path=path) for engine in engines}
    for metric in ("goodput_mbps", "data_packets", "congestion_events"):
        quinn, lab = (measured(QUINN, metric, both[engine]) for engine in engines)
        # three standard errors of the difference, and what the limits leave
        tolerance = 3 * math.hypot(quinn.standard_error, lab.standard_error) + 0.03 * quinn.mean
        assert abs(lab.mean - quinn.mean) < tolerance, (metric, quinn.mean, lab.mean)


def test_the_profile_of_aioquic_is_like_aioquic() -> None:
    lab = runs(AIOQUIC, "lab-quic", 1, path="20mbit_20ms")
    (reference,) = [
        row
        for row in rows("path_summary.csv")
        if row["rate_mbps"] == "20" and row["loss_percent"] == "0" and row["jitter"] == "none"
    ]
    assert measured(AIOQUIC, "goodput_mbps", lab).mean == pytest.approx(float(reference["goodput_mbps_mean"]), rel=0.01)
    assert measured(AIOQUIC, "first_byte_ms", lab).mean == pytest.approx(
        float(reference["first_byte_ms_mean"]), abs=0.2
    )
    (batch,) = [row for row in rows("dual_connectivity_summary.csv") if row["batch_packets"] == "350"]
    lab = runs(DUAL_CONNECTIVITY, "lab-quic", 2, batch=350)
    throughput = measured(DUAL_CONNECTIVITY, "throughput_mbps", lab).mean
    assert throughput == pytest.approx(float(batch["throughput_mbps_mean"]), rel=0.10)
