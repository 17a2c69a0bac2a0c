"""Stored runs in the order of their plan, and those that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import np, pl
from quiclab.experiment.failures import read_failures
from quiclab.experiment.store import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.experiment.runs import Runs
    from quiclab.experiment.store import Store

SETTING: Final = "setting"
SEED: Final = "seed"
#: Runs of a setting that failed, and why the first of them did.
FAILED, REASON = "failed", "reason"


def stored_runs(runs: Runs, store: Store, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the runs that are stored, the same however often they were stopped and on any number of workers.

    Parameters
    ----------
    runs
        The runs of a plan.
    store
        Where they are.
    columns
        Columns to return, and their types.

    Returns
    -------
    DataFrame
        A row for each stored run, in the order of the plan: `setting` (index from 0), `seed`, `identity`, and the
        columns.
    """
    parts: list[pl.DataFrame] = [pl.DataFrame(schema={IDENTITY: pl.String, **columns})]
    place, count = np.full(len(runs), -1), 0
    for part in runs.rows_in(store, columns):
        rows, positions = runs.found_in(part[IDENTITY])
        parts.append(part.select(IDENTITY, *columns)[rows])
        # a run that was made again is stored twice: the newest counts
        place[positions] = np.arange(count, count + len(rows))
        count += len(rows)
    place = place[runs.first]
    found = np.flatnonzero(place >= 0)
    head = pl.DataFrame({SETTING: runs.settings[found].astype(np.int64), SEED: runs.seeds[found]})
    return head.with_columns(*pl.concat(parts)[place[found]])


def failed_runs(runs: Runs, store: Store) -> pl.DataFrame:
    """Return how many runs of each setting have failed, and why the first of them did.

    Returns
    -------
    DataFrame
        `setting`, `failed` and `reason`, with a row for each setting of which a run has failed and is not stored.
    """
    reasons = read_failures(store.directory)
    kinds = {SETTING: pl.Int64, FAILED: pl.Int64, REASON: pl.String}
    if not reasons:
        return pl.DataFrame(schema=kinds)
    rows, positions = runs.found_in(pl.Series(list(reasons), dtype=pl.String))
    place = np.full(len(runs), -1)
    place[positions] = rows
    place[runs.stored(store)] = -1
    place = place[runs.first]
    found = np.flatnonzero(place >= 0)
    texts = pl.Series(REASON, list(reasons.values()), dtype=pl.String)[place[found]]
    table = pl.DataFrame({SETTING: runs.settings[found].astype(np.int64), REASON: texts})
    counts = table.group_by(SETTING, maintain_order=True).agg(pl.len().alias(FAILED), pl.col(REASON).first())
    return counts.cast(kinds)  # type: ignore[arg-type]
