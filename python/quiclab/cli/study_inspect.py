"""`quiclab study inspect`: the packets of one setting of a study, in two engines side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiclab.cli.inspect import report_progress
from quiclab.cli.study_group import ONLY, SeedOption, parse_only, unavailable_reason
from quiclab.cli.values import ForceOption, check_new, check_report, integer
from quiclab.errors import RequestError
from quiclab.files import write_atomically
from quiclab.inspect import DEFAULT_POINTS, render, side
from quiclab.inspect.source import run_recorded
from quiclab.scenario import Scenario
from quiclab.study.plan import available_engines, jobs_of
from quiclab.study.registry import find_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.study import Study
    from quiclab.study.job import Job

SIDES = 2


def study_inspect_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Study, or a study of a group: validation/linux_tcp.")],
    only: Annotated[
        list[str] | None,
        typer.Option(parser=ONLY.checked, metavar="KEY=VALUE", help="The setting; may be repeated."),
    ] = None,
    engines: Annotated[str, typer.Option(metavar="default|all|A,B", help="One engine or two.")] = "all",
    run: Annotated[int, typer.Option(parser=integer(1, 100_000), metavar="N", help="Which run of the setting.")] = 1,
    seed: SeedOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="HTML file to write (default: inspect-STUDY-SETTING.html; an older report is replaced)."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Run one setting again with recording on, and write an HTML report about its packets."""
    studies = find_all(name)
    if len(studies) > 1:
        raise RequestError(f"{name} is a group; choose one of {', '.join(study.name for study in studies)}")
    study = studies[0] if seed is None else studies[0].with_seed(seed)
    jobs = _jobs(study, study.chosen_engines(engines), parse_only(only or []))
    page = out or Path(f"inspect-{_word(study, only or [])}.html")
    (check_report if out is None else check_new)(page, force)
    sides = []
    for job in jobs:
        opened = run_recorded(
            Scenario.from_dict(json.loads(job.scenario)),
            str(job.labels["engine"]),
            f"{study.name}, {', '.join(only or [])}",
            DEFAULT_POINTS,
            report_progress,
            base_dir=Path(job.base_dir),
            seed=job.seed + run - 1,
            lane=job.lane,
        )
        sides.append(side(opened))
    with report_progress("writing", page):
        write_atomically(page, render(sides).encode())
    print(page)


def _jobs(study: Study, engines: Sequence[str], keep: dict[str, tuple[str, ...]]) -> list[Job]:
    """Return the first run of the setting in each engine."""
    present, absent = available_engines(study, engines)
    if absent:
        raise RequestError(f"{study.name} cannot run on this machine with {unavailable_reason(study, absent)}")
    jobs = jobs_of(study, list(study.points(tuple(present), 1, keep, ())))
    found = {str(job.labels["engine"]): job for job in jobs}
    if len(found) > SIDES:
        raise RequestError(f"{study.name} has {len(found)} engines; choose two with --engines: {', '.join(found)}")
    if len(found) < len(jobs):
        free = [key for key in study.design.keys if len({job.labels.get(key) for job in jobs}) > 1 and key != "engine"]
        raise RequestError(f"{len(jobs) // len(found)} settings; choose one with --only: {', '.join(free)}")
    return list(found.values())


def _word(study: Study, only: Sequence[str]) -> str:
    return re.sub(r"[^\w.-]+", "_", "-".join([study.name.replace("/", "-"), *only]))
