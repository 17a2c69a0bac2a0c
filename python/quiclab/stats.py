"""Statistics of repeated runs: means, intervals and the bootstrap over runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from scipy.special import stdtrit  # scipy.stats takes a second to load

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import ArrayLike

Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
K = TypeVar("K", bound="Hashable")
Statistic: TypeAlias = Literal["mean", "median"]
"""What repeated runs of a setting are reduced to."""

RESAMPLES = 2000
CONFIDENCE = 0.95
BOOTSTRAP_SEED = 20220


@dataclass(frozen=True)
class Summary:
    """Mean and spread of repeated runs.

    Attributes
    ----------
    n
        Number of runs.
    mean
        Arithmetic mean, in the unit of the values; NaN without values.
    std
        Sample standard deviation (ddof 1); NaN below two runs.
    low, high
        95 % interval of the mean by Student's t; NaN below two runs.
    """

    n: int
    mean: float
    std: float
    low: float
    high: float

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; NaN below two runs."""
        return self.std / math.sqrt(self.n) if self.n else math.nan


def summarise(values: ArrayLike) -> Summary:
    """Summarise repeated runs.

    Parameters
    ----------
    values
        Shape (n,), one value a run.
    """
    array = np.asarray(values, dtype=np.float64)
    n = int(array.size)
    if n == 0:
        return Summary(0, math.nan, math.nan, math.nan, math.nan)
    mean = float(np.mean(array))
    if n == 1:
        return Summary(1, mean, math.nan, math.nan, math.nan)
    std = float(np.std(array, ddof=1))
    half = half_width(Summary(n, mean, std, math.nan, math.nan))
    return Summary(n, mean, std, mean - half, mean + half)


def half_width(summary: Summary) -> float:
    """Return half of the 95 % interval of a mean by Student's t; NaN below two runs."""
    if summary.n < 2:
        return math.nan
    return float(stdtrit(summary.n - 1, 0.5 + CONFIDENCE / 2)) * summary.standard_error


def difference_half_width(first: Summary, second: Summary) -> float:
    """Return half of the 95 % interval of the difference of two means, by Welch's t.

    A single run has no scatter, and adds none.

    Parameters
    ----------
    first, second
        Runs of both sides.

    Returns
    -------
    float
        In the unit of the means; NaN if neither side has two runs.
    """
    errors = [(summary.standard_error**2, summary.n - 1) for summary in (first, second) if summary.n > 1]
    variance = sum(error for error, _ in errors)
    if not errors or not variance:
        return 0.0 if errors else math.nan
    freedom = variance**2 / sum(error**2 / freedom for error, freedom in errors)
    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2)) * math.sqrt(variance)


def pooled_std(deviations: ArrayLike) -> float:
    """Return the pooled standard deviation of settings that were run equally often: root of the mean variance."""
    array = np.asarray(deviations, dtype=np.float64)
    return float(np.sqrt(np.mean(array**2)))


def reduced(values: ArrayLike, statistic: Statistic = "mean") -> float:
    """Reduce repeated runs to one number; NaN without values.

    Parameters
    ----------
    values
        Shape (n,), one value a run.
    statistic
        Which number.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        return math.nan
    return float(np.mean(array) if statistic == "mean" else np.median(array))


def bootstrap(
    samples: Mapping[K, Sequence[float]],
    resamples: int = RESAMPLES,
    seed: int = BOOTSTRAP_SEED,
    statistic: Statistic = "mean",
) -> dict[K, Array]:
    """Resample the runs of each setting with replacement.

    Settings are resampled independently of one another, in the order of the mapping.

    Parameters
    ----------
    samples
        Values of the runs of each setting, each of shape (n,), n >= 1.
    resamples
        Number of resamples B.
    seed
        Seed of the generator.
    statistic
        What each resample is reduced to.

    Returns
    -------
    dict
        Mean or median of each resample for each setting, shape (B,).
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    found: dict[K, Array] = {}
    for key, values in samples.items():
        array = np.asarray(values, dtype=np.float64)
        picks = array[generator.integers(0, array.size, size=(resamples, array.size))]
        found[key] = np.mean(picks, axis=1) if statistic == "mean" else np.median(picks, axis=1)
    return found


def bootstrap_means(
    samples: Mapping[K, Sequence[float]], resamples: int = RESAMPLES, seed: int = BOOTSTRAP_SEED
) -> dict[K, Array]:
    """Return the mean of each resample for each setting, as `bootstrap` makes them."""
    return bootstrap(samples, resamples, seed)


def relative_difference(value: float, reference: float) -> float:
    """Return |value / reference - 1|."""
    return abs(value / reference - 1.0)
