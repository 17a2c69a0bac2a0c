"""Quantities of a resolved scenario, such as `10 MB`, as words of a command."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quiclab.scenario.quantity import parse

#: Base units of a quantity in one unit of a program.
_DIVISORS: Final = {
    ("bytes", "bytes"): 1,
    ("nanoseconds", "milliseconds"): 10**6,
    ("nanoseconds", "microseconds"): 10**3,
    ("bits_per_second", "bits_per_second"): 1,
    ("bits_per_second", "bytes_per_second"): 8,
}
#: Units of programs, each with the values of scenarios that can be written in it, in prose.
EXPECTED: Final = {
    "bytes": "a size such as `64 KiB`",
    "seconds": "a time such as `20 ms`",
    "milliseconds": "a time that is a multiple of 1 ms",
    "microseconds": "a time that is a multiple of 1 us",
    "bits_per_second": "a rate such as `10 Mbit/s`",
    "bytes_per_second": "a rate that is a multiple of 8 bit/s",
    "number": "a decimal number such as `1.125`",
}
#: Suffix of a value's name for each kind of quantity.
_SUFFIXES: Final = {"bytes": "_bytes", "nanoseconds": "_s", "bits_per_second": "_bps"}


def seconds(nanoseconds: int) -> str:
    """Write a time as decimal seconds, exactly: 1 500 000 000 is `1.5`."""
    whole, part = divmod(nanoseconds, 10**9)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".")


def words_of(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a workload as words of a command: `size = "1 kB"` is `size_bytes` 1000.

    Sizes end in `_bytes`, times in `_s` (decimal seconds), rates in `_bps`; other values keep their name. Lists and
    tables are omitted.
    """
    found: dict[str, str] = {}
    for name, value in table.items():
        quantity = parse(value)
        if quantity is not None:
            kind, number = quantity
            found[name + _SUFFIXES[kind]] = seconds(number) if kind == "nanoseconds" else str(number)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found[name] = plain(value)
    return found


def plain(value: object) -> str:
    """Write a value of TOML or JSON as scenarios do; numbers have no exponent."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{Decimal(str(value)):f}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def in_unit(value: str, unit: str) -> str | None:
    """Write a value of a scenario in the unit of a program, exactly; None if it cannot be: see `EXPECTED`.

    Parameters
    ----------
    value
        A quantity such as `20 ms`, or a number.
    unit
        One of `EXPECTED`. Times in `seconds` are decimal; the other quantities are integers.
    """
    if unit == "number":
        return value if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) else None
    quantity = parse(value)
    if quantity is None:
        return None
    kind, number = quantity
    if kind == "nanoseconds" and unit == "seconds":
        return seconds(number)
    divisor = _DIVISORS.get((kind, unit))
    return None if divisor is None or number % divisor else str(number // divisor)
