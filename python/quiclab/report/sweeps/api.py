"""Sweeps from Python: `quiclab.sweep`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from quiclab._base import notebook
from quiclab._base.files import read_text
from quiclab.errors import QuiclabError, RequestError, unexpected, unknown
from quiclab.experiment import kept
from quiclab.experiment.store import Store
from quiclab.experiment.sweeps.adaptive import most_seeds
from quiclab.experiment.sweeps.plan import Plan
from quiclab.experiment.sweeps.session import Session
from quiclab.report.figures import Plot
from quiclab.report.sweeps.figure import Style, chart
from quiclab.report.sweeps.labels import Labels
from quiclab.result.formats import counted
from quiclab.scenario import Scenario, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from quiclab.experiment.executors import Executor
    from quiclab.experiment.sweeps.tables import Tables
    from quiclab.lane.run import Lane


@dataclass(frozen=True, repr=False)
class SweepResult:
    """The results of a sweep; a notebook shows the table of settings.

    Attributes
    ----------
    tables
        Tables with their plan.
    directory
        Where runs are stored; `None` if they are not.
    """

    tables: Tables
    directory: Path | None = None

    def kept(self, table: str) -> pl.LazyFrame:
        """Return a table of all runs, read as it is needed, with the factors and the seed of each run.

        Parameters
        ----------
        table
            Its name, such as `series`.

        Raises
        ------
        RequestError
            If the sweep did not keep it.
        """
        plan = self.tables.plan
        if self.directory is None or table not in plan.keep:
            raise unknown("table", table, plan.keep, "kept")
        return kept.scan(self.directory, table, self.runs)

    @property
    def runs(self) -> pl.DataFrame:
        """One row a run: factors, `seed`, `finished`, `digest`, and one column a metric."""
        return self.tables.runs

    @property
    def settings(self) -> pl.DataFrame:
        """One row a setting: factors, `.n`, `.mean`, `.std`, `.low`, `.high` of each metric, `failed`, `reason`."""
        return self.tables.settings

    @property
    def differences(self) -> pl.DataFrame:
        """One row a compared level: its difference from the first one, paired by seed; empty without `compare`."""
        return self.tables.differences

    @property
    def metrics(self) -> list[str]:
        """Columns of the metrics."""
        return [measure.column for measure in self.tables.plan.measures]

    def plot(
        self, metric: str | None = None, *, kind: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Plot:
        """Return the figure of a metric.

        Parameters
        ----------
        metric
            Its column; the first one by default.
        kind
            `lines`, `map`, `groups`, `rows`, `distribution` or `marks`: see `quiclab.report.sweeps.layout.KINDS`. By
            default the one that what varies asks for.
        labels
            Texts in place of names: of the path of a factor, of `PATH.LEVEL` for one of its levels, of a metric.

        Raises
        ------
        RequestError
            If the sweep has no such metric, does not have what the kind needs, or nothing of a name that has a label.
        """
        name = metric or self.metrics[0]
        if name not in self.metrics:
            raise unknown("metric", name, self.metrics, "metric")
        measure = self.tables.plan.measures[self.metrics.index(name)]
        plan = self.tables.plan
        return Plot(chart(plan, self.runs, self.settings, measure, Style(kind, Labels.of(plan, labels))))

    def __repr__(self) -> str:
        """Say how many runs of how many settings there are, and the metrics."""
        return f"<SweepResult of {self.tables.plan.name!r}: {self._counts}; {', '.join(self.metrics)}>"

    @property
    def _counts(self) -> str:
        return f"{counted(len(self.settings), 'setting')}, {counted(len(self.runs), 'run')}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the table of settings, and the notes; figures are those of `plot`."""
        tables, factors = self.tables, len(self.tables.plan.design.factors)
        rows = tables.rows(notebook.MAX_ROWS)
        more = len(self.settings) - len(rows)
        parts = [notebook.sentence(f"{self._counts}. Means with half of their 95 % intervals:")]
        parts.append(notebook.table(tables.heads, rows, factors))
        if more:
            parts.append(notebook.sentence(f"{counted(more, 'further setting')}: see `settings`.", soft=True))
        if tables.compared is not None:
            title = f"Differences from the first level of {tables.compared.factor.path}, paired by seed"
            differences = tables.difference_rows(notebook.MAX_ROWS)
            parts.append(notebook.folded(title, notebook.table(tables.difference_heads, differences, factors)))
        notes = (notebook.sentence(f"Note: {note}", soft=True) for note in tables.notes)
        return notebook.block(f"Sweep of {tables.plan.name}", *parts, *notes)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give `runs` to libraries of tables by the PyCapsule interface of Arrow."""
        return self.runs.__arrow_c_stream__(requested_schema)


def sweep(
    scenario: str | Path | Scenario,
    vary: Mapping[str, object] | None = None,
    *,
    zipped: Mapping[str, object] | None = None,
    sample: str | None = None,
    seeds: int = 5,
    first_seed: int = 1,
    metrics: str | Iterable[str] = "goodput",
    keep: str | Iterable[str] = (),
    compare: str | None = None,
    adaptive: float | None = None,
    max_seeds: int | None = None,
    lane: Lane | None = None,
    executor: Executor | None = None,
    out: str | Path | None = None,
) -> SweepResult:
    """Run a scenario over the levels of factors, with many seeds.

    Parameters
    ----------
    scenario
        A file, or a scenario.
    vary
        Path -> levels: a list of values, or a text as of `--vary`, such as `10..200:log5`. All levels are combined.
    zipped
        Factors that change together.
    sample
        `lhs:N` or `sobol:N` draws N settings instead.
    seeds, first_seed
        Runs of each setting, and the seed of the first.
    metrics
        Names of metrics, or paths in a result: see `quiclab sweep --list-metrics`.
    keep
        Tables of each run to keep, such as `series` or `packets`; they need `out`.
    compare
        Path of a factor whose levels are compared with its first one, paired by seed.
    adaptive
        Add seeds until half of each 95 % interval is at most this part of the mean.
    max_seeds
        With `adaptive`, no setting has more (default: 200, or `seeds` if that is more).
    lane
        How runs are made in the kernel lane; `None` is the sim lane.
    executor
        Where runs are made (default: processes of this machine).
    out
        Directory where runs are stored, and reused from; `None` stores nothing.

    Raises
    ------
    RequestError
        If a setting is not a valid scenario, or another argument is wrong.
    QuiclabError
        If runs fail.
    """
    plan = Plan(
        **_source(scenario),
        varied=_texts(vary),
        zipped=_texts(zipped),
        sample=sample,
        seeds=seeds,
        first_seed=first_seed,
        metrics=(metrics,) if isinstance(metrics, str) else tuple(metrics),
        keep=(keep,) if isinstance(keep, str) else tuple(dict.fromkeys(keep)),
        lane=lane,
    )
    if plan.keep and out is None:
        raise RequestError("keep: the tables of runs are kept in a directory: give `out`", path="keep")
    return run_plan(plan, executor, compare, adaptive, max_seeds, None if out is None else Path(out))


def run_plan(
    plan: Plan,
    executor: Executor | None = None,
    compare: str | None = None,
    adaptive: float | None = None,
    max_seeds: int | None = None,
    out: Path | None = None,
) -> SweepResult:
    """Run a plan; the parameters are those of `sweep`."""
    if out is None:
        with TemporaryDirectory(prefix="quiclab-sweep-") as directory:
            return run_plan(plan, executor, compare, adaptive, max_seeds, Path(directory))
    compared = None if compare is None else plan.design.compared(compare)
    most = most_seeds(max_seeds, plan.seeds, "max_seeds")
    if adaptive is not None and not (isinstance(adaptive, int | float) and 0 < adaptive <= 1):
        raise unexpected("adaptive", "a number above 0, at most 1", adaptive)
    session = Session(plan, Store(out), executor or plan.executor())
    session.check()
    outcome = session.run() if adaptive is None else session.run_until(adaptive, most)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.failed:
        task, reason = outcome.failures[0]
        raise QuiclabError(
            f"{outcome.failed} of {outcome.total} runs failed, the first: {reason}; {plan.replay_of(task)}"
        )
    return SweepResult(session.tables(compared), out)


def _source(scenario: str | Path | Scenario) -> dict[str, Any]:
    """Return file and text of a scenario."""
    if isinstance(scenario, Scenario):
        return {"file": Path(scenario.base_dir) / "scenario.json", "text": scenario.to_json()}
    return {"file": Path(scenario), "text": read_text(Path(scenario))}


def _texts(factors: Mapping[str, object] | None) -> tuple[str, ...]:
    """Write factors as `--vary` takes them."""

    def level(value: object) -> str:
        return value if isinstance(value, str) else str(tree.toml_value(value))

    return tuple(
        f"{path}={','.join(map(level, levels)) if isinstance(levels, list | tuple) else level(levels)}"
        for path, levels in (factors or {}).items()
    )
