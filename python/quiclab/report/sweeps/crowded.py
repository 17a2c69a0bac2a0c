"""Figures of more settings than a figure can show: levels are left out of lines, and joined in heat maps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from quiclab._base.libraries import np, pl
from quiclab.experiment.sweeps.table import HIGH, LOW, MEAN, N

if TYPE_CHECKING:
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.report.sweeps.layout import Layout

#: Points in a chart: more than pixels across.
MAX_POINTS: Final = 5000
#: Levels of an axis of a heat map; where there are more, a cell is the mean of neighbours.
MAX_MAP_LEVELS: Final = 40
#: Settings in a figure that has a row for each.
MAX_BARS: Final = 200


def drawable(chosen: Layout, settings: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    """Return the table of settings with as many rows as a figure can show.

    Parameters
    ----------
    chosen
        The figure.
    settings
        As of `table.summary`.
    measure
        The metric that is drawn.
    """
    if chosen.kind == "lines" and chosen.x is not None and len(settings) > MAX_POINTS:
        levels = settings[chosen.x.column].unique().sort()
        kept = levels.gather_every(math.ceil(len(settings) / MAX_POINTS))
        return settings.filter(pl.col(chosen.x.column).is_in(kept.implode()))
    axes = [factor.column for factor in (chosen.x, chosen.y) if factor is not None]
    crowded = [name for name in axes if chosen.kind == "map" and settings[name].n_unique() > MAX_MAP_LEVELS]
    if not crowded:
        return settings
    joined = settings.with_columns(_joined(settings[name]) for name in crowded)
    cells = [*axes, *(factor.column for factor in chosen.panels)]
    values = pl.col(measure.column + MEAN).mean(), pl.col(measure.column + N).sum()
    unknown = (pl.lit(None, dtype=pl.Float64).alias(measure.column + suffix) for suffix in (LOW, HIGH))
    return joined.group_by(cells, maintain_order=True).agg(values).with_columns(unknown)


def _joined(column: pl.Series) -> pl.Series:
    """Replace levels by that in the middle of their group of neighbours."""
    levels = column.unique().sort()
    group = np.arange(len(levels)) * MAX_MAP_LEVELS // len(levels)
    starts = np.searchsorted(group, np.arange(MAX_MAP_LEVELS + 1))
    middle = (starts[:-1] + starts[1:] - 1) // 2
    return column.replace_strict(levels, levels.gather(middle[group]), return_dtype=levels.dtype)


def left_out(chosen: Layout, settings: int) -> str:
    """Return what a figure of many settings does not show, as a sentence after a space; empty for few."""
    levels = [len(factor.levels) for factor in (chosen.x, chosen.y) if factor is not None]
    if chosen.kind == "map" and max(levels) > MAX_MAP_LEVELS:
        return (
            f" An axis has at most {MAX_MAP_LEVELS} groups of neighbouring levels; a cell is the mean of its settings."
        )
    if chosen.kind == "lines" and settings > MAX_POINTS:
        return f" One of {math.ceil(settings / MAX_POINTS)} levels is drawn; the table has all."
    most = {"rows": MAX_BARS, "marks": MAX_POINTS}.get(chosen.kind, settings)
    return f" The first {most} of {settings} settings are drawn; the table has all." if settings > most else ""
