"""Figures of the studies of starts: delivered bytes over time, maps over paths, and thresholds."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from quiclab.report.figures.theme import COLOURS, NEUTRAL
from quiclab.result.stats import reduced
from quiclab.study import with_unit
from quiclab.study.libraries import alt
from quiclab_studies.controls.views import grid
from quiclab_studies.slow_start.paths import ROUND_TRIPS
from quiclab_studies.slow_start.starts import LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.study.evaluate import Evaluation

FULL = "full rate"
PLOT_WIDTH, PLOT_HEIGHT = 250, 170
COLUMNS = 3


def _text(value: object) -> str:
    """Return the value of a factor as text; a number is the same whether it was stored with a fraction or without."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _curves(evaluation: Evaluation, engine: str, only: Mapping[str, object], over: str) -> list[dict[str, Any]]:
    """Return the mean curve of each start for each value of a column, of the runs with the values of `only`."""
    found: dict[tuple[str, str], list[Sequence[float]]] = {}
    for row in evaluation.table.filter(evaluation.table["engine"] == engine).iter_rows(named=True):
        if all(_text(row[column]) == _text(value) for column, value in only.items()):
            curve = json.loads(row["result"])["kept"]["curve"]
            found.setdefault((row["configuration"], _text(row[over])), []).append(curve)
    rows = []
    for (name, place), curves in found.items():
        means = [math.fsum(values) / len(values) for values in zip(*curves, strict=True)]
        step = ROUND_TRIPS / len(means)
        rows += [
            {"start": LABELS[name], "place": place, "t": step * (index + 1), "bytes": value}
            for index, value in enumerate(means)
        ]
    return rows


def _chart(rows: Sequence[Mapping[str, Any]], places: Sequence[object]) -> Any:
    names = [str(place) for place in places]
    ideal = [{"start": FULL, "place": place, "t": t, "bytes": t} for place in names for t in (0, ROUND_TRIPS)]
    labels = list(LABELS.values())
    colour = alt.Color(
        "start:N", sort=labels, scale=alt.Scale(domain=labels, range=[*COLOURS[: len(labels)]]), title=""
    )
    x = alt.X("t:Q", title="Round trips after the first byte can arrive")
    y = alt.Y("bytes:Q", title="Delivered [BDP]")
    tips = [
        alt.Tooltip("start:N", title="Start"),
        alt.Tooltip("t:Q", title="Round trips", format=".3~g"),
        alt.Tooltip("bytes:Q", title="Delivered [BDP]", format=".3~g"),
    ]
    lines = alt.Chart().mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour, tooltip=tips)
    full = alt.Chart().mark_line(color=NEUTRAL, strokeWidth=0.8).encode(x=x, y=y)
    return (
        alt.layer(
            full.transform_filter(alt.datum.start == FULL),
            lines.transform_filter(alt.datum.start != FULL),
            data=alt.InlineData(values=[*ideal, *rows]),
        )
        .properties(width=PLOT_WIDTH, height=PLOT_HEIGHT)
        .facet(facet=alt.Facet("place:N", title=None, sort=names), columns=COLUMNS)
    )


def curves(stack: str, queue: float) -> Callable[[Evaluation, str], Any]:
    """Return what draws delivered bytes over time on each path, of a stack behind a queue [BDP]."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        paths = evaluation.study.design.factor("path").values
        return _chart(_curves(evaluation, engine, {"stack": stack, "queue_bdp": queue}, "path"), paths)

    return draw


def curves_disturbed(stack: str, path: str) -> Callable[[Evaluation, str], Any]:
    """Return what draws delivered bytes over time with each disturbance, of a stack on a path."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        disturbances = evaluation.study.design.factor("disturbance").values
        return _chart(_curves(evaluation, engine, {"stack": stack, "path": path}, "disturbance"), disturbances)

    return draw


def over_paths(metric: str, domain: tuple[float, float], **options: Any) -> Callable[[Evaluation, str], Any]:
    """Return what draws a metric of each start over paths, a row for each queue and a column for each stack."""
    return _map(metric, domain, ("queue", "Queue [BDP]"), options)


def over_disturbances(metric: str, domain: tuple[float, float], **options: Any) -> Callable[[Evaluation, str], Any]:
    """Return what draws a metric of each start over paths, a row for each disturbance and a column for each stack."""
    return _map(metric, domain, ("disturbance", "Disturbance"), options)


def _map(
    metric: str, domain: tuple[float, float], rows: tuple[str, str], options: Mapping[str, Any]
) -> Callable[[Evaluation, str], Any]:
    def draw(evaluation: Evaluation, engine: str) -> Any:
        design = evaluation.study.design
        names = [factor.name for factor in design.factors]
        found = []
        for key, values in evaluation.samples(engine, metric=metric).items():
            at = dict(zip(names, key[1:], strict=True))
            found.append(
                {
                    "x": LABELS[str(key[0])],
                    "y": at["path"],
                    "row": _text(at[rows[0]]),
                    "column": at["stack"],
                    "value": reduced([value for value in values if not math.isnan(value)] or [math.nan], "mean"),
                }
            )
        shown = evaluation.study.measures.metric_of(metric)
        return grid(
            found,
            with_unit(shown.label, shown.unit),
            x=("Start", list(LABELS.values())),
            y=("Path", design.factor("path").values),
            row=(rows[1], [_text(value) for value in design.factor(rows[0]).values]),
            column=("Stack", design.factor("stack").values),
            domain=domain,
            **options,
        )

    return draw


def thresholds() -> Callable[[Evaluation, str], Any]:
    """Return what draws the threshold of each start on each path as dots, a row for each queue."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        design = evaluation.study.design
        names = [factor.name for factor in design.factors]
        rows = []
        for key, values in evaluation.samples(engine, metric="ssthresh_bdp").items():
            at = dict(zip(names, key[1:], strict=True))
            known = [value for value in values if not math.isnan(value)]
            if known:
                rows.append(
                    {
                        "start": LABELS[str(key[0])],
                        "path": str(at["path"]),
                        "queue": _text(at["queue"]),
                        "stack": str(at["stack"]),
                        "value": reduced(known, "mean"),
                        "empty": 1.0,
                        "filled": 1.0 + float(str(at["queue"])),
                    }
                )
        labels = list(LABELS.values())
        paths = [str(value) for value in design.factor("path").values]
        base = alt.Chart().encode(y=alt.Y("start:N", sort=labels, title=""))
        dots = base.mark_point(filled=True, size=42, opacity=0.8).encode(
            x=alt.X("value:Q", title="Threshold [BDP]", scale=alt.Scale(type="log")),
            color=alt.Color("path:N", scale=alt.Scale(domain=paths, range=[*COLOURS[: len(paths)]]), title=""),
            tooltip=[
                alt.Tooltip("start:N", title="Start"),
                alt.Tooltip("path:N", title="Path"),
                alt.Tooltip("stack:N", title="Stack"),
                alt.Tooltip("value:Q", title="Threshold [BDP]", format=".3~g"),
            ],
        )
        marks = [
            alt.Chart().mark_rule(color=NEUTRAL, strokeWidth=0.8).encode(x=f"{name}:Q") for name in ("empty", "filled")
        ]
        return (
            alt.layer(*marks, dots, data=alt.InlineData(values=rows))
            .properties(width=300, height=140)
            .facet(
                row=alt.Row(
                    "queue:N", title="Queue [BDP]", sort=[_text(value) for value in design.factor("queue").values]
                ),
                column=alt.Column("stack:N", title=None),
            )
        )

    return draw
