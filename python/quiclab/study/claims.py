"""Claims: published findings as predicates over measured runs, with verdicts by a bootstrap over the runs.

The whole predicate is evaluated on each of 2000 resamples: true in at least 97.5 % of them is `confirmed`, in at most
2.5 % `refuted`, anything between `undecided`. A bootstrap over few runs decides too often: where a setting that the
predicate reads has fewer than five, the verdict is `undecided`, regardless of the share.

What the runs leave undecided is `at_the_limit` if the source's own table does not decide it, either: if the predicate
holds in more than 5 % and less than 95 % of 2000 tables whose means are drawn within the printed standard errors. Where
a source prints a mean without a deviation, the standard error of the measured runs takes its place: a table that is as
close to the limit as the runs can tell decides no more than they do. `Limit.errors` says which of both it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from quiclab.experiment.repetitions import MIN_RUNS
from quiclab.result.stats import Statistic
from quiclab.study.findings import Findings, Grid, Key, NotMeasuredError, Resamples, Sample
from quiclab.study.printed import Printed

if TYPE_CHECKING:
    from quiclab.study.ablation import Ablation, AblationResult, Terms

__all__ = [
    "AT_THE_LIMIT_SHARE",
    "CONFIRMED_SHARE",
    "EDGE_DECIDED_SHARE",
    "MIN_RUNS",
    "REFUTED_SHARE",
    "Claim",
    "Errors",
    "Findings",
    "Grid",
    "Judgement",
    "Key",
    "Limit",
    "NotMeasuredError",
    "Printed",
    "Resamples",
    "Sample",
    "Verdict",
    "is_at_the_limit",
    "judge",
    "share_true_of_table",
    "verdict_of",
]


CONFIRMED_SHARE = 0.975
REFUTED_SHARE = 0.025
AT_THE_LIMIT_SHARE = 0.05
"""A claim is at its limit in a table if its predicate holds in more than this share of the redrawn tables, and in less
than the rest."""
EDGE_DECIDED_SHARE: Mapping[int, float] = {2: 0.50, 3: 0.25, 5: 0.16, 10: 0.11}
"""Share of verdicts that are decided, by number of runs, where nothing can be: one normally distributed setting whose
true mean lies exactly on the limit of the claim. Simulated; 0.05 is the target of the limits of the verdicts."""


class Errors(StrEnum):
    """Where the standard errors of redrawn tables come from."""

    PRINTED = "printed"
    MEASURED = "measured"


class Verdict(StrEnum):
    """Verdict of the runs about a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    AT_THE_LIMIT = "at_the_limit"
    NOT_TESTED = "not_tested"
    BY_CONSTRUCTION = "by_construction"

    @property
    def word(self) -> str:
        """The verdict as in sentences."""
        return self.value.replace("_", " ")


@dataclass(frozen=True)
class Claim:
    """A published finding.

    Attributes
    ----------
    identity, source, statement
        Its identifier, its source, and its statement.
    check
        The predicate, or `None` if it cannot be tested here.
    numbers
        Evidence shown with the verdict: label -> value.
    scope
        Which part of the statement the predicate tests, where it is not all of it.
    reason
        Why it is not tested.
    note
        Contradictions of the publication, or thresholds chosen by quiclab.
    by_construction
        The predicate only returns a number that was put in; such claims count nowhere.
    metric
        Name of the metric of the study that the predicate reads; its main one by default.
    statistic
        The statistic of the runs of a setting that the predicate reads.
    explanation
        Where it is refuted: the mechanism. Measured values in it are placeholders over `terms`
        (`quiclab.study.explanation`).
    ablation
        What shows that mechanism.
    terms
        From the runs to the names that the explanation and the ablation may use.
    margin
        How far the decisive comparison of the predicate is from its limit, as a part of the larger of its sides;
        positive where the predicate holds. See `quiclab.study.margins`.
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
    explanation: str = ""
    ablation: Ablation | None = None
    terms: Terms | None = None
    margin: Callable[[Sample], float] | None = None

    def sample(self, findings: Findings) -> Sample:
        """Return the values that the predicate reads."""
        return Sample(findings, "", self.metric, self.statistic)


@dataclass(frozen=True)
class Limit:
    """How far a claim that the runs leave undecided is from its limit.

    Attributes
    ----------
    published_share_true
        Share of the redrawn tables of the source in which the predicate holds; `None` if they do not determine it.
    published_margin, measured_margin
        Margin (`Claim.margin`) of the published values and of the measured ones; `None` if the claim has none.
    errors
        Standard errors within which the tables were drawn: the printed ones, or those of the measured runs for the
        settings without; `None` if none were drawn.
    """

    published_share_true: float | None
    published_margin: float | None
    measured_margin: float | None
    errors: Errors | None = None


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict.

    Attributes
    ----------
    share_true
        Share of the resamples in which the predicate holds; `None` if it was not tested.
    on_published
        Whether the predicate holds for the published means; `None` if they do not determine it.
    numbers
        Measured numbers that decide, from the means over all runs.
    reason
        Reason why it was not tested, or is undecided regardless of the share.
    least_runs
        Minimum number of runs of the settings that the predicate reads; `None` if it was not tested.
    on_measured
        Whether it holds for the means over all runs; `None` if it was not tested.
    limit
        Its distance from the limit, where the share of the resamples does not decide.
    read
        Number of runs of each setting that the predicate reads, by study (empty: that of the claim) and setting.
    explanation
        Of a refuted claim, with its measured values; empty if there is none, or if its ablation does not support it.
    ablation
        Outcome of the ablation of a refuted claim.
    """

    claim: Claim
    verdict: Verdict
    share_true: float | None = None
    on_published: bool | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    least_runs: int | None = None
    on_measured: bool | None = None
    limit: Limit | None = None
    read: Mapping[tuple[str, Key], int] = field(default_factory=dict)
    explanation: str = ""
    ablation: AblationResult | None = None


def judge(claim: Claim, runs: Resamples, published: Printed) -> Judgement:
    """Reach a verdict.

    Parameters
    ----------
    claim
        The claim.
    runs
        The measured runs.
    published
        The published values.
    """
    on_published = _holds(claim, published)

    def untested(reason: str, numbers: Mapping[str, float] | None = None) -> Judgement:
        return Judgement(claim, Verdict.NOT_TESTED, on_published=on_published, numbers=numbers or {}, reason=reason)

    if claim.check is None:
        return untested(claim.reason)
    runs.read.clear()
    try:
        sample = claim.sample(runs)
        # a resample may read settings that the means over all runs do not: predicates stop at the first false part
        held = [bool(claim.check(sample)) for _ in runs.each()]
    except NotMeasuredError as error:
        return untested(f"runs that it needs have not been made or gave no value: {error.named(runs.grid)}")
    read = dict(runs.read)
    least = min(read.values(), default=0)
    numbers = _numbers(claim, sample)
    if least < 2:
        return untested("a bootstrap over runs needs at least two runs of each setting", numbers)
    share = sum(held[1:]) / runs.resamples
    verdict, reason, limit = verdict_of(share), "", None
    if claim.by_construction:
        verdict = Verdict.BY_CONSTRUCTION
    elif least < MIN_RUNS:
        verdict, reason = Verdict.UNDECIDED, f"{least} runs; at least {MIN_RUNS} are needed"
    elif verdict is Verdict.UNDECIDED:
        limit = _limit(claim, sample, runs, published)
        if is_at_the_limit(limit.published_share_true):
            verdict = Verdict.AT_THE_LIMIT
    return Judgement(claim, verdict, share, on_published, numbers, reason, least, held[0], limit, read)


def verdict_of(share_true: float) -> Verdict:
    """Return the verdict for the share of resamples in which a predicate holds."""
    if share_true >= CONFIRMED_SHARE:
        return Verdict.CONFIRMED
    if share_true <= REFUTED_SHARE:
        return Verdict.REFUTED
    return Verdict.UNDECIDED


def is_at_the_limit(published_share_true: float | None) -> bool:
    """Return whether the table of a source leaves a predicate undecided."""
    share = published_share_true
    return share is not None and AT_THE_LIMIT_SHARE < share < 1.0 - AT_THE_LIMIT_SHARE


def _limit(claim: Claim, measured: Sample, runs: Resamples, published: Printed) -> Limit:
    share, errors = share_true_of_table(claim, published), Errors.PRINTED
    if share is None and claim.margin is not None:  # a criterion holds its reference: its table is in the middle
        share, errors = share_true_of_table(claim, published, runs), Errors.MEASURED
    return Limit(
        share,
        _margin(claim, claim.sample(published)),
        _margin(claim, measured),
        None if share is None else errors,
    )


def share_true_of_table(claim: Claim, published: Printed, runs: Resamples | None = None) -> float | None:
    """Return the share of the redrawn tables of a source in which a predicate holds.

    Parameters
    ----------
    claim
        The claim.
    published
        The tables.
    runs
        Measured runs, whose scatter stands in for deviations that are not printed.

    Returns
    -------
    float or None
        `None` if the tables do not determine it, or if a setting has neither a deviation and a number of runs, nor
        measured runs.
    """
    if claim.check is None:
        return None
    redrawn = published.redrawn(runs=runs)
    try:
        sample = claim.sample(redrawn)
        held = [bool(claim.check(sample)) for _ in redrawn.each()]
    except NotMeasuredError:
        return None
    return sum(held) / redrawn.draws if redrawn.scattered else None


def _margin(claim: Claim, sample: Sample) -> float | None:
    if claim.margin is None:
        return None
    try:
        found = claim.margin(sample)
    except NotMeasuredError:
        return None
    return found if math.isfinite(found) else None


def _holds(claim: Claim, published: Findings) -> bool | None:
    if claim.check is None:
        return None
    try:
        return bool(claim.check(claim.sample(published)))
    except NotMeasuredError:
        return None


def _numbers(claim: Claim, sample: Sample) -> Mapping[str, float]:
    """Return the evidence of a verdict; empty if it requires settings that the verdict did not."""
    try:
        return dict(claim.numbers(sample)) if claim.numbers is not None else {}
    except NotMeasuredError:
        return {}
