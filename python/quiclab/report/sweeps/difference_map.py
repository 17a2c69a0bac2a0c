"""The map of a comparison: how far each level of a factor is from its first one, over two others.

The colours are those of the maps of page load times (`report/figures/heatmap.py`). A panel stands for each compared
level, and each combination of the factors that are neither axis nor compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, pl
from quiclab.experiment.sweeps.table import HIGH, LOW, MEAN, PERCENT, N
from quiclab.report.figures.heatmap import ROW, look, places, round_limit, squares
from quiclab.report.figures.theme import WIDTH, declaration, empty_chart
from quiclab.report.sweeps.axes import column_name
from quiclab.report.sweeps.crowded import MAX_MAP_LEVELS
from quiclab.report.sweeps.figure import panels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.experiment.sweeps.design import Comparison
    from quiclab.experiment.sweeps.factors import Factor
    from quiclab.experiment.sweeps.metrics import Measure
    from quiclab.experiment.sweeps.plan import Plan
    from quiclab.report.sweeps.labels import Labels

CAPTION: Final = (
    "In percent of the first level; red: larger, blue: smaller. White where the 95 % interval of the difference "
    "contains zero, grey with an asterisk where there is no interval, a dash where the first level is 0."
)
DASH: Final = "–"


def axes_of(plan: Plan, compared: Comparison) -> tuple[Factor, ...]:
    """Return the factors that vary beside the compared one: numbers first, those with the most levels before others.

    Of factors that change together the first stands for all.
    """
    varied = [item for item in plan.design.factors if item.column in compared.others and len(item.levels) > 1]
    together = [factor for factor in varied if factor.option == "--zip"]
    free = [factor for factor in varied if factor not in together[1:]]
    return tuple(sorted(free, key=lambda factor: (not factor.is_number, -len(factor.levels))))


def has_map(plan: Plan, compared: Comparison) -> bool:
    """Whether at least two factors vary beside the compared one, with no more levels than a map has room for."""
    axes = axes_of(plan, compared)[:2]
    return len(axes) > 1 and all(len(factor.levels) <= MAX_MAP_LEVELS for factor in axes)


def specification(
    plan: Plan, compared: Comparison, differences: pl.DataFrame, measure: Measure, labels: Labels
) -> dict[str, Any]:
    """Return the Vega-Lite specification of the map of one metric, without a theme."""
    x, y, *rest = axes_of(plan, compared)
    shown = differences.filter(pl.col(measure.column + MEAN).is_not_null())
    if shown.is_empty():
        return declaration(empty_chart("No difference of this metric is known."))
    factor = compared.factor
    largest = shown[measure.column + PERCENT].abs().max()
    limit = round_limit(0.0 if largest is None else float(largest))  # type: ignore[arg-type]

    def draw(panel: dict[str, Any], part: pl.DataFrame) -> Any:
        level, first = (labels.level(factor, cell) for cell in (panel[factor.column], compared.reference))
        compares = f"{labels.factor(factor)}: {level} compared with {first}"
        title = ", ".join(filter(None, (compares, labels.levels(rest, panel))))
        return _map(part, (x, y), measure, limit, labels).properties(title=title)

    return declaration(panels_of(shown, (factor, *rest), draw))


def _order(factor: Factor) -> list[Any]:
    """Return the levels of an axis as they were given; numbers ascend."""
    levels = [factor.cell(level) for level in factor.levels]
    return sorted(levels) if factor.is_number else levels


def _map(part: pl.DataFrame, axes: Sequence[Factor], measure: Measure, limit: float, labels: Labels) -> Any:
    x, y = axes
    values = [_cell(row, axes, measure, limit) for row in part.iter_rows(named=True)]
    flat: dict[str, Any] = {"grid": False, "ticks": False, "domain": False}
    base = alt.Chart({"values": values}).encode(
        x=alt.X(
            f"{column_name(x.column)}:O",
            title=labels.factor(x),
            scale=places(_order(x)),
            axis=alt.Axis(labelAngle=0, **flat),
        ),
        y=alt.Y(
            f"{column_name(y.column)}:O",
            title=labels.factor(y),
            # numbers grow upwards, names go down as they were given
            scale=places(_order(y)[::-1] if y.is_number else _order(y)),
            axis=alt.Axis(**flat),
        ),
        tooltip=[
            *(alt.Tooltip(f"{column_name(factor.column)}:N", title=labels.factor(factor)) for factor in axes),
            alt.Tooltip("percent:Q", title=f"{labels.metric(measure)}, difference [%]", format=".4~g"),
            alt.Tooltip("mean:Q", title="Difference", format=".4~g"),
            alt.Tooltip("low:Q", title="95 % interval from", format=".4~g"),
            alt.Tooltip("high:Q", title="95 % interval to", format=".4~g"),
            alt.Tooltip("n:Q", title="Pairs of runs"),
        ],
    )
    return squares(base, _as_is).properties(width=WIDTH, height=max(180, ROW * part[y.column].n_unique()))


def _as_is(field: str) -> Any:
    return alt.Color(f"{field}:N", scale=None, legend=None)


def _cell(row: dict[str, Any], axes: Sequence[Factor], measure: Measure, limit: float) -> dict[str, Any]:
    low, high = row[measure.column + LOW], row[measure.column + HIGH]
    known = low is not None and high is not None and high > low
    percent = row[measure.column + PERCENT]
    seen = look(percent or 0.0, (low > 0 or high < 0) if known and percent is not None else None, limit)
    return {
        **{factor.column: row[factor.column] for factor in axes},
        "text": DASH if percent is None else seen["text"],
        "bold": seen["bold"],
        "fill": seen["fill0"],
        "ink": seen["ink0"],
        "percent": percent,
        "mean": row[measure.column + MEAN],
        "low": low,
        "high": high,
        "n": row[measure.column + N],
    }
