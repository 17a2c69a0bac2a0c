"""Tables of single runs that a sweep keeps: the same as those of the run alone, and never without their run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import quiclab
from quiclab import cli
from quiclab.errors import RequestError
from quiclab.result import TABLES

Captured = pytest.CaptureFixture[str]
VARY = ["--vary", "links.down1.rate=5Mbit/s,20Mbit/s", "--seeds", "2", "--jobs", "1"]
KEEP = ["--keep", "series,packets"]


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def files_in(directory: Path) -> dict[str, bytes]:
    """The kept tables by their paths."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for name in TABLES for path in (directory / name).glob("*")
    }


def test_each_run_has_the_tables_that_it_has_alone(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert invoke("sweep", small, *VARY, *KEEP, "--out", out) == 0
    runs = pl.read_parquet(out / "runs.parquet")
    assert sorted([*runs["series"], *runs["packets"]]) == sorted(files_in(out))
    row = runs.row(3, named=True)
    sets = {"links.down1.rate": "20 Mbit/s", "record.series_interval": "10 ms", "record.packets": True}
    scenario = quiclab.load(small)
    for path, value in sets.items():
        scenario = scenario.with_value(path, value)
    alone = quiclab.run(scenario, seed=row["seed"])
    assert row["digest"] == alone.digest
    for name in ("series", "packets"):
        assert pl.read_parquet(out / row[name]).equals(getattr(alone, name))


def test_shards_leave_the_same_files_as_one_machine(small: Path, tmp_path: Path) -> None:
    assert invoke("sweep", small, *VARY, *KEEP, "--out", tmp_path / "whole") == 0
    assert invoke("sweep", "plan", small, *VARY[:4], *KEEP) == 0
    plan = small.with_suffix(".plan.json")
    for index in "01":
        assert invoke("shard", plan, "--index", index, "--of", "2", "--jobs", "1") == 0
    assert invoke("sweep", "merge", plan, "--out", tmp_path / "merged") == 0
    assert files_in(tmp_path / "merged") == files_in(tmp_path / "whole")
    name = "runs.parquet"
    assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_run_whose_table_is_gone_is_made_again_and_only_that(small: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments: list[str | Path] = ["sweep", small, *VARY, *KEEP, "--out", tmp_path]
    assert invoke(*arguments) == 0
    before = files_in(tmp_path)
    (tmp_path / max(before)).unlink()
    capsys.readouterr()
    assert invoke(*arguments) == 0
    assert "4 runs complete, 1 of them new" in capsys.readouterr().err
    assert files_in(tmp_path) == before


def test_python_reads_a_table_of_all_runs_with_their_factors(small: Path, tmp_path: Path) -> None:
    vary = {"links.down1.rate": ["5 Mbit/s", "20 Mbit/s"]}
    result = quiclab.sweep(small, vary, seeds=2, keep="series", out=tmp_path)
    series = result.kept("series").collect()
    assert series.columns[:3] == ["setting", "links.down1.rate_mbps", "seed"]
    sizes = [len(pl.read_parquet(tmp_path / name)) for name in result.runs["series"]]
    counted = series.group_by("setting", "seed", maintain_order=True).len()
    assert counted.rows() == [(setting, seed, sizes[2 * setting + seed - 1]) for setting in (0, 1) for seed in (1, 2)]
    with pytest.raises(RequestError, match="unknown table `packets`; expected `series`"):
        result.kept("packets")
    with pytest.raises(RequestError, match="give `out`"):
        quiclab.sweep(small, vary, keep="series")


def test_a_table_that_does_not_exist_is_one_sentence(small: Path, tmp_path: Path, capsys: Captured) -> None:
    assert invoke("sweep", small, *VARY, "--keep", "sries", "--out", tmp_path) == 2
    assert "--keep: unknown table `sries`; expected `series`" in capsys.readouterr().err


def test_gc_removes_tables_without_their_run_and_nothing_else(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    assert invoke("sweep", small, *VARY, *KEEP, "--out", out) == 0
    before = files_in(out)
    (out / "series" / "mine.parquet").write_bytes(b"of a user")
    (out / "series" / f"{0:032x}.parquet").write_bytes(b"of a killed sweep")
    assert invoke("store", "gc", out, "--yes") == 0
    assert "removed: 0 runs" in capsys.readouterr().out
    assert files_in(out) == before | {"series/mine.parquet": b"of a user"}


def test_nothing_is_kept_unless_it_is_wanted(small: Path, tmp_path: Path) -> None:
    assert invoke("sweep", small, *VARY, "--metric", "rtt_p99", "--out", tmp_path) == 0
    assert files_in(tmp_path) == {}
