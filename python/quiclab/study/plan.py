"""From a study to its runs: jobs, their commands, and the directory of their results."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quiclab import tree
from quiclab.scenario import Scenario, load
from quiclab.stacks.registry import catalogue
from quiclab.study import Point, Study
from quiclab.study.job import Job

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
        return (engine.needs or name) in present if engine.lane is None else engine.lane.problem() is None

    return [name for name in names if runs(name)], [name for name in names if not runs(name)]


def _sets(changes: Mapping[str, Any], scenario: Scenario) -> dict[str, Any]:
    """Return changes as values of `--set`, which cannot remove entries: a table that loses one is set as a whole."""
    tables_with_removals = {path.partition(".")[0] for path, value in changes.items() if value is None}
    kept = {path: value for path, value in changes.items() if path.partition(".")[0] not in tables_with_removals}
    whole = scenario.to_dict()
    return kept | {table: whole[table] for table in sorted(tables_with_removals & set(whole))}


def _shown(file: Path, name: str) -> Path:
    """Return how a command names a scenario: as its study does, where that is the same file, or with its path."""
    if Path(name).exists() and file.samefile(name):
        return Path(name)
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def jobs_of(study: Study, points: Sequence[Point]) -> list[Job]:
    """Turn settings into runs, in the order of the sweep: settings, then repetitions.

    The commands that replay them name the scenario as seen from the current directory, or by its whole path.
    """
    bases = {name: load(study.home / name) for name in study.design.scenarios}
    jobs = []
    for point in points:
        name = study.design.scenario_of(point.values)
        file, base = study.home / name, bases[name]
        plain_changes = {path: tree.plain(value) for path, value in point.changes.items()}
        scenario = base.with_values(plain_changes)
        sets = _sets(plain_changes, scenario).items()
        arguments = [f"--set {shlex.quote(f'{path}={tree.toml_value(plain)}')}" for path, plain in sets]
        lane = study.design.engine(point.engine).lane
        resolved = scenario.resolved_json(None if lane is None else lane.stacks())
        arguments += [] if lane is None else lane.arguments()
        command = " ".join(["quiclab run", shlex.quote(str(_shown(file, name))), *arguments, "--seed"])
        seed = study.design.first_seed(point)
        labels = {**point.labels, "run": 0}
        series, keep = study.measures.kept_series, study.measures.keep
        first = Job(
            labels,
            resolved,
            seed,
            f"{command} {seed}",
            str(file.parent),
            lane,
            series,
            keep,
            study.design.failures_are_results,
        )
        jobs.append(first)
        more = range(1, point.runs)
        jobs += [first.repeated(index, seed + index, f"{command} {seed + index}") for index in more]
    return jobs
