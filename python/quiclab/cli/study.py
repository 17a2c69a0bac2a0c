"""`quiclab study ...`: run studies, print their tables, write reports and archives."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiclab._base.libraries import check_libraries
from quiclab._base.progress import BeatingProgress
from quiclab.cli.application import Application
from quiclab.cli.output import show_written
from quiclab.cli.study_decide import ablate_command, decide_command
from quiclab.cli.study_group import Shown, for_each, listed, say_builds, show_parts
from quiclab.cli.study_inspect import study_inspect_command
from quiclab.cli.study_options import EnginesOption, NameArgument, OneArgument, OutOption
from quiclab.cli.study_run import merge_command, plan_command, run_command
from quiclab.cli.study_setting import study_scenario_command
from quiclab.cli.values import JsonOption
from quiclab.errors import QuiclabError, not_one_of
from quiclab.report import show, show_comparison
from quiclab.result.formats import counted
from quiclab.scenario.tree import to_json
from quiclab.study import Study
from quiclab.study.compare import (
    COMPARE_SCHEMA,
    TABLE_SCHEMA,
    compare_document,
    multiverse_document,
    table_rows,
    to_csv,
)
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import MANIFEST, read_manifest
from quiclab.study.plan import RESULTS, available_engines, results_directory, sweep_command
from quiclab.study.registry import find_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.report.reports import Report

app = Application(no_args_is_help=True)

FORMATS = ("table", "csv", "json")


@app.command("list")
def list_command(as_json: JsonOption = False) -> None:
    """List the studies."""
    rows = [study_row(study) for study in find_all(None)]
    if as_json:
        print(to_json({"schema": "quiclab.studies/1", "studies": rows}))
    else:
        show.studies(rows)


def study_row(study: Study) -> dict[str, Any]:
    """Return what the list of studies says of one."""
    settings = sum(1 for point in study.points((study.design.default_engine,)) if not point.variant)
    engines = [engine.name for engine in study.design.engines]
    about = {"name": study.name, "title": study.presentation.title, "engines": engines}
    return {**about, "settings": settings, "runs": study.design.runs}


@app.command("table")
def table_command(
    name: OneArgument,
    out: OutOption = RESULTS,
    engines: EnginesOption = "default",
    form: Annotated[str, typer.Option("--format", metavar="|".join(FORMATS), help="Output format.")] = "csv",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: `--format json`.")] = False,
) -> None:
    """Print one row for each setting, in the columns of the publication if there is one."""
    if form not in FORMATS:
        raise not_one_of("--format", form, FORMATS)
    form = "json" if as_json else form
    parts = find_all(name)

    def action(evaluation: Evaluation) -> Shown:
        study, document = evaluation.study, None
        present, _ = available_engines(study, study.with_reference(study.chosen_engines(engines)))
        kept = evaluation.kept("table", present, lambda: {"rows": table_rows(evaluation, present)})
        rows = kept.document["rows"]
        if form == "csv":
            print(to_csv(rows), end="\n" if study is not parts[-1] else "")
        elif form == "json":
            document = {"schema": TABLE_SCHEMA, "study": study.name, "rows": rows}
        else:
            title, source = study.presentation.title, study.measures.table.source
            show.rows(rows, f"{title} ({source})" if source else title)
        for item in study.design.unavailable:
            print(f"{item.name}: {item.reason}", file=sys.stderr)
        return kept, document

    show_parts(name, TABLE_SCHEMA, parts, out, action)


@app.command("report")
def report_command(name: NameArgument, out: OutOption = RESULTS, as_json: JsonOption = False) -> None:
    """Write the report of a study to its results directory, over an earlier one: a page, its figures as SVG and PNG.

    For a group also an overview.
    """
    check_libraries("`quiclab study report`")
    from quiclab.report.overview import write_overview  # noqa: PLC0415 - loads the template library
    from quiclab.report.reports import write_report  # noqa: PLC0415 - as above

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


@app.command("compare")
def compare_command(name: OneArgument, as_json: JsonOption = False, out: OutOption = RESULTS) -> None:
    """Print published and measured results side by side, and the fidelity of each series."""

    def action(evaluation: Evaluation) -> Shown:
        study = evaluation.study
        engines = study.with_reference([study.design.default_engine])
        kept = evaluation.kept("compare", engines, lambda: compare_document(evaluation, study.design.default_engine))
        if not as_json:
            show_comparison.comparison(kept.document)
        return kept, kept.document if as_json else None

    show_parts(name, COMPARE_SCHEMA, find_all(name), out, action)


@app.command("multiverse")
def multiverse_command(name: NameArgument, as_json: JsonOption = False, out: OutOption = RESULTS) -> None:
    """Print which claims hold under every interpretation that was run, and on which the others depend."""
    from quiclab.study.multiverse import multiverse  # noqa: PLC0415 - only here

    found = []
    absent = []
    studies = [study for study in find_all(name) if study.measures.claims]
    with BeatingProgress(f"multiverse {name}", len(studies)) as progress:
        for study in studies:
            if (results_directory(study, out) / MANIFEST).is_file():
                found += multiverse(Evaluation(study, out))
            else:
                absent.append(study.name)
            progress.advance()
    if as_json:
        print(to_json(multiverse_document(name, found)))
    else:
        show.multiverse(found)
    if absent:
        raise QuiclabError(
            f"{len(absent)} of {len(studies)} studies not run: {listed(absent)}; run interpretations with "
            "`quiclab study run --variants all`"
        )


app.command("run")(run_command)
app.command("plan")(plan_command)
app.command("merge")(merge_command)
app.command("decide")(decide_command)
app.command("ablate")(ablate_command)
app.command("inspect")(study_inspect_command)
app.command("scenario")(study_scenario_command)


@app.command("package")
def package_command(name: NameArgument, out: OutOption = RESULTS, as_json: JsonOption = False) -> None:
    """Write one archive with everything needed to repeat a study to its results directory, over an earlier one."""
    check_libraries("`quiclab study package`")
    from quiclab.report.archive import write_package  # noqa: PLC0415 - loads the chart library

    def action(study: Study) -> None:
        evaluation = Evaluation(study, out)
        if evaluation.missing_anywhere:
            raise QuiclabError(
                f"an archive requires complete results, but {evaluation.missing_anywhere} runs are missing; run "
                f"{sweep_command(study, out, f' --runs {evaluation.runs}')}"
            )
        written.append(write_package(evaluation))
        if not as_json:
            show_written(written[-1:], as_json)

    written: list[Path] = []
    try:
        for_each(find_all(name), action)
    finally:
        if as_json:
            show_written(written, as_json)
