"""The runs of a sweep as columns: a million of them take a few dozen megabytes.

Identities are 16 bytes each, sorted once, so that those of a store are found by binary search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from quiclab.identity import VERSIONS, runs_of
from quiclab.libraries import np, pl
from quiclab.store import IDENTITY
from quiclab.sweeps import kept
from quiclab.sweeps.plan import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quiclab.store import Store
    from quiclab.sweeps.plan import Plan

_BINARY: Final = "S16"


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs in the order of the sweep: settings, then seeds.

    Attributes
    ----------
    plan
        The sweep.
    settings
        Index of the setting of each run.
    seeds
        Seed of each run.
    """

    plan: Plan
    settings: np.ndarray
    seeds: np.ndarray

    @classmethod
    def of(cls, plan: Plan, counts: Sequence[int] | None = None) -> Runs:
        """Return all runs of a sweep, or the first `counts[i]` of each setting."""
        total = len(plan.design.settings)
        each = np.full(total, plan.seeds) if counts is None else np.asarray(counts)
        settings = np.repeat(np.arange(total, dtype=np.int32), each)
        numbers = np.arange(len(settings)) - np.repeat(np.cumsum(each) - each, each)
        return cls(plan, settings, numbers.astype(np.uint64) + np.uint64(plan.first_seed))

    @classmethod
    def of_shard(cls, plan: Plan, index: int, of: int) -> Runs:
        """Return those runs whose number in the sweep is `index` modulo `of`."""
        numbers = np.arange(index, plan.total, of)
        seeds = (numbers % plan.seeds).astype(np.uint64) + np.uint64(plan.first_seed)
        return cls(plan, (numbers // plan.seeds).astype(np.int32), seeds)

    def __len__(self) -> int:
        """Return their number."""
        return len(self.settings)

    def task(self, position: int) -> Task:
        """Return one run."""
        return Task(int(self.settings[position]), int(self.seeds[position]))

    def by_setting(self, chosen: np.ndarray) -> Iterator[tuple[int, list[int]]]:
        """List the settings of some runs, each with its seeds.

        Parameters
        ----------
        chosen
            Positions, in ascending order.
        """
        settings, seeds = self.settings[chosen], self.seeds[chosen]
        starts = np.flatnonzero(np.diff(settings, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(settings)], strict=True):
            yield int(settings[start]), seeds[start:end].tolist()

    @cached_property
    def identities(self) -> np.ndarray:
        """Identity of each run."""
        everything = np.arange(len(self))
        found = (runs_of(self.plan.identity(index)[0], seeds) for index, seeds in self.by_setting(everything))
        return np.frombuffer(b"".join(found), dtype=_BINARY)

    def names(self, chosen: np.ndarray) -> list[str]:
        """Return the identities of some runs as texts, from their positions."""
        text = self.identities[chosen].tobytes().hex()
        return [text[start : start + 32] for start in range(0, len(text), 32)]

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions in the order of identities, and these."""
        order = np.argsort(self.identities, kind="stable")
        return order, self.identities[order]

    @cached_property
    def first(self) -> np.ndarray:
        """Position of the first run of the same identity: two settings may be the same scenario."""
        order, identities = self._sorted
        found: np.ndarray = order[np.searchsorted(identities, self.identities)]
        return found

    def found_in(self, stored: pl.Series) -> tuple[np.ndarray, np.ndarray]:
        """Return where stored identities are: their positions in the column, and the first positions among the runs."""
        order, identities = self._sorted
        wanted = np.frombuffer(bytes.fromhex("".join(stored)), dtype=_BINARY)
        places = np.minimum(np.searchsorted(identities, wanted), max(0, len(identities) - 1))
        rows = np.flatnonzero(identities[places] == wanted) if len(identities) else np.empty(0, np.int64)
        return rows, order[places[rows]]

    def stored(self, store: Store, columns: Sequence[str]) -> np.ndarray:
        """Return for each run whether a store has these columns of it, and its tables if they are kept."""
        done = np.zeros(len(self), dtype=bool)
        for part in measured(store, columns):
            done[self.found_in(part[IDENTITY])[1]] = True
        if self.plan.keep:
            done &= kept.are_there(store.directory, self)
        found: np.ndarray = done[self.first]
        return found

    def head(self, chosen: np.ndarray) -> dict[str, pl.Series]:
        """Return the columns of a store that some runs have before they are made: identities and versions.

        Parameters
        ----------
        chosen
            Positions.
        """
        identities = self.names(chosen)
        versions = [self.plan.identity(int(index))[1] for index in self.settings[chosen]]
        return {IDENTITY: pl.Series(identities, dtype=pl.String), VERSIONS: pl.Series(versions, dtype=pl.String)}


def measured(store: Store, columns: Sequence[str], more: Mapping[str, Any] | None = None) -> Iterator[pl.DataFrame]:
    """List the stored runs that have all these columns, part by part, the oldest first.

    Parameters
    ----------
    store
        The store.
    columns
        Columns of metrics.
    more
        Further columns to return, and their types.
    """
    kinds = {IDENTITY: pl.String, **(more or {}), **dict.fromkeys(columns, pl.Float64)}
    for part in store.rows(kinds):
        yield part.filter(pl.all_horizontal(pl.col(name).is_not_null() for name in (IDENTITY, *columns)))
