"""Tables that a run of the kernel lane has left in its directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quiclab._base.libraries import pl
from quiclab.errors import QuiclabError
from quiclab.lane.choices import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Tables:
    """Recordings of a run, with the columns that those of `RunResult` have.

    Parameters
    ----------
    series, packets
        Time series and packet records; without rows if they were not recorded.
    taps
        Records of the taps by name.
    """

    series: pl.DataFrame
    packets: pl.DataFrame
    taps: Mapping[str, pl.DataFrame]


def read_tables(directory: str | Path) -> Tables:
    """Read the recordings that `quiclab-live run` has written next to `result.json`.

    Parameters
    ----------
    directory
        The directory of the run.

    Raises
    ------
    QuiclabError
        If there are no tables, or they cannot be read.
    """
    folder = Path(directory) / TABLES
    try:
        taps = {file.stem: _table(file) for file in sorted((folder / "taps").glob("*.arrow"))}
        return Tables(_table(folder / "series.arrow"), _table(folder / "packets.arrow"), taps)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise QuiclabError(f"cannot read the recordings in {folder}: {error}") from error


def _table(file: Path) -> pl.DataFrame:
    return pl.read_ipc(file.read_bytes())  # not mapped: the files are removed
