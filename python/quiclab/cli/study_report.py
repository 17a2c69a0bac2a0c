"""`quiclab study report`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab._base.progress import BeatingProgress
from quiclab.cli.output import show_written
from quiclab.cli.study_group import for_each, say_builds
from quiclab.cli.study_options import NameArgument, OutOption
from quiclab.cli.values import JsonOption
from quiclab.errors import QuiclabError
from quiclab.report.overview import write_overview
from quiclab.report.reports import write_report
from quiclab.result.formats import counted
from quiclab.study import Study
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import read_manifest
from quiclab.study.plan import RESULTS, results_directory
from quiclab.study.registry import find_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.report.reports import Report


def report_command(name: NameArgument, out: OutOption = RESULTS, as_json: JsonOption = False) -> None:
    """Carry out `quiclab study report`."""

    def action(study: Study) -> None:
        evaluation = Evaluation(study, out)
        try:
            written.append(write_report(evaluation, study.design.default_engine))
        finally:
            progress.advance()

    studies = find_all(name)
    with_results = [study for study in studies if read_manifest(results_directory(study, out)) is not None]
    written: list[Report] = []
    problem = None
    try:
        with BeatingProgress(f"report {name}", len(with_results)) as progress:
            for_each(studies, action)
    except QuiclabError as error:  # the overview lists the results, and the error the missing ones
        problem = error
    finally:  # not earlier: a progress bar may be on the same terminal
        pages = [report.path for report in written]
        if not as_json:
            show_written(pages, as_json)
        say_builds([report.kept for report in written], name)
    if written and len(studies) > 1:
        pages.append(write_overview(name.strip("/"), studies, written, out))
        if not as_json:
            show_written(pages[-1:], as_json)
    if as_json:
        show_written(pages, as_json)
    elif written:
        print(shown_by(written, pages[-1]), file=sys.stderr)
    if problem is not None:
        raise problem


def shown_by(reports: Sequence[Report], page: Path) -> str:
    """Return two sentences: what reports have shown, and the page to open."""
    words = Counter(str(claim["word"]) for report in reports for claim in report.claims)
    verdicts = ", ".join(f"{count} {word}" for word, count in words.most_common())
    named = reports[0].study.presentation.title if len(reports) == 1 else f"{len(reports)} studies"
    claims = f"{counted(words.total(), 'claim')}: {verdicts}" if verdicts else "no claims, but numbers and figures"
    missing = sum(report.missing for report in reports)
    rest = f" ({missing} runs are missing)" if missing else ""
    return f"{named}: {claims}{rest}. Open {page} in a browser."
