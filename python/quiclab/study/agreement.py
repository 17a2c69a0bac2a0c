"""Agreement of verdicts with the tables of the sources, and what is aimed at.

Cohen's kappa misleads where nearly all claims hold in the tables: each disagreement then weighs much, and with only one
verdict it is not defined. The share of agreement and Gwet's AC1 are therefore beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab.result.stats import cohens_kappa, gwets_ac1
from quiclab.study.claims import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGREED_AIM = 0.95
"""Aim: at least this share of the decided verdicts agrees with the tables of the source."""
UNDECIDED_AIM = 0.05
"""Aim: at most this share of the tested claims is undecided. A claim at its limit in the source's own table is not."""
DECIDED = (Verdict.CONFIRMED, Verdict.REFUTED)
TESTED = (*DECIDED, Verdict.UNDECIDED, Verdict.AT_THE_LIMIT)


@dataclass(frozen=True)
class Agreement:
    """Agreement of verdicts with the tables of the sources.

    Attributes
    ----------
    compared, agreed
        Claims that are confirmed or refuted, and that the tables determine; of these, claims on which both agree.
    kappa, ac1
        Cohen's kappa and Gwet's AC1 over these; NaN where they are not defined.
    undecided, at_the_limit, tested
        Claims that are undecided, and those at the limit, of those that were tested.
    """

    compared: int
    agreed: int
    kappa: float
    ac1: float
    undecided: int
    at_the_limit: int
    tested: int

    @property
    def agreed_share(self) -> float:
        """Share of the compared claims on which both agree; NaN without any."""
        return self.agreed / self.compared if self.compared else math.nan

    @property
    def undecided_share(self) -> float:
        """Share of the tested claims that are undecided; NaN without any."""
        return self.undecided / self.tested if self.tested else math.nan

    @property
    def agreed_aim_met(self) -> bool | None:
        """Whether enough decided verdicts agree; `None` without any."""
        return self.agreed_share >= AGREED_AIM if self.compared else None

    @property
    def undecided_aim_met(self) -> bool | None:
        """Whether few enough claims are undecided; `None` without any."""
        return self.undecided_share <= UNDECIDED_AIM if self.tested else None


def agreement(claims: Sequence[Mapping[str, Any]]) -> Agreement:
    """Compare verdicts with the predicates on the tables of the sources.

    Claims that hold by construction count nowhere.

    Parameters
    ----------
    claims
        As `verify --json` prints them.
    """
    verdicts = [claim["verdict"] for claim in claims]
    pairs = [
        (claim["verdict"] == Verdict.CONFIRMED, bool(claim["on_published"]))
        for claim in claims
        if claim["verdict"] in DECIDED and claim["on_published"] is not None
    ]
    measured, published = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Agreement(
        compared=len(pairs),
        agreed=sum(one == other for one, other in pairs),
        kappa=cohens_kappa(measured, published),
        ac1=gwets_ac1(measured, published),
        undecided=verdicts.count(Verdict.UNDECIDED),
        at_the_limit=verdicts.count(Verdict.AT_THE_LIMIT),
        tested=sum(verdicts.count(word) for word in TESTED),
    )


def document(found: Agreement) -> dict[str, Any]:
    """Return `agreement` of what `verify --json` prints; values that are not defined are null."""

    def rounded(value: float) -> float | None:
        return None if math.isnan(value) else round(value, 4)

    return {
        "compared": found.compared,
        "agreed": found.agreed,
        "agreed_share": rounded(found.agreed_share),
        "kappa": rounded(found.kappa),
        "ac1": rounded(found.ac1),
        "undecided": found.undecided,
        "at_the_limit": found.at_the_limit,
        "tested": found.tested,
        "undecided_share": rounded(found.undecided_share),
        "aims": {
            "agreed_share": {"at_least": AGREED_AIM, "met": found.agreed_aim_met},
            "undecided_share": {"at_most": UNDECIDED_AIM, "met": found.undecided_aim_met},
        },
    }


def sentences(found: Agreement) -> list[str]:
    """Return the agreement as sentences for a terminal, each with its aim."""

    def number(value: float) -> str:
        return "not defined" if math.isnan(value) else f"{value:.2f}"

    said = {True: "met", False: "not met"}
    lines = []
    if found.agreed_aim_met is not None:
        lines.append(
            f"agreement with the tables of the sources: {found.agreed} of {found.compared} decided claims "
            f"({100 * found.agreed_share:.1f} %; aim: at least {100 * AGREED_AIM:g} %, {said[found.agreed_aim_met]}), "
            f"Gwet's AC1 {number(found.ac1)}, Cohen's kappa {number(found.kappa)}"
        )
    if found.undecided_aim_met is not None:
        lines.append(
            f"undecided: {found.undecided} of {found.tested} tested claims ({100 * found.undecided_share:.1f} %; aim: "
            f"at most {100 * UNDECIDED_AIM:g} %, {said[found.undecided_aim_met]})"
            + (f"; {found.at_the_limit} at the limit" if found.at_the_limit else "")
        )
    return lines
