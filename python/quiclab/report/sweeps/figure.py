"""The figure of a sweep, chosen by what varies.

| varied | figure |
| --- | --- |
| nothing, or names alone | a row each, with its 95 % interval; on request the distribution over its runs (CDF) |
| one number | a line for each level of the others, with 95 % intervals |
| two numbers, with many levels each | a heat map of the mean, one panel for each level of the others |
| a random design | marks over each number |

A panel stands for each combination of the factors that are neither axis nor colour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, pl
from quiclab.errors import unexpected
from quiclab.experiment.sweeps.factors import plain
from quiclab.experiment.sweeps.table import HIGH, LOW, MEAN, N, settings_table
from quiclab.experiment.table import FAILED, REASON
from quiclab.report.figures.theme import COLOURS, WIDTH, declaration, empty_chart, palette
from quiclab.report.sweeps.crowded import MAX_BARS, MAX_POINTS, drawable, left_out
from quiclab.result.formats import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quiclab.experiment.sweeps.factors import Factor
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.experiment.sweeps.plan import Plan

#: A second number with fewer levels is the colour of lines; with more, both are the axes of a heat map.
MAX_LINES: Final = 6
MIN_MAP_LEVELS: Final = 4
MAX_PANELS: Final = 24
#: Settings whose distributions a figure can show.
MAX_CDF_SETTINGS: Final = 8
#: Settings without a value that a caption names.
MAX_NAMED: Final = 3
HEIGHT: Final = 320
#: Ticks of an axis below rows, on average.
TICKS: Final = 10
INTERVALS: Final = "Means over the runs of a setting; bars are 95 % intervals by Student's t"
POINTER: Final = "; under the pointer its 95 % interval by Student's t"
CUT: Final = ", cut at zero, below which no value can be"
ROW: Final = 24
#: Characters of a reason in a row.
MAX_SAID: Final = 100


@dataclass(frozen=True)
class Layout:
    """Which factor is what in a figure.

    Attributes
    ----------
    kind
        `lines`, `map`, `cdf`, `rows` or `marks`.
    x, y
        Factors of the axes; `None` where an axis has no factor.
    colour
        Factor whose levels are the colours.
    panels
        Factors whose combinations are the panels.
    """

    kind: str
    x: Factor | None = None
    y: Factor | None = None
    colour: Factor | None = None
    panels: tuple[Factor, ...] = ()


def layout(plan: Plan, distribution: bool = False) -> Layout:
    """Choose the figure of a sweep; `distribution` asks for that of the runs where names vary.

    Raises
    ------
    RequestError
        If it is asked for, and there are numbers, or too many settings.
    """
    levels = {factor.path: MAX_POINTS if factor.span else len(factor.levels) for factor in plan.design.factors}
    varied = [factor for factor in plan.design.factors if levels[factor.path] > 1]
    in_step = set(plan.zipped and [text.partition("=")[0] for text in plan.zipped])
    # of factors that change together the first stands for all
    together = [factor for factor in varied if factor.path in in_step]
    varied = [factor for factor in varied if factor not in together[1:]]
    numbers = [factor for factor in varied if factor.is_number]
    names = [factor for factor in varied if not factor.is_number]
    if distribution and (numbers or plan.sample is not None or len(plan.design.settings) > MAX_CDF_SETTINGS):
        expected = f"only names that vary, and at most {MAX_CDF_SETTINGS} settings"
        got = ", ".join(factor.path for factor in numbers) or counted(len(plan.design.settings), "setting")
        raise unexpected("--distribution", expected, got=got)
    if plan.sample is not None:
        return Layout("marks", numbers[0] if numbers else None, colour=next(iter(names), None), panels=tuple(numbers))
    if not numbers:
        return Layout("cdf" if distribution else "rows")
    numbers.sort(key=lambda factor: -levels[factor.path])
    if len(numbers) > 1 and levels[numbers[1].path] >= MIN_MAP_LEVELS:
        rest = (*numbers[2:], *names)
        return Layout("map", numbers[0], numbers[1], panels=tuple(rest))
    few = [factor for factor in (*names, *numbers[1:]) if levels[factor.path] <= MAX_LINES]
    colour = few[0] if few else None
    rest = tuple(factor for factor in (*names, *numbers[1:]) if factor is not colour)
    return Layout("lines", numbers[0], colour=colour, panels=rest)


def chart(plan: Plan, runs: pl.DataFrame, settings: pl.DataFrame, measure: Measure, distribution: bool = False) -> Any:
    """Declare the figure of one metric.

    Parameters
    ----------
    plan
        The sweep.
    runs, settings
        Its tables, one row a run and one row a setting.
    measure
        The metric.
    distribution
        As of `layout`.
    """
    if settings.is_empty() or settings[measure.column + N].sum() == 0:
        return empty_chart("No run has a value of this metric.")
    chosen = layout(plan, distribution)
    settings = _within(settings, measure)
    if chosen.kind in ("cdf", "rows"):
        return (_cdf if chosen.kind == "cdf" else _rows)(plan, runs, settings, measure)
    draw = {"map": _map, "lines": _lines, "marks": _marks}[chosen.kind]
    settings = drawable(chosen, settings, measure)
    if chosen.kind == "marks" and chosen.panels:
        domain = _domain(settings, measure)
        drawn = [_marks(replace(chosen, x=number, panels=()), settings, measure, domain) for number in chosen.panels]
        return alt.vconcat(*drawn, spacing=24)
    domain = _domain(settings, measure, (MEAN,) if chosen.kind == "map" else (MEAN, LOW, HIGH))
    if not chosen.panels:
        return draw(chosen, settings, measure, domain)

    def one(panel: dict[str, Any], part: pl.DataFrame) -> Any:
        return draw(chosen, part, measure, domain).properties(title=levels_of(chosen.panels, panel))

    return panels_of(settings, chosen.panels, one)


def levels_of(factors: Sequence[Factor], panel: dict[str, Any]) -> str:
    """Return the levels of factors in a panel, as its title has them."""
    return ", ".join(f"{factor.title} = {plain(panel[factor.column])}" for factor in factors)


def panels_of(
    table: pl.DataFrame, factors: Sequence[Factor], draw: Callable[[dict[str, Any], pl.DataFrame], Any]
) -> Any:
    """Declare a panel for each combination of levels, one below the other.

    Parameters
    ----------
    table
        The data of all panels.
    factors
        Factors whose combinations are the panels.
    draw
        Function from the levels of a panel, by column, and its rows to its chart.
    """
    panels = table.select(factor.column for factor in factors).unique(maintain_order=True).rows(named=True)
    drawn = [
        draw(panel, table.filter(pl.all_horizontal(pl.col(column) == value for column, value in panel.items())))
        for panel in panels[:MAX_PANELS]
    ]
    if len(panels) > MAX_PANELS:
        drawn.append(empty_chart(f"{len(panels) - MAX_PANELS} further panels are not drawn: see the table."))
    return alt.vconcat(*drawn, spacing=24)


def _within(settings: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    """Cut intervals at zero where the metric has no values below: a negative share or delay does not exist."""
    if not measure.is_never_negative:
        return settings
    return settings.with_columns(pl.col(measure.column + LOW).clip(lower_bound=0))


def _cut(plan: Plan) -> str:
    """Say of which metrics the intervals are cut at zero."""
    cut = [measure.is_never_negative for measure in plan.measures]
    return f"{CUT}, but for paths" if any(cut) and not all(cut) else CUT if any(cut) else ""


def _domain(settings: pl.DataFrame, measure: Measure, suffixes: Sequence[str] = (MEAN, LOW, HIGH)) -> list[float]:
    """Return the lowest and the highest value of some columns: all panels have the same axis."""
    columns = [settings[measure.column + suffix].drop_nulls().drop_nans() for suffix in suffixes]
    values = [float(value) for column in columns if len(column) for value in (column.min(), column.max())]  # type: ignore[arg-type]
    return [min(values), max(values)]


def _axis(domain: Sequence[float]) -> alt.Scale:
    """Return a scale from zero, or from the lowest value where all are close together."""
    low, high = domain
    zero = low >= 0 and low < 0.6 * high
    return alt.Scale(zero=zero, domain=[0.0 if zero else low, high] if high > low else alt.Undefined, nice=True)


def _x(factor: Factor, settings: pl.DataFrame) -> alt.X:
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
    return alt.X(f"{column_name(factor.column)}:Q", title=factor.title, scale=scale, axis=axis)


def column_name(column: str) -> str:
    """Escape a column for Vega-Lite, where dots and brackets lead into objects."""
    return column.replace("\\", "\\\\").replace(".", "\\.").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _colour(factor: Factor, settings: pl.DataFrame, symbol: str = "stroke") -> alt.Color:
    """Return the colours of the levels of a factor, in their order; `symbol` is that of the legend."""
    there = set(settings[factor.column])
    levels = [str(cell) for cell in map(factor.cell, factor.levels) if cell in there]
    scale = alt.Scale(domain=levels, range=palette(len(levels)))
    legend = alt.Legend(
        title=factor.title, orient="top", direction="horizontal", symbolType=symbol, symbolStrokeWidth=3
    )
    return alt.Color("colour:N", scale=scale, legend=legend)


def _values(chosen: Layout, settings: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    rename = {measure.column + suffix: suffix[1:] for suffix in (N, MEAN, LOW, HIGH)}
    kept = [factor.column for factor in (chosen.x, chosen.y) if factor is not None]
    data = (
        settings.select(*kept, *rename)
        .rename(rename)
        .with_columns(pl.col("low").fill_null(pl.col("mean")), pl.col("high").fill_null(pl.col("mean")))
    )
    if chosen.colour is not None:
        data = data.with_columns(colour=settings[chosen.colour.column].cast(pl.String))
    return data.drop_nulls("mean")


def _tooltip(chosen: Layout, measure: Measure) -> list[alt.Tooltip]:
    axes = [factor for factor in (chosen.x, chosen.y) if factor is not None]
    return [
        *(alt.Tooltip(f"{column_name(factor.column)}:Q", title=factor.title) for factor in axes),
        *([alt.Tooltip("colour:N", title=chosen.colour.title)] if chosen.colour else []),
        alt.Tooltip("mean:Q", title=measure.title, format=".5~g"),
        alt.Tooltip("low:Q", title="95 % interval from", format=".5~g"),
        alt.Tooltip("high:Q", title="95 % interval to", format=".5~g"),
        alt.Tooltip("n:Q", title="Runs"),
    ]


def _lines(chosen: Layout, settings: pl.DataFrame, measure: Measure, domain: Sequence[float]) -> Any:
    """Declare lines of means with bars of their 95 % intervals."""
    if chosen.x is None:
        return empty_chart()
    base = alt.Chart({"values": _values(chosen, settings, measure).to_dicts()})
    x = _x(chosen.x, settings)
    y = alt.Y("mean:Q", title=measure.title, scale=_axis(domain))
    colour = _colour(chosen.colour, settings) if chosen.colour else alt.value(COLOURS[0])
    bars = base.mark_rule(strokeWidth=1.6).encode(x=x, y=alt.Y("low:Q", title=measure.title), y2="high:Q", color=colour)
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    marks = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=x, y=y, color=colour, tooltip=_tooltip(chosen, measure)
    )
    return alt.layer(line, bars, marks).properties(width=WIDTH, height=HEIGHT)


def _marks(chosen: Layout, settings: pl.DataFrame, measure: Measure, domain: Sequence[float]) -> Any:
    """Declare one mark a setting of a random design."""
    if chosen.x is None:
        return empty_chart("No factor is a number: see the table.")
    base = alt.Chart({"values": _values(chosen, settings, measure).head(MAX_POINTS).to_dicts()})
    x, y = _x(chosen.x, settings), alt.Y("mean:Q", title=measure.title, scale=_axis(domain))
    colour = _colour(chosen.colour, settings, "circle") if chosen.colour else alt.value(COLOURS[0])
    return (
        base.mark_point(filled=True, size=36, opacity=0.85)
        .encode(x=x, y=y, color=colour, tooltip=_tooltip(chosen, measure))
        .properties(width=WIDTH, height=HEIGHT)
    )


def _map(chosen: Layout, settings: pl.DataFrame, measure: Measure, domain: Sequence[float]) -> Any:
    """Declare a heat map of means, with the number in each cell."""
    if chosen.x is None or chosen.y is None:
        return empty_chart()
    values = _values(chosen, settings, measure)
    middle = (domain[0] + domain[1]) / 2
    data = values.with_columns(text=values["mean"].map_elements(lambda mean: f"{mean:.3g}", pl.String))
    base = alt.Chart({"values": data.to_dicts()})
    order = {factor.column: settings[factor.column].unique().sort().to_list() for factor in (chosen.x, chosen.y)}
    flat: dict[str, Any] = {"grid": False, "ticks": False, "domain": False}
    x = alt.X(
        f"{column_name(chosen.x.column)}:O",
        title=chosen.x.title,
        sort="ascending",
        axis=alt.Axis(labelAngle=0, **flat),
    )
    y = alt.Y(f"{column_name(chosen.y.column)}:O", title=chosen.y.title, sort="descending", axis=alt.Axis(**flat))
    legend = alt.Legend(orient="top", gradientLength=240, titleLimit=WIDTH)
    scale = alt.Scale(scheme="viridis", domain=list(domain), nice=False)
    colour = alt.Color("mean:Q", title=measure.title, scale=scale, legend=legend)
    squares = base.mark_rect().encode(x=x, y=y, color=colour, tooltip=_tooltip(chosen, measure))
    ink = alt.condition(alt.datum.mean > middle, alt.value("#111111"), alt.value("#ffffff"))
    texts = base.mark_text(fontSize=12).encode(x=x, y=y, text="text:N", color=ink)
    rows = len(order[chosen.y.column])
    return alt.layer(squares, texts).properties(width=WIDTH, height=max(120, 36 * rows))


def _names(plan: Plan, settings: pl.DataFrame) -> pl.DataFrame:
    """Return the name of each setting by its index: the values of the factors that vary."""
    every = settings_table(plan)  # some settings of a sweep may agree in what varies in it
    columns = [factor.column for factor in plan.design.factors if every[factor.column].n_unique() > 1]
    label = (
        pl.concat_str([pl.col(column).cast(pl.String) for column in columns], separator=", ")
        if columns
        else pl.lit(plan.name)
    )
    return settings.select("setting", name=label)


def _cdf(plan: Plan, runs: pl.DataFrame, settings: pl.DataFrame, measure: Measure) -> Any:
    """Declare the distribution of the runs of each setting."""
    data = (
        runs.select("setting", value=pl.col(measure.column).fill_nan(None))
        .drop_nulls()
        .join(_names(plan, settings), on="setting", how="left", maintain_order="left")
        .sort("setting", "value", maintain_order=True)
        .with_columns(share=(pl.int_range(pl.len()).over("setting") + 1) / pl.len().over("setting"))
    )
    names = list(dict.fromkeys(data["name"].to_list()))
    scale = alt.Scale(domain=names, range=palette(len(names)))
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolType="stroke", symbolStrokeWidth=3)
    colour = alt.Color("name:N", scale=scale, legend=legend) if len(names) > 1 else alt.value(COLOURS[0])
    step = max(1, len(data) // MAX_POINTS)
    base = alt.Chart({"values": data.gather_every(step).select("name", "value", "share").to_dicts()})
    x = alt.X("value:Q", title=measure.title, scale=alt.Scale(zero=False))
    y = alt.Y("share:Q", title="Share of runs at or below", scale=alt.Scale(domain=[0, 1]))
    return (
        base.mark_line(interpolate="step-after", strokeWidth=2)
        .encode(x=x, y=y, color=colour)
        .properties(width=WIDTH, height=HEIGHT)
    )


def _rows(plan: Plan, _: pl.DataFrame, settings: pl.DataFrame, measure: Measure) -> Any:
    """Declare one row a setting, with its mean and 95 % interval."""
    settings = settings.head(MAX_BARS)
    names = _names(plan, settings)["name"].to_list()
    data = _values(Layout("rows"), settings, measure).with_columns(
        name=_names(plan, settings.drop_nulls(measure.column + MEAN))["name"]
    )
    base = alt.Chart({"values": data.to_dicts()})
    # a setting without a value has its row
    y = alt.Y("name:N", sort=names, scale=alt.Scale(domain=names), title=None, axis=alt.Axis(labelLimit=330, grid=True))
    scale = _axis(_domain(settings, measure))
    x = alt.X("mean:Q", title=measure.title, scale=scale, axis=alt.Axis(tickCount=TICKS))
    bars = base.mark_rule(strokeWidth=1.6, color=COLOURS[0]).encode(
        y=y, x=alt.X("low:Q", title=measure.title, axis=alt.Axis(tickCount=TICKS)), x2="high:Q"
    )
    marks = base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(
        y=y, x=x, tooltip=[alt.Tooltip("name:N", title="Setting"), *_tooltip(Layout("rows"), measure)]
    )
    layers = [bars, marks]
    if (missing := _missing(plan, settings, measure)).height:
        said = missing.with_columns(
            text=pl.format("no value: {}", pl.col(REASON).fill_null("it was not run")).str.slice(0, MAX_SAID)
        )
        texts = alt.Chart({"values": said.select("name", "text", REASON).to_dicts()}).mark_text(
            align="left", dx=6, fontSize=11, color=COLOURS[1]
        )
        layers.append(
            texts.encode(y=y, x=alt.value(0), text="text:N", tooltip=[alt.Tooltip(f"{REASON}:N", title="Why")])
        )
    return alt.layer(*layers).properties(width=WIDTH, height=max(60, ROW * len(names)))


def _missing(plan: Plan, settings: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    """Return name and reason of the settings that have no value because runs failed."""
    without = settings.filter((pl.col(measure.column + N) == 0) & (pl.col(FAILED) > 0))
    return without.select("setting", REASON).join(
        _names(plan, settings), on="setting", how="left", maintain_order="left"
    )


def most_runs(runs: pl.DataFrame) -> int:
    """Return the number of runs of the setting that has most."""
    return 0 if runs.is_empty() else int(runs["setting"].value_counts()["count"].max())  # type: ignore[arg-type]


def caption(plan: Plan, runs: pl.DataFrame, missing: pl.DataFrame | None = None, distribution: bool = False) -> str:
    """Return what the marks of the figure mean, and which settings have none.

    Parameters
    ----------
    plan, runs
        As of `chart`.
    missing
        Rows of the table of settings that have no value, because runs failed.
    distribution
        As of `layout`.
    """
    return _marks_mean(plan, runs, distribution) + ("" if missing is None else _without(plan, missing))


def _without(plan: Plan, missing: pl.DataFrame) -> str:
    """Name settings that are not drawn."""
    if missing.is_empty():
        return ""
    named = _names(plan, missing)["name"].head(MAX_NAMED).to_list()
    more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
    return f" No value, because all runs failed: {'; '.join(named)}{more}; the table has the reasons."


def _marks_mean(plan: Plan, runs: pl.DataFrame, distribution: bool) -> str:
    chosen = layout(plan, distribution)
    settings = len(plan.design.settings)
    if most_runs(runs) <= 1:
        some = "One" if len(runs) == settings else "At most one"
        return f"{some} run of each setting." + left_out(chosen, settings)
    words = {
        "lines": f"{INTERVALS}{_cut(plan)}.",
        "map": f"Means over the runs of a setting{POINTER}{_cut(plan)}.",
        "cdf": "Distribution over the runs of each setting.",
        "rows": f"{INTERVALS}{_cut(plan)}.",
        "marks": f"One mark for each setting of the random design: the mean over its runs{POINTER}{_cut(plan)}.",
    }
    return words[chosen.kind] + left_out(chosen, settings)


def specification(
    plan: Plan, runs: pl.DataFrame, settings: pl.DataFrame, measure: Measure, distribution: bool = False
) -> dict[str, Any]:
    """Return the Vega-Lite specification of the figure of one metric, without a theme."""
    return declaration(chart(plan, runs, settings, measure, distribution))
