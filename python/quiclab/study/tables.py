"""The measured table of a study on disk: nothing is resolved or measured again while its inputs are the same.

`runs.parquet` is the table, and `runs.key` the hash of what it was made from: stored runs and manifest, the files of
studies and scenarios, quiclab and its build, and the engines that are available here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import quiclab
from quiclab.errors import RequestError
from quiclab.files import write_atomically, write_parquet
from quiclab.libraries import pl
from quiclab.native import build_id
from quiclab.store import Store
from quiclab.study.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from quiclab.study import Study

TABLE, KEY = "runs.parquet", "runs.key"


def key_of(study: Study, directory: Path, engines: Sequence[str]) -> str:
    """Return the hash of everything that the table of a study is made from.

    Parameters
    ----------
    study
        The study.
    directory
        Its results.
    engines
        Its engines that are available.
    """
    scenario = study.home / study.scenario
    package = Path(quiclab.__file__).parent
    lines = [study.name, build_id(), *engines]
    for folder, pattern in ((study.file.parent, "*.py"), (scenario.parent, "*"), (package, "*.py")):
        lines += _states(sorted(folder.rglob(pattern)))
    lines += _states([*Store(directory).files(), directory / MANIFEST])
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _states(files: Iterable[Path]) -> Iterator[str]:
    """List name, size and time of change of files, which change with their contents."""
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        yield f"{file} {status.st_size} {status.st_mtime_ns}"


def read_table(directory: Path, key: str) -> pl.DataFrame | None:
    """Return the stored table, if it was made from the same inputs."""
    return read_columns(directory, key, lambda _: True)


def read_columns(directory: Path, key: str, wanted: Callable[[str], bool]) -> pl.DataFrame | None:
    """Return some columns of the stored table, if it was made from the same inputs."""
    try:
        if (directory / KEY).read_text(encoding="ascii") != key:
            return None
        names = [name for name in pl.read_parquet_schema(directory / TABLE) if wanted(name)]
        return pl.read_parquet(directory / TABLE, columns=names)
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
