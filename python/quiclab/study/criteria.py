"""Criteria: how close measured settings have to be to a reference, with a limit for each of them.

A claim states whether a finding holds, a criterion limits the difference of each setting. The study fixes the limits
from the reference alone, before any measurement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import np
from quiclab.result.stats import Statistic, Summary, difference_half_width, reduced, summarise
from quiclab.study.claims import Claim
from quiclab.study.findings import Key, NotMeasuredError, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.study.ablation import Ablation, Readings
    from quiclab.study.predicates import Note


class Outcome(StrEnum):
    """Result of a criterion in one setting."""

    PASSED = "pass"
    MISS = "miss"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Line:
    """One setting that a criterion judges; several, where it judges them together.

    Attributes
    ----------
    key
        Configuration and value of each factor; the configuration alone where settings are judged together.
    reference, measured
        In the unit of the metric; `measured` is NaN where a run is missing or has no value.
    difference
        Measured minus reference: relative to the reference, or in the unit of the metric.
    limit
        Largest magnitude of `difference` that passes.
    margin
        Half of the 95 % interval of `difference`, from the scatter of the runs of both sides; NaN where there is none,
        or where it is no difference of two means.
    """

    key: Key
    reference: float
    measured: float
    difference: float
    limit: float
    margin: float = math.nan

    @property
    def outcome(self) -> Outcome:
        """Whether the difference is within the limit."""
        if math.isnan(self.difference):
            return Outcome.NOT_RUN
        return Outcome.PASSED if abs(self.difference) <= self.limit else Outcome.MISS


@dataclass(frozen=True)
class Criterion:
    """A limit on the distance of a metric from its reference, in each of several settings.

    Attributes
    ----------
    identity, statement
        Its identifier, and its statement.
    reference
        Value by setting, in the unit of the metric: what `statistic` gives of the reference's runs. Empty where the
        reference is another engine, whose runs give it.
    limits
        Largest distance that passes, by setting: exactly the settings that are judged.
    metric
        Name of the metric; the study's own by default.
    relative
        Whether distances are relative to the reference, or in the unit of the metric.
    statistic
        The statistic of the runs of a setting.
    together
        Whether the settings of a configuration are judged as one: by the mean over them.
    median_limit
        If given, the median of the distances of all lines must not exceed it, either.
    mean_limit
        The same for their mean.
    share
        Share of the lines that must be within their limits.
    explanation, ablation
        Where its claim is refuted: the mechanism, and what shows it, over the names of `terms`.
    """

    identity: str
    statement: str
    reference: Mapping[Key, float]
    limits: Mapping[Key, float]
    metric: str = ""
    relative: bool = True
    statistic: Statistic = "mean"
    together: bool = False
    median_limit: float | None = None
    mean_limit: float | None = None
    share: float = 1.0
    explanation: str = ""
    ablation: Ablation | None = None

    def assess(
        self, samples: Mapping[Key, Sequence[float]], scatter: Mapping[Key, Summary] | None = None
    ) -> Assessment:
        """Compare the runs of each setting with the reference.

        Parameters
        ----------
        samples
            Values of the runs by setting.
        scatter
            Mean and spread of the reference by setting, for the interval of the difference.
        """
        lines = self.lines(lambda key: reduced(samples.get(key, ()), self.statistic))
        measured = {key: summarise(samples.get(key, ())) for key in self.limits}
        return Assessment(self, self.with_margins(lines, measured, scatter or {}))

    def with_margins(
        self, lines: tuple[Line, ...], measured: Mapping[Key, Summary], scatter: Mapping[Key, Summary]
    ) -> tuple[Line, ...]:
        """Return lines with half of the 95 % intervals of their differences; NaN where neither side has two runs."""
        if self.together or self.statistic != "mean":
            return lines

        def margin(line: Line) -> float:
            nothing = summarise([])
            found = difference_half_width(measured[line.key], scatter.get(line.key, nothing))
            return found / abs(line.reference) if self.relative and line.reference else found

        return tuple(replace(line, margin=margin(line)) for line in lines)

    def lines(self, measured: Callable[[Key], float]) -> tuple[Line, ...]:
        """Return the judged settings, in the order of the limits.

        Parameters
        ----------
        measured
            Gives the value of a setting, NaN if it has none.
        """
        if not self.together:
            return tuple(
                self._line(key, self.reference.get(key, math.nan), measured(key), limit)
                for key, limit in self.limits.items()
            )
        groups: dict[str | int | float, list[Key]] = {}
        for key in self.limits:
            groups.setdefault(key[0], []).append(key)
        return tuple(
            self._line(
                (name,),
                reduced([self.reference.get(key, math.nan) for key in keys]),
                reduced([measured(key) for key in keys]),
                min(self.limits[key] for key in keys),
            )
            for name, keys in groups.items()
        )

    def _line(self, key: Key, reference: float, measured: float, limit: float) -> Line:
        difference = measured / reference - 1.0 if self.relative else measured - reference
        return Line(key, reference, measured, difference, limit)

    def claim(self, source: str) -> Claim:
        """Return the claim that every setting meets the criterion, for a verdict by bootstrap over the runs.

        Parameters
        ----------
        source
            Where the reference comes from.
        """

        def assessed(sample: Sample) -> Assessment:
            if key := next((key for key in self.limits if math.isnan(self.reference.get(key, math.nan))), None):
                raise NotMeasuredError(key)  # a setting that the reference, another engine, has not run
            return Assessment(self, self.lines(sample.at))

        return Claim(
            self.identity,
            source,
            self.statement,
            lambda sample: assessed(sample).passed,
            lambda sample: assessed(sample).numbers,
            note="The limits are quiclab's.",
            metric=self.metric,
            statistic=self.statistic,
            explanation=" ".join(self.explanation.split()),
            ablation=self._ablation(),
            terms=self.terms,
        )

    def terms(self, readings: Readings) -> dict[str, Any]:
        """Return the names that its explanation and its ablation may use, over the runs.

        `distance(WORD...)` is the mean of the magnitudes of the differences over the settings whose names have all of
        these words, `difference(KEY...)` that of one setting with its sign, `value(KEY...)`, `deviation(KEY...)` and
        `reference(KEY...)` mean and standard deviation of its runs and its reference; `under(VARIANT)` has the same
        names under a variant.
        """

        @cache
        def under(variant: str) -> SimpleNamespace:
            return SimpleNamespace(**self._names(readings(variant)))

        return {**vars(under("")), "under": under}

    def _names(self, sample: Sample) -> dict[str, Callable[..., float]]:
        spread = sample.of("", self.metric, "std")

        def difference(*key: str | int | float) -> float:
            return self._line(key, self.reference.get(key, math.nan), sample.at(key), self.limits[key]).difference

        def distance(*words: str) -> float:
            keys = [key for key in self.limits if all(word in "_".join(map(str, key)) for word in words)]
            return math.fsum(abs(difference(*key)) for key in keys) / len(keys)

        return {
            "difference": difference,
            "distance": distance,
            "value": lambda *key: sample.at(key),
            "deviation": lambda *key: spread.at(key),
            "reference": lambda *key: self.reference.get(key, math.nan),
        }

    def _ablation(self) -> Ablation | None:
        """Return its ablation with functions in place of the expression."""
        if self.ablation is None or not self.ablation.shows:
            return self.ablation
        code = compile(self.ablation.shows, self.identity, "eval")

        def names(readings: Readings, note: Note | None) -> dict[str, Any]:
            terms = self.terms(readings)
            return {**(terms if note is None else _noted(terms, note)), "abs": abs, "__builtins__": {}}

        return self.ablation.stated(code, code, names)


def _noted(terms: Mapping[str, Any], note: Note) -> dict[str, Any]:
    """Return terms that note each of their calls."""

    def noted(name: str, function: Callable[..., float], where: str = "") -> Callable[..., float]:
        def call(*key: Any) -> float:
            value = function(*key)
            note(f"{name}({', '.join(map(str, key))}){where}", value)
            return value

        return call

    def under(variant: str) -> SimpleNamespace:
        each = vars(terms["under"](variant))
        return SimpleNamespace(**{name: noted(name, one, f" under {variant}") for name, one in each.items()})

    return {**{name: noted(name, one) for name, one in terms.items() if name != "under"}, "under": under}


@dataclass(frozen=True)
class Assessment:
    """A criterion with its lines."""

    criterion: Criterion
    lines: tuple[Line, ...]

    @property
    def median(self) -> float:
        """Median of the magnitudes of the differences; NaN if a line has none."""
        return float(np.median([abs(line.difference) for line in self.lines]))

    @property
    def mean(self) -> float:
        """Mean of the magnitudes of the differences; NaN if a line has none."""
        return math.fsum(abs(line.difference) for line in self.lines) / len(self.lines)

    @property
    def outcome(self) -> Outcome:
        """Pass where every line does, or the required share of them, and their median and mean, too."""
        outcomes = [line.outcome for line in self.lines]
        typical = ((self.median, self.criterion.median_limit), (self.mean, self.criterion.mean_limit))
        if Outcome.NOT_RUN in outcomes:
            return Outcome.NOT_RUN
        too_few = outcomes.count(Outcome.PASSED) < self.criterion.share * len(outcomes)
        if too_few or any(limit is not None and value > limit for value, limit in typical):
            return Outcome.MISS
        return Outcome.PASSED

    @property
    def passed(self) -> bool:
        """Whether the criterion is met everywhere."""
        return self.outcome is Outcome.PASSED

    @property
    def numbers(self) -> dict[str, float]:
        """How many lines pass, and how far off they are, as a part of the limit and in the median."""
        return {
            "settings": float(len(self.lines)),
            "settings that pass": float(sum(line.outcome is Outcome.PASSED for line in self.lines)),
            "largest difference/limit": max(abs(line.difference) / line.limit for line in self.lines),
            "median difference": self.median,
            "mean difference": self.mean,
        }
