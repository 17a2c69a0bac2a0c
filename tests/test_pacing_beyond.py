"""Beyond the pacing thesis: numbers of a queue by hand, and one run of each study whose direction is known."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from conftest import tool
from quiclab.analysis.pacing.runs.queueing import losers, queue_of, releases
from quiclab.experiment.recording import run_and_keep
from quiclab.result import RunResult
from quiclab.result.stats import summarise
from quiclab.scenario import Scenario
from quiclab.study.plan import Plan
from quiclab.study.registry import find

MS = 1_000_000


def measured(study_name: str, **labels: object) -> dict[str, float]:
    """Run a setting once and return all metrics of the study."""
    study = find(f"pacing/{study_name}")
    only = {key: (str(value),) for key, value in labels.items()}
    job = Plan(study, list(study.points(("lab-quic",), 1, only, ()))).first_runs()[0]
    result = run_and_keep(
        Scenario.from_dict(json.loads(job.scenario)), job.seed, job.recipe.base_dir, job.recipe.recording.keep
    )
    return {metric.name: metric.measure(result) for metric in study.measures.metrics}


def tap(*rows: tuple[float, int, str]) -> pl.DataFrame:
    """Return records of a tap: time [ms], number of the packet, flow."""
    return pl.DataFrame(
        {
            "time_ns": [int(at_ms * MS) for at_ms, _, _ in rows],
            "packet_id": [number for _, number, _ in rows],
            "flow": [flow for _, _, flow in rows],
            "direction": ["down"] * len(rows),
            "size_bytes": [1000] * len(rows),
        }
    )


def test_the_queue_is_reconstructed_from_taps() -> None:
    before = tap(
        (1000, 1, "main"),
        (1001, 2, "main"),  # lost at the start
        (5000, 3, "main"),
        (5000, 4, "f1"),
        (5001, 5, "main"),  # lost
        (5002, 6, "f1"),  # lost in the same event
        (5100, 7, "f1"),  # lost, an event of its own
        (5200, 8, "main"),
        (5201, 9, "main"),  # still inside at the end
    )
    behind = tap((1004, 1, "main"), (5002, 3, "main"), (5004, 4, "f1"), (5206, 8, "main"))
    result = SimpleNamespace(
        taps={"at_sender": before, "behind": behind},
        elements={"back": {"received": {"packets": 3}}},
        flows={"main": None, "f1": None},
    )
    found = queue_of(cast("RunResult", result))
    # of the three that came after 5 s and left: 2, 4 and 6 ms
    assert found["sojourn_mean_ms"] == pytest.approx(4)
    assert found["sojourn_p95_ms"] == pytest.approx(5.8)  # 0.9 of the way from the second to the third
    assert found["loss_rate"] == pytest.approx(3 / 7)
    assert found["startup_lost_packets"] == 1
    assert found["startup_mbps"] == pytest.approx(1000 * 8e-6 / 5)
    assert found["loss_events"] == 2
    assert found["synchrony"] == pytest.approx((2 / 2 + 1 / 2) / 2)
    assert found["returned_packets"] == pytest.approx(3 / 9)


def test_losses_within_a_round_trip_are_one_event() -> None:
    flows = np.array(["a", "b", "a", "b"])
    assert losers(np.array([1.0, 1.049, 1.0501, 1.2]), flows) == [2, 1, 1]
    assert losers(np.array([]), np.array([])) == []


def test_packets_delivered_at_one_instant_are_counted(tmp_path: Path) -> None:
    rows = [(1000.0, 1), (6000.0, 2), (6001.0, 3), (6001.0, 4), (6001.0, 5)]
    found = releases(
        cast("RunResult", SimpleNamespace(taps={"released": tap(*((at, n, "dc") for at, n in rows))})), tmp_path
    )
    # after 5 s one packet alone, and three together: (1 + 3 * 3) / 4
    assert found["release_packets"] == pytest.approx(2.5)
    assert found["release_largest_packets"] == 3
    early = SimpleNamespace(taps={"released": tap((1000.0, 1, "dc"))})
    assert all(math.isnan(value) for value in releases(cast("RunResult", early), tmp_path).values())


def test_the_longest_burst_ends_where_the_goodput_first_falls() -> None:
    choice = tool("pacing_choice")
    # 1 % of 20 Mbit/s: 19.85 is enough, 19.7 is not, and 20 behind it does not count
    values = {1: [19.9], 2: [19.85], 4: [19.7], 8: [20.0]}
    assert choice.longest({size: summarise(runs) for size, runs in values.items()}) == 2


def test_a_receiver_decides_the_bursts_of_a_sender_without_a_pacer() -> None:
    pairs = measured("matrix", configuration="ngtcp2-2020", receiver="rfc9002", rate=10)
    fewer = measured("matrix", configuration="ngtcp2-2020", receiver="chromium-quic1", rate=10)
    # acknowledgements of two and of ten packets
    assert pairs["packets_per_ack"] == pytest.approx(2, abs=0.1)
    # a growing window adds a packet now and then
    assert pairs["burst_packets"] == pytest.approx(2, abs=0.3)
    # less as a mean: while packets are missing each one is acknowledged at once
    assert 7 < fewer["packets_per_ack"] <= 10
    assert 7 < fewer["burst_packets"] <= 10


def test_real_libraries_are_a_matrix_of_their_own() -> None:
    found = measured("matrix_libraries", configuration="quinn", receiver="noq", rate=10)
    assert found["goodput_mbps"] > 8
    assert found["packets_per_ack"] == pytest.approx(2, abs=0.1)


def test_an_even_pacer_has_no_bursts_where_rare_acknowledgements_make_them() -> None:
    at = {"buffer": 0.5, "acks": "every 25 ms"}
    even = measured("beyond_pacers", configuration="even", **at)
    unpaced = measured("beyond_pacers", configuration="unpaced", **at)
    assert even["burst_packets"] == 1
    # 25 ms of 20 Mbit/s are 50 packets; the queue holds 50
    assert unpaced["burst_packets"] > 20
    assert even["goodput_mbps"] > unpaced["goodput_mbps"]


def test_tcp_sends_pairs_with_fq_and_without() -> None:
    for configuration in ("tcp_fq", "tcp_unpaced"):
        assert 1.8 < measured("beyond_pacers_tcp", configuration=configuration, buffer=1)["burst_packets"] < 2.2


def test_bursts_longer_than_the_buffer_lose() -> None:
    short = measured("beyond_bursts", configuration="acks", burst=2, buffer=0.1)
    long = measured("beyond_bursts", configuration="acks", burst=64, buffer=0.1)
    # the queue holds 12500 bytes: nine packets of 1256, and what the link sends meanwhile
    assert short["loss_percent"] < 0.1
    assert long["loss_percent"] > 1
    assert long["goodput_mbps"] < 0.1 * short["goodput_mbps"]


def test_acknowledgements_follow_requests() -> None:
    few = measured("beyond_ack_frequency", configuration="even", threshold=20, delay=100)
    assert few["packets_per_ack"] == pytest.approx(20, abs=1)
    assert few["returned_packets"] == pytest.approx(1 / 20, abs=0.01)
    # 5 ms of 20 Mbit/s are ten packets, whatever the threshold is
    bounded = measured("beyond_ack_frequency", configuration="even", threshold=100, delay=5)
    assert bounded["packets_per_ack"] == pytest.approx(10, abs=2)


def test_shares_of_flows_are_distinguished() -> None:
    found = measured("beyond_fairness", configuration="paced", flows=2, buffer=1)
    assert 0.5 <= found["jain"] <= 1
    assert 0 < found["paced_share"] < 1
    # two flows with shares s and 1 - s: 1 / (2 (s^2 + (1 - s)^2))
    share = found["paced_share"]
    assert found["jain"] == pytest.approx(1 / (2 * (share**2 + (1 - share) ** 2)))


def test_one_flow_loses_alone() -> None:
    found = measured("beyond_flows", configuration="unpaced", flows=1, buffer=0.25)
    assert found["jain"] == pytest.approx(1)
    assert math.isnan(found["synchrony"]) or found["synchrony"] == 1


def test_steps_of_the_rate_bound_the_goodput() -> None:
    found = measured("beyond_changing", configuration="bucket_10", change="rate, steps of 5 s")
    # half of the time 20 Mbit/s, half of it 5
    assert 10 < found["goodput_mbps"] < 12.5


def test_large_batches_come_out_in_large_releases() -> None:
    small = measured("beyond_dual_connectivity", configuration="even", batch=2)
    large = measured("beyond_dual_connectivity", configuration="even", batch=200)
    assert large["release_packets"] > 3 * small["release_packets"]
