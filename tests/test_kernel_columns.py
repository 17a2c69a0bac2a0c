"""Recordings of the kernel lane: the tables are those of the other lane."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from quiclab import frames
from quiclab.errors import QuiclabError
from quiclab.lane.columns import COLUMNS, read_columns
from quiclab.series import rates


def table(folder: Path, names: dict[str, list[str]], **columns: np.ndarray[tuple[int], np.dtype[np.generic]]) -> None:
    folder.mkdir(parents=True)
    for name, column in columns.items():
        column.tofile(folder / f"{name}.bin")
    (folder / "names.json").write_text(json.dumps(names))


def test_columns_are_tables(tmp_path: Path) -> None:
    table(
        tmp_path / COLUMNS / "series",
        {"element_names": ["down", "main.receiver"], "metric_names": ["sent_bytes", "queue_packets", "received_bytes"]},
        time_ns=np.repeat(np.array([0, 500_000_000], dtype="<i8"), 3),
        element=np.array([0, 0, 1, 0, 0, 1], dtype="<u4"),
        metric=np.array([0, 1, 2, 0, 1, 2], dtype="<u4"),
        value=np.array([0, 3, 0, 1_250_000, 4, 625_000], dtype="<f8"),
    )
    table(tmp_path / COLUMNS / "packets", {"element_names": ["down"], "flow_names": ["main"]})
    table(
        tmp_path / COLUMNS / "taps" / "probe",
        {},
        time_ns=np.array([7], dtype="<i8"),
        packet_id=np.array([1 << 40], dtype="<u8"),
        flow=np.array([0], dtype="<u4"),
        direction=np.array([1], dtype="u1"),
        size_bytes=np.array([1500], dtype="<u4"),
    )
    columns = read_columns(tmp_path)
    series = frames.series(columns.series)
    assert series.filter(pl.col("metric") == "queue_packets")["value"].to_list() == [3, 4]
    # 1.25 MB in half a second are 20 Mbit/s
    assert rates(series).rows() == [(0.5, "down", "sent", 20.0), (0.5, "main.receiver", "received", 10.0)]
    assert frames.packets(columns.packets).is_empty()
    tap = frames.tap(columns.taps["probe"], columns.packets["flow_names"])
    assert tap.rows() == [(7, 1 << 40, "main", "up", 1500)]


def test_a_directory_without_columns_is_named(tmp_path: Path) -> None:
    with pytest.raises(QuiclabError, match="cannot read the recordings in"):
        read_columns(tmp_path)
