"""`quiclab study run`, and the same on many machines: `quiclab study plan`, `quiclab shard`, `quiclab study merge`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab.cli.lane import LANES
from quiclab.cli.output import ForceOption, check_new, show_written
from quiclab.cli.study_decide import MaxRunsOption, add_runs
from quiclab.cli.study_group import ONLY, SeedOption, for_each
from quiclab.cli.study_options import EnginesOption, NameArgument, OutOption
from quiclab.cli.study_request import KIND, MAX_RUNS, Request
from quiclab.cli.values import ExecutorOption, JobsOption, JsonOption, integer, share_of
from quiclab.equal_runs import without_effect
from quiclab.errors import QuiclabError, StoppedError
from quiclab.experiment import Runs, shards
from quiclab.formats import counted
from quiclab.libraries import check_libraries
from quiclab.store import Store
from quiclab.study import decide
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import with_more, write_manifest
from quiclab.study.plan import RESULTS, Plan, results_directory, sweep_command
from quiclab.study.trial import try_study
from quiclab.tree import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quiclab.experiment import Outcome
    from quiclab.study import Study
    from quiclab.study.manifest import Manifest

#: The value of `--adaptive` that stands for claims.
VERDICTS = "verdicts"
RunsOption = Annotated[
    int | None,
    typer.Option(parser=integer(1, MAX_RUNS), metavar="N", help="Runs of each setting (default: as published)."),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(parser=ONLY.checked, metavar="KEY=VALUE", help="Run only these settings; may be repeated."),
]
LaneOption = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(LANES),
        help="Only engines of this lane, without a reference in the other one (default: all lanes).",
    ),
]
VariantsOption = Annotated[
    str, typer.Option(metavar="none|all|A,B", help="Variants: alternative interpretations, or other conditions.")
]


def run_command(
    name: NameArgument,
    runs: RunsOption = None,
    only: OnlyOption = None,
    engines: EnginesOption = "default",
    jobs: JobsOption = None,
    executor: ExecutorOption = "processes",
    out: OutOption = RESULTS,
    lane: LaneOption = None,
    variants: VariantsOption = "none",
    seed: SeedOption = None,
    adaptive: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT|verdicts",
            help="Add runs until 95 % intervals are this narrow, such as 2%, or until claims are decided.",
        ),
    ] = None,
    max_runs: MaxRunsOption = decide.MAX_RUNS,
    as_json: JsonOption = False,
) -> None:
    """Run a study; completed runs are reused."""
    request = Request(name, runs, tuple(only or ()), engines, variants, lane, seed)
    check_libraries("`quiclab study run`", "scipy")
    precision = None if adaptive in (None, VERDICTS) else share_of("--adaptive", adaptive)
    outcomes: dict[str, Outcome] = {}

    def make(plan: Plan, store: Store, manifest: Manifest) -> Outcome:
        plan = Plan(plan.study, with_more(plan.study, plan.points, manifest.more))
        return plan.run(store, executor=executor, workers=jobs, trial=partial(try_study, plan))

    def action(study: Study) -> None:
        outcomes[study.name] = with_results(request.plan(study), request, out, make)

    for_each(request.studies(), action)
    if adaptive is not None:
        add_runs(request, out, precision, max_runs, executor, jobs)
    report(name, outcomes, out, as_json)


def plan_command(
    name: NameArgument,
    runs: RunsOption = None,
    only: OnlyOption = None,
    engines: EnginesOption = "default",
    lane: LaneOption = None,
    variants: VariantsOption = "none",
    seed: SeedOption = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The plan (default: GROUP-STUDY.plan.json here).")
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Write the plan of a study, for `quiclab shard` on many machines, and count its runs."""
    request = Request(name, runs, tuple(only or ()), engines, variants, lane, seed)
    file = to or Path(f"{name.strip('/').replace('/', '-')}.plan.json")
    check_new(file, force, (), "--to")
    plans = [request.plan(study) for study in request.studies()]
    request.write(file)
    show_written([file], as_json)
    for plan in plans:
        count = counted(int(Runs.of(plan).is_first.sum()), "run")
        print(f"{plan.name}: {counted(len(plan), 'setting')}, {count}", file=sys.stderr)


def merge_command(
    file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan whose shards have been run.")],
    out: OutOption = RESULTS,
    as_json: JsonOption = False,
) -> None:
    """Join the shards of a plan in a results directory; a shard that lacks runs is named."""
    request = Request(**shards.read_plan(file, KIND)[1])
    check_libraries("`quiclab study merge`", "scipy")
    outcomes: dict[str, Outcome] = {}

    def action(study: Study) -> None:
        directory = request.shards(study, file)
        outcomes[study.name] = with_results(
            request.plan(study, file), request, out, lambda plan, store, _: shards.merge(plan, file, directory, store)
        )

    for_each(request.studies(), action)
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
    if outcome.interrupted:
        raise StoppedError(
            f"stopped: {outcome.done} of {outcome.total} runs of {study.name} are complete and stored; repeat the "
            "command to continue",
            outcome.interrupted,
        )
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
    rows = [
        {
            "study": study,
            "directory": str(out / study),
            "runs": outcome.total,
            "runs_complete": outcome.done,
            "runs_new": outcome.executed,
            "runs_failed": outcome.failed,
        }
        for study, outcome in outcomes.items()
    ]
    if as_json:
        print(to_json({"schema": "quiclab.study_run/1", "study": name, "studies": rows}))
    if failures := sum(outcome.failed for outcome in outcomes.values()):
        raise QuiclabError(f"{failures} runs failed; the output above lists them with the commands that replay them")
