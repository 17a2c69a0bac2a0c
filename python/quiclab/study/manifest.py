"""The file next to stored runs that records what a sweep planned: number of runs, variants, settings with more runs."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from quiclab._base.files import write_atomically
from quiclab.errors import QuiclabError
from quiclab.study import BASE, Point, Study, Value

MANIFEST = "sweep.json"

Setting: TypeAlias = tuple[str, str, tuple[Value, ...]]
"""What is run for a point of a study: engine, configuration, and value of each swept factor; parts share it."""


class NotRunError(QuiclabError):
    """A study has no results: nothing failed, it was not run."""


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
    more
        Runs of the settings that have more than that, because undecided claims read them.
    seed
        Seed of the study; `None` if not recorded.
    """

    runs: int
    partial: bool
    variants: tuple[str, ...] | None = None
    more: Mapping[Setting, int] = field(default_factory=dict)
    seed: int | None = None


def as_stored(study: Study, directory: Path) -> Study:
    """Return a study with the seed of the runs that are stored for it, if that is not its own."""
    manifest = read_manifest(directory)
    if manifest is None or manifest.seed in (None, study.design.seed):
        return study
    return study.with_seed(manifest.seed)


def setting_of(study: Study, engine: str, key: Sequence[Value]) -> Setting:
    """Return a setting, from configuration and value of each factor."""
    values = zip(study.design.factors, key[1:], strict=True)
    return engine, str(key[0]), tuple(value for factor, value in values if factor.changes is not None)


def among(study: Study, points: Iterable[Point], settings: Container[Setting]) -> list[Point]:
    """Return the points of some settings."""
    return [point for point in points if setting_of(study, point.engine, point.key) in settings]


def with_more(study: Study, points: Iterable[Point], more: Mapping[Setting, int]) -> list[Point]:
    """Give the points whose settings have more runs than others their number; variants have none."""

    def runs(point: Point) -> int:
        further = more.get(setting_of(study, point.engine, point.key), 0) if point.variant == BASE else 0
        return max(point.runs, further)

    return [replace(point, runs=runs(point)) for point in points]


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
        more = {
            (str(item["engine"]), str(item["configuration"]), tuple(item["values"])): int(item["runs"])
            for item in content.get("more", [])
        }
        seed = content.get("seed")
        return Manifest(runs, bool(content.get("partial", False)), noted, more, None if seed is None else int(seed))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuiclabError(f"{path} is not the list of a sweep; delete it and run the study again") from error


def write_manifest(
    study: Study, directory: Path, runs: int, partial: bool, variants: Sequence[str] | None = None
) -> Manifest:
    """Record the planned number of runs of each setting, next to the shards; returns what holds.

    Variants add up: those of earlier sweeps stay, and so do settings with more runs.

    A partial sweep (`--only`) changes no number that a full one has fixed: it must not make a complete study
    incomplete. Nothing lowers a number, which would hide runs that are done, but the first full sweep after partial
    ones, and another seed, whose runs are others.
    """
    before = read_manifest(directory)
    if before is None or before.seed not in (None, study.design.seed):
        return _write(study, directory, Manifest(runs, partial, None if variants is None else tuple(variants)))
    if before.variants is None or variants is None:
        requested = None
    else:
        requested = (*before.variants, *(name for name in variants if name not in before.variants))
    fixed = partial and not before.partial
    first_full = before.partial and not partial
    if fixed or (before.runs >= runs and not first_full):
        if requested is None or len(requested) == len(before.variants or ()):
            return before
        runs, partial = before.runs, before.partial
    return _write(study, directory, Manifest(runs, partial, requested, before.more))


def write_more(study: Study, directory: Path, more: Mapping[Setting, int]) -> None:
    """Record settings with more runs than the others, in addition to those of earlier rounds.

    Raises
    ------
    QuiclabError
        If the study was not run.
    """
    before = read_manifest(directory)
    if before is None:
        raise NotRunError(f"no results of {study.name} in {directory}")
    grown = {setting: max(runs, before.more.get(setting, 0)) for setting, runs in more.items()}
    _write(study, directory, replace(before, more={**before.more, **grown}))


def _write(study: Study, directory: Path, manifest: Manifest) -> Manifest:
    content: dict[str, Any] = {
        "schema": "quiclab.sweep/1",
        "study": study.name,
        "runs": manifest.runs,
        "seed": study.design.seed,
        "partial": manifest.partial,
    }
    if manifest.variants is not None:
        content["variants"] = list(manifest.variants)
    if manifest.more:
        content["more"] = [
            {"engine": engine, "configuration": configuration, "values": list(values), "runs": runs}
            for (engine, configuration, values), runs in sorted(manifest.more.items(), key=lambda item: str(item[0]))
        ]
    write_atomically(directory / MANIFEST, (json.dumps(content, indent=2) + "\n").encode())
    return manifest
