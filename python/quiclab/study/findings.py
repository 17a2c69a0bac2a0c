"""Values that predicates of claims read: of all runs, of one resample of them, or of a publication."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

from quiclab.errors import RequestError, alternatives, not_one_of, unknown
from quiclab.result.stats import RESAMPLES, Statistic, bootstrap

if TYPE_CHECKING:
    from quiclab.result.stats import Array

Key: TypeAlias = tuple[str | int | float, ...]


class NotMeasuredError(Exception):
    """A predicate used a setting without a value.

    Parameters
    ----------
    key
        Configuration and value of each factor.
    study
        Name of the study, where it is not the one of the claim.
    """

    def __init__(self, key: Key, study: str = "") -> None:
        setting = ", ".join(part if isinstance(part, str) else f"{part:g}" for part in key)
        super().__init__(f"{setting} of {study}" if study else setting)
        self.key, self.study = key, study

    def named(self, grid: Callable[[str, str], Grid]) -> str:
        """Say which setting it is in the words of its study, as `grid` knows them: a reader knows no keys."""
        name = grid(self.study, "").name
        if name is None:
            return str(self)
        return f"{name(self.key)} of {self.study}" if self.study else name(self.key)


@dataclass(frozen=True)
class Grid:
    """The runs of one metric of one study.

    Attributes
    ----------
    factors
        Short names of the factors, in the order of the keys, each with its values.
    configurations
        Names of the configurations.
    runs
        Values of the runs by (configuration, value of each factor).
    seeds
        Seed of each run of a setting, where they are known: runs with equal seeds are resampled together, so that
        differences of settings are those of pairs.
    known
        Names of all configurations, also of those that are not run; empty if unknown.
    name
        From the key of a setting to its name for readers.
    """

    factors: Mapping[str, tuple[str | int | float, ...]]
    configurations: tuple[str, ...]
    runs: Mapping[Key, Sequence[float]]
    seeds: Mapping[Key, Sequence[int]] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    name: Callable[[Key], str] | None = None

    @cached_property
    def together(self) -> dict[int, tuple[int, ...]]:
        """The seeds that are resampled together with each seed, sorted: those of all settings that share some."""
        found: dict[int, tuple[int, ...]] = {}
        for seeds in dict.fromkeys(map(tuple, self.seeds.values())):
            shared = {found[seed] for seed in seeds if seed in found}
            joined = tuple(sorted({*seeds, *(seed for others in shared for seed in others)}))
            found |= dict.fromkeys(joined, joined)
        return found

    def check(self, key: Key) -> None:
        """Check that a setting without a value is one of the study.

        Raises
        ------
        RequestError
            If it has no such configuration, or a factor has no such value.
        """
        if not self.known:
            return
        if key[0] not in self.known:
            raise unknown("configuration", str(key[0]), self.known)
        for (name, values), value in zip(self.factors.items(), key[1:], strict=True):
            if value not in values:
                raise not_one_of(name, str(value), values)


class Findings(Protocol):
    """Where a predicate finds values: the runs, one resample of them, or a publication.

    Attributes
    ----------
    index
        Which of the values of `series` is in turn.
    """

    index: int

    def grid(self, study: str, metric: str) -> Grid:
        """Return the values of a metric of a study; empty names are those of the claim."""
        ...

    def value(self, study: str, metric: str, statistic: Statistic, key: Key) -> float:
        """Return a value; NaN if there is none."""
        ...

    def series(self, study: str, metric: str, statistic: Statistic, key: Key) -> Array:
        """Return the value over all runs and those of all resamples; NaN if there is none."""
        ...

    def count(self, study: str, metric: str, key: Key) -> int:
        """Return the number of runs of a setting."""
        ...


class Sample:
    """Values of one resample (or of all runs, or of a publication), as used by predicates.

    Parameters
    ----------
    findings
        Where they are.
    study, metric, statistic
        Study and metric; empty names are those of the claim.
    """

    def __init__(self, findings: Findings, study: str = "", metric: str = "", statistic: Statistic = "mean") -> None:
        self._findings = findings
        self._asked = (study, metric, statistic)
        self._grid = findings.grid(study, metric)
        self.configurations = self._grid.configurations

    def __call__(self, configuration: str, **point: str | float) -> float:
        """Return the value of a configuration at one point, such as `t("quic_large_buffer", batch=100)`.

        Raises
        ------
        NotMeasuredError
            If there is none.
        RequestError
            If a factor is missing, or does not exist.
        """
        factors = self._grid.factors
        for name in point:
            if name not in factors:
                raise unknown("factor", name, factors)
        if missing := [name for name in factors if name not in point]:
            raise RequestError(f"a value of {alternatives(missing)} is missing for configuration `{configuration}`")
        return self.at((configuration, *(point[name] for name in factors)))

    def at(self, key: Key) -> float:
        """Return the value of one setting, by its configuration and the value of each factor.

        Raises
        ------
        NotMeasuredError
            If there is none.
        """
        value = self._findings.value(*self._asked, key)
        if math.isnan(value):
            self._grid.check(key)
            raise NotMeasuredError(key, self._asked[0])
        return value

    @property
    def index(self) -> int:
        """Which value of `series` is that of the resample in turn."""
        return self._findings.index

    def series(self, key: Key) -> Array:
        """Return the value of one setting over all runs and its values in all resamples, for vectorised predicates."""
        return self._findings.series(*self._asked, key)

    def count(self, key: Key) -> int:
        """Return the number of runs of a setting."""
        return self._findings.count(self._asked[0], self._asked[1], key)

    @property
    def factors(self) -> Mapping[str, tuple[str | int | float, ...]]:
        """Values of each factor by its short name, in the order of the keys."""
        return self._grid.factors

    def values(self, factor: str) -> tuple[float, ...]:
        """Return the grid of a factor."""
        return tuple(float(value) for value in self._grid.factors[factor])

    def of(self, study: str = "", metric: str = "", statistic: Statistic = "mean") -> Sample:
        """Return the same resample of another study, metric or statistic; empty names are those of the claim."""
        return Sample(self._findings, study, metric, statistic)


class Resamples:
    """Findings of the runs: all of them, then resample by resample.

    Runs with equal seeds are resampled together, others independently: a bootstrap of pairs.

    Parameters
    ----------
    grid
        From study and metric to the runs.
    resamples
        Number of resamples.
    """

    def __init__(self, grid: Callable[[str, str], Grid], resamples: int = RESAMPLES) -> None:
        self.grid = grid
        self.resamples = resamples
        self._drawn: dict[tuple[str, str, Statistic, Key], tuple[Array, int]] = {}
        self.index = 0
        self.read: dict[tuple[str, Key], int] = {}
        """Number of runs of each setting that was read."""

    def value(self, study: str, metric: str, statistic: Statistic, key: Key) -> float:
        """Return a value of the resample in turn; NaN if there is none."""
        return float(self.series(study, metric, statistic, key)[self.index])

    def series(self, study: str, metric: str, statistic: Statistic, key: Key) -> Array:
        """Return the value over all runs and those of all resamples; NaN if there is none."""
        asked = (study, metric, statistic, key)
        if asked not in self._drawn:
            self._drawn[asked] = self._draw(*asked)
        drawn, runs = self._drawn[asked]
        self.read[study, key] = runs
        return drawn

    def count(self, study: str, metric: str, key: Key) -> int:
        """Return the number of runs of a setting, which a resample has as well."""
        return len(self.grid(study, metric).runs.get(key, ()))

    def each(self) -> Iterator[int]:
        """Go through all runs (0) and the resamples (from 1 on)."""
        for index in range(self.resamples + 1):
            self.index = index
            yield index
        self.index = 0

    def _draw(self, study: str, metric: str, statistic: Statistic, key: Key) -> tuple[Array, int]:
        grid = self.grid(study, metric)
        values, seeds = grid.runs.get(key, ()), grid.seeds.get(key, ())
        # a run without a value (NaN) leaves its setting without one
        if not seeds:
            return bootstrap(values, "|".join(map(str, (study, *key))), self.resamples, statistic), len(values)
        together = grid.together[seeds[0]]
        name, places = ",".join(map(str, together)), [bisect_left(together, seed) for seed in seeds]
        drawn = bootstrap(values, name, self.resamples, statistic, places=places, among=len(together))
        return drawn, len(values)
