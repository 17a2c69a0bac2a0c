"""Results directories: many shards become few, whatever happens meanwhile, and no run is lost."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import quiclab
from quiclab import cli
from quiclab._base.native import build_id
from quiclab._base.unfinished import ENDING
from quiclab.errors import RequestError
from quiclab.experiment.execute import execute
from quiclab.experiment.executors import Processes
from quiclab.experiment.identity import PART_RESULTS, RESULTS, versions_of
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import IDENTITY, MANY, Store
from quiclab.experiment.sweeps import Plan
from quiclab.experiment.sweeps.table import runs_table
from quiclab.stacks.registry import version_of
from quiclab.study.housekeeping import is_current

ROWS = 3


def shard(number: int, value: float | None = None) -> pl.DataFrame:
    identities = [f"{number:016x}{row:016x}" for row in range(ROWS)]
    values = [float(number) if value is None else value] * ROWS
    return pl.DataFrame({IDENTITY: identities, "goodput_mbps": values})


def values(store: Store) -> dict[str, float]:
    """The newest value of each identity."""
    kinds = {IDENTITY: pl.String, "goodput_mbps": pl.Float64}
    return {row[0]: row[1] for part in store.rows(kinds) for row in part.rows()}


def filled(directory: Path, shards: int) -> Store:
    store = Store(directory)
    with store.locked():
        for number in range(shards):
            store.append_frame(shard(number))
    return store


def test_many_small_shards_become_one_and_the_newest_rows_stay_last(tmp_path: Path) -> None:
    store = filled(tmp_path, MANY - 1)
    before = values(store)
    assert len(store.files()) == MANY - 1
    with store.locked():
        store.append_frame(shard(0, -1.0).with_columns(other=pl.lit("x")))
    assert [path.name for path in store.files()] == [f"{MANY:06}.parquet"]
    newest = values(store)
    assert newest == before | {f"{0:016x}{row:016x}": -1.0 for row in range(ROWS)}
    others = pl.concat(store.rows({IDENTITY: pl.String, "other": pl.String})).drop_nulls("other")
    assert set(others[IDENTITY]) == {f"{0:016x}{row:016x}" for row in range(ROWS)}


@pytest.mark.parametrize("deleted", [0, 1, MANY // 2])
def test_a_writer_that_is_killed_while_it_joins_shards_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deleted: int
) -> None:
    store = filled(tmp_path, MANY - 1)
    expected = values(store) | {f"{MANY:016x}{row:016x}": float(MANY) for row in range(ROWS)}
    unlink, left = Path.unlink, iter(range(deleted))

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".parquet" and next(left, None) is None:
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt), store.locked():
            store.append_frame(shard(MANY))
    assert len(store.files()) == MANY - deleted
    assert values(store) == expected
    with store.locked():
        assert values(store) == expected


def test_a_reader_finds_rows_of_shards_that_are_joined_meanwhile(tmp_path: Path) -> None:
    store = filled(tmp_path, MANY - 1)
    parts = store.rows({IDENTITY: pl.String})
    found = set(next(parts)[IDENTITY])
    with store.locked():
        store.append_frame(shard(MANY))
    found |= {identity for part in parts for identity in part[IDENTITY]}
    assert found == store.identities()
    assert len(found) == MANY * ROWS


def test_a_full_disk_while_shards_are_joined_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path, MANY - 1)

    def full(*_: object) -> Iterator[None]:
        raise RequestError("cannot write: No space left on device")

    with store.locked():
        before = values(store)
        monkeypatch.setattr(store, "_join", full)
        with pytest.raises(RequestError, match="No space left"):
            store.append_frame(shard(MANY))
    assert values(store).items() >= before.items()
    assert len(values(store)) == MANY * ROWS


def plan_of(file: Path) -> Plan:
    same = 'links.down1.queue={ kind = "drop_tail", packets = 9 },{ packets = 9, kind = "drop_tail" }'
    return Plan(file=file, text=file.read_text(), varied=(same,), seeds=2)


def test_settings_that_are_the_same_scenario_run_once(small: Path, tmp_path: Path) -> None:
    plan = plan_of(small)
    outcome = execute(Runs.of(plan), Store(tmp_path), Processes(1), stream=io.StringIO())
    assert (outcome.total, outcome.done, outcome.executed) == (2, 2, 2)
    table, _ = runs_table(plan, Runs.of(plan), Store(tmp_path))
    assert table["setting"].to_list() == [0, 0, 1, 1]
    assert table["digest"].to_list()[:2] == table["digest"].to_list()[2:]


def test_a_run_that_was_measured_for_another_metric_keeps_its_first_one(small: Path, tmp_path: Path) -> None:
    plan = plan_of(small)
    goodput, delivered = Runs.of(plan), Runs.of(replace(plan, metrics=("delivered",)))
    store = Store(tmp_path)
    execute(goodput, store, Processes(1), stream=io.StringIO())
    before, _ = runs_table(plan, goodput, store)
    execute(delivered, store, Processes(1), stream=io.StringIO())
    assert runs_table(plan, goodput, store)[0].equals(before)
    assert execute(goodput, store, Processes(1), stream=io.StringIO()).executed == 0


def housed(small: Path, out: Path) -> Store:
    """A sweep with two runs, one of them of another version, a derived document and files of a user."""
    assert cli.invoke(["sweep", str(small), "--seeds", "2", "--jobs", "1", "--out", str(out)]) == 0
    store = Store(out)
    shard = store.files()[0]
    now = pl.read_parquet(shard)
    old = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("results 0, quinn 0.1")).otherwise(pl.col("versions"))
    now.with_columns(versions=old).write_parquet(shard)
    (out / "derived").mkdir()
    for name in ("derived/table.json", "notes.txt", "shards/copy.parquet", "shards/.000009.parquet.7.quiclab-tmp"):
        (out / name).write_text("some text")
    return store


def test_stores_are_listed_with_runs_of_other_versions(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = housed(small, tmp_path / "results" / "sweeps" / "one")
    capsys.readouterr()
    assert cli.invoke(["store", "ls", str(tmp_path / "results"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["stores"]
    assert (row["directory"], row["kind"], row["runs"], row["others"]) == (str(store.directory), "sweep", 2, 1)
    assert row["builds"] == [build_id()]
    assert row["size"] == sum(path.stat().st_size for path in store.directory.rglob("*") if path.is_file())
    assert cli.invoke(["store", "ls", str(tmp_path / "results")]) == 0
    assert "of other versions" in capsys.readouterr().out


def test_gc_removes_what_nothing_uses_and_nothing_of_the_user(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = housed(small, tmp_path)
    capsys.readouterr()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert cli.invoke(["store", "gc", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert f"{tmp_path}: 1 runs of other versions, 2 files that can be made again" in printed
    assert "--yes does it" in printed
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert cli.invoke(["store", "gc", str(tmp_path), "--yes"]) == 0
    assert "removed: 1 runs" in capsys.readouterr().out
    gone = set(before) - {path for path in tmp_path.rglob("*") if path.is_file()}
    assert gone == {tmp_path / "derived" / "table.json", tmp_path / "shards" / ".000009.parquet.7.quiclab-tmp"}
    assert len(store.identities()) == 1
    assert cli.invoke(["store", "gc", str(tmp_path)]) == 0
    assert "can be removed: 0 runs" in capsys.readouterr().out


def test_gc_waits_for_no_writer_and_says_so(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = housed(small, tmp_path)
    with store.locked():
        assert cli.invoke(["store", "gc", str(tmp_path), "--yes"]) == 2
    assert "another sweep is running" in capsys.readouterr().err
    assert len(store.identities()) == 2
    assert cli.invoke(["store", "gc", str(tmp_path / "moon")]) == 2
    assert "moon is not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["ls", "gc"])
def test_a_sweep_that_joins_shards_meanwhile_disturbs_nobody(
    small: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    store = housed(small, tmp_path / "out")
    for number in range(2, MANY):
        (store.shards / f"{number:06}.parquet").write_bytes(store.files()[0].read_bytes())
    read, is_file = Store.read, Path.is_file

    def joining(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
        monkeypatch.setattr(Store, "read", read)
        store._join(store.files())  # what a sweep does, between the list of files and the first of them
        return read(path, columns)

    def vanishing(path: Path) -> bool:
        found = is_file(path)
        if path.name.endswith(ENDING):
            path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(Store, "read", staticmethod(joining))
    monkeypatch.setattr(Path, "is_file", vanishing)
    capsys.readouterr()
    assert cli.invoke(["store", command, str(tmp_path)]) == 0
    assert len(store.files()) == 1


def test_gc_needs_no_space_before_it_has_freed_some(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = housed(small, tmp_path)
    old = pl.read_parquet(store.files()[0]).with_columns(versions=pl.lit("results 0"))
    for number in range(2, MANY + 2):
        old.write_parquet(store.shards / f"{number:06}.parquet")

    def full(*_: object) -> None:
        raise RequestError("cannot write: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("quiclab.experiment.store.write_parquet", full)  # shards that are joined
        patch.setattr("quiclab.study.housekeeping.write_parquet", full)  # those of which some runs stay
        assert cli.invoke(["store", "gc", str(tmp_path), "--yes"]) != 0
    assert [path.name for path in store.files()] == ["000001.parquet"]
    assert cli.invoke(["store", "gc", str(tmp_path), "--yes"]) == 0
    assert len(store.identities()) == 1


def test_runs_that_this_machine_cannot_judge_are_kept() -> None:
    assert is_current("kernel 6.1, iperf3 3.16")
    assert not is_current("results 0")
    assert not is_current(None)
    quinn = f"quinn {version_of('quinn')}"
    assert is_current(f"results {RESULTS}, {quinn}")
    # a stack that a script registers, or of a package that is not installed here
    assert is_current(f"results {RESULTS}, my stack 1.0, {quinn}")
    part, version = next(iter(PART_RESULTS.items()))
    assert is_current(f"results {RESULTS}, {part} {version}")
    assert not is_current(f"results {RESULTS}, {part} {version - 1}")
    assert not is_current(f"results {RESULTS}, my stack 1.0, quinn 0.1")
    assert not is_current(f"results {RESULTS - 1}, my stack 1.0")


def test_a_profile_with_results_of_its_own_is_part_of_the_versions_at_every_end() -> None:
    part = f"profile aioquic {PART_RESULTS['profile aioquic']}"
    flow = {"stack": "lab-quic"}
    for scenario in (
        {"flows": {"a": flow | {"sender": {"profile": "aioquic"}}}},
        {"flows": {"a": flow | {"receiver": {"profile": "aioquic"}}}},
        {"tunnels": {"vpn": flow | {"server": {"profile": "aioquic"}}}},
        {"tunnels": {"vpn": flow | {"client": {"profile": "aioquic"}}}},
    ):
        assert part in versions_of(scenario)
    for other in ("aioquic-0.8.8", "aioquic-1.7.2", "quinn"):
        found = versions_of({"flows": {"a": flow | {"sender": {"profile": other}}}})
        assert not any(version.startswith("profile") for version in found)


@pytest.mark.parametrize("name", ["a[b]", "a*b", "what?"])
def test_a_directory_may_have_any_name(small: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "aXb").mkdir()  # what the names match as patterns
    out = tmp_path / name
    vary = {"links.down1.rate": ["5 Mbit/s", "20 Mbit/s"]}
    result = quiclab.sweep(small, vary=vary, seeds=2, keep=["series"], executor=Processes(1), out=out)
    assert result.runs.height == 4
    assert result.kept("series").collect().height > 0
    store = Store(out)
    assert store._runs_of(store.files()[0]) == 4
    assert cli.invoke(["store", "gc", str(out), "--yes"]) == 0
    assert len(store.identities()) == 4
