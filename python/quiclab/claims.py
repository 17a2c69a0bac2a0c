"""Claims: published findings as predicates over measured runs, with verdicts by a bootstrap over the runs.

The whole predicate is evaluated on each of 2000 resamples: true in at least 97.5 % of them is `confirmed`, in at most
2.5 % `refuted`, anything between `undecided`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from quiclab.stats import RESAMPLES, bootstrap_means, summarise

CONFIRMED_SHARE = 0.975
REFUTED_SHARE = 0.025

Key: TypeAlias = tuple[str | int | float, ...]


class Verdict(StrEnum):
    """What the runs say about a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOT_TESTED = "not_tested"
    BY_CONSTRUCTION = "by_construction"


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
    """

    def __init__(
        self,
        means: Mapping[Key, float],
        factors: Mapping[str, tuple[str | int | float, ...]],
        configurations: tuple[str, ...],
    ) -> None:
        self._means = means
        self._factors = factors
        self.configurations = configurations

    def __call__(self, configuration: str, **point: float) -> float:
        """Return the mean of a configuration at one point, such as `t("quic_large_buffer", batch=100)`.

        Raises
        ------
        KeyError
            If it was not measured.
        """
        return self._means[(configuration, *(point[name] for name in self._factors))]

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
        Why it was not tested.
    """

    claim: Claim
    verdict: Verdict
    share_true: float | None = None
    on_published: bool | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


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
    if claim.check is None:
        return Judgement(claim, Verdict.NOT_TESTED, on_published=on_published, reason=claim.reason)
    runs = {key: list(values) for key, values in samples.items()}
    runs = {key: values for key, values in runs.items() if values}
    measured = Sample({key: summarise(values).mean for key, values in runs.items()}, factors, configurations)
    if _holds(claim, measured) is None:
        return Judgement(
            claim, Verdict.NOT_TESTED, on_published=on_published, reason="runs that it needs have not been made"
        )
    if min(len(values) for values in runs.values()) < 2:
        return Judgement(
            claim,
            Verdict.NOT_TESTED,
            on_published=on_published,
            numbers=_numbers(claim, measured),
            reason="a bootstrap over runs needs at least two runs of each setting",
        )
    means = bootstrap_means(runs, resamples)
    true = sum(
        claim.check(Sample({key: float(means[key][index]) for key in runs}, factors, configurations))
        for index in range(resamples)
    )
    share = true / resamples
    verdict = verdict_of(share)
    if claim.by_construction:
        verdict = Verdict.BY_CONSTRUCTION
    return Judgement(claim, verdict, share, on_published, _numbers(claim, measured))


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
    except KeyError:
        return None


def _numbers(claim: Claim, sample: Sample) -> Mapping[str, float]:
    return dict(claim.numbers(sample)) if claim.numbers is not None else {}
