"""`quiclab study run`, and the same on many machines: `quiclab study plan`, `quiclab shard`, `quiclab study merge`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab.cli.application import with_groups
from quiclab.cli.output import ForceOption, check_new, show_written
from quiclab.cli.study_decide import MaxRunsOption, check_complete, say, told
from quiclab.cli.study_group import for_each
from quiclab.cli.study_options import OutOption
from quiclab.cli.study_request import Request, read_plans
from quiclab.cli.values import ExecutorOption, JobsOption, JsonOption, share_of
from quiclab.errors import QuiclabError
from quiclab.experiment import shards
from quiclab.experiment.equal_runs import without_effect
from quiclab.experiment.execute import Outcome, execute
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.result.formats import counted
from quiclab.scenario.tree import to_json
from quiclab.study.decide import MAX_RUNS as MOST_RUNS
from quiclab.study.decide import Rounds
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import with_more, write_manifest
from quiclab.study.plan import RESULTS, Plan, results_directory, sweep_command
from quiclab.study.trial import try_study

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quiclab.study import Study
    from quiclab.study.manifest import Manifest

#: The value of `--adaptive` that stands for claims.
VERDICTS = "verdicts"


@with_groups
def run_command(
    request: Request,
    jobs: JobsOption = None,
    executor: ExecutorOption = "processes",
    out: OutOption = RESULTS,
    adaptive: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT|verdicts",
            help="Add runs until 95 % intervals are this narrow, such as 2%, or until claims are decided.",
        ),
    ] = None,
    max_runs: MaxRunsOption = MOST_RUNS,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab study run`."""
    name = request.study
    precision = None if adaptive in (None, VERDICTS) else share_of("--adaptive", adaptive)
    outcomes = run_all(request, jobs, executor, out)
    if adaptive is not None and not any(outcome.failed for outcome in outcomes.values()):
        rounds = Rounds(request.studies(), out, partial(say, name), max_runs, executor, jobs)
        if precision is None:
            found, outcome = rounds.decide()
            say(name, told(found))
        else:
            outcome = rounds.narrow(request.settings, precision)
        check_complete(outcome)
        for study, further in rounds.new.items():
            outcomes.setdefault(study, Outcome()).add(further)
    report(name, outcomes, out, as_json)


def run_all(request: Request, jobs: int | None, executor: str, out: Path) -> dict[str, Outcome]:
    """Make the runs of a request; returns the outcome of each study by its name."""
    outcomes: dict[str, Outcome] = {}

    def make(plan: Plan, store: Store, manifest: Manifest) -> Outcome:
        plan = Plan(plan.study, with_more(plan.study, plan.points, manifest.more))
        return execute(Runs.of(plan), store, plan.executor(executor, jobs), trial=partial(try_study, plan))

    def action(study: Study) -> None:
        plan = request.plan(study)
        plan.executor(executor, jobs)  # an error before anything is written
        outcomes[study.name] = with_results(plan, request, out, make)

    for_each(request.studies(), action)
    return outcomes


@with_groups
def plan_command(
    request: Request,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The plan (default: GROUP-STUDY.plan.json here).")
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab study plan`."""
    file = to or Path(f"{request.study.strip('/').replace('/', '-')}.plan.json")
    check_new(file, force, (), "--to")
    plans = [request.plan(study) for study in request.studies()]
    request.write(file, plans)
    show_written([file], as_json)
    for plan in plans:
        count = counted(int(Runs.of(plan).is_first.sum()), "run")
        print(f"{plan.name}: {counted(len(plan), 'setting')}, {count}", file=sys.stderr)


def merge_command(
    file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan whose shards have been run.")],
    out: OutOption = RESULTS,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab study merge`."""
    request, plans = read_plans(file)
    outcomes: dict[str, Outcome] = {}

    def action(study: Study) -> None:
        plan = next(plan for plan in plans if plan.study is study)
        directory = shards.directory_of(file) / plan.name
        outcomes[study.name] = with_results(
            plan, request, out, lambda plan, store, _: shards.merge(plan, file, directory, store)
        )

    for_each([plan.study for plan in plans], action)
    report(request.study, outcomes, out, as_json)


def with_results(plan: Plan, request: Request, out: Path, make: Callable[[Plan, Store, Manifest], Outcome]) -> Outcome:
    """Add runs of a study to its results, and say what is there.

    Parameters
    ----------
    plan, request
        The runs, and what was asked for.
    out
        Directory given as `--out`.
    make
        Adds the runs to a store; also gets what the store plans.

    Raises
    ------
    StoppedError
        If a signal has ended it.
    """
    study = plan.study
    directory, wanted = results_directory(study, out), request.runs or study.design.runs
    variants, some = study.chosen_variants(request.variants), bool(request.only)
    store = Store(directory)
    # one lock from the manifest to the table: a concurrent sweep would change them
    with store.locked():
        manifest = write_manifest(study, directory, wanted, partial=some, variants=variants)
        outcome = make(plan, store, manifest)
        notes = _without_effect(Evaluation(study, out)) if outcome.done else []
    if manifest.runs > wanted and not some:
        print(
            f"{study.name}: {directory} keeps {manifest.runs} runs of each setting, as an earlier sweep requested"
            f"; choose another directory with --out for {wanted}",
            file=sys.stderr,
        )
    if manifest.runs < wanted:
        print(
            f"{study.name}: tables and verdicts use {manifest.runs} runs of each setting; to use more, run all "
            f"settings: {sweep_command(study, out, f' --runs {wanted}')}",
            file=sys.stderr,
        )
    outcome.check_finished(study.name)
    for note in (f"{outcome.done} of {outcome.total} runs complete, {outcome.executed} of them new", *notes):
        print(f"{study.name}: {note}", file=sys.stderr)
    return outcome


def _without_effect(evaluation: Evaluation) -> list[str]:
    """Name factors that make no difference to any run; the runs are measured for that, and stored."""
    design, runs = evaluation.study.design, evaluation.table
    columns = ["engine", "variant", "configuration", *(factor.column for factor in design.swept)]
    return without_effect(runs, columns, [(factor.name, {factor.column}) for factor in design.swept])


def report(name: str, outcomes: Mapping[str, Outcome], out: Path, as_json: bool) -> None:
    """Print as JSON how many runs of each study are complete.

    Raises
    ------
    QuiclabError
        If runs failed.
    """
    rows = [{"study": study, "directory": str(out / study), **outcome.counts} for study, outcome in outcomes.items()]
    if as_json:
        print(to_json({"schema": "quiclab.study_run/1", "study": name, "studies": rows}))
    if failures := sum(outcome.failed for outcome in outcomes.values()):
        raise QuiclabError(f"{failures} runs failed; the output above has commands that replay them")
