"""Options that several commands share, and parsers of values on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from quiclab.cli import completion
from quiclab.errors import RequestError, expected_got, shown, unexpected
from quiclab.scenario import quantity

_INTEGER = re.compile(r"-?[0-9]+")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")


@dataclass(frozen=True)
class KeyAndValue:
    """The form of an option whose value is split at its first `=`.

    Attributes
    ----------
    option
        The option.
    form, example
        The expected form, for error messages.
    """

    option: str
    form: str
    example: str

    def split(self, text: str) -> tuple[str, str]:
        """Split a value.

        Raises
        ------
        RequestError
            If `=` is missing, or nothing precedes it.
        """
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise unexpected(self.option, f"{self.form}, such as {self.example}", text)
        return key, value

    def checked(self, text: object) -> str:
        """Return a value that can be split.

        As the parser of the option it reports a space in place of `=`, before what follows is an argument too many.
        """
        self.split(str(text))
        return str(text)


SET = KeyAndValue("--set", "PATH=VALUE", "bearers.dc.batch_packets=200")
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        parser=SET.checked,
        metavar="PATH=VALUE",
        help=f"Change a value, such as {SET.example}.",
        autocompletion=completion.fields,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ExecutorOption = Annotated[str, typer.Option(metavar="processes|ray|ray://HOST:PORT", help="Where runs are made.")]


def integer(minimum: int, maximum: int) -> Callable[[object], int]:
    """Return a parser of integers whose error names the value and the limits.

    Parameters
    ----------
    minimum, maximum
        The limits, inclusive.
    """

    def read(text: object) -> int:
        written = str(text)
        try:
            value = int(written) if _INTEGER.fullmatch(written) else None
        except ValueError:  # too many digits
            value = None
        if value is None or not minimum <= value <= maximum:
            got = shown(text) if value is None else value
            raise typer.BadParameter(expected_got(f"a whole number from {minimum} to {maximum}", got))
        return value

    return read


JobsOption = Annotated[
    int | None, typer.Option(parser=integer(1, 1024), metavar="N", help="Worker processes (default: one per CPU).")
]


def parse_sets(sets: list[str] | None) -> list[tuple[str, str]]:
    """Split the values of `--set` into paths and values."""
    return [SET.split(text) for text in sets or ()]


def share_of(option: str, text: str) -> float:
    """Read the percentage of an option as a share.

    Raises
    ------
    RequestError
        If it is not a percentage above 0, at most 100.
    """
    found = _PERCENT.fullmatch(text.strip())
    if found is None or not 0 < float(found[1]) <= 100:
        raise unexpected(option, "a percentage above 0, at most 100, such as 2%", text)
    return float(found[1]) / 100


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
        raise RequestError(f"{option}: {error}", path=option, kind="OutOfRange", value=shown(text)) from error


@contextmanager
def options_for(*parameters: str) -> Iterator[None]:
    """Name an option where an error is about the parameter of a function: `--flow` for `flow`."""
    try:
        yield
    except RequestError as error:
        if error.path not in parameters:
            raise
        data = {name: getattr(error, name) for name in ("kind", "expected", "value", "suggestion")}
        raise RequestError(f"--{error.message}", path=f"--{error.path}", **data) from error
