"""Numbers as short JSON: integers, each as the difference from the one before.

A page holds up to some 100 000 packets; their times, numbers and sizes change little from one to the next, so that
differences take two or three characters each. Times are in µs, which is as fine as a page can show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from quiclab._base.libraries import np
from quiclab.result.series import extremes

if TYPE_CHECKING:
    from collections.abc import Sequence

Integers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


def integers(values: Sequence[float | None] | Floats | Integers, scale: float = 1, missing: int = -1) -> Integers:
    """Return numbers times `scale`, rounded; `missing` where there is none."""
    numbers = np.asarray(values, dtype=np.float64) * scale
    return np.where(np.isnan(numbers), missing, np.rint(np.nan_to_num(numbers))).astype(np.int64)


def grouped(shown: int, of: int | None = None) -> str:
    """Write `812 345`, or `20 000 of 812 345`."""
    text = f"{shown:,}" if of is None else f"{shown:,} of {of:,}"
    return text.replace(",", "\u202f")


def differences(values: Integers) -> list[int]:
    """Return the first number, then how each differs from the one before; the page adds them up again."""
    return [int(value) for value in np.diff(values, prepend=0)]


def changes(time_us: Integers, values: Integers) -> tuple[Integers, Integers]:
    """Return the samples at which a value changes, and the last one: a step line needs no others."""
    if len(values) < 3:
        return time_us, values
    kept = np.concatenate(([True], np.diff(values) != 0))
    kept[-1] = True
    return time_us[kept], values[kept]


def distinct(*parts: Integers) -> Integers:
    """Return the numbers of all parts in order, each once; by sorting, because hashes of regular numbers collide."""
    values = np.sort(np.concatenate(parts))
    found: Integers = values[np.diff(values, prepend=values[:1] - 1) != 0]
    return found


def among(values: Integers, ascending: Integers) -> Flags:
    """Return which values are among others, which ascend."""
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    found: Flags = ascending[place] == values
    return found


def thinned(time_us: Integers, values: Integers, most: int) -> tuple[Integers, Integers]:
    """Return at most `most` samples, as `quiclab.result.series.extremes` chooses them."""
    order = extremes(values, most)
    return time_us[order], values[order]
