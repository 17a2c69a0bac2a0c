"""Results directories below a folder: what they hold, and what of it nothing can use any more.

What goes are runs of other versions of quiclab or of the stacks, documents that are made again when they are asked for,
and files of writers that were killed. Tables, figures and anything that a user made stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final

from quiclab._base.files import write_parquet
from quiclab._base.libraries import pl
from quiclab._base.unfinished import abandoned_files
from quiclab.errors import RequestError
from quiclab.experiment.identity import BUILD, RESULTS, VERSIONS, version_now
from quiclab.experiment.kept import FILES
from quiclab.experiment.store import IDENTITY, SHARD_NAMES, Store
from quiclab.result import TABLES
from quiclab.study.derived import FOLDER
from quiclab.study.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENGINE: Final = "results"


@dataclass(frozen=True)
class Holding:
    """What a results directory holds.

    Attributes
    ----------
    directory
        The directory.
    kind
        `study` or `sweep`.
    runs, others
        Number of stored runs, and of those of other versions, which nothing uses.
    size
        Size of all its files [B].
    builds
        Builds of quiclab that made runs.
    written
        When a run was last added.
    """

    directory: Path
    kind: str
    runs: int
    others: int
    size: int
    builds: tuple[str, ...]
    written: datetime


def stores_below(folder: Path) -> list[Store]:
    """Return the results directories in a folder and below it, sorted.

    Raises
    ------
    RequestError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise RequestError(f"{folder} is not a directory")
    found = {path.parent.parent for path in folder.rglob(f"shards/{SHARD_NAMES}")}
    return [Store(directory) for directory in sorted(found)]


def holding(store: Store) -> Holding:
    """Return what a results directory holds."""
    runs = others = 0
    builds: set[str] = set()
    for part in store.rows({VERSIONS: pl.String, BUILD: pl.String}):
        runs += len(part)
        others += int((~_current(part)).sum())
        builds.update(part[BUILD].drop_nulls().unique())
    files = [path for path in store.directory.rglob("*") if path.is_file()]
    written = max((_status(path)[1] for path in store.files()), default=0.0)
    kind = "study" if (store.directory / MANIFEST).exists() else "sweep"
    size = sum(_status(path)[0] for path in files)
    when = datetime.fromtimestamp(written, UTC)
    return Holding(store.directory, kind, runs, others, size, tuple(sorted(builds)), when)


def _current(part: pl.DataFrame) -> pl.Series:
    """Return for each stored run whether it has the versions that runs have now."""
    kept = [versions for versions in part[VERSIONS].unique() if is_current(versions)]
    return part[VERSIONS].is_in(kept).fill_null(value=False)


@cache
def is_current(versions: str | None) -> bool:
    """Return whether runs with these versions can be asked for.

    Parameters
    ----------
    versions
        As of `identity.setting_of`; `None` for runs that were stored before versions were. Runs of the kernel lane
        are kept: their programs may be those of another machine. So are runs of stacks that this process does not
        know: a script may register them, or their package is not installed here.
    """
    if versions is None:
        return False
    engine, *parts = versions.split(", ")
    name, _, number = engine.partition(" ")
    if name != _ENGINE:
        return True
    pairs = (part.rpartition(" ") for part in parts)
    return number == str(RESULTS) and all(version_now(name) in (None, version) for name, _, version in pairs)


@dataclass(frozen=True)
class Waste:
    """What can go of a results directory.

    Attributes
    ----------
    store
        The directory.
    runs
        Number of runs of other versions.
    files
        Files that are made again, or that a killed writer left.
    size
        What it takes on the disk, nearly [B].
    """

    store: Store
    runs: int
    files: tuple[Path, ...]
    size: int


def waste(store: Store) -> Waste:
    """Return what can go of a results directory."""
    runs, size = 0, 0.0
    for path, keep in _shards(store):
        gone = len(keep) - int(keep.sum())
        runs += gone
        size += _status(path)[0] * gone / max(1, len(keep))
    left = (path for folder in (store.shards, store.directory) for path in abandoned_files(folder))
    files = (*left, *(store.directory / FOLDER).glob("*.json"), *_tables_without_run(store))
    return Waste(store, runs, files, round(size) + sum(_status(path)[0] for path in files))


def _tables_without_run(store: Store) -> Iterator[Path]:
    """List the tables of single runs (`quiclab sweep --keep`) whose run is not stored, or is of another version."""
    folders = [folder for name in TABLES if (folder := store.directory / name).is_dir()]
    if not folders:
        return
    names: set[str] = set()
    for _, part in store.parts([IDENTITY, VERSIONS]):
        names.update(part.filter(_current(part))[IDENTITY])
    for folder in folders:
        yield from (path for path in sorted(folder.glob(FILES)) if path.stem not in names)
        yield from abandoned_files(folder)


def remove(found: Waste) -> int:
    """Remove what can go of a results directory; returns what that has freed [B].

    Raises
    ------
    RequestError
        If another process writes there.
    """
    store = found.store
    with store.locked(compact=False):  # the disk may be full
        freed = 0
        for path in waste(store).files:  # what a sweep has written since counts
            if path.exists():
                freed += path.stat().st_size
                path.unlink()
        for path, keep in sorted(_shards(store), key=lambda shard: bool(shard[1].any())):  # whole ones first
            before = path.stat().st_size
            if not keep.any():
                path.unlink()
                freed += before
            elif not keep.all():
                write_parquet(path, store.read(path).filter(keep))
                freed += before - path.stat().st_size
    return freed


def _shards(store: Store) -> Iterator[tuple[Path, pl.Series]]:
    """List the shards, and which of their runs are of the versions that runs have now."""
    for path, part in store.parts([VERSIONS]):
        yield path, _current(part)


def _status(path: Path) -> tuple[int, float]:
    """Return size [B] and time of change of a file; zeros where a running sweep has removed it meanwhile."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0.0
    return status.st_size, status.st_mtime
