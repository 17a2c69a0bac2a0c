"""The figure of a sweep: `layout` chooses its kind by what varies, `DRAW` has the function that draws each kind.

A panel stands for each combination of the factors that are neither axis nor colour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, pl
from quiclab.experiment.sweeps.table import HIGH, LOW, MEAN, N
from quiclab.report.figures.theme import WIDTH, declaration, empty_chart
from quiclab.report.sweeps import named
from quiclab.report.sweeps.axes import Drawing, column_name, domain_of, names_of, scale_of, x_of
from quiclab.report.sweeps.crowded import MAX_POINTS, drawable, left_out
from quiclab.report.sweeps.labels import Labels
from quiclab.report.sweeps.layout import layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.experiment.sweeps.factors import Factor
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.experiment.sweeps.plan import Plan

MAX_PANELS: Final = 24
#: Settings without a value that a caption names.
MAX_NAMED: Final = 3
HEIGHT: Final = 320
INTERVALS: Final = "Means over the runs of a setting; bars are 95 % intervals by Student's t"
POINTER: Final = "; under the pointer its 95 % interval by Student's t"
CUT: Final = ", cut at zero, below which no value can be"


@dataclass(frozen=True)
class Style:
    """What may be requested of the figures of a sweep.

    Attributes
    ----------
    kind
        Its name in `layout.KINDS`; `None` for the one that what varies asks for.
    labels
        Texts in place of names.
    """

    kind: str | None = None
    labels: Labels = field(default_factory=Labels)


def chart(plan: Plan, runs: pl.DataFrame, settings: pl.DataFrame, measure: Measure, style: Style | None = None) -> Any:
    """Declare the figure of one metric.

    Parameters
    ----------
    plan
        The sweep.
    runs, settings
        Its tables, one row a run and one row a setting.
    measure
        The metric.
    style
        What is requested of it.

    Raises
    ------
    RequestError
        If the sweep does not have what the requested kind needs.
    """
    style = style or Style()
    chosen = layout(plan, style.kind)
    if settings.is_empty() or settings[measure.column + N].sum() == 0:
        return empty_chart("No run has a value of this metric.")
    settings = drawable(chosen, _within(settings, measure), measure)
    domain = domain_of(settings, measure, (MEAN,) if chosen.kind == "map" else (MEAN, LOW, HIGH))
    drawing, draw = Drawing(plan, runs, settings, measure, chosen, style.labels, domain), DRAW[chosen.kind]
    if chosen.kind == "marks" and chosen.panels:
        drawn = [draw(replace(drawing, layout=replace(chosen, x=number))) for number in chosen.panels]
        return alt.vconcat(*drawn, spacing=24)
    if not chosen.panels:
        return draw(drawing)

    def one(panel: dict[str, Any], part: pl.DataFrame) -> Any:
        return draw(replace(drawing, settings=part)).properties(title=style.labels.levels(chosen.panels, panel))

    return panels_of(settings, chosen.panels, one)


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


def _lines(drawing: Drawing) -> Any:
    """Declare lines of means with bars of their 95 % intervals."""
    if (factor := drawing.layout.x) is None:
        return empty_chart()
    base = alt.Chart({"values": drawing.values().to_dicts()})
    x = x_of(factor, drawing.settings, drawing.labels.factor(factor))
    y = alt.Y("mean:Q", title=drawing.title, scale=scale_of(drawing.domain))
    colour, low = drawing.colour(), alt.Y("low:Q", title=drawing.title)
    bars = base.mark_rule(strokeWidth=1.6).encode(x=x, y=low, y2="high:Q", color=colour)
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    marks = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=x, y=y, color=colour, tooltip=drawing.tooltip(factor)
    )
    return alt.layer(line, bars, marks).properties(width=WIDTH, height=HEIGHT)


def _marks(drawing: Drawing) -> Any:
    """Declare one mark a setting of a random design."""
    if (factor := drawing.layout.x) is None:
        return empty_chart("No factor is a number: see the table.")
    base = alt.Chart({"values": drawing.values().head(MAX_POINTS).to_dicts()})
    x = x_of(factor, drawing.settings, drawing.labels.factor(factor))
    y = alt.Y("mean:Q", title=drawing.title, scale=scale_of(drawing.domain))
    marks = base.mark_point(filled=True, size=36, opacity=0.85)
    drawn = marks.encode(x=x, y=y, color=drawing.colour("circle"), tooltip=drawing.tooltip(factor))
    return drawn.properties(width=WIDTH, height=HEIGHT)


def _map(drawing: Drawing) -> Any:
    """Declare a heat map of means, with the number in each cell."""
    horizontal, vertical = drawing.layout.x, drawing.layout.y
    if horizontal is None or vertical is None:
        return empty_chart()
    values, labels = drawing.values(), drawing.labels
    middle = (drawing.domain[0] + drawing.domain[1]) / 2
    data = values.with_columns(text=values["mean"].map_elements(lambda mean: f"{mean:.3g}", pl.String))
    base = alt.Chart({"values": data.to_dicts()})
    flat: dict[str, Any] = {"grid": False, "ticks": False, "domain": False}
    x = alt.X(
        f"{column_name(horizontal.column)}:O",
        title=labels.factor(horizontal),
        sort="ascending",
        axis=alt.Axis(labelAngle=0, **flat),
    )
    y = alt.Y(
        f"{column_name(vertical.column)}:O", title=labels.factor(vertical), sort="descending", axis=alt.Axis(**flat)
    )
    legend = alt.Legend(orient="top", gradientLength=240, titleLimit=WIDTH)
    scale = alt.Scale(scheme="viridis", domain=list(drawing.domain), nice=False)
    colour = alt.Color("mean:Q", title=drawing.title, scale=scale, legend=legend)
    squares = base.mark_rect().encode(x=x, y=y, color=colour, tooltip=drawing.tooltip(horizontal, vertical))
    ink = alt.condition(alt.datum.mean > middle, alt.value("#111111"), alt.value("#ffffff"))
    texts = base.mark_text(fontSize=12).encode(x=x, y=y, text="text:N", color=ink)
    rows = drawing.settings[vertical.column].n_unique()
    return alt.layer(squares, texts).properties(width=WIDTH, height=max(120, 36 * rows))


#: What draws each kind of `layout.KINDS`.
DRAW: Final[dict[str, Callable[[Drawing], Any]]] = {
    "lines": _lines,
    "map": _map,
    "groups": named.groups,
    "rows": named.rows,
    "distribution": named.distribution,
    "marks": _marks,
}


def most_runs(runs: pl.DataFrame) -> int:
    """Return the number of runs of the setting that has most."""
    return 0 if runs.is_empty() else int(runs["setting"].value_counts()["count"].max())  # type: ignore[arg-type]


def caption(plan: Plan, runs: pl.DataFrame, missing: pl.DataFrame | None = None, style: Style | None = None) -> str:
    """Return what the marks of the figure mean, and which settings have none.

    Parameters
    ----------
    plan, runs, style
        As of `chart`.
    missing
        Rows of the table of settings that have no value, because runs failed.
    """
    style = style or Style()
    return _marks_mean(plan, runs, style) + ("" if missing is None else _without(plan, missing, style.labels))


def _without(plan: Plan, missing: pl.DataFrame, labels: Labels) -> str:
    """Name settings that are not drawn."""
    if missing.is_empty():
        return ""
    first = names_of(plan, missing, labels)["name"].head(MAX_NAMED).to_list()
    more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
    return f" No value, because all runs failed: {'; '.join(first)}{more}; the table has the reasons."


def _marks_mean(plan: Plan, runs: pl.DataFrame, style: Style) -> str:
    chosen = layout(plan, style.kind)
    settings = len(plan.design.settings)
    if most_runs(runs) <= 1:
        some = "One" if len(runs) == settings else "At most one"
        return f"{some} run of each setting." + left_out(chosen, settings)
    words = {
        "map": f"Means over the runs of a setting{POINTER}{_cut(plan)}.",
        "distribution": "Distribution over the runs of each setting.",
        "marks": f"One mark for each setting: the mean over its runs{POINTER}{_cut(plan)}.",
    }
    return words.get(chosen.kind, f"{INTERVALS}{_cut(plan)}.") + left_out(chosen, settings)


def specification(
    plan: Plan, runs: pl.DataFrame, settings: pl.DataFrame, measure: Measure, style: Style | None = None
) -> dict[str, Any]:
    """Return the Vega-Lite specification of the figure of one metric, without a theme."""
    return declaration(chart(plan, runs, settings, measure, style))
