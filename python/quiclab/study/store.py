"""Results on disk that survive kills: shards, each of which is written atomically.

A directory has one writer at a time. It holds `lock`, `shards/NNNNNN.parquet` (what has been run, in the order it
finished), and the tables made from them. Files are written atomically, so that the files of a killed sweep can
be read.
"""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from quiclab.errors import QuiclabError, RequestError
from quiclab.files import write_parquet
from quiclab.libraries import pl

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

SHARD_COLUMNS = ("identity", "result", "series")
Row: TypeAlias = "tuple[str, str, bytes | None]"
"""Identity and result of a run, and the time series that are kept of it."""
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
        """Hold the directory for one sweep; the operating system frees the lock when a process dies.

        Where this object holds it already, nothing more is done.

        Raises
        ------
        RequestError
            If the directory cannot be written to, or another sweep holds it.
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

    def append(self, rows: list[Row]) -> None:
        """Add finished runs as one shard.

        Parameters
        ----------
        rows
            Identity and result JSON of each run, and the time series that are kept of it.
        """
        if rows:
            numbers = [int(path.stem) for path in self._files()]
            path = self.shards / f"{max(numbers, default=0) + 1:06}.parquet"
            write_parquet(path, pl.DataFrame(rows, schema=_shard_schema(), orient="row"))

    def identities(self) -> set[str]:
        """Return the identity of every run that is stored."""
        return {identity for path in self._files() for identity in self._read(path, ["identity"])["identity"]}

    def results(self, identities: Collection[str]) -> dict[str, tuple[str, bytes | None]]:
        """Return result JSON and kept time series of the requested runs that are stored."""
        found: dict[str, tuple[str, bytes | None]] = {}
        for path in self._files():
            rows = self._read(path, list(SHARD_COLUMNS)).filter(pl.col("identity").is_in(list(identities)))
            found.update((identity, (result, series)) for identity, result, series in rows.iter_rows())
        return found

    def _files(self) -> list[Path]:
        return sorted(self.shards.glob(SHARD_NAMES))

    @staticmethod
    def _read(path: Path, columns: list[str]) -> pl.DataFrame:
        try:
            there = pl.read_parquet_schema(path)
            frame = pl.read_parquet(path, columns=[name for name in columns if name in there])
        except (OSError, pl.exceptions.PolarsError) as error:
            raise QuiclabError(f"cannot read {path}: {error}; delete it to repeat its runs") from error
        # shards of before series were kept have no such column
        schema = _shard_schema()
        return frame.with_columns(pl.lit(None, schema[name]).alias(name) for name in columns if name not in there)


def _shard_schema() -> dict[str, type[pl.DataType]]:
    return dict(zip(SHARD_COLUMNS, (pl.String, pl.String, pl.Binary), strict=True))
