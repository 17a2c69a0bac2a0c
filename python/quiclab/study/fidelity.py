"""Fidelity of a measured series to a published one.

A series is one configuration over one factor. Two kinds are distinguished by the published numbers alone: where their
range exceeds ten of their standard deviations the series has a shape, and *skill* is the reproduced share of it;
otherwise the series is flat within its noise, and *equivalence* is tested point by point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab._base.libraries import np
from quiclab.result.stats import Array, Summary, pooled_std

if TYPE_CHECKING:
    from collections.abc import Sequence

SHAPE_DEVIATIONS = 10.0
EQUIVALENCE_SHARE = 0.02
EQUIVALENCE_ERRORS = 2.0
KNEE_LEVEL = 0.95


@dataclass(frozen=True)
class Fidelity:
    """Fidelity of one series of n grid points.

    Attributes
    ----------
    points
        Number of grid points with published and measured values.
    skill
        1 - SSE / SSE of a null model that predicts the median of the published series at every point; `None` where
        the published range does not exceed ten pooled published standard deviations. 1 is perfect, 0 no better than
        the null model.
    equivalent
        Points within max(2 % of the published mean, two standard errors of the difference); `None` where `skill` is
        given.
    knee_steps, optimum_steps
        Measured minus published position [grid steps]; `None` where one of the series has no knee.
    median_relative_difference
        Median of |measured / published - 1|.
    largest_relative_difference
        measured / published - 1 of the point where it is farthest from zero: what the median hides.
    least_deviation_ratio, largest_deviation_ratio
        Measured / published standard deviation, over the points that have both: a mean can be right where the runs
        vary by nothing. `None` without such a point.
    """

    points: int
    skill: float | None
    equivalent: int | None
    knee_steps: int | None
    optimum_steps: int
    median_relative_difference: float
    largest_relative_difference: float
    least_deviation_ratio: float | None
    largest_deviation_ratio: float | None


def knee(values: Sequence[float] | Array) -> int | None:
    """Find the knee of a series: the first grid point past its maximum from which all values are below 95 % of it.

    Parameters
    ----------
    values
        Shape (n,), in the order of the grid.

    Returns
    -------
    int or None
        Index of the knee; `None` if the series does not stay below that level up to its end.
    """
    array = np.asarray(values, dtype=np.float64)
    below = array < KNEE_LEVEL * array.max()
    first = int(array.size)
    while first > 0 and below[first - 1]:
        first -= 1
    return first if first < array.size else None


def assess(published: Sequence[Summary], measured: Sequence[Summary]) -> Fidelity:
    """Compare a measured series with a published one, point by point in the order of the grid.

    Parameters
    ----------
    published, measured
        n points each, n >= 1; intervals are not used. Only the published numbers decide which measure applies. The
        "ten standard deviations" of the published range are the pooled standard deviation of the series: the root of
        the mean of the published variances.
    """
    if len(published) != len(measured) or not published:
        raise ValueError("expected two series of the same length, at least one point")
    reference = np.array([point.mean for point in published])
    values = np.array([point.mean for point in measured])
    spread = pooled_std([point.std for point in published])
    has_shape = float(np.ptp(reference)) > SHAPE_DEVIATIONS * spread
    skill: float | None = None
    equivalent: int | None = None
    if has_shape:
        null = float(np.sum((reference - np.median(reference)) ** 2))
        skill = 1.0 - float(np.sum((values - reference) ** 2)) / null
    else:
        equivalent = sum(_equivalent(p, m) for p, m in zip(published, measured, strict=True))
    knees = knee(reference), knee(values)
    relative = values / reference - 1.0
    ratios = [m.std / p.std for p, m in zip(published, measured, strict=True) if p.std > 0 and not math.isnan(m.std)]
    return Fidelity(
        points=len(published),
        skill=skill,
        equivalent=equivalent,
        knee_steps=None if knees[0] is None or knees[1] is None else knees[1] - knees[0],
        optimum_steps=int(np.argmax(values)) - int(np.argmax(reference)),
        median_relative_difference=float(np.median(np.abs(relative))),
        largest_relative_difference=float(relative[np.argmax(np.abs(relative))]),
        least_deviation_ratio=min(ratios, default=None),
        largest_deviation_ratio=max(ratios, default=None),
    )


def _equivalent(published: Summary, measured: Summary) -> bool:
    """Whether two means agree within max(2 %, two standard errors of their difference)."""
    errors = [e for e in (published.standard_error, measured.standard_error) if not math.isnan(e)]
    allowed = max(EQUIVALENCE_SHARE * abs(published.mean), EQUIVALENCE_ERRORS * math.hypot(*errors))
    return abs(measured.mean - published.mean) <= allowed
