"""A sweep in progress: checked, run once or until precise, and read."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from quiclab._base.progress import duration
from quiclab.errors import QuiclabError
from quiclab.experiment import kept
from quiclab.experiment.execute import Outcome, check, execute, until
from quiclab.experiment.plan import Task
from quiclab.experiment.repetitions import MIN_RUNS
from quiclab.experiment.runs import Runs
from quiclab.experiment.sweeps.adaptive import too_wide, wanted_seeds
from quiclab.experiment.sweeps.metrics import no_number
from quiclab.experiment.sweeps.tables import Tables
from quiclab.result.formats import counted

if TYPE_CHECKING:
    from quiclab.experiment.executors import Executor
    from quiclab.experiment.store import Store
    from quiclab.experiment.sweeps.design import Comparison
    from quiclab.experiment.sweeps.plan import Plan


#: A run that took less is tried twice [s].
SHORT_S: Final = 0.5


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
        If a metric that is named by its path is no number of the result, or a table that is kept is not recorded.
    """
    (recipe, sets), scenario = plan.setting(0), plan.scenario(0)
    for _ in range(2):
        begin = time.perf_counter()
        result = recipe.run(sets, scenario, plan.first_seed)
        if isinstance(result, str):
            return Probe(time.perf_counter() - begin, result)
        values = plan.recording.row(result)
        kept.contents(result, plan.keep)
        for measure, value in zip(reversed(plan.measures), reversed(values), strict=False):
            if math.isnan(value) and measure.path and (error := no_number(measure.place_in(result), result)):
                raise error
        if (seconds := time.perf_counter() - begin) > SHORT_S:
            break
    return Probe(seconds)


class Session:
    """A sweep and its store.

    Parameters
    ----------
    plan
        The sweep.
    store
        Where its results go.
    executor
        Where its runs are made.
    stream
        Output stream of progress (default: stderr).
    """

    def __init__(self, plan: Plan, store: Store, executor: Executor, stream: TextIO | None = None) -> None:
        self.plan, self.store, self.executor = plan, store, executor
        self.stream = stream or sys.stderr
        self.seeds = [plan.seeds] * len(plan.design.settings)
        self.spent: list[str] = []
        self.probe = Probe(0.0)
        self.waiting = 0
        self._runs: tuple[list[int], Runs] | None = None

    def check(self) -> None:
        """Check all settings, then the metrics by one run, if any is to be made.

        Raises
        ------
        RequestError
            If one is wrong.
        """
        check(self.plan, stream=self.stream)
        self.waiting = self.plan.total - int(self.runs.stored(self.store).sum())
        if self.waiting:
            self.probe = probe(self.plan)

    @property
    def estimate_s(self) -> float:
        """How long the missing runs take if each takes as long as the one that was tried [s]."""
        workers = max(1, min(self.executor.workers, self.waiting))
        return math.ceil(self.waiting / workers) * self.probe.seconds

    @property
    def runs(self) -> Runs:
        """The runs, with the present number of seeds of each setting."""
        if self._runs is None or self._runs[0] != self.seeds:
            self._runs = (list(self.seeds), Runs.of(self.plan, self.seeds))
        return self._runs[1]

    def run(self) -> Outcome:
        """Run what is missing."""
        return execute(self.runs, self.store, self.executor, stream=self.stream)

    def run_until(self, precision: float, most: int) -> Outcome:
        """Run until all intervals have a precision, or a setting has the most seeds; `spent` tells what it took.

        Parameters
        ----------
        precision
            Half of a 95 % interval divided by the mean, at most.
        most
            Number of seeds that no setting exceeds.
        """
        self.seeds = [min(most, max(MIN_RUNS, self.plan.seeds))] * len(self.seeds)
        wide: dict[int, float] = {}

        def more() -> bool:
            nonlocal wide
            before, wide = self.seeds, too_wide(self.tables().settings, self.plan.measures, precision)
            self.seeds = wanted_seeds(wide, before, most)
            return self.seeds != before

        with self.store.locked():
            outcome = until(self.run, more)
        if outcome.interrupted or outcome.failed:
            return outcome
        self.spent.append(f"{sum(self.seeds)} runs in all, {min(self.seeds)} to {max(self.seeds)} in a setting")
        if wide:
            self.spent.append(
                f"{counted(len(wide), 'setting')} less precise than {100 * precision:g} %, with at most {most} seeds"
            )
        return outcome

    def tables(self, compared: Comparison | None = None) -> Tables:
        """Return the results."""
        return Tables.of(self.plan, self.runs, self.store, compared)


def cost_line(plan: Plan, session: Session, most: int | None = None) -> str:
    """Return the number of runs and an estimate of the time they take, from the run that was tried.

    Parameters
    ----------
    plan, session
        The sweep.
    most
        Number of seeds that no setting exceeds, if seeds are added until the results are precise.

    Raises
    ------
    QuiclabError
        If that run failed.
    """
    settings = counted(len(plan.design.settings), "setting")
    seeds, total, stored = counted(plan.seeds, "seed"), counted(plan.total, "run"), plan.total - session.waiting
    runs = f"{settings} with {seeds}: {total}, {stored} stored."
    if not session.waiting:
        return runs + _at_most(plan, most)
    if session.probe.problem:
        replay = plan.replay_of(Task(0, plan.first_seed))
        raise QuiclabError(f"{runs} The first run failed: {session.probe.problem}; replay with: {replay}")
    workers = min(session.executor.workers, session.waiting)
    first = f"{runs} A run of the first setting took {duration(session.probe.seconds)}"
    if session.waiting > 1:
        estimate = duration(session.estimate_s)
        what = f"{session.waiting} runs that are not stored" if stored else f"all {session.waiting} runs"
        first += f"; if each does, {what} take {estimate} on {counted(workers, 'worker')}"
    return f"{first}.{_at_most(plan, most)}"


def _at_most(plan: Plan, most: int | None) -> str:
    """Say how many runs `--adaptive` can add."""
    if most is None or most <= plan.seeds:
        return ""
    settings = len(plan.design.settings)
    return f" --adaptive adds seeds where they are needed, up to {most}: {settings * most} runs at most."
