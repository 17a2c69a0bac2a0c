"""Reports of studies: written when their results or the code have changed, and kept otherwise."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quiclab.report.study_page import write_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from quiclab.study import Study
    from quiclab.study.evaluate import Evaluation, Kept


@dataclass(frozen=True)
class Report:
    """A written report, with its data for an overview.

    Attributes
    ----------
    path
        Where the page is.
    kept
        The runs that it was made from.
    thumbnail
        The first figure in the size of a card as SVG; empty if there is none.
    claims
        The claims as `verify --json` prints them, each with the word of its verdict.
    fidelity
        The fidelity of each series, with its name.
    """

    path: Path
    kept: Kept
    thumbnail: str
    claims: Sequence[Mapping[str, Any]]
    fidelity: Sequence[Mapping[str, Any]]

    @property
    def study(self) -> Study:
        """Subject of the report."""
        return self.kept.evaluation.study

    @property
    def missing(self) -> int:
        """Runs of the published settings that have not been made."""
        return sum(self.kept.missing.values())


def write_report(evaluation: Evaluation, engine: str) -> Report:
    """Write the page of a study, unless it is there and its inputs are as they were.

    Raises
    ------
    QuiclabError
        If there are no runs with the engine.
    """
    directory = evaluation.directory

    def write() -> dict[str, Any]:
        written = write_page(evaluation, engine, files_of_last(evaluation, engine))
        return {**written, "times": _times(directory, written["files"])}

    kept = evaluation.kept("report", [engine], write, lambda was: _times(directory, was["files"]) == was["times"])
    found = kept.document
    return Report(directory / found["files"][0], kept, found["thumbnail"], found["claims"], found["fidelity"])


def files_of_last(evaluation: Evaluation, engine: str) -> list[str]:
    """Name the files of the last report, whatever its version, as far as they are as it has left them."""
    try:
        last = json.loads(evaluation.file_of("report", [engine]).read_text(encoding="utf-8"))["document"]["document"]
        pairs = zip(last["files"], last["times"], strict=True)
        return [str(name) for name, time in pairs if _times(evaluation.directory, [name]) == [time]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _times(directory: Path, names: Sequence[str]) -> list[int]:
    """Return when files were changed; 0 for those that are not there."""
    return [(directory / name).stat().st_mtime_ns if (directory / name).is_file() else 0 for name in names]
