"""Figures of settings that names tell apart: rows, groups of rows, and the distributions over their runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import alt, pl
from quiclab.experiment.sweeps.table import N
from quiclab.experiment.table import FAILED, REASON
from quiclab.report.figures.theme import COLOURS, WIDTH, legend_columns, palette
from quiclab.report.sweeps.axes import TICKS, scale_of
from quiclab.report.sweeps.crowded import MAX_BARS, MAX_POINTS

if TYPE_CHECKING:
    from quiclab.report.sweeps.axes import Drawing

HEIGHT: Final = 320
ROW: Final = 24
#: Height of a level in a group, and of the space above and below its levels, in levels.
LANE: Final = 18
AROUND: Final = 0.3
#: Characters of a reason in a row.
MAX_SAID: Final = 100


def rows(drawing: Drawing) -> Any:
    """Declare one row a setting, with its mean and 95 % interval."""
    settings = drawing.settings.head(MAX_BARS)
    settings = settings.with_columns(name=drawing.names(settings)["name"])
    names = settings["name"].to_list()
    # a setting without a value has its row
    y = alt.Y("name:N", sort=names, scale=alt.Scale(domain=names), title=None, axis=alt.Axis(labelLimit=330, grid=True))
    drawn = _intervals(replace(drawing, settings=settings), alt.Tooltip("name:N", title="Setting"), y=y)
    return drawn.properties(width=WIDTH, height=max(60, ROW * len(names)))


def groups(drawing: Drawing) -> Any:
    """Declare a group of rows for each level of a factor; the levels of another one are rows and colours in it."""
    labels, group, colour = drawing.labels, drawing.layout.y, drawing.layout.colour
    if group is None or colour is None:
        return rows(drawing)
    names, levels = drawing.levels(group), drawing.levels(colour)
    settings = drawing.settings.with_columns(group=labels.column(group, drawing.settings))
    scale = alt.Scale(domain=names, paddingInner=0, paddingOuter=0)
    # a head above the names: along the axis, a title would be longer than a few groups are high
    head: dict[str, Any] = {"titleAngle": 0, "titleAnchor": "end", "titleAlign": "right", "titleX": -8, "titleY": -10}
    y = alt.Y(
        "group:N",
        sort=names,
        scale=scale,
        title=labels.factor(group),
        axis=alt.Axis(labelLimit=330, labelPadding=8, grid=True, tickBand="extent", ticks=False, **head),
    )
    offset = alt.YOffset("colour:N", sort=levels, scale=alt.Scale(domain=levels, paddingOuter=AROUND))
    pointed = alt.Tooltip("group:N", title=labels.factor(group))
    drawn = _intervals(replace(drawing, settings=settings), pointed, y=y, yOffset=offset)
    return drawn.properties(width=WIDTH, height=round(len(names) * (len(levels) + 2 * AROUND) * LANE))


def _intervals(drawing: Drawing, pointed: alt.Tooltip, **place: Any) -> Any:
    """Declare means with bars of their 95 % intervals; for settings whose runs failed, why there are none.

    Parameters
    ----------
    drawing
        The figure, or a panel of it; its settings have the column of the rows.
    pointed
        What the pointer shows of the row.
    place
        The channels that lead to the row of a setting.
    """
    measure, colour = drawing.measure, drawing.colour("circle")
    base = alt.Chart({"values": drawing.values().to_dicts()})
    axis = alt.Axis(tickCount=TICKS)
    x = alt.X("mean:Q", title=drawing.title, scale=scale_of(drawing.domain), axis=axis)
    low = alt.X("low:Q", title=drawing.title, axis=axis)
    layers = [
        base.mark_rule(strokeWidth=1.6).encode(x=low, x2="high:Q", color=colour, **place),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, color=colour, tooltip=[pointed, *drawing.tooltip()], **place
        ),
    ]
    without = drawing.settings.filter((pl.col(measure.column + N) == 0) & (pl.col(FAILED) > 0))
    if without.height:
        said = without.select(
            *(name for name in ("name", "group") if name in without.columns),
            *([drawing.labels.column(drawing.layout.colour, without).alias("colour")] if drawing.layout.colour else []),
            REASON,
            text=pl.format("no value: {}", pl.col(REASON).fill_null("it was not run")).str.slice(0, MAX_SAID),
        )
        texts = alt.Chart({"values": said.to_dicts()}).mark_text(align="left", dx=6, fontSize=11, color=COLOURS[1])
        why = [alt.Tooltip(f"{REASON}:N", title="Why")]
        layers.append(texts.encode(x=alt.value(0), text="text:N", tooltip=why, **place))
    return alt.layer(*layers)


def distribution(drawing: Drawing) -> Any:
    """Declare the distribution over the runs of each setting."""
    data = (
        drawing.runs.select("setting", value=pl.col(drawing.measure.column).fill_nan(None))
        .drop_nulls()
        .join(drawing.names(drawing.settings), on="setting", how="left", maintain_order="left")
        .sort("setting", "value", maintain_order=True)
        .with_columns(share=(pl.int_range(pl.len()).over("setting") + 1) / pl.len().over("setting"))
    )
    names = list(dict.fromkeys(data["name"].to_list()))
    scale = alt.Scale(domain=names, range=palette(len(names)))
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        symbolType="stroke",
        symbolStrokeWidth=3,
        columns=legend_columns(names),
    )
    colour = alt.Color("name:N", scale=scale, legend=legend) if len(names) > 1 else alt.value(COLOURS[0])
    step = max(1, len(data) // MAX_POINTS)
    base = alt.Chart({"values": data.gather_every(step).select("name", "value", "share").to_dicts()})
    x = alt.X("value:Q", title=drawing.title, scale=alt.Scale(zero=False))
    y = alt.Y("share:Q", title="Share of runs at or below", scale=alt.Scale(domain=[0, 1]))
    return (
        base.mark_line(interpolate="step-after", strokeWidth=2)
        .encode(x=x, y=y, color=colour)
        .properties(width=WIDTH, height=HEIGHT)
    )
