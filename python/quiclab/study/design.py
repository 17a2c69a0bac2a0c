"""Design of a study: what is run."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.study.parts import BASE, SIM, Changes, Configuration, Engine, Factor, Point, Unavailable, Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quiclab.study.parts import Value


def unchanged(engine: str) -> Changes:
    """Return no changes of an engine to the scenario."""
    del engine
    return {}


@dataclass(frozen=True, kw_only=True)
class Design:
    """What a study runs.

    Attributes
    ----------
    scenario
        Base scenario, a file relative to the study's `home`.
    configurations, factors
        The factors; every combination is run.
    engines
        Stacks it can run with, at least one; the first is the default. If they are not given, settings name their
        stacks (`sim`).
    engine_changes
        Changes of an engine to the scenario.
    variants
        Other interpretations of the description.
    runs, seed
        Repetitions of each setting; run i has the seed `seed + i`.
    own_seeds
        Each setting has separate seeds (independent randomness, as in a testbed); variants, engines and parts
        of a setting have the same ones. `seed` and a hash of what is run give the first.
    unavailable
        Published configurations that cannot be run yet, with the reason.
    failures_are_results
        Whether a run is a result, too, in which a connection fails or a workload does not finish in time.
    """

    scenario: str
    configurations: tuple[Configuration, ...]
    runs: int
    engines: tuple[Engine, ...] = (Engine(SIM),)
    engine_changes: Callable[[str], Changes] = unchanged
    factors: tuple[Factor, ...] = ()
    variants: tuple[Variant, ...] = ()
    seed: int = 1
    own_seeds: bool = False
    unavailable: tuple[Unavailable, ...] = ()
    failures_are_results: bool = False

    @property
    def swept(self) -> tuple[Factor, ...]:
        """Factors that change the scenario."""
        return tuple(factor for factor in self.factors if factor.changes is not None)

    @property
    def parts(self) -> tuple[Factor, ...]:
        """Factors that name a part of each run."""
        return tuple(factor for factor in self.factors if factor.changes is None)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Base scenarios of the study and of values of its factors."""
        own = (factor.scenario(value) for factor in self.factors if factor.scenario for value in factor.values)
        return tuple(dict.fromkeys((self.scenario, *own)))

    def scenario_of(self, values: Mapping[str, Value]) -> str:
        """Return the base scenario of a setting, by the value of each factor."""
        own = [factor.scenario(values[factor.column]) for factor in self.factors if factor.scenario]
        return own[-1] if own else self.scenario

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that make the key of a setting."""
        return ("configuration", *(factor.column for factor in self.factors))

    @property
    def default_engine(self) -> str:
        """The engine of the columns and of the score."""
        return self.engines[0].name

    @property
    def labels(self) -> dict[str, str]:
        """Label of each configuration, run or not."""
        return {item.name: item.label for item in self.configurations} | {
            item.name: item.label for item in self.unavailable
        }

    def first_seed(self, point: Point) -> int:
        """Return the seed of the first run of a setting; parts of one run have the same one."""
        if not self.own_seeds:
            return self.seed
        setting = json.dumps([point.configuration, *(point.values[factor.column] for factor in self.swept)])
        return self.seed + 1000 * zlib.crc32(setting.encode())

    def factor(self, name: str) -> Factor:
        """Return a factor by its short name or its column."""
        return next(factor for factor in self.factors if name in (factor.name, factor.column))

    def engine(self, name: str) -> Engine:
        """Return an engine of the study by its name."""
        return next(engine for engine in self.engines if engine.name == name)

    @property
    def keys(self) -> dict[str, str]:
        """Keys of `--only`: key -> column."""
        columns = {"engine": "engine", "variant": "variant", "configuration": "configuration"}
        for factor in self.factors:
            columns |= {factor.name: factor.column, factor.column: factor.column}
        return columns

    def labels_of(self, column: str) -> list[str]:
        """Return the values of a column of settings, as text."""
        names = {
            "engine": [engine.name for engine in self.engines],
            "variant": [BASE, *(variant.name for variant in self.variants)],
            "configuration": [item.name for item in self.configurations],
        }
        return names[column] if column in names else [str(value) for value in self.factor(column).values]
