"""Recordings of a run on the disk: all files of a run, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quiclab._base.files import GZIP, is_compressed, reported, unpack
from quiclab._base.unfinished import unfinished_folder

#: Ends of a flow, as scenarios and the files of a run name them.
ENDS: Final = ("sender", "receiver")
#: The file that says that a directory has the result of a run.
RESULT_FILE: Final = "result.json"
#: Endings of qlog files, and of all recordings by the field of `record` that requests them.
QLOG: Final = ".sqlog"
RECORDINGS: Final = {"qlog": (QLOG, QLOG + GZIP), "pcapng": (".pcapng",)}
#: Endings of all files in the directory of a run that cannot be made again from the others: also tables and key logs.
KEPT: Final = (*(ending for endings in RECORDINGS.values() for ending in endings), ".parquet", ".keys")


@contextmanager
def recordings(record_dir: str | Path | None) -> Iterator[str | None]:
    """Give a temporary directory inside `record_dir`; its files move up when all is written."""
    if record_dir is None:
        yield None
        return
    with reported(f"cannot write to {record_dir}"), unfinished_folder(Path(record_dir)) as temporary:
        yield str(temporary)
        for file in sorted(temporary.iterdir()):
            file.replace(Path(record_dir) / file.name)


def recorded_in(folder: Path) -> list[Path]:
    """Return the result and the recordings that the directory of a run has.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    return sorted(file for file in folder.iterdir() if file.name == RESULT_FILE or file.name.endswith(KEPT))


def qlog_of(folder: Path, flow: str, end: str) -> Path | None:
    """Return the qlog file of an end of a flow in the directory of a run, compressed or not, if there is one."""
    for ending in RECORDINGS["qlog"]:
        path = folder / f"{flow}.{end}{ending}"
        if path.is_file():
            return path
    return None


@contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    """Give a file as it is, or if it is compressed with gzip a temporary file with its content.

    Raises
    ------
    OSError
        If it cannot be read.
    RequestError
        If its gzip data are damaged.
    """
    if not is_compressed(path):
        yield path
        return
    with TemporaryDirectory(prefix="quiclab-gzip-") as folder:
        plain = Path(folder) / path.name.removesuffix(GZIP)
        unpack(path, plain)
        yield plain
