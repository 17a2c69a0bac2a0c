"""Lateness of timers in user space: measured during the runs, with the granularity of the program's waits.

A thread sleeps repeatedly during the runs, under the same load of the machine, and records how
late it wakes (`clock_nanosleep(2)`: the kernel's slack and the scheduler). A program whose waits are set in whole
milliseconds rounds its deadlines up: that adds a delay evenly spread over the grain.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import kstest, norm, pareto, uniform

if TYPE_CHECKING:
    from types import TracebackType

    from quiclab.result.stats import Array

#: How long the thread sleeps each time: as long as pacing and acknowledgement timers are.
SLEEP_S: Final = 0.002
#: Shape of the distribution `pareto` of scenarios.
PARETO_SHAPE: Final = 3.0
#: How far a distribution reaches below its mean, in standard deviations (normal: as far as 2 % of it).
_BELOW_MEAN: Final = {"normal": 2.0, "uniform": math.sqrt(3), "pareto": 1 / math.sqrt(3)}
#: Points that a grain is divided into.
_STEPS: Final = 16
#: A deviation below this share of the mean is none.
_CONSTANT: Final = 0.02


@dataclass(frozen=True)
class Slack:
    """How late timers fire.

    Parameters
    ----------
    mean_s, deviation_s
        Mean and standard deviation [s]; the deviation is no longer than the distribution can have above 0.
    measured_s
        Standard deviation as measured [s].
    distribution
        `constant`, `normal`, `uniform` or `pareto`: the nearest of those that scenarios have.
    distance
        Largest difference between its distribution function and that of the measurement (Kolmogorov and Smirnov).
    low_s, high_s
        Interval of 95 % of the mean [s].
    samples
        How many timers it is from.
    """

    mean_s: float
    deviation_s: float
    measured_s: float
    distribution: str
    distance: float
    low_s: float
    high_s: float
    samples: int


class Lateness:
    """Measures the lateness of timers during its block."""

    def __init__(self) -> None:
        self.late_s: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)

    def __enter__(self) -> Lateness:
        """Start."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self._stop.set()
        self._thread.join()

    def _measure(self) -> None:
        while not self._stop.is_set():
            before = time.perf_counter_ns()
            time.sleep(SLEEP_S)
            self.late_s.append((time.perf_counter_ns() - before) / 1e9 - SLEEP_S)


def slack(late_s: Sequence[float], grain_s: float) -> Slack:
    """Return how late a program's timers fire.

    Parameters
    ----------
    late_s
        Measured latenesses [s], one or more.
    grain_s
        Step that the program rounds its deadlines up to [s]; 0 if it does not.
    """
    measured = np.maximum(np.asarray(late_s, dtype=np.float64), 0.0)
    steps = (np.arange(_STEPS) + 0.5) / _STEPS * grain_s if grain_s else np.zeros(1)
    values = (measured[:, None] + steps[None, :]).ravel()
    mean, deviation = float(values.mean()), float(values.std())
    error = 1.96 * float(measured.std()) / math.sqrt(measured.size)
    interval = (mean - error, mean + error, measured.size)
    if deviation <= _CONSTANT * mean:
        return Slack(mean, 0.0, deviation, "constant", 0.0, *interval)
    # scenarios cut delays off at 0, which would raise the mean of those that reach below
    possible = {name: mean / below for name, below in _BELOW_MEAN.items()}
    fitting = [name for name, longest in possible.items() if deviation <= longest] or ["pareto"]
    usable = {name: min(deviation, possible[name]) for name in fitting}
    distances = {name: _distance(values, name, mean, width) for name, width in usable.items()}
    best = min(distances, key=lambda name: distances[name])
    return Slack(mean, usable[best], deviation, best, distances[best], *interval)


def _distance(values: Array, name: str, mean: float, deviation: float) -> float:
    """Compare with a distribution of scenarios of the same mean and deviation (uniform: half of the width)."""
    half, scale = deviation * math.sqrt(3), deviation / float(pareto(PARETO_SHAPE).std())
    least = mean - scale * float(pareto(PARETO_SHAPE).mean())
    function = {
        "uniform": uniform(mean - half, 2 * half).cdf,
        "normal": norm(mean, deviation).cdf,
        "pareto": pareto(PARETO_SHAPE, loc=least, scale=scale).cdf,
    }[name]
    return float(kstest(values, function).statistic)
