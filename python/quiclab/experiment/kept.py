"""Tables of single runs that are kept: one Parquet file for each run and table, named after the run's identity.

They lie beside the stored runs, in a folder for each table. A run whose file is gone counts as not stored.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from quiclab._base.files import parquet_bytes, reported, write_atomically
from quiclab._base.libraries import np, pl
from quiclab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quiclab.experiment.runs import Runs
    from quiclab.result import RunResult

#: Names of the files in the folder of a table.
FILES: Final = "[0-9a-f]" * 32 + ".parquet"
_FILE: Final = ".file"


def contents(result: RunResult, names: Sequence[str]) -> list[bytes]:
    """Return the tables of a run as Parquet files.

    Raises
    ------
    RequestError
        If a run of this scenario has no such table.
    """
    files = []
    for name in names:
        if not (frame := getattr(result, name)).columns:
            raise RequestError(f"--keep {name}: nothing in this scenario records {name}")
        files.append(parquet_bytes(frame))
    return files


def file_of(table: str, identity: str) -> str:
    """Return the path of a table of a run, relative to the results directory."""
    return f"{table}/{identity}.parquet"


def are_there(directory: Path, runs: Runs) -> np.ndarray:
    """Return for each run whether all its tables are on the disk."""
    there = np.ones(len(runs), dtype=bool)
    for table in runs.plan.recording.tables:
        found = _names(directory / table)
        there &= np.fromiter(
            (f"{identity}.parquet" in found for identity in runs.names(np.arange(len(runs)))), bool, len(runs)
        )
    return there


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()


def write(directory: Path, names: Sequence[str], identity: str, files: Sequence[bytes]) -> None:
    """Write the tables of a run.

    Raises
    ------
    RequestError
        If the directory cannot be written to.
    """
    for name, content in zip(names, files, strict=True):
        path = directory / file_of(name, identity)
        with reported(f"cannot write tables to {path.parent}"):
            path.parent.mkdir(exist_ok=True)
        write_atomically(path, content)


def copy(source: Path, directory: Path, names: Sequence[str], identities: Sequence[str]) -> None:
    """Copy the tables of some runs from another results directory.

    Raises
    ------
    RequestError
        If a table cannot be read, or the directory cannot be written to.
    """
    for identity in identities:
        try:
            files = [(source / file_of(name, identity)).read_bytes() for name in names]
        except OSError as error:
            raise RequestError(
                f"cannot read {error.filename}: {error.strerror}; repeat the shard to make it again"
            ) from error
        write(directory, names, identity, files)


def columns(names: Sequence[str], identities: Sequence[str]) -> list[pl.Series]:
    """Return the columns that the table of runs has of kept tables: their files, relative to the results directory."""
    return [pl.Series(name, [file_of(name, identity) for identity in identities], dtype=pl.String) for name in names]


def scan(directory: Path, table: str, runs: pl.DataFrame) -> pl.LazyFrame:
    """Return a table of all runs, lazily: the columns of the table of runs before the metrics, then those of the table.

    Parameters
    ----------
    directory
        The results directory.
    table
        Name of the table.
    runs
        The table of runs, with a column of that name.
    """
    place = runs.columns.index("finished")
    files = runs.select(*runs.columns[:place], pl.format("{}/{}", pl.lit(str(directory)), pl.col(table)).alias(_FILE))
    paths = files[_FILE].unique(maintain_order=True).to_list()
    tables = pl.scan_parquet(paths, include_file_paths=_FILE, glob=False)
    found = files.lazy().join(tables, on=_FILE, how="inner", maintain_order="left_right")
    return found.drop(_FILE)
