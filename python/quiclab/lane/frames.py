"""Tables of a run of the kernel lane: those in its directory, those of programs outside the engine, all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quiclab._base.libraries import pl
from quiclab.errors import QuiclabError
from quiclab.lane.choices import TABLES


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


def read(directory: str | Path) -> Tables:
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


def rows(rows: list[tuple[float, str, str, float]]) -> pl.DataFrame:
    """Return time series from rows of `time_s`, `element`, `metric`, `value`."""
    columns = {"time_s": pl.Float64, "element": pl.String, "metric": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def together(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Return tables with the same columns as one, in the order of time; empty ones do not count."""
    filled = [part.with_columns(pl.col(pl.Categorical).cast(pl.String)) for part in parts if not part.is_empty()]
    if not filled:
        return pl.DataFrame()
    names = pl.col(pl.String).cast(pl.Categorical)
    return pl.concat(filled).sort(filled[0].columns[0], maintain_order=True).with_columns(names)


def traced(flow: str, columns: Mapping[str, list[float | None]]) -> pl.DataFrame:
    """Return the values that the kernel traces at each acknowledgement that arrives at the sender of a flow.

    Parameters
    ----------
    columns
        `time_s` and the state of the sender then, such as `cwnd_bytes`.
    """
    if not columns:
        return pl.DataFrame()
    state = pl.DataFrame(dict(columns), schema=dict.fromkeys(columns, pl.Float64))
    time_ns = (pl.col("time_s") * 1e9).round().cast(pl.Int64)
    return state.select(
        time_ns=time_ns,
        flow=pl.lit(flow),
        element=pl.lit(f"{flow}.sender"),
        gap_ms=time_ns.diff() / 1e6,
        **{name: pl.col(name) for name in columns if name != "time_s"},
    )
