"""Numbers over time series: what a result says of them where the samples themselves are not kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def summary(series: pl.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    """Return element -> metric -> mean, least and largest value, and number of samples.

    Samples are equally spaced, so that the mean is one over time from the first sample of the metric on.

    Parameters
    ----------
    series
        Columns `time_s`, `element`, `metric`, `value`.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for part in series.partition_by("element", "metric", maintain_order=True):
        values = part["value"].to_list()
        found.setdefault(str(part["element"][0]), {})[str(part["metric"][0])] = {
            "mean": math.fsum(values) / len(values),  # exact, hence the same on every machine
            "least": min(values),
            "largest": max(values),
            "samples": len(values),
        }
    return found
