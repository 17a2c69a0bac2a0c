"""Statistics of repeated runs: means, intervals and the bootstrap over runs."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from quiclab._base.libraries import np
from quiclab._base.native import extension

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Side: TypeAlias = "tuple[ArrayLike, ArrayLike, int]"
"""Means, standard deviations and number of runs of one side of a comparison."""
Statistic: TypeAlias = Literal["mean", "median", "std"]
"""Summary of repeated runs of a setting."""

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


def _t(freedom: ArrayLike) -> Array:
    """Return the quantile of Student's t for the 95 % interval."""
    numbers = np.asarray(freedom, dtype=np.float64)
    quantiles = extension().student_t_quantile(numbers.ravel().tolist(), 0.5 + CONFIDENCE / 2)
    return np.asarray(quantiles, dtype=np.float64).reshape(numbers.shape)


def _two_sided(freedom: ArrayLike, t: ArrayLike) -> Array:
    """Return the probability that the absolute value of Student's t is at least that of `t`."""
    numbers, values = np.broadcast_arrays(np.asarray(freedom, dtype=np.float64), -np.abs(t))
    tails = extension().student_t_cdf(numbers.ravel().tolist(), values.ravel().tolist())
    return 2.0 * np.asarray(tails, dtype=np.float64).reshape(numbers.shape)


def half_width(summary: Summary) -> float:
    """Return half of the 95 % interval of a mean by Student's t; NaN below two runs."""
    return math.nan if summary.n < 2 else float(half_widths(summary.n, summary.std))


def half_widths(counts: ArrayLike, deviations: ArrayLike) -> Array:
    """Return the same for many means in one batch.

    Parameters
    ----------
    counts, deviations
        Number of runs and sample standard deviation of each, shape (n,).
    """
    n, std = np.asarray(counts, dtype=np.float64), np.asarray(deviations, dtype=np.float64)
    several = n > 1
    half: Array = np.where(several, _t(np.where(several, n - 1, 1.0)) * std / np.sqrt(np.maximum(n, 1.0)), math.nan)
    return half


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
    return float(_t(freedom)) * math.sqrt(variance)


@dataclass(frozen=True)
class Pairs:
    """The runs of two settings that have equal seeds and values on both sides.

    Attributes
    ----------
    first, second
        These runs of both settings.
    differences
        Second - first of each pair.
    """

    first: Summary
    second: Summary
    differences: Summary


def pairs_of(first: Mapping[int, float | None], second: Mapping[int, float | None]) -> Pairs | None:
    """Summarise the runs with equal seeds, and second - first of each pair.

    Such runs share what is random outside of what distinguishes both settings. The interval of the mean of their
    differences is as wide as that of independent means where they have nothing in common, and narrower where they do.
    Runs without a partner, or without a value (NaN or `None`) on either side, are in no pair.

    Parameters
    ----------
    first, second
        Value by seed.

    Returns
    -------
    Pairs or None
        `None` below two pairs.
    """
    found = [
        (value, other)
        for seed, value in first.items()
        if value is not None and (other := second.get(seed)) is not None and not math.isnan(other - value)
    ]
    if len(found) < 2:
        return None
    ones, others = zip(*found, strict=True)
    return Pairs(summarise(ones), summarise(others), summarise([other - one for one, other in found]))


def t_test_p(differences: Summary) -> float:
    """Return the two-sided p-value of Student's t-test that a mean is zero.

    Parameters
    ----------
    differences
        At least two values. Where they are all the same, the p-value is 1 if they are zero, and 0 otherwise.
    """
    if not differences.std:
        return float(differences.mean == 0.0)
    return float(_two_sided(differences.n - 1, differences.mean / differences.standard_error))


SIGNIFICANT = 0.01
"""Greatest p-value of a difference that counts as significant."""
IDENTICAL = 1e-12
"""Deviations below this part of the mean are rounding: the runs are the same."""


def welch_p(first: Summary, second: Summary) -> float:
    """Return the two-sided p-value of Welch's unequal-variance t-test for the difference of two means.

    As `scipy.stats.ttest_ind_from_stats(..., equal_var=False)`.

    Parameters
    ----------
    first, second
        Runs of both sides; intervals are not used.

    Returns
    -------
    float
        NaN where there is no test: a side has fewer than two runs, or neither has any scatter.
    """
    return float(welch_p_values(*((side.mean, side.std, side.n) for side in (first, second)))[0])


def welch_p_values(first: Side, second: Side) -> Array:
    """Return the same for many pairs of means in one batch.

    Parameters
    ----------
    first, second
        Means and sample standard deviations, numbers or shape (n,), and the number of runs of each.

    Returns
    -------
    Array
        Shape (n,).
    """
    (mean, std, n), (other_mean, other_std, other_n) = (
        (np.atleast_1d(np.asarray(side[0], dtype=np.float64)), np.asarray(side[1], dtype=np.float64), side[2])
        for side in (first, second)
    )
    if n < 2 or other_n < 2:
        return np.full(np.broadcast(mean, other_mean).shape, math.nan)
    squares, other_squares = std**2 / n, other_std**2 / other_n
    variance = squares + other_squares
    same = (std <= IDENTICAL * np.abs(mean)) & (other_std <= IDENTICAL * np.abs(other_mean))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variance**2 / (squares**2 / (n - 1) + other_squares**2 / (other_n - 1))
        p = _two_sided(freedom, (mean - other_mean) / np.sqrt(variance))
    return np.where(same, math.nan, p)


def percent_difference(first: float, second: float) -> float:
    """Return (second - first) / first in percent: positive where the first is smaller."""
    return (second - first) / first * 100.0 if first else math.nan


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Return Pearson's correlation of two series; NaN below three points, or where one of them is constant.

    Parameters
    ----------
    first, second
        Shape (n,).
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.size < 3 or not np.ptp(one) or not np.ptp(other):
        return math.nan
    return float(np.corrcoef(one, other)[0, 1])


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's rank correlation: Pearson's of the ranks, ties sharing the mean of theirs.

    Parameters
    ----------
    first, second
        Shape (n,).
    """
    return pearson(_ranks(first), _ranks(second))


def _ranks(values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    below = (array[:, np.newaxis] > array).sum(axis=1)
    same = (array[:, np.newaxis] == array).sum(axis=1)
    ranks: Array = below + (same + 1) / 2
    return ranks


def pooled_std(deviations: ArrayLike) -> float:
    """Return the pooled standard deviation of settings that were run equally often: root of the mean variance."""
    array = np.asarray(deviations, dtype=np.float64)
    return float(np.sqrt(np.mean(array**2)))


def reduced(values: ArrayLike, statistic: Statistic = "mean") -> float:
    """Reduce repeated runs to one number; NaN without values, for a deviation below two.

    Parameters
    ----------
    values
        Shape (n,), one value a run.
    statistic
        Which number.
    """
    array = np.asarray(values, dtype=np.float64)
    return float(_reduced_rows(array[np.newaxis, :], statistic)[0])


def _reduced_rows(rows: Array, statistic: Statistic) -> Array:
    """Reduce each row to one number."""
    if rows.shape[1] < (2 if statistic == "std" else 1):
        return np.full(rows.shape[0], math.nan)
    if statistic == "std":
        found: Array = np.std(rows, axis=1, ddof=1)
    else:
        found = np.mean(rows, axis=1) if statistic == "mean" else np.median(rows, axis=1)
    return found


def generator_of(name: str, seed: int = BOOTSTRAP_SEED) -> np.random.Generator:
    """Return the generator of a named random stream."""
    words = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))


def bootstrap(
    values: ArrayLike,
    name: str,
    resamples: int = RESAMPLES,
    statistic: Statistic = "mean",
    seed: int = BOOTSTRAP_SEED,
    places: Sequence[int] = (),
    among: int = 0,
) -> Array:
    """Reduce all runs of a setting, and then resamples of them with replacement.

    Parameters
    ----------
    values
        Values of the runs, shape (n,).
    name
        Name of the random stream, in addition to the seed: settings with equal name and number of runs are resampled
        equally, others independently.
    resamples
        Number of resamples B.
    statistic
        The statistic of each resample.
    seed
        Seed of the generator.
    places, among
        The place of each value among the runs of all settings with this name, and the number of these; by default they
        are the values. A resample takes the runs that are drawn for all settings, passes over those that are missing
        here, and takes further ones until it has as many as there are values.

    Returns
    -------
    Array
        Shape (1 + B,): of all runs, then of each resample; NaN without values.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        return np.full(1 + resamples, math.nan)
    generator = generator_of(name, seed)
    size = (resamples, among or array.size)
    picks = generator.integers(0, size[1], size=size)
    if len(places):
        value_at = np.full(size[1], -1)
        value_at[list(places)] = np.arange(array.size)
        picks = value_at[picks]
        while ((picks >= 0).sum(axis=1) < array.size).any():
            picks = np.hstack([picks, value_at[generator.integers(0, size[1], size=size)]])
        there = picks >= 0
        picks = picks[there & (there.cumsum(axis=1) <= array.size)].reshape(resamples, array.size)
    return np.concatenate([_reduced_rows(array[np.newaxis, :], statistic), _reduced_rows(array[picks], statistic)])


def relative_difference(value: float, reference: float) -> float:
    """Return |value / reference - 1|."""
    return abs(value / reference - 1.0)


def cohens_kappa(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Return Cohen's kappa: the agreement of two judges, corrected for what chance alone would give.

    kappa = (p_o - p_e) / (1 - p_e), where p_o is the share of cases on which both agree, and p_e the sum over both
    words of the product of the shares with which either uses it. 1 is full agreement, 0 that of chance.

    Parameters
    ----------
    first, second
        The judgements of the same n cases.

    Returns
    -------
    float
        NaN without cases, and where both judges only ever use the same word: chance agrees fully then, too.

    References
    ----------
    J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20 (1), 1960.
    """
    if len(first) != len(second):
        raise ValueError("expected the same cases for both judges")
    n = len(first)
    if not n:
        return math.nan
    agreed = sum(one == other for one, other in zip(first, second, strict=True))
    yes = sum(first) * sum(second)
    no = (n - sum(first)) * (n - sum(second))
    # in integers: p_o = agreed / n, p_e = (yes + no) / n^2
    chance = yes + no
    return (agreed * n - chance) / (n * n - chance) if chance != n * n else math.nan


def gwets_ac1(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Return Gwet's AC1: the agreement of two judges, corrected for chance where nearly all cases get the same word.

    AC1 = (p_a - p_e) / (1 - p_e), where p_a is the share of cases on which both agree, p_e = 2 q (1 - q), and q the
    mean of the shares with which either says yes. Unlike Cohen's kappa it stays near p_a where q is near 0 or 1.

    Parameters
    ----------
    first, second
        The judgements of the same n cases.

    Returns
    -------
    float
        NaN without cases.

    References
    ----------
    K. L. Gwet, Computing inter-rater reliability and its variance in the presence of high agreement, British Journal of
    Mathematical and Statistical Psychology 61 (1), 2008, equations 3 and 5 with two raters and two categories.
    """
    if len(first) != len(second):
        raise ValueError("expected the same cases for both judges")
    n = len(first)
    if not n:
        return math.nan
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) / n
    yes = (sum(first) + sum(second)) / (2 * n)
    chance = 2.0 * yes * (1.0 - yes)
    return (agreed - chance) / (1.0 - chance)
