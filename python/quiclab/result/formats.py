"""Numbers in sentences and tables: no exponents, a fixed number of decimals or digits, a dash where there is none."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: Decimals of a number in a table; one below `SMALL` has as many significant digits instead.
DECIMALS: Final = 3
SMALL: Final = 0.01
#: A mean of this or more has no decimals, unless its deviation is as small as they are.
LARGE: Final = 10_000.0
#: Digits of a deviation, at least; what is smaller than `NOISE` of the mean is only rounding.
OF_DEVIATION: Final = 2
NOISE: Final = 1e-12


def figures(value: float | None, digits: int = 2) -> str:
    """Write a number with some decimals; a dash for none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def spread(mean: float | None, deviation: float | None, digits: int = 2, of_deviation: int | None = None) -> str:
    """Write a mean and its standard deviation; of one value, which has none, the mean alone."""
    if figures(mean) == "–" or figures(deviation) == "–":
        return figures(mean, digits)
    return f"{figures(mean, digits)} ± {figures(deviation, digits if of_deviation is None else of_deviation)}"


def places(mean: float | None, deviation: float | None, digits: int = 2) -> int:
    """Return the decimals of a mean and its deviation: some, none of a large mean, and as many as the deviation needs.

    Parameters
    ----------
    mean, deviation
        The two; a deviation that is not 0 has two significant digits at least.
    digits
        Decimals of a mean that is not large.
    """
    size = 0.0 if figures(mean) == "–" else abs(mean or 0.0)
    least = 0 if size >= LARGE else digits
    if deviation is None or not NOISE * max(1, size) < deviation < math.inf:
        return least
    return max(least, OF_DEVIATION - 1 - math.floor(math.log10(deviation)))


def between(low: float | None, high: float | None, digits: int = 2) -> str:
    """Write an interval; a dash for none."""
    return "–" if figures(low) == "–" else f"{figures(low, digits)} to {figures(high, digits)}"


def signed(value: float | None, digits: int = 2) -> str:
    """Write a difference with its sign."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if text.strip("+-0.") else text[1:]


def counted(count: int, singular: str, write: Callable[[int], str] = str) -> str:
    """Write a number of things, such as `1 run` or `2 runs`; `write` writes the number."""
    return f"{write(count)} {singular}" if count == 1 else f"{write(count)} {singular}s"


def share(value: float) -> str:
    """Write a share as percent, with the decimals it needs."""
    return f"{100 * value:.10g} %"


def percent(value: float | None, digits: int = 1) -> str:
    """Write a ratio as percent, with its sign."""
    return "–" if value is None or math.isnan(value) else f"{signed(100 * value, digits)} %"


def number(value: float, sign: str = "") -> str:
    """Write a number as tables of the command line have it: up to three decimals, and never as `8.16e+06`.

    Parameters
    ----------
    value
        The number.
    sign
        `+` for a sign before positive numbers, too.
    """
    written = _number(value)
    return f"+{written}" if sign == "+" and value >= 0 else written


def _number(value: float) -> str:
    if not math.isfinite(value):
        return f"{value:.0f}"
    if 0 < abs(value) < SMALL:
        return decimal(value, DECIMALS)
    if abs(value) >= 1e6:
        return f"{value:.0f}"
    return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")


def decimal(value: float, digits: int) -> str:
    """Write a number with some significant digits, all before the point, and no exponent unless it is huge or tiny."""
    text = f"{value:.{digits}g}"
    if not math.isfinite(value) or not 1e-9 < abs(value) < 1e15:
        return text
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{Decimal(text):f}"
