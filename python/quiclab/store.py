"""Runs on disk that survive kills: shards, each of which is written atomically.

A directory has one writer at a time. It holds `lock` and `shards/NNNNNN.parquet` (what has been run, in the order it
finished); what is made from them lies next to them. A killed writer leaves whole shards only.
"""

from __future__ import annotations

import fcntl
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from quiclab.errors import QuiclabError, RequestError
from quiclab.files import write_parquet
from quiclab.libraries import pl

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

FLUSH_S: Final = 5.0
FLUSH_RUNS: Final = 20_000
IDENTITY: Final = "identity"
SHARD_NAMES = "[0-9]" * 6 + ".parquet"  # not files of a user, such as a copy


class Store:
    """The shards of one results directory.

    Parameters
    ----------
    directory
        Where they are; made when something is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.shards = directory / "shards"
        self._held = False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory for one writer; the operating system frees the lock when a process dies.

        Where this object holds it already, nothing more is done.

        Raises
        ------
        RequestError
            If the directory cannot be written to, or another process holds it.
        """
        if self._held:
            yield
            return
        try:
            self.shards.mkdir(parents=True, exist_ok=True)
            lock = (self.directory / "lock").open("a")
        except OSError as error:
            raise RequestError(f"cannot write results to {self.directory}: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RequestError(f"another sweep is running in {self.directory}; wait for it to end") from error
            for leftover in self.shards.glob(".*.tmp"):
                leftover.unlink(missing_ok=True)
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def append(self, rows: Sequence[tuple[Any, ...]], schema: Mapping[str, Any]) -> None:
        """Add finished runs as one shard.

        Parameters
        ----------
        rows
            One tuple a run.
        schema
            Their columns, in the same order; `IDENTITY` is one of them.
        """
        if rows:
            numbers = [int(path.stem) for path in self.files()]
            frame = pl.DataFrame(rows, schema=dict(schema), orient="row")
            write_parquet(self.shards / f"{max(numbers, default=0) + 1:06}.parquet", frame)

    def identities(self, columns: Collection[str] = ()) -> set[str]:
        """Return the identity of every run that is stored, in a shard that has all these columns."""
        found: set[str] = set()
        for path in self.files():
            frame = self._read(path, [IDENTITY, *columns])
            if all(frame.schema[name] != pl.Null for name in columns):
                found.update(frame[IDENTITY])
        return found

    def files(self) -> list[Path]:
        """Return the shards, the oldest first."""
        return sorted(self.shards.glob(SHARD_NAMES))

    def rows(self, columns: Mapping[str, pl.DataType | type[pl.DataType]]) -> Iterator[pl.DataFrame]:
        """List the stored runs shard by shard, with these columns; what a shard does not have is null there."""
        for path in self.files():
            yield self._read(path, list(columns)).select(pl.col(name).cast(kind) for name, kind in columns.items())

    @staticmethod
    def _read(path: Path, columns: list[str]) -> pl.DataFrame:
        """Read some columns of a shard; those that it does not have are null.

        Raises
        ------
        QuiclabError
            If it cannot be read.
        """
        try:
            there = pl.read_parquet_schema(path)
            frame = pl.read_parquet(path, columns=[name for name in columns if name in there])
        except (OSError, pl.exceptions.PolarsError) as error:
            raise QuiclabError(f"cannot read {path}: {error}; delete it to repeat its runs") from error
        return frame.with_columns(pl.lit(None).alias(name) for name in columns if name not in there)


class Flusher:
    """Collects finished runs and writes them as shards.

    Parameters
    ----------
    store
        Where.
    schema
        Columns of a run.
    runs, seconds
        A shard is written after this number of runs or this time.
    on_flush
        Called after each shard is on the disk.
    """

    def __init__(
        self,
        store: Store,
        schema: Mapping[str, Any],
        runs: int = FLUSH_RUNS,
        seconds: float = FLUSH_S,
        on_flush: Callable[[], None] | None = None,
    ) -> None:
        self.store, self.schema, self.runs, self.seconds, self.on_flush = store, schema, runs, seconds, on_flush
        self.rows: list[tuple[Any, ...]] = []
        self.last = time.monotonic()

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a run."""
        self.rows.append(row)
        if len(self.rows) >= self.runs:
            self.flush()

    def flush_if_due(self) -> None:
        """Write results that have waited long enough, even if no further run ends."""
        if time.monotonic() - self.last >= self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write what is collected."""
        self.last = time.monotonic()
        if self.rows:
            self.store.append(self.rows, self.schema)
            # only now: a disk that was full for a moment must not lose them
            self.rows = []
            if self.on_flush is not None:
                self.on_flush()
