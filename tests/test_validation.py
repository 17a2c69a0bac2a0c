"""The study `validation/linux_tcp`: reference, settings and criteria, with numbers worked out by hand."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from typing import Any

import pytest

from conftest import ROOT
from quiclab.errors import RequestError
from quiclab.result import RunResult
from quiclab.study import Study
from quiclab.study.claims import Verdict, judge
from quiclab.study.criteria import Assessment, Criterion, Outcome
from quiclab.study.findings import Grid, Key, Resamples
from quiclab.study.plan import Plan
from quiclab.study.printed import Printed
from quiclab.study.published import read_published
from quiclab.study.registry import find, find_all

NAME = "validation/linux_tcp"
PARTS = [f"{NAME}/{part}" for part in ("bulk", "short", "pairs", "dual_connectivity")]
REFERENCE = ROOT / "studies/quiclab_studies/validation/reference/linux_tcp"


def criterion(study: Study, identity: str) -> Criterion:
    return next(item for item in study.measures.criteria if item.identity == identity)


def rows(file: str) -> list[dict[str, str]]:
    with (REFERENCE / file).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def changes(name: str, **values: str | int) -> dict[str, Any]:
    """What one setting of a part changes in its base scenario."""
    points = find(name).points(("lab-tcp",), only={key: (str(value),) for key, value in values.items()})
    return dict(next(points).changes)


# the name


def test_the_name_stands_for_its_parts() -> None:
    assert [study.name for study in find_all(NAME)] == PARTS
    assert [study.name for study in find_all(PARTS[0])] == PARTS[:1]
    with pytest.raises(RequestError, match="got the group"):
        find(NAME)


# the reference


@pytest.mark.parametrize("name", PARTS)
def test_the_grid_is_that_of_the_reference(name: str) -> None:
    study = find(name)
    available = {configuration.name for configuration in study.design.configurations}
    published = [row.key for row in read_published(study) if row.key[0] in available]
    points = [(point.configuration, *point.values.values()) for point in study.points(("lab-tcp",), variants=())]
    assert sorted(map(str, points)) == sorted(map(str, published))
    for metric in study.measures.further:
        assert {row.key for row in read_published(study, metric.name)} == set(published)


def test_means_of_the_bulk_transfers_are_those_of_the_summary() -> None:
    table = {
        (
            *(cells[key] for key in ("configuration", "rate_mbps", "rtt_ms", "queue_packets", "jitter")),
            float(cells["loss_percent"]),
            cells["max_buffers_rmem_wmem"] == "64/64 MB",
        ): cells
        for cells in (row.cells for row in read_published(find(PARTS[0])))
    }
    summary = rows("bulk_summary.csv")
    assert len(table) == len(summary) == 30
    for row in summary:
        jitter, _, buffers = row["jitter"].partition(", ")
        path = (row["cc"], row["rate_mbps"], row["rtt_ms"], row["queue_packets"], jitter)
        cells = table[*path, float(row["loss_percent"]), bool(buffers)]
        assert cells["n_runs"] == row["n_runs"]
        # half a unit of the last printed place, and what rounding to six digits takes
        assert float(cells["goodput_mbps_mean"]) == pytest.approx(float(row["goodput_mbps_mean"]), abs=0.0006)
        assert float(cells["srtt_ms_mean"]) == pytest.approx(float(row["srtt_ms_mean"]), abs=0.0056)
        assert float(cells["cwnd_packets_mean"]) == pytest.approx(float(row["cwnd_packets_mean"]), abs=0.056)


def test_medians_of_the_short_transfers_are_those_of_the_summary() -> None:
    study = find(PARTS[1])
    reference = criterion(study, "LT-S1").reference
    summary = rows("short_transfers_summary.csv")
    assert len(reference) == len(summary) == 30
    for row in summary:
        name = f"{row['rate_mbps']}mbit" + ("_loss1" if row["loss_percent"] == "1" else "")
        median_ms = reference[name, int(row["size_bytes"])]
        assert median_ms == pytest.approx(1e3 * float(row["time_s_median"]), abs=0.051)


def test_the_published_series_over_the_batch_size_is_that_of_the_summary() -> None:
    published = {row.key[1]: row.summary.mean for row in read_published(find(PARTS[3])) if row.key[0] == "published"}
    summary = next(row for row in rows("dual_connectivity_summary.csv") if row["variant"].startswith("published"))
    assert published == {int(key.removeprefix("batch_")): float(summary[key]) for key in summary if "batch" in key}


# the settings


def test_a_chain_is_built_from_the_columns_of_the_reference() -> None:
    plain = changes(PARTS[0], configuration="reno", path="20mbit_100ms_q200_loss0.2")
    assert plain["flows.main.stack"] == "lab-tcp"
    assert plain["flows.main.sender.congestion_control"] == "newreno"
    assert plain["links.bottleneck.rate"] == "20 Mbit/s"
    assert plain["links.bottleneck.queue.packets"] == 200
    assert plain["links.bottleneck.loss"] == "0.2 %"
    assert plain["links.far.delay"] == plain["links.back.delay"] == "50 ms"
    assert plain["duration"] == "45200 ms"  # 45 s and two round trips of 100 ms
    assert plain["flows.main.sender.tcp.max_send_buffer"] == "4 MiB"
    assert plain["flows.main.receiver.tcp.max_receive_buffer"] == "6 MiB"


def test_jitter_is_on_the_data_alone_and_reorders() -> None:
    normal = changes(PARTS[0], configuration="bbr", path="20mbit_20ms_q100_normal1ms")
    assert normal["flows.main.sender.congestion_control"] == "bbr-linux"
    assert normal["links.far.delay"] == {
        "mean": "10 ms",
        "deviation": "1 ms",
        "distribution": "normal",
        "reorder": True,
    }
    uniform = changes(PARTS[0], configuration="cubic", path="100mbit_112ms_q1867_uniform25ms_64MB")
    assert uniform["links.far.delay"]["deviation"] == "25 ms"
    assert uniform["links.far.delay"]["distribution"] == "uniform"
    assert "links.bottleneck.loss" not in uniform
    for plain, delay in ((normal, "10 ms"), (uniform, "56 ms")):
        assert plain["links.back.delay"] == delay
    assert uniform["flows.main.sender.tcp.max_send_buffer"] == "64 MiB"
    assert uniform["flows.main.receiver.tcp.max_receive_buffer"] == "64 MiB"


def test_pairs_start_as_in_the_reference() -> None:
    plain = changes(PARTS[2], configuration="bbr-cubic", starts=2)
    assert plain["flows.first.sender.congestion_control"] == "bbr-linux"
    assert plain["flows.second.sender.congestion_control"] == "cubic"
    assert (plain["flows.first.start"], plain["flows.second.start"]) == ("227.4 ms", "27.4 ms")
    assert plain["flows.first.workload"]["duration"] == "120040 ms"  # 120 s and two round trips of 20 ms


def test_frames_over_dual_connectivity_have_1336_bytes() -> None:
    flow = changes(PARTS[3], batch=300)["flows.dc"]
    mss, unit = flow["sender"]["tcp"]["mss"].split()
    # MSS with timestamps, IPv4 and TCP without options, number of the bearer, Ethernet
    assert (int(mss) + 20 + 20 + 2 + 14, unit) == (1336, "B")
    assert flow["receiver"]["tcp"] == flow["sender"]["tcp"]
    assert flow["workload"]["size"] == "100 MB"


@pytest.mark.parametrize("name", PARTS)
def test_every_setting_is_a_valid_scenario(name: str) -> None:
    study = find(name)
    jobs = Plan(study, list(study.points(("lab-tcp",), runs=1))).first_runs()
    assert len({job.scenario for job in jobs}) == len(jobs)
    for job in jobs:
        for flow in json.loads(job.scenario)["flows"].values():
            assert flow["stack"] == "lab-tcp"
            assert flow["sender"]["profile"] == flow["receiver"]["profile"] == "linux-7"


# the metrics


def result(flows: dict[str, dict[str, Any]], links: dict[str, Any], **run: float) -> RunResult:
    plain: dict[str, Any] = {
        "start_s": 0.0,
        "finish_s": None,
        "completed": False,
        "failed": False,
        "failure": None,
        "delivered_bytes": 0,
        "download_time_s": None,
        "goodput_mbps": 0.0,
        "sender": {},
        "receiver": {},
    }
    flow = {"workload": {"kind": "download", "size": "1 B"}}
    scenario = {"name": "x", "links": links, "flows": dict.fromkeys(flows, flow)}
    series = {"main.sender": {"srtt_ms": {"mean": 30.0}, "cwnd_bytes": {"mean": 14480.0, "largest": 28960.0}}}
    return RunResult(
        {
            "scenario": scenario,
            "flows": {name: plain | values for name, values in flows.items()},
            "run": run,
            "series": series,
        }
    )


def test_goodput_counts_from_the_first_data_on() -> None:
    study = find(PARTS[0])
    links = {"far": {"delay": {"mean": "50 ms"}}, "back": {"delay": "50 ms"}}
    # 45 s after two round trips of 100 ms: 90 MB are 720 Mbit
    run = result({"main": {"delivered_bytes": 90_000_000}}, links, network_time_s=45.2)
    assert study.measures.metric.measure(run) == pytest.approx(720 / 45)
    measured = {metric.name: metric.measure(run) for metric in study.measures.further}
    assert measured["srtt_ms"] == 30.0
    assert (measured["cwnd_packets"], measured["longest_cwnd_packets"]) == (10.0, 20.0)
    assert math.isnan(measured["retransmits"])  # the stack does not count them
    counted = result({"main": {"sender": {"lost_packets": 9, "retransmits": 7}}}, links, network_time_s=1.0)
    assert study.measures.further[-1].measure(counted) == 7


def test_times_shares_and_throughput_are_those_of_the_reference() -> None:
    short, pairs, batches = (find(name).measures.metric.measure for name in PARTS[1:])
    assert short(result({"main": {"download_time_s": 0.25}}, {})) == 250.0
    assert math.isnan(short(result({"main": {}}, {})))
    both = result({"first": {"delivered_bytes": 30}, "second": {"delivered_bytes": 10}}, {})
    assert pairs(both) == 0.75
    links = {"down1": {"delay": {"mean": "10 ms"}}, "up1": {"delay": {"mean": "10 ms"}}}
    # 800 Mbit in 20.04 s, of which two round trips of 20 ms pass before the first data
    run = result({"dc": {"delivered_bytes": 100_000_000, "download_time_s": 20.04}}, links)
    assert batches(run) == pytest.approx(40.0)


# the criteria


def assessed(item: Criterion, *values: tuple[tuple[str | int | float, ...], list[float]]) -> Assessment:
    return item.assess(dict(values))


def test_a_difference_is_relative_or_in_the_unit() -> None:
    relative = Criterion("X", "", {("a", 1): 20.0}, {("a", 1): 0.05})
    absolute = Criterion("X", "", {("a", 1): 20.0}, {("a", 1): 0.5}, relative=False)
    for values, outcome in (([18.9, 19.3], Outcome.PASSED), ([18.0, 19.8], Outcome.MISS)):
        # means 19.1 (-4.5 %) and 18.9 (-5.5 %)
        found = assessed(relative, (("a", 1), values))
        assert found.outcome is outcome
        assert found.lines[0].difference == pytest.approx(sum(values) / 40 - 1)
    assert assessed(absolute, (("a", 1), [20.4])).passed
    assert not assessed(absolute, (("a", 1), [19.4])).passed  # too small is a miss, too


def test_medians_are_compared_where_the_criterion_says_so() -> None:
    item = Criterion("X", "", {("a", 1): 100.0}, {("a", 1): 36.0}, relative=False, statistic="median")
    line = assessed(item, (("a", 1), [90.0, 130.0, 1100.0])).lines[0]
    assert (line.measured, line.difference, line.outcome) == (130.0, 30.0, Outcome.PASSED)


def test_settings_together_are_judged_by_their_mean() -> None:
    item = Criterion(
        "X", "", {("a", 1): 0.5, ("a", 2): 0.6}, {("a", 1): 0.1, ("a", 2): 0.1}, relative=False, together=True
    )
    # 0.70 and 0.45 are 0.20 and 0.15 off, their mean 0.575 is 0.025 off
    (line,) = assessed(item, (("a", 1), [0.7]), (("a", 2), [0.45])).lines
    assert (line.key, line.outcome) == (("a",), Outcome.PASSED)
    assert (line.reference, line.measured) == pytest.approx((0.55, 0.575))
    assert assessed(item, (("a", 1), [0.7])).outcome is Outcome.NOT_RUN


def test_the_median_of_the_differences_has_a_limit_of_its_own() -> None:
    keys = [("a", index) for index in range(3)]
    item = Criterion("X", "", dict.fromkeys(keys, 10.0), dict.fromkeys(keys, 0.10), median_limit=0.05)
    near = assessed(item, (keys[0], [10.9]), (keys[1], [9.6]), (keys[2], [10.0]))  # 9 %, 4 %, 0 %
    assert near.passed
    assert near.median == pytest.approx(0.04)
    far = assessed(item, (keys[0], [10.9]), (keys[1], [9.4]), (keys[2], [10.0]))  # 9 %, 6 %, 0 %
    assert [line.outcome for line in far.lines] == [Outcome.PASSED] * 3
    assert far.outcome is Outcome.MISS
    assert not assessed(item, (keys[0], [11.1]), (keys[1], [10.0]), (keys[2], [10.0])).passed


def test_a_criterion_is_a_claim_over_resamples_of_the_runs() -> None:
    item = Criterion("X", "s", {("a", 1): 10.0}, {("a", 1): 0.1}, metric="other", statistic="median")
    claim = item.claim("somewhere")
    assert (claim.identity, claim.statement, claim.metric, claim.statistic) == ("X", "s", "other", "median")
    nothing = Printed(lambda study, metric: Grid({"f": (1,)}, (), {}))  # noqa: ARG005

    def measured(samples: dict[Key, list[float]]) -> Resamples:
        return Resamples(lambda study, metric: Grid({"f": (1,)}, ("a",), samples))  # noqa: ARG005

    for runs, verdict in (
        ([10.0] * 5, Verdict.CONFIRMED),
        ([11.5] * 5, Verdict.REFUTED),
        ([10.0] * 4, Verdict.UNDECIDED),  # too few
        ([8.0, 8.0, 10.0, 10.0, 10.0], Verdict.UNDECIDED),  # the median of a resample is 8 with probability 0.32
    ):
        judged = judge(claim, measured({("a", 1): runs}), nothing)
        assert judged.verdict is verdict, runs
        assert judged.on_published is None
    assert judge(claim, measured({}), nothing).verdict is Verdict.NOT_TESTED


def test_limits_are_the_agreed_ones() -> None:
    bulk, short, pairs, batches = (find(name) for name in PARTS)
    without, lossy, rtt = (criterion(bulk, f"LT-B{n}").limits for n in (1, 2, 3))
    assert Counter(without.values()) == {0.05: 18}
    assert Counter(lossy.values()) == {0.15: 9}
    assert Counter(rtt.values()) == {0.10: 27}
    assert set(rtt) == set(without) | set(lossy)
    assert not any(str(path).endswith("uniform25ms") for _, path in rtt)  # limited by the buffers: shown only
    assert set(criterion(short, "LT-S1").limits.values()) == {36.0}
    with_loss = criterion(short, "LT-S2").limits
    assert len(with_loss) == 15
    assert min(with_loss.values()) == 36.0
    # 20 times between 20.1 and 26.7 s, deviation 1.9 s: the median of 20 has an error of about 1.25 * 1.9 / sqrt(20)
    expected_ms = 2 * math.sqrt(2) * 1.25 * 1866 / math.sqrt(20)
    assert with_loss["10mbit_loss1", 10_000_000] == pytest.approx(expected_ms, rel=0.5)
    assert set(criterion(pairs, "LT-P1").limits.values()) == {0.10}
    assert set(criterion(batches, "LT-D1").limits.values()) == {0.10}
    assert criterion(batches, "LT-D1").median_limit == 0.05


@pytest.mark.parametrize("name", PARTS)
def test_the_reference_meets_its_own_criteria(name: str) -> None:
    study = find(name)
    for item in study.measures.criteria:
        found = item.assess({key: [value] for key, value in item.reference.items()})
        assert found.passed
        assert found.numbers["largest difference/limit"] == pytest.approx(0.0, abs=1e-9)
        assert found.median == pytest.approx(0.0, abs=1e-9)
    assert [claim.identity for claim in study.measures.claims] == [item.identity for item in study.measures.criteria]
