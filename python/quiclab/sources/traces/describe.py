"""Numbers that describe a trace; all are weighted with the time that each rate holds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from quiclab._base.libraries import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quiclab.sources.traces.trace import Trace

#: Points of the even grid on which the autocorrelation is computed, at most.
MAX_POINTS: Final = 1 << 17


@dataclass(frozen=True)
class Statistics:
    """Statistics of a trace.

    Attributes
    ----------
    duration_s
        Length [s].
    samples
        How many rates there are.
    mean_mbps, deviation_mbps
        Mean and standard deviation (of the population) [Mbit/s].
    coefficient_of_variation
        Deviation over mean.
    least_mbps, p10_mbps, p90_mbps, largest_mbps
        Least rate, the ones that hold or are fallen short of in 10 % and 90 % of the time, and the largest [Mbit/s].
    autocorrelation_time_s
        Lag at which the autocorrelation first falls to 1/e [s]; `None` if it does not, as for a constant rate.
    below_half_mean
        Part of the time in which the rate is below half the mean.
    longest_pause_s
        Longest time without a break in which the rate is 0 [s].
    """

    duration_s: float
    samples: int
    mean_mbps: float
    deviation_mbps: float
    coefficient_of_variation: float
    least_mbps: float
    p10_mbps: float
    p90_mbps: float
    largest_mbps: float
    autocorrelation_time_s: float | None
    below_half_mean: float
    longest_pause_s: float


def statistics(trace: Trace) -> Statistics:
    """Describe a trace."""
    lengths = np.diff(np.array([*trace.starts_ns, trace.end_ns], dtype=np.int64)) / 1e9
    rates = np.array(trace.rates_bps, dtype=np.int64) / 1e6
    weights = lengths / lengths.sum()
    mean = float(weights @ rates)
    deviation = float(np.sqrt(weights @ (rates - mean) ** 2))
    order = np.argsort(rates, kind="stable")
    reached = np.cumsum(weights[order])
    p10, p90 = (float(rates[order][np.searchsorted(reached, part - 1e-12)]) for part in (0.1, 0.9))
    return Statistics(
        duration_s=trace.duration_s,
        samples=len(rates),
        mean_mbps=mean,
        deviation_mbps=deviation,
        coefficient_of_variation=deviation / mean if mean else float("nan"),
        least_mbps=float(rates.min()),
        p10_mbps=p10,
        p90_mbps=p90,
        largest_mbps=float(rates.max()),
        autocorrelation_time_s=autocorrelation_time(trace),
        below_half_mean=float(weights[rates < mean / 2].sum()),
        longest_pause_s=_longest_pause(trace),
    )


def autocorrelation_time(trace: Trace) -> float | None:
    """Return the lag at which the autocorrelation first falls to 1/e, between lags linearly [s]; `None` if never.

    The trace is sampled evenly at its shortest interval, and the estimate is the usual biased one: products at lag k
    over all products at lag 0.
    """
    step, values = _even(trace)
    values = values - values.mean()
    spectrum = np.fft.rfft(values, 2 * len(values))
    products = np.fft.irfft(np.abs(spectrum) ** 2)[: len(values)]
    # a constant rate leaves rounding only
    if products[0] <= 1e-12 * len(values) * max(1.0, float(np.abs(values).max())):
        return None
    correlation = products / products[0]
    below = np.flatnonzero(correlation <= np.exp(-1.0))
    if not len(below):
        return None
    lag = int(below[0])
    left, right = correlation[lag - 1], correlation[lag]
    return float(step * (lag - 1 + (left - np.exp(-1.0)) / (left - right)))


def _even(trace: Trace) -> tuple[float, NDArray[np.float64]]:
    """Return the step [s] and the rates [Mbit/s] of an even sampling."""
    edges = np.array([*trace.starts_ns, trace.end_ns], dtype=np.int64)
    count = int(min(MAX_POINTS, max(2, round(trace.end_ns / int(np.diff(edges).min())))))
    step = trace.end_ns / count
    middles = (np.arange(count) + 0.5) * step
    indices = np.searchsorted(edges[:-1], middles, side="right") - 1
    return step / 1e9, np.array(trace.rates_bps, dtype=np.float64)[indices] / 1e6


def _longest_pause(trace: Trace) -> float:
    ends = (*trace.starts_ns[1:], trace.end_ns)
    spans = zip(trace.starts_ns, ends, trace.rates_bps, strict=True)
    pauses = [list(group) for paused, group in groupby(spans, key=lambda span: span[2] == 0) if paused]
    return max((pause[-1][1] - pause[0][0] for pause in pauses), default=0) / 1e9
