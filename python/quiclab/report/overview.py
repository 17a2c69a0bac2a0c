"""The overview of a group of studies: one page with a card for each experiment, and the claims board."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab.files import write_atomically
from quiclab.report.html import VERDICT_WORDS, counts, environment
from quiclab.stats import RESAMPLES, cohens_kappa
from quiclab.study import registry
from quiclab.study.claims import CONFIRMED_SHARE, REFUTED_SHARE, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from quiclab.report.reports import Report
    from quiclab.study import Study


@dataclass(frozen=True)
class Agreement:
    """Agreement of the verdicts with the tables of the sources.

    Attributes
    ----------
    compared
        Claims that are confirmed or refuted, and that the tables determine.
    agreed
        Of these, claims on which both agree.
    kappa
        Cohen's kappa over these; NaN where it is not defined.
    undecided, tested
        Claims that are undecided, of those that are confirmed, refuted or undecided.
    """

    compared: int
    agreed: int
    kappa: float
    undecided: int
    tested: int


def agreement(claims: Sequence[Mapping[str, Any]]) -> Agreement:
    """Compare verdicts with the predicates on the tables of the sources.

    Claims that hold by construction count nowhere.

    Parameters
    ----------
    claims
        As `verify --json` prints them.
    """
    verdicts = [claim["verdict"] for claim in claims]
    decided = [
        (claim["verdict"] == Verdict.CONFIRMED, bool(claim["on_published"]))
        for claim in claims
        if claim["verdict"] in (Verdict.CONFIRMED, Verdict.REFUTED) and claim["on_published"] is not None
    ]
    return Agreement(
        compared=len(decided),
        agreed=sum(measured == published for measured, published in decided),
        kappa=cohens_kappa([measured for measured, _ in decided], [published for _, published in decided]),
        undecided=verdicts.count(Verdict.UNDECIDED),
        tested=sum(verdicts.count(word) for word in (Verdict.CONFIRMED, Verdict.REFUTED, Verdict.UNDECIDED)),
    )


def write_overview(group: str, studies: Sequence[Study], reports: Sequence[Report], out: Path) -> Path:
    """Write `index.html` of a group into its results directory and return its path.

    Parameters
    ----------
    group
        Name of the group.
    studies
        All of it.
    reports
        Those that were written.
    out
        Directory given as `--out`.
    """
    path = out / group / "index.html"
    write_atomically(path, render(group, studies, reports).encode())
    return path


def render(group: str, studies: Sequence[Study], reports: Sequence[Report]) -> str:
    """Return the overview as HTML."""
    written = {report.study.name for report in reports}
    claims = [claim for report in reports for claim in report.claims]
    paragraphs = registry.about(studies)
    return (
        environment()
        .get_template("overview.html.j2")
        .render(
            group=group,
            title=paragraphs[0].partition(" (")[0].rstrip(".") if paragraphs else group,
            paragraphs=paragraphs[1:],
            sources=list(dict.fromkeys(study.presentation.source for study in studies)),
            total=len(studies),
            cards=[_card(group, report) for report in reports],
            lacking=[study for study in studies if study.name not in written],
            incomplete=[report for report in reports if report.missing],
            claims=claims,
            pages={report.study.name: _page(group, report) for report in reports},
            counts=counts(claims),
            words={word: str(verdict) for verdict, word in VERDICT_WORDS.items()},
            agreement=agreement(claims),
            contradictions=[claim for claim in claims if claim["on_published"] is False],
            bounds={"resamples": RESAMPLES, "confirmed": CONFIRMED_SHARE, "refuted": REFUTED_SHARE},
            isnan=math.isnan,
        )
    )


def _page(group: str, report: Report) -> str:
    """Return the address of a report as seen from the overview."""
    return f"{report.study.name.removeprefix(group).strip('/')}/{report.path.name}".lstrip("/")


def _card(group: str, report: Report) -> dict[str, Any]:
    """Return the data of an experiment for the overview."""
    study = report.study
    return {
        "study": study,
        "page": _page(group, report),
        "thumbnail": report.thumbnail,
        "fidelity": report.fidelity,
        "scored": study.measures.metric_of(study.measures.scored),
        "printed": bool(study.measures.table.file or study.measures.table.engine),
        "counts": counts(report.claims),
    }
