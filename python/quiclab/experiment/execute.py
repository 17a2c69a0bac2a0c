"""Running a plan: what is not stored is run, and the columns of its recording are stored."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias

from quiclab._base.libraries import np, pl
from quiclab._base.progress import CountProgress
from quiclab.errors import QuiclabError, RequestError, StoppedError
from quiclab.experiment import kept
from quiclab.experiment.executors import Interrupt, run_batches
from quiclab.experiment.failures import note_failures, read_failures
from quiclab.experiment.identity import BUILD, VERSIONS
from quiclab.experiment.networks import check_networks
from quiclab.experiment.store import IDENTITY, Flusher, Store, not_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from quiclab.experiment.executors import Executor
    from quiclab.experiment.plan import Plan, Recipe, Sets, Task
    from quiclab.experiment.recording import Recording
    from quiclab.experiment.runs import Runs

#: Columns of a stored run before those of its recording, and the names of their types: the table library loads slowly.
HEAD: Final = {IDENTITY: "String", VERSIONS: "String", BUILD: "String"}
#: Time after which progress is shown [s].
QUIET_S: Final = 1.0
MAX_FAILURES: Final = 1000
#: Failed runs that are named while others go on.
MAX_NAMED: Final = 20
#: Runs that become integers of Python at a time.
CHUNK: Final = 10_000

Batch: TypeAlias = "list[tuple[Recipe, Sets, str, list[int]]]"
"""Runs for a worker: each setting with its identity and its seeds."""


@dataclass
class Made:
    """What a worker returns of a batch.

    Attributes
    ----------
    columns
        The columns of the recording, run by run.
    files
        The tables that are kept of each run, as Parquet files.
    problems
        Why the others failed, by their positions in the batch.
    """

    columns: dict[str, list[Any]]
    files: list[list[bytes]] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """What became of a plan.

    Attributes
    ----------
    total, done, executed
        Different runs of the plan, those that are stored now, and those made by this call.
    failed
        Number of runs that failed.
    failures
        The first of them, with the reason.
    interrupted
        The signal that ended it: 2 of Ctrl-C, 15 of `kill`; 0 if none did.
    """

    total: int = 0
    done: int = 0
    executed: int = 0
    failed: int = 0
    failures: list[tuple[Task, str]] = field(default_factory=list)
    interrupted: int = 0

    def add(self, other: Outcome) -> None:
        """Add what became of further runs."""
        for name in ("total", "done", "executed", "failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures += other.failures
        self.interrupted = self.interrupted or other.interrupted

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of runs, as JSON has them."""
        found = {"runs": self.total, "runs_complete": self.done, "runs_new": self.executed}
        return {**found, "runs_failed": self.failed}

    def check_finished(self, what: str = "") -> None:
        """Check that no signal has ended it; `what` the runs are of, for the message.

        Raises
        ------
        StoppedError
            Otherwise.
        """
        if self.interrupted:
            runs = f"{self.done} of {self.total} runs{f' of {what}' if what else ''}"
            message = f"stopped: {runs} are complete and stored; repeat the command to continue"
            raise StoppedError(message, self.interrupted)


def until(run: Callable[[], Outcome], more: Callable[[], bool]) -> Outcome:
    """Make runs round by round; a failure or a signal ends it.

    Parameters
    ----------
    run
        Makes the runs that are planned.
    more
        Plans further runs; returns whether there are any.
    """
    outcome = run()
    while not (outcome.failed or outcome.interrupted) and more():
        executed, outcome = outcome.executed, run()
        outcome.executed += executed
    return outcome


def execute(
    runs: Runs,
    store: Store,
    executor: Executor,
    *,
    title: str = "",
    trial: Callable[[Task, Mapping[str, Any]], None] | None = None,
    stream: TextIO | None = None,
) -> Outcome:
    """Make the runs that are not stored.

    Parameters
    ----------
    runs
        Runs of a plan.
    store
        Where results go; may be locked by the caller already.
    executor
        Where they run.
    title
        Title of the progress (default: the name of the plan).
    trial
        Called with the first run that ends and its columns; an error of it ends the call, and keeps what was made.
    stream
        Output stream of progress (default: stderr).

    Raises
    ------
    RequestError
        If the directory cannot be written to, or another process holds it.
    QuiclabError
        If a network of runs in real time does not match its scenario.
    """
    plan, recording = runs.plan, runs.plan.recording
    outcome = Outcome(int(runs.is_first.sum()))
    with store.locked():
        stored = runs.stored(store)
        waiting = np.flatnonzero(~stored & runs.is_first)
        outcome.done = outcome.total - len(waiting)
        if not len(waiting):
            return outcome
        check_networks(plan, np.unique(runs.settings[waiting]).tolist(), stream)
        shown = CountProgress(title or plan.name, outcome.total, outcome.done, "runs", QUIET_S, stream or sys.stderr)
        flusher = Flusher(store)
        known, failed = read_failures(store.directory), dict[str, str]()
        repaired: set[str] = set()

        def pack(batch: Sequence[int]) -> Batch:
            chosen = runs.by_setting(np.asarray(batch))
            return [(*plan.setting(index), plan.identity(index)[0], seeds) for index, seeds in chosen]

        def settle(batch: Sequence[int], found: Made) -> None:
            nonlocal trial
            for place, problem in found.problems.items():
                task = runs.task(batch[place])
                outcome.failed += 1
                if outcome.failed <= MAX_FAILURES:
                    outcome.failures.append((task, problem))
                if outcome.failed <= MAX_NAMED:
                    progress.line(f"failed: {problem}; replay with: {plan.replay_of(task)}")
                failed[runs.names(np.array([batch[place]]))[0]] = problem
            made = np.delete(np.asarray(batch), list(found.problems))
            if len(made):
                head = runs.head(made)
                # before the rows: a run that is stored has its tables
                for identity, files in zip(head[IDENTITY], found.files, strict=False):
                    try:
                        kept.write(store.directory, recording.tables, identity, files)
                    except RequestError as error:
                        raise not_stored(error) from error
                flusher.add(pl.DataFrame({**head, **found.columns}, schema=row_kinds(recording)))
                stored[made] = True
                outcome.executed += len(made)
                outcome.done += len(made)
                if known:
                    repaired.update(head[IDENTITY])
                if trial is not None:
                    trial(runs.task(int(made[0])), {name: column[0] for name, column in found.columns.items()})
                    trial = None
            progress.advance(len(batch))

        try:
            with shown as progress, executor:
                outcome.interrupted = run_batches(
                    executor,
                    _numbers(waiting),
                    pack,
                    make_batch,
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
    return outcome


def _numbers(positions: np.ndarray) -> Iterator[int]:
    """List positions as integers of Python, some at a time."""
    for start in range(0, len(positions), CHUNK):
        yield from positions[start : start + CHUNK].tolist()


def row_kinds(recording: Recording) -> dict[str, type[pl.DataType]]:
    """Return the columns of a stored run, and their types."""
    return {name: getattr(pl, kind) for name, kind in {**HEAD, **recording.kinds}.items()}


def make_batch(batch: Batch) -> Made:
    """Make the runs of a batch.

    Raises
    ------
    QuiclabError
        If a setting is not here what it is where the plan was made: files or stacks of a node are others.
    """
    names = list(batch[0][0].recording.kinds)
    found = Made({name: [] for name in names})
    position = 0
    for recipe, sets, identity, seeds in batch:
        scenario = recipe.resolve(sets)
        if recipe.identity(scenario)[0] != identity:
            changes = ", ".join(f"{path}={value}" for path, value in sets) or "as it is"
            raise QuiclabError(
                f"node {os.uname().nodename}: {recipe.file} ({changes}) uses files, stacks or programs that "
                "differ from those where the sweep was started"
            )
        for seed in seeds:
            result = recipe.run(sets, scenario, seed)
            if isinstance(result, str):
                found.problems[position] = result
            else:
                for column, value in zip(found.columns.values(), recipe.recording.row(result), strict=True):
                    column.append(value)
                if recipe.recording.tables:
                    found.files.append(kept.contents(result, recipe.recording.tables))
            position += 1
    return found


def check(plan: Plan, settings: Collection[int] | None = None, stream: TextIO | None = None) -> None:
    """Check settings, before the first run.

    Parameters
    ----------
    plan
        The plan.
    settings
        Their indices; all by default.
    stream
        Output stream of progress (default: stderr).

    Raises
    ------
    RequestError
        If a setting is not a valid scenario, and the message has its changes; or if it needs a missing program.
    """
    chosen = range(len(plan)) if settings is None else settings
    title = f"{plan.name}: checking"
    with CountProgress(title, len(chosen), 0, "settings", QUIET_S, stream or sys.stderr) as progress:
        for index in chosen:
            if (lane := plan.lane_of(index)) is not None:
                lane.check_programs(json.loads(plan.scenario(index)))
            plan.identity(index)
            progress.advance()
