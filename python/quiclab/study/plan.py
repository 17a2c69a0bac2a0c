"""From a study to its runs: the plan of some of its settings, and the directory of their results."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from quiclab._base.files import read_text
from quiclab._base.libraries import np
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.plan import Plan as ExperimentPlan
from quiclab.experiment.plan import Recipe
from quiclab.scenario import Scenario, load, tree
from quiclab.stacks.registry import catalogue
from quiclab.study import Point, Study
from quiclab.study.parts import SIM
from quiclab.study.recording import Whole

#: Results directory of the command line.
RESULTS = Path("results")


def results_directory(study: Study, out: Path) -> Path:
    """Return where a study's results are."""
    return out / study.name


def sweep_command(study: Study, out: Path, options: str = "") -> str:
    """Return the command that runs a study with its results below `out`, as messages quote it."""
    where = "" if out == RESULTS else f" --out {shlex.quote(str(out))}"
    seed = "" if study.asked_seed is None else f" --seed {study.asked_seed}"
    return f"`quiclab study run {study.name}{seed}{options}{where}`"


def available_engines(study: Study, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide engines of a study into those that can run here and those that cannot."""
    present = {str(stack["name"]) for stack in catalogue()}

    def runs(name: str) -> bool:
        engine = study.design.engine(name)
        return (engine.needs or name) in {SIM, *present} if engine.lane is None else engine.lane.problem() is None

    return [name for name in names if runs(name)], [name for name in names if not runs(name)]


class FirstRun(NamedTuple):
    """The first run of a setting.

    Attributes
    ----------
    point
        The setting.
    scenario
        Its resolved scenario as JSON.
    seed
        Seed of the run.
    recipe
        What it has in common with other settings.
    replay
        The command that repeats it alone.
    """

    point: Point
    scenario: str
    seed: int
    recipe: Recipe
    replay: str


@dataclass(frozen=True, eq=False)
class Plan(ExperimentPlan):
    """Settings of a study.

    Commands that replay runs name the scenario as seen from the current directory, or by its whole path.

    Attributes
    ----------
    study
        The study.
    points
        The settings, in the order in which they run.
    """

    study: Study
    points: Sequence[Point]

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    @cached_property
    def recording(self) -> Whole:
        """The whole result of each run."""
        measures = self.study.measures
        return Whole(measures.kept_series, measures.keep, self.study.design.failures_are_results)

    def __len__(self) -> int:
        """Return the number of settings."""
        return len(self.points)

    @property
    def counts(self) -> np.ndarray:
        """Runs of each setting."""
        return np.array([point.runs for point in self.points], np.int64)

    @property
    def first_seeds(self) -> np.ndarray:
        """Seed of the first run of each setting."""
        return np.array([self.study.design.first_seed(point) for point in self.points], np.uint64)

    @property
    def same_runs(self) -> np.ndarray:
        """Index of the first setting with the same runs as each setting: the others are other parts of these."""
        parts, first = {part.column for part in self.study.design.parts}, dict[tuple[object, ...], int]()
        runs = ((value for name, value in point.labels.items() if name not in parts) for point in self.points)
        return np.array([first.setdefault(tuple(run), index) for index, run in enumerate(runs)])

    @cached_property
    def _recipes(self) -> dict[tuple[str, str], Recipe]:
        """Recipes by base scenario and engine."""
        found: dict[tuple[str, str], Recipe] = {}
        for point in self.points:
            key = name, engine = self._scenario_of(point), point.engine
            if key not in found:
                file = self.study.home / name
                shown, base_dir = str(_shown(file, name)), str(file.parent.absolute())
                lane = self.study.design.engine(engine).lane
                found[key] = Recipe(read_text(file), shown, base_dir, self.recording, lane)
        return found

    @property
    def recipes(self) -> list[Recipe]:
        """The recipes of all settings."""
        return list(self._recipes.values())

    def _scenario_of(self, point: Point) -> str:
        return self.study.design.scenario_of(point.values)

    @cached_property
    def _bases(self) -> dict[str, Scenario]:
        return {name: load(self.study.home / name) for name in self.study.design.scenarios}

    def setting(self, index: int) -> tuple[Recipe, list[tuple[str, str]]]:
        """Return a setting: a scenario, and its changes.

        A change of `--set` cannot remove an entry: a table that loses one is set as a whole.
        """
        point = self.points[index]
        name = self._scenario_of(point)
        changes = {path: tree.plain(value) for path, value in point.changes.items()}
        if losing := {path.partition(".")[0] for path, value in changes.items() if value is None}:
            whole: dict[str, Any] = self._bases[name].with_values(changes).to_dict()
            if gone := sorted(losing - set(whole)):
                raise QuiclabError(f"{self.name}: expected changes within `{gone[0]}`, got None for the whole entry")
            changes = {path: value for path, value in changes.items() if path.partition(".")[0] not in losing}
            changes |= {table: whole[table] for table in sorted(losing & set(whole))}
        sets = [(path, tree.change_text(value)) for path, value in changes.items()]
        return self._recipes[name, point.engine], sets

    def about(self, index: int, error: RequestError) -> str:
        """Return the message of an error of a setting, with study, engine and values of its factors."""
        where = ", ".join(f"{name}={value}" for name, value in self.points[index].labels.items())
        return f"{self.name} ({where}): {error.message.removeprefix('--set: ')}"

    def first_runs(self) -> list[FirstRun]:
        """Return the first run of each setting."""
        found = []
        for index, (point, seed) in enumerate(zip(self.points, self.first_seeds.tolist(), strict=True)):
            (recipe, sets), scenario = self.setting(index), self.scenario(index)
            found.append(FirstRun(point, scenario, seed, recipe, recipe.replay(sets, scenario, seed)))
        return found


def _shown(file: Path, name: str) -> Path:
    """Return how a command names a scenario: as its study does, where that is the same file, or with its path."""
    if Path(name).exists() and file.samefile(name):
        return Path(name)
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
