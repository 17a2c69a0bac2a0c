"""A model of the LTE rate of an indoor phone, for traces that can be distributed.

The rate is a product of a slow process, of dips and of bursts, scaled to the requested mean:

    x(0) = s e(0),   x(k) = a x(k-1) + s sqrt(1 - a^2) e(k),   a = exp(-step / tau)
    u(k) = max(exp(x(k)) f(k), floor * mean of exp(x) f)
    rate(k) = mean * u(k) / mean of u, rounded so that every sum over samples 0..k is off by at most 0.5 kbit

- *Slow process.* Log-normal, first-order autoregressive (an Ornstein-Uhlenbeck process, sampled exactly): load of the
  cell and shadowing multiply the rate, and Gudmundson (Electronics Letters 27(23), 1991) found shadowing in decibels
  Gaussian with an exponential autocorrelation. `s` and `tau` are chosen by quiclab.
- *Dips and bursts.* A Markov chain of three states. From `normal` it goes to `dip` (`burst`) at a constant rate, comes
  back at another, and leaves after `longest` in any case, so that no outage lasts. At each entry a factor f is drawn,
  uniform between the bounds of the state; in `normal` it is 1. Dips represent blocked or re-established connections,
  bursts seconds in which the cell serves no other user.
- *Floor.* No sample is below 1 % of the mean before scaling, 0.99 % after: near zero, but never an outage.

The parameters are set so that many traces together have the spread of the data set of Raca et al. (MMSys 2018) for
operator A, static: mean 5.3 Mbit/s, tenth and ninetieth percentile 0.9 and 9.3 Mbit/s (their Table 2), which are 0.17
and 1.75 of the mean; the model has 0.19 and 1.77. Autocorrelation and length of dips are not published for it: these
are assumptions. A trace represents no place and no operator.

The same parameters give the same bytes on every machine: bits of PCG64, whose stream numpy guarantees; uniform numbers
of 53 bits; standard normal ones as the sum of twelve uniform ones minus six, which needs no mathematical library;
`exp` correctly rounded by `decimal`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Final

from quiclab._base.libraries import np
from quiclab._base.native import checked_seed
from quiclab.errors import unexpected
from quiclab.sources.traces.trace import SYNTHETIC, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_MEAN_BPS: Final = 200_000
MAX_MEAN_BPS: Final = 10_000_000_000
MIN_STEP_NS: Final = 10_000_000
MAX_SAMPLES: Final = 100_000
#: Of a random number.
BITS: Final = 53

_EXACT: Final = Context(prec=25, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class Excursion:
    """A state other than the normal one.

    Parameters
    ----------
    every_s
        Mean time in the normal state before it, without the other state [s].
    length_s
        Mean time in it, without the limit `longest_s` [s].
    longest_s
        Maximum time in it [s].
    least, most
        Bounds of its factor.
    """

    every_s: float
    length_s: float
    longest_s: float
    least: float
    most: float


@dataclass(frozen=True)
class Model:
    """Parameters of the model.

    `sigma` is the standard deviation `s` of the logarithm of the slow process, and `tau_s` its correlation time [s];
    `dip` and `burst` are the two other states. The minimum rate is a share of the mean.
    """

    sigma: float = 0.4
    tau_s: float = 12.0
    dip: Excursion = Excursion(every_s=12.0, length_s=3.0, longest_s=8.0, least=0.01, most=0.35)
    burst: Excursion = Excursion(every_s=30.0, length_s=4.0, longest_s=10.0, least=1.4, most=2.2)
    floor: float = 0.01


LTE: Final = Model()


def generate(mean_bps: int = 4_500_000, duration_ns: int = 200 * 10**9, step_ns: int = 10**9, seed: int = 1) -> Trace:
    """Make a synthetic cellular trace.

    Parameters
    ----------
    mean_bps
        Its mean [bit/s], 200 kbit/s to 10 Gbit/s; met to 0.5 kbit/s over the number of samples.
    duration_ns
        Its length [ns], a multiple of `step_ns`.
    step_ns
        Time between samples [ns], 10 ms or more. Another step gives another trace with the same statistics.
    seed
        0 to 2^64 - 1.

    Raises
    ------
    RequestError
        If a value is not allowed.
    """
    samples = _checked_samples(mean_bps, duration_ns, step_ns, seed)
    relative = _relative(LTE, samples, step_ns / 1e9, seed)
    rates = _scaled(relative, mean_bps)
    command = (
        f'made by quiclab trace generate --mean "{mean_bps / 1e3:.10g} kbit/s" --duration "{duration_ns / 1e9:.12g} s" '
        f'--step "{step_ns / 1e9:.12g} s" --seed {seed}'
    )
    starts = tuple(index * step_ns for index in range(samples))
    return Trace(starts, rates, duration_ns, SYNTHETIC, (command,))


def _checked_samples(mean_bps: int, duration_ns: int, step_ns: int, seed: int) -> int:
    if not MIN_MEAN_BPS <= mean_bps <= MAX_MEAN_BPS:
        raise unexpected("mean", "200 kbit/s to 10 Gbit/s", got=f"{mean_bps / 1e3:g} kbit/s")
    if step_ns < MIN_STEP_NS:
        raise unexpected("step", "at least 10 ms", got=f"{step_ns / 1e6:g} ms")
    checked_seed(seed)
    samples, rest = divmod(duration_ns, step_ns)
    if rest or not 2 <= samples <= MAX_SAMPLES:
        expected = f"2 to {MAX_SAMPLES} whole steps of {step_ns / 1e9:g} s"
        raise unexpected("duration", expected, got=f"{duration_ns / 1e9:g} s")
    return samples


def _relative(model: Model, samples: int, step_s: float, seed: int) -> list[float]:
    """Return the rates before scaling."""
    draws = _draws(seed, 0)
    decay = _exp(-step_s / model.tau_s)
    innovation = model.sigma * math.sqrt(1 - decay * decay)
    factors = _factors(model, step_s, _draws(seed, 1))
    level = model.sigma * _normal(draws)
    values = []
    for _ in range(samples):
        values.append(_exp(level) * next(factors))
        level = decay * level + innovation * _normal(draws)
    least = model.floor * math.fsum(values) / samples
    return [max(value, least) for value in values]


def _factors(model: Model, step_s: float, draws: Iterator[int]) -> Iterator[float]:
    """Give the factor of the state in each step; it may change once a step."""
    enter = [1 - _exp(-step_s / state.every_s) for state in (model.dip, model.burst)]
    state: Excursion | None = None
    factor, left_s = 1.0, 0.0
    while True:
        draw = _uniform(draws)
        if state is None:
            if draw < enter[0] + enter[1]:
                state = model.dip if draw < enter[0] else model.burst
                factor = state.least + (state.most - state.least) * _uniform(draws)
                left_s = state.longest_s
        elif draw < 1 - _exp(-step_s / state.length_s) or left_s < step_s:
            state, factor = None, 1.0
        left_s -= step_s
        yield factor


def _scaled(relative: list[float], mean_bps: int) -> tuple[int, ...]:
    """Scale to a mean in whole kbit/s [bit/s], carrying what rounding leaves over to the next sample."""
    total = math.fsum(relative)
    target = len(relative) * mean_bps / 1e3
    rates, done, wanted = [], 0, 0.0
    for value in relative:
        wanted += target * (value / total)
        rate = math.floor(wanted + 0.5) - done
        done += rate
        rates.append(1000 * rate)
    return tuple(rates)


def _draws(seed: int, stream: int) -> Iterator[int]:
    """Give whole numbers from 0 to below 2^53, all equally likely."""
    generator = np.random.PCG64([seed, stream])
    while True:
        yield int(generator.random_raw()) >> (64 - BITS)


def _uniform(draws: Iterator[int]) -> float:
    """Return a number from 0 to below 1."""
    return next(draws) / (1 << BITS)


def _normal(draws: Iterator[int]) -> float:
    """Return an almost standard normal number: mean 0, variance 1, within -6 and 6; summed in integers, so exactly."""
    return (sum(next(draws) for _ in range(12)) - (6 << BITS)) / (1 << BITS)


def _exp(value: float) -> float:
    return float(_EXACT.exp(Decimal(value)))
