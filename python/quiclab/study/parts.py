"""Components of a study: configurations, factors, metrics, tables, figures, variants, engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from quiclab.lane.run import Lane
    from quiclab.result import RunResult
    from quiclab.study.evaluate import Evaluation

Value: TypeAlias = str | int | float
Changes: TypeAlias = Mapping[str, object]
"""Dotted path in the scenario -> new value."""

SIM = "sim"
"""Engine of studies whose settings name their stacks."""

BASE = ""
"""Name of the reading of the published description that is compared and scored; variants have names."""


def with_unit(label: str, unit: str) -> str:
    """Return a title with its unit in brackets; shares and counts have none, and no brackets either."""
    return f"{label} [{unit}]" if unit else label


@dataclass(frozen=True)
class Configuration:
    """One series of a study: a setting that the figures show in a separate colour.

    Attributes
    ----------
    name, label
        Its name in tables, and in figures.
    changes
        Its changes to the scenario, after those of the engine; or a function from what engine and factors
        change to all that is changed.
    """

    name: str
    label: str
    changes: Changes | Callable[[Changes], Changes]


@dataclass(frozen=True)
class Unavailable:
    """A published configuration that cannot be run yet; the figure shows the published values."""

    name: str
    label: str
    reason: str


@dataclass(frozen=True)
class Factor:
    """A factor: a varied quantity.

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
        Changes of a value to the scenario; `None` if it names a part of each run, such as one of its flows.
    words
        Name of a value in figures and sentences, where the value is an abbreviation (default: the value).
    scenario
        The base scenario of a value, in place of that of the study.
    """

    name: str
    column: str
    label: str
    unit: str
    values: tuple[Value, ...]
    changes: Callable[[Value], Changes] | None
    words: Mapping[Value, str] = field(default_factory=dict)
    scenario: Callable[[Value], str] | None = None

    def word(self, value: Value) -> str:
        """Return the name of a value in figures and sentences."""
        return self.words.get(value, f"{value} {self.unit}".strip())

    def name_of(self, value: Value) -> str:
        """Return the name of a value in tables, whose heads have the unit."""
        return self.words.get(value, str(value))


@dataclass(frozen=True)
class Metric:
    """A quantity measured in a run; `name` carries the unit as a suffix and is the stem of the result columns.

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
    """The reference of a study: a published table, or another engine in the same networks.

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

    Without file and engine there is no reference: the source has only a figure or prose.
    """

    file: str
    source: str
    read: Callable[[Path], Sequence[Mapping[str, str]]] | None = None
    further: tuple[str, ...] = ()
    engine: str = ""


NOT_PUBLISHED = Table("", "")
"""Stands for the reference of a study that has none."""


@dataclass(frozen=True)
class HeatMap:
    """The percent difference of two configurations over two factors, with its significance.

    Attributes
    ----------
    first, second
        Configurations; the difference is (mean of `second` - mean of `first`) / mean of `first`, so that it is
        positive where the metric of the first is lower.
    rows, columns
        Short names of the factors, each drawn in its order.
    at
        Value of each other factor, by its short name.
    words
        Label of a value on an axis (default: the value).
    limit
        Difference at either end of the scale of colours [%]; beyond it, the colour stays the same (default: the
        largest one, rounded up to 1, 2 or 5 times a power of ten).
    """

    first: str
    second: str
    rows: str
    columns: str
    at: Mapping[str, Value] = field(default_factory=dict)
    words: Mapping[Value, str] = field(default_factory=dict)
    limit: float = 0.0


@dataclass(frozen=True)
class Figure:
    """A chart of one metric over one factor, published and measured; or of how far a criterion is met; or a map.

    Attributes
    ----------
    x
        Short name of the factor; empty if configurations are shown side by side.
    criterion
        Identity of a criterion: its settings are shown one below the other, with its limits, in place of a factor.
    pairs
        Show reference and measurement of each setting of the criterion, and not their difference.
    metric
        Name of a further metric, in place of the study's own.
    map
        The difference of two configurations over two factors, in place of `x`.
    draw
        Draws it from the stored runs of an engine, in place of all that.
    """

    title: str
    source: str
    x: str
    caption: str
    criterion: str = ""
    pairs: bool = False
    metric: str = ""
    map: HeatMap | None = None
    draw: Callable[[Evaluation, str], Any] | None = None


@dataclass(frozen=True)
class TextTable:
    """A table of words that the report shows and that is written as CSV next to it.

    Attributes
    ----------
    title
        Title above the table.
    heads
        Names of the columns.
    rows
        Function from the stored runs of an engine to the cells.
    """

    title: str
    heads: tuple[str, ...]
    rows: Callable[[Evaluation, str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Assumption:
    """A choice where the publication gives no value, with its reason."""

    statement: str
    reason: str


@dataclass(frozen=True)
class Variant:
    """An alternative interpretation of the description, which is shown but not scored.

    Attributes
    ----------
    name, label, reason
        Its label, and the reason for the interpretation.
    changes
        Its changes to each setting; or a function from what the setting changes already to all that it changes.
    runs
        Bound of the repetitions.
    interpretation
        Whether it is an interpretation of the description; others have no part in reports and `study multiverse`.
    engines
        Engines that it can be run with besides the default one.
    """

    name: str
    label: str
    reason: str
    changes: Changes | Callable[[Changes], Changes]
    runs: int
    interpretation: bool = True
    engines: tuple[str, ...] = ()


def same(changes: Changes) -> Changes:
    """Return the changes of a setting for an engine that is run with them as they are."""
    return changes


@dataclass(frozen=True)
class Engine:
    """A stack that a study can run with, or `sim`: the sim lane with the stacks that the settings name.

    Attributes
    ----------
    name
        Name in results.
    runs
        Maximum number of repetitions, for slow engines.
    lane
        Options of the kernel lane; None for the sim lane.
    needs
        Stack of the sim lane that the build must contain (default: the one of the same name; none for `sim`).
    stacks
        Programs that replace the stacks of configurations: name of the program by name of the stack.
    configurations
        Configurations that it runs (default: all).
    changes
        From all that a setting changes, its variant included, to what it changes with this engine.
    """

    name: str
    runs: int | None = None
    lane: Lane | None = None
    needs: str = ""
    stacks: Mapping[str, str] = field(default_factory=dict)
    configurations: tuple[str, ...] = ()
    changes: Callable[[Changes], Changes] = same

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
        Function from configuration and value of each factor to the metric; `None` without a value.
    """

    label: str
    source: str
    estimate: Callable[[str, Mapping[str, Value]], float | None]


@dataclass(frozen=True)
class View:
    """A figure of single runs of a study, which the report repeats with the recordings that the figure requires.

    Attributes
    ----------
    title, source, caption
        As of a figure.
    shown
        The settings, each with its label: configuration and value of each swept factor by its short name.
    changes
        Further changes of the runs, such as recordings.
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
    def key(self) -> tuple[Value, ...]:
        """Configuration and value of each factor, as results have it."""
        return self.configuration, *self.values.values()

    @property
    def labels(self) -> dict[str, Value]:
        """Columns that identify the point."""
        return {"engine": self.engine, "variant": self.variant, "configuration": self.configuration, **self.values}
