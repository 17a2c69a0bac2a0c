"""Numbers over time series: what a result says of them where the samples themselves are not kept."""

from __future__ import annotations

import math

from quiclab.libraries import pl


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


def rates(series: pl.DataFrame) -> pl.DataFrame:
    """Return the rate per interface and flow over time: `time_s`, `element`, `direction`, `rate_mbps`.

    An interface is an element that counts bytes: a link (`sent_bytes`: what left it) or the host at an end of a flow
    in the kernel lane (`sent_bytes`, `received_bytes`). The rate at a time is the mean since the sample before it, in
    10⁶ bit/s of IP packets; the first sample of an element has none.

    Parameters
    ----------
    series
        Columns `time_s`, `element`, `metric`, `value`.
    """
    if series.is_empty():
        return pl.DataFrame()
    by = ("element", "metric")
    metric = pl.col("metric").cast(pl.String)
    megabits = pl.col("value").diff().over(by) * 8e-6
    return (
        series.filter(metric.is_in(["sent_bytes", "received_bytes"]))
        .with_columns(
            direction=metric.str.strip_suffix("_bytes"), rate_mbps=megabits / pl.col("time_s").diff().over(by)
        )
        .filter(pl.col("rate_mbps").is_not_null())
        .select("time_s", "element", "direction", "rate_mbps")
    )
