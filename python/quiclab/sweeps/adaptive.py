"""More seeds where intervals are wide, until each has the wanted precision.

A setting has enough runs when half of its 95 % interval is at most a part of its mean, for each metric. Stopping when
an interval happens to be narrow makes it slightly optimistic; the first round therefore has `MIN_RUNS` runs or more,
and a round at most doubles the runs of a setting.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from quiclab.sweeps.table import HIGH, MEAN, SETTING, N

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from quiclab.sweeps.metrics import Measure

MIN_RUNS: Final = 5


def wanted_seeds(
    settings: pl.DataFrame, seeds: Sequence[int], measures: Sequence[Measure], precision: float, most: int
) -> list[int]:
    """Return the number of seeds that each setting has after the next round; the same list where all have enough.

    Parameters
    ----------
    settings
        Table of settings, as of `table.summary`.
    seeds
        Number of seeds of each setting now.
    measures
        The metrics.
    precision
        Half of an interval divided by the mean, at most.
    most
        Number of seeds that no setting exceeds.
    """
    found = list(seeds)
    for row in settings.iter_rows(named=True):
        index, now = row[SETTING], seeds[row[SETTING]]
        ratios = [_ratio(row, measure) / precision for measure in measures]
        ratio = max((ratio for ratio in ratios if math.isfinite(ratio)), default=0.0)
        if ratio > 1.0:
            found[index] = min(most, max(now + 1, min(2 * now, math.ceil(now * ratio**2))))
    return found


def _ratio(row: dict[str, float | None], measure: Measure) -> float:
    """Return half of an interval divided by the mean; 0 where both are 0, NaN where there are fewer than two values."""
    mean, high, count = (row[measure.column + suffix] for suffix in (MEAN, HIGH, N))
    if mean is None or high is None or (count or 0) < 2:
        return math.nan
    half = high - mean
    return half / abs(mean) if mean else (0.0 if half == 0 else math.inf)
