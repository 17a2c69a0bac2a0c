"""`quiclab study ...`: run studies, print their tables, write reports and archives."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from quiclab._base.progress import BeatingProgress
from quiclab.cli.study_group import Shown, listed, show_parts
from quiclab.cli.study_options import EnginesOption, NameArgument, OneArgument, OutOption
from quiclab.cli.values import JsonOption
from quiclab.errors import QuiclabError, not_one_of
from quiclab.experiment.own_code import own_code
from quiclab.report import show, show_comparison
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
from quiclab.study.manifest import MANIFEST
from quiclab.study.multiverse import multiverse
from quiclab.study.plan import RESULTS, available_engines, results_directory
from quiclab.study.registry import find_all, installed, load

FORMATS = ("table", "csv", "json")


def list_command(as_json: JsonOption = False) -> None:
    """Carry out `quiclab study list`."""
    rows: dict[str, dict[str, Any]] = {}
    failed: list[QuiclabError] = []
    for source in installed():
        try:
            for study in load(source):
                with own_code(study.name):
                    rows[study.name] = study_row(study)
        except QuiclabError as error:  # the other sources are listed
            failed.append(error)
    if as_json:
        print(to_json({"schema": "quiclab.studies/1", "studies": list(rows.values())}))
    elif rows:
        show.studies(list(rows.values()))
    if failed:
        raise QuiclabError("; ".join(error.message for error in failed), failed[0].exit_code)


def study_row(study: Study) -> dict[str, Any]:
    """Return what the list of studies says of one."""
    settings = sum(1 for point in study.points((study.design.default_engine,)) if not point.variant)
    engines = [engine.name for engine in study.design.engines]
    about = {"name": study.name, "title": study.presentation.title, "engines": engines}
    return {**about, "settings": settings, "runs": study.design.runs}


def table_command(
    name: OneArgument,
    out: OutOption = RESULTS,
    engines: EnginesOption = "default",
    form: Annotated[str, typer.Option("--format", metavar="|".join(FORMATS), help="Output format.")] = "csv",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: `--format json`.")] = False,
) -> None:
    """Carry out `quiclab study table`."""
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


def compare_command(name: OneArgument, as_json: JsonOption = False, out: OutOption = RESULTS) -> None:
    """Carry out `quiclab study compare`."""

    def action(evaluation: Evaluation) -> Shown:
        study = evaluation.study
        engines = study.with_reference([study.design.default_engine])
        kept = evaluation.kept("compare", engines, lambda: compare_document(evaluation, study.design.default_engine))
        if not as_json:
            show_comparison.comparison(kept.document)
        return kept, kept.document if as_json else None

    show_parts(name, COMPARE_SCHEMA, find_all(name), out, action)


def multiverse_command(name: NameArgument, as_json: JsonOption = False, out: OutOption = RESULTS) -> None:
    """Carry out `quiclab study multiverse`."""
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
