"""Texts with a unit, as resolved scenarios have them, in base units."""

from __future__ import annotations

import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_BITS_PER_SECOND = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}


def seconds(text: str) -> float:
    """Read a time, such as `45072 ms` [s]."""
    number, unit = _divided(text, tuple(_SECONDS), "time")
    return float(number) * _SECONDS[unit]


def byte_count(text: str) -> int:
    """Read a size, such as `10 MB` [B]."""
    number, unit = _divided(text, tuple(_BYTES), "size")
    return round(float(number) * _BYTES[unit])


def bits_per_second(text: str) -> int:
    """Read a rate, such as `20 Mbit/s` [bit/s]."""
    number, unit = _divided(text, tuple(_BITS_PER_SECOND), "rate")
    return round(float(number) * _BITS_PER_SECOND[unit])


def _divided(text: str, units: tuple[str, ...], kind: str) -> tuple[str, str]:
    found = re.fullmatch(r"([\d.e+-]+) ?(\S+)", text)
    if found is None or found[2] not in units:
        raise ValueError(f"`{text}` is no {kind}; the unit is one of {', '.join(units)}")
    return found[1], found[2]
