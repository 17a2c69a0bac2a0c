"""Goodputs without startup."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab.result import RunResult


def after_5s(result: RunResult, directory: Path) -> dict[str, float | None]:
    """Return the goodput of each flow after 5 s [Mbit/s]; None if it delivered nothing then."""
    del directory
    return _goodputs(result, "5 s")


def after_20s(result: RunResult, directory: Path) -> dict[str, float | None]:
    """Return the same after 20 s."""
    del directory
    return _goodputs(result, "20 s")


def _goodputs(result: RunResult, after: str) -> dict[str, float | None]:
    found = {name: result.goodput(name, after=after) for name in result.flows}
    return {name: None if math.isnan(value) else value for name, value in found.items()}
