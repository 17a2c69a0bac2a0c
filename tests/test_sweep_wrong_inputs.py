"""What goes wrong with a sweep, its plan or its files is one sentence, and nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from quiclab import cli
from quiclab._base.files import write_atomically
from quiclab.errors import QuiclabError, RequestError
from quiclab.experiment.executors.ray import Ray, split
from quiclab.experiment.store import Store

Captured = pytest.CaptureFixture[str]


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def sentence(captured: Captured) -> str:
    """The error, which is the last line, and the only one that is not progress."""
    text = captured.readouterr().err
    assert "Traceback" not in text
    lines = [line for line in text.splitlines() if line.startswith("quiclab: ")]
    assert lines == text.splitlines()[-1:]
    return lines[0]


SWEEP = ("--seeds", "2", "--jobs", "1")


# --- what is asked for


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--vary", "links.down1.rat=5Mbit/s"], "--vary: links.down1.rat: unknown field; .*did you mean `rate`"),
        (["--vary", "links.down1.queue.packets=10..200:lgo5"], "--vary links.down1.queue.packets: .*`log5`"),
        (["--vary", "links.down1.loss=0.1,0.2,1.5"], "--vary: links.down1.loss: expected .* from 0 to 1, .*got 1.5"),
        (
            ["--vary", "links.down1.queue.kind=codel", "--vary", "links.down1.queue.bytes=10kB"],
            "--vary: links.down1.queue.bytes: unknown field; expected .*`packets`",
        ),
        (["--vary", "links.down1.rate=5Mbit/s", "--zip", "links.*.rate=6Mbit/s"], "both set links.down1.rate"),
        (["--vary", "links.down1.rate=5Mbit/s", "--set", "links.down1.rate=6Mbit/s"], "both set links.down1.rate"),
        (["--metric", "goodputt"], "--metric: unknown metric `goodputt`; .*did you mean `goodput`"),
        (["--metric", "goodput,,lost"], '--metric: expected names joined by commas, got "goodput,,lost"'),
        (
            ["--metric", "sender.min_rtt_m"],
            "--metric: unknown metric `sender.min_rtt_m`; .*`sender.min_rtt_ms`",
        ),
        (["--metric", "sender.queue_sojourn_ms"], "--metric: unknown metric `sender.queue_sojourn_ms`"),
        (["--metric", "receiver.codel_drops"], "--metric: unknown metric `receiver.codel_drops`"),
        (["--metric", "sender.late_share"], "--metric flows.dc.sender: unknown name `late_share`"),
        (["--metric", "min_rtt_ms"], "--metric: expected `sender.min_rtt_ms` or `receiver.min_rtt_ms`"),
        (["--metric", "flows.dc.sender.min_rtt_m"], "--metric flows.dc.sender: .*did you mean `min_rtt_ms`"),
        (["--metric", "elements.dc.sendr.sent.packets"], "--metric elements: .*did you mean `dc.sender`"),
        (["--metric", "flows.cd.delivered_bytes"], "--metric flows: unknown name `cd`; expected `dc`"),
        (["--metric", "flows.dc.sender"], "--metric flows.dc.sender: expected the path of a number, got a table"),
        (["--metric", "run.ended_by"], '--metric run.ended_by: expected the path of a number, got "workloads_done"'),
        (["--metric", "run.events.x"], "--metric run.events: expected the path of a number, got "),
        (["--executor", "raay"], "--executor: expected `processes`, `ray`"),
    ],
)
def test_wrong_options_name_field_value_and_what_is_allowed(
    small: Path, tmp_path: Path, capsys: Captured, arguments: list[str], expected: str
) -> None:
    assert invoke("sweep", small, "--out", tmp_path / "out", *arguments) == 2
    with pytest.raises(RequestError, match=expected):
        raise RequestError(sentence(capsys))
    assert not (tmp_path / "out").exists()


# --- plans


@pytest.fixture
def plan(small: Path) -> Path:
    vary = ("--vary", "links.down1.rate=5Mbit/s,20Mbit/s")
    assert invoke("sweep", "plan", small, *vary, "--seeds", "2") == 0
    return small.with_suffix(".plan.json")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"quiclab": "0.0.1"},
            'quiclab: expected a plan of version .*, got "0.0.1"; `quiclab sweep plan`',
        ),
        (
            {"schema": "quiclab.plan/2"},
            'schema: expected `quiclab.plan/1` or `quiclab.study_plan/1`, got "quiclab.plan/2"',
        ),
        ({"seeds": "many"}, 'is not a plan: seeds: expected a whole number from 1 to 100000, got "many"'),
        ({"seeds": -3}, "is not a plan: seeds: expected a whole number from 1 to 100000, got -3"),
        ({"first_seed": None}, "is not a plan: first_seed: expected a whole number from 0 to .*, got null"),
        ({"varied": "links"}, 'is not a plan: varied: expected a list of texts, got "links"'),
        ({"sets": [["a"]]}, r'is not a plan: sets: expected a list of pairs of texts, got \[\["a"\]\]'),
        ({"metrics": ["goodputt"]}, "did you mean `goodput`"),
        ({"varied": ["links.down1.rate=5Mbps"]}, "did you mean `Mbit/s`"),
    ],
)
def test_edited_plans_are_refused(plan: Path, capsys: Captured, changes: dict[str, object], expected: str) -> None:
    plan.write_text(json.dumps({**json.loads(plan.read_text()), **changes}))
    capsys.readouterr()
    assert invoke("shard", plan, "--index", "0", "--of", "1") == 2
    with pytest.raises(RequestError, match=expected):
        raise RequestError(sentence(capsys))


def test_a_plan_without_a_field_names_it(plan: Path, capsys: Captured) -> None:
    document = json.loads(plan.read_text())
    del document["metrics"]
    plan.write_text(json.dumps(document))
    capsys.readouterr()
    assert invoke("shard", plan, "--index", "0", "--of", "1") == 2
    assert sentence(capsys).endswith("is not a plan: metrics: missing; expected a list of texts")


@pytest.mark.parametrize(("index", "expected"), [("5", "from 0 to 2, as --of is 3, got 5"), ("-1", "got -1")])
def test_shards_that_do_not_exist_are_refused(plan: Path, capsys: Captured, index: str, expected: str) -> None:
    capsys.readouterr()
    assert invoke("shard", plan, "--index", index, "--of", "3") == 2
    assert "--index: expected a" in (text := sentence(capsys))
    assert expected in text


def test_a_scenario_that_changed_after_its_plan_is_not_run(
    small: Path, plan: Path, tmp_path: Path, capsys: Captured
) -> None:
    before = small.read_text()
    assert invoke("shard", plan, "--index", "0", "--of", "2", "--jobs", "1") == 0
    small.write_text(before + "\n# longer\n")
    capsys.readouterr()
    assert invoke("shard", plan, "--index", "1", "--of", "2", "--jobs", "1") == 2
    assert f"the scenario {small} has changed since the plan was written" in sentence(capsys)
    small.unlink()  # a plan has the text: the file need not be on all machines
    assert invoke("shard", plan, "--index", "1", "--of", "2", "--jobs", "1") == 0
    small.write_text(before + "\n# longer\n")
    capsys.readouterr()
    assert invoke("sweep", "merge", plan, "--out", tmp_path / "merged") == 0
    assert "note: " in (noted := capsys.readouterr().err)
    assert "the results are those of the plan" in noted


def test_a_merge_names_the_lost_shard_and_the_command(plan: Path, tmp_path: Path, capsys: Captured) -> None:
    for index in range(3):
        assert invoke("shard", plan, "--index", str(index), "--of", "3", "--jobs", "1") == 0
    lost = plan.with_name("small.plan.shards") / "1-of-3" / "shards" / "000001.parquet"
    lost.unlink()
    capsys.readouterr()
    assert invoke("sweep", "merge", plan, "--out", tmp_path / "merged") == 1
    assert f"of shard 1; run `quiclab shard {plan} --index 1 --of 3`" in sentence(capsys)
    assert len(Store(tmp_path / "merged").identities()) == 3


# --- disks


def refusing(number: int, names: Callable[[str], bool], opened: Callable[..., object]) -> Callable[..., object]:
    """A function in place of one that opens files: fails for some names as a disk does."""

    def refuse(path: str | Path, *arguments: object, **options: object) -> object:
        if names(Path(path).name):
            raise OSError(number, "the disk says no", str(path))
        return opened(path, *arguments, **options)

    return refuse


def test_a_disk_without_room_for_the_page_keeps_the_runs(
    small: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing(errno.ENOSPC, lambda name: "index.html" in name, os.open))
        assert invoke("sweep", small, *SWEEP, "--out", out) == 1
    expected = f"cannot write {out / 'index.html'}: the disk says no; all runs are stored: repeat the command to write"
    assert expected in sentence(capsys)
    assert len(Store(out).identities()) == 2
    assert invoke("sweep", small, *SWEEP, "--out", out) == 0
    assert "2 runs complete, 0 of them new" in capsys.readouterr().err


def test_a_disk_without_room_for_kept_tables_keeps_the_runs_before(
    small: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    arguments = ("sweep", small, "--keep", "packets", "--jobs", "1", "--out", out, "--seeds")
    assert invoke(*arguments, "1") == 0
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing(errno.ENOSPC, lambda name: len(name) > 32, os.open))
        assert invoke(*arguments, "2") == 1
    assert "the disk says no; the runs stored before are kept: repeat the command to continue" in sentence(capsys)
    assert len(Store(out).identities()) == 1
    assert invoke(*arguments, "2") == 0


def test_a_folder_that_cannot_be_written_to_is_one_sentence(
    small: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "open", refusing(errno.EROFS, lambda name: name == "lock", Path.open))
    assert invoke("sweep", small, *SWEEP, "--out", tmp_path / "out") == 2
    assert sentence(capsys) == f"quiclab: cannot write results to {tmp_path / 'out'}: the disk says no"
    assert invoke("sweep", small, *SWEEP, "--out", small) == 2
    assert sentence(capsys) == f"quiclab: cannot write results to {small}: Not a directory"


def test_a_file_on_a_disk_that_forbids_everything_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "the disk says no")

    monkeypatch.setattr(os, "open", forbid)
    monkeypatch.setattr(Path, "unlink", forbid)
    with pytest.raises(RequestError, match=r"cannot write .*plan.json: the disk says no"):
        write_atomically(tmp_path / "plan.json", b"{}")


# --- the store


def damage_half(shard: Path) -> None:
    shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])


def damage_all(shard: Path) -> None:
    shard.write_bytes(b"")


def damage_values(shard: Path) -> None:
    pl.read_parquet(shard).with_columns(pl.lit("fast").alias("goodput_mbps")).write_parquet(shard)


def damage_kinds(shard: Path) -> None:
    frame = pl.read_parquet(shard)
    frame.with_columns(pl.Series("goodput_mbps", [[1.0, 2.0]] * len(frame))).write_parquet(shard)


@pytest.mark.parametrize("damage", [damage_half, damage_all, damage_values, damage_kinds])
def test_a_damaged_shard_is_named_and_its_runs_are_made_again(
    small: Path, tmp_path: Path, capsys: Captured, damage: Callable[[Path], None]
) -> None:
    arguments = ("sweep", small, *SWEEP, "--out", tmp_path / "out")
    assert invoke(*arguments) == 0
    shard = Store(tmp_path / "out").files()[0]
    damage(shard)
    capsys.readouterr()
    assert invoke(*arguments) == 1
    text = sentence(capsys)
    assert text.startswith(f"quiclab: cannot read {shard}: ")
    assert text.endswith("; delete it to repeat its runs")
    shard.unlink()
    assert invoke(*arguments) == 0


# --- a cluster


def test_a_cluster_that_has_gone_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    executor = Ray("ray")
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        executor.head = head.getsockname()  # where nothing listens any more
        with pytest.raises(QuiclabError, match=r"the cluster has gone; completed runs are stored, repeat the command"):
            executor.restart()


def test_addresses_of_a_head_are_split() -> None:
    assert split("192.0.2.2:6379") == ("192.0.2.2", 6379)
    assert split("[2001:db8::1]:6379") == ("2001:db8::1", 6379)
