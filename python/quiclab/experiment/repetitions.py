"""How often a setting is repeated until something is decided: the same for sweeps and for claims.

Stopping when an interval happens to be narrow, or a verdict to be reached, is slightly optimistic. A first round
therefore has `MIN_RUNS` runs or more, and a round at most doubles the runs of a setting, so that rounds are few.
"""

from __future__ import annotations

import math
from typing import Final

#: Number of runs below which neither an interval nor a verdict is trusted.
MIN_RUNS: Final = 5


def next_count(now: int, most: int, needed: float = math.inf) -> int:
    """Return the number of runs of a setting after the next round.

    Parameters
    ----------
    now
        Its runs now.
    most
        Number of runs that no setting exceeds; more than that stay.
    needed
        Estimate of the number that decides, if there is one.
    """
    wanted = math.ceil(needed) if math.isfinite(needed) else 2 * now
    return max(now, min(most, max(now + 1, min(2 * now, wanted))))


def relative_width(mean: float | None, high: float | None) -> float:
    """Return half of an interval divided by the mean; 0 where both are 0, infinite where there is no interval.

    Parameters
    ----------
    mean, high
        Mean, and upper end of the interval; NaN or `None` where there is none.
    """
    if mean is None or high is None or math.isnan(high - mean):
        return math.inf
    half = high - mean
    return half / abs(mean) if mean else (0.0 if half == 0 else math.inf)
