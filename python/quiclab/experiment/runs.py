"""The runs of a plan as columns: a million of them take a few dozen megabytes.

Identities are 16 bytes each, sorted once, so that those of a store are found by binary search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import np, pl
from quiclab._base.native import build_id
from quiclab.experiment import kept
from quiclab.experiment.identity import BUILD, VERSIONS, runs_of
from quiclab.experiment.plan import Task
from quiclab.experiment.store import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from quiclab.experiment.plan import Plan
    from quiclab.experiment.store import Store

_BINARY: Final = "S16"


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs in the order of their plan: settings, then seeds.

    Attributes
    ----------
    plan
        The plan.
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
        """Return all runs of a plan, or the first `counts[i]` of each setting."""
        each = np.broadcast_to(plan.counts if counts is None else np.asarray(counts, np.int64), len(plan))
        settings = np.repeat(np.arange(len(plan), dtype=np.int32), each)
        numbers = np.arange(len(settings)) - np.repeat(np.cumsum(each) - each, each)
        first = np.broadcast_to(np.asarray(plan.first_seeds, np.uint64), len(plan))
        return cls(plan, settings, numbers.astype(np.uint64) + first[settings])

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of each run; settings that are parts of the same runs share it."""
        _, first, group = np.unique(self.plan.same_runs, return_index=True, return_inverse=True)
        counts = np.broadcast_to(self.plan.counts, len(self.plan))[first]
        seeds = np.broadcast_to(np.asarray(self.plan.first_seeds, np.uint64), len(self.plan))[self.settings]
        found: np.ndarray = (np.cumsum(counts) - counts)[group[self.settings]] + (self.seeds - seeds).astype(np.int64)
        return found

    def shard(self, index: int, of: int) -> Runs:
        """Return those runs whose number is `index` modulo `of`."""
        chosen = self.numbers % of == index
        return Runs(self.plan, self.settings[chosen], self.seeds[chosen])

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

    @cached_property
    def is_first(self) -> np.ndarray:
        """Whether each run is the first of its identity."""
        found: np.ndarray = self.first == np.arange(len(self))
        return found

    def found_in(self, stored: pl.Series) -> tuple[np.ndarray, np.ndarray]:
        """Return where stored identities are: their positions in the column, and the first positions among the runs."""
        order, identities = self._sorted
        wanted = np.frombuffer(bytes.fromhex("".join(stored)), dtype=_BINARY)
        places = np.minimum(np.searchsorted(identities, wanted), max(0, len(identities) - 1))
        rows = np.flatnonzero(identities[places] == wanted) if len(identities) else np.empty(0, np.int64)
        return rows, order[places[rows]]

    def stored(self, store: Store) -> np.ndarray:
        """Return for each run whether a store has its columns, and its tables if they are kept."""
        done = np.zeros(len(self), dtype=bool)
        for part in self.rows_in(store):
            done[self.found_in(part[IDENTITY])[1]] = True
        if self.plan.recording.tables:
            done &= kept.are_there(store.directory, self)
        found: np.ndarray = done[self.first]
        return found

    def rows_in(self, store: Store, more: Mapping[str, Any] | None = None) -> Iterator[pl.DataFrame]:
        """List the stored runs that have the columns of the plan's recording, part by part, the oldest first.

        Parameters
        ----------
        store
            The store.
        more
            Further columns to return, and their types.
        """
        recording = self.plan.recording
        kinds = {IDENTITY: pl.String, **{name: getattr(pl, recording.kinds[name]) for name in recording.needed}}
        for part in store.rows(kinds | dict(more or {})):
            yield part.filter(pl.all_horizontal(pl.col(IDENTITY, *recording.needed).is_not_null()))

    def head(self, chosen: np.ndarray) -> dict[str, pl.Series]:
        """Return the columns of a store that some runs have before they are made: identities, versions and build.

        Parameters
        ----------
        chosen
            Positions.
        """
        identities = self.names(chosen)
        versions = [self.plan.identity(int(index))[1] for index in self.settings[chosen]]
        columns = {IDENTITY: identities, VERSIONS: versions, BUILD: [build_id()] * len(chosen)}
        return {name: pl.Series(values, dtype=pl.String) for name, values in columns.items()}
