"""Slow start over two links of unequal delay: aioquic's exit by RTT needs a client that takes time to read."""

from __future__ import annotations

import json
from functools import cache

from quiclab.result import run
from quiclab.scenario import Scenario
from quiclab.studies.dual_connectivity.alone import queue_drops
from quiclab.study.plan import jobs_of
from quiclab.study.registry import find

SEEDS = range(1, 21)


@cache
def overflows(datagram: str) -> int:
    """In how many runs slow start overflows a queue, with this time for a datagram at the client."""
    study = find("dual_connectivity/delay_ratio_high")
    points = [
        point
        for point in study.points(("lab-quic",), 1)
        if point.configuration == "quic_large_buffer" and point.values["ratio"] == 5.0
    ]
    job = jobs_of(study, points)[0]
    scenario = Scenario.from_dict(json.loads(job.scenario)).with_values(
        {"flows.dc.workload.size": "6 MB", "hosts.client.receive_datagram": datagram}
    )
    return sum(queue_drops(run(scenario, seed, base_dir=job.base_dir)) > 0 for seed in SEEDS)


def test_a_slow_client_shows_the_lower_rtt_and_slow_start_ends_early() -> None:
    assert overflows("300 us") <= 0.2 * len(SEEDS)


def test_a_fast_client_reads_a_run_within_a_sample_and_slow_start_overflows() -> None:
    assert overflows("0 us") >= 0.5 * len(SEEDS)
