"""`quiclab sweep`: a scenario over the levels of some factors."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from quiclab.cli.lane import (
    AdapterOption,
    ClockOption,
    DelayStageOption,
    EmulationOption,
    LaneOption,
    SyscallCostOption,
    lane_of,
)
from quiclab.cli.values import ForceOption, JsonOption, SetOption, check_new, integer, parse_sets
from quiclab.errors import QuiclabError, RequestError, unexpected
from quiclab.executors import Processes, executor_of
from quiclab.files import read_text
from quiclab.native import MAX_SEED
from quiclab.report import show
from quiclab.result import TABLES
from quiclab.store import Store
from quiclab.sweeps import Plan, shards
from quiclab.sweeps.adaptive import DEFAULT_MOST, most_seeds
from quiclab.sweeps.metrics import METRICS
from quiclab.sweeps.output import Tables, document, write
from quiclab.sweeps.plan import MAX_SEEDS
from quiclab.sweeps.session import Session, cost_line
from quiclab.tree import to_json

if TYPE_CHECKING:
    from quiclab.lane.run import Lane
    from quiclab.sweeps.run import Outcome

DEFAULT_SEEDS = 5
MAX_SHARDS = 100_000
MAX_FAILURES_SHOWN = 5
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")

ScenarioArgument = Annotated[Path | None, typer.Argument(metavar="SCENARIO", help="Scenario file.")]
VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH=VALUES",
        help="A factor: values joined by commas, or a range such as 10..200:log5 (5 values at equal ratios) or "
        "10..50:lin5. `*` in a path stands for any name. Several factors are combined.",
    ),
]
ZipOption = Annotated[
    list[str] | None,
    typer.Option("--zip", metavar="PATH=VALUES", help="Factors that change together: first with first."),
]
SampleOption = Annotated[
    str | None,
    typer.Option(
        metavar="lhs:N|sobol:N",
        help="Draw N settings instead of all combinations; ranges are 10..200 or 10..200:log then.",
    ),
]
SeedsOption = Annotated[
    int, typer.Option(parser=integer(1, MAX_SEEDS), metavar="N", help="Runs of each setting, with seeds in a row.")
]
FirstSeedOption = Annotated[
    int, typer.Option(parser=integer(0, MAX_SEED - MAX_SEEDS), metavar="N", help="Seed of the first run.")
]
MetricOption = Annotated[
    str, typer.Option(metavar="A,B", help="What is measured: names of --list-metrics, or paths in a result.")
]
KeepOption = Annotated[
    str,
    typer.Option(
        metavar="TABLE,TABLE",
        help=f"Keep these tables of each run as Parquet files: {', '.join(TABLES)}.",
    ),
]
ExecutorOption = Annotated[str, typer.Option(metavar="processes|ray|ray://HOST:PORT", help="Where runs are made.")]
JobsOption = Annotated[
    int | None, typer.Option(parser=integer(1, 1024), metavar="N", help="Worker processes (default: one per CPU).")
]


class RunByDefault(TyperGroup):
    """The group of `quiclab sweep`: `run` is the command where no other is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` before what is no name of a command."""
        if not args or args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=RunByDefault, add_completion=False)


@app.command("run")
def run_command(
    scenario: ScenarioArgument = None,
    vary: VaryOption = None,
    zipped: ZipOption = None,
    sample: SampleOption = None,
    seeds: SeedsOption = DEFAULT_SEEDS,
    first_seed: FirstSeedOption = 1,
    metric: MetricOption = "goodput",
    keep: KeepOption = "",
    sets: SetOption = None,
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
    jobs: JobsOption = None,
    executor: ExecutorOption = "processes",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Results directory (default: results/sweeps/NAME)."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all settings, estimate the cost from one run, and stop.")
    ] = False,
    list_metrics: Annotated[bool, typer.Option("--list-metrics", help="List the metrics and stop.")] = False,
    lane: LaneOption = "sim",
    clock: ClockOption = None,
    emulation: EmulationOption = None,
    adapters: AdapterOption = None,
    delay_stage: DelayStageOption = None,
    syscall_cost_ns: SyscallCostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a scenario over the levels of factors, with many seeds.

    `quiclab sweep plan`, `quiclab shard` and `quiclab sweep merge` do it on many machines.
    """
    if list_metrics:
        show.metrics([(item.name, item.unit, item.meaning) for item in METRICS])
        return
    kernel = lane_of(lane, clock, emulation, adapters, delay_stage, syscall_cost_ns)
    plan = read_plan(
        scenario,
        vary,
        zipped,
        sample=sample,
        seeds=seeds,
        first_seed=first_seed,
        metric=metric,
        keep=keep,
        sets=sets,
        lane=kernel,
    )
    precision = None if adaptive is None else precision_of(adaptive)
    directory = out or Path("results") / "sweeps" / plan.file.stem
    compared = None if compare is None else plan.design.compared(compare)
    most = most_seeds(max_seeds, seeds, "--max-seeds")
    in_real_time = plan.lane is not None and plan.lane.clock == "real"
    if in_real_time and executor != "processes":
        raise RequestError(f"--clock real and --executor {executor} contradict each other: such runs need this machine")
    session = Session(plan, Store(directory), executor_of(executor, 1 if in_real_time else jobs))
    session.check()
    if dry_run:
        with session.executor:  # a cluster tells its number of workers then
            print(cost_line(plan, session))
        return
    with session.store.locked():  # what is written of it has one writer, too
        outcome = session.run() if precision is None else session.run_until(precision, most)
        if outcome.interrupted:
            stored = f"{outcome.done} of {outcome.total} runs are complete and stored"
            raise QuiclabError(f"stopped: {stored}; repeat the command to continue")
        show_results(session.tables(compared), directory, as_json=as_json)
    for line in [*session.spent, f"{outcome.done} runs complete, {outcome.executed} of them new"]:
        print(line, file=sys.stderr)
    report_failures(plan, outcome)


def read_plan(
    scenario: Path | None,
    vary: list[str] | None,
    zipped: list[str] | None,
    *,
    sample: str | None,
    seeds: int,
    first_seed: int,
    metric: str,
    keep: str,
    sets: list[str] | None,
    lane: Lane | None,
) -> Plan:
    """Return the sweep that the options describe.

    Raises
    ------
    RequestError
        If the scenario is not named, or cannot be read.
    """
    if scenario is None:
        raise RequestError("SCENARIO is missing: quiclab sweep SCENARIO --vary PATH=VALUES", kind="MissingField")
    return Plan(
        file=scenario,
        text=read_text(scenario),
        sets=tuple(parse_sets(sets)),
        varied=tuple(vary or ()),
        zipped=tuple(zipped or ()),
        sample=sample,
        seeds=seeds,
        first_seed=first_seed,
        metrics=names_in(metric),
        keep=tuple(dict.fromkeys(names_in(keep))) if keep else (),
        lane=lane,
    )


def names_in(text: str) -> tuple[str, ...]:
    """Return the names that commas join."""
    return tuple(name.strip() for name in text.split(","))


def show_results(tables: Tables, directory: Path, *, as_json: bool) -> None:
    """Write the files of a sweep and print its table, or JSON.

    Raises
    ------
    QuiclabError
        If the files cannot be written, for instance because the disk is full.
    """
    try:
        paths = write(tables, directory, command_line())
    except RequestError as error:
        raise QuiclabError(f"{error}; all runs are stored: repeat the command to write the results") from error
    if as_json:
        print(to_json(document(tables)))
    else:
        factors = len(tables.plan.design.factors)
        show.sweep(tables.heads, tables.rows(), factors, len(tables.settings), tables.notes)
        if tables.compared is not None:
            title = f"Differences from the first level of {tables.compared.factor.path}, paired by seed"
            show.table_of(title, tables.heads, tables.difference_rows(), factors)
    for path in paths:
        print(path, file=sys.stderr if as_json else sys.stdout)


def report_failures(plan: Plan, outcome: Outcome) -> None:
    """List the first runs that failed.

    Raises
    ------
    QuiclabError
        If there are any.
    """
    if outcome.failed:
        for task, reason in outcome.failures[:MAX_FAILURES_SHOWN]:
            print(f"failed: {reason}; replay with: {plan.replay_of(task)}", file=sys.stderr)
        raise QuiclabError(f"{outcome.failed} of {outcome.total} runs failed; the first of them are listed above")


@app.command("plan")
def plan_command(
    scenario: ScenarioArgument = None,
    vary: VaryOption = None,
    zipped: ZipOption = None,
    sample: SampleOption = None,
    seeds: SeedsOption = DEFAULT_SEEDS,
    first_seed: FirstSeedOption = 1,
    metric: MetricOption = "goodput",
    keep: KeepOption = "",
    sets: SetOption = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The plan (default: NAME.plan.json next to the scenario).")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Check a sweep and write its plan, for `quiclab shard` on many machines."""
    plan = read_plan(
        scenario,
        vary,
        zipped,
        sample=sample,
        seeds=seeds,
        first_seed=first_seed,
        metric=metric,
        keep=keep,
        sets=sets,
        lane=None,
    )
    file = to or plan.file.with_suffix(".plan.json")
    check_new(file, force)
    session = Session(plan, Store(shards.directory_of(file)), Processes(1))
    session.check()
    shards.write_plan(plan, file)
    print(file)
    print(cost_line(plan, session), file=sys.stderr)


@app.command("merge")
def merge_command(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan whose shards have been run.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Results directory (default: results/sweeps/NAME).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Join the shards of a plan: table, figures and page; a shard that lacks runs is named."""
    plan = shards.read_plan(plan_file)
    directory = out or Path("results") / "sweeps" / plan.file.stem
    store = Store(directory)
    if shards.has_changed(plan):
        changed = f"{plan.file} has changed since the plan was written"
        print(f"note: {changed}; the results are those of the plan", file=sys.stderr)
    with store.locked():
        shards.merge(plan, plan_file, store)
        show_results(Session(plan, store, Processes(1)).tables(), directory, as_json=as_json)


def shard_command(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan of `quiclab sweep plan`.")],
    index: Annotated[
        int, typer.Option(parser=integer(0, MAX_SHARDS - 1), metavar="I", help="Number of the shard, from 0.")
    ],
    of: Annotated[int, typer.Option(parser=integer(1, MAX_SHARDS), metavar="N", help="Number of shards.")],
    jobs: JobsOption = None,
) -> None:
    """Run one shard of a plan."""
    if index >= of:
        raise unexpected("--index", f"a number from 0 to {of - 1}, as --of is {of}", index)
    plan = shards.read_plan(plan_file)
    outcome = shards.run_shard(plan, plan_file, index, of, Processes(jobs))
    if outcome.interrupted:
        raise QuiclabError(f"stopped: {outcome.done} of {outcome.total} runs of the shard are stored")
    print(f"shard {index} of {of}: {outcome.done} runs complete, {outcome.executed} of them new", file=sys.stderr)
    report_failures(plan, outcome)


def precision_of(text: str) -> float:
    """Read the value of `--adaptive`.

    Raises
    ------
    RequestError
        If it is not a percentage above 0, at most 100.
    """
    found = _PERCENT.fullmatch(text.strip())
    if found is None or not 0 < float(found[1]) <= 100:
        raise unexpected("--adaptive", "a percentage above 0, at most 100, such as 2%", text)
    return float(found[1]) / 100


def command_line() -> str:
    """Return the command as it was given."""
    return " ".join(["quiclab", *(shlex.quote(word) for word in sys.argv[1:])])
