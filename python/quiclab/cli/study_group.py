"""Commands over the studies of a group: which of them an option concerns, and one error for all failures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from quiclab._base.native import MAX_SEED
from quiclab.cli.values import KeyAndValue, integer
from quiclab.errors import QuiclabError, RequestError, StoppedError, unknown
from quiclab.experiment.identity import note_on_builds
from quiclab.scenario.tree import to_json
from quiclab.study import Study
from quiclab.study.evaluate import Evaluation, Kept
from quiclab.study.manifest import NotRunError
from quiclab.study.parts import SIM
from quiclab.study.plan import available_engines, sweep_command

Shown: TypeAlias = tuple[Kept, dict[str, Any] | None]
"""What was shown, and its JSON document if it is still to be printed."""
SeedOption = Annotated[
    int | None,
    typer.Option(
        parser=integer(0, MAX_SEED),
        metavar="S",
        help="Seed of the first runs, and of random settings (default: the study's).",
    ),
]
ONLY = KeyAndValue("--only", "key=value", "configuration=quic_large_buffer")
GENERAL = ("default", "all")
"""Values of `--engines` that name none."""
MAX_REASONS = 3
"""Number of studies of a group whose failures an error message lists; the others are counted."""


def with_lane(studies: list[Study], lane: str | None) -> list[Study]:
    """Return the studies of a group that have an engine of a lane, and say which have none; all if none has."""
    there = [study for study in studies if any(lane in (None, engine.lane_name) for engine in study.design.engines)]
    if there and len(there) < len(studies):
        without = ", ".join(study.name for study in studies if study not in there)
        print(f"skipped, without an engine of lane {lane}: {without}", file=sys.stderr)
    return there or studies


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
        The error of a single study; for several studies, one error that lists each failure, and the studies that were
        not run.
    """
    failed: list[tuple[str, QuiclabError]] = []
    not_run: list[str] = []
    for study in studies:
        try:
            action(study)
        except StoppedError:
            raise
        except QuiclabError as error:
            if len(studies) == 1:
                raise
            if isinstance(error, NotRunError):
                not_run.append(study.name)
            else:
                failed.append((study.name, error))
    parts = []
    if failed:
        reasons = listed([f"{name}: {error.message}" for name, error in failed], "; ")
        parts.append(f"{len(failed)} of {len(studies)} studies failed: {reasons}")
    if not_run:
        parts.append(
            f"{len(not_run)} of {len(studies)} studies not run: {listed(not_run, ', ')}; `quiclab study run` with the "
            "name of a study or group runs it"
        )
    if parts:
        wrong_request = len(failed) == len(studies) and all(error.exit_code == 2 for _, error in failed)
        raise QuiclabError("; ".join(parts), 2 if wrong_request else 1)


def listed(texts: Sequence[str], between: str = ", ") -> str:
    """List the first of some texts, and count the others."""
    more = [f"and {len(texts) - MAX_REASONS} more"] if len(texts) > MAX_REASONS else []
    return between.join([*texts[:MAX_REASONS], *more])


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
    chosen = [study for study in studies if set(keep) <= set(study.design.keys)] or studies
    for study in studies:
        if study not in chosen:
            lacking = ", ".join(key for key in keep if key not in study.design.keys)
            print(f"{study.name}: skipped, has no {lacking}", file=sys.stderr)
    return chosen


def engines_here(study: Study, engines: Sequence[str], chosen: str) -> list[str]:
    """Return the chosen engines that this machine can run, and say which it cannot.

    Parameters
    ----------
    study
        Study whose engines they are.
    engines
        Names of the chosen engines.
    chosen
        Value of `--engines`: `default`, `all` or names.

    Raises
    ------
    RequestError
        If an engine was named that cannot run here, or none can.
    """
    present, absent = available_engines(study, engines)
    if absent and (chosen not in GENERAL or not present):
        raise RequestError(f"{study.name} cannot run on this machine with {unavailable_reason(study, absent)}")
    if absent:
        reason = unavailable_reason(study, absent)
        print(f"{study.name}: skipped, not available on this machine: {reason}", file=sys.stderr)
    return present


def unavailable_reason(study: Study, engines: Sequence[str]) -> str:
    """List engines that are not available on this machine, each with the reason."""

    def reason(name: str) -> str:
        engine = study.design.engine(name)
        if engine.lane is not None:
            return str(engine.lane.problem())
        if engine.needs:
            return f"the stack `{engine.needs}` is not in this build; see `quiclab stack list`"
        return f"not a stack of this build; see `quiclab stack list`; for stacks of settings: `{SIM}`"

    return ", ".join(f"`{name}` ({reason(name)})" for name in engines)


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


def show_parts(name: str, schema: str, parts: list[Study], out: Path, action: Callable[[Evaluation], Shown]) -> None:
    """Show results of a study or of its parts, then report missing runs.

    JSON is one document at most: that of the only study, or one that contains those of all studies.
    """
    documents: list[dict[str, Any]] = []
    shown: dict[str, Kept] = {}

    def show_part(study: Study) -> None:
        kept, document = action(Evaluation(study, out))
        documents.extend([] if document is None else [document])
        shown[study.name] = kept

    try:
        for_each(parts, show_part)
    finally:
        if documents:
            whole = {"schema": schema, "study": name.rstrip("/"), "parts": documents}
            print(to_json(whole if len(parts) > 1 else documents[0]))
    say_builds(shown.values(), name)
    for_each([study for study in parts if study.name in shown], lambda study: _report_missing(shown[study.name]))


def say_builds(shown: Iterable[Kept], name: str) -> None:
    """Print a note if other builds made some of the runs."""
    if note := note_on_builds({build for kept in shown for build in kept.builds}, name):
        print(f"note: {note}", file=sys.stderr)


def _report_missing(kept: Kept) -> None:
    """Report the missing runs of the published settings.

    Raises
    ------
    QuiclabError
        If there are any.
    """
    evaluation = kept.evaluation
    study = evaluation.study
    for name, missing in kept.missing.items():
        if missing:
            options = f" --runs {evaluation.runs}" + (
                "" if name == study.design.default_engine else f" --engines {name}"
            )
            failed = sum(item.runs for item in evaluation.failed(name).values())
            why = f", of which {failed} failed" if failed else ""
            raise QuiclabError(
                f"{missing} runs with {name} are missing{why}; run {sweep_command(study, evaluation.out, options)}"
            )
