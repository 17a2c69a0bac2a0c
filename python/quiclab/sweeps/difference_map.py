"""The map of a comparison: how far each level of a factor is from its first one, over two others.

The colours are those of the maps of page load times (`report/figures/heatmap.py`): white where the 95 % interval of the
difference contains zero, grey with an asterisk where there is no interval. A panel stands for each compared level, and
each combination of the factors that are neither axis nor compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab.libraries import alt, pl
from quiclab.report.figures.heatmap import BORDER, look, round_limit
from quiclab.report.figures.theme import WIDTH, declaration, empty_chart
from quiclab.sweeps.factors import plain
from quiclab.sweeps.figure import MAX_PANELS, column_name
from quiclab.sweeps.table import HIGH, LOW, MEAN, PERCENT, N

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.sweeps.design import Comparison
    from quiclab.sweeps.factors import Factor
    from quiclab.sweeps.metrics import Measure
    from quiclab.sweeps.plan import Plan

#: Height of a row of cells [px].
ROW: Final = 36
CAPTION: Final = (
    "In percent of the first level; white where the 95 % interval of the difference contains zero, grey with an "
    "asterisk where there is no interval."
)


def axes_of(plan: Plan, compared: Comparison) -> tuple[Factor, ...]:
    """Return the factors that vary beside the compared one: numbers first, those with the most levels before others.

    Those that change together with another one, or have no levels of their own, are none.
    """
    in_step = {text.partition("=")[0] for text in plan.zipped}
    others = [factor for factor in plan.design.factors if factor.column in compared.others]
    varied = [factor for factor in others if factor.span is None and len(factor.levels) > 1]
    free = [factor for factor in varied if factor.path not in in_step]
    return tuple(sorted(free, key=lambda factor: (not factor.is_number, -len(factor.levels))))


def has_map(plan: Plan, compared: Comparison) -> bool:
    """Whether two factors vary beside the compared one."""
    return plan.sample is None and len(axes_of(plan, compared)) > 1


def specification(plan: Plan, compared: Comparison, differences: pl.DataFrame, measure: Measure) -> dict[str, Any]:
    """Return the Vega-Lite specification of the map of one metric, without a theme."""
    x, y, *rest = axes_of(plan, compared)
    shown = differences.filter(pl.col(measure.column + PERCENT).is_not_null())
    if shown.is_empty():
        return declaration(empty_chart("No difference of this metric is known."))
    panels = [compared.factor, *rest]
    limit = round_limit(float(shown[measure.column + PERCENT].abs().max()))  # type: ignore[arg-type]
    drawn = []
    for panel in shown.select(factor.column for factor in panels).unique(maintain_order=True).rows(named=True):
        part = shown.filter(pl.all_horizontal(pl.col(column) == value for column, value in panel.items()))
        named = [f"{factor.title} = {plain(panel[factor.column])}" for factor in rest]
        title = f"{plain(panel[compared.factor.column])} compared with {plain(compared.reference)}"
        drawn.append(_map(part, (x, y), measure, limit).properties(title=", ".join([title, *named])))
    if len(drawn) > MAX_PANELS:
        further = empty_chart(f"{len(drawn) - MAX_PANELS} further panels are not drawn: see the table.")
        drawn = [*drawn[:MAX_PANELS], further]
    return declaration(alt.vconcat(*drawn, spacing=24))


def _map(part: pl.DataFrame, axes: Sequence[Factor], measure: Measure, limit: float) -> Any:
    x, y = axes
    values = [_cell(row, axes, measure, limit) for row in part.iter_rows(named=True)]
    flat: dict[str, Any] = {"grid": False, "ticks": False, "domain": False}
    base = alt.Chart({"values": values}).encode(
        x=alt.X(f"{column_name(x.column)}:O", title=x.title, axis=alt.Axis(labelAngle=0, **flat)),
        y=alt.Y(f"{column_name(y.column)}:O", title=y.title, sort="descending", axis=alt.Axis(**flat)),
        tooltip=[
            *(alt.Tooltip(f"{column_name(factor.column)}:N", title=factor.title) for factor in axes),
            alt.Tooltip("percent:Q", title=f"{measure.title}, difference [%]", format=".4~g"),
            alt.Tooltip("mean:Q", title="Difference", format=".4~g"),
            alt.Tooltip("low:Q", title="95 % interval from", format=".4~g"),
            alt.Tooltip("high:Q", title="95 % interval to", format=".4~g"),
            alt.Tooltip("n:Q", title="Pairs of runs"),
        ],
    )
    squares = base.mark_rect(stroke=BORDER, strokeWidth=1, opacity=1).encode(color=_as_is("fill0"))
    texts = base.mark_text(fontSize=12, fontWeight=alt.ExprRef("datum.bold ? 'bold' : 'normal'"))
    rows = part[y.column].n_unique()
    return alt.layer(squares, texts.encode(text="text:N", color=_as_is("ink0"))).properties(
        width=WIDTH, height=max(180, ROW * rows)
    )


def _as_is(field: str) -> Any:
    return alt.Color(f"{field}:N", scale=None, legend=None)


def _cell(row: dict[str, Any], axes: Sequence[Factor], measure: Measure, limit: float) -> dict[str, Any]:
    low, high = row[measure.column + LOW], row[measure.column + HIGH]
    known = low is not None and high is not None and high > low
    percent = row[measure.column + PERCENT]
    return {
        **{factor.column: row[factor.column] for factor in axes},
        **look(percent, (low > 0 or high < 0) if known else None, limit),
        "percent": percent,
        "mean": row[measure.column + MEAN],
        "low": low,
        "high": high,
        "n": row[measure.column + N],
    }
