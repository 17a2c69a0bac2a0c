"""The plan of a sweep: scenario, design, seeds and metrics, and the runs that follow from them."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quiclab.errors import RequestError
from quiclab.identity import run_of, setting_of
from quiclab.native import resolve
from quiclab.sweeps.design import Design
from quiclab.sweeps.metrics import SERIES_INTERVAL, Measure, measures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quiclab.lane.run import Lane
    from quiclab.sweeps.design import Setting


@dataclass(frozen=True)
class Task:
    """One run, for a worker.

    Attributes
    ----------
    identity
        128-bit hash over resolved scenario, seed, versions and other inputs; 32 hexadecimal digits.
    scenario
        The resolved scenario as JSON.
    seed
        Seed of the run.
    base_dir
        Directory that files named in the scenario are relative to.
    metrics
        Names of the metrics that are measured.
    lane
        How it runs in the kernel lane; `None` for the sim lane.
    setting
        Index of its setting.
    """

    identity: str
    scenario: str
    seed: int
    base_dir: str
    metrics: tuple[str, ...]
    lane: Lane | None = None
    setting: int = 0


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
    lane
        How runs are made in the kernel lane; `None` for the sim lane.
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
    lane: Lane | None = None

    @property
    def base_dir(self) -> Path:
        """Directory that files named in the scenario are relative to."""
        return self.file.parent

    @cached_property
    def base(self) -> dict[str, Any]:
        """The scenario with `sets`, and every default filled in."""
        plain: dict[str, Any] = json.loads(self._resolve(self.sets))
        return plain

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.base["name"])

    @cached_property
    def design(self) -> Design:
        """The settings."""
        return Design.read(self.varied, self.zipped, self.sample, self.base)

    @cached_property
    def measures(self) -> list[Measure]:
        """The columns of the metrics."""
        return measures(self.metrics, self.base["flows"])

    @property
    def total(self) -> int:
        """Number of runs."""
        return len(self.design.settings) * self.seeds

    def scenario(self, setting: Setting) -> str:
        """Return the resolved scenario of a setting as JSON.

        Raises
        ------
        RequestError
            If it is not valid.
        """
        sets = self.design.sets(setting)
        try:
            return self._resolve([*self._recording, *self.sets, *sets])
        except RequestError as error:
            changes = ", ".join(f"{path}={text}" for path, text in sets)
            raise RequestError(f"{changes}: {error}", path=error.path, kind=error.kind) from error

    def _resolve(self, sets: Sequence[tuple[str, str]]) -> str:
        form: Literal["toml", "json"] = "json" if self.file.suffix == ".json" else "toml"
        programs = None if self.lane is None else self.lane.stacks()
        return resolve(self.text, str(self.file), self.base_dir, list(sets), form, programs)

    @cached_property
    def _recording(self) -> list[tuple[str, str]]:
        """The time series that a metric needs, where the scenario has none."""
        needed = any(measure.series for measure in self.measures) and "series_interval" not in self.base["record"]
        return [("record.series_interval", SERIES_INTERVAL)] if needed else []

    def tasks(self, settings: Iterator[int] | None = None, seeds: range | None = None) -> Iterator[Task]:
        """List the runs in the order of the sweep: settings, then seeds.

        Parameters
        ----------
        settings
            Indices of settings; all by default.
        seeds
            Indices of the seeds; all by default.
        """
        chosen = range(len(self.design.settings)) if settings is None else settings
        for index in chosen:
            text = self.scenario(self.design.settings[index])
            for seed, identity in zip(*self._identities(text, seeds), strict=True):
                yield Task(identity, text, seed, str(self.base_dir), self.metrics, self.lane, index)

    def _identities(self, text: str, seeds: range | None) -> tuple[list[int], list[str]]:
        """Return the seeds of a setting and the identities of its runs."""
        setting, _ = setting_of(text, self.base_dir, self.lane)
        numbers = [self.first_seed + index for index in (range(self.seeds) if seeds is None else seeds)]
        return numbers, [run_of(setting, number) for number in numbers]

    def replay_of(self, task: Task) -> str:
        """Return the command that repeats one run alone."""
        pairs = chain(self._recording, self.sets, self.design.sets(self.design.settings[task.setting]))
        sets = [f"--set {shlex.quote(f'{path}={text}')}" for path, text in pairs]
        lane = [] if self.lane is None else self.lane.arguments()
        return " ".join(["quiclab run", shlex.quote(str(self.file)), *sets, *lane, f"--seed {task.seed}"])
