"""Stored runs of studies: the result of each as JSON, and the time series that are kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quiclab.identity import BUILD, VERSIONS
from quiclab.libraries import pl
from quiclab.store import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Collection

    from quiclab.store import Store

#: Columns of a run, by name and name of their type: the table library loads slowly.
_COLUMNS: Final = {IDENTITY: "String", VERSIONS: "String", BUILD: "String", "result": "String", "series": "Binary"}


def schema() -> dict[str, type[pl.DataType]]:
    """Return the columns of a stored run."""
    return {name: getattr(pl, kind) for name, kind in _COLUMNS.items()}


def results(store: Store, identities: Collection[str]) -> dict[str, tuple[str, str, bytes | None]]:
    """Return build, result JSON and kept time series of the requested runs that are stored."""
    found: dict[str, tuple[str, str, bytes | None]] = {}
    for part in store.rows(schema()):
        rows = part.filter(pl.col(IDENTITY).is_in(list(identities)))
        kept = rows.select(IDENTITY, BUILD, "result", "series")
        found.update((identity, (build, result, series)) for identity, build, result, series in kept.iter_rows())
    return found
