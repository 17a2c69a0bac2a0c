"""Values that a publication prints, as predicates of claims read them, and drawn within their own uncertainty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab._base.libraries import np
from quiclab.result.stats import RESAMPLES, Statistic, generator_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from quiclab.result.stats import Array
    from quiclab.study.findings import Grid, Key, Resamples


class Printed:
    """Findings of a publication: one value a setting and statistic.

    Parameters
    ----------
    grid
        From study and metric to what is printed; the only run of a setting is its mean.
    deviations
        The same for standard deviations.
    counts
        The same for numbers of runs.
    """

    def __init__(
        self,
        grid: Callable[[str, str], Grid],
        deviations: Callable[[str, str], Mapping[Key, float]] = lambda study, metric: {},  # noqa: ARG005
        counts: Callable[[str, str], Mapping[Key, int]] = lambda study, metric: {},  # noqa: ARG005
    ) -> None:
        self.grid, self._deviations, self._counts = grid, deviations, counts
        self.index = 0

    def value(self, study: str, metric: str, statistic: Statistic, key: Key) -> float:
        """Return a printed value; NaN if there is none."""
        if statistic == "std":
            return self._deviations(study, metric).get(key, math.nan)
        runs = self.grid(study, metric).runs.get(key)
        return runs[0] if runs and statistic == "mean" else math.nan

    def series(self, study: str, metric: str, statistic: Statistic, key: Key) -> Array:
        """Return the only value as a series."""
        return np.array([self.value(study, metric, statistic, key)])

    def count(self, study: str, metric: str, key: Key) -> int:
        """Return the number of runs of a published value; 0 if unknown."""
        return self._counts(study, metric).get(key, 0)

    def redrawn(self, draws: int = RESAMPLES, runs: Resamples | None = None) -> Redrawn:
        """Return the printed values as further measurements could give them; see `Redrawn`."""
        return Redrawn(self, draws, runs)


class Redrawn:
    """Findings of a publication as they are printed, and then drawn within their own uncertainty.

    A mean is drawn from the normal distribution with its standard error, deviation / sqrt(n); a deviation from that of
    the deviations of n normally distributed values. Settings are drawn independently: which runs belong together is not
    printed.

    Parameters
    ----------
    printed
        The publication.
    draws
        Number of draws; with `runs` their number of resamples.
    runs
        Measured runs. A value without a printed deviation is moved by what each resample of the runs of that setting
        differs from all of them.

    Attributes
    ----------
    scattered
        Whether each setting that was read has a deviation and a number of runs, or measured runs in their place: what
        is drawn says nothing otherwise.
    """

    def __init__(self, printed: Printed, draws: int = RESAMPLES, runs: Resamples | None = None) -> None:
        self._printed = printed
        self._runs = runs
        self.draws = draws if runs is None else runs.resamples
        self.grid = printed.grid
        self.index = 0
        self.scattered = True
        self._drawn: dict[tuple[str, str, Statistic, Key], Array] = {}

    def value(self, study: str, metric: str, statistic: Statistic, key: Key) -> float:
        """Return a value of the draw in turn; NaN if there is none."""
        return float(self.series(study, metric, statistic, key)[self.index])

    def series(self, study: str, metric: str, statistic: Statistic, key: Key) -> Array:
        """Return the printed value and those of all draws; NaN if there is none."""
        asked = (study, metric, statistic, key)
        if asked not in self._drawn:
            self._drawn[asked] = self._draw(*asked)
        return self._drawn[asked]

    def count(self, study: str, metric: str, key: Key) -> int:
        """Return the number of runs of a published value; 0 if unknown."""
        return self._printed.count(study, metric, key)

    def each(self) -> Iterator[int]:
        """Go through the draws (from 1 on)."""
        for index in range(1, self.draws + 1):
            self.index = index
            yield index
        self.index = 0

    def _draw(self, study: str, metric: str, statistic: Statistic, key: Key) -> Array:
        printed = self._printed.value(study, metric, statistic, key)
        deviation, runs = self._printed.value(study, metric, "std", key), self.count(study, metric, key)
        if math.isnan(printed):
            return np.full(1 + self.draws, math.nan)
        if math.isnan(deviation) or runs < 2:
            measured = None if self._runs is None else self._runs.series(study, metric, statistic, key)
            if measured is None or not np.isfinite(measured).all():
                self.scattered = False
                return np.full(1 + self.draws, printed)
            return np.asarray(printed + (measured - measured[0]))
        generator = generator_of("|".join(["printed", statistic, study, metric, *map(str, key)]))
        if statistic == "std":
            drawn = printed * np.sqrt(generator.chisquare(runs - 1, self.draws) / (runs - 1))
        else:
            drawn = generator.normal(printed, deviation / math.sqrt(runs), self.draws)
        return np.concatenate([[printed], drawn])
