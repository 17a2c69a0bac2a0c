"""Factors that change nothing: runs that differ in nothing else are equal, packet by packet.

The same for sweeps and for studies. Runs of the same seed are compared: factors whose settings have seeds of their own
are never named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab._base.libraries import pl

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# names that no factor has
_LEVELS, _DIGESTS = "number of levels", "number of digests"


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
            pl.struct(sorted(own)).n_unique().alias(_LEVELS), pl.col("digest").n_unique().alias(_DIGESTS)
        )
        equal = equal.filter(pl.col(_LEVELS) > 1)
        if len(equal) and equal[_DIGESTS].max() == 1:
            have = "has" if len(own) == 1 else "have"
            found.append(f"{name} {have} no effect: runs that differ in nothing else are equal, packet by packet.")
    return found
