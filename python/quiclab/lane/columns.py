"""Columns that a run of the kernel lane has left in its directory, as `quiclab.frames` takes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab.errors import QuiclabError

if TYPE_CHECKING:
    from collections.abc import Mapping


#: Folder of the columns in the directory of a run.
COLUMNS = ".columns"


@dataclass(frozen=True)
class Columns:
    """Recordings of a run: the same attributes as the output of the extension has.

    Parameters
    ----------
    series
        For `frames.series`.
    packets
        For `frames.packets`; `flow_names` is there even if no packet was recorded.
    taps
        By name, each for `frames.tap`.
    """

    series: Mapping[str, Any]
    packets: Mapping[str, Any]
    taps: Mapping[str, Mapping[str, Any]]


def read_columns(directory: str | Path) -> Columns:
    """Read the recordings that `quiclab-live run` has written next to `result.json`.

    Parameters
    ----------
    directory
        The directory of the run.

    Raises
    ------
    QuiclabError
        If there are no columns, or they cannot be read.
    """
    folder = Path(directory) / COLUMNS
    try:
        taps = sorted(path for path in (folder / "taps").glob("*") if path.is_dir())
        return Columns(_table(folder / "series"), _table(folder / "packets"), {tap.name: _table(tap) for tap in taps})
    except (OSError, ValueError) as error:
        raise QuiclabError(f"cannot read the recordings in {folder}: {error}") from error


def _table(folder: Path) -> dict[str, Any]:
    """Return the columns of a table by name as bytes, and its lists of names."""
    table: dict[str, Any] = {file.stem: file.read_bytes() for file in sorted(folder.glob("*.bin"))}
    table.update(json.loads((folder / "names.json").read_text()))
    return table
