"""Tables of a sweep: one row a run, and one row a setting with means and 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quiclab._base.libraries import np, pl
from quiclab.experiment import kept
from quiclab.experiment.identity import BUILD
from quiclab.experiment.store import IDENTITY
from quiclab.experiment.table import FAILED, SEED, SETTING, stored_runs
from quiclab.result.stats import half_widths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.experiment.runs import Runs
    from quiclab.experiment.store import Store
    from quiclab.experiment.sweeps.design import Comparison
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.experiment.sweeps.plan import Plan

#: Suffixes of the columns of a metric in the table of settings.
SUFFIXES = N, MEAN, STD, LOW, HIGH = ".n", ".mean", ".std", ".low", ".high"
PERCENT: Final = ".percent"
_FIRST: Final = ".reference"


def runs_table(plan: Plan, runs: Runs, store: Store) -> tuple[pl.DataFrame, set[str]]:
    """Return the stored runs in the order of the sweep, and the builds that made them.

    Parameters
    ----------
    plan
        The sweep.
    runs, store
        Its runs, and where they are.

    Returns
    -------
    tuple
        `setting` (index from 0), one column a factor, `seed`, `finished`, `digest`, one column a metric, and one column
        a table that is kept, with the name of its file; the same
        bytes however often the sweep was stopped, and on any number of workers.
    """
    recording = plan.recording
    columns = {"finished": pl.Boolean, "digest": pl.String, BUILD: pl.String}
    stored = stored_runs(runs, store, columns | dict.fromkeys(recording.columns, pl.Float64))
    if stored.is_empty():
        return pl.DataFrame(), set()
    files = kept.columns(recording.tables, stored[IDENTITY].to_list())
    builds = set(stored[BUILD].unique().cast(pl.String).to_list())
    table = settings_table(plan)[stored[SETTING]].with_columns(*stored.drop(SETTING, IDENTITY, BUILD), *files)
    return table, builds


def settings_table(plan: Plan) -> pl.DataFrame:
    """Return one row a setting: its index, and the value of each factor."""
    return pl.DataFrame({SETTING: np.arange(len(plan)), **plan.design.cells()})


def with_failed(settings: pl.DataFrame, failed: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the table of settings with a row for each setting of the sweep, and columns `failed` and `reason`.

    Parameters
    ----------
    settings
        As of `summary`: settings that have runs.
    failed
        As of `failed_runs`.
    plan
        The sweep.
    """
    every = settings_table(plan)
    factors = [name for name in every.columns if name != SETTING]
    columns = [f"{item.column}{suffix}" for item in plan.measures for suffix in SUFFIXES]
    if settings.is_empty():
        kinds = {name: pl.UInt32 if name.endswith(N) else pl.Float64 for name in columns}
        settings = pl.DataFrame(schema={SETTING: every.schema[SETTING], **kinds})
    counts = [pl.col(f"{item.column}{N}").fill_null(0) for item in plan.measures]
    found = every.join(settings.drop(factors, strict=False), on=SETTING, how="left", maintain_order="left")
    failed = failed.with_columns(pl.col(SETTING).cast(every.schema[SETTING]))
    found = found.join(failed, on=SETTING, how="left", maintain_order="left")
    return found.with_columns(*counts, pl.col(FAILED).fill_null(0))


def summary(runs: pl.DataFrame, factors: Sequence[str], measures: Sequence[Measure]) -> pl.DataFrame:
    """Return one row a setting with its runs: mean, standard deviation and 95 % interval of each metric.

    Parameters
    ----------
    runs
        As `runs_table` returns them.
    factors
        Columns of the factors.
    measures
        The metrics.

    Returns
    -------
    DataFrame
        `setting`, the factors, and for each metric `.n` (runs that have a value), `.mean`, `.std` (ddof 1), `.low` and
        `.high` (Student's t; null below two runs).
    """
    if runs.is_empty():
        return runs
    columns = [measure.column for measure in measures]
    same = [pl.col(name).first() for name in factors]
    spreads = (item for column in columns for item in _spread(column, pl.col(column).fill_nan(None)))
    table = _with_intervals(runs.group_by(SETTING, maintain_order=True).agg(*same, *spreads), columns)
    return table.select(SETTING, *factors, *(column + suffix for column in columns for suffix in SUFFIXES))


def _spread(column: str, value: pl.Expr) -> list[pl.Expr]:
    """Return number, mean and standard deviation of values of a metric."""
    return [value.count().alias(column + N), value.mean().alias(column + MEAN), value.std(ddof=1).alias(column + STD)]


def _with_intervals(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Add the 95 % intervals of means by Student's t."""
    for column in columns:
        half = pl.Series(column, half_widths(table[column + N].to_numpy(), table[column + STD].to_numpy()))
        mean = table[column + MEAN]
        table = table.with_columns(
            (mean - half).fill_nan(None).alias(column + LOW), (mean + half).fill_nan(None).alias(column + HIGH)
        )
    return table


def differences(
    runs: pl.DataFrame, factors: Sequence[str], compared: Comparison, measures: Sequence[Measure]
) -> pl.DataFrame:
    """Return how far each level of a factor is from its first one, paired by seed.

    Runs with the same seed share what is random outside of the compared factor, so that the interval of their
    difference is narrower than that of two independent means where they have much in common.

    Parameters
    ----------
    runs
        As `runs_table` returns them.
    factors
        Columns of the factors.
    compared
        What is compared.
    measures
        The metrics.

    Returns
    -------
    DataFrame
        The factors, and for each metric `.n` (pairs), `.mean` (of level minus reference), `.std` (ddof 1), `.low` and
        `.high` (95 % interval by Student's t of the pairs) and `.percent` (the mean in percent of the reference's in
        the same pairs; null where that is 0).
    """
    columns = [measure.column for measure in measures]
    is_first = pl.col(compared.factor.column) == compared.reference
    first = runs.filter(is_first).select(*compared.others, SEED, *columns)
    rest = runs.filter(~is_first)
    pairs = rest.join(first, on=[*compared.others, SEED], how="inner", suffix=_FIRST, maintain_order="left")
    table = pairs.group_by(*factors, maintain_order=True).agg(
        aggregate
        for column in columns
        for difference in [(pl.col(column) - pl.col(column + _FIRST)).fill_nan(None)]
        for reference in [pl.col(column + _FIRST).filter(difference.is_not_null()).mean()]
        for aggregate in (
            *_spread(column, difference),
            pl.when(reference != 0).then(100 * difference.mean() / reference).alias(column + PERCENT),
        )
    )
    order = [f"{column}{suffix}" for column in columns for suffix in (*SUFFIXES, PERCENT)]
    return _with_intervals(table, columns).select(*factors, *order)
