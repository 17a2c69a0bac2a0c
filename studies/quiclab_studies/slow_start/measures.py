"""Metrics of what is stored of a start."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab.study import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.result import RunResult


def _kept(name: str, factor: float = 1.0) -> Callable[[RunResult], float]:
    def value(result: RunResult) -> float:
        found = result.data["kept"][name]
        return math.nan if found is None else factor * float(found)

    return value


LOST = Metric("lost_rtt", "Time lost", "round trips", _kept("lost_rtt"))
AREA = Metric("area_percent", "Integral of delivered bytes, of the ideal", "%", _kept("area", 100))
EXIT = Metric("exit_rtt", "End of slow start", "round trips", _kept("exit_rtt"))
WINDOW = Metric("exit_bdp", "Window at its end", "BDP", _kept("exit_bdp"))
THRESHOLD = Metric("ssthresh_bdp", "Threshold", "BDP", _kept("ssthresh_bdp"))
LOSSES = Metric("lost_bdp", "Lost in slow start", "BDP", _kept("lost_bdp"))
FURTHER = (AREA, EXIT, WINDOW, THRESHOLD, LOSSES)
METRICS = (LOST, *FURTHER)
