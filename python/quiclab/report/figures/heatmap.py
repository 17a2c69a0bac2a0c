"""Maps of the difference of two configurations over two factors: published, measured, and one minus the other.

Layout and annotation are those of the published maps of page load times: rows and columns in the order of the factors
(the first row on top), a scale from positive (the metric of the first configuration is lower) to negative, two
significant digits, and white where a difference is not significant. Two palettes show the same: red and blue as
published, and ColorBrewer's purple and orange; the page has a switch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import alt
from quiclab.report.figures.theme import MEASURED, NEUTRAL, PUBLISHED, WIDTH, Layers, empty_chart, luminance
from quiclab.result.stats import SIGNIFICANT
from quiclab.study import with_unit
from quiclab.study.maps import Cell, MeasuredMap, map_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quiclab.result.stats import Summary
    from quiclab.study import Factor, Figure, Study, Value
    from quiclab.study.evaluate import Evaluation

# from zero to the end of the scale; each side of a palette is one hue of growing depth (ColorBrewer's RdBu and PuOr)
PALETTES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "red and blue": (("#ffffff", "#f4a582", "#b2182b"), ("#ffffff", "#92c5de", "#2166ac")),
    "orange and purple": (("#ffffff", "#fdb863", "#b35806"), ("#ffffff", "#b2abd2", "#542788")),
}
WHITE, UNTESTED = "#ffffff", "#c9cdd2"
INK, LIGHT_INK, QUIET_INK = "#16191d", "#ffffff", "#5b636b"
BORDER = "#d4d8dd"
# heights in pixels, and the number of steps that the scale is drawn in
ROW, BAR, STEPS = 36, 14, 80
SWITCH = "palette"


def limit_of(shown: MeasuredMap) -> float:
    """Return the difference at either end of the scale [%]: that of the map, or one that holds all cells."""
    largest = max((abs(cell.difference) for cell in (*shown.measured, *shown.published)), default=0.0)
    return shown.map.limit or round_limit(largest)


def round_limit(largest: float) -> float:
    """Return the end of a scale that holds the largest difference: 1, 2 or 5 times a power of ten."""
    if not largest:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(step * power for step in (1, 2, 5, 10) if largest <= step * power)


def colour(difference: float, palette: str, limit: float) -> str:
    """Return the colour of a difference: white at zero, the end of the palette from the limit on."""
    above, below = PALETTES[palette]
    stops = above if difference >= 0 else below
    place = min(abs(difference) / limit, 1.0) * (len(stops) - 1)
    index = min(int(place), len(stops) - 2)
    mixed = [
        round(one + (other - one) * (place - index))
        for one, other in zip(_channels(stops[index]), _channels(stops[index + 1]), strict=True)
    ]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def ink(background: str) -> str:
    """Return black or white, whichever has the higher contrast on a colour (WCAG 2.1, relative luminance)."""
    # equal contrast: (L + 0.05)^2 = 1.05 * (the luminance of INK, 0.009, + 0.05)
    light = luminance(channel / 255 for channel in _channels(background))
    return INK if light > math.sqrt(1.05 * 0.059) - 0.05 else LIGHT_INK


def _channels(code: str) -> list[int]:
    return [int(code[start : start + 2], 16) for start in (1, 3, 5)]


def annotation(difference: float) -> str:
    """Write a difference with two significant digits: `72`, `−0.53`, `230`."""
    rounded = round(float(f"{difference:.2g}"), 3)
    return f"{rounded:g}".replace("-", "−", 1) if abs(rounded) < 1e6 else f"{rounded:.0f}".replace("-", "−", 1)


def rows_of(cells: Sequence[Cell], study: Study, shown: MeasuredMap) -> list[dict[str, Any]]:
    """Return the cells of a map as the chart needs them: place, text, colours of each palette, and numbers."""
    unit = study.measures.metric_of(shown.figure.metric).unit
    return [
        {
            **_place(cell, shown),
            **look(cell.difference, cell.significant, limit_of(shown)),
            "difference": round(cell.difference, 4),
            "p": "none" if math.isnan(cell.p) else f"{cell.p:.2g}",
            "first": _numbers(cell.first, unit),
            "second": _numbers(cell.second, unit),
        }
        for cell in cells
    ]


def _numbers(runs: Summary, unit: str) -> str:
    return f"{runs.mean:.5g} ± {runs.std:.3g} {unit}, {runs.n} runs".replace("  ", " ").replace(" ,", ",")


def _place(cell: Cell, shown: MeasuredMap) -> dict[str, str]:
    return {"row": _word(shown, cell.row), "column": _word(shown, cell.column)}


def _word(shown: MeasuredMap, value: Value) -> str:
    return shown.map.words.get(value, f"{value}")


def look(difference: float, significant: bool | None, limit: float) -> dict[str, Any]:
    """Return text and colours of a cell: white if it is not significant, grey if that cannot be tested."""
    text = annotation(difference)
    found: dict[str, Any] = {"text": text if significant is not None else f"{text} *", "bold": bool(significant)}
    for index, palette in enumerate(PALETTES):
        fill = UNTESTED if significant is None else colour(difference, palette, limit) if significant else WHITE
        found[f"fill{index}"] = fill
        found[f"ink{index}"] = QUIET_INK if significant is False else ink(fill)
    return found


def difference_rows(shown: MeasuredMap) -> list[dict[str, Any]]:
    """Return the cells of the map of measured minus published differences, in percentage points."""
    found = []
    for published, measured in shown.pairs:
        points = measured.difference - published.difference
        seen = look(points, True, limit_of(shown)) | {"bold": False}
        found.append(
            {
                **_place(published, shown),
                **seen,
                "difference": round(points, 4),
                "p": "",
                "first": f"{published.difference:.4g} %",
                "second": f"{measured.difference:.4g} %",
            }
        )
    return found


def chart(evaluation: Evaluation, figure: Figure, engine: str) -> alt.TopLevelMixin:
    """Declare the maps, one below the other, with the scale at the end."""
    shown = map_of(evaluation, figure, engine)
    study = evaluation.study
    if not shown.published and not shown.measured:
        return empty_chart()
    named = [study.design.labels[name] for name in (shown.map.first, shown.map.second)]
    charts = [
        _map(rows, title, shown, study, heads)
        for rows, title, heads in (
            (rows_of(shown.measured, study, shown), f"Measured with {engine} [%]", named),
            (rows_of(shown.published, study, shown), f"Published, {figure.source} [%]", named),
            (difference_rows(shown), "Measured minus published [percentage points]", [PUBLISHED, MEASURED]),
        )
        if rows
    ]
    charts.append(_scale(named, study.measures.metric_of(figure.metric).label, limit_of(shown)))
    choice = alt.param(
        name=SWITCH, value=0, bind=alt.binding_radio(options=[0, 1], labels=list(PALETTES), name="Colours: ")
    )
    return alt.vconcat(*charts, spacing=16).add_params(choice)


def _chosen(name: str) -> Any:
    """Return an encoding that takes one of the two columns of a colour, as the switch says."""
    return alt.value(alt.ExprRef(f"{SWITCH} == 0 ? datum.{name}0 : datum.{name}1"))


def _map(rows: Sequence[dict[str, Any]], title: str, shown: MeasuredMap, study: Study, heads: Sequence[str]) -> Layers:
    down, across = study.design.factor(shown.map.rows), study.design.factor(shown.map.columns)
    order = [[_word(shown, value) for value in factor.values] for factor in (down, across)]
    axis: dict[str, Any] = {"grid": False, "domain": False, "ticks": False}
    y = alt.Y(
        "row:N",
        title=_title(down),
        sort=order[0],
        scale=places(order[0]),
        # as they are, on a phone too, where names of settings stand above their bands
        axis=alt.Axis(minExtent=40, maxExtent=40, labelAlign="right", labelOffset=0, labelPadding=4, **axis),
    )
    x = alt.X(
        "column:N",
        title=_title(across),
        sort=order[1],
        scale=places(order[1]),
        axis=alt.Axis(labelAngle=0, **axis),
    )
    is_of_runs = rows[0]["p"] != ""
    tooltip = [
        alt.Tooltip("row:N", title=_title(down)),
        alt.Tooltip("column:N", title=_title(across)),
        alt.Tooltip("difference:Q", title="Difference [%]" if is_of_runs else "Difference [points]", format=".4~g"),
        *([alt.Tooltip("p:N", title="p-value")] if is_of_runs else []),
        alt.Tooltip("first:N", title=heads[0]),
        alt.Tooltip("second:N", title=heads[1]),
    ]
    base = alt.Chart({"values": list(rows)}).encode(x=x, y=y, tooltip=tooltip)
    return squares(base, _chosen).properties(title=title, width=WIDTH, height=ROW * len(order[0]))


def places(levels: Sequence[Any]) -> alt.Scale:
    """Return the scale of an axis with a band for each level; a `sort` of layers that share an axis is ignored."""
    return alt.Scale(domain=list(levels), paddingInner=0, paddingOuter=0)


def squares(base: alt.Chart, colour: Callable[[str], Any]) -> Layers:
    """Declare the cells of a map of differences as of `look`, each with its number.

    Parameters
    ----------
    base
        Rows and axes.
    colour
        From `fill` or `ink` to the encoding of that colour.
    """
    cells = base.mark_rect(stroke=BORDER, strokeWidth=1, opacity=1).encode(color=colour("fill"))
    texts = base.mark_text(fontSize=12, opacity=1, fontWeight=alt.ExprRef("datum.bold ? 'bold' : 'normal'"))
    return alt.layer(cells, texts.encode(text="text:N", color=colour("ink")))


def _title(factor: Factor) -> str:
    return with_unit(factor.label, factor.unit)


def _scale(named: Sequence[str], metric: str, limit: float) -> Layers:
    """Declare the strip of colours that is the legend of all maps."""
    width = 2 * limit / STEPS
    steps = [
        {
            "from": -limit + width * index,
            "to": -limit + width * (index + 1),
            **{
                f"fill{number}": colour(-limit + width * (index + 0.5), name, limit)
                for number, name in enumerate(PALETTES)
            },
        }
        for index in range(STEPS)
    ]
    axis = alt.Axis(values=[-limit, -limit / 2, 0, limit / 2, limit], grid=False, tickColor=NEUTRAL)
    title = ["Significant difference [%]", f"{metric} lower with {named[1]} below zero, with {named[0]} above"]
    x = alt.X("from:Q", title=title, scale=alt.Scale(domain=[-limit, limit], nice=False), axis=axis)
    # strokes of the same colour: without them seams show between the steps
    strip = alt.Chart({"values": steps}).mark_rect(opacity=1, strokeWidth=1)
    strip = strip.encode(x=x, x2="to:Q", color=_chosen("fill"), stroke=_chosen("fill"))
    return alt.layer(strip).properties(width=WIDTH, height=BAR)


def caption(evaluation: Evaluation, figure: Figure, engine: str) -> str:
    """Return a description of the colours of a map, and the agreement of the maps."""
    shown = map_of(evaluation, figure, engine)
    if figure.map is None or not (shown.measured or shown.published):
        return ""
    study = evaluation.study
    first, second = (study.design.labels[name] for name in (shown.map.first, shown.map.second))
    metric = study.measures.metric_of(figure.metric).label
    sentences = [
        f"(Mean of {second} − mean of {first}) / mean of {first}: positive where {metric} is lower with {first}.",
        f"White: not significant ({shown.test}, p ≥ {SIGNIFICANT:g}).",
    ]
    if any(cell.significant is None for cell in (*shown.measured, *shown.published)):
        sentences.append("Grey with an asterisk: no p-value, because all runs of both are equal or fewer than two.")
    if not shown.published and study.measures.table.file:
        sentences.append(f"No published numbers of this map are stored ({figure.source}).")
    found = shown.score
    if found.cells:
        if not math.isnan(found.correlation):
            sentences.append(f"Correlation of both maps over {found.cells} cells: {found.correlation:.3f}.")
        if found.significant:
            sentences.append(
                f"Of the {found.significant} cells that are significant in the publication, {found.right_sign} have "
                f"the same sign here, and {found.also_significant} of these are also significant here."
            )
    return " ".join(sentences)
