#!/usr/bin/env python3
"""Add runs to random scenarios where chance matters; the choice does not look at which engine is favoured.

    python tools/further_runs.py scattered validation/blind_quic
    python tools/further_runs.py starts validation/blind --number 19
    python tools/further_runs.py kernel validation/aqm

`scattered` adds runs of both engines to the settings in which, in one of them, the range of the goodputs exceeds a
share of their mean (`SCATTER_RULES`). `starts` runs the cases with the largest differences with flows that start later,
in the model: variants of the study. `kernel` runs the kernel with flows that start later, too, in the settings in which
the range of the model's runs, those of its variants included, exceeds the limit of a criterion: another seed does not
change what a queue does that draws no random numbers. Stored runs are reused, so that a command that was stopped can be
repeated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean

from quiclab.errors import QuiclabError
from quiclab.experiment.execute import execute
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.study import Point
from quiclab.study.evaluate import Evaluation
from quiclab.study.findings import Key
from quiclab.study.manifest import Setting, among, read_manifest, setting_of, with_more, write_manifest, write_more
from quiclab.study.plan import Plan
from quiclab.study.registry import find

#: Shares of the mean goodput, and the number of runs of settings whose range exceeds them; one after the other.
SCATTER_RULES = ((0.04, 8), (0.2, 16))
#: Studies that each choice is made for.
STUDIES = {
    "scattered": ("validation/blind", "validation/blind_quic"),
    "starts": ("validation/blind", "validation/blind_quic"),
    "kernel": ("validation/aqm",),
}


def scattered(evaluation: Evaluation, beyond: float) -> set[Key]:
    """Return the settings, by configuration and value of each factor, whose range exceeds this share of the mean."""
    return {
        key
        for engine in evaluation.study.design.engines
        for key, values in evaluation.samples(engine.name).items()
        if (mean := fmean(values)) and (max(values) - min(values)) / mean > beyond
    }


def settings_of(evaluation: Evaluation, keys: set[Key], runs: int) -> dict[Setting, int]:
    """Return the settings of all engines with their number of runs."""
    study = evaluation.study
    found = {engine.name: keys & evaluation.samples(engine.name).keys() for engine in study.design.engines}
    return {setting_of(study, engine, key): runs for engine, some in found.items() for key in some}


def more_points(evaluation: Evaluation, beyond: float, runs: int) -> list[Point]:
    """Note the number of runs of the settings that scatter, and return these."""
    study, more = evaluation.study, settings_of(evaluation, scattered(evaluation, beyond), runs)
    write_more(study, evaluation.directory, more)
    engines = tuple(engine.name for engine in study.design.engines)
    return with_more(study, among(study, study.points(engines, 1, variants=()), more), more)


def uncertain(evaluation: Evaluation) -> set[Key]:
    """Return the settings in which the range of the model's runs exceeds a limit of a criterion, which are relative."""
    design, found = evaluation.study.design, set()
    variants = ("", *(variant.name for variant in design.variants if not variant.interpretation))
    for criterion in evaluation.study.measures.criteria:
        samples = [evaluation.samples(design.default_engine, name, criterion.metric) for name in variants]
        for key, limit in criterion.limits.items():
            values = [value for runs in samples for value in runs.get(key, [])]
            if values and max(values) - min(values) > limit * fmean(values):
                found.add(key)
    return found


def kernel_points(evaluation: Evaluation) -> list[Point]:
    """Return the uncertain settings with each variant that was run in the model and is for the kernel, too."""
    study = evaluation.study
    design, noted = study.design, read_manifest(evaluation.directory)
    other = next(engine.name for engine in design.engines if engine.name != design.default_engine)
    ran = None if noted is None else noted.variants
    names = tuple(
        variant.name for variant in design.variants if other in variant.engines and (ran is None or variant.name in ran)
    )
    if not names:
        message = f"no variant of {study.name} that is for {other} was run; first, run `quiclab study run --variants`"
        raise QuiclabError(message)
    keys = uncertain(evaluation)
    return [point for point in study.points((other,), 1, variants=names) if point.variant and point.key in keys]


def later_points(evaluation: Evaluation, number: int) -> list[Point]:
    """Note so many variants, and return the cases with the largest differences under them."""
    study = evaluation.study
    views = import_module(f"quiclab_studies.{study.name.replace('/', '.')}").VIEWS
    names = [variant.name for variant in study.design.variants]
    chosen = names[:: max(1, len(names) // number)][:number]
    write_manifest(study, evaluation.directory, 1, partial=True, variants=chosen)
    worst = set(views.furthest(evaluation))
    points = study.points((study.design.default_engine,), variants=tuple(chosen))
    return [point for point in points if point.variant and point.key in worst]


def run(evaluation: Evaluation, points: Sequence[Point], workers: int | None) -> bool:
    """Make the runs that are missing; returns whether all are there."""
    plan = Plan(evaluation.study, points)
    outcome = execute(Runs.of(plan), Store(evaluation.directory), plan.executor(workers=workers))
    return not outcome.failed and not outcome.interrupted


def main() -> str | int:
    """Choose the settings and run them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("choice", choices=tuple(STUDIES))
    parser.add_argument("study", choices=sorted({study for studies in STUDIES.values() for study in studies}))
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR")
    parser.add_argument("--number", type=int, default=19, metavar="N", help="starts of `starts` (default: 19, all)")
    parser.add_argument("--jobs", type=int, metavar="N", help="worker processes (default: one per CPU)")
    arguments = parser.parse_args()
    for name in ("number", "jobs"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            parser.error(f"--{name}: expected at least 1, got {value}")
    if arguments.study not in STUDIES[arguments.choice]:
        parser.error(f"{arguments.choice}: expected {' or '.join(STUDIES[arguments.choice])}, got {arguments.study}")
    choices: dict[str, list[Callable[[Evaluation], list[Point]]]] = {
        "scattered": [partial(more_points, beyond=beyond, runs=runs) for beyond, runs in SCATTER_RULES],
        "starts": [partial(later_points, number=arguments.number)],
        "kernel": [kernel_points],
    }
    try:
        for choose in choices[arguments.choice]:
            evaluation = Evaluation(find(arguments.study), arguments.results)
            if not run(evaluation, choose(evaluation), arguments.jobs):
                return 1
        return 0
    except QuiclabError as error:
        return f"further_runs.py: {error.message}"


if __name__ == "__main__":
    sys.exit(main())
