"""Statistics of time series: their summary in a result that does not store the samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab._base.libraries import np, pl
from quiclab._base.native import extension

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.result import RunResult


def summary(values: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return element -> metric -> mean, least and largest value, and number of samples.

    Samples are equally spaced, so that the mean is one over time from the first sample of the metric on.

    Parameters
    ----------
    values
        Element -> metric -> values, as of `values_of`.
    """
    return {element: {name: _summary(found) for name, found in metrics.items()} for element, metrics in values.items()}


def _summary(values: Sequence[float]) -> dict[str, float]:
    mean = math.fsum(values) / len(values)  # exact, hence the same on every machine
    return {"mean": mean, "least": min(values), "largest": max(values), "samples": len(values)}


def values_of(series: pl.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Return element -> metric -> values in the order of time.

    Parameters
    ----------
    series
        Columns `time_s`, `element`, `metric`, `value`.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for part in series.partition_by("element", "metric", maintain_order=True):
        found.setdefault(str(part["element"][0]), {})[str(part["metric"][0])] = part["value"].to_list()
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


def by_flow(result: RunResult) -> pl.DataFrame:
    """Return time series of each flow from taps and sojourn times, at the steps of the run's other series.

    Columns `time_s`, `element`, `metric`, `value`. The element is `<tap>:<flow>` with `passed_bytes` and
    `passed_packets`, counted from the start; and `<end of a tunnel>:<flow>` with `sojourn_least_ms`,
    `sojourn_median_ms` and `sojourn_longest_ms` of the packets sent in the step before, and `codel_dropped_packets` in
    it. Steps without packets have no row.
    """
    step_s = _step_s(result)
    tables = [_passed(name, frame, step_s) for name, frame in result.taps.items() if not frame.is_empty()]
    if not result.sojourns.is_empty():
        tables.append(_sojourns(result.sojourns, step_s))
    return pl.concat(tables) if step_s and tables else pl.DataFrame()


def _step_s(result: RunResult) -> float:
    times = [] if result.series.is_empty() else result.series["time_s"].unique().sort().to_list()
    return times[1] - times[0] if len(times) > 1 else 0.0


def _steps(step_s: float) -> pl.Expr:
    return ((pl.col("time_ns") / 1e9 / step_s).floor() + 1) * step_s


def _passed(tap: str, frame: pl.DataFrame, step_s: float) -> pl.DataFrame:
    counted = (
        frame.with_columns(pl.col("flow").cast(pl.String), time_s=_steps(step_s))
        .group_by("flow", "time_s")
        .agg(passed_bytes=pl.col("size_bytes").sum().cast(pl.Float64), passed_packets=pl.len().cast(pl.Float64))
        .sort("flow", "time_s")
        .with_columns(pl.col("passed_bytes", "passed_packets").cum_sum().over("flow"))
    )
    return _long(counted, pl.lit(tap) + ":" + pl.col("flow"), ("passed_bytes", "passed_packets"))


def _sojourns(frame: pl.DataFrame, step_s: float) -> pl.DataFrame:
    steps = frame.with_columns(pl.col("element", "flow", "outcome").cast(pl.String), time_s=_steps(step_s))
    by = ("element", "flow", "time_s")

    def of(outcome: str, **values: pl.Expr) -> pl.DataFrame:
        ended = steps.filter(pl.col("outcome") == outcome).group_by(by).agg(**values).sort(by)
        return _long(ended, pl.col("element") + ":" + pl.col("flow"), tuple(values))

    sojourn = pl.col("sojourn_ms")
    sent = of(
        "sent", sojourn_least_ms=sojourn.min(), sojourn_median_ms=sojourn.median(), sojourn_longest_ms=sojourn.max()
    )
    return pl.concat([sent, of("codel", codel_dropped_packets=pl.len().cast(pl.Float64))])


def _long(frame: pl.DataFrame, element: pl.Expr, metrics: tuple[str, ...]) -> pl.DataFrame:
    return frame.select("time_s", *metrics, element=element).unpivot(
        metrics, index=["time_s", "element"], variable_name="metric", value_name="value"
    )


def phases() -> list[str]:
    """Return the names of the phases of a sender; the series `phase` has their indices."""
    return [name for name, _, _ in extension().phases()]


def extremes(values: np.ndarray, max_samples: int) -> np.ndarray:
    """Return the places of at most `max_samples` samples that show a series: no peak and no trough is lost.

    Parameters
    ----------
    values
        Shape (n,).
    max_samples
        At least 4.

    Returns
    -------
    np.ndarray
        Ascending; of equal groups of samples the first, the minimum, the maximum and the last, or all.
    """
    if len(values) <= max_samples:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), max(max_samples // 4, 1) + 1).astype(np.int64)
    kept: set[int] = set()
    for first, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        group = values[first:end]
        kept |= {first, end - 1, first + int(group.argmin()), first + int(group.argmax())}
    return np.array(sorted(kept), dtype=np.int64)
