"""The results of a sweep: tables with their plan, and what a reader of the numbers must know."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import pl
from quiclab.experiment.equal_runs import without_effect
from quiclab.experiment.identity import note_on_builds
from quiclab.experiment.sweeps.factors import plain
from quiclab.experiment.sweeps.table import HIGH, MEAN, PERCENT, N, differences, runs_table, summary, with_failed
from quiclab.experiment.table import FAILED, REASON, failed_runs
from quiclab.result.formats import counted, decimal

if TYPE_CHECKING:
    from quiclab.experiment.runs import Runs
    from quiclab.experiment.store import Store
    from quiclab.experiment.sweeps.design import Comparison
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.experiment.sweeps.plan import Plan

#: Rows of a table that a terminal or a page shows.
MAX_ROWS: Final = 200
DIGITS: Final = 4
#: Half an interval that is only rounding, of equal runs: over the mean, or whatever the mean, which may be 0.
NOISE: Final = 1e-12
#: Digits of half an interval.
HALF_DIGITS: Final = 2


@dataclass(frozen=True)
class Tables:
    """The results of a sweep.

    Attributes
    ----------
    plan
        The sweep.
    runs
        One row a run: see `table.runs_table`.
    settings
        One row a setting: see `table.summary`.
    notes
        What a reader of the numbers must know.
    compared
        What is compared; `None` for no comparison.
    """

    plan: Plan
    runs: pl.DataFrame
    settings: pl.DataFrame
    notes: tuple[str, ...] = ()
    compared: Comparison | None = None

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row a level that is compared: see `table.differences`; empty without a comparison."""
        if self.compared is None or self.runs.is_empty():
            return pl.DataFrame()
        factors = [factor.column for factor in self.plan.design.factors]
        found = differences(self.runs, factors, self.compared, self.plan.measures)
        levels = self.settings.filter(pl.col(self.compared.factor.column) != self.compared.reference).select(factors)
        counts = [pl.col(measure.column + N).fill_null(0) for measure in self.plan.measures]
        return levels.join(found, on=factors, how="left", maintain_order="left").with_columns(counts)

    def difference_rows(self, most: int = MAX_ROWS) -> list[list[str]]:
        """Return the first rows of the table of differences as texts."""
        return [self._cells(row) for row in self.differences.head(most).iter_rows(named=True)]

    def _cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of settings or differences as texts: factors, metrics, number of runs."""
        factors = [plain(row[factor.column]) for factor in self.plan.design.factors]
        metrics = []
        for measure in self.plan.measures:
            percent = row.get(measure.column + PERCENT)
            metrics.append(_interval(row, measure) + ("" if percent is None else f" ({percent:+.1f} %)"))
        return [*factors, *metrics, str(max(row[measure.column + N] for measure in self.plan.measures))]

    @classmethod
    def of(cls, plan: Plan, runs: Runs, store: Store, compared: Comparison | None = None) -> Tables:
        """Summarise the stored runs of a sweep."""
        table, builds = runs_table(plan, runs, store)
        settings = summary(table, [factor.column for factor in plan.design.factors], plan.measures)
        settings = with_failed(settings, failed_runs(runs, store), plan)
        notes = _notes(plan.name, table, settings, builds)
        if plan.sample is None:
            notes += without_effect(table, [factor.column for factor in plan.design.factors], _groups(plan))
        if compared is not None and len(table) and not (table[compared.factor.column] == compared.reference).any():
            notes.append(
                f"No run with {compared.factor.path} = {plain(compared.reference)} is stored: nothing is compared."
            )
        return cls(plan, table, settings, tuple(notes), compared)

    @property
    def heads(self) -> list[str]:
        """Heads of the table of settings: factors, metrics, number of runs, and if some failed, how many and why."""
        factors = [factor.title for factor in self.plan.design.factors]
        failed = [FAILED, REASON] if self.has_failed else []
        return [*factors, *(measure.title for measure in self.plan.measures), "runs", *failed]

    @property
    def has_failed(self) -> bool:
        """Whether a run of any setting has failed."""
        return bool(self.settings[FAILED].sum())

    @property
    def without_value(self) -> pl.DataFrame:
        """Rows of settings that have no value of any metric because runs failed."""
        nothing = [pl.col(measure.column + N) == 0 for measure in self.plan.measures]
        return self.settings.filter((pl.col(FAILED) > 0) & pl.all_horizontal(nothing))

    @property
    def difference_heads(self) -> list[str]:
        """Heads of the table of differences."""
        return [*self.heads[: len(self.plan.design.factors) + len(self.plan.measures)], "runs"]

    def rows(self, most: int = MAX_ROWS) -> list[list[str]]:
        """Return the first rows of the table of settings as texts."""
        rows = self.settings.head(most).iter_rows(named=True)
        if not self.has_failed:
            return [self._cells(row) for row in rows]
        return [[*self._cells(row), str(row[FAILED]), row[REASON] or "-"] for row in rows]


def _interval(row: dict[str, Any], measure: Measure) -> str:
    """Write a mean and half of its 95 % interval, both rounded to two digits of the half."""
    mean, high = row[measure.column + MEAN], row[measure.column + HIGH]
    if mean is None:
        return "-"
    if high is None or not high - mean > NOISE * max(1, abs(mean)):
        return decimal(mean, DIGITS)
    half = float(f"{high - mean:.{HALF_DIGITS}g}")
    places = HALF_DIGITS - 1 - math.floor(math.log10(half))  # negative: tens, hundreds and so on
    shown = max(0, places)
    return f"{round(mean, places) + 0.0:.{shown}f} ± {half:.{shown}f}"


def _notes(name: str, runs: pl.DataFrame, settings: pl.DataFrame, builds: set[str]) -> list[str]:
    notes = []
    if count := int(settings[FAILED].sum()):
        counts = [name for name in settings.columns if name.endswith(N)]
        without = settings.filter((pl.col(FAILED) > 0) & pl.all_horizontal(pl.col(name) == 0 for name in counts))
        some = f", all of {counted(len(without), 'setting')}" if len(without) else ""
        notes.append(f"{counted(count, 'run')} failed{some}: the reasons are in the table.")
    if runs.is_empty():
        return [*notes, "No run is stored."]
    unfinished = len(runs) - int(runs["finished"].sum())
    if unfinished:
        notes.append(
            f"{unfinished} of {len(runs)} runs ended before all flows had done their workload: their goodput is that "
            "of the time they had, and they have no download time."
        )
    digests = runs.group_by("setting", maintain_order=True).agg(pl.col("digest").n_unique(), pl.len())
    same = digests.filter((pl.col("digest") == 1) & (pl.col("len") > 1))
    if len(same):
        notes.append(
            f"All runs of {len(same)} of {len(settings)} settings are identical: nothing in them is random, so that "
            "one seed is enough and an interval says nothing."
        )
    if note := note_on_builds(builds, name):
        notes.append(note)
    return notes


def _groups(plan: Plan) -> list[tuple[str, set[str]]]:
    """Return the factors and their columns; those that go in step are one."""
    factors = plan.design.factors
    in_step = {text.partition("=")[0] for text in plan.zipped}
    together = [[factor for factor in factors if factor.path in in_step]]
    groups = [*filter(None, together), *([factor] for factor in factors if factor.path not in in_step)]
    return [(" and ".join(factor.path for factor in group), {factor.column for factor in group}) for group in groups]
