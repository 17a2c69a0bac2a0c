"""`quiclab shard`: a part of a plan, of a sweep or of studies, as a job of a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from quiclab.cli import study_request
from quiclab.cli.values import JobsOption, JsonOption, integer
from quiclab.errors import QuiclabError, unexpected
from quiclab.experiment import shards
from quiclab.experiment.execute import Outcome
from quiclab.experiment.sweeps import plan_file
from quiclab.scenario.tree import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.experiment.plan import Plan

MAX_SHARDS: Final = 100_000


def plans_of(file: Path) -> Mapping[Path, Plan]:
    """Return the plans in a file, by the directories of their shards.

    Raises
    ------
    RequestError
        If it is no plan of this version, or what it was made from has changed.
    """
    kind, values = shards.read_plan(file, plan_file.KIND, study_request.KIND)
    if kind is study_request.KIND:
        return {shards.directory_of(file) / plan.name: plan for plan in study_request.read_plans(file)[1]}
    plan = plan_file.plan_of(values)
    plan_file.check_unchanged(plan, file)
    return {shards.directory_of(file): plan}


def shard_command(
    file: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan of `quiclab sweep plan` or `quiclab study plan`.")
    ],
    index: Annotated[
        int, typer.Option(parser=integer(0, MAX_SHARDS - 1), metavar="I", help="Number of the shard, from 0.")
    ],
    of: Annotated[int, typer.Option(parser=integer(1, MAX_SHARDS), metavar="N", help="Number of shards.")],
    jobs: JobsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one shard of a plan."""
    if index >= of:
        raise unexpected("--index", f"a number from 0 to {of - 1}, as --of is {of}", index)
    made = Outcome()
    for directory, plan in plans_of(file).items():
        outcome = shards.run_shard(plan, directory, index, of, plan.executor(workers=jobs))
        outcome.check_finished("the shard")
        made.add(outcome)
    print(f"shard {index} of {of}: {made.done} runs complete, {made.executed} of them new", file=sys.stderr)
    if as_json:
        print(to_json({"schema": "quiclab.shard/1", "shard": index, "of": of, **made.counts}))
    if made.failed:
        raise QuiclabError(f"{made.failed} of {made.total} runs failed; the output above has commands that replay them")
