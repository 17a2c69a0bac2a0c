"""Readers of values on the command line."""

from __future__ import annotations

from collections.abc import Callable

import typer


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
