"""Trial of a study's own functions on its first run, so that a mistake in them does not show after the last."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from quiclab.experiment.own_code import own_code
from quiclab.study.claims import NotMeasuredError, Resamples
from quiclab.study.findings import Grid, Key
from quiclab.study.recording import result_of
from quiclab.study.registry import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.experiment.plan import Task
    from quiclab.result import RunResult
    from quiclab.study.claims import Claim
    from quiclab.study.definition import Study
    from quiclab.study.plan import Plan

#: Errors of a predicate that do not depend on the values it reads.
MISTAKES = (NameError, AttributeError, TypeError, KeyError)


def try_study(plan: Plan, task: Task, columns: Mapping[str, Any]) -> None:
    """Measure a run, and evaluate the predicates of the claims on a study whose settings all have these values.

    Parameters
    ----------
    plan
        Settings of the study.
    task, columns
        The run, and its stored columns.

    Raises
    ------
    QuiclabError
        If a metric or a predicate fails: study, metric or claim, the exception, its file and line.
    """
    study, labels = plan.study, plan.points[task.setting].labels
    result = result_of(columns["result"], columns["series"])
    values = {metric.name: measured(study, metric.name, labels, task.seed, result) for metric in study.measures.metrics}

    @cache
    def grid(name: str, metric: str) -> Grid:
        found = find(name) if name else study
        value = 1.0 if name else values[metric or study.measures.metric.name]
        return everywhere(found, 1.0 if math.isnan(value) else value)

    criteria = {item.identity for item in study.measures.criteria}
    for claim in study.measures.claims:
        if claim.identity not in criteria:
            _try_claim(study, claim, Resamples(grid, resamples=2))


def measured(study: Study, name: str, labels: Mapping[str, str | int | float], seed: int, result: RunResult) -> float:
    """Measure a run, or a part of a run.

    Parameters
    ----------
    study, name
        The study, and the name of its metric.
    labels, seed
        Setting and seed of the run.
    result
        The run.

    Raises
    ------
    QuiclabError
        If the metric fails: study, metric, setting, seed, the exception, its file and line.
    """
    metric = study.measures.metric_of(name)
    setting = ", ".join(f"{column} {labels[column]}" for column in study.design.columns)
    with own_code(f"study {study.name}, metric `{name}`, {setting}, seed {seed}"):
        return float(metric.value(result, {part.name: labels[part.column] for part in study.design.parts}))


def everywhere(study: Study, value: float) -> Grid:
    """Return a grid of which each setting has two runs with the same value."""
    configurations = tuple(item.name for item in study.design.configurations)
    factors = {factor.name: factor.values for factor in study.design.factors}
    keys: list[Key] = list(product(configurations, *factors.values()))
    return Grid(factors, configurations, dict.fromkeys(keys, (value, value)), known=tuple(study.design.labels))


def _try_claim(study: Study, claim: Claim, runs: Resamples) -> None:
    with own_code(f"study {study.name}, claim {claim.identity}"):
        for function in (claim.check, claim.numbers, claim.margin):
            try:
                if function is not None:
                    function(claim.sample(runs))
            except MISTAKES:
                raise
            except (NotMeasuredError, ArithmeticError, ValueError, LookupError):
                continue  # it may hold of values that were measured
