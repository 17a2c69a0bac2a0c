"""The studies of congestion controls: their networks, what they measure, and their maps."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import quiclab_process
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.controls import alone, beside, picoquic, picoquic_tests, views
from quiclab_studies.controls.senders import TCP_CUBIC

if TYPE_CHECKING:
    from pathlib import Path


def test_a_queue_is_a_part_of_the_bandwidth_delay_product() -> None:
    study = find("controls/alone")
    jobs = Plan(study, list(study.points(("sim",), 1, variants=()))).first_runs()
    limits = {
        tuple(job.point.labels[name] for name in ("rate_mbps", "rtt_ms", "queue_bdp")): json.loads(job.scenario)[
            "links"
        ]["down"]["queue"]["bytes"]
        for job in jobs
    }
    assert len(jobs) == 288 == len(limits) * len(alone.SENDERS)
    # 0.25 of 1 Mbit/s for 2 ms is no packet
    assert (limits[100, 20, 1], limits[100, 20, 8], limits[1, 2, 0.25]) == ("250 kB", "2 MB", "6056 B")


def test_the_second_flow_starts_later_or_not_at_all() -> None:
    assert beside.second(beside.NOBODY) == {}
    flow = beside.second("quic_bbr3")["flows.second"]
    assert isinstance(flow, dict)
    assert (flow["start"], flow["workload"]) == ("3 s", {"kind": "download", "duration": "87 s"})
    assert TCP_CUBIC.flow(10)["sender"] == {"congestion_control": "cubic", "tcp": {"max_send_buffer": "512 MiB"}}


def result(**kept: float | None) -> Any:
    return SimpleNamespace(data={"kept": kept})


def test_shares_are_those_of_the_stored_goodputs() -> None:
    pair = result(first=30.0, second=10.0)
    assert (beside.first_mbps(pair), beside.second_mbps(pair), beside.share_percent(pair)) == (30.0, 10.0, 75.0)
    assert beside.fairness(pair) == pytest.approx(0.8)
    single = result(first=40.0)
    assert (beside.second_mbps(single), beside.share_percent(single)) == (0.0, 100.0)
    assert math.isnan(beside.first_mbps(result(first=None)))


def test_harm_is_what_is_lost_of_the_goodput_alone() -> None:
    key = ("pair", 1, "tcp_cubic")
    samples = {(*key, "quic_bbr3"): [10.0, 14.0], (*key, beside.NOBODY): [48.0]}
    evaluation: Any = SimpleNamespace(samples=lambda _, metric: samples if metric == "first_mbps" else {})
    assert beside.harms(evaluation, "sim") == {("tcp_cubic", "quic_bbr3", "1"): 75.0}
    shares: Any = SimpleNamespace(samples=lambda _, **_metric: samples)
    # nobody beside is no pair
    assert list(beside.shares(shares, "sim")) == [("tcp_cubic", "quic_bbr3", "1")]


def test_a_map_has_a_cell_for_each_value() -> None:
    rows = [
        {"x": 2, "y": 10, "row": "TCP", "column": 1, "value": 93.4},
        {"x": 20, "y": 10, "row": "TCP", "column": 1, "value": math.nan},
    ]
    drawn = views.grid(
        rows,
        "Goodput [%]",
        x=("RTT", (2, 20)),
        y=("Rate", (10,)),
        row=("", ("TCP",)),
        column=("Queue", (1,)),
        domain=(0, 100),
    ).to_dict()
    [values] = drawn["datasets"].values()
    assert values == [{"x": "2", "y": "10", "row": "TCP", "column": "1", "value": 93.4, "text": "93"}]
    assert drawn["spec"]["layer"][0]["encoding"]["x"]["sort"] == ["2", "20"]


def test_values_of_stored_results_are_in_the_order_of_the_factor() -> None:
    """A queue of 1 is stored as 1.0: panels of it came behind all others."""
    queues = (0.25, 1, 8)
    rows = [{"x": 2, "y": 10, "row": "BBR", "column": float(queue), "value": 90.0} for queue in queues]
    one: dict[str, Any] = {
        "x": ("", [2]),
        "y": ("", [10]),
        "row": ("", ["BBR"]),
        "column": ("", queues),
        "domain": (0.0, 100.0),
    }
    spec = views.grid(rows, "Goodput [%]", **one).to_dict()
    (values,) = spec["datasets"].values()
    assert [row["column"] for row in values] == spec["facet"]["column"]["sort"] == ["0.25", "1", "8"]


def test_bbr_3_alone_fills_a_link(tmp_path: Path) -> None:
    only = ["--only", "configuration=quic_bbr3", "--only", "rate=10", "--only", "rtt=20", "--only", "queue=1"]
    done = quiclab_process("study", "run", "controls/alone", "--runs", "1", *only, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    evaluation = Evaluation(find("controls/alone"), tmp_path)
    [key] = evaluation.samples("sim")
    measured = [metric.name for metric in evaluation.study.measures.metrics]
    found = {name: evaluation.samples("sim", metric=name)[key][0] for name in measured}
    assert 85 < found["utilisation_percent"] < 97
    # probes fill the queue of a bandwidth-delay product now and then
    assert 0 < found["queueing_percent"] < 60
    assert found["loss_percent"] < 2


def test_each_test_of_the_draft_has_its_published_times() -> None:
    names = {(test, control) for test in picoquic_tests.TESTS for control in picoquic_tests.CONTROLS}
    assert {key[1:] for key in picoquic.PUBLISHED} == names
    assert set(picoquic.ALONE) | set(picoquic.BESIDE) == set(picoquic_tests.TESTS)
    # nobody is faster than the link: 30 MB at 20 Mbit/s
    assert all(picoquic.PUBLISHED["lab_quic", "vs_cubic_lg", control] > 12 for control in picoquic_tests.CONTROLS)


def test_a_test_of_the_draft_is_the_network_of_its_file() -> None:
    outage = picoquic_tests.TESTS["blackhole"]
    down = outage.links["down"]
    # 25 Mbit/s of UDP payload, and what leaves within 80 ms of it with a packet more
    assert down["rate"] == "25.4861 Mbit/s"
    assert down["queue"]["bytes"] == f"{25_000 * 10 * 1468 // 1440 + 1468} B"
    assert [(row["at"], row["up"]) for row in down["conditions"]["rows"]] == [
        ("0 s", True),
        ("2 s", False),
        ("4 s", True),
    ]
    beside = picoquic_tests.TESTS["wifi_bad_cubic"].flows("c4")
    assert [(flow["start"], flow["workload"]["size"]) for flow in beside.values()] == [
        ("1 s", "4 MB"),
        ("0 s", "10 MB"),
    ]


def test_an_end_counts_from_the_start_of_the_run() -> None:
    flow = SimpleNamespace(start_s=1.0, download_time_s=2.5)
    run: Any = SimpleNamespace(flows={"main": flow})
    assert picoquic.end_s(run) == 3.5
    flow.download_time_s = None
    assert math.isnan(picoquic.end_s(run))
