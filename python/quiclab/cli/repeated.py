"""`quiclab run --seeds`: means over several seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.experiment.sweeps import Plan
from quiclab.report import show
from quiclab.report.sweeps import run_plan
from quiclab.report.sweeps.output import document
from quiclab.scenario.tree import to_json

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab.lane.run import Lane

#: What `--seeds` prints of each flow.
REPEATED_METRICS = ("goodput", "download_time", "retransmissions", "congestion_events", "srtt", "min_rtt")


def run_many(
    file: Path, seed: int, seeds: int, sets: list[tuple[str, str]], lane: Lane | None, *, as_json: bool
) -> None:
    """Run a scenario with several seeds, and print the mean of each metric with its 95 % interval."""
    plan = Plan(
        file=file,
        text=file.read_text(encoding="utf-8"),
        sets=tuple(sets),
        seeds=seeds,
        first_seed=seed,
        metrics=REPEATED_METRICS,
        lane=lane,
    )
    result = run_plan(plan)
    if as_json:
        print(to_json(document(result.tables)))
    else:
        show.repetitions(result.settings.row(0, named=True), plan.measures, result.tables.notes)
