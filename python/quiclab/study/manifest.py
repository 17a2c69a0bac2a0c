"""The file next to stored runs that records what a sweep planned: number of runs, variants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quiclab.errors import QuiclabError
from quiclab.files import write_atomically
from quiclab.study import Study

MANIFEST = "sweep.json"


@dataclass(frozen=True)
class Manifest:
    """Planned contents of a results directory.

    Attributes
    ----------
    runs
        Runs of each setting.
    partial
        Whether only partial sweeps (`--only`) were made, so that no full one has fixed the number.
    variants
        Requested variants; `None` if not recorded.
    """

    runs: int
    partial: bool
    variants: tuple[str, ...] | None = None


def read_manifest(directory: Path) -> Manifest | None:
    """Read the manifest of a results directory; `None` if there is none.

    Raises
    ------
    QuiclabError
        If there is something else in its place.
    """
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        runs = content["runs"]
        if not isinstance(runs, int) or runs < 1:
            raise ValueError
        variants = content.get("variants")
        noted = None if variants is None else tuple(str(name) for name in variants)
        return Manifest(runs, bool(content.get("partial", False)), noted)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuiclabError(f"{path} is not the list of a sweep; delete it and run the study again") from error


def write_manifest(
    study: Study, directory: Path, runs: int, partial: bool, variants: Sequence[str] | None = None
) -> int:
    """Record the planned number of runs of each setting, next to the shards; returns the effective number.

    Variants add up: those of earlier sweeps stay.

    A partial sweep (`--only`) changes no number that a full one has fixed: it must not make a complete study
    incomplete. Nothing lowers a number, which would hide runs that are done, but the first full sweep after partial
    ones.
    """
    before = read_manifest(directory)
    if before is not None:
        fixed = partial and not before.partial
        first_full = before.partial and not partial
        if before.variants is None or variants is None:
            variants = None
        else:
            variants = [*before.variants, *(name for name in variants if name not in before.variants)]
        if fixed or (before.runs >= runs and not first_full):
            if variants is None or len(variants) == len(before.variants or ()):
                return before.runs
            runs, partial = before.runs, before.partial
    content = {
        "schema": "quiclab.sweep/1",
        "study": study.name,
        "runs": runs,
        "seed": study.design.seed,
        "partial": partial,
    }
    if variants is not None:
        content["variants"] = list(variants)
    write_atomically(directory / MANIFEST, (json.dumps(content, indent=2) + "\n").encode())
    return runs
