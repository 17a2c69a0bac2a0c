"""What studies of fairness read of a run with several bearers: rates where both links have come together again."""

from __future__ import annotations

import json
import math

import pytest

from quiclab.result import RunResult, run
from quiclab.scenario import Scenario
from quiclab.study.plan import Plan
from quiclab.study.registry import find
from quiclab_studies.dual_connectivity.fairness import interface_mbps, per_second_mbps, rates_by_second

SECONDS = 5


def first_run(name: str) -> RunResult:
    """The first run of a study, cut to a few seconds."""
    study = find(name)
    job = Plan(study, list(study.points(("lab-quic",), 1))).first_runs()[0]
    scenario = Scenario.from_dict(json.loads(job.scenario)).with_values(
        {"duration": f"{SECONDS} s", "until": "duration_over"}
    )
    return run(scenario, job.seed, base_dir=job.recipe.base_dir)


def test_rates_of_flows_are_those_behind_their_bearers() -> None:
    result = first_run("dual_connectivity/fairness_default")
    rates = rates_by_second(result)
    assert [len(rate) for rate in rates] == [SECONDS] * 3
    for flow, rate in zip(("dc", "sc1", "sc2"), rates, strict=True):
        sent = result.elements[f"{flow}.egress"]["sent"]["bytes"]
        assert math.fsum(rate) == pytest.approx(8 * sent / 1e6, rel=0.01)
        # duplicates may add to it; a sum in another order is not exact
        assert interface_mbps(result, flow) >= (1 - 1e-12) * math.fsum(rate) / SECONDS > 1


def test_pairs_of_flows_have_rates() -> None:
    result = first_run("dual_connectivity/pairs")
    assert [len(per_second_mbps(result, flow)) for flow in ("first", "second")] == [SECONDS] * 2
