"""Declarations that studies of several groups share: factors, figures, metrics, and measures with criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab.study import NOT_PUBLISHED, Factor, Figure, Measures, Metric, Table
from quiclab_studies.reductions import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.result import Keep, RunResult
    from quiclab.study import Changes, Value
    from quiclab.study.criteria import Criterion


def batch_factor(sizes: tuple[int, ...]) -> Factor:
    """Return the batch size of a split bearer as a factor."""
    return Factor(
        "batch", "dc_batch_packets", "DC batch size", "packets", sizes, lambda size: {"bearers.dc.batch_packets": size}
    )


def numbered_cases(count: int, changes: Callable[[int], Changes]) -> Factor:
    """Return cases 1 to `count` as a factor, from the number of a case to its changes."""
    return Factor("case", "case", "Case", "", tuple(range(1, count + 1)), lambda case: changes(int(case)))


def value_as(key: str) -> Callable[[Value], Changes]:
    """Return changes that are the value of a factor by this key, from which configurations make theirs."""
    return lambda value: {key: value}


def kept_metric(name: str, label: str, unit: str, *keys: str, factor: float = 1.0) -> Metric:
    """Return the metric of a number that is kept of each run, times a factor.

    Parameters
    ----------
    name, label, unit
        As in `Metric`.
    keys
        Path of the number in what is kept: by default its name. A number that is `None` is NaN, a missing one an error.
    factor
        From the unit of the number to `unit`.
    """

    def read(result: RunResult) -> float:
        found: Any = result.data["kept"]
        for key in keys or (name,):
            found = found[key]
        return factor * number(found)

    return Metric(name, label, unit, read)


def drawn_figure(title: str, caption: str, draw: Callable[..., Any], source: str = "") -> Figure:
    """Return a figure that a function draws from the stored runs."""
    return Figure(title, source, "", caption, draw=draw)


def measures_of_criteria(
    metrics: tuple[Metric, ...],
    criteria: tuple[Criterion, ...],
    table: Table = NOT_PUBLISHED,
    source: str = "",
    *,
    keep: Keep | None = None,
    kept_series: tuple[str, ...] = (),
) -> Measures:
    """Return measures whose claims are that criteria are met.

    Parameters
    ----------
    metrics
        The main metric, then the further ones.
    criteria
        The criteria.
    table
        The reference.
    source
        Source of the claims: by default that of the reference.
    keep, kept_series
        As in `Measures`.
    """
    return Measures(
        metric=metrics[0],
        further=metrics[1:],
        kept_series=kept_series,
        keep=keep,
        table=table,
        criteria=criteria,
        claims=tuple(item.claim(source or table.source) for item in criteria),
    )
