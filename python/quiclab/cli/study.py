"""`quiclab study ...`: run studies, print their tables, write reports and archives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from quiclab.cli.lane import LANES
from quiclab.cli.values import JsonOption, KeyAndValue, integer
from quiclab.errors import QuiclabError, RequestError, not_one_of, unknown
from quiclab.files import write_parquet
from quiclab.progress import BeatingProgress
from quiclab.report import show
from quiclab.study import Study, sweep
from quiclab.study.compare import (
    COMPARE_SCHEMA,
    TABLE_SCHEMA,
    compare_document,
    multiverse_document,
    table_rows,
    to_csv,
)
from quiclab.study.evaluate import (
    MANIFEST,
    RESULTS,
    Evaluation,
    available_engines,
    jobs_of,
    results_directory,
    sweep_command,
    write_manifest,
)
from quiclab.study.registry import find_all, find_parts
from quiclab.study.store import Store
from quiclab.tree import to_json

if TYPE_CHECKING:
    from quiclab.report.study_page import Report

app = typer.Typer(no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Study, or a group such as dual_connectivity.")]
OneArgument = Annotated[str, typer.Argument(metavar="NAME", help="Study, or a study of a group: validation/linux_tcp.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Results directory.")]
EnginesOption = Annotated[str, typer.Option(metavar="default|all|A,B", help="Engines.")]
Shown: TypeAlias = tuple[list[str], dict[str, Any] | None]
"""Engines whose results were shown, and their JSON document if it is still to be printed."""
FORMATS = ("table", "csv", "json")
ONLY = KeyAndValue("--only", "key=value", "configuration=quic_large_buffer")
MAX_REASONS = 3
"""Number of studies of a group whose failures an error message lists; the others are counted."""


@app.command("list")
def list_command() -> None:
    """List the studies."""
    show.studies(find_all(None))


@app.command("run")
def run_command(
    name: NameArgument,
    runs: Annotated[
        int | None,
        typer.Option(parser=integer(1, 100_000), metavar="N", help="Runs of each setting (default: as published)."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(parser=ONLY.checked, metavar="KEY=VALUE", help="Run only these settings; may be repeated."),
    ] = None,
    engines: EnginesOption = "default",
    jobs: Annotated[
        int | None, typer.Option(parser=integer(1, 1024), metavar="N", help="Worker processes (default: one per CPU).")
    ] = None,
    out: OutOption = RESULTS,
    lane: Annotated[
        str | None, typer.Option(metavar="|".join(LANES), help="Only engines of this lane (default: all lanes).")
    ] = None,
    variants: Annotated[
        str, typer.Option(metavar="none|all|A,B", help="Alternative interpretations of the description.")
    ] = "none",
) -> None:
    """Run a study; completed runs are reused."""
    if lane not in (None, *LANES):
        raise not_one_of("--lane", lane, LANES)
    keep = parse_only(only or [])
    failures = 0

    def action(study: Study) -> None:
        nonlocal failures
        chosen = study.engines_of(lane, engines) if lane else study.chosen_engines(engines)
        failures += _run_study(study, runs, keep, chosen, jobs, out, variants, asked=engines not in ("default", "all"))

    found = with_names(find_all(name), engines, "engine", Study.chosen_engines)
    found = with_names(found, variants, "variant", Study.chosen_variants)
    for_each(with_keys(found, keep), action)
    if failures:
        raise QuiclabError(f"{failures} runs failed; the output above lists them with the commands that replay them")


def unavailable_reason(study: Study, engines: Sequence[str]) -> str:
    """List engines that are not available on this machine, each with the reason."""

    def reason(name: str) -> str:
        lane = study.engine(name).lane
        return "not a stack of this build; see `quiclab stack list`" if lane is None else str(lane.problem())

    return ", ".join(f"`{name}` ({reason(name)})" for name in engines)


def _run_study(
    study: Study,
    runs: int | None,
    keep: dict[str, tuple[str, ...]],
    engines: tuple[str, ...],
    workers: int | None,
    out: Path,
    variants: str,
    *,
    asked: bool,
) -> int:
    """Run the missing runs of one study; returns the number of failed runs."""
    present, absent = available_engines(study, engines)
    if absent and (asked or not present):
        raise RequestError(f"{study.name} cannot run on this machine with {unavailable_reason(study, absent)}")
    if absent:
        print(
            f"{study.name}: skipped, not available on this machine: {unavailable_reason(study, absent)}",
            file=sys.stderr,
        )
    present, _ = available_engines(study, study.with_reference(present))
    points = list(study.points(tuple(present), runs, keep, study.chosen_variants(variants)))
    work = jobs_of(study, points)
    directory = results_directory(study, out)
    wanted = runs or study.runs
    store = Store(directory)
    # one lock from the manifest to the table: a concurrent sweep would change them
    with store.locked():
        asked_for = study.chosen_variants(variants)
        counted = write_manifest(study, directory, wanted, partial=bool(keep), variants=asked_for)
        outcome = sweep.execute(work, store, title=study.name, workers=workers)
        if outcome.done:
            write_parquet(directory / "runs.parquet", Evaluation(study, out).table)
    if counted > wanted and not keep:
        print(
            f"{study.name}: {directory} keeps {counted} runs of each setting, as an earlier sweep requested"
            f"; choose another directory with --out for {wanted}",
            file=sys.stderr,
        )
    if counted < wanted:
        print(
            f"{study.name}: tables and verdicts use {counted} runs of each setting; to use more, run all settings: "
            f"{sweep_command(study, out, f' --runs {wanted}')}",
            file=sys.stderr,
        )
    if outcome.interrupted:
        raise StoppedError(
            f"stopped: {outcome.done} of {outcome.total} runs of {study.name} are complete and stored; repeat the "
            "command to continue"
        )
    print(
        f"{study.name}: {outcome.done} of {outcome.total} runs complete, {outcome.executed} of them new",
        file=sys.stderr,
    )
    return len(outcome.failures)


@app.command("table")
def table_command(
    name: OneArgument,
    out: OutOption = RESULTS,
    engines: EnginesOption = "default",
    form: Annotated[str, typer.Option("--format", metavar="|".join(FORMATS), help="Output format.")] = "csv",
) -> None:
    """Print one row for each published row, in the columns of the publication."""
    if form not in FORMATS:
        raise not_one_of("--format", form, FORMATS)
    parts = find_parts(name)

    def action(evaluation: Evaluation) -> Shown:
        study, document = evaluation.study, None
        present, _ = available_engines(study, study.with_reference(study.chosen_engines(engines)))
        rows = table_rows(evaluation, present)
        if form == "csv":
            print(to_csv(rows), end="\n" if study is not parts[-1] else "")
        elif form == "json":
            document = {"schema": TABLE_SCHEMA, "study": study.name, "rows": rows}
        else:
            show.rows(rows, f"{study.title} ({study.table.source})")
        for item in study.unavailable:
            print(f"{item.name}: {item.reason}", file=sys.stderr)
        return present, document

    _show_parts(name, TABLE_SCHEMA, parts, out, action)


@app.command("report")
def report_command(name: NameArgument, out: OutOption = RESULTS) -> None:
    """Write the report of a study: one HTML file, and its figures as SVG and PNG; for a group also an overview."""
    from quiclab.report.overview import write_overview  # noqa: PLC0415 - loads the chart library
    from quiclab.report.study_page import write_report  # noqa: PLC0415 - as above

    def action(study: Study) -> None:
        try:
            written.append(write_report(Evaluation(study, out), study.default_engine))
        finally:
            progress.advance()

    studies = find_all(name)
    written: list[Report] = []
    problem = None
    try:
        with BeatingProgress(f"report {name}", len(studies)) as progress:
            for_each(studies, action)
    except QuiclabError as error:  # the overview lists the results, and the error the missing ones
        problem = error
    finally:  # not earlier: a progress bar may be on the same terminal
        for report in written:
            print(report.path)
    if written and len(studies) > 1:
        print(write_overview(name.strip("/"), studies, written, out))
    if problem is not None:
        raise problem


@app.command("compare")
def compare_command(name: OneArgument, as_json: JsonOption = False, out: OutOption = RESULTS) -> None:
    """Print published and measured results side by side, and the fidelity of each series."""

    def action(evaluation: Evaluation) -> Shown:
        study = evaluation.study
        document = compare_document(evaluation, study.default_engine)
        if not as_json:
            show.comparison(document)
        return list(study.with_reference([study.default_engine])), document if as_json else None

    _show_parts(name, COMPARE_SCHEMA, find_parts(name), out, action)


@app.command("multiverse")
def multiverse_command(name: NameArgument, as_json: JsonOption = False, out: OutOption = RESULTS) -> None:
    """Print which claims hold under every interpretation that was run, and on which the others depend."""
    from quiclab.study.multiverse import multiverse  # noqa: PLC0415 - only here

    found = []
    absent = []
    studies = [study for study in find_all(name) if study.claims]
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
            f"not run yet: {', '.join(absent)}; run interpretations with `quiclab study run --variants all`"
        )


@app.command("package")
def package_command(name: NameArgument, out: OutOption = RESULTS) -> None:
    """Write one archive with everything needed to repeat a study."""
    from quiclab.report.archive import write_package  # noqa: PLC0415 - loads the chart library

    def action(study: Study) -> None:
        evaluation = Evaluation(study, out)
        if evaluation.missing_anywhere:
            raise QuiclabError(
                f"an archive requires complete results, but {evaluation.missing_anywhere} runs are missing; run "
                f"{sweep_command(study, out, f' --runs {evaluation.runs}')}"
            )
        print(write_package(evaluation))

    for_each(find_all(name), action)


class StoppedError(QuiclabError):
    """The user has stopped a sweep; later studies are not run."""


def for_each(studies: Sequence[Study], action: Callable[[Study], None]) -> None:
    """Call an action for each study of a group; a failure does not stop the others.

    Parameters
    ----------
    studies
        One or more.
    action
        The action.

    Raises
    ------
    QuiclabError
        The error of a single study; for several studies, one error that lists each failure.
    """
    failed: list[tuple[str, QuiclabError]] = []
    for study in studies:
        try:
            action(study)
        except StoppedError:
            raise
        except QuiclabError as error:
            if len(studies) == 1:
                raise
            failed.append((study.name, error))
    if failed:
        reasons = "; ".join(f"{name}: {error.message}" for name, error in failed[:MAX_REASONS])
        if len(failed) > MAX_REASONS:
            reasons += f"; and {len(failed) - MAX_REASONS} more"
        wrong_request = len(failed) == len(studies) and all(error.exit_code == 2 for _, error in failed)
        raise QuiclabError(f"{len(failed)} of {len(studies)} studies failed: {reasons}", 2 if wrong_request else 1)


def with_names(
    studies: list[Study], choice: str, kind: str, read: Callable[[Study, str], tuple[str, ...]]
) -> list[Study]:
    """Skip the studies of a group that lack a requested engine or variant, if any of them has it.

    Parameters
    ----------
    studies
        The studies of the group.
    choice
        The value of `--engines` or `--variants`.
    kind
        `engine` or `variant`, for the message.
    read
        Function that returns the engines or variants of a study for a choice; raises `RequestError` if the study lacks
        one.
    """

    def has(study: Study) -> bool:
        try:
            read(study, choice)
        except RequestError:
            return False
        return True

    chosen = [study for study in studies if has(study)]
    if not chosen and len(studies) > 1:
        names = dict.fromkeys(name for study in studies for name in read(study, "all"))
        raise unknown(kind, choice, names)
    for study in studies:
        if chosen and study not in chosen:
            print(f"{study.name}: skipped, has no {kind} {choice}", file=sys.stderr)
    return chosen or studies


def with_keys(studies: list[Study], keep: Collection[str]) -> list[Study]:
    """Skip the studies of a group without the columns of `--only`, if any of them has them.

    Parameters
    ----------
    studies
        One or more.
    keep
        Keys of `--only`.
    """
    chosen = [study for study in studies if set(keep) <= set(study.keys)] or studies
    for study in studies:
        if study not in chosen:
            lacking = ", ".join(key for key in keep if key not in study.keys)
            print(f"{study.name}: skipped, has no {lacking}", file=sys.stderr)
    return chosen


def parse_only(texts: list[str]) -> dict[str, tuple[str, ...]]:
    """Read `--only key=value`: values of one key are alternatives, keys narrow each other.

    Raises
    ------
    RequestError
        If there is no `=`.
    """
    keep: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, value = ONLY.split(text)
        keep[key] = (*keep.get(key, ()), value)
    return keep


def _show_parts(name: str, schema: str, parts: list[Study], out: Path, action: Callable[[Evaluation], Shown]) -> None:
    """Show results of a study or of its parts, then report missing runs.

    JSON is one document at most: that of the only study, or one that contains those of all studies.
    """
    documents: list[dict[str, Any]] = []
    engines: dict[str, tuple[Evaluation, list[str]]] = {}

    def show_part(study: Study) -> None:
        evaluation = Evaluation(study, out)
        names, document = action(evaluation)
        documents.extend([] if document is None else [document])
        engines[study.name] = evaluation, names

    try:
        for_each(parts, show_part)
    finally:
        if documents:
            whole = {"schema": schema, "study": name.rstrip("/"), "parts": documents}
            print(to_json(whole if len(parts) > 1 else documents[0]))
    for_each([study for study in parts if study.name in engines], lambda study: _report_missing(*engines[study.name]))


def _report_missing(evaluation: Evaluation, engines: list[str]) -> None:
    """Report the missing runs of the published settings.

    Raises
    ------
    QuiclabError
        If there are any.
    """
    study = evaluation.study
    for name in engines:
        missing = evaluation.missing(name)
        if missing:
            options = f" --runs {evaluation.runs}" + ("" if name == study.default_engine else f" --engines {name}")
            raise QuiclabError(
                f"{missing} runs with {name} are missing; run {sweep_command(study, evaluation.out, options)}"
            )
