"""Maps of the difference of two configurations over two factors, with its significance; and the agreement of two maps.

The difference of a cell is (mean of the second - mean of the first) / mean of the first in percent. Where two runs at
least are paired by seed, both means are those of the pairs, and the significance is that of Student's t-test of their
differences; that of Welch's t-test of all runs otherwise. A cell of which all runs are the same on both sides, or of
which a side has fewer than two, has no p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from quiclab.result.stats import (
    SIGNIFICANT,
    Summary,
    pairs_of,
    pearson,
    percent_difference,
    summarise,
    t_test_p,
    welch_p,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.study import Figure, HeatMap, Study, Value
    from quiclab.study.evaluate import Evaluation
    from quiclab.study.findings import Key


@dataclass(frozen=True)
class Cell:
    """One cell: its place, the runs of both configurations there, and their differences paired by seed, if they are."""

    row: Value
    column: Value
    first: Summary
    second: Summary
    pairs: Summary | None = None

    @cached_property
    def difference(self) -> float:
        """Difference in percent of the first mean."""
        return percent_difference(self.first.mean, self.second.mean)

    @cached_property
    def p(self) -> float:
        """P-value of the difference; NaN if there is none."""
        p = welch_p(self.first, self.second)  # none where neither side has any scatter
        return p if self.pairs is None or math.isnan(p) else t_test_p(self.pairs)

    @property
    def significant(self) -> bool | None:
        """Whether p is below 0.01; `None` if there is no p-value."""
        return None if math.isnan(self.p) else self.p < SIGNIFICANT


@dataclass(frozen=True)
class MapScore:
    """How a measured map agrees with a published one.

    Attributes
    ----------
    cells
        Cells that both have.
    correlation
        Pearson's correlation of the differences over these; NaN below three cells.
    significant
        Cells of these whose published difference is significant.
    right_sign
        Cells of the significant ones whose measured difference has the same sign.
    also_significant
        Cells of those whose measured difference is significant, too.
    """

    cells: int
    correlation: float
    significant: int
    right_sign: int
    also_significant: int

    @property
    def sign_share(self) -> float:
        """Share of the published significant cells that have the right sign; NaN without such cells."""
        return self.right_sign / self.significant if self.significant else math.nan


@dataclass(frozen=True)
class MeasuredMap:
    """The cells of a figure, published and measured; cells without values are omitted."""

    figure: Figure
    map: HeatMap
    published: Sequence[Cell]
    measured: Sequence[Cell]

    @cached_property
    def pairs(self) -> list[tuple[Cell, Cell]]:
        """Cells that both have: published, measured."""
        measured = {(cell.row, cell.column): cell for cell in self.measured}
        return [
            (cell, measured[cell.row, cell.column]) for cell in self.published if (cell.row, cell.column) in measured
        ]

    @property
    def score(self) -> MapScore:
        """Agreement of both maps."""
        return score(self.pairs)

    @property
    def test(self) -> str:
        """Name of the test of the measured cells."""
        paired = any(cell.pairs is not None for cell in self.measured)
        return "Student's t-test of runs paired by seed" if paired else "Welch's t-test"


def cells_of(
    study: Study, wanted: HeatMap, summaries: Mapping[Key, Summary], runs: Mapping[Key, Mapping[int, float]]
) -> list[Cell]:
    """Return the cells of a map, row by row; those of which a configuration has no value are left out.

    Parameters
    ----------
    study
        The study.
    wanted
        The title of the map.
    summaries
        Means by configuration and value of each factor.
    runs
        Value by seed of each of these; empty if the runs are not known.
    """
    found = []
    for row in study.design.factor(wanted.rows).values:
        for column in study.design.factor(wanted.columns).values:
            place = {**wanted.at, wanted.rows: row, wanted.columns: column}
            setting = tuple(place[factor.name] for factor in study.design.factors)
            keys = [(name, *setting) for name in (wanted.first, wanted.second)]
            first, second = (summaries.get(key) for key in keys)
            if (pairs := pairs_of(*(runs.get(key, {}) for key in keys))) is not None:
                first, second = pairs.first, pairs.second
            if first and second and not math.isnan(percent_difference(first.mean, second.mean)):
                found.append(Cell(row, column, first, second, None if pairs is None else pairs.differences))
    return found


def map_of(evaluation: Evaluation, figure: Figure, engine: str) -> MeasuredMap:
    """Return the cells of a figure that is a map."""
    if figure.map is None:
        raise ValueError(f"the figure `{figure.title}` is not a map")
    printed = {row.key: row.summary for row in evaluation.reference(figure.metric)}
    runs = evaluation.by_seed(engine, metric=figure.metric)
    measured = {key: summarise(list(values.values())) for key, values in runs.items()}
    study, wanted = evaluation.study, figure.map
    return MeasuredMap(figure, wanted, cells_of(study, wanted, printed, {}), cells_of(study, wanted, measured, runs))


def maps_of(evaluation: Evaluation, engine: str) -> list[MeasuredMap]:
    """Return the maps among the figures of a study."""
    figures = evaluation.study.presentation.figures
    return [map_of(evaluation, figure, engine) for figure in figures if figure.map is not None]


def score(pairs: Sequence[tuple[Cell, Cell]]) -> MapScore:
    """Compare two maps over the cells that both have.

    Parameters
    ----------
    pairs
        Published and measured cell of each place.
    """
    significant = [(published, measured) for published, measured in pairs if published.significant]
    right = [measured for published, measured in significant if published.difference * measured.difference > 0]
    return MapScore(
        cells=len(pairs),
        correlation=pearson([one.difference for one, _ in pairs], [other.difference for _, other in pairs]),
        significant=len(significant),
        right_sign=len(right),
        also_significant=sum(bool(cell.significant) for cell in right),
    )
