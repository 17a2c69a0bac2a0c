"""The points of a figure of a metric: published, measured and estimated values."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import pl
from quiclab.report.figures.theme import MEASURED, MODEL, PUBLISHED
from quiclab.result.stats import Summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quiclab.study import Figure, Study
    from quiclab.study.evaluate import Evaluation
    from quiclab.study.findings import Key

# the axis starts at zero where the lowest value is below this part of the highest
ZERO_BELOW = 0.5
NUMBERS = ("mean", "low", "high", "std")
WORDS = {"true": "yes", "false": "no"}


def is_ordered(study: Study, figure: Figure) -> bool:
    """Whether what a figure is drawn over is a number; configurations, names and parts of runs have no order."""
    if not figure.x:
        return False
    factor = study.design.factor(figure.x)
    return factor.changes is not None and not any(isinstance(value, str) for value in factor.values)


def starts_at_zero(data: pl.DataFrame) -> bool:
    """Whether the axis of the values starts at zero: where they differ by more than a factor of two."""
    if data.is_empty():
        return True
    lowest, highest = min(data["low"].to_list()), max(data["high"].to_list())
    return bool(lowest < ZERO_BELOW * highest)


def figure_data(evaluation: Evaluation, figure: Figure, engine: str) -> pl.DataFrame:
    """Return the points of a figure.

    Columns: `x` (value of the factor, or name of the row), `configuration` and `part` (their labels; of series that
    are the same for all parts of a run, the part is empty), `series` (label of both, and of the levels of other
    factors), `source` (published, measured or model), `mean`, `low`, `high` (mean minus and plus one standard
    deviation), `std`, `n`. Points without a value are left out.
    """
    study = evaluation.study
    metric = study.measures.metric_of(figure.metric)
    first_part = tuple(part.values[0] for part in study.design.parts)
    over_part = figure.x in [part.name for part in study.design.parts]
    rows: list[dict[str, Any]] = []

    def add(key: Key, source: str, summary: Summary) -> None:
        series = study.series_key(key)
        if not metric.of and series[1:] != first_part:
            return  # a metric of the whole run is the same in all of its parts
        configuration = study.design.labels.get(str(key[0]), str(key[0]))
        # a part that stands on the axis needs not be named again
        named = metric.of and not over_part
        label = study.series_label(series) if named else configuration
        label = ", ".join([label, *_others(study, figure, key)])
        std = 0.0 if math.isnan(summary.std) else summary.std
        rows.append(
            {
                "x": label if not figure.x or (over_part and not metric.of) else _shown(study, figure, key),
                "configuration": configuration,
                "part": ", ".join(map(str, series[1:])) if named else "",
                "series": label,
                "source": source,
                "mean": summary.mean,
                "low": summary.mean - std,
                "high": summary.mean + std,
                "std": std,
                "n": summary.n,
            }
        )

    for row in evaluation.reference(figure.metric):
        add(row.key, PUBLISHED, row.summary)
    for key, summary in evaluation.summaries(engine, metric=figure.metric).items():
        add(key, MEASURED, summary)
    for key, summary in estimates(study, figure):
        add(key, MODEL, summary)
    names = ("configuration", "part", "series", "source")
    columns: dict[str, Any] = dict.fromkeys(names, pl.String) | dict.fromkeys(NUMBERS, pl.Float64) | {"n": pl.Int64}
    frame = pl.DataFrame(rows, schema_overrides=columns, infer_schema_length=None)
    return frame.filter(pl.col("mean").is_not_nan()) if rows else pl.DataFrame(schema={"x": pl.String, **columns})


def _others(study: Study, figure: Figure, key: Key) -> list[str]:
    """Return the levels of the factors that neither the axis nor the series of the study tell apart: a mark each."""
    if study.measures.series_factor:
        return []
    levels = zip(study.design.factors, key[1:], strict=True)
    others = [(factor, value) for factor, value in levels if factor in study.design.swept and factor.name != figure.x]
    return [factor.words.get(value, f"{factor.name} {value}") for factor, value in others if len(factor.values) > 1]


def _shown(study: Study, figure: Figure, key: Key) -> str | int | float:
    """Return the value of a figure's factor in a setting, as the axis has it."""
    factor = study.design.factor(figure.x)
    value = key[1 + [item.name for item in study.design.factors].index(figure.x)]
    return factor.words.get(value, WORDS.get(value, value)) if isinstance(value, str) else value


def estimates(study: Study, figure: Figure) -> Iterator[tuple[Key, Summary]]:
    """Return the estimates of the model of a study for each setting; only of its main metric over a factor."""
    model = study.measures.model
    if model is None or not is_ordered(study, figure) or figure.metric not in ("", study.measures.metric.name):
        return
    names = [factor.name for factor in study.design.factors]
    for values in product(*(factor.values for factor in study.design.factors)):
        for item in study.design.configurations:
            value = model.estimate(item.name, dict(zip(names, values, strict=True)))
            if value is not None:
                yield (item.name, *values), Summary(0, value, math.nan, math.nan, math.nan)
