"""Differences of the configurations of a study from its first one, with 95 % intervals.

Runs with equal seeds are compared in pairs (`quiclab.result.stats.pairs_of`), others as independent ones by Welch's t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.result.stats import difference_half_width, pairs_of, percent_difference, summarise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.study.evaluate import Evaluation
    from quiclab.study.findings import Key


@dataclass(frozen=True)
class Difference:
    """The difference of the means of two settings.

    Attributes
    ----------
    mean
        Mean of the second minus mean of the first, in the unit of the values.
    low, high
        95 % interval by Student's t; NaN below two runs.
    relative
        `mean` as part of the mean of the first; NaN if that is zero.
    runs
        Number of pairs; of independent runs, that of the side that has fewer.
    paired
        Whether the runs are paired by seed.
    """

    mean: float
    low: float
    high: float
    relative: float
    runs: int
    paired: bool


def difference(first: Mapping[int, float], second: Mapping[int, float]) -> Difference:
    """Compare the runs of two settings.

    Parameters
    ----------
    first, second
        Value by seed. A run without a value is in no pair; the mean of independent runs is NaN where one has none.
    """
    if (pairs := pairs_of(first, second)) is not None:
        found = pairs.differences
        relative = percent_difference(pairs.first.mean, pairs.second.mean) / 100
        return Difference(found.mean, found.low, found.high, relative, found.n, paired=True)
    one, other = (summarise(list(side.values())) for side in (first, second))
    runs, mean = min(one.n, other.n), other.mean - one.mean
    relative = percent_difference(one.mean, other.mean) / 100
    half = difference_half_width(one, other) if runs > 1 else math.nan
    return Difference(mean, mean - half, mean + half, relative, runs, paired=False)


def differences(evaluation: Evaluation, engine: str, metric: str = "") -> dict[Key, Difference]:
    """Return how far each setting is from the same one of the first configuration, where both have values.

    Parameters
    ----------
    evaluation
        The runs.
    engine
        Name of the engine.
    metric
        Name of a further metric; the study's own by default.
    """
    first = evaluation.study.design.configurations[0].name
    runs = evaluation.by_seed(engine, metric=metric)
    found = {key: difference(runs[first, *key[1:]], values) for key, values in runs.items()
             if key[0] != first and (first, *key[1:]) in runs}  # fmt: skip
    return {key: item for key, item in found.items() if not math.isnan(item.mean)}
