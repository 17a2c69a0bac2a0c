"""Options that several commands have, and readers of values on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from quiclab.errors import RequestError

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value, such as bearers.dc.batch_packets=200."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


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


def parse_sets(sets: list[str]) -> list[tuple[str, str]]:
    """Divide `path=value` texts.

    Raises
    ------
    RequestError
        If there is no `=`.
    """
    pairs = []
    for text in sets:
        path, equals, value = text.partition("=")
        if not equals or not path:
            raise RequestError(f"--set {text} needs the form path=value, such as bearers.dc.batch_packets=200")
        pairs.append((path, value))
    return pairs
