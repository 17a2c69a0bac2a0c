"""Cost of datagrams and system calls at one end of a flow: least squares over runs.

The CPU time of a program over a run, user and system together (`getrusage(2)`: of its own and of those of its
descendants that it has waited for), is modelled as

    cpu = start + receive_datagram * N_r + receive_call * C_r + send_datagram * N_s + send_call * C_s

with the datagrams N and the calls C of each direction; `start` is the cost of a program regardless of its transfer. No
cost is negative (Lawson and Hanson's NNLS); each run is weighted by the inverse of its CPU time, so that relative
errors count.
The indirect work of a datagram (wake-ups, timers, cryptography, reading and writing streams) is in these costs:
they are those of the application per datagram, not those of the kernel's `recvmsg`.

Where each call of a direction moves one datagram, or always as many, call and datagram are one unknown: the call's.
Intervals are those of a percentile bootstrap over the runs within each setting (Efron and Tibshirani 1993, 13.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from quiclab.result.stats import Array

#: Names of the unknowns, in the order of the model.
START: Final = "start"
COSTS: Final = ("receive_datagram", "receive_call", "send_datagram", "send_call")
#: Settings whose mean batches differ by less than this factor do not separate calls and datagrams.
MIN_SPREAD: Final = 1.3
RESAMPLES: Final = 1000
SEED: Final = 1
LEVEL: Final = 0.95


@dataclass(frozen=True)
class Observation:
    """CPU time, datagrams and system calls at one end of one run.

    Attributes
    ----------
    setting
        Name of the transfer and rate; runs of one setting are repetitions.
    cpu_s
        CPU time, user and system [s].
    received, sent
        Number of datagrams in each direction.
    receive_calls, send_calls
        Number of system calls that moved them.
    """

    setting: str
    cpu_s: float
    received: float
    receive_calls: float
    sent: float
    send_calls: float


@dataclass(frozen=True)
class Estimate:
    """A cost of one end with its confidence interval.

    Attributes
    ----------
    seconds
        Cost of one start, call or datagram [s].
    low, high
        Bounds of the 95 % interval [s].
    apart
        Whether this cost was estimated separately. If the runs do not separate calls from datagrams, the estimate of
        the call is the sum of both, and that of the datagram is 0.
    """

    seconds: float
    low: float
    high: float
    apart: bool


@dataclass(frozen=True)
class Costs:
    """All costs of one end.

    Attributes
    ----------
    by_name
        Estimates of `start` and of each name in `COSTS`.
    residual
        Root mean square of the relative differences between the fitted and the measured CPU times (0.1 is 10 %).
    runs
        Number of runs of the fit.
    """

    by_name: dict[str, Estimate]
    residual: float
    runs: int


def fit(observations: Sequence[Observation], resamples: int = RESAMPLES) -> Costs:
    """Fit the model.

    Parameters
    ----------
    observations
        Runs of one end, of several settings.
    resamples
        Number of resamples of the bootstrap.

    Raises
    ------
    ValueError
        If there are fewer settings than two, or a run without CPU time.
    """
    settings = list(dict.fromkeys(item.setting for item in observations))
    if len(settings) < 2 or any(item.cpu_s <= 0 for item in observations):
        raise ValueError("a fit requires at least two settings, and CPU time in each run")
    apart = {way: _apart(observations, way) for way in ("receive", "send")}
    names = [START]
    for way, separate in apart.items():
        names += [f"{way}_datagram", f"{way}_call"] if separate else [f"{way}_call"]
    matrix = np.array([[_column(item, name) for name in names] for item in observations])
    cpu = np.array([item.cpu_s for item in observations])
    best = _solve(matrix, cpu)
    fitted = matrix @ best
    rows = [np.array([i for i, item in enumerate(observations) if item.setting == name]) for name in settings]
    generator = np.random.Generator(np.random.PCG64(SEED))
    draws = []
    for _ in range(resamples):
        picked = np.concatenate([generator.choice(group, group.size) for group in rows])
        draws.append(_solve(matrix[picked], cpu[picked]))
    low, high = np.quantile(np.array(draws), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    found = {name: Estimate(float(best[i]), float(low[i]), float(high[i]), True) for i, name in enumerate(names)}
    for way, separate in apart.items():
        if not separate:
            whole = found[f"{way}_call"]
            found[f"{way}_call"] = Estimate(whole.seconds, whole.low, whole.high, False)
            found[f"{way}_datagram"] = Estimate(0.0, 0.0, 0.0, False)
    residual = math.sqrt(float(np.mean((fitted / cpu - 1) ** 2)))
    return Costs({name: found[name] for name in (START, *COSTS)}, residual, len(observations))


def _solve(matrix: Array, cpu: Array) -> Array:
    """Weighted least squares without negative costs; columns are scaled, since counts are large compared with 1."""
    weighted = matrix / cpu[:, None]
    scale = np.linalg.norm(weighted, axis=0)
    scale[scale == 0] = 1.0
    solution, _ = nnls(weighted / scale, np.ones_like(cpu))
    return np.asarray(solution / scale, dtype=np.float64)


def _apart(observations: Sequence[Observation], way: str) -> bool:
    """Whether the batches of a direction differ enough between runs."""
    batches = [
        _column(item, f"{way}_datagram") / _column(item, f"{way}_call")
        for item in observations
        if _column(item, f"{way}_call") > 0
    ]
    return bool(batches) and max(batches) >= MIN_SPREAD * min(batches)


def _column(item: Observation, name: str) -> float:
    return {
        START: 1.0,
        "receive_datagram": item.received,
        "receive_call": item.receive_calls,
        "send_datagram": item.sent,
        "send_call": item.send_calls,
    }[name]
