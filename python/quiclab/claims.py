"""Claims: published findings as predicates over measured runs, with verdicts by a bootstrap over the runs.

The whole predicate is evaluated on each of 2000 resamples: true in at least 97.5 % of them is `confirmed`, in at most
2.5 % `refuted`, anything between `undecided`. A bootstrap over few runs decides too often: where a setting that the
predicate reads has fewer than five, the verdict is `undecided`, whatever the share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from quiclab.stats import RESAMPLES, Statistic, bootstrap, reduced

CONFIRMED_SHARE = 0.975
REFUTED_SHARE = 0.025
LEAST_RUNS = 5
EDGE_DECIDED_SHARE: Mapping[int, float] = {2: 0.50, 3: 0.25, 5: 0.16, 10: 0.11}
"""Share of verdicts that are decided, by number of runs, where nothing can be: one normally distributed setting whose
true mean lies exactly on the limit of the claim. Simulated; 0.05 is what the limits of the verdicts aim at."""

Key: TypeAlias = tuple[str | int | float, ...]


class Verdict(StrEnum):
    """What the runs say about a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOT_TESTED = "not_tested"
    BY_CONSTRUCTION = "by_construction"


class NotMeasuredError(Exception):
    """A predicate asked for a setting without a mean.

    Parameters
    ----------
    key
        Configuration and value of each factor.
    """

    def __init__(self, key: Key) -> None:
        super().__init__(", ".join(part if isinstance(part, str) else f"{part:g}" for part in key))
        self.key = key


class Sample:
    """Means of one resample (or of all runs, or of a published table), as predicates ask for them.

    Parameters
    ----------
    means
        Mean by (configuration, value of each factor).
    factors
        Short names of the factors, in the order of the keys, each with the values of its grid.
    configurations
        Configurations there are means for.
    read
        Where to note the keys that are asked for.
    """

    def __init__(
        self,
        means: Mapping[Key, float],
        factors: Mapping[str, tuple[str | int | float, ...]],
        configurations: tuple[str, ...],
        read: set[Key] | None = None,
    ) -> None:
        self._means = means
        self._factors = factors
        self._read = set() if read is None else read
        self.configurations = configurations

    def __call__(self, configuration: str, **point: float) -> float:
        """Return the mean of a configuration at one point, such as `t("quic_large_buffer", batch=100)`.

        Raises
        ------
        NotMeasuredError
            If there is no mean.
        """
        return self.at((configuration, *(point[name] for name in self._factors)))

    def at(self, key: Key) -> float:
        """Return the mean of one setting, by its configuration and the value of each factor.

        Raises
        ------
        NotMeasuredError
            If there is no mean.
        """
        if key not in self._means:
            raise NotMeasuredError(key)
        self._read.add(key)
        return self._means[key]

    def values(self, factor: str) -> tuple[float, ...]:
        """Return the grid of a factor."""
        return tuple(float(value) for value in self._factors[factor])


@dataclass(frozen=True)
class Claim:
    """A published finding.

    Attributes
    ----------
    identity, source, statement
        Its number, where it was published, and what it says.
    check
        The predicate, or `None` if it cannot be tested here.
    numbers
        What to show beside the verdict: text -> value.
    scope
        Which part of the statement the predicate tests, where it is not all of it.
    reason
        Why it is not tested.
    note
        Where the publication contradicts itself, or which thresholds are ours.
    by_construction
        The predicate only returns a number that was put in; such claims count nowhere.
    metric
        Name of the metric of the study that the predicate reads; its main one by default.
    statistic
        What the runs of a setting are reduced to before the predicate reads them.
    """

    identity: str
    source: str
    statement: str
    check: Callable[[Sample], bool] | None = None
    numbers: Callable[[Sample], Mapping[str, float]] | None = None
    scope: str = ""
    reason: str = ""
    note: str = ""
    by_construction: bool = False
    metric: str = ""
    statistic: Statistic = "mean"


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict.

    Attributes
    ----------
    share_true
        Share of the resamples in which the predicate holds; `None` if it was not tested.
    on_published
        Whether the predicate holds for the published means; `None` if they cannot tell.
    numbers
        Measured numbers that decide, from the means over all runs.
    reason
        Why it was not tested, or why it is undecided whatever the share.
    least_runs
        Fewest runs of a setting that the predicate reads; `None` if it was not tested.
    """

    claim: Claim
    verdict: Verdict
    share_true: float | None = None
    on_published: bool | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    least_runs: int | None = None


def judge(
    claim: Claim,
    samples: Mapping[Key, Iterable[float]],
    published: Sample,
    factors: Mapping[str, tuple[str | int | float, ...]],
    configurations: tuple[str, ...],
    resamples: int = RESAMPLES,
) -> Judgement:
    """Reach a verdict.

    Parameters
    ----------
    claim
        What is claimed.
    samples
        Values of the runs by (configuration, value of each factor).
    published
        The published means.
    factors, configurations
        Grid and configurations of the measured runs.
    resamples
        Number of bootstrap resamples.
    """
    on_published = _holds(claim, published)

    def untested(reason: str, numbers: Mapping[str, float] | None = None) -> Judgement:
        return Judgement(claim, Verdict.NOT_TESTED, on_published=on_published, numbers=numbers or {}, reason=reason)

    if claim.check is None:
        return untested(claim.reason)
    runs = {key: list(values) for key, values in samples.items()}
    # a run without a value (NaN) leaves its setting without a mean
    runs = {key: values for key, values in runs.items() if values and not any(map(math.isnan, values))}
    means = bootstrap(runs, resamples, statistic=claim.statistic)
    read: set[Key] = set()
    try:
        reductions = {key: reduced(values, claim.statistic) for key, values in runs.items()}
        measured = Sample(reductions, factors, configurations, read)
        claim.check(measured)
        # a resample may read settings that the means over all runs do not: predicates stop at the first false part
        true = sum(
            claim.check(Sample({key: float(means[key][index]) for key in runs}, factors, configurations, read))
            for index in range(resamples)
        )
    except NotMeasuredError as error:
        return untested(f"runs that it needs have not been made or gave no value: {error}")
    least = min((len(runs[key]) for key in read), default=0)
    numbers = _numbers(claim, measured)
    if least < 2:
        return untested("a bootstrap over runs needs at least two runs of each setting", numbers)
    share = true / resamples
    verdict, reason = verdict_of(share), ""
    if claim.by_construction:
        verdict = Verdict.BY_CONSTRUCTION
    elif least < LEAST_RUNS:
        verdict, reason = Verdict.UNDECIDED, f"{least} runs; at least {LEAST_RUNS} are needed"
    return Judgement(claim, verdict, share, on_published, numbers, reason, least)


def verdict_of(share_true: float) -> Verdict:
    """Return the verdict for the share of resamples in which a predicate holds."""
    if share_true >= CONFIRMED_SHARE:
        return Verdict.CONFIRMED
    if share_true <= REFUTED_SHARE:
        return Verdict.REFUTED
    return Verdict.UNDECIDED


def _holds(claim: Claim, sample: Sample) -> bool | None:
    if claim.check is None:
        return None
    try:
        return bool(claim.check(sample))
    except NotMeasuredError:
        return None


def _numbers(claim: Claim, sample: Sample) -> Mapping[str, float]:
    """Return what to show beside a verdict; nothing if it needs settings that the verdict did not."""
    try:
        return dict(claim.numbers(sample)) if claim.numbers is not None else {}
    except NotMeasuredError:
        return {}
