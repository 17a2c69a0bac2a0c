"""Plans: settings with their seeds, and the runs that follow from them."""

from __future__ import annotations

import json
import shlex
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from quiclab._base.libraries import np
from quiclab._base.native import resolve
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.executors import Processes, executor_of
from quiclab.experiment.identity import setting_of
from quiclab.experiment.own_code import OwnCodeError, own_code
from quiclab.experiment.recording import run_and_keep

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from quiclab.experiment.executors import Executor
    from quiclab.experiment.recording import Recording
    from quiclab.lane.run import Lane
    from quiclab.result import Keep, RunResult

Sets: TypeAlias = "Sequence[tuple[str, str]]"
"""Changes to a scenario, as path and text of `--set`."""
_HASH_BYTES = 32


class Task(NamedTuple):
    """One run: the index of its setting, and its seed."""

    setting: int
    seed: int


@dataclass(frozen=True)
class Recipe:
    """What runs have in common, for workers.

    Attributes
    ----------
    text, file, base_dir
        The scenario, the name of its file, and the directory that files named in it are relative to.
    recording
        What is stored of each run.
    lane
        How settings are run whose stacks are programs, in the kernel lane; `None` if all run in the sim lane.
    mixed
        Whether settings whose stacks are those of the sim lane run there, all the same.
    """

    text: str = field(repr=False)
    file: str
    base_dir: str
    recording: Recording
    lane: Lane | None = None
    mixed: bool = False

    def resolve(self, sets: Iterable[tuple[str, str]]) -> str:
        """Return the scenario with further changes and every default filled in, as JSON.

        Raises
        ------
        RequestError
            If it is not valid.
        """
        form: Literal["toml", "json"] = "json" if self.file.endswith(".json") else "toml"
        given = (self.text, self.file, self.base_dir, list(sets), form)
        if self.lane is None:
            return resolve(*given)
        try:
            return resolve(*given, self.lane.stacks())
        except RequestError as error:
            if not (self.mixed and error.path.endswith("stack")):
                raise
            try:
                return resolve(*given)
            except RequestError as other:
                raise (error if other.path.endswith("stack") else other) from None

    def lane_of(self, scenario: str) -> Lane | None:
        """Return how a resolved scenario runs in the kernel lane; `None` if its stacks are those of the sim lane."""
        in_sim = self.mixed and self.lane is not None and not self.lane.runs(json.loads(scenario))
        return None if in_sim else self.lane

    def identity(self, scenario: str) -> tuple[str, str]:
        """Return identity and versions of a resolved scenario, as of `identity.setting_of`."""
        recording = self.recording
        return setting_of(scenario, Path(self.base_dir), self.lane_of(scenario), recording.series, recording.keep)

    def replay(self, sets: Sets, scenario: str, seed: int) -> str:
        """Return the command that repeats one run alone."""
        pairs = [f"--set {shlex.quote(f'{path}={text}')}" for path, text in sets]
        lane = self.lane_of(scenario)
        options = [] if lane is None else lane.arguments()
        return " ".join(["quiclab run", shlex.quote(self.file), *pairs, *options, f"--seed {seed}"])

    def run(self, sets: Sets, scenario: str, seed: int) -> RunResult | str:
        """Run a resolved scenario once; returns the reason if the run failed.

        Raises
        ------
        OwnCodeError
            If the function that processes its recordings fails: the other runs would fail, too.
        """
        recording = self.recording
        keep: Keep | None = None
        if (processed := recording.keep) is not None:
            place = f"{processed.__module__}.{processed.__qualname__}, {self.replay(sets, scenario, seed)}"

            def keep(result: RunResult, directory: Path) -> Mapping[str, Any]:
                with own_code(place):
                    return processed(result, directory)

        try:
            result = run_and_keep(scenario, seed, self.base_dir, keep, self.lane_of(scenario))
        except OwnCodeError:
            raise
        except QuiclabError as error:
            return error.message
        return recording.problem(result) or result


class Plan(ABC):
    """Settings with their seeds; a sweep and a study are plans with a presentation of their own."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in messages."""

    @property
    @abstractmethod
    def recording(self) -> Recording:
        """What is stored of each run."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of settings."""

    @property
    @abstractmethod
    def recipes(self) -> Collection[Recipe]:
        """The recipes of all settings."""

    @abstractmethod
    def setting(self, index: int) -> tuple[Recipe, Sets]:
        """Return a setting: a scenario, and its changes."""

    @property
    @abstractmethod
    def counts(self) -> np.ndarray | int:
        """Runs of each setting, or of all alike."""

    @property
    @abstractmethod
    def first_seeds(self) -> np.ndarray | int:
        """Seed of the first run of each setting, or of all alike; the others have those that follow."""

    @property
    def same_runs(self) -> np.ndarray:
        """Index of the first setting with the same runs as each setting; that is known without resolving them."""
        return np.arange(len(self))

    def scenario(self, index: int) -> str:
        """Return the resolved scenario of a setting as JSON.

        Raises
        ------
        RequestError
            If it is not valid; the message names the setting.
        """
        recipe, sets = self.setting(index)
        try:
            return recipe.resolve(sets)
        except RequestError as error:
            if (text := self.about(index, error)) == error.message:
                raise
            raise RequestError(text, path=error.path, kind=error.kind, suggestion=error.suggestion) from error

    def about(self, index: int, error: RequestError) -> str:
        """Return the message of an error of a setting, with the name of the setting if it has one."""
        del index
        return error.message

    @cached_property
    def _identified(self) -> tuple[bytearray, list[str | None]]:
        """Identities and versions of the settings, as far as they were asked for."""
        return bytearray(_HASH_BYTES * len(self)), [None] * len(self)

    def identity(self, index: int) -> tuple[str, str]:
        """Return identity and versions of a setting, as of `identity.setting_of`.

        Raises
        ------
        RequestError
            If it is not a valid scenario, or a file that it names cannot be read.
        """
        hashes, versions = self._identified
        place = slice(_HASH_BYTES * index, _HASH_BYTES * (index + 1))
        if (known := versions[index]) is None:
            found, computing = self.setting(index)[0].identity(self.scenario(index))
            hashes[place] = bytes.fromhex(found)
            known = versions[index] = sys.intern(computing)
        return hashes[place].hex(), known

    @property
    def in_real_time(self) -> bool:
        """Whether there are runs in real time, where concurrent ones would disturb each other."""
        return any(recipe.lane is not None and recipe.lane.clock == "real" for recipe in self.recipes)

    def executor(self, where: str = "processes", workers: int | None = None) -> Executor:
        """Return the executor of its runs; in real time one process of this machine.

        Parameters
        ----------
        where, workers
            As of `executors.executor_of`.

        Raises
        ------
        RequestError
            If there is no such executor, or runs in real time are asked for on a cluster.
        """
        if not self.in_real_time:
            return executor_of(where, workers)
        if where != "processes":
            raise RequestError(
                f"--clock real and --executor {where} contradict each other: such runs need this machine"
            )
        return Processes(1)

    def lane_of(self, index: int) -> Lane | None:
        """Return how a setting runs in the kernel lane; `None` for the sim lane."""
        recipe = self.setting(index)[0]
        return None if recipe.lane is None else recipe.lane_of(self.scenario(index))

    def replay_of(self, task: Task) -> str:
        """Return the command that repeats one run alone."""
        recipe, sets = self.setting(task.setting)
        scenario = "" if recipe.lane is None else self.scenario(task.setting)
        return recipe.replay(sets, scenario, task.seed)
