"""`quiclab sweep`: a scenario over the levels of some factors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from quiclab.cli.application import with_groups
from quiclab.cli.lane import LaneOptions
from quiclab.cli.sweep_plan import FigureOptions, OutOption, PlanOptions, report_failures, show_results
from quiclab.cli.values import ExecutorOption, JobsOption, JsonOption, integer, share_of
from quiclab.experiment.store import Store
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.adaptive import DEFAULT_MOST, most_seeds
from quiclab.experiment.sweeps.metrics import METRICS
from quiclab.experiment.sweeps.plan import MAX_SEEDS
from quiclab.experiment.sweeps.session import Session, cost_line
from quiclab.report import show
from quiclab.report.sweeps.output import check_directory
from quiclab.scenario.tree import to_json

#: A sweep that is estimated to take longer says so at its start [s].
LONG_S = 20.0


@with_groups
def run_command(
    options: PlanOptions,
    *,
    adaptive: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="Add seeds until 95 % intervals are this narrow, such as 2%."),
    ] = None,
    max_seeds: Annotated[
        int | None,
        typer.Option(
            parser=integer(2, MAX_SEEDS),
            metavar="N",
            help=f"With --adaptive: no setting has more (default: {DEFAULT_MOST}).",
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Compare the levels of this factor with its first one, paired by seed."),
    ] = None,
    drawn: FigureOptions,
    jobs: JobsOption = None,
    executor: ExecutorOption = "processes",
    out: OutOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all settings, estimate the cost from one run, and stop.")
    ] = False,
    list_metrics: Annotated[bool, typer.Option("--list-metrics", help="List the metrics and stop.")] = False,
    lane: LaneOptions,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab sweep run`."""
    if list_metrics:
        rows = [{"name": item.name, "unit": item.unit, "meaning": item.meaning} for item in METRICS]
        if as_json:
            print(to_json({"schema": "quiclab.metrics/1", "metrics": rows}))
        else:
            show.metrics([(row["name"], row["unit"], row["meaning"]) for row in rows])
        return
    plan = options.plan(lane.chosen())
    precision = None if adaptive is None else share_of("--adaptive", adaptive)
    directory = out or Path("results") / "sweeps" / plan.file.stem
    check_directory(directory)
    compared = None if compare is None else plan.design.compared(compare)
    style = drawn.style(plan)
    most = most_seeds(max_seeds, options.seeds, "--max-seeds")
    session = Session(plan, Store(directory), plan.executor(executor, jobs))
    session.check()
    if dry_run:
        with session.executor:  # a cluster tells its number of workers then
            line = cost_line(plan, session, None if precision is None else most)
        show_cost(plan, session, line) if as_json else print(line)
        return
    if session.estimate_s >= LONG_S and not session.probe.problem:  # before the first runs end, which may take minutes
        print(cost_line(plan, session, None if precision is None else most), file=sys.stderr)
    with session.store.locked():  # what is written of it has one writer, too
        outcome = session.run() if precision is None else session.run_until(precision, most)
        outcome.check_finished()
        show_results(session.tables(compared), directory, as_json=as_json, style=style, figure=drawn.figure)
    for line in [*session.spent, f"{outcome.done} runs complete, {outcome.executed} of them new"]:
        print(line, file=sys.stderr)
    report_failures(outcome)


def show_cost(plan: Plan, session: Session, line: str) -> None:
    """Print what a sweep would cost as JSON."""
    found = {"settings": len(plan.design.settings), "runs": plan.total, "runs_stored": plan.total - session.waiting}
    spent = session.probe.seconds if session.waiting else None
    print(to_json({"schema": "quiclab.cost/1", **found, "seconds_of_first_run": spent, "estimate": line}))
