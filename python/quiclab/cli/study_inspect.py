"""`quiclab study inspect`: the packets of one setting of a study, in two engines side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab._base.files import write_atomically
from quiclab.analysis.inspect import DEFAULT_POINTS, render, side
from quiclab.analysis.inspect.source import run_recorded
from quiclab.cli.inspect import FromOption, MaxPointsOption, ToOption, report_progress, say_answers, window_of
from quiclab.cli.output import ForceOption, check_new, show_written
from quiclab.cli.study_group import SeedOption, engines_here
from quiclab.cli.study_setting import SettingOption, StudyArgument, one_study, runs_of_setting
from quiclab.cli.values import JsonOption, integer
from quiclab.errors import unexpected
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Study

SIDES = 2


def study_inspect_command(
    name: StudyArgument,
    only: SettingOption = None,
    engines: Annotated[str, typer.Option(metavar="default|all|A,B", help="One engine or two.")] = "all",
    run: Annotated[int, typer.Option(parser=integer(1, 100_000), metavar="N", help="Which run of the setting.")] = 1,
    seed: SeedOption = None,
    max_points: MaxPointsOption = DEFAULT_POINTS,
    from_: FromOption = None,
    to: ToOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="HTML file to write (default: inspect-STUDY-SETTING.html)."),
    ] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Carry out `quiclab study inspect`."""
    part = window_of(from_, to)
    study = one_study(name, seed)
    present = engines_here(study, study.chosen_engines(engines), engines)
    runs = runs_of_setting(study, present, only or [])
    if len(runs) > SIDES:
        names = ", ".join(first.point.engine for first in runs)
        raise unexpected("--engines", f"one or two engines of {study.name}", got=f"{len(runs)}: {names}")
    page = out or Path(f"inspect-{_word(study, only or [])}.html")
    check_new(page, force)
    sides = []
    for first in runs:
        opened = run_recorded(
            Scenario.from_dict(json.loads(first.scenario)),
            first.point.engine,
            f"{study.name}, {', '.join(only or [])}",
            max_points,
            report_progress,
            base_dir=Path(first.recipe.base_dir),
            seed=first.seed + run - 1,
            lane=first.recipe.lane,
            window=part,
        )
        sides.append(side(opened))
    with report_progress("writing", page):
        write_atomically(page, render(sides).encode())
    say_answers(sides)
    show_written([page], as_json)


def _word(study: Study, only: Sequence[str]) -> str:
    return re.sub(r"[^\w.-]+", "_", "-".join([study.name.replace("/", "-"), *only]))
