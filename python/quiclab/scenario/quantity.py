"""Quantities, such as `10 MB`, as numbers of a unit.

`parse` accepts any kind; the functions below it accept one kind each and raise ValueError for anything else.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from quiclab.errors import expected_got, shown

#: Units of each kind of quantity, as multiples of its base unit: byte, nanosecond, bit/s (units.rs of quiclab-core).
UNITS: Final[dict[str, dict[str, int]]] = {
    "bytes": {
        "B": 1,
        "kB": 10**3,
        "KiB": 1 << 10,
        "MB": 10**6,
        "MiB": 1 << 20,
        "GB": 10**9,
        "GiB": 1 << 30,
    },
    "nanoseconds": {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9},
    "bits_per_second": {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9},
}

_QUANTITY: Final = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*(\S+)\s*")


def parse(text: object) -> tuple[str, int] | None:
    """Return the kind of a quantity and its value in base units (byte, nanosecond, bit/s); None for anything else."""
    found = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    number, unit = found.groups()
    for kind, units in UNITS.items():
        if unit in units:
            return kind, int(Fraction(number.replace("_", "")) * units[unit])
    return None


def nanoseconds(text: str) -> int:
    """Read a time, such as `45072 ms` [ns]."""
    return _of_kind(text, "nanoseconds")


def seconds(text: str) -> float:
    """Read a time, such as `45072 ms` [s]."""
    return nanoseconds(text) / 1e9


def milliseconds(text: str) -> float:
    """Read a time, such as `45072 us` [ms]."""
    return nanoseconds(text) / 1e6


def byte_count(text: str) -> int:
    """Read a size, such as `10 MB` [B]."""
    return _of_kind(text, "bytes")


def bits_per_second(text: str) -> int:
    """Read a rate, such as `20 Mbit/s` [bit/s]."""
    return _of_kind(text, "bits_per_second")


def megabits_per_second(text: str) -> float:
    """Read a rate, such as `20 Mbit/s` [Mbit/s]."""
    return bits_per_second(text) / 1e6


def _of_kind(text: str, kind: str) -> int:
    found = parse(text)
    if found is None or found[0] != kind:
        raise ValueError(expected_got(f"a number with a unit ({', '.join(UNITS[kind])})", shown(text)))
    return found[1]
