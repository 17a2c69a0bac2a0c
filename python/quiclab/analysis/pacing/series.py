"""Distributions and counts as points and bars of figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quiclab.analysis.pacing.document import Intervals

#: Bins of the figures in a decade: each 3.7 % of its value, wide enough for the bins of 1 % that fall into it.
PER_DECADE: Final = 64
#: Width of the bins of the document, as a factor.
FINE: Final = 1.01
#: Shorter intervals are in the bin that begins here: 100 ns, a tenth of what a full frame takes at 10 Gbit/s.
FLOOR_MS: Final = 1e-4
#: Part of the intervals at each end that does not stretch the axis.
TAIL: Final = 0.001
#: Margin of an axis, as a factor.
MARGIN: Final = 1.5
#: Minimum step of a distribution function, as a share.
STEP: Final = 0.0005
#: Counts up to here have separate bars; beyond, each bar reaches to twice its start.
SINGLE: Final = 16
#: Minimum number of bars: a single one would be as wide as the page.
MIN_BARS: Final = 8
MAX_RATES: Final = 1000


@dataclass(frozen=True)
class Bin:
    """A bin of a density: from, to (without), and the part of the intervals in it."""

    from_ms: float
    to_ms: float
    share: float

    @property
    def middle_ms(self) -> float:
        """Its middle on the logarithmic axis."""
        return math.sqrt(self.from_ms * self.to_ms)


def density(intervals: Intervals) -> list[Bin]:
    """Return the share of the intervals in bins of equal width on a logarithmic axis.

    Bins without intervals are omitted, except for one on each side of the others, so that steps fall to zero.
    """
    shares: dict[int, float] = {}
    total = sum(intervals["counts"])
    for at_ms, count in zip(intervals["at_ms"], intervals["counts"], strict=True):
        number = _bin(at_ms)
        shares[number] = shares.get(number, 0.0) + count / total
    numbers = sorted({number + beside for number in shares for beside in (-1, 0, 1)})
    edges = {number: 10 ** (number / PER_DECADE) for number in (*numbers, *(number + 1 for number in numbers))}
    return [Bin(edges[number], edges[number + 1], shares.get(number, 0.0)) for number in numbers]


def detail(intervals: Intervals, low_ms: float, high_ms: float) -> list[tuple[float, float]]:
    """Return the bins of 1 % between two times as they are: middle [ms] and share, zero on both sides of a gap."""
    total = sum(intervals["counts"])
    points: list[tuple[float, float]] = []
    for at_ms, count in zip(intervals["at_ms"], intervals["counts"], strict=True):
        if not low_ms <= at_ms <= high_ms:
            continue
        if not points:
            points.append((at_ms / FINE, 0.0))
        elif at_ms > points[-1][0] * FINE**2:
            points += [(points[-1][0] * FINE, 0.0), (at_ms / FINE, 0.0)]
        points.append((at_ms, count / total))
    return [*points, (points[-1][0] * FINE, 0.0)] if points else []


def _bin(at_ms: float) -> int:
    # a value at an edge belongs to the bin that it begins, whatever the logarithm rounds to
    return math.floor(math.log10(max(at_ms, FLOOR_MS)) * PER_DECADE + 1e-9)


def distribution(intervals: Intervals) -> list[tuple[float, float]]:
    """Return time [ms] and the share of intervals up to it, downsampled for a figure."""
    total = sum(intervals["counts"])
    points: list[tuple[float, float]] = []
    drawn = 0
    for at_ms, below in zip(intervals["at_ms"], accumulate(intervals["counts"]), strict=True):
        if not points:
            points.append((max(at_ms, FLOOR_MS), 0.0))
        if below == total or below - drawn >= STEP * total:
            drawn = below
            points.append((max(at_ms, FLOOR_MS), below / total))
    return points


def span(shown: Sequence[Intervals], also_ms: Sequence[float] = ()) -> tuple[float, float]:
    """Return where an axis begins and ends [ms]: with all but the rarest intervals of each, and what is marked.

    Parameters
    ----------
    shown
        Distributions; at least one has an interval.
    also_ms
        Times that the axis must have.
    """
    ends = [max(value, FLOOR_MS) for value in also_ms]
    for intervals in shown:
        total = sum(intervals["counts"])
        below = 0
        for at_ms, count in zip(intervals["at_ms"], intervals["counts"], strict=True):
            if below + count > TAIL * total and below < (1 - TAIL) * total:
                ends.append(max(at_ms, FLOOR_MS))
            below += count
    low, high = min(ends) / MARGIN, max(ends) * MARGIN
    # a decade at least: what is narrower would look wide
    widen = max(1.0, math.sqrt(10 * low / high))
    return low / widen, high * widen


def ticks(low_ms: float, high_ms: float) -> list[float]:
    """Return where a logarithmic axis has ticks: at powers of ten, and at 1, 2 and 5 of each where they are few."""
    decades = math.log10(high_ms / low_ms)
    multiples = (1,) if decades > 3.5 else (1, 2, 5) if decades > 1.2 else range(1, 10)
    first, last = math.floor(math.log10(low_ms)), math.ceil(math.log10(high_ms))
    places = [float(f"{multiple}e{power}") for power in range(first, last + 1) for multiple in multiples]
    return [place for place in places if low_ms <= place <= high_ms]


def groups(counts: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return the bars that all counts up to the largest need: first and last number of each.

    One for each number up to `SINGLE`, then 17 to 32, 33 to 64 ...
    """
    if not counts:
        return []
    least, most = min(map(int, counts)), max(map(int, counts))
    bars = [(number, number) for number in range(min(least, 1), min(max(most, MIN_BARS), SINGLE) + 1)]
    end = SINGLE
    while end < most:
        bars.append((end + 1, 2 * end))
        end *= 2
    return bars


def in_groups(counts: Mapping[str, int], bars: Sequence[tuple[int, int]], *, by_size: bool = False) -> list[float]:
    """Return which part of all is in each bar.

    Parameters
    ----------
    counts
        How often each number is there.
    bars
        As of `groups`.
    by_size
        Each counts as often as its number: the part of packets in bursts, not of bursts.
    """
    weights = {int(number): count * (int(number) if by_size else 1) for number, count in counts.items()}
    total = sum(weights.values())
    inside = [sum(weight for number, weight in weights.items() if first <= number <= last) for first, last in bars]
    return [weight / total if total else 0.0 for weight in inside]


def rates(values: Sequence[float], step_s: float) -> tuple[list[tuple[float, float]], float]:
    """Return time [s] and rate [Mbit/s], and the time over which each is a mean: no more than a figure has pixels.

    The last step is omitted, because the flow ends within it, unless it is the only one.
    """
    values = values[:-1] if len(values) > 1 else values
    together = max(1, math.ceil(len(values) / MAX_RATES))
    parts = [values[begin : begin + together] for begin in range(0, len(values), together)]
    points = [(number * together * step_s, sum(part) / len(part)) for number, part in enumerate(parts)]
    return points, together * step_s
