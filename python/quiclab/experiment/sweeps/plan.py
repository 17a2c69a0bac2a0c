"""The plan of a sweep: scenario, design, seeds and metrics, and the runs that follow from them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.native import MAX_SEED
from quiclab.errors import RequestError, unexpected, unknown
from quiclab.experiment.plan import Plan as ExperimentPlan
from quiclab.experiment.plan import Recipe
from quiclab.experiment.recording import Recording
from quiclab.experiment.sweeps.design import Design
from quiclab.experiment.sweeps.metrics import SERIES_INTERVAL, Measure, measures, workloads
from quiclab.result import TABLES

if TYPE_CHECKING:
    from quiclab.lane.run import Lane
    from quiclab.result import RunResult

MAX_SEEDS: Final = 100_000


@dataclass(frozen=True)
class Numbers(Recording):
    """The numbers of a run, and the tables that are kept of it.

    Attributes
    ----------
    metrics
        Names of the metrics.
    columns
        Their columns.
    tables
        Names of the tables of each run that are kept.
    """

    metrics: tuple[str, ...]
    columns: tuple[str, ...]
    tables: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, str]:
        """Digest, whether all flows have done their workload, and the metrics; NaN where there is no value."""
        return {"digest": "String", "finished": "Boolean", **dict.fromkeys(self.columns, "Float64")}

    def row(self, result: RunResult) -> list[Any]:
        """Return the columns of a run."""
        found = _measures(self.metrics, tuple(workloads(result.data["scenario"]).items()))
        finished = all(flow.completed for flow in result.flows.values())
        return [result.digest, finished, *(float(column.measure(result)) for column in found)]


@cache
def _measures(names: tuple[str, ...], kinds: tuple[tuple[str, str], ...]) -> list[Measure]:
    return measures(names, dict(kinds))


@dataclass(frozen=True, kw_only=True)
class Plan(ExperimentPlan):
    """What a sweep runs.

    Attributes
    ----------
    file
        The scenario file.
    text
        Its content.
    sets
        Changes of all settings, as path and text of `--set`.
    varied, zipped, sample
        As of `Design.read`.
    seeds, first_seed
        Runs of each setting; run i has the seed `first_seed + i`: the same in all settings.
    metrics
        Names of metrics.
    keep
        Names of the tables of each run that are kept: see `kept`.
    lane
        How settings are run whose stacks are programs, in the kernel lane; `None` if all run in the sim lane.
    """

    file: Path
    text: str = field(repr=False)
    sets: tuple[tuple[str, str], ...] = ()
    varied: tuple[str, ...] = ()
    zipped: tuple[str, ...] = ()
    sample: str | None = None
    seeds: int = 1
    first_seed: int = 1
    metrics: tuple[str, ...] = ("goodput",)
    keep: tuple[str, ...] = ()
    lane: Lane | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises
        ------
        RequestError
            If one is out of range.
        """
        if type(self.seeds) is not int or not 1 <= self.seeds <= MAX_SEEDS:
            raise unexpected("seeds", f"an integer from 1 to {MAX_SEEDS}", self.seeds)
        if type(self.first_seed) is not int or not 0 <= self.first_seed <= MAX_SEED - self.seeds + 1:
            last = MAX_SEED - self.seeds + 1
            raise unexpected("first seed", f"an integer from 0 to {last} with {self.seeds} seeds", self.first_seed)

    @cached_property
    def base(self) -> dict[str, Any]:
        """The scenario with `sets`, and every default filled in."""
        bare = Recipe(self.text, str(self.file), str(self.file.parent), Numbers((), ()), self.lane, mixed=True)
        plain: dict[str, Any] = json.loads(bare.resolve(self.sets))
        return plain

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.base["name"])

    @cached_property
    def design(self) -> Design:
        """The settings."""
        return Design.read(self.varied, self.zipped, self.sample, self.base, [path for path, _ in self.sets])

    @cached_property
    def measures(self) -> list[Measure]:
        """The columns of the metrics."""
        return measures(self.metrics, workloads(self.base))

    @property
    def counts(self) -> int:
        """Runs of each setting."""
        return self.seeds

    @property
    def first_seeds(self) -> int:
        """Seed of the first run of each setting."""
        return self.first_seed

    def __len__(self) -> int:
        """Return the number of settings."""
        return len(self.design.settings)

    @property
    def total(self) -> int:
        """Number of runs."""
        return len(self) * self.seeds

    @cached_property
    def recording(self) -> Numbers:
        """The columns that are stored of each run."""
        return Numbers(self.metrics, tuple(measure.column for measure in self.measures), self.keep)

    @cached_property
    def recipe(self) -> Recipe:
        """What the runs have in common."""
        # absolute: a worker may have another working directory
        base_dir = str(self.file.parent.absolute())
        return Recipe(self.text, str(self.file), base_dir, self.recording, self.lane, mixed=True)

    @property
    def recipes(self) -> tuple[Recipe]:
        """What the runs have in common."""
        return (self.recipe,)

    def setting(self, index: int) -> tuple[Recipe, list[tuple[str, str]]]:
        """Return a setting: the scenario, and its changes."""
        return self.recipe, [*self._recorded, *self.sets, *self.design.sets(self.design.settings[index])]

    def about(self, index: int, error: RequestError) -> str:
        """Return the message of an error of a setting, with the option of its factor or all changes."""
        option = next((item.option for item in self.design.factors if item.touches(error.path)), "")
        if option:
            return f"{option}: {error.message.removeprefix('--set: ')}"
        sets = self.design.sets(self.design.settings[index])
        return ": ".join(filter(None, [", ".join(f"{path}={value}" for path, value in sets), error.message]))

    @cached_property
    def _recorded(self) -> list[tuple[str, str]]:
        """Changes by which runs record the tables that are kept, and the time series that a metric needs."""
        record, changes = self.base["record"], []
        for name in self.keep:
            if name not in TABLES:
                raise unknown("table", name, TABLES, "--keep")
            if name != "series" and not record[name]:
                changes.append((f"record.{name}", "true"))
        needed = "series" in self.keep or any(measure.series for measure in self.measures)
        if needed and "series_interval" not in record:
            changes.append(("record.series_interval", SERIES_INTERVAL))
        return changes
