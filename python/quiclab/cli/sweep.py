"""`quiclab sweep`: a scenario over the levels of some factors."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from quiclab.cli.lane import (
    AdapterOption,
    ClockOption,
    DelayStageOption,
    EmulationOption,
    LaneOption,
    SyscallCostOption,
    lane_of,
)
from quiclab.cli.values import JsonOption, SetOption, integer, parse_sets
from quiclab.errors import QuiclabError, RequestError, unexpected
from quiclab.executors import Processes
from quiclab.native import MAX_SEED
from quiclab.report import show
from quiclab.store import Store
from quiclab.sweep import Plan
from quiclab.sweep.metrics import METRICS
from quiclab.sweep.output import Tables, write
from quiclab.sweep.session import Session, cost_line
from quiclab.tree import to_json

MAX_SEEDS = 100_000
MAX_FAILURES_SHOWN = 5
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")


def sweep_command(
    scenario: Annotated[Path | None, typer.Argument(metavar="SCENARIO", help="Scenario file.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUES",
            help="A factor: values joined by commas, or a range such as 10..200:log5 (5 values at equal ratios) or "
            "10..50:lin5. `*` in a path stands for any name. Several factors are combined.",
        ),
    ] = None,
    zipped: Annotated[
        list[str] | None,
        typer.Option("--zip", metavar="PATH=VALUES", help="Factors that change together: first with first."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="lhs:N|sobol:N",
            help="Draw N settings instead of all combinations; ranges are 10..200 or 10..200:log then.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(parser=integer(1, MAX_SEEDS), metavar="N", help="Runs of each setting, with seeds in a row.")
    ] = 5,
    first_seed: Annotated[
        int, typer.Option(parser=integer(0, MAX_SEED - MAX_SEEDS), metavar="N", help="Seed of the first run.")
    ] = 1,
    metric: Annotated[
        str, typer.Option(metavar="A,B", help="What is measured: names of --list-metrics, or paths in a result.")
    ] = "goodput",
    sets: SetOption = None,
    adaptive: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="Add seeds until 95 % intervals are this narrow, such as 2%."),
    ] = None,
    max_seeds: Annotated[
        int, typer.Option(parser=integer(2, MAX_SEEDS), metavar="N", help="With --adaptive: no setting has more.")
    ] = 200,
    jobs: Annotated[
        int | None, typer.Option(parser=integer(1, 1024), metavar="N", help="Worker processes (default: one per CPU).")
    ] = None,
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
    """Carry out `quiclab sweep`."""
    if list_metrics:
        show.metrics([(item.name, item.unit, item.meaning) for item in METRICS])
        return
    if scenario is None:
        raise RequestError("SCENARIO is missing: quiclab sweep SCENARIO --vary PATH=VALUES", kind="MissingField")
    try:
        text = scenario.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RequestError(f"cannot read the scenario {scenario}: {reason}") from error
    plan = Plan(
        file=scenario,
        text=text,
        sets=tuple(parse_sets(sets)),
        varied=tuple(vary or ()),
        zipped=tuple(zipped or ()),
        sample=sample,
        seeds=seeds,
        first_seed=first_seed,
        metrics=tuple(name.strip() for name in metric.split(",")),
        lane=lane_of(lane, clock, emulation, adapters, delay_stage, syscall_cost_ns),
    )
    precision = None if adaptive is None else precision_of(adaptive)
    directory = out or Path("results") / "sweeps" / scenario.stem
    in_real_time = plan.lane is not None and plan.lane.clock == "real"
    session = Session(plan, Store(directory), Processes(1 if in_real_time else jobs))
    session.check()
    if dry_run:
        print(cost_line(plan, session))
        return
    outcome = session.run() if precision is None else session.run_until(precision, max_seeds)
    if outcome.interrupted:
        raise QuiclabError(
            f"stopped: {outcome.done} of {outcome.total} runs are complete and stored; repeat the command to continue"
        )
    tables = session.tables()
    paths = write(tables, directory, command_line())
    if as_json:
        print(to_json(document(tables)))
    else:
        show.sweep(tables.heads, tables.rows(), len(plan.design.factors), len(tables.settings), tables.notes)
    for line in session.spent:
        print(line, file=sys.stderr)
    print(f"{outcome.done} runs complete, {outcome.executed} of them new", file=sys.stderr)
    for path in paths:
        print(path, file=sys.stderr if as_json else sys.stdout)
    if outcome.failed:
        for task, reason in outcome.failures[:MAX_FAILURES_SHOWN]:
            print(f"failed: {reason}; replay with: {plan.replay_of(task)}", file=sys.stderr)
        raise QuiclabError(f"{outcome.failed} of {outcome.total} runs failed; the first of them are listed above")


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


def document(tables: Tables) -> dict[str, Any]:
    """Return what `quiclab sweep --json` prints (schema `quiclab.sweep/1`)."""
    return {
        "schema": "quiclab.sweep/1",
        "scenario": tables.plan.name,
        "factors": [factor.column for factor in tables.plan.design.factors],
        "metrics": [measure.column for measure in tables.plan.measures],
        "runs": len(tables.runs),
        "settings": tables.settings.to_dicts(),
        "notes": list(tables.notes),
    }
