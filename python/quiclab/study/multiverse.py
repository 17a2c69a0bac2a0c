"""Claims over all interpretations of a description: robust, or dependent on the interpretation.

A publication leaves details open (Steegen et al., "Increasing transparency through a multiverse analysis", Perspectives
on Psychological Science 11, 2016). Here each variant of a study is an interpretation, in addition to the literal one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.study import BASE
from quiclab.study.claims import CONFIRMED_SHARE, REFUTED_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.study.claims import Claim, Judgement
    from quiclab.study.evaluate import Evaluation

AS_PUBLISHED = "as published"
HOLDS, FAILS, OPEN = "holds", "fails", "open"


@dataclass(frozen=True)
class InterpretationResult:
    """Result of a claim under one interpretation.

    Attributes
    ----------
    outcome
        `holds` in at least 97.5 % of the resamples, `fails` in at most 2.5 %, else `open`. Unlike
        a verdict, it is not open for lack of runs: see `least_runs`.
    share_true
        Share of the resamples in which it holds.
    least_runs
        Minimum number of runs of the settings that it reads.
    """

    outcome: str
    share_true: float
    least_runs: int


@dataclass(frozen=True)
class Row:
    """A claim with its result under each interpretation that was run.

    Attributes
    ----------
    study
        Name of the study that reports the claim.
    claim
        The claim.
    interpretations
        Result by name of the variant; that of the literal interpretation is `as published`.
    """

    study: str
    claim: Claim
    interpretations: Mapping[str, InterpretationResult]

    @property
    def base(self) -> InterpretationResult | None:
        """Result of the literal interpretation; `None` if not run."""
        return self.interpretations.get(AS_PUBLISHED)

    @property
    def outcomes(self) -> set[str]:
        """Outcomes of all interpretations, except open ones."""
        return {world.outcome for world in self.interpretations.values()} - {OPEN}

    @property
    def differing(self) -> tuple[str, ...]:
        """Interpretations with an outcome other than that of the literal one."""
        base = self.base
        return tuple(
            name for name, world in self.interpretations.items() if base is None or world.outcome != base.outcome
        )

    @property
    def summary(self) -> str:
        """Summary: robust, or the interpretations on which it depends."""
        if len(self.interpretations) < 2:
            return "only one reading was run"
        return f"depends on {', '.join(self.differing)}" if self.differing else "robust"


def result_of(judgement: Judgement) -> InterpretationResult | None:
    """Return the result of a verdict under an interpretation; `None` if it was not tested."""
    share = judgement.share_true
    if share is None:
        return None
    outcome = HOLDS if share >= CONFIRMED_SHARE else FAILS if share <= REFUTED_SHARE else OPEN
    return InterpretationResult(outcome, share, judgement.least_runs or 0)


def multiverse(evaluation: Evaluation) -> list[Row]:
    """Judge the claims of a study in each reading that was run, with its default engine."""
    study = evaluation.study
    variants = (variant.name for variant in study.design.variants if variant.interpretation)
    readings = {AS_PUBLISHED: BASE} | {name: name for name in variants}
    found: dict[str, dict[str, InterpretationResult]] = {claim.identity: {} for claim in study.measures.claims}
    for name, variant in readings.items():
        if not evaluation.samples(study.design.default_engine, variant):
            continue
        for judgement in evaluation.judgements(study.design.default_engine, variant):
            world = result_of(judgement)
            if world is not None:
                found[judgement.claim.identity][name] = world
    return [Row(study.name, claim, found[claim.identity]) for claim in study.measures.claims if found[claim.identity]]
