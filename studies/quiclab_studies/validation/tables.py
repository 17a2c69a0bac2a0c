"""Reading of the measurements that studies of this group are compared with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from quiclab.result.stats import summarise
from quiclab.study.published import csv_rows

Cells = dict[str, str]
Key = tuple[str | int | float, ...]


def read(file: str) -> list[Cells]:
    """Return the rows of a file of the reference, relative to the folder of all studies."""
    return csv_rows(Path(__file__).parents[1] / file)


def grouped(rows: Iterable[Cells], key: Callable[[Cells], Key]) -> dict[Key, list[Cells]]:
    """Return rows by key, in the order of their first appearance."""
    found: dict[Key, list[Cells]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def column(rows: Sequence[Cells], name: str) -> list[float]:
    """Return the numbers of a column."""
    return [float(row[name]) for row in rows]


def columns(rows: Sequence[Cells], sources: Mapping[str, str]) -> dict[str, list[float]]:
    """Return the numbers of columns, from the name of each metric to that of its column."""
    return {metric: column(rows, source) for metric, source in sources.items()}


def with_means(cells: Cells, values: Mapping[str, Sequence[float]]) -> Cells:
    """Add mean, deviation and number of repeated measurements to the cells that name a setting."""
    found = dict(cells)
    for name, numbers in values.items():
        summary = summarise(numbers)
        found |= {f"{name}_mean": f"{summary.mean:.6g}", f"{name}_std": f"{summary.std:.3g}", "n_runs": str(summary.n)}
    return found
