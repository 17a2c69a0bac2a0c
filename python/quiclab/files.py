"""Files: atomic writes, and hashes of contents."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

from quiclab.errors import RequestError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that after a kill or a power cut the old one or the new one is there, never a part.

    Raises
    ------
    RequestError
        If the directory cannot be written to.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):  # the reason may forbid this, too
            temporary.unlink(missing_ok=True)
        raise RequestError(f"cannot write {path}: {error.strerror}") from error


def read_text(path: Path) -> str:
    """Return the text of a scenario file.

    Raises
    ------
    RequestError
        If it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RequestError(f"cannot read the scenario {path}: {reason}") from error


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a table as a Parquet file; equal tables give equal bytes."""
    buffer = BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", compression_level=3, statistics=False)
    return buffer.getvalue()


def write_parquet(path: Path, frame: pl.DataFrame) -> None:
    """Write a table atomically; equal tables give equal bytes."""
    write_atomically(path, parquet_bytes(frame))


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Raises
    ------
    RequestError
        If it cannot be read.
    """
    try:
        status = path.stat()
        return _content_hash(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise RequestError(f"cannot read {path}, an input of a run: {error.strerror}") from error


def hash_of_folder(folder: Path) -> str:
    """Return a hash of all files of a folder and of those in it, but for compiled Python."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    lines = [f"{path.relative_to(folder)} {hash_of(path)}" for path in files]
    import hashlib  # noqa: PLC0415 - as below

    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@cache
def _content_hash(path: Path, changed_ns: int, size: int) -> str:
    """Hash a file once, although every run of a sweep uses it; changes are detected by time and size."""
    del changed_ns, size
    import hashlib  # noqa: PLC0415 - it loads OpenSSL, which most commands do not need

    return hashlib.sha256(path.read_bytes()).hexdigest()


def _sync_directory(directory: Path) -> None:
    """Make a rename durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
