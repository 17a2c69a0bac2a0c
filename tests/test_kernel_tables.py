"""Recordings of the kernel lane: the tables are those of the other lane."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from quiclab.errors import QuiclabError
from quiclab.lane.choices import TABLES
from quiclab.lane.frames import read
from quiclab.result.series import rates


def test_files_are_tables(tmp_path: Path) -> None:
    folder = tmp_path / TABLES
    (folder / "taps").mkdir(parents=True)
    names = pl.col(pl.String).cast(pl.Categorical)
    pl.DataFrame(
        {
            "time_s": [0.0, 0.0, 0.0, 0.5, 0.5, 0.5],
            "element": ["down", "down", "main.receiver"] * 2,
            "metric": ["sent_bytes", "queue_packets", "received_bytes"] * 2,
            "value": [0.0, 3.0, 0.0, 1_250_000.0, 4.0, 625_000.0],
        }
    ).with_columns(names).write_ipc(folder / "series.arrow")
    pl.DataFrame(schema={"time_ns": pl.Int64, "element": pl.Categorical}).write_ipc(folder / "packets.arrow")
    pl.DataFrame({"time_ns": [7], "packet_id": [1 << 40], "direction": ["up"]}).write_ipc(
        folder / "taps" / "probe.arrow"
    )
    tables = read(tmp_path)
    assert tables.series.filter(pl.col("metric") == "queue_packets")["value"].to_list() == [3, 4]
    # 1.25 MB in half a second are 20 Mbit/s
    assert rates(tables.series).rows() == [(0.5, "down", "sent", 20.0), (0.5, "main.receiver", "received", 10.0)]
    assert tables.packets.is_empty()
    assert tables.taps["probe"].rows() == [(7, 1 << 40, "up")]


@pytest.mark.parametrize("content", [None, b"", b"no table"])
def test_tables_that_cannot_be_read_are_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / TABLES).mkdir()
        (tmp_path / TABLES / "series.arrow").write_bytes(content)
    with pytest.raises(QuiclabError, match="cannot read the recordings in"):
        read(tmp_path)
