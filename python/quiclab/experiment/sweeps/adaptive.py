"""More seeds where intervals are wide, until each has the wanted precision.

A setting has enough runs when half of its 95 % interval is at most a part of its mean, for each metric. How many more
a round adds is in `quiclab.experiment.repetitions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quiclab.errors import unexpected
from quiclab.experiment.repetitions import next_count, relative_width
from quiclab.experiment.sweeps.table import HIGH, MEAN
from quiclab.experiment.table import SETTING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from quiclab.experiment.sweeps.metrics import Measure

#: Number of seeds that no setting exceeds unless the user says so.
DEFAULT_MOST: Final = 200


def too_wide(settings: pl.DataFrame, measures: Sequence[Measure], precision: float) -> dict[int, float]:
    """Return the settings whose intervals are too wide, each with the widest one.

    Parameters
    ----------
    settings
        Table of settings, as of `table.summary`.
    measures
        The metrics.
    precision
        Half of an interval divided by the mean, at most.

    Returns
    -------
    dict
        Index of a setting -> half of its widest interval divided by the mean and by `precision`, above 1; infinite
        where there is no interval.
    """
    ratios = {
        int(row[SETTING]): max(
            relative_width(row[item.column + MEAN], row[item.column + HIGH]) / precision for item in measures
        )
        for row in settings.iter_rows(named=True)
    }
    return {index: ratio for index, ratio in ratios.items() if ratio > 1.0}


def wanted_seeds(wide: Mapping[int, float], seeds: Sequence[int], most: int) -> list[int]:
    """Return the number of seeds that each setting has after the next round; the same list where none gets more.

    Parameters
    ----------
    wide
        As `too_wide` returns it.
    seeds
        Number of seeds of each setting now.
    most
        Number of seeds that no setting exceeds.
    """
    found = list(seeds)
    for index, ratio in wide.items():
        found[index] = next_count(seeds[index], most, seeds[index] * ratio**2)
    return found


def most_seeds(asked: int | None, seeds: int, field: str) -> int:
    """Return the number of seeds that no setting exceeds.

    Parameters
    ----------
    asked
        What the user gave, if anything.
    seeds
        Number of seeds of the first round.
    field
        Option or argument, for the message.

    Raises
    ------
    RequestError
        If it is below `seeds`.
    """
    if asked is None:
        return max(DEFAULT_MOST, seeds)
    if asked < seeds:
        raise unexpected(field, f"at least the number of seeds, {seeds}", asked)
    return asked
