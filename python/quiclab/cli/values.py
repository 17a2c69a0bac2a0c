"""Options that several commands have, and readers of values on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from quiclab import quantity
from quiclab.errors import RequestError

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value, such as bearers.dc.batch_packets=200."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]


def integer(least: int, most: int) -> Callable[[object], int]:
    """Return a reader of integers whose error names the value and what is allowed.

    Parameters
    ----------
    least, most
        What is allowed.
    """

    def read(text: object) -> int:
        try:
            value = int(str(text))
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise typer.BadParameter(f"`{text}` is not an integer from {least} to {most}")
        return value

    return read


def key_and_value(option: str, text: str, form: str, example: str) -> tuple[str, str]:
    """Divide the text of an option at its first `=`.

    Parameters
    ----------
    option, text
        The option and what is given to it.
    form, example
        What an error says that it needs.

    Raises
    ------
    RequestError
        If there is no `=`, or nothing before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise RequestError(f"{option} {text} needs the form {form}, such as {example}")
    return key, value


def parse_sets(sets: list[str] | None) -> list[tuple[str, str]]:
    """Divide what is given to `--set` into paths and values."""
    return [key_and_value("--set", text, "path=value", "bearers.dc.batch_packets=200") for text in sets or ()]


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
        If there is something at `path` and `force` does not allow to replace it, or it is a directory.
    """
    try:
        directory, there = path.is_dir(), path.exists() or path.is_symlink()
    except OSError as error:  # a directory that may not be read, a name that is too long
        raise RequestError(f"cannot write {path}: {error.strerror}") from error
    if directory:
        raise RequestError(f"cannot write {path}: it is a directory")
    if there and not force:
        raise RequestError(f"{path} is there already; --force overwrites it")
