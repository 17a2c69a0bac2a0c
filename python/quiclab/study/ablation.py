"""Ablations: the runs that show whether an explanation of a refuted claim holds.

An explanation names a mechanism. Its ablation removes or changes that mechanism in a variant of the study, and states
what must then hold: the claim itself, or a predicate over the runs with and without. It is judged as a claim is, over
2000 resamples of the runs. An explanation that its ablation does not support is not shown: the cause is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from quiclab.experiment.repetitions import MIN_RUNS
from quiclab.study.claims import CONFIRMED_SHARE, REFUTED_SHARE
from quiclab.study.findings import NotMeasuredError, Resamples, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from quiclab.study.claims import Claim
    from quiclab.study.predicates import Note

Readings: TypeAlias = Callable[[str], Sample]
"""From the name of a variant to what a claim reads of its runs; the empty name is the literal interpretation."""
Terms: TypeAlias = Callable[[Readings], Mapping[str, Any]]
"""From the readings to the names that explanations may use, each with its value or function."""


class Support(StrEnum):
    """Whether an ablation supports an explanation."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not_supported"
    OPEN = "open"
    NOT_RUN = "not_run"

    @property
    def word(self) -> str:
        """The outcome as in sentences."""
        return self.value.replace("_", " ")


@dataclass(frozen=True)
class Ablation:
    """What shows the mechanism that an explanation names.

    Attributes
    ----------
    removed
        What is removed or changed, in words.
    variant
        Variant under which the claim itself must hold; empty if `shows` or `check` states something else.
    shows
        Predicate of a claim of a `Reference` as an expression over its terms; `under("NAME")` has the same terms under
        a variant.
    check, numbers
        The same as functions of the readings, and the evidence; made from `shows` where that is given.
    """

    removed: str
    variant: str = ""
    shows: str = ""
    check: Callable[[Readings], bool] | None = None
    numbers: Callable[[Readings], Mapping[str, float]] | None = None

    def stated(
        self, code: CodeType, whole: CodeType, names: Callable[[Readings, Note | None], dict[str, Any]]
    ) -> Ablation:
        """Return the ablation with functions in place of an expression.

        Parameters
        ----------
        code, whole
            The expression, and the one that gives the evidence, which evaluates all terms.
        names
            From the readings, and what notes each term, to the names in the expression.
        """

        @lru_cache(maxsize=1)
        def plain(readings: Readings) -> dict[str, Any]:
            return names(readings, None)

        def numbers(readings: Readings) -> Mapping[str, float]:
            found: dict[str, float] = {}
            evaluate(whole, names(readings, found.__setitem__))
            return found

        return replace(self, check=lambda readings: bool(evaluate(code, plain(readings))), numbers=numbers)


def evaluate(code: CodeType, names: dict[str, Any]) -> object:
    """Evaluate an expression of a study, which comes with it."""
    return eval(code, names)  # noqa: S307 - no other builtins; not external input


@dataclass(frozen=True)
class AblationResult:
    """Outcome of an ablation.

    Attributes
    ----------
    support
        Whether the explanation is supported.
    share_true
        Share of the resamples in which what must hold does; `None` if not run.
    numbers
        Evidence, over all runs.
    reason
        Why it is open or not run.
    """

    support: Support
    share_true: float | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


class Worlds:
    """The runs of a study under its variants, resampled in step.

    Parameters
    ----------
    claim
        The claim whose values are read.
    runs
        From the name of a variant to its runs.
    """

    def __init__(self, claim: Claim, runs: Callable[[str], Resamples]) -> None:
        self._claim, self._runs = claim, runs
        self._found: dict[str, tuple[Resamples, Sample]] = {}
        self._index = 0

    def __call__(self, variant: str) -> Sample:
        """Return what the claim reads of the runs with a variant."""
        if variant not in self._found:
            runs = self._runs(variant)
            runs.read.clear()
            runs.index = self._index
            self._found[variant] = runs, self._claim.sample(runs)
        return self._found[variant][1]

    def each(self, resamples: int) -> Iterator[int]:
        """Go through all runs (0) and the resamples (from 1 on), of all variants together."""
        for self._index in range(resamples + 1):
            for runs, _ in self._found.values():
                runs.index = self._index
            yield self._index
        self._index = 0
        for runs, _ in self._found.values():
            runs.index = 0

    @property
    def least_runs(self) -> int:
        """Minimum number of runs of the settings that were read."""
        return min((count for runs, _ in self._found.values() for count in runs.read.values()), default=0)


def judge_ablation(claim: Claim, runs: Callable[[str], Resamples], command: str) -> AblationResult | None:
    """Return whether the ablation of a claim supports its explanation; `None` if it has none.

    Parameters
    ----------
    claim
        The claim.
    runs
        From the name of a variant to its runs.
    command
        The command that makes the runs of the ablation; empty where the explanation names it.
    """
    ablation = claim.ablation
    if ablation is None:
        return None
    worlds = Worlds(claim, runs)
    check = ablation.check or _holds_under(claim, ablation.variant)
    try:
        held = [bool(check(worlds)) for _ in worlds.each(runs("").resamples)]
        numbers = _numbers(claim, ablation, worlds)
    except NotMeasuredError as error:
        setting = error.named(runs("").grid)
        makes = f"; {command} makes the runs" if command else ""
        return AblationResult(Support.NOT_RUN, reason=f"{setting} was not run or gave no value{makes}")
    least = worlds.least_runs
    if least < 2:
        makes = f"; {command} makes more" if command else ""
        return AblationResult(Support.NOT_RUN, reason=f"{least} runs are too few{makes}")
    share = sum(held[1:]) / (len(held) - 1)
    if least < MIN_RUNS:
        return AblationResult(Support.OPEN, share, numbers, f"{least} runs; at least {MIN_RUNS} are needed")
    return AblationResult(support_of(share), share, numbers)


def _numbers(claim: Claim, ablation: Ablation, worlds: Worlds) -> dict[str, float]:
    if ablation.numbers is not None:
        return dict(ablation.numbers(worlds))
    if not ablation.variant or claim.numbers is None:
        return {}
    return {
        f"{label} under {ablation.variant}": value for label, value in claim.numbers(worlds(ablation.variant)).items()
    }


def support_of(share_true: float) -> Support:
    """Return the outcome for the share of resamples in which what must hold does."""
    if share_true >= CONFIRMED_SHARE:
        return Support.SUPPORTED
    return Support.NOT_SUPPORTED if share_true <= REFUTED_SHARE else Support.OPEN


def _holds_under(claim: Claim, variant: str) -> Callable[[Readings], bool]:
    def holds(readings: Readings) -> bool:
        return claim.check is not None and bool(claim.check(readings(variant)))

    return holds
