"""Random scenarios on pages of docs/studies: how far apart two engines are in the settings that a seed draws.

Explanations of the largest differences are written by hand, in `docs/studies/templates/blind_cases.toml`, for one seed.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from page_values import Values
from quiclab.errors import QuiclabError
from quiclab.result.stats import reduced
from quiclab.study import Study
from quiclab.study.findings import Key
from quiclab.study.registry import find
from quiclab_studies.validation.blind_views import Views, quantile

EXPLANATIONS = Path(__file__).resolve().parent.parent / "docs" / "studies" / "templates" / "blind_cases.toml"
NOT_LOOKED_AT = "Not looked at yet."
#: How far a run of the kernel lane may be beyond the range of the model's: the limit of the median difference.
TOLERANCE = 0.005


@dataclass(frozen=True)
class Spread:
    """Distribution of relative differences, whose magnitudes are shares: how many, median, 90 %, within a limit."""

    cases: int
    median: float
    most: float
    within: float


@dataclass(frozen=True)
class Range:
    """The range of a metric over runs of the model with other starts, and the runs of the kernel lane."""

    runs: int
    least: float
    most: float
    kernel: tuple[float, ...]
    tolerance: float = TOLERANCE

    @property
    def within(self) -> int:
        """How many runs of the kernel lane are in the range, which the tolerance widens."""
        return sum(
            self.least * (1 - self.tolerance) <= value <= self.most * (1 + self.tolerance) for value in self.kernel
        )


@dataclass(frozen=True)
class Case:
    """A setting with a large difference; goodputs in Mbit/s, differences as ratios, NaN where they are not known.

    `ranges` are those of goodput [Mbit/s] and mean RTT [ms].
    """

    name: str
    scenario: str
    model: float
    kernel: float
    goodput: float
    round_trip_time: float
    chance: float
    ranges: tuple[Range, ...]
    explanation: str


@dataclass(frozen=True)
class Cases:
    """The runs of a study that draws its settings, in all configurations or in some; what its views read."""

    values: Values
    name: str
    configurations: tuple[str, ...] = ()

    @cached_property
    def views(self) -> Views:
        """What the study shows of differences."""
        found: Views = import_module(f"quiclab_studies.{self.name.replace('/', '.')}").VIEWS
        return found

    @cached_property
    def study(self) -> Study:
        """The study, with the seed of the runs.

        Raises
        ------
        QuiclabError
            If the runs of both engines are of different seeds, so that they have different settings.
        """
        found = find(self.name)
        engines = (self.views.model, self.views.kernel)
        seeds = {}
        for engine in engines:
            self.samples(engine)  # tells whether they are new or stored
            seeds[engine] = int(self.values.source(self.name, _named(found, engine))["seed"])
        if len(set(seeds.values())) > 1:
            raise QuiclabError(
                f"{self.name}: "
                + ", ".join(f"the runs of {engine} are of seed {seed}" for engine, seed in seeds.items())
            )
        seed = seeds[engines[0]]
        return found if seed == found.design.seed else found.with_seed(seed)

    def samples(self, engine: str, variant: str = "", metric: str = "") -> dict[Key, list[float]]:
        """Return the values of the runs by setting."""
        del variant  # settings that are drawn have none
        found = find(self.name)
        runs = self.values.samples(self.name, metric or found.measures.metric.name, _named(found, engine))
        return {key: values for key, values in runs.items() if not self.configurations or key[0] in self.configurations}

    @property
    def seed(self) -> int:
        """The seed of the study."""
        return self.study.design.seed

    def apart(self, metric: str, limit: float) -> dict[str, Spread]:
        """Return how far the model is from the kernel lane, and two runs of the kernel lane from each other."""
        found = (self.views.differences(self, metric), self.views.repeatability(self, metric))
        return dict(zip(("model", "chance"), (_spread(item.values(), limit) for item in found), strict=True))

    @property
    def distribution(self) -> list[list[str]]:
        """The rows of the report's table of differences, below its heads."""
        return [list(self.views.tables[0].heads), *self.views.distribution(self, "")]

    @property
    def worst(self) -> list[Case]:
        """The settings with the largest differences."""
        goodput, rtt = (self.views.differences(self, metric.name) for metric in self.views.metrics[:2])
        chance = self.views.repeatability(self, self.views.metrics[0].name)
        model, kernel = (self.samples(engine) for engine in (self.views.model, self.views.kernel))
        known = explanations(self.name, self.seed)
        return [
            Case(
                named(key),
                self.views.describe(self.seed, key),
                reduced(model[key]),
                reduced(kernel[key]),
                goodput[key] / 100,
                rtt.get(key, math.nan) / 100,
                chance.get(key, math.nan) / 100,
                self.ranges(key),
                known.get(named(key), NOT_LOOKED_AT),
            )
            for key in self.views.furthest(self)
        ]

    def ranges(self, key: Key) -> tuple[Range, ...]:
        """Return the ranges of goodput and mean RTT in a setting over the starts of the flows within a tick."""
        found = []
        for metric in self.views.metrics[:2]:
            runs, least, most = self.values.ranges(self.name, metric.name).get(key, (0, math.nan, math.nan))
            kernel = self.samples(self.views.kernel, metric=metric.name).get(key, [])
            found.append(Range(runs, least, most, tuple(kernel)))
        return tuple(found)

    @property
    def unexplained(self) -> list[str]:
        """Messages about the explanations: cases without one, and explanations of others than the worst."""
        worst = {case.name: case.scenario for case in self.worst}
        known = explanations(self.name, self.seed)
        where = f"{self.name}, seed {self.seed}"
        return [
            *(f"{where}, case {name} ({what}) has no explanation" for name, what in worst.items() if name not in known),
            *(f"{where}, case {name} is explained, but not one of the worst" for name in known if name not in worst),
        ]

    @property
    def starts(self) -> int:
        """How many starts of the flows the study has, with that of the setting itself."""
        return 1 + len(self.study.design.variants)

    @property
    def single(self) -> int:
        """The number of the first of the `worst` cases that has one flow; 1 if none has."""
        flows = {case.name: case.scenario.rpartition("; ")[2] for case in self.worst}
        return next((int(name.split()[-1]) for name, listed in flows.items() if ", " not in listed), 1)

    def of(self, *configurations: str) -> Cases:
        """Return the runs of some configurations."""
        return replace(self, configurations=configurations)


def explanations(study: str, seed: int) -> dict[str, str]:
    """Return the explanations of cases by their names; none for another seed than theirs, whose cases are others."""
    known = tomllib.loads(EXPLANATIONS.read_text(encoding="utf-8")).get(study, {})
    found: dict[str, str] = known["cases"] if known and known["seed"] == seed else {}
    return found


def named(key: Key) -> str:
    """Return the name of a case: its configuration and its number."""
    return " ".join(map(str, key))


def _named(study: Study, engine: str) -> str:
    """Return an engine as values name it: the default one by nothing."""
    return "" if engine == study.design.default_engine else engine


def _spread(differences: Any, limit: float) -> Spread:
    """Return the distribution of differences [%]."""
    values = [value / 100 for value in differences]
    within = sum(abs(value) <= limit for value in values)
    if not values:
        return Spread(0, math.nan, math.nan, math.nan)
    return Spread(len(values), median(map(abs, values)), quantile(values, 0.9), within / len(values))
