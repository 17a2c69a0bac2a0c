"""The measured table of a study on disk: nothing is resolved or measured again while its inputs are the same.

`runs.parquet` is the table, and `runs.key` the state of the study (`quiclab.study.derived`) that it was made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab._base.files import write_atomically, write_parquet
from quiclab._base.libraries import pl
from quiclab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLE, KEY = "runs.parquet", "runs.key"


def read_table(directory: Path, key: str) -> pl.DataFrame | None:
    """Return the stored table, if it was made from the same inputs."""
    return read_columns(directory, key, lambda _: True)


def read_columns(directory: Path, key: str, wanted: Callable[[str], bool]) -> pl.DataFrame | None:
    """Return some columns of the stored table, if it was made from the same inputs."""
    try:
        if (directory / KEY).read_text(encoding="ascii") != key:
            return None
        with (directory / TABLE).open("rb") as file:
            names = [name for name in pl.read_parquet_schema(file) if wanted(name)]
        return pl.read_parquet(directory / TABLE, columns=names, glob=False)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError):
        return None


def write_table(directory: Path, key: str, table: pl.DataFrame) -> None:
    """Store a table; a directory that cannot be written to stays as it is."""
    try:
        (directory / KEY).unlink(missing_ok=True)
        write_parquet(directory / TABLE, table)
        write_atomically(directory / KEY, key.encode())
    except (OSError, RequestError):
        return
