"""One setting of a study: `quiclab study scenario` prints it as a scenario file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab._base.native import extension
from quiclab.cli import completion
from quiclab.cli.study_group import ONLY, SeedOption, parse_only
from quiclab.cli.values import JsonOption
from quiclab.errors import RequestError, not_one_of
from quiclab.scenario.inputs import with_absolute_files
from quiclab.scenario.tree import to_json
from quiclab.study.plan import Plan
from quiclab.study.registry import find_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Study
    from quiclab.study.plan import FirstRun

StudyArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Study, or a study of a group: validation/blind.", autocompletion=completion.studies
    ),
]
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


def runs_of_setting(
    study: Study, engines: Sequence[str], only: Sequence[str], variants: tuple[str, ...] = ()
) -> list[FirstRun]:
    """Return the first run of a setting in each engine.

    Raises
    ------
    RequestError
        If several settings are chosen.
    """
    keep = parse_only(list(only))
    if variants:
        keep = {**keep, "variant": variants}
    points = list(study.points(tuple(engines), 1, keep, variants))
    keys = [key for key in study.design.keys if key != "engine"]
    settings = {tuple(point.labels.get(key) for key in keys) for point in points}
    if len(settings) > 1:
        free = [key for key, values in zip(keys, zip(*settings, strict=True), strict=True) if len(set(values)) > 1]
        raise RequestError(f"{len(settings)} settings; choose one with --only: {', '.join(free)}")
    return Plan(study, points).first_runs()


def study_scenario_command(
    name: StudyArgument,
    only: SettingOption = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="Engine (default: the study's).")] = "default",
    variant: Annotated[
        str, typer.Option(metavar="NAME", help="Variant of the setting (default: as published).")
    ] = "none",
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Carry out `quiclab study scenario`."""
    study = one_study(name, seed)
    engines, variants = study.chosen_engines(engine), study.chosen_variants(variant)
    for key in ("engine", "variant"):
        if key in parse_only(only or []):
            raise RequestError(f"--only {key}: choose it with --{key}")
    for option, chosen in (("--engine", engines), ("--variant", variants)):
        if len(chosen) > 1:
            asked = engine if option == "--engine" else variant
            raise not_one_of(option, asked, chosen, where=f"study {study.name}")
    (first,) = runs_of_setting(study, engines, only or [], variants)
    lane = [] if first.recipe.lane is None else first.recipe.lane.arguments()
    command = ["quiclab study scenario", study.name, "--seed", str(study.design.seed)]
    command += [word for item in only or [] for word in ("--only", item)] + ["--engine", engines[0]]
    command += ["--variant", *variants] if variants else []
    run = ["quiclab run FILE --seed", str(first.seed), *lane]
    scenario = with_absolute_files(json.loads(first.scenario), Path(first.recipe.base_dir))
    if as_json:
        print(to_json(scenario))
        return
    print(f"# {' '.join(command)}\n# its first run: {' '.join(run)}")
    print(extension().to_toml(json.dumps(scenario)), end="")
