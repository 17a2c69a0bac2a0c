"""Runs that failed, beside those that are stored: a setting without a result has a reason, not a gap.

`failures.json` of a results directory has the reason of each run by its identity. A run that is made again, which every
sweep does with failed ones, replaces or removes its entry; the oldest entries of too many are dropped.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from quiclab._base.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

FILE: Final = "failures.json"
SCHEMA: Final = "quiclab.failures/1"
#: Entries of a file.
MAX_ENTRIES: Final = 100_000
#: Characters of a reason that are kept.
MAX_REASON: Final = 500


def read_failures(directory: Path) -> dict[str, str]:
    """Return the reasons of failed runs by their identities; none where the file is not there, or not one of these."""
    try:
        found = json.loads((directory / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    entries = found.get("failures") if isinstance(found, dict) and found.get("schema") == SCHEMA else None
    return {str(name): str(why) for name, why in entries.items()} if isinstance(entries, dict) else {}


def note_failures(directory: Path, failed: Mapping[str, str], made: Collection[str] = ()) -> None:
    """Add failed runs to a results directory, and remove those that have been made since.

    Parameters
    ----------
    directory
        The directory, which the caller holds.
    failed
        Reasons by identities.
    made
        Identities of runs that have not failed.

    Raises
    ------
    RequestError
        If the directory cannot be written to.
    """
    before = read_failures(directory)
    done = {*made, *failed}
    after = {name: why for name, why in before.items() if name not in done}
    after |= {name: why[:MAX_REASON] for name, why in failed.items()}
    if after == before:
        return
    if not after:
        (directory / FILE).unlink(missing_ok=True)
        return
    kept = dict(list(after.items())[-MAX_ENTRIES:])
    write_atomically(directory / FILE, json.dumps({"schema": SCHEMA, "failures": kept}, ensure_ascii=False).encode())
