"""Lines of a text file that may hold anything: bounded in length, each with its number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quiclab.errors import RequestError, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Bytes of a line; the longest of the data set have 250.
MAX_LINE_BYTES: Final = 4096
SHOWN: Final = 60


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, stripped, with their numbers from 1.

    At most one line is in memory.

    Raises
    ------
    RequestError
        If the file cannot be read, is not a file, or is not text; the message names the line.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise RequestError(f"cannot read {path}: not a regular file")
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                text = _text(line, f"{path}, line {number}")
                text = (text.removeprefix("\ufeff") if number == 1 else text).strip()
                if text:
                    yield number, text
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise RequestError(f"cannot read {path}: {error}") from error


def shortened(text: str) -> str:
    """Return the beginning of a text from a file."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _text(line: bytes, place: str) -> str:
    if b"\0" in line:
        raise unexpected("", "text", got="a binary file (a byte of value 0)", where=place)
    if len(line) > MAX_LINE_BYTES:
        raise unexpected("", f"at most {MAX_LINE_BYTES} bytes per line", got="more", where=place)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise unexpected("", "UTF-8 text", got="a binary file", where=place) from error
