"""Figures of a criterion: how far it is met, setting by setting, or reference and measurement as they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import alt, pl
from quiclab.report.figures.theme import (
    MEASURED,
    NEUTRAL,
    PUBLISHED,
    SHIFT,
    STEP,
    SYMBOLS,
    Layers,
    colours,
    empty_chart,
    legend_of_symbols,
    of_rows,
)
from quiclab.result import stats
from quiclab.study import with_unit

if TYPE_CHECKING:
    from quiclab.study import Figure, Metric, Study
    from quiclab.study.criteria import Criterion
    from quiclab.study.evaluate import Evaluation
    from quiclab.study.findings import Key

# height of a band of limits, in pixels
BAND = 14
# values of pairs that differ by more than this factor stand on a logarithmic axis
LOG_ABOVE = 20
# a logarithmic axis reaches so far beyond the means: few runs have intervals that reach zero
LOG_EDGE = 1.5


def agreement_data(evaluation: Evaluation, figure: Figure, engine: str) -> pl.DataFrame:
    """Return the points of a figure of a criterion.

    Columns: `setting`, `series` (label of the configuration), `difference`, its interval from `least` to `most`, and
    `limit` (percent of the reference, or the unit of the metric, or multiples of the limit where limits differ), `low`
    (-limit), `reference`, `measured`, `outcome`; settings that were not run have none.
    """
    study = evaluation.study
    labels = study.design.labels
    found = next(item for item in evaluation.criteria(engine) if item.criterion.identity == figure.criterion)
    rows = []
    for line in found.lines:
        scale = _scale(found.criterion, line.limit)
        name = str(line.key[0])
        margin = 0.0 if math.isnan(line.margin) else line.margin
        rows.append(
            {
                "setting": _setting(study, line.key),
                "series": labels[name],
                "difference": scale * line.difference,
                "least": scale * (line.difference - margin),
                "most": scale * (line.difference + margin),
                "limit": scale * line.limit,
                "low": -scale * line.limit,
                "reference": line.reference,
                "measured": line.measured,
                "outcome": str(line.outcome),
            }
        )
    return pl.DataFrame(rows).filter(pl.col("difference").is_not_nan())


def _setting(study: Study, key: Key) -> str:
    """Return the name of a setting in a figure of a criterion."""
    values = [factor.word(value) for factor, value in zip(study.design.factors, key[1:], strict=False)]
    return ", ".join([study.design.labels[str(key[0])], *values])


def _differ(criterion: Criterion) -> bool:
    return not criterion.relative and len(set(criterion.limits.values())) > 1


def _scale(criterion: Criterion, limit: float) -> float:
    """Return the function from a difference to the value shown."""
    return 100.0 if criterion.relative else 1.0 / limit if _differ(criterion) else 1.0


def _criterion(study: Study, figure: Figure) -> tuple[Criterion, Metric]:
    """Return the criterion of a figure, and its metric."""
    criterion = next(item for item in study.measures.criteria if item.identity == figure.criterion)
    return criterion, study.measures.metric_of(criterion.metric)


def chart(evaluation: Evaluation, figure: Figure, engine: str) -> Layers:
    """Declare a figure of a criterion: what it compares, or how far it is met."""
    return (_pairs if figure.pairs else _agreement)(evaluation, figure, engine)


def _agreement(evaluation: Evaluation, figure: Figure, engine: str) -> Layers:
    """Declare one row a setting, its limits as a band and its difference as a mark."""
    study = evaluation.study
    criterion, metric = _criterion(study, figure)
    unit = "%" if criterion.relative else "limits" if _differ(criterion) else metric.unit
    data = agreement_data(evaluation, figure, engine)
    if data.is_empty():
        return empty_chart()
    series = [label for label in study.design.labels.values() if label in set(data["series"])]
    base = alt.Chart({"values": data.to_dicts()})
    title = with_unit(f"{metric.label}: difference from the reference", unit)
    y = alt.Y("setting:N", sort=data["setting"].to_list(), title=None, axis=alt.Axis(labelLimit=330))
    x = alt.X("difference:Q", title=title, axis=alt.Axis(tickCount=9))
    tooltip = [
        alt.Tooltip("setting:N", title="Setting"),
        alt.Tooltip("reference:Q", title=with_unit("Reference", metric.unit), format=".4g"),
        alt.Tooltip("measured:Q", title=with_unit("Measured", metric.unit), format=".4g"),
        alt.Tooltip("difference:Q", title=with_unit("Difference", unit), format="+.2f"),
        alt.Tooltip("limit:Q", title=with_unit("Limit", unit), format=".4g"),
        alt.Tooltip("outcome:N", title="Outcome"),
    ]
    band = base.mark_bar(color=NEUTRAL, opacity=0.25, height=BAND).encode(
        y=y, x=alt.X("low:Q", title=title), x2="limit:Q"
    )
    zero = base.mark_rule(color=NEUTRAL).encode(x=alt.X(datum=0, title=title))
    interval = base.mark_rule(strokeWidth=1.4).encode(
        y=y, x=alt.X("least:Q", title=title), x2="most:Q", color=colours(series)
    )
    marks = base.mark_point(filled=True, opacity=1, size=70).encode(
        y=y,
        x=x,
        color=colours(series),
        shape=alt.Shape(
            "outcome:N",
            scale=alt.Scale(domain=["pass", "miss"], range=["circle", "cross"]),
            legend=alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=90, symbolFillColor=NEUTRAL),
        ),
        tooltip=tooltip,
    )
    return of_rows(alt.layer(band, zero, interval, marks), data["setting"].n_unique(), STEP)


def pairs_data(evaluation: Evaluation, figure: Figure, engine: str) -> pl.DataFrame:
    """Return the points of a figure of pairs.

    Columns: `setting`, `series` (label of the configuration), `source` (published or measured), `mean`, `low`, `high`
    (95 % interval of the mean); two rows for each setting of the criterion that was run.
    """
    study = evaluation.study
    criterion, _ = _criterion(study, figure)
    sides = {
        PUBLISHED: {row.key: row.summary for row in evaluation.reference(criterion.metric)},
        MEASURED: evaluation.summaries(engine, metric=criterion.metric),
    }
    rows = []
    for key in criterion.limits:
        for source, summaries in sides.items():
            if key in summaries:
                half = stats.half_width(summaries[key])
                half = 0.0 if math.isnan(half) else half
                mean = summaries[key].mean
                rows.append(
                    {
                        "setting": _setting(study, key),
                        "series": study.design.labels[str(key[0])],
                        "source": source,
                        "mean": mean,
                        "low": mean - half,
                        "high": mean + half,
                    }
                )
    texts, numbers = ("setting", "series", "source"), ("mean", "low", "high")
    columns: dict[str, type[pl.DataType]] = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(rows, schema=columns).filter(pl.col("mean").is_not_nan())


def _pairs(evaluation: Evaluation, figure: Figure, engine: str) -> Layers:
    """Declare one row a setting, reference and measurement one above the other."""
    study = evaluation.study
    _, metric = _criterion(study, figure)
    data = pairs_data(evaluation, figure, engine)
    if data.is_empty():
        return empty_chart()
    series = [label for label in study.design.labels.values() if label in set(data["series"])]
    title = with_unit(metric.label, metric.unit)
    means, scale = data["mean"].to_list(), alt.Scale(zero=False)
    if min(means) > 0 and max(means) > LOG_ABOVE * min(means):
        edges = [min(means) / LOG_EDGE, max(means) * LOG_EDGE]
        scale = alt.Scale(type="log", domain=edges, nice=False)
        data = data.with_columns(pl.col("low", "high").clip(*edges))
    base = alt.Chart({"values": data.with_columns(style=data["source"]).to_dicts()})
    y = alt.Y(
        "setting:N", sort=list(dict.fromkeys(data["setting"])), title=None, axis=alt.Axis(labelLimit=330, grid=True)
    )
    x, low = alt.X("mean:Q", title=title, scale=scale), alt.X("low:Q", title=title, scale=scale)
    tooltip = [
        alt.Tooltip("setting:N", title="Setting"),
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("mean:Q", title=with_unit("Mean", metric.unit), format=".4g"),
    ]
    colour = colours(series)
    layers: list[alt.Chart] = []
    for source, shift in ((PUBLISHED, -SHIFT), (MEASURED, SHIFT)):
        shown = base.transform_filter(alt.datum.source == source)
        mark: dict[str, Any] = {"size": 50, "opacity": 1, "yOffset": shift}
        mark |= {"shape": "circle", "filled": True} if source == MEASURED else {"shape": "square", "strokeWidth": 1.4}
        layers += [
            shown.mark_rule(strokeWidth=1.4, yOffset=shift).encode(y=y, x=low, x2="high:Q", color=colour),
            shown.mark_point(**mark).encode(y=y, x=x, color=colour, tooltip=tooltip),
        ]
    layers.append(legend_of_symbols(base, {source: SYMBOLS[source] for source in (PUBLISHED, MEASURED)}))
    return of_rows(alt.layer(*layers), data["setting"].n_unique(), STEP)


def caption(_: Evaluation, figure: Figure, engine: str) -> str:
    """Return a description of the marks of a figure."""
    confidence = f"{100 * stats.CONFIDENCE:.10g} %"
    if figure.pairs:
        return (
            f"Squares: reference ({figure.source}). Circles: measured with {engine}. Bars: {confidence} of the mean, "
            "cut at the edges of a logarithmic axis."
        )
    return (
        f"Measured with {engine} minus reference ({figure.source}); grey: the limits of {figure.criterion}. Circle: "
        f"within them. Cross: not. Bars, where there are any: {confidence} of the difference, from the scatter of the "
        "runs of both sides."
    )
