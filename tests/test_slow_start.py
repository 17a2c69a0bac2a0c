"""The studies of starts of connections: paths and senders, what is stored of a run, and runs of a few settings."""

from __future__ import annotations

import json
import math
from pathlib import Path as FilePath
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import quiclab_process
from quiclab._base.libraries import pl
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.slow_start import alone, disturbed, satellite, starts, views
from quiclab_studies.slow_start.measures import LOST, THRESHOLD
from quiclab_studies.slow_start.paths import PATHS, Path
from quiclab_studies.slow_start.stored import recorded

BY_NAME = {start.name: start for start in starts.STARTS}


def test_every_start_is_run_in_both_stacks_on_every_path() -> None:
    study = find("slow_start/alone")
    jobs = Plan(study, list(study.points(("sim",), 1, variants=()))).first_runs()
    assert len(jobs) == len(starts.STARTS) * len(starts.STACKS) * len(alone.QUEUES_BDP) * len(PATHS)
    [satellite, *_] = [
        job for job in jobs if job.point.labels["path"] == "250 Mbit/s, 600 ms" and job.point.labels["queue_bdp"] == 4
    ]
    scenario = json.loads(satellite.scenario)
    # 18.75 MB, four times; 32 round trips
    assert scenario["links"]["down"]["queue"]["bytes"] == "75 MB"
    assert scenario["duration"] == "19.2 s"
    assert scenario["record"]["series_interval"] == "30 ms"


def test_only_the_jumps_know_something_of_the_path() -> None:
    path = Path(100, 20)
    options = {name: start.options(path) for name, start in BY_NAME.items()}
    assert options["careful-resume"]["saved_path"] == {"window": "250000 B", "rtt": "20 ms"}
    assert options["jump-start"]["max_jump"] == "65535 B"
    assert {name for name, found in options.items() if len(found) > 2} == {"careful-resume", "jump-start"}


def test_a_disturbance_is_a_flow_that_is_there_or_jitter() -> None:
    study = find("slow_start/disturbed")
    jobs = Plan(study, list(study.points(("sim",), 1, variants=()))).first_runs()
    found: dict[str, Any] = {}
    for job in jobs:
        if (job.point.labels["path"], job.point.labels["stack"]) == ("10 Mbit/s, 100 ms", "lab-quic"):
            found.setdefault(str(job.point.labels["disturbance"]), json.loads(job.scenario))
    assert {name: sorted(scenario["flows"]) for name, scenario in found.items()} == {
        disturbed.CALM: ["main"],
        disturbed.CROSS: ["main", "other"],
        disturbed.JITTER: ["main"],
    }
    assert found[disturbed.CROSS]["flows"]["main"]["start"] == "15 s"
    assert found[disturbed.JITTER]["links"]["down"]["delay"]["deviation"] == "7 ms"
    assert found[disturbed.CALM]["links"]["down"]["delay"]["deviation"] == "0 ns"


def run_with(series: dict[str, list[tuple[float, float]]], flows: int = 1) -> Any:
    """Return a run of 10 Mbit/s and 100 ms with these samples; names are `element.metric`."""
    rows = [
        {"time_s": time, "element": name.rpartition(".")[0], "metric": name.rpartition(".")[2], "value": value}
        for name, samples in series.items()
        for time, value in samples
    ]
    link = {"delay": "50 ms", "rate": "10 Mbit/s"}
    flow = {"stack": "lab-tcp", "start": "1 s"}
    scenario = {
        "links": {"down": link, "up": link},
        "flows": dict.fromkeys(map(str, range(flows - 1)), flow) | {"main": flow},
    }
    return SimpleNamespace(data={"scenario": scenario}, series=pl.DataFrame(rows))


def test_time_lost_is_what_the_full_rate_would_have_taken() -> None:
    # 125,000 B are a bandwidth-delay product; payload arrives from 1.2 s on, at the full rate but for ten round trips
    payload = 125_000 * 1448 / 1514
    late = {"main.receiver.delivered_bytes": [(2.2 + 0.1 * n, payload * n) for n in range(40)]}
    found = recorded.start_of(run_with(late), FilePath())
    assert found["lost_rtt"] == pytest.approx(10)
    # the full rate gives 120 steps of n / 4, a late one only those above 10, less 10
    full = sum(n / 4 for n in range(1, 121))
    assert found["area"] == pytest.approx(sum(max(0, n // 4 - 10) for n in range(1, 121)) / full)
    assert found["curve"][-1] == pytest.approx(20, abs=1e-4)
    # beside another flow half of the rate is the full one: twice as much of it, so none is lost
    beside = recorded.start_of(run_with(late, flows=2), FilePath())
    assert beside["lost_rtt"] == pytest.approx(-10)


def test_the_end_of_slow_start_is_its_first_sample_in_congestion_avoidance() -> None:
    sender = "main.sender"
    samples = {
        "main.receiver.delivered_bytes": [(1.2, 0.0)],
        f"{sender}.phase": [(1.2, 0.0), (1.5, 0.0), (1.7, 2.0), (1.8, 2.0)],
        f"{sender}.cwnd_bytes": [(1.2, 14_480.0), (1.5, 250_000.0), (1.7, 125_000.0), (1.9, 62_500.0)],
        f"{sender}.ssthresh_bytes": [(1.7, 125_000.0), (1.85, 62_500.0)],
        f"{sender}.srtt_ms": [(1.2, 100.0), (1.7, 150.0)],
        f"{sender}.lost_packets": [(1.7, 1.0), (1.9, 50.0), (2.5, 99.0)],
    }
    found = recorded.start_of(run_with(samples), FilePath())
    assert found["exit_rtt"] == pytest.approx(5)
    assert (found["exit_bdp"], found["ssthresh_bdp"]) == (2.0, 0.5)
    assert found["lost_bdp"] == pytest.approx(50 * 1448 / 125_000)
    del samples[f"{sender}.phase"]
    assert recorded.start_of(run_with(samples), FilePath())["exit_bdp"] is None


def test_metrics_are_those_of_the_stored_values() -> None:
    assert LOST.measure(SimpleNamespace(data={"kept": {"lost_rtt": 3.5}})) == 3.5
    assert math.isnan(THRESHOLD.measure(SimpleNamespace(data={"kept": {"ssthresh_bdp": None}})))


def test_figures_have_a_curve_a_cell_and_a_dot_for_each_start(tmp_path: FilePath) -> None:
    """The start with history loses less than the one without; both end slow start beyond the path and its queue."""
    only = ["--only", "stack=lab-quic", "--only", "queue=1", "--only", "path=10 Mbit/s, 100 ms"]
    both = [*only, "--only", "configuration=none", "--only", "configuration=careful-resume"]
    done = quiclab_process("study", "run", "slow_start/alone", "--runs", "1", *both, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    evaluation = Evaluation(find("slow_start/alone"), tmp_path)
    lost = {str(key[0]): values[0] for key, values in evaluation.samples("sim").items()}
    assert 0 < lost["careful-resume"] < lost["none"] < 30
    thresholds = evaluation.samples("sim", metric="ssthresh_bdp")
    # 0.7 of more than the path and its queue, and of less than twice that
    assert all(1.3 < values[0] < 2.9 for values in thresholds.values())
    curve = views.curves("lab-quic", 1)(evaluation, "sim").to_dict()
    [values] = curve["datasets"].values()
    assert len({row["start"] for row in values}) == 3  # and the full rate
    cells = views.over_paths("lost_rtt", (0, 15))(evaluation, "sim").to_dict()
    assert len(next(iter(cells["datasets"].values()))) == 2
    dots = views.thresholds()(evaluation, "sim").to_dict()
    assert len(next(iter(dots["datasets"].values()))) == 2


def test_the_satellite_download_with_history_is_within_the_published_limit(tmp_path: FilePath) -> None:
    """draft-huitema-ccwg-c4-test: 100 MB in 7.4 s; no sender is faster than the link after two round trips."""
    only = ["--only", "stack=lab-quic", "--only", "configuration=careful-resume"]
    done = quiclab_process("study", "run", "slow_start/satellite", "--runs", "1", *only, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    [values] = Evaluation(find("slow_start/satellite"), tmp_path).samples("sim").values()
    assert 1.2 + 100e6 * 8 / 250e6 < values[0] < satellite.LIMIT_S
