"""Slow start over two links of unequal delay: aioquic's exit by RTT needs a client that takes time to read."""

from __future__ import annotations

import json
import math
from functools import cache

from quiclab.result import run
from quiclab.scenario import Scenario
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.dual_connectivity.alone import queue_drops

SEEDS = range(1, 21)


@cache
def overflows(datagram: str) -> int:
    """In how many runs slow start overflows a queue, with this time for a datagram at the client."""
    study = find("dual_connectivity/delay_ratio_high")
    points = [
        point
        for point in study.points(("lab-quic",), 1)
        if point.configuration == "quic_large_buffer" and 5.0 in point.values.values()
    ]
    job = Plan(study, points).first_runs()[0]
    scenario = Scenario.from_dict(json.loads(job.scenario)).with_values(
        {"flows.dc.workload.size": "6 MB", "hosts.client.receive_datagram": datagram}
    )
    return sum(queue_drops(run(scenario, seed, base_dir=job.recipe.base_dir)) > 0 for seed in SEEDS)


def test_a_client_that_reads_slowly_ends_slow_start_before_the_queues_overflow() -> None:
    # two standard errors of the difference of two counts, at the largest variance that they can have
    error = math.sqrt(2 * len(SEEDS) / 4)
    assert overflows("0 us") - overflows("300 us") >= 2 * error
