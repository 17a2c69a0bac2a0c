"""Parts that the figures of a sweep share: axes, colours, the data of marks, and what the pointer shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, pl
from quiclab.experiment.sweeps.table import HIGH, LOW, MEAN, N, settings_table
from quiclab.report.figures.theme import COLOURS, palette

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.experiment.sweeps.factors import Factor
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.experiment.sweeps.plan import Plan
    from quiclab.report.sweeps.labels import Labels
    from quiclab.report.sweeps.layout import Layout

#: Ticks of an axis below rows, on average.
TICKS: Final = 10


@dataclass(frozen=True)
class Drawing:
    """What a figure, or a panel of it, is drawn from.

    Attributes
    ----------
    plan
        The sweep.
    runs, settings
        Its tables, one row a run and one row a setting.
    measure
        The metric.
    layout
        Which factor is what.
    labels
        Texts of factors, levels and metrics.
    domain
        Lowest and highest value of all panels.
    """

    plan: Plan
    runs: pl.DataFrame
    settings: pl.DataFrame
    measure: Measure
    layout: Layout
    labels: Labels
    domain: tuple[float, float]

    @property
    def title(self) -> str:
        """Title of the axis of the metric."""
        return self.labels.metric(self.measure)

    def values(self) -> pl.DataFrame:
        """Return the settings that have a value: axes, `colour`, `n`, `mean` and the interval from `low` to `high`."""
        rename = {self.measure.column + suffix: suffix[1:] for suffix in (N, MEAN, LOW, HIGH)}
        kept: list[str] = [name for name in ("name", "group") if name in self.settings.columns]
        kept += [factor.column for factor in (self.layout.x, self.layout.y) if factor is not None]
        low, high = (pl.col(end).fill_null(pl.col("mean")) for end in ("low", "high"))
        data = self.settings.select(*kept, *rename).rename(rename).with_columns(low, high)
        if self.layout.colour is not None:
            data = data.with_columns(colour=self.labels.column(self.layout.colour, self.settings))
        return data.drop_nulls("mean")

    def tooltip(self, *axes: Factor) -> list[alt.Tooltip]:
        """Return what the pointer shows over a mark: levels of axes, which are numbers, and of the colour, the mean."""
        colour = self.layout.colour
        return [
            *(alt.Tooltip(f"{column_name(item.column)}:Q", title=self.labels.factor(item)) for item in axes),
            *([alt.Tooltip("colour:N", title=self.labels.factor(colour))] if colour else []),
            alt.Tooltip("mean:Q", title=self.title, format=".5~g"),
            alt.Tooltip("low:Q", title="95 % interval from", format=".5~g"),
            alt.Tooltip("high:Q", title="95 % interval to", format=".5~g"),
            alt.Tooltip("n:Q", title="Runs"),
        ]

    def colour(self, symbol: str = "stroke") -> Any:
        """Return the colours of the levels of a factor, in their order; `symbol` is that of the legend."""
        factor = self.layout.colour
        if factor is None:
            return alt.value(COLOURS[0])
        levels = self.levels(factor)
        legend = alt.Legend(
            title=self.labels.factor(factor),
            orient="top",
            direction="horizontal",
            symbolType=symbol,
            symbolStrokeWidth=3 if symbol == "stroke" else 0,
        )
        return alt.Color("colour:N", scale=alt.Scale(domain=levels, range=palette(len(levels))), legend=legend)

    def levels(self, factor: Factor) -> list[str]:
        """Return the texts of the levels of a factor that any setting here has, in their order."""
        there = set(self.settings[factor.column])
        return [self.labels.level(factor, cell) for cell in map(factor.cell, factor.levels) if cell in there]

    def names(self, settings: pl.DataFrame) -> pl.DataFrame:
        """Return the name of each setting by its index: the values of the factors that vary."""
        return names_of(self.plan, settings, self.labels)


def names_of(plan: Plan, settings: pl.DataFrame, labels: Labels) -> pl.DataFrame:
    """Return the name of each setting by its index: the values of the factors that vary in the sweep."""
    every = settings_table(plan)  # some settings of a sweep may agree in what varies in it
    factors = [factor for factor in plan.design.factors if every[factor.column].n_unique() > 1]
    texts = [labels.column(factor, settings) for factor in factors]
    if not texts:
        return settings.select("setting", name=pl.lit(plan.name))
    return settings.select("setting", name=pl.concat_str(texts, separator=", "))


def domain_of(
    settings: pl.DataFrame, measure: Measure, suffixes: Sequence[str] = (MEAN, LOW, HIGH)
) -> tuple[float, float]:
    """Return the lowest and the highest value of some columns: all panels have the same axis."""
    columns = [settings[measure.column + suffix].drop_nulls().drop_nans() for suffix in suffixes]
    values = [float(value) for column in columns if len(column) for value in (column.min(), column.max())]  # type: ignore[arg-type]
    return min(values), max(values)


def scale_of(domain: tuple[float, float]) -> alt.Scale:
    """Return a scale from zero, or from the lowest value where all are close together."""
    low, high = domain
    zero = low >= 0 and low < 0.6 * high
    return alt.Scale(zero=zero, domain=[0.0 if zero else low, high] if high > low else alt.Undefined, nice=True)


def x_of(factor: Factor, settings: pl.DataFrame, title: str) -> alt.X:
    """Return the axis of a factor that is a number: with even ratios, where its levels have them."""
    values = settings[factor.column].unique().sort().to_list()
    ratio = values[-1] / values[0] if values[0] > 0 else 0.0
    even = (
        len(values) > 2
        and ratio > 0
        and abs(math.log(values[1] / values[0]) - math.log(ratio) / (len(values) - 1)) < 0.2
    )
    scale = (
        alt.Scale(type="log", nice=False, padding=14)
        if ratio >= 8 and (factor.span.scale == "log" if factor.span else even)
        else alt.Scale(nice=False, padding=14, zero=False)
    )
    axis = (
        alt.Axis(grid=False, values=values, format=".6~g", labelOverlap=True)
        if len(values) <= 12
        else alt.Axis(grid=False)
    )
    return alt.X(f"{column_name(factor.column)}:Q", title=title, scale=scale, axis=axis)


def column_name(column: str) -> str:
    """Escape a column for Vega-Lite, where dots and brackets lead into objects."""
    return column.replace("\\", "\\\\").replace(".", "\\.").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
