"""Running a plan: what is not stored is run, and what was measured is stored."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from array import array
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from quiclab.errors import QuiclabError, RequestError
from quiclab.executors import Interrupt, run_batches
from quiclab.failures import note_failures, read_failures
from quiclab.identity import BUILD, VERSIONS, setting_of
from quiclab.libraries import np, pl
from quiclab.native import build_id
from quiclab.progress import CountProgress
from quiclab.result import run_resolved
from quiclab.scenario import Scenario
from quiclab.store import IDENTITY, Flusher, Store, not_stored
from quiclab.sweeps import kept
from quiclab.sweeps.metrics import Measure, measures, no_number, workloads

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from quiclab.executors import Executor
    from quiclab.result import RunResult
    from quiclab.sweeps.plan import Plan, Recipe, Task
    from quiclab.sweeps.runs import Runs

#: Columns of a stored run before those of its metrics, and the names of their types: the table library loads slowly.
HEAD: Final = {IDENTITY: "String", VERSIONS: "String", BUILD: "String", "digest": "String", "finished": "Boolean"}
#: Time after which progress is shown [s].
QUIET_S: Final = 1.0
MAX_FAILURES: Final = 1000
#: A run that took less is tried twice [s].
SHORT_S: Final = 0.5
#: Runs that become integers of Python at a time.
CHUNK: Final = 10_000


@dataclass
class Batch:
    """Runs for a worker.

    Attributes
    ----------
    recipe
        What they have in common.
    settings
        Changes of each setting to the scenario, its identity, and its seeds.
    """

    recipe: Recipe
    settings: list[tuple[list[tuple[str, str]], str, list[int]]]


@dataclass
class Measured:
    """What a worker returns of a batch, by column.

    Attributes
    ----------
    digest
        Hash over every packet event of each run that did not fail.
    finished
        Whether every flow of it has done its workload.
    values
        Values of the columns of the metrics, run by run; NaN where there is none.
    tables
        The tables that are kept of each run, as Parquet files.
    problems
        Why the others failed, by their positions in the batch.
    """

    digest: list[str] = field(default_factory=list)
    finished: list[bool] = field(default_factory=list)
    values: array[float] = field(default_factory=lambda: array("d"))
    tables: list[list[bytes]] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """What became of a sweep.

    Attributes
    ----------
    total, done, executed
        Runs of the sweep, those that are stored now, and those made by this call.
    failed
        Number of runs that failed.
    failures
        The first of them, with the reason.
    interrupted
        The signal that ended it: 2 of Ctrl-C, 15 of `kill`; 0 if none did.
    """

    total: int
    done: int = 0
    executed: int = 0
    failed: int = 0
    failures: list[tuple[Task, str]] = field(default_factory=list)
    interrupted: int = 0


def execute(
    runs: Runs,
    store: Store,
    executor: Executor,
    *,
    title: str = "",
    stream: TextIO | None = None,
) -> Outcome:
    """Make the runs that are not stored.

    Parameters
    ----------
    runs
        Runs of a sweep.
    store
        Where results go; may be locked by the caller already.
    executor
        Where they run.
    title
        Title of the progress (default: the name of the scenario).
    stream
        Output stream of progress (default: stderr).

    Raises
    ------
    RequestError
        If the directory cannot be written to, or another process holds it.
    """
    plan = runs.plan
    columns = [measure.column for measure in plan.measures]
    outcome = Outcome(len(runs))
    with store.locked():
        stored = runs.stored(store, columns)
        outcome.done = int(stored.sum())
        waiting = np.flatnonzero(~stored & (runs.first == np.arange(len(runs))))
        if not len(waiting):
            return outcome
        shown = CountProgress(title or plan.name, len(runs), outcome.done, "runs", QUIET_S, stream or sys.stderr)
        flusher = Flusher(store, row_kinds(columns))
        known, failed = read_failures(store.directory), dict[str, str]()
        repaired: set[str] = set()

        def pack(batch: Sequence[int]) -> Batch:
            return Batch(
                plan.recipe,
                [
                    (plan.design.sets(plan.design.settings[index]), plan.identity(index)[0], seeds)
                    for index, seeds in runs.by_setting(np.asarray(batch))
                ],
            )

        def keep(made: np.ndarray, found: Measured) -> None:
            # before the rows: a run that is stored has its tables
            for identity, files in zip(runs.names(made), found.tables, strict=False):
                try:
                    kept.write(store.directory, plan.keep, identity, files)
                except RequestError as error:
                    raise not_stored(error) from error

        def settle(batch: Sequence[int], found: Measured) -> None:
            for place, problem in found.problems.items():
                outcome.failed += 1
                if outcome.failed <= MAX_FAILURES:
                    outcome.failures.append((runs.task(batch[place]), problem))
                failed[runs.names(np.array([batch[place]]))[0]] = problem
            made = np.delete(np.asarray(batch), list(found.problems))
            if len(made):
                keep(made, found)
                flusher.add_frame(_frame(runs.head(made), found, columns))
                stored[made] = True
                if known:
                    repaired.update(runs.names(made))
            outcome.executed += len(made)
            progress.advance(len(batch))

        try:
            with shown as progress, executor:
                outcome.interrupted = run_batches(
                    executor,
                    _numbers(waiting),
                    pack,
                    measure_batch,
                    settle,
                    tick=flusher.flush_if_due,
                    say=progress.line,
                    name=lambda position: plan.replay_of(runs.task(position)),
                )
        finally:
            with Interrupt() as late:  # what was run is stored, whatever comes now
                flusher.flush()
                note_failures(store.directory, failed, repaired)
            outcome.interrupted = outcome.interrupted or late.number
            outcome.done = int(stored[runs.first].sum())
    return outcome


def _numbers(positions: np.ndarray) -> Iterator[int]:
    """List positions as integers of Python, some at a time."""
    for start in range(0, len(positions), CHUNK):
        yield from positions[start : start + CHUNK].tolist()


def row_kinds(columns: list[str]) -> dict[str, type[pl.DataType]]:
    """Return the columns of a stored run with these columns of metrics, and their types."""
    return {name: getattr(pl, kind) for name, kind in HEAD.items()} | dict.fromkeys(columns, pl.Float64)


def _frame(head: dict[str, pl.Series], found: Measured, columns: list[str]) -> pl.DataFrame:
    """Return the runs of a batch as rows of the store."""
    values = np.frombuffer(found.values, dtype=np.float64).reshape(len(found.digest), len(columns))
    measured = {name: values[:, place] for place, name in enumerate(columns)}
    build = pl.Series([build_id()], dtype=pl.String).new_from_index(0, len(found.digest))
    data = {**head, BUILD: build, "digest": found.digest, "finished": found.finished, **measured}
    return pl.DataFrame(data, schema=row_kinds(columns))


@cache
def _measures(names: tuple[str, ...], kinds: tuple[tuple[str, str], ...]) -> list[Measure]:
    return measures(names, dict(kinds))


def measure_batch(batch: Batch) -> Measured:
    """Make the runs of a batch, and measure them.

    Raises
    ------
    QuiclabError
        If a setting is not here what it is where the sweep was started: files or stacks of a node are others.
    """
    found = Measured()
    for sets, identity, seeds in batch.settings:
        scenario = batch.recipe.resolve(sets)
        if setting_of(scenario, Path(batch.recipe.base_dir), batch.recipe.lane_of(scenario))[0] != identity:
            changes = ", ".join(f"{path}={value}" for path, value in sets) or "as it is"
            raise QuiclabError(
                f"node {os.uname().nodename}: {batch.recipe.file} ({changes}) uses files, stacks or programs that "
                "differ from those where the sweep was started"
            )
        for seed in seeds:
            if problem := _measure(batch.recipe, scenario, seed, found):
                found.problems[len(found.digest) + len(found.problems)] = problem
    return found


def _measure(recipe: Recipe, scenario: str, seed: int, found: Measured) -> str:
    """Run once, and append what is measured; returns why the run failed, or an empty text."""
    result = _result(recipe, scenario, seed)
    if isinstance(result, str):
        return result
    _append(recipe, scenario, result, found)
    return ""


def _result(recipe: Recipe, scenario: str, seed: int) -> RunResult | str:
    """Run once; returns the reason if the run failed."""
    try:
        result = _run(recipe, scenario, seed)
    except QuiclabError as error:
        return str(error)
    return _problem(result) or result


def _append(recipe: Recipe, scenario: str, result: RunResult, found: Measured) -> None:
    """Append what is measured in a run of a resolved scenario."""
    columns = _measures(recipe.metrics, tuple(workloads(json.loads(scenario)).items()))
    found.digest.append(result.digest)
    found.finished.append(all(flow.completed for flow in result.flows.values()))
    found.values.extend(float(column.measure(result)) for column in columns)
    if recipe.keep:
        found.tables.append(kept.contents(result, recipe.keep))


def _problem(result: RunResult) -> str:
    """Return why a run counts as failed; empty if it does not."""
    if problem := result.invalid_reason:
        return problem
    for name, flow in result.flows.items():
        if flow.failed:
            reason = f": {flow.failure}" if flow.failure else ""
            return f"flow `{name}` failed after {flow.delivered_bytes} bytes{reason}"
    return ""


def _run(recipe: Recipe, scenario: str, seed: int) -> RunResult:
    if (lane := recipe.lane_of(scenario)) is None:
        return run_resolved(scenario, seed, recipe.base_dir)
    return lane.run(Scenario(json.loads(scenario), recipe.base_dir), seed)


def check(plan: Plan, settings: Collection[int] | None = None, stream: TextIO | None = None) -> None:
    """Check settings, before the first run.

    Parameters
    ----------
    plan
        The sweep.
    settings
        Their indices; all by default.
    stream
        Output stream of progress (default: stderr).

    Raises
    ------
    RequestError
        If a setting is not a valid scenario, and the message has its changes; or if it needs a missing program.
    """
    chosen = range(len(plan.design.settings)) if settings is None else settings
    title = f"{plan.name}: checking"
    with CountProgress(title, len(chosen), 0, "settings", QUIET_S, stream or sys.stderr) as progress:
        for index in chosen:
            plan.identity(index)
            progress.advance()


class Probe(NamedTuple):
    """The first run: its duration [s], and why it failed, if it did."""

    seconds: float
    problem: str = ""


def probe(plan: Plan) -> Probe:
    """Run the first setting, so that an error in a metric comes before the others.

    A short run is repeated: the first one in a process loads code.

    Raises
    ------
    RequestError
        If a metric that is named by its path is no number of the result.
    """
    scenario = plan.scenario(0)
    for _ in range(2):
        begin, found = time.perf_counter(), Measured()
        result = _result(plan.recipe, scenario, plan.first_seed)
        if not isinstance(result, str):
            _append(plan.recipe, scenario, result, found)
        seconds = time.perf_counter() - begin
        if isinstance(result, str) or seconds > SHORT_S:
            break
    if not isinstance(result, str):
        for measure, value in zip(plan.measures, found.values, strict=True):
            missing = math.isnan(value) and measure.is_path
            if missing and (error := no_number(measure.column, result)) is not None:
                raise error
    return Probe(seconds, result if isinstance(result, str) else "")
