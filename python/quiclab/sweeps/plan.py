"""The plan of a sweep: scenario, design, seeds and metrics, and the runs that follow from them."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from quiclab.errors import RequestError, unexpected
from quiclab.identity import setting_of
from quiclab.native import MAX_SEED, resolve
from quiclab.sweeps import kept
from quiclab.sweeps.design import Design
from quiclab.sweeps.metrics import SERIES_INTERVAL, Measure, measures, workloads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quiclab.lane.run import Lane

MAX_SEEDS: Final = 100_000
_HASH_BYTES: Final = 32


class Task(NamedTuple):
    """One run: the index of its setting, and its seed."""

    setting: int
    seed: int


@dataclass(frozen=True)
class Recipe:
    """What the runs of a sweep have in common, for workers.

    Attributes
    ----------
    text, file, base_dir
        The scenario, the name of its file, and the directory that files named in it are relative to.
    sets
        Changes of all settings, as path and text of `--set`.
    metrics
        Names of the metrics that are measured.
    keep
        Names of the tables of each run that are kept.
    lane
        How settings are run whose stacks are programs, in the kernel lane; `None` if all run in the sim lane.
    """

    text: str
    file: str
    base_dir: str
    sets: tuple[tuple[str, str], ...]
    metrics: tuple[str, ...]
    keep: tuple[str, ...] = ()
    lane: Lane | None = None

    def resolve(self, sets: Iterable[tuple[str, str]]) -> str:
        """Return the scenario with further changes and every default filled in, as JSON.

        Raises
        ------
        RequestError
            If it is not valid.
        """
        form: Literal["toml", "json"] = "json" if self.file.endswith(".json") else "toml"
        given = (self.text, self.file, self.base_dir, [*self.sets, *sets], form)
        if self.lane is None:
            return resolve(*given)
        try:
            return resolve(*given, self.lane.stacks())
        except RequestError as error:
            # perhaps its stacks are those of the sim lane: settings of a sweep may be of either
            if not error.path.endswith("stack"):
                raise
            try:
                return resolve(*given)
            except RequestError as other:
                raise (error if other.path.endswith("stack") else other) from None

    def lane_of(self, scenario: str) -> Lane | None:
        """Return how a resolved scenario runs in the kernel lane; `None` if its stacks are those of the sim lane."""
        return self.lane if self.lane is not None and self.lane.runs(json.loads(scenario)) else None


@dataclass(frozen=True, kw_only=True)
class Plan:
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

    @property
    def base_dir(self) -> Path:
        """Directory that files named in the scenario are relative to."""
        return self.file.parent

    @cached_property
    def base(self) -> dict[str, Any]:
        """The scenario with `sets`, and every default filled in."""
        plain: dict[str, Any] = json.loads(self._recipe(()).resolve(()))
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
    def total(self) -> int:
        """Number of runs."""
        return len(self.design.settings) * self.seeds

    def _recipe(self, recording: tuple[tuple[str, str], ...]) -> Recipe:
        # absolute: a worker may have another working directory
        file, base_dir = str(self.file), str(self.base_dir.absolute())
        return Recipe(self.text, file, base_dir, (*recording, *self.sets), self.metrics, self.keep, self.lane)

    @cached_property
    def recipe(self) -> Recipe:
        """What the runs have in common."""
        return self._recipe(tuple(self._recording))

    def scenario(self, index: int) -> str:
        """Return the resolved scenario of a setting as JSON.

        Raises
        ------
        RequestError
            If it is not valid.
        """
        recipe, sets = self.recipe, self.design.sets(self.design.settings[index])
        try:
            return recipe.resolve(sets)
        except RequestError as error:
            if not sets:
                raise
            raise self._named(error, sets) from error

    def _named(self, error: RequestError, sets: Sequence[tuple[str, str]]) -> RequestError:
        """Return an error about a setting with the option of the factor that it is about, or with all its changes."""
        text = error.message.removeprefix("--set: ")
        option = next((item.option for item in self.design.factors if item.touches(error.path)), "")
        if not option:
            option = ", ".join(f"{path}={value}" for path, value in sets)
            text = error.message
        return RequestError(f"{option}: {text}", path=error.path, kind=error.kind, suggestion=error.suggestion)

    @cached_property
    def _recording(self) -> list[tuple[str, str]]:
        """Changes by which runs record the tables that are kept, and the time series that a metric needs."""
        record, changes = self.base["record"], kept.recording(self.keep, self.base["record"])
        needed = "series" not in self.keep and any(measure.series for measure in self.measures)
        if needed and "series_interval" not in record:
            changes.append(("record.series_interval", SERIES_INTERVAL))
        return changes

    @cached_property
    def _identified(self) -> tuple[bytearray, list[str | None]]:
        """Identities and versions of the settings, as far as they were asked for."""
        count = len(self.design.settings)
        return bytearray(_HASH_BYTES * count), [None] * count

    def identity(self, index: int) -> tuple[str, str]:
        """Return identity and versions of a setting, as of `identity.setting_of`.

        Raises
        ------
        RequestError
            If it is not a valid scenario, or a file that it names cannot be read, or a program is missing.
        """
        hashes, versions = self._identified
        place = slice(_HASH_BYTES * index, _HASH_BYTES * (index + 1))
        if (known := versions[index]) is None:
            scenario = self.scenario(index)
            lane = self.recipe.lane_of(scenario)
            if lane is not None:
                lane.check_programs(json.loads(scenario))
            found, computing = setting_of(scenario, self.base_dir, lane)
            hashes[place] = bytes.fromhex(found)
            known = versions[index] = sys.intern(computing)
        return hashes[place].hex(), known

    def replay_of(self, task: Task) -> str:
        """Return the command that repeats one run alone."""
        pairs = chain(self._recording, self.sets, self.design.sets(self.design.settings[task.setting]))
        sets = [f"--set {shlex.quote(f'{path}={text}')}" for path, text in pairs]
        chosen = None if self.lane is None else self.recipe.lane_of(self.scenario(task.setting))
        lane = [] if chosen is None else chosen.arguments()
        return " ".join(["quiclab run", shlex.quote(str(self.file)), *sets, *lane, f"--seed {task.seed}"])
