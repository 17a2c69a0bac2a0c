"""Statistics against values computed by hand or known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from quiclab.result.stats import bootstrap, half_widths, pooled_std, relative_difference, summarise


def test_summary_of_three_runs() -> None:
    # deviations -1, 0, 1: sample variance 1; t(0.975, 2) = 4.302652... (tables)
    summary = summarise([1.0, 2.0, 3.0])
    assert (summary.n, summary.mean, summary.std) == (3, 2.0, 1.0)
    half = 4.302652729911275 / math.sqrt(3)
    assert summary.low == pytest.approx(2.0 - half, rel=1e-9)
    assert summary.high == pytest.approx(2.0 + half, rel=1e-9)
    assert summary.standard_error == pytest.approx(1 / math.sqrt(3))


def test_intervals_are_those_of_scipy() -> None:
    counts = np.array([2, 3, 10, 30, 1000, 100_000, 10_000_000])
    quantiles = scipy.stats.t.ppf(0.975, counts - 1)
    np.testing.assert_allclose(half_widths(counts, np.sqrt(counts)), quantiles, rtol=1e-9)


def test_too_few_runs_have_no_spread() -> None:
    assert summarise([]).n == 0
    assert math.isnan(summarise([]).mean)
    one = summarise([5.0])
    assert one.mean == 5.0
    assert math.isnan(one.std)
    assert math.isnan(one.low)


def test_pooled_deviation_is_the_root_of_the_mean_variance() -> None:
    assert pooled_std([3.0, 4.0]) == pytest.approx(math.sqrt(12.5))


def test_relative_difference() -> None:
    assert relative_difference(11.0, 10.0) == pytest.approx(0.1)
    assert relative_difference(9.0, 10.0) == pytest.approx(0.1)


def test_bootstrap_has_the_theoretical_error_and_repeats() -> None:
    values = [0.0, 1.0, 2.0, 3.0, 4.0]
    means = bootstrap(values, "a", resamples=20_000)
    assert means[0] == 2.0
    means = means[1:]
    # the variance of a bootstrap mean is the population variance over n: 2 / 5
    assert means.shape == (20_000,)
    assert float(np.var(means)) == pytest.approx(0.4, rel=0.05)
    assert float(np.mean(means)) == pytest.approx(2.0, abs=4 * math.sqrt(0.4 / 20_000))
    assert set(bootstrap([7.0, 7.0], "b", resamples=50)) == {7.0}
    assert np.array_equal(means, bootstrap(values, "a", resamples=20_000)[1:])
    deviations = bootstrap(values, "a", resamples=50, statistic="std")
    assert deviations[0] == pytest.approx(math.sqrt(2.5))
    assert np.isnan(bootstrap([], "c", resamples=5)).all()


def test_bootstrap_resamples_settings_independently() -> None:
    values = [float(value) for value in range(10)]
    a, b = bootstrap(values, "a", resamples=4000), bootstrap(values, "b", resamples=4000)
    correlation = float(np.corrcoef(a, b)[0, 1])
    # of independent samples: standard error 1 / sqrt(4000) = 0.016
    assert abs(correlation) < 5 * 0.016
