"""Maps of the studies of congestion controls: a cell for each setting, with its value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab.report.figures.theme import NEUTRAL
from quiclab.result.formats import decimal, figures
from quiclab.result.stats import reduced
from quiclab.study import with_unit
from quiclab.study.libraries import alt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from quiclab.study.evaluate import Evaluation

CELL = 34
"""Side of a cell in pixels."""
AXES = ("x", "y", "row", "column")


def grid(
    rows: Iterable[Mapping[str, object]],
    value: str,
    *,
    x: tuple[str, Sequence[object]],
    y: tuple[str, Sequence[object]],
    row: tuple[str, Sequence[object]],
    column: tuple[str, Sequence[object]],
    domain: tuple[float, float],
    reverse: bool = False,
    diverging: bool = False,
    digits: int = 0,
) -> Any:
    """Draw a map for each pair of values of `row` and `column`, with a cell for each pair of `x` and `y`.

    Parameters
    ----------
    rows
        Of each cell `x`, `y`, `row`, `column` and `value`.
    value
        Name of the value, with its unit.
    x, y, row, column
        Title and values in their order; without a title where there is one value, which has no name.
    domain
        Values with the first and the last colour.
    reverse, diverging
        Whether small values are dark, and whether the middle of the domain is neutral.
    digits
        Decimals of the values.
    """
    known = [
        {**item, "text": figures(float(str(item["value"])), digits), **{name: _word(item[name]) for name in AXES}}
        for item in rows
        if not math.isnan(float(str(item["value"])))
    ]
    named = [("row:N", row[0]), ("column:N", column[0]), ("y:O", y[0]), ("x:O", x[0]), ("text:N", value)]
    tips = [alt.Tooltip(field, title=title) for field, title in named if title]
    base = alt.Chart().encode(
        x=alt.X("x:O", title=x[0], sort=[*map(_word, x[1])], axis=alt.Axis(labelAngle=-40 if _is_long(x[1]) else 0)),
        y=alt.Y("y:O", title=y[0], sort=[*map(_word, y[1])]),
        tooltip=tips,
    )
    scale = alt.Scale(domain=list(domain), clamp=True, scheme="redblue" if diverging else "blues", reverse=reverse)
    middle, half = sum(domain) / 2, (domain[1] - domain[0]) / 2
    far = f"abs(datum.value - {middle}) > {0.55 * half}"
    dark = far if diverging else f"datum.value {'<' if reverse else '>'} {middle}"
    cells = base.mark_rect(stroke=NEUTRAL, strokeWidth=0.3).encode(color=alt.Color("value:Q", scale=scale, legend=None))
    texts = base.mark_text(fontSize=10).encode(
        text="text:N", color=alt.condition(dark, alt.value("white"), alt.value("black"))
    )
    return (
        alt.layer(cells, texts, data=alt.InlineData(values=known))
        .properties(width=CELL * len(x[1]), height=0.7 * CELL * len(y[1]))
        .facet(
            row=alt.Row(
                "row:N",
                title=row[0] or None,
                sort=[*map(_word, row[1])],
                header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=150),
            ),
            column=alt.Column("column:N", title=column[0] or None, sort=[*map(_word, column[1])]),
        )
    )


def _word(value: object) -> str:
    """Write a value as all do: stored results have 1.0 where a factor has 1, and would not be in its order."""
    return decimal(value, 6) if isinstance(value, float) else str(value)


def _is_long(values: Sequence[object]) -> bool:
    return any(len(str(value)) > 5 for value in values)


def over_networks(metric: str, domain: tuple[float, float], **options: Any) -> Callable[[Evaluation, str], Any]:
    """Return what draws a metric of each sender over rate and round trip time, a column for each queue."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        design = evaluation.study.design
        shown = evaluation.study.measures.metric_of(metric)
        queues, rates, rtts = ({factor.name: factor for factor in design.factors}[name] for name in NETWORK)
        places = [[factor.name for factor in design.factors].index(name) + 1 for name in NETWORK]
        rows = []
        for key, values in evaluation.samples(engine, metric=metric).items():
            queue, rate, rtt = (key[place] for place in places)
            label = design.labels[str(key[0])]
            rows.append({"x": rtt, "y": rate, "row": label, "column": queue, "value": reduced(values, "mean")})
        return grid(
            rows,
            with_unit(shown.label, shown.unit),
            x=(f"{rtts.label} [{rtts.unit}]", rtts.values),
            y=(f"{rates.label} [{rates.unit}]", rates.values[::-1]),
            row=("Sender", [item.label for item in design.configurations]),
            column=(f"{queues.label} [{queues.unit}]", queues.values),
            domain=domain,
            **options,
        )

    return draw


NETWORK = ("queue", "rate", "rtt")
"""Factors of `over_networks`."""


def matrix(
    value: Callable[[Evaluation, str], Mapping[tuple[str, str, str], float]],
    title: str,
    labels: Mapping[str, str],
    queues: tuple[str, Sequence[object]],
    domain: tuple[float, float],
    **options: Any,
) -> Callable[[Evaluation, str], Any]:
    """Return what draws a value of each pair of senders: `value` gives it by first and second sender and queue."""

    def draw(evaluation: Evaluation, engine: str) -> Any:
        rows = [
            {"y": labels[first], "x": labels[second], "column": "", "row": queue, "value": found}
            for (first, second, queue), found in value(evaluation, engine).items()
        ]
        names = list(labels.values())
        return grid(
            rows,
            title,
            x=("Beside", names),
            y=("Sender", names),
            row=queues,
            column=("", [""]),
            domain=domain,
            **options,
        )

    return draw
