"""Runs on disk that survive kills: shards, each of which is written atomically.

A directory has one writer at a time. It holds `lock` and `shards/NNNNNN.parquet` (what has been run, in the order it
finished); what is made from them lies next to them. A killed writer leaves whole shards only.

Many small shards become one: the last of them is replaced by all their rows, then the others are deleted. A writer that
is killed in between leaves rows twice, which readers tolerate: the newest row of an identity counts. A reader that
misses a deleted shard finds its rows in a later one.
"""

from __future__ import annotations

import fcntl
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from quiclab._base.files import reported, write_parquet
from quiclab._base.libraries import pl
from quiclab._base.unfinished import remove_abandoned
from quiclab.errors import QuiclabError, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FLUSH_S: Final = 5.0
FLUSH_RUNS: Final = 20_000
IDENTITY: Final = "identity"
#: The directory of the shards: what has one is a results directory.
SHARDS: Final = "shards"
SHARD_NAMES = "[0-9]" * 6 + ".parquet"  # not files of a user, such as a copy
#: Number of small shards in a row that become one.
MANY: Final = 64
#: A shard of this size is not small [byte], nor is one with this number of runs: readers take one at a time.
LARGE_BYTES: Final = 32 * 2**20
LARGE_RUNS: Final = 250_000


class Store:
    """The shards of one results directory.

    Parameters
    ----------
    directory
        Where they are; made when something is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.shards = directory / SHARDS
        self._held = False

    @contextmanager
    def locked(self, *, compact: bool = True) -> Iterator[None]:
        """Hold the directory for one writer; the operating system frees the lock when a process dies.

        Where this object holds it already, nothing more is done.

        Parameters
        ----------
        compact
            Join small shards first, which takes space on the disk.

        Raises
        ------
        RequestError
            If the directory cannot be written to, or another process holds it.
        """
        if self._held:
            yield
            return
        with reported(f"cannot write results to {self.directory}"):
            self.shards.mkdir(parents=True, exist_ok=True)
            lock = (self.directory / "lock").open("a")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RequestError(f"another sweep is running in {self.directory}; wait for it to end") from error
            except OSError as error:
                raise RequestError(f"cannot lock {self.directory}: {error.strerror}") from error
            remove_abandoned(self.shards)
            self._held = True
            try:
                if compact:
                    self.compact()
                yield
            finally:
                self._held = False

    def append_frame(self, frame: pl.DataFrame) -> None:
        """Add finished runs as one shard; nothing if there are none."""
        if len(frame):
            files = self.files()
            number = int(files[-1].stem) + 1 if files else 1
            write_parquet(self.shards / f"{number:06}.parquet", frame)
            if len(files) + 1 >= MANY:
                self.compact()

    def compact(self) -> None:
        """Join small shards if there are many; the caller holds the directory."""
        sizes = {path: (path.stat().st_size, self._runs_of(path)) for path in self.files()}
        small = [path for path, (size, runs) in sizes.items() if size < LARGE_BYTES / 2 and runs < LARGE_RUNS / 2]
        if len(small) < MANY:
            return
        group: list[Path] = []
        total, count = 0, 0
        for path, (size, runs) in sizes.items():
            if path not in small or total + size > LARGE_BYTES or count + runs > LARGE_RUNS:
                self._join(group)
                group, total, count = [], 0, 0
            if path in small:
                group.append(path)
                total, count = total + size, count + runs
        self._join(group)

    def _join(self, group: list[Path]) -> None:
        """Replace the last of some shards by all their rows, and delete the others."""
        if len(group) > 1:
            parts = [self.read(path) for path in group]
            write_parquet(group[-1], pl.concat(parts, how="diagonal_relaxed"))
            for path in group[:-1]:
                path.unlink()

    def identities(self) -> set[str]:
        """Return the identity of every run that is stored."""
        found: set[str] = set()
        for _, frame in self.parts([IDENTITY]):
            found.update(frame[IDENTITY].drop_nulls())
        return found

    def files(self) -> list[Path]:
        """Return the shards, the oldest first."""
        return sorted(self.shards.glob(SHARD_NAMES))

    def rows(self, columns: Mapping[str, pl.DataType | type[pl.DataType]]) -> Iterator[pl.DataFrame]:
        """List the stored runs shard by shard, with these columns; what a shard does not have is null there.

        Raises
        ------
        QuiclabError
            If a shard cannot be read, or has other values in a column.
        """
        for path, frame in self.parts(list(columns)):
            with _readable(path):
                part = frame.select(pl.col(name).cast(kind) for name, kind in columns.items())
            yield part

    def parts(self, columns: list[str]) -> Iterator[tuple[Path, pl.DataFrame]]:
        """Read some columns shard by shard, each with its file; another process may join shards meanwhile."""
        waiting = self.files()
        while waiting:
            path = waiting.pop(0)
            try:
                frame = self.read(path, columns)
            except FileNotFoundError:
                waiting = [other for other in self.files() if other.name > path.name]
            else:
                yield path, frame

    @classmethod
    def read(cls, path: Path, columns: list[str] | None = None) -> pl.DataFrame:
        """Read columns of a shard, all by default; those that it does not have are null.

        Raises
        ------
        FileNotFoundError
            If it is gone.
        QuiclabError
            If it cannot be read.
        """
        with _readable(path):
            with path.open("rb") as file:
                there = pl.read_parquet_schema(file)
            wanted = list(there) if columns is None else columns
            frame = pl.read_parquet(path, columns=[name for name in wanted if name in there], glob=False)
        return frame.with_columns(pl.lit(None).alias(name) for name in wanted if name not in there)

    @staticmethod
    def _runs_of(path: Path) -> int:
        """Return the number of runs of a shard, without reading them."""
        with _readable(path):
            return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Name a shard that cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise QuiclabError(f"cannot read {path}: {reason}; delete it to repeat its runs") from error


def not_stored(error: RequestError) -> QuiclabError:
    """Return the error about runs that cannot be written, for instance because the disk is full."""
    return QuiclabError(f"{error}; the runs stored before are kept: repeat the command to continue")


class Flusher:
    """Collects finished runs and writes them as shards: every few seconds, or when they are many or large.

    Parameters
    ----------
    store
        Where.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.frames: list[pl.DataFrame] = []
        self.last = time.monotonic()

    def add(self, frame: pl.DataFrame) -> None:
        """Add runs, whose columns are always the same."""
        self.frames.append(frame)
        if sum(map(len, self.frames)) >= FLUSH_RUNS or sum(one.estimated_size() for one in self.frames) >= LARGE_BYTES:
            self.flush()

    def flush_if_due(self) -> None:
        """Write results that have waited long enough, even if no further run ends."""
        if time.monotonic() - self.last >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Write what is collected.

        Raises
        ------
        QuiclabError
            If it cannot be written, for instance because the disk is full.
        """
        self.last = time.monotonic()
        if self.frames:
            try:
                self.store.append_frame(pl.concat(self.frames))
            except RequestError as error:
                raise not_stored(error) from error
            # only now: a disk that was full for a moment must not lose them
            self.frames = []
