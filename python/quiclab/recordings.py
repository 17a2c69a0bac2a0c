"""Recordings of a run on the disk: all files of a run, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quiclab.errors import RequestError


@contextmanager
def recordings(record_dir: str | Path | None) -> Iterator[str | None]:
    """Give a temporary directory inside `record_dir`; its files move up when all is written."""
    if record_dir is None:
        yield None
        return
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - few runs need one

    try:
        with TemporaryDirectory(prefix=".recording-", dir=record_dir) as temporary:
            yield temporary
            for file in sorted(Path(temporary).iterdir()):
                file.replace(Path(record_dir) / file.name)
    except OSError as error:
        raise RequestError(f"cannot write to {record_dir}: {error.strerror or error}") from error
