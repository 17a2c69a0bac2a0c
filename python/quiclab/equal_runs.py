"""Factors that change nothing: runs that differ in nothing else are equal, packet by packet.

The same for sweeps and for studies. It compares runs of the same seed: settings with seeds of their own have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.libraries import pl

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def without_effect(
    runs: pl.DataFrame, columns: Iterable[str], groups: Iterable[tuple[str, Collection[str]]]
) -> list[str]:
    """Name the factors whose levels make no difference.

    Parameters
    ----------
    runs
        One row for each run, with its `seed` and its `digest`.
    columns
        All columns that tell settings apart.
    groups
        The name of each factor, and its columns.
    """
    if runs.is_empty():
        return []
    columns = list(columns)
    found = []
    for name, own in groups:
        others = [column for column in columns if column not in own]
        equal = runs.group_by("seed", *others).agg(
            pl.struct(sorted(own)).n_unique().alias("levels"), pl.col("digest").n_unique()
        )
        equal = equal.filter(pl.col("levels") > 1)
        if len(equal) and equal["digest"].max() == 1:
            found.append(f"{name} has no effect: runs that differ in nothing else are equal, packet by packet.")
    return found
