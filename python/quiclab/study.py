"""What a study is: base scenario, what is varied, how often, what is measured, and what it is compared with.

A study file in `studies/` builds these values and lists them as `STUDIES`; it reads like the abstract of an experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from quiclab.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quiclab.claims import Claim
    from quiclab.criteria import Criterion
    from quiclab.kernel.lane import Lane
    from quiclab.result import RunResult

Value: TypeAlias = str | int | float
Changes: TypeAlias = Mapping[str, object]
"""Dotted path in the scenario -> new value."""

BASE = ""
"""Name of the reading of the published description that is compared and scored; variants have names."""


def with_unit(label: str, unit: str) -> str:
    """Return a title with its unit in brackets; shares and counts have none, and no brackets either."""
    return f"{label} [{unit}]" if unit else label


@dataclass(frozen=True)
class Configuration:
    """One series of a study: a setting that the figures show in a colour of its own.

    Attributes
    ----------
    name, label
        Its name in tables, and in figures.
    changes
        What it changes in the scenario, after what the engine changes; or a function from what engine and factors
        change to all that is changed.
    engine
        What tables call the stack that it names itself, whichever engine the study runs with: the TCP beside several
        QUIC stacks.
    """

    name: str
    label: str
    changes: Changes | Callable[[Changes], Changes]
    engine: str = ""


@dataclass(frozen=True)
class Unavailable:
    """A published configuration that cannot be run yet; the figure shows the published values."""

    name: str
    label: str
    reason: str


@dataclass(frozen=True)
class Factor:
    """What is varied.

    Attributes
    ----------
    name
        Short name, for claims and `--only`.
    column
        Its column in the reference tables.
    label, unit
        Title of the axis, as in the publication.
    values
        The grid, in its order.
    changes
        What a value changes in the scenario; `None` if it names a part of each run, such as one of its flows.
    """

    name: str
    column: str
    label: str
    unit: str
    values: tuple[Value, ...]
    changes: Callable[[Value], Changes] | None


@dataclass(frozen=True)
class Metric:
    """What is measured in a run; `name` carries the unit as a suffix and is the stem of the result columns.

    Attributes
    ----------
    measure
        From a run to the value; it gets the part of the run, too, if the metric is one `of` a part.
    of
        Short name of the factor that names the part.
    """

    name: str
    label: str
    unit: str
    measure: Callable[..., float]
    of: str = ""

    def value(self, result: RunResult, parts: Mapping[str, Value]) -> float:
        """Measure a run, or a part of it; `parts` has the value of each factor that names one."""
        return self.measure(result, parts[self.of]) if self.of else self.measure(result)


@dataclass(frozen=True)
class Table:
    """What a study is compared with: a published table, or another engine in the same networks.

    Attributes
    ----------
    file
        CSV under the repository root, with the columns of the factors, `configuration`, `n_runs` and, for the metric,
        `<metric>_mean` and `<metric>_std`; another table is brought into that form by `read`.
    source
        Where it was published.
    read
        Returns the rows of `file` (its whole path) with those columns.
    further
        Other files that `read` needs.
    engine
        Engine of the study whose runs are the reference; `file` is empty then.

    Without file and engine there is nothing to compare with: the source shows a figure, or says it in words.
    """

    file: str
    source: str
    read: Callable[[Path], Sequence[Mapping[str, str]]] | None = None
    further: tuple[str, ...] = ()
    engine: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart of one metric over one factor, published and measured; or of how far a criterion is met.

    Attributes
    ----------
    x
        Short name of the factor; empty where configurations stand beside one another.
    criterion
        Identity of a criterion: its settings are shown one below the other, with its limits, in place of a factor.
    pairs
        Show reference and measurement of each setting of the criterion, and not their difference.
    metric
        Name of a further metric, in place of the study's own.
    """

    title: str
    source: str
    x: str
    caption: str
    criterion: str = ""
    pairs: bool = False
    metric: str = ""


@dataclass(frozen=True)
class Assumption:
    """Something the publication does not say, and why we set it as we do."""

    statement: str
    reason: str


@dataclass(frozen=True)
class Variant:
    """Another reading of the description, shown beside and never in the score.

    Attributes
    ----------
    name, label, reason
        What it is called, and why one may read it so.
    changes
        What it changes in each setting; or a function from what the setting changes already to all that it changes.
    runs
        Bound of the repetitions.
    """

    name: str
    label: str
    reason: str
    changes: Changes | Callable[[Changes], Changes]
    runs: int


@dataclass(frozen=True)
class Engine:
    """A stack that a study can run with.

    Attributes
    ----------
    name
        How results call it.
    runs
        Bound of the repetitions, for slow ones.
    lane
        How it runs in the kernel lane; None for the sim lane.
    needs
        Stack of the sim lane that the build must have; by default the one of the same name.
    stacks
        Programs that stand for stacks which a configuration names: the name of a stack, and that of the program.
    configurations
        Those that it runs; all by default.
    """

    name: str
    runs: int | None = None
    lane: Lane | None = None
    needs: str = ""
    stacks: Mapping[str, str] = field(default_factory=dict)
    configurations: tuple[str, ...] = ()

    @property
    def lane_name(self) -> str:
        """The lane as in tables: `sim` or `kernel`."""
        return "sim" if self.lane is None else "kernel"


@dataclass(frozen=True)
class Model:
    """An estimate of the metric without simulation.

    Attributes
    ----------
    label
        Its name in figures.
    source
        Where its derivation is.
    estimate
        From configuration and value of each factor to the metric; `None` where it says nothing.
    """

    label: str
    source: str
    estimate: Callable[[str, Mapping[str, Value]], float | None]


@dataclass(frozen=True)
class View:
    """A figure of single runs of a study, which the report makes again with what the figure needs recorded.

    Attributes
    ----------
    title, source, caption
        As of a figure.
    shown
        The settings, each with its label: configuration and value of each swept factor by its short name.
    changes
        What the runs record or change beside.
    draw
        From label and result of each run to a chart declaration.
    """

    title: str
    source: str
    caption: str
    shown: Mapping[str, tuple[str, Mapping[str, Value]]]
    changes: Changes
    draw: Callable[[Mapping[str, RunResult]], Any]


@dataclass(frozen=True)
class Point:
    """One setting of a study: engine, variant, configuration and a value of each factor."""

    engine: str
    variant: str
    configuration: str
    values: Mapping[str, Value]
    changes: Changes
    runs: int

    @property
    def labels(self) -> dict[str, Value]:
        """Columns that identify the point."""
        return {"engine": self.engine, "variant": self.variant, "configuration": self.configuration, **self.values}


@dataclass(frozen=True, kw_only=True)
class Study:
    """A published experiment, ready to run again.

    Attributes
    ----------
    name
        `group/experiment`.
    title, abstract, source
        What it is about, and where it was published.
    scenario
        Base scenario, a file under the repository root.
    configurations, factors
        What is varied; every combination is run.
    metric
        What is measured.
    further
        What is measured beside it; criteria and claims may be about these, figures of a factor and scores are not.
    engines
        Stacks it can run with; the first is the default.
    engine_changes
        What choosing an engine changes in the scenario.
    runs, seed
        Repetitions of each setting; run i has the seed `seed + i`.
    table, figures, claims
        What it is compared with.
    assumptions, variants, limits
        How the description was read, and what that leaves out.
    unavailable
        Published configurations that cannot be run yet, with the reason.
    criteria
        How close to the table the results have to be.
    scored
        Name of the metric whose fidelity is reported; the main one by default.
    kept_series
        Metrics of time series that are kept with the results, for metrics that need them; `record.series_interval` of
        the scenario samples them.
    describe
        Columns of a setting in `study table` where the publication has no row: from its resolved scenario and labels.
    model
        An estimate without simulation that figures show as a line of its own.
    views
        Figures of single runs, made again for the report.
    """

    name: str
    title: str
    abstract: str
    source: str
    scenario: str
    configurations: tuple[Configuration, ...]
    factors: tuple[Factor, ...]
    metric: Metric
    engines: tuple[Engine, ...]
    engine_changes: Callable[[str], Changes]
    runs: int
    table: Table
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[Assumption, ...]
    variants: tuple[Variant, ...] = ()
    limits: tuple[str, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    seed: int = 1
    further: tuple[Metric, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    scored: str = ""
    kept_series: tuple[str, ...] = ()
    describe: Callable[[Mapping[str, Any], Mapping[str, Value]], Mapping[str, object]] | None = None
    model: Model | None = None
    views: tuple[View, ...] = ()

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

    def metric_of(self, name: str) -> Metric:
        """Return a metric by its name; the study's own without one."""
        return next(item for item in self.metrics if item.name == (name or self.metric.name))

    @property
    def is_series(self) -> bool:
        """Whether its results are series over one number, which have a shape, a knee and an optimum."""
        return len(self.swept) == 1 and not any(isinstance(value, str) for value in self.swept[0].values)

    def series_key(self, key: Sequence[Value]) -> tuple[Value, ...]:
        """Return which series a setting belongs to: its configuration, and the part of the run."""
        parts = [value for factor, value in zip(self.factors, key[1:], strict=False) if factor.changes is None]
        return (key[0], *parts)

    def series_label(self, key: Sequence[Value]) -> str:
        """Return the name of a series in figures, from its key."""
        parts = [str(value) for value in key[1:]]
        if parts and len(self.configurations) == 1:
            return ", ".join(parts)
        return ", ".join([self.labels.get(str(key[0]), str(key[0])), *parts])

    @property
    def series_labels(self) -> list[str]:
        """Names of all series, in the order of the study."""
        keys = [(name, *parts) for name in self.labels for parts in product(*(part.values for part in self.parts))]
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
            raise RequestError(f"study {self.name} has no engine of the lane {lane}; it has {has}")
        if choice in ("default", "all"):
            return tuple(there[:1] if choice == "default" else there)
        chosen = self.chosen_engines(choice)
        for name in chosen:
            if name not in there:
                raise RequestError(
                    f"engine `{name}` of study {self.name} is not of the lane {lane}; {', '.join(there)} are"
                )
        return chosen

    def chosen_engines(self, choice: str) -> tuple[str, ...]:
        """Read `--engines`: `default`, `all`, or names joined by commas.

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
        chosen = tuple(name.strip() for name in choice.split(","))
        for name in chosen:
            if name not in names:
                raise RequestError(f"study {self.name} has no engine `{name}`; it has {', '.join(names)}")
        return tuple(name for name in names if name in chosen)

    def with_reference(self, engines: Sequence[str]) -> tuple[str, ...]:
        """Add the engine that the others are compared with, if there is one, in the order of the study."""
        return tuple(engine.name for engine in self.engines if engine.name in (*engines, self.table.engine))

    def chosen_variants(self, choice: str) -> tuple[str, ...]:
        """Read `--variants`: `none`, `all`, or names joined by commas.

        Raises
        ------
        RequestError
            If the study does not have a variant of that name.
        """
        names = tuple(variant.name for variant in self.variants)
        if choice in ("none", "all"):
            return names if choice == "all" else ()
        chosen = tuple(name.strip() for name in choice.split(","))
        for name in chosen:
            if name not in names:
                raise RequestError(f"study {self.name} has no variant `{name}`; it has {', '.join(names) or 'none'}")
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
            for configuration in self._configurations_of(engine_name):
                for values in product(*(factor.values for factor in self.factors)):
                    point = self._point(engine_name, variant_name, configuration, values, changes, repetitions)
                    if all(str(point.labels[key]) in allowed for key, allowed in keep.items()):
                        found = True
                        yield point
        if not found:
            wanted = ", ".join(f"{key}={'|'.join(values)}" for key, values in keep.items())
            raise RequestError(f"no setting of {self.name} has {wanted}")

    def _configurations_of(self, engine: str) -> tuple[Configuration, ...]:
        names = self.engine(engine).configurations
        return tuple(item for item in self.configurations if not names or item.name in names)

    def _point(
        self,
        engine: str,
        variant: str,
        configuration: Configuration,
        values: tuple[Value, ...],
        changes: Changes | Callable[[Changes], Changes],
        runs: int,
    ) -> Point:
        merged: dict[str, object] = dict(self.engine_changes(engine))
        if not callable(configuration.changes):
            merged.update(configuration.changes)
        labels: dict[str, Value] = {}
        for factor, value in zip(self.factors, values, strict=True):
            labels[factor.column] = value
            merged.update(factor.changes(value) if factor.changes is not None else {})
        for further in (configuration.changes if callable(configuration.changes) else {}, changes):
            merged = dict(further(merged)) if callable(further) else {**merged, **further}
        programs = self.engine(engine).stacks
        for path, stack in merged.items():
            if path.endswith(".stack"):
                merged[path] = programs.get(str(stack), stack)
        return Point(engine, variant, configuration.name, labels, merged, runs)

    @property
    def keys(self) -> dict[str, str]:
        """What `--only` can choose by: key -> column."""
        columns = {"engine": "engine", "variant": "variant", "configuration": "configuration"}
        for factor in self.factors:
            columns |= {factor.name: factor.column, factor.column: factor.column}
        return columns

    def _checked(self, only: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Translate the keys of `--only` to columns."""
        columns = self.keys
        for key in only:
            if key not in columns:
                raise RequestError(f"study {self.name} has no `{key}` to choose by; it has {', '.join(columns)}")
        return {columns[key]: values for key, values in only.items()}
