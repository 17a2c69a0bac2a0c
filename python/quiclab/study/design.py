"""Definition of a study: base scenario, factors, number of runs, metrics, and reference.

A module of a study builds these values and lists them as `STUDIES`; it reads like the abstract of an experiment.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab.errors import RequestError, not_one_of, unknown
from quiclab.study.parts import (
    BASE,
    NOT_PUBLISHED,
    Assumption,
    Changes,
    Configuration,
    Engine,
    Factor,
    Figure,
    Metric,
    Model,
    Point,
    Table,
    TextTable,
    Unavailable,
    Value,
    Variant,
    View,
)
from quiclab.study.points import configurations_of, point_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from quiclab.result import Keep
    from quiclab.study.claims import Claim
    from quiclab.study.criteria import Criterion


@dataclass(frozen=True, kw_only=True)
class Study:
    """A published experiment, ready to run again.

    Attributes
    ----------
    name
        `group/experiment`.
    title, abstract, source
        Subject and publication.
    scenario
        Base scenario, a file relative to `home`.
    configurations, factors
        The factors; every combination is run.
    metric
        The main metric.
    further
        Further metrics; criteria and claims can use them, figures over a factor and scores do not.
    engines
        Stacks it can run with; the first is the default.
    engine_changes
        Changes of an engine to the scenario.
    runs, seed
        Repetitions of each setting; run i has the seed `seed + i`.
    own_seeds
        Each setting has separate seeds (independent randomness, as in a testbed); variants and engines
        of a setting have the same ones. `seed` and a hash of the setting give the first.
    table, figures, claims
        The reference; by default there is none.
    assumptions, variants, limits
        Interpretation of the description, and its omissions.
    unavailable
        Published configurations that cannot be run yet, with the reason.
    criteria
        How close to the table the results have to be.
    scored
        Name of the metric whose fidelity is reported; the main one by default.
    kept_series
        Metrics of time series that are kept with the results, for metrics that need them; `record.series_interval` of
        the scenario samples them. Those of `quiclab.series.by_flow` can be among them.
    keep
        Data stored of the qlog files and captures of the runs, for metrics that require it: `data["kept"]` of a
        result. A function of a module of quiclab. Programs of the kernel lane write no qlog.
    describe
        Columns of a setting in `study table` where the publication has no row: from its resolved scenario and labels.
    model
        An estimate without simulation that figures show as a separate line.
    views
        Figures of single runs, made again for the report.
    series_factor
        Short name of the factor over which series run, where several are varied; the one that is varied by default.
    text_table
        A table of text for findings without numbers.
    file
        The file that lists it; set when the study is found.
    """

    name: str
    title: str
    abstract: str
    scenario: str
    configurations: tuple[Configuration, ...]
    metric: Metric
    engines: tuple[Engine, ...]
    engine_changes: Callable[[str], Changes]
    runs: int
    source: str = ""
    figures: tuple[Figure, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    factors: tuple[Factor, ...] = ()
    table: Table = NOT_PUBLISHED
    claims: tuple[Claim, ...] = ()
    variants: tuple[Variant, ...] = ()
    limits: tuple[str, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    seed: int = 1
    own_seeds: bool = False
    further: tuple[Metric, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    scored: str = ""
    kept_series: tuple[str, ...] = ()
    keep: Keep | None = None
    describe: Callable[[Mapping[str, Any], Mapping[str, Value]], Mapping[str, object]] | None = None
    model: Model | None = None
    views: tuple[View, ...] = ()
    series_factor: str = ""
    text_table: TextTable | None = None
    file: Path = Path()

    @property
    def home(self) -> Path:
        """Directory that scenario and tables are relative to: that of the package or folder with its file."""
        return self.file.parent.parent

    @property
    def swept(self) -> tuple[Factor, ...]:
        """Factors that change the scenario."""
        return tuple(factor for factor in self.factors if factor.changes is not None)

    @property
    def parts(self) -> tuple[Factor, ...]:
        """Factors that name a part of each run."""
        return tuple(factor for factor in self.factors if factor.changes is None)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that make the key of a setting."""
        return ("configuration", *(factor.column for factor in self.factors))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metric of the study, then the further ones."""
        return (self.metric, *self.further)

    def first_seed(self, point: Point) -> int:
        """Return the seed of the first run of a setting."""
        if not self.own_seeds:
            return self.seed
        setting = json.dumps([point.configuration, *point.values.values()])
        return self.seed + 1000 * zlib.crc32(setting.encode())

    def metric_of(self, name: str) -> Metric:
        """Return a metric by its name; the study's own without one."""
        return next(item for item in self.metrics if item.name == (name or self.metric.name))

    @property
    def is_series(self) -> bool:
        """Whether its results are series over one factor, which have a shape, a knee and an optimum."""
        one_number = len(self.swept) == 1 and not any(isinstance(value, str) for value in self.swept[0].values)
        return bool(self.series_factor) or one_number

    @property
    def series_factors(self) -> tuple[Factor, ...]:
        """Factors that distinguish series: all except the series factor, if it is named; otherwise parts of runs."""
        return (
            tuple(item for item in self.factors if item.name != self.series_factor)
            if self.series_factor
            else self.parts
        )

    def series_key(self, key: Sequence[Value]) -> tuple[Value, ...]:
        """Return the series of a setting: its configuration, and the values of the series factors."""
        values = dict(zip((factor.name for factor in self.factors), key[1:], strict=False))
        return (key[0], *(values[factor.name] for factor in self.series_factors))

    def series_label(self, key: Sequence[Value]) -> str:
        """Return the name of a series in figures, from its key."""
        parts = [str(value) for value in key[1:]]
        if parts and len(self.configurations) == 1:
            return ", ".join(parts)
        return ", ".join([self.labels.get(str(key[0]), str(key[0])), *parts])

    @property
    def series_labels(self) -> list[str]:
        """Names of all series, in the order of the study."""
        keys = [
            (name, *parts) for name in self.labels for parts in product(*(item.values for item in self.series_factors))
        ]
        return [self.series_label(key) for key in keys]

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

    def factor(self, name: str) -> Factor:
        """Return a factor by its short name or its column."""
        return next(factor for factor in self.factors if name in (factor.name, factor.column))

    def engine(self, name: str) -> Engine:
        """Return an engine of the study by its name."""
        return next(engine for engine in self.engines if engine.name == name)

    def engine_of(self, engine: str, configuration: str) -> str:
        """Return what tables call the stack of a configuration when the study runs with an engine."""
        named = next(item.engine for item in self.configurations if item.name == configuration)
        return named if named and self.engine(engine).lane is None else engine

    def engines_of(self, lane: str, choice: str) -> tuple[str, ...]:
        """Read `--engines` as `chosen_engines` does, among the engines of one lane.

        Raises
        ------
        RequestError
            If the study has no such engine there.
        """
        there = [engine.name for engine in self.engines if engine.lane_name == lane]
        if not there:
            has = ", ".join(f"{engine.name} ({engine.lane_name})" for engine in self.engines)
            raise RequestError(f"study {self.name} has no engine of lane {lane}; available: {has}")
        if choice in ("default", "all"):
            return tuple(there[:1] if choice == "default" else there)
        chosen = self.chosen_engines(choice)
        for name in chosen:
            if name not in there:
                raise not_one_of("engines", name, there, f"in lane {lane}", where=f"study {self.name}")
        return chosen

    def chosen_engines(self, choice: str) -> tuple[str, ...]:
        """Return the engines of `--engines`: `default`, `all`, or names joined by commas.

        Raises
        ------
        RequestError
            If the study does not have an engine of that name.
        """
        names = tuple(engine.name for engine in self.engines)
        if choice == "default":
            return names[:1]
        if choice == "all":
            return names
        chosen = self._named(choice, "engine", names)
        return tuple(name for name in names if name in chosen)

    def with_reference(self, engines: Sequence[str]) -> tuple[str, ...]:
        """Add the engine that the others are compared with, if there is one, in the order of the study."""
        return tuple(engine.name for engine in self.engines if engine.name in (*engines, self.table.engine))

    def chosen_variants(self, choice: str) -> tuple[str, ...]:
        """Return the variants of `--variants`: `none`, `all`, or names joined by commas.

        Raises
        ------
        RequestError
            If the study does not have a variant of that name.
        """
        names = tuple(variant.name for variant in self.variants)
        if choice in ("none", "all"):
            return names if choice == "all" else ()
        return self._named(choice, "variant", names)

    def _named(self, choice: str, kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names in a choice.

        Raises
        ------
        RequestError
            If one of them is none of the study's.
        """
        chosen = tuple(name.strip() for name in choice.split(","))
        for name in chosen:
            if name not in names:
                raise unknown(kind, name, names, where=f"study {self.name}")
        return chosen

    def points(
        self,
        engines: tuple[str, ...],
        runs: int | None = None,
        only: Mapping[str, tuple[str, ...]] | None = None,
        variants: tuple[str, ...] | None = None,
    ) -> Iterator[Point]:
        """List the settings to run: each engine as published, then the variants with the default engine.

        Parameters
        ----------
        engines
            Names of engines.
        runs
            Repetitions of each setting; the study's own number by default. Bounds of engines and variants hold.
        only
            Values to keep, by `configuration`, `variant`, `engine` or the name or column of a factor.
        variants
            Names of variants; all by default.

        Raises
        ------
        RequestError
            If `only` names something else, or keeps nothing.
        """
        keep = self._checked(only or {})
        count = runs or self.runs
        plans: list[tuple[str, str, int, Changes | Callable[[Changes], Changes]]] = []
        chosen = [engine for engine in self.engines if engine.name in engines]
        plans += [(engine.name, BASE, min(count, engine.runs or count), {}) for engine in chosen]
        if self.default_engine in engines:
            plans += [
                (self.default_engine, variant.name, min(count, variant.runs), variant.changes)
                for variant in self.variants
                if variants is None or variant.name in variants
            ]
        found = False
        for engine_name, variant_name, repetitions, changes in plans:
            for configuration in configurations_of(self, engine_name):
                for values in product(*(factor.values for factor in self.factors)):
                    point = point_of(self, engine_name, variant_name, configuration, values, changes, repetitions)
                    if all(str(point.labels[key]) in allowed for key, allowed in keep.items()):
                        found = True
                        yield point
        if not found:
            wanted = ", ".join(f"{key}={'|'.join(values)}" for key, values in keep.items())
            raise RequestError(f"no setting of {self.name} has {wanted}")

    @property
    def keys(self) -> dict[str, str]:
        """Keys of `--only`: key -> column."""
        columns = {"engine": "engine", "variant": "variant", "configuration": "configuration"}
        for factor in self.factors:
            columns |= {factor.name: factor.column, factor.column: factor.column}
        return columns

    def _labels_of(self, column: str) -> list[str]:
        """Return the values of a column of settings, as text."""
        names = {
            "engine": [engine.name for engine in self.engines],
            "variant": [BASE, *(variant.name for variant in self.variants)],
            "configuration": [item.name for item in self.configurations],
        }
        return names[column] if column in names else [str(value) for value in self.factor(column).values]

    def _checked(self, only: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Check keys and values of `--only`, and translate the keys to columns."""
        columns, where = self.keys, f"study {self.name}"
        for key, wanted in only.items():
            if key not in columns:
                raise unknown("column", key, columns, where=where)
            for value in wanted:
                if value not in (known := self._labels_of(columns[key])):
                    raise not_one_of(f"--only {key}", value, known, where=where)
        return {columns[key]: values for key, values in only.items()}
