"""A sweep on many machines: `quiclab sweep plan`, `quiclab shard` and `quiclab sweep merge`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from quiclab.cli.application import with_groups
from quiclab.cli.output import ForceOption, check_new, show_written
from quiclab.cli.sweep_plan import FigureOptions, OutOption, PlanOptions, show_results
from quiclab.cli.values import JsonOption
from quiclab.experiment import shards
from quiclab.experiment.executors import Processes
from quiclab.experiment.store import Store
from quiclab.experiment.sweeps import plan_file
from quiclab.experiment.sweeps.session import Session, cost_line
from quiclab.report.sweeps.output import check_directory


@with_groups
def plan_command(
    options: PlanOptions,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The plan (default: NAME.plan.json next to the scenario).")
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab sweep plan`."""
    plan = options.plan()
    file = to or plan.file.with_suffix(".plan.json")
    check_new(file, force, [plan.file], "--to")
    session = Session(plan, Store(shards.directory_of(file)), Processes(1))
    session.check()
    plan_file.write_plan(plan, file)
    show_written([file], as_json)
    print(cost_line(plan, session), file=sys.stderr)


@with_groups
def merge_command(
    file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan whose shards have been run.")],
    out: OutOption = None,
    *,
    drawn: FigureOptions,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab sweep merge`."""
    plan = plan_file.plan_of(shards.read_plan(file, plan_file.KIND)[1])
    directory = out or Path("results") / "sweeps" / plan.file.stem
    check_directory(directory)
    style = drawn.style(plan)
    store = Store(directory)
    if plan_file.has_changed(plan):
        changed = f"{plan.file} has changed since the plan was written"
        print(f"note: {changed}; the results are those of the plan", file=sys.stderr)
    with store.locked():
        shards.merge(plan, file, shards.directory_of(file), store)
        tables = Session(plan, store, Processes(1)).tables()
        show_results(tables, directory, as_json=as_json, style=style, figure=drawn.figure)
