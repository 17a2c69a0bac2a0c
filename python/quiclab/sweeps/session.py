"""A sweep in progress: checked, run once or until precise, and read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from quiclab.sweeps import run
from quiclab.sweeps.adaptive import MIN_RUNS, wanted_seeds
from quiclab.sweeps.output import Tables
from quiclab.sweeps.run import Outcome, execute
from quiclab.sweeps.runs import Runs
from quiclab.sweeps.table import runs_table

if TYPE_CHECKING:
    from quiclab.executors import Executor
    from quiclab.store import Store
    from quiclab.sweeps.plan import Plan


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
        self.probe_s = 0.0
        self._runs: tuple[list[int], Runs] | None = None

    def check(self) -> None:
        """Check all settings, then the metrics by one run.

        Raises
        ------
        RequestError
            If one is wrong.
        """
        run.check(self.plan, stream=self.stream)
        self.probe_s = run.try_metrics(self.plan)

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
        executed = 0
        with self.store.locked():
            while True:
                outcome = self.run()
                executed += outcome.executed
                outcome.executed = executed
                if outcome.interrupted or outcome.failed:
                    return outcome
                settings = self.tables().settings
                wanted = wanted_seeds(settings, self.seeds, self.plan.measures, precision, most)
                if wanted == self.seeds:
                    break
                self.seeds = wanted
        above = wanted_seeds(settings, self.seeds, self.plan.measures, precision, 2 * most)
        missed = sum(more > now for more, now in zip(above, self.seeds, strict=True))
        self.spent.append(
            f"{sum(self.seeds)} runs in all, {min(self.seeds)} to {max(self.seeds)} a setting"
            + (f"; {missed} settings have {most} seeds and are less precise than {precision:.2g}" if missed else "")
        )
        return outcome

    def tables(self, compared: str | None = None) -> Tables:
        """Return the results; the levels of the factor `compared` are compared with its first one."""
        return Tables.of(self.plan, runs_table(self.runs, self.store), self.store, compared)


def cost_line(plan: Plan, session: Session) -> str:
    """Return the number of runs and an estimate of the time they take, from the run that was tried."""
    workers = session.executor.workers
    columns = [measure.column for measure in plan.measures]
    done = int(session.runs.stored(session.store, columns).sum())
    seconds = (plan.total - done) * session.probe_s / workers
    return (
        f"{len(plan.design.settings)} settings with {plan.seeds} seeds: {plan.total} runs, {done} stored. "
        f"The first setting took {session.probe_s:.3g} s a run; if all do, the others take {_duration(seconds)} on "
        f"{workers} workers."
    )


def _duration(seconds: float) -> str:
    """Write a time for people."""
    for limit, unit, divisor in ((120.0, "s", 1.0), (7200.0, "min", 60.0)):
        if seconds < limit:
            return f"{seconds / divisor:.2g} {unit}"
    return f"{seconds / 3600:.3g} h"
