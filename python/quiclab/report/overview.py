"""The overview of a group of studies: one page with a card for each experiment, and the claims board."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab._base.files import write_atomically
from quiclab.report.html import OWN, counts, environment, with_contents
from quiclab.result.stats import RESAMPLES
from quiclab.study import registry
from quiclab.study.agreement import AGREED_AIM, UNDECIDED_AIM, agreement
from quiclab.study.claims import AT_THE_LIMIT_SHARE, CONFIRMED_SHARE, REFUTED_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quiclab.report.reports import Report
    from quiclab.study import Study

UNFOLDED_STUDIES = 6
"""More studies than this that were not run, or not wholly, are folded."""


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
    title, paragraphs = registry.about(studies)
    return with_contents(
        environment()
        .get_template("overview.html.j2")
        .render(
            group=group,
            title=title or group,
            paragraphs=paragraphs,
            sources=_sources(studies),
            total=len(studies),
            cards=[_card(group, report) for report in reports],
            lacking=[_below(group, study) for study in studies if study.name not in written],
            incomplete=[
                f"{_below(group, report.study)} ({report.missing} runs missing)" for report in reports if report.missing
            ],
            unfolded=UNFOLDED_STUDIES,
            claims=claims,
            pages={report.study.name: _page(group, report) for report in reports},
            counts=counts(claims),
            agreement=agreement(claims),
            contradictions=[claim for claim in claims if claim["on_published"] is False],
            aims={"agreed": AGREED_AIM, "undecided": UNDECIDED_AIM},
            bounds={
                "resamples": RESAMPLES,
                "confirmed": CONFIRMED_SHARE,
                "refuted": REFUTED_SHARE,
                "at_the_limit": AT_THE_LIMIT_SHARE,
            },
            isnan=math.isnan,
        )
    )


def _sources(studies: Sequence[Study]) -> list[str]:
    """Return what the studies follow: publications, or, where there is none, that they are quiclab's own."""
    found = list(dict.fromkeys(study.presentation.source for study in studies if study.presentation.source))
    return [source for source in found if not source.startswith(OWN)] or found[:1]


def _page(group: str, report: Report) -> str:
    """Return the address of a report as seen from the overview."""
    return f"{_below(group, report.study)}/{report.path.name}".lstrip("/")


def _below(group: str, study: Study) -> str:
    """Return the name of a study without its group; empty for the group itself."""
    return study.name.removeprefix(group).strip("/")


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
