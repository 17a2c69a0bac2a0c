"""Published tables: rows with their settings, as figures and claims read them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from quiclab.errors import QuiclabError
from quiclab.result.stats import Summary
from quiclab.study import Study
from quiclab.study.findings import Grid, Key
from quiclab.study.printed import Printed
from quiclab.study.registry import find

PRINTED_DECIMALS = 4


@dataclass(frozen=True)
class PublishedRow:
    """One row of a published table: its cells as printed, its place in the study, and its result."""

    cells: Mapping[str, str]
    key: Key
    summary: Summary


def printed_findings(study: Study, reference: Sequence[PublishedRow] | None = None) -> Printed:
    """Return the published tables as the claims of a study read them.

    Parameters
    ----------
    study
        The study of the claims.
    reference
        Reference of its own runs (default: its table). An engine that represents the publication is the reference only
        of the claims of this study.
    """

    def rows(name: str, metric: str) -> tuple[Study, Sequence[PublishedRow]]:
        read = find(name) if name else study
        if read.measures.table.engine:
            return read, (reference or []) if not name and not metric else []
        return read, read_published(read, "" if metric == read.measures.metric.name else metric)

    def grid(name: str, metric: str) -> Grid:
        read, found = rows(name, metric)
        names = tuple(dict.fromkeys(str(row.key[0]) for row in found))
        factors = {factor.name: factor.values for factor in read.design.factors}
        return Grid(factors, names, {row.key: [row.summary.mean] for row in found})

    def deviations(name: str, metric: str) -> dict[Key, float]:
        return {row.key: row.summary.std for row in rows(name, metric)[1]}

    def counts(name: str, metric: str) -> dict[Key, int]:
        return {row.key: row.summary.n for row in rows(name, metric)[1]}

    return Printed(cache(grid), cache(deviations), cache(counts))


def as_printed(summary: Summary) -> Summary:
    """Round the values that replace a published table."""
    return replace(summary, mean=round(summary.mean, PRINTED_DECIMALS), std=round(summary.std, PRINTED_DECIMALS))


def read_published(study: Study, metric: str = "") -> list[PublishedRow]:
    """Read the published table of a study.

    Parameters
    ----------
    study
        The study.
    metric
        Name of a further metric; the study's own by default. Rows without a value of it are left out.

    Raises
    ------
    QuiclabError
        If it cannot be read.
    """
    if not study.measures.table.file:
        return []
    path = study.home / study.measures.table.file
    stem = metric or study.measures.metric.name
    rows = []
    try:
        for cells in (study.measures.table.read or csv_rows)(path):
            if not (cells.get(f"{stem}_mean") if metric else cells[f"{stem}_mean"]):
                continue
            key: Key = (cells["configuration"], *(number(cells[factor.column]) for factor in study.design.factors))
            mean, n = float(cells[f"{stem}_mean"]), int(cells["n_runs"])
            std = float(cells.get(f"{stem}_std") or "nan")  # of some only the mean is printed
            rows.append(PublishedRow(cells, key, Summary(n, mean, std, mean, mean)))
    except (OSError, KeyError, ValueError) as error:
        raise QuiclabError(f"cannot read the published table {path}: {error}") from error
    return rows


def csv_rows(path: Path) -> list[dict[str, str]]:
    """Read a table with a header."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text: str) -> str | int | float:
    """Read a cell: an integer or a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
