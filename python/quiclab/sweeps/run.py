"""Running a plan: what is not stored is run, and what was measured is stored."""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, TextIO

from quiclab.errors import QuiclabError, RequestError
from quiclab.executors import run_all
from quiclab.identity import BUILD
from quiclab.libraries import pl
from quiclab.native import build_id
from quiclab.progress import CountProgress
from quiclab.result import run_resolved
from quiclab.scenario import Scenario
from quiclab.store import IDENTITY, Flusher, Store
from quiclab.sweeps.metrics import Measure, measures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from quiclab.executors import Executor
    from quiclab.result import RunResult
    from quiclab.sweeps.plan import Plan, Task

#: Columns of a stored run before those of its metrics.
HEAD: Final = (IDENTITY, BUILD, "digest", "finished")
#: Time after which progress is shown [s].
QUIET_S: Final = 1.0
MAX_FAILURES: Final = 1000


@dataclass(frozen=True)
class Measured:
    """What a worker returns of a run.

    Attributes
    ----------
    digest
        Hash over every packet event; empty if the run failed.
    finished
        Whether every flow has done its workload.
    values
        Value of each column of the metrics; NaN where there is none.
    problem
        Why the run failed; empty if it did not.
    """

    digest: str
    finished: bool
    values: tuple[float, ...]
    problem: str = ""


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
        Whether Ctrl-C ended it.
    """

    total: int
    done: int = 0
    executed: int = 0
    failed: int = 0
    failures: list[tuple[Task, str]] = field(default_factory=list)
    interrupted: bool = False


def execute(
    plan: Plan,
    tasks: Iterable[Task],
    total: int,
    store: Store,
    executor: Executor,
    *,
    title: str = "",
    stream: TextIO | None = None,
) -> Outcome:
    """Run the tasks that are not stored.

    Parameters
    ----------
    plan
        The sweep.
    tasks, total
        Its runs, or some of them, and their number.
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
    columns = [measure.column for measure in plan.measures]
    schema = dict.fromkeys(HEAD[:3], pl.String) | {HEAD[3]: pl.Boolean} | dict.fromkeys(columns, pl.Float64)
    outcome, build = Outcome(total), build_id()
    with store.locked(), CountProgress(title or plan.name, total, 0, "runs", QUIET_S, stream or sys.stderr) as progress:
        stored = store.identities(columns)
        flusher = Flusher(store, schema)

        def pending() -> Iterator[Task]:
            for task in tasks:
                if task.identity in stored:
                    outcome.done += 1
                    progress.advance()
                else:
                    yield task

        def settle(task: Task, found: Measured) -> None:
            if found.problem:
                outcome.failed += 1
                if outcome.failed <= MAX_FAILURES:
                    outcome.failures.append((task, found.problem))
            else:
                outcome.executed += 1
                outcome.done += 1
                flusher.add((task.identity, build, found.digest, found.finished, *found.values))
            progress.advance()

        waiting = pending()
        first = next(waiting, None)
        if first is None:
            return outcome
        try:
            with executor:
                outcome.interrupted = run_all(
                    executor,
                    chain([first], waiting),
                    measure_run,
                    settle,
                    tick=flusher.flush_if_due,
                    say=progress.line,
                )
        finally:
            flusher.flush()
    return outcome


@cache
def _measures(names: tuple[str, ...], flows: tuple[str, ...]) -> list[Measure]:
    return measures(names, flows)


def measure_run(task: Task) -> Measured:
    """Run once and measure."""
    try:
        result = _run(task)
    except QuiclabError as error:
        return Measured("", False, (), str(error))
    if problem := result.invalid_reason:
        return Measured("", False, (), problem)
    for name, flow in result.flows.items():
        if flow.failed:
            reason = f": {flow.failure}" if flow.failure else ""
            return Measured("", False, (), f"flow `{name}` failed after {flow.delivered_bytes} bytes{reason}")
    columns = _measures(task.metrics, tuple(result.flows))
    finished = all(flow.completed for flow in result.flows.values())
    return Measured(result.digest, finished, tuple(float(column.measure(result)) for column in columns))


def _run(task: Task) -> RunResult:
    if task.lane is None:
        return run_resolved(task.scenario, task.seed, task.base_dir)
    scenario = replace(Scenario.from_dict(json.loads(task.scenario)), base_dir=task.base_dir)
    return task.lane.run(scenario, task.seed)


def check(plan: Plan, stream: TextIO | None = None) -> None:
    """Check every setting, before the first run.

    Raises
    ------
    RequestError
        If a setting is not a valid scenario; the message has its changes.
    """
    settings = plan.design.settings
    with CountProgress(
        f"{plan.name}: checking", len(settings), 0, "settings", QUIET_S, stream or sys.stderr
    ) as progress:
        for setting in settings:
            plan.scenario(setting)
            progress.advance()


def try_metrics(plan: Plan) -> tuple[Measured, float]:
    """Run the first setting once, so that an error in a metric comes before the others; also returns its duration [s].

    Raises
    ------
    RequestError
        If a metric that is named by its path is not in the result.
    """
    task = next(plan.tasks(iter([0]), range(1)))
    begin = time.perf_counter()
    found = measure_run(task)
    seconds = time.perf_counter() - begin
    if not found.problem:
        for measure, value in zip(plan.measures, found.values, strict=True):
            if "." in measure.column and measure.label == measure.column and math.isnan(value):
                raise RequestError(
                    f"--metric {measure.column}: not in the result of a run; `quiclab run --json` shows one"
                )
    return found, seconds
