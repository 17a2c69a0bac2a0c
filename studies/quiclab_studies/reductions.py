"""Numbers that studies of several groups reduce runs to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab.study.libraries import pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quiclab.result import RunResult


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def jain(values: Iterable[float]) -> float:
    """Return Jain's index of rates, (sum)² / (n · sum of squares); NaN if all are 0."""
    rates = list(values)
    squares = math.fsum(rate * rate for rate in rates)
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares else math.nan


def number(value: Any) -> float:
    """Return a stored number; NaN where there is none."""
    return math.nan if value is None else float(value)


def series(result: RunResult, element: str, metric: str) -> pl.DataFrame:
    """Return the samples of a metric of an element, `time_s` and `value` among their columns."""
    return result.series.filter(pl.col("element") == element, pl.col("metric") == metric)
