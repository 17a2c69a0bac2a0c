"""One setting of a study: `quiclab study scenario` prints it as a scenario file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab.cli.study_group import ONLY, SeedOption, parse_only, unavailable_reason
from quiclab.errors import RequestError
from quiclab.native import extension
from quiclab.study.inputs import with_absolute_files
from quiclab.study.plan import available_engines, jobs_of
from quiclab.study.registry import find_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.lane.run import Lane
    from quiclab.study import Study
    from quiclab.study.job import Job

StudyArgument = Annotated[str, typer.Argument(metavar="NAME", help="Study, or a study of a group: validation/blind.")]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--only", parser=ONLY.checked, metavar="KEY=VALUE", help="The setting; may be repeated."),
]


def one_study(name: str, seed: int | None) -> Study:
    """Return a study, with another seed where one is given.

    Raises
    ------
    RequestError
        If the name is that of a group of several studies.
    """
    studies = find_all(name)
    if len(studies) > 1:
        raise RequestError(f"{name} is a group; choose one of {', '.join(study.name for study in studies)}")
    return studies[0] if seed is None else studies[0].with_seed(seed)


def jobs_of_setting(study: Study, engines: Sequence[str], only: Sequence[str]) -> list[Job]:
    """Return the first run of a setting in each engine.

    Raises
    ------
    RequestError
        If an engine is not available, or several settings are chosen.
    """
    present, absent = available_engines(study, engines)
    if absent:
        raise RequestError(f"{study.name} cannot run on this machine with {unavailable_reason(study, absent)}")
    jobs = jobs_of(study, list(study.points(tuple(present), 1, parse_only(list(only)), ())))
    found = {str(job.labels["engine"]): job for job in jobs}
    if len(found) < len(jobs):
        free = [key for key in study.design.keys if len({job.labels.get(key) for job in jobs}) > 1 and key != "engine"]
        raise RequestError(f"{len(jobs) // len(found)} settings; choose one with --only: {', '.join(free)}")
    return list(found.values())


def study_scenario_command(
    name: StudyArgument,
    only: SettingOption = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="Engine (default: the study's).")] = "default",
    seed: SeedOption = None,
) -> None:
    """Print one setting of a study as a scenario, to run and to vary it.

    `quiclab study scenario validation/blind --only case=3 > case.toml`, then `quiclab run`, `quiclab sweep` and all
    other commands that read scenarios.
    """
    study = one_study(name, seed)
    engines = study.chosen_engines(engine)
    if len(engines) > 1:
        raise RequestError(f"--engine: expected one engine, got {engine!r}; expected one of {', '.join(engines)}")
    (job,) = jobs_of_setting(study, engines, only or [])
    print(f"# {study.name}, {', '.join([*(only or []), engines[0]])}")
    print(f"# its first run: quiclab run FILE --seed {job.seed}{_options(job.lane)}")
    scenario = with_absolute_files(json.loads(job.scenario), Path(job.base_dir))
    print(extension().to_toml(json.dumps(scenario)), end="")


def _options(lane: Lane | None) -> str:
    """Return the options of `quiclab run` that choose the lane."""
    return "" if lane is None else f" --lane kernel --clock {lane.clock}"
