"""Options that several commands share, and parsers of values on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from quiclab import quantity
from quiclab.errors import RequestError, shown, unexpected

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value, such as bearers.dc.batch_packets=200."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


def integer(minimum: int, maximum: int) -> Callable[[object], int]:
    """Return a parser of integers whose error names the value and the limits.

    Parameters
    ----------
    minimum, maximum
        The limits, inclusive.
    """

    def read(text: object) -> int:
        try:
            value = int(str(text))
        except ValueError:
            raise typer.BadParameter(
                f"expected a whole number from {minimum} to {maximum}, got {shown(text)}"
            ) from None
        if not minimum <= value <= maximum:
            raise typer.BadParameter(f"expected a whole number from {minimum} to {maximum}, got {value}")
        return value

    return read


def key_and_value(option: str, text: str, form: str, example: str) -> tuple[str, str]:
    """Split the value of an option at its first `=`.

    Parameters
    ----------
    option, text
        The option and its value.
    form, example
        The expected form, for error messages.

    Raises
    ------
    RequestError
        If `=` is missing, or nothing precedes it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise unexpected(option, f"{form}, such as {example}", text)
    return key, value


def parse_sets(sets: list[str] | None) -> list[tuple[str, str]]:
    """Split the values of `--set` into paths and values."""
    return [key_and_value("--set", text, "PATH=VALUE", "bearers.dc.batch_packets=200") for text in sets or ()]


def bytes_of(option: str, text: str) -> int:
    """Read the size of an option [B]."""
    return _amount(option, text, quantity.byte_count)


def bits_per_second(option: str, text: str) -> int:
    """Read the rate of an option [bit/s]."""
    return _amount(option, text, quantity.bits_per_second)


def nanoseconds(option: str, text: str) -> int:
    """Read the time of an option [ns]."""
    return _amount(option, text, quantity.nanoseconds)


def _amount(option: str, text: str, reader: Callable[[str], int]) -> int:
    try:
        return reader(text)
    except ValueError as error:
        raise RequestError(f"{option}: {error}") from error


def check_new(path: Path, force: bool) -> None:
    """Check that nothing is overwritten.

    Raises
    ------
    RequestError
        If `path` exists and `force` is not set, or `path` is a directory.
    """
    try:
        directory, there = path.is_dir(), path.exists() or path.is_symlink()
    except OSError as error:  # a directory that may not be read, a name that is too long
        raise RequestError(f"cannot write {path}: {error.strerror}") from error
    if directory:
        raise RequestError(f"cannot write {path}: it is a directory")
    if there and not force:
        raise RequestError(f"{path} already exists; --force overwrites it")
