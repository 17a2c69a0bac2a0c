"""Files: atomic writes, compression, and hashes of contents."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quiclab._base.unfinished import unfinished_file
from quiclab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

#: Ending of files that are compressed with gzip (RFC 1952), and their first bytes.
GZIP: Final = ".gz"
_MAGIC: Final = b"\x1f\x8b"
#: Level of compression: qlog becomes 6 % of its size in 9 ms for each MB; with level 9 5 % in 20 ms.
_LEVEL: Final = 4
#: Longest name of a file from a title, without its ending.
_LONGEST_NAME: Final = 80


@contextmanager
def reported(doing: str, hint: str = "") -> Iterator[None]:
    """Report an error of the system as one line: `cannot write FILE: No space left on device; hint`.

    Parameters
    ----------
    doing
        Beginning of the message, such as "cannot write FILE".
    hint
        Its end.

    Raises
    ------
    RequestError
        In place of the error.
    """
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror or error}; {hint}" if hint else error.strerror or error
        raise RequestError(f"{doing}: {reason}") from error


def cache_folder() -> Path:
    """Return the folder of quiclab in the user's cache; it need not exist (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # the specification requires relative paths to be ignored
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "quiclab"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that after a kill or a power cut the old one or the new one is there, never a part.

    Raises
    ------
    RequestError
        If the directory cannot be written to.
    """
    with reported(f"cannot write {path}"):
        with unfinished_file(path) as (temporary, file):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        _sync_directory(path.parent)


def compress_file(path: Path) -> Path:
    """Replace a file by the same one compressed with gzip; equal files give equal bytes. Returns the new file."""
    import gzip  # noqa: PLC0415 - few commands compress
    import shutil  # noqa: PLC0415 - as above

    target = path.with_name(path.name + GZIP)
    with reported(f"cannot write {target}"):
        with path.open("rb") as source, unfinished_file(target) as (temporary, file):
            with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                shutil.copyfileobj(source, packed, 1 << 20)
            file.flush()
            temporary.replace(target)
        path.unlink()
    return target


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed with gzip, by its first bytes.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def unpack(path: Path, target: Path) -> None:
    """Write the content of a file that is compressed with gzip to another one.

    Raises
    ------
    RequestError
        If its data are damaged, or the other file cannot be written.
    """
    import gzip  # noqa: PLC0415 - as above
    import shutil  # noqa: PLC0415 - as above
    import zlib  # noqa: PLC0415 - as above

    try:
        with gzip.open(path) as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RequestError(f"cannot read {path}: its gzip data are truncated or damaged: {error}") from error
    except OSError as error:
        raise RequestError(f"cannot unpack {path}: {error.strerror}") from error


def read_text(path: Path, what: str = "the scenario", hint: str = "") -> str:
    """Return the text of a file.

    Parameters
    ----------
    path
        The file.
    what
        Its kind, for the message.
    hint
        What helps where there is no such file.

    Raises
    ------
    RequestError
        If it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        more = f"; {hint}" if hint and isinstance(error, FileNotFoundError) else ""
        raise RequestError(f"cannot read {what} {path}: {reason}{more}") from error


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a table as a Parquet file; equal tables give equal bytes."""
    buffer = BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", compression_level=3, statistics=False)
    return buffer.getvalue()


def write_parquet(path: Path, frame: pl.DataFrame) -> None:
    """Write a table atomically; equal tables give equal bytes."""
    write_atomically(path, parquet_bytes(frame))


def file_names(titles: Sequence[str]) -> list[str]:
    """Return names of files that say what titles say, all different: `throughput_over_batch_size`."""
    found: list[str] = []
    for title in titles:
        words = re.findall(r"[a-z0-9]+", title.lower()) or ["untitled"]
        name = "_".join(words)[:_LONGEST_NAME].rstrip("_")
        same = sum(other == name or re.fullmatch(rf"{name}_[0-9]+", other) is not None for other in found)
        found.append(f"{name}_{same + 1}" if name in found else name)
    return found


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
