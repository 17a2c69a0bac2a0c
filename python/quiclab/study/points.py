"""Settings of a study: the changes of engine, configuration, factors and variant, merged in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.study.parts import Changes, Configuration, Point, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.study.definition import Study


def configurations_of(study: Study, engine: str) -> tuple[Configuration, ...]:
    """Return the configurations that an engine of a study runs."""
    names = study.design.engine(engine).configurations
    return tuple(item for item in study.design.configurations if not names or item.name in names)


def point_of(
    study: Study,
    engine: str,
    variant: str,
    configuration: Configuration,
    values: tuple[Value, ...],
    changes: Changes | Callable[[Changes], Changes],
    runs: int,
) -> Point:
    """Return a setting.

    Parameters
    ----------
    study, engine, variant, configuration
        What it belongs to.
    values
        Value of each factor.
    changes
        Changes of the variant.
    runs
        Its repetitions.
    """
    merged: dict[str, object] = dict(study.design.engine_changes(engine))
    if not callable(configuration.changes):
        merged.update(configuration.changes)
    labels: dict[str, Value] = {}
    for factor, value in zip(study.design.factors, values, strict=True):
        labels[factor.column] = value
        merged.update(factor.changes(value) if factor.changes is not None else {})
    for further in (
        configuration.changes if callable(configuration.changes) else {},
        changes,
        study.design.engine(engine).changes,
    ):
        merged = dict(further(merged)) if callable(further) else {**merged, **further}
    programs = study.design.engine(engine).stacks
    for path, stack in merged.items():
        if path.endswith(".stack"):
            merged[path] = programs.get(str(stack), stack)
    return Point(engine, variant, configuration.name, labels, merged, runs)
