"""Views: figures of single runs of a study, which are repeated with the recordings that the figure requires.

A view is not a result: it shows how one comes about. Its runs are the first of their settings with the study's default
engine, so that the figure is the same each time.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quiclab.errors import QuiclabError
from quiclab.experiment.recording import run_and_keep
from quiclab.lane.job import stacks_of
from quiclab.report.figures import declaration
from quiclab.result import RunResult
from quiclab.study.plan import Plan, available_engines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.study import Point, Study, Value, View

QUIET_S = 2.0
"""Progress is shown once the runs have taken longer than this."""


@dataclass(frozen=True)
class Drawn:
    """A view with its chart.

    Attributes
    ----------
    view
        The view.
    spec
        Vega-Lite specification of the chart, without a theme.
    runs
        Which runs it shows: a sentence with their stacks and seeds.
    """

    view: View
    spec: dict[str, Any]
    runs: str


def draw(study: Study) -> list[Drawn]:
    """Run the settings of each view of a study and draw them.

    Progress goes to stderr.

    Raises
    ------
    QuiclabError
        If a view names a setting that the study does not have, or the engine cannot run here.
    """
    if not study.presentation.views:
        return []
    if not available_engines(study, [study.design.default_engine])[0]:
        raise QuiclabError(f"the views of {study.name} require `{study.design.default_engine}`, which is not available")
    total, done, started = sum(len(view.shown) for view in study.presentation.views), 0, time.monotonic()
    found = []
    for view in study.presentation.views:
        results: dict[str, RunResult] = {}
        for label, (configuration, values) in view.shown.items():
            results[label] = result_of(study, view, configuration, values)
            done += 1
            if time.monotonic() - started > QUIET_S:
                print(f"{study.name}: views: {done} of {total} runs made again", file=sys.stderr)
        found.append(Drawn(view, declaration(view.draw(results)), runs_shown(results)))
    return found


def runs_shown(results: Mapping[str, RunResult]) -> str:
    """Say which stacks and seeds runs have, by their labels: once if all have the same."""
    told = {}
    for label, result in results.items():
        stacks = dict.fromkeys(stacks_of(result.data["scenario"]))
        told[label] = f"{', '.join(stacks)}, seed {result.seed}"
    same = set(told.values())
    text = same.pop() if len(same) == 1 else "; ".join(f"{label} ({what})" for label, what in told.items())
    return f"{'Run' if len(told) == 1 else 'Runs'} shown: {text}."


def result_of(study: Study, view: View, configuration: str, values: Mapping[str, Value]) -> RunResult:
    """Run one setting with the recordings and changes of a view.

    Parameters
    ----------
    study, view
        Whose setting it is, and which view shows it.
    configuration, values
        The setting; values of swept factors by their short names.
    """
    point = _setting(study, view, configuration, values)
    [run] = Plan(study, [replace(point, changes={**point.changes, **view.changes})]).first_runs()
    recipe = run.recipe
    return run_and_keep(run.scenario, run.seed, recipe.base_dir, recipe.recording.keep, recipe.lane)


def _setting(study: Study, view: View, configuration: str, values: Mapping[str, Value]) -> Point:
    wanted = {factor.column: values.get(factor.name) for factor in study.design.swept}
    for point in study.points((study.design.default_engine,), 1, variants=()):
        if point.configuration == configuration and wanted.items() <= point.labels.items():
            return point
    named = ", ".join([configuration, *(f"{name}={value}" for name, value in values.items())])
    raise QuiclabError(
        f"the view `{view.title}` of {study.name} refers to a setting that the study does not have: {named}"
    )
