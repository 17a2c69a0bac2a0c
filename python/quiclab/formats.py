"""Numbers in sentences and tables: a fixed number of decimals, a dash where there is none."""

from __future__ import annotations

import math


def figures(value: float | None, digits: int = 2) -> str:
    """Write a number with some decimals; a dash for none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    """Write a difference with its sign."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if text.strip("+-0.") else text[1:]


def share(value: float) -> str:
    """Write a share as percent, with the decimals it needs."""
    return f"{100 * value:.10g} %"


def percent(value: float | None, digits: int = 1) -> str:
    """Write a ratio as percent, with its sign."""
    return "–" if value is None or math.isnan(value) else f"{signed(100 * value, digits)} %"
