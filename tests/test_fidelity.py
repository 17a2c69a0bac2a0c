"""Fidelity, knee and optimum against series made by hand."""

from __future__ import annotations

import math

import pytest

from quiclab.result.stats import Summary
from quiclab.study.fidelity import assess, knee


def series(means: list[float], std: float, n: int = 10) -> list[Summary]:
    return [Summary(n, mean, std, mean, mean) for mean in means]


def test_knee_is_the_first_point_from_which_all_are_low() -> None:
    assert knee([100, 99, 98, 94, 90]) == 3
    assert knee([100, 94, 98, 94, 90]) == 3  # the dip at 1 does not stay
    assert knee([100, 99, 98]) is None
    assert knee([100, 50, 96]) is None  # comes back at the end
    assert knee([50, 100, 94]) == 2  # past the maximum only
    assert knee([100, 95, 94.9]) == 2  # 95 % itself is not below


def test_skill_of_a_shape() -> None:
    published = series([10, 20, 30], std=0.5)  # range 20 > 10 x 0.5; median 20; SSE of the null model 200
    perfect = assess(published, series([10, 20, 30], 0.1))
    assert perfect.skill == 1.0
    assert perfect.equivalent is None
    assert perfect.optimum_steps == 0
    assert perfect.median_relative_difference == 0.0
    off = assess(published, series([10, 20, 20], 0.1))  # SSE 100
    assert off.skill == pytest.approx(0.5)
    assert assess(published, series([20, 20, 20], 0.1)).skill == pytest.approx(0.0)
    assert off.median_relative_difference == 0.0  # of 0, 0 and 1/3


def test_ten_deviations_decide_and_are_pooled() -> None:
    assert assess(series([10, 15], std=0.5), series([10, 15], 0.1)).skill is None  # range 5 is not more than 5
    assert assess(series([10, 15.1], std=0.5), series([10, 15], 0.1)).skill is not None
    mixed = [Summary(10, 10, 0.0, 10, 10), Summary(10, 15, 0.6, 15, 15)]  # pooled: 0.6 / sqrt(2) = 0.42
    assert assess(mixed, series([10, 15], 0.1)).skill is not None


def test_equivalence_where_there_is_no_shape() -> None:
    published = series([100, 100, 100], std=1.0, n=4)
    # two standard errors of the difference: 2 x sqrt(1/4 + 1/4) = 1.41 < 2 % of 100
    fidelity = assess(published, series([101.9, 98.1, 102.1], std=1.0, n=4))
    assert fidelity.skill is None
    assert fidelity.equivalent == 2
    # with deviations of 4 they are 2 x sqrt(16/4 + 16/4) = 5.66
    wide = assess(series([100, 100], 4.0, n=4), series([105.6, 105.7], 4.0, n=4))
    assert wide.equivalent == 1


def test_a_single_measured_run_has_no_error_of_its_own() -> None:
    one = Summary(1, 101.9, math.nan, math.nan, math.nan)
    assert assess(series([100], 0.1), [one]).equivalent == 1


def test_positions_are_in_grid_steps() -> None:
    published = series([10, 12, 30, 30, 10], std=0.1)
    measured = series([10, 30, 30, 10, 10], std=0.1)
    fidelity = assess(published, measured)
    assert fidelity.knee_steps == -1
    assert fidelity.optimum_steps == -1
    assert assess(published, series([1, 2, 3, 4, 5], 0.1)).knee_steps is None


def test_deviations_are_compared_where_both_are_known() -> None:
    """400 and 50 published, 2 and 100 measured; a point without a deviation, or with one run, does not count."""
    published = [Summary(20, 1000, std, 1000, 1000) for std in (400.0, 50.0, 0.0, 10.0)]
    measured = [Summary(20, 1000, std, 1000, 1000) for std in (2.0, 100.0, 5.0, math.nan)]
    fidelity = assess(published, measured)
    assert (fidelity.least_deviation_ratio, fidelity.largest_deviation_ratio) == (0.005, 2.0)
    assert fidelity.largest_relative_difference == 0.0
    alone = assess(published[2:], measured[2:])
    assert (alone.least_deviation_ratio, alone.largest_deviation_ratio) == (None, None)


def test_series_must_match() -> None:
    with pytest.raises(ValueError, match="same length"):
        assess(series([1], 0.1), [])
