"""What commands write: nothing that exists is replaced without `--force`, and then all or nothing."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab import cli, result
from quiclab._base import files, libraries
from quiclab.cli import run as run_commands
from quiclab.cli.output import check_new, check_no_input, claim_directory, publish
from quiclab.errors import RequestError
from quiclab.result import RunResult
from test_trace_import import row, written

Captured = pytest.CaptureFixture[str]
#: Everything that a run records.
RECORDED = [
    *(part for key in ("packets", "acks", "qlog", "pcapng") for part in ("--set", f"record.{key}=true")),
    *("--set", "record.series_interval=10 ms"),
]


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def recorded(small: Path, tmp_path: Path) -> Path:
    """The directory of a run with all recordings, and files that somebody else has put there."""
    out = tmp_path / "out"
    assert invoke("run", small, *RECORDED, "--out", out) == 0
    assert {path.suffix for path in out.iterdir()} == {".json", ".parquet", ".sqlog", ".pcapng"}
    for name in ("mine.parquet", "mine.sqlog", "notes.txt"):
        (out / name).write_text("mine")
    return out


def test_a_run_refuses_a_directory_with_an_earlier_one(recorded: Path, small: Path, capsys: Captured) -> None:
    before = contents(recorded)
    assert len(before) == 11
    capsys.readouterr()
    assert invoke("run", small, "--out", recorded) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"quiclab: {recorded} already has acks.parquet, dc.receiver.pcapng, ")
    assert "--force" in said
    assert contents(recorded) == before


def test_force_replaces_what_the_command_made_and_nothing_else(recorded: Path, small: Path) -> None:
    options = ("--seed", "9", "--set", "record.packets=true", "--out", recorded, "--force")
    assert invoke("run", small, *options) == 0
    mine = {"mine.parquet", "mine.sqlog", "notes.txt"}
    assert set(contents(recorded)) == {"result.json", "packets.parquet", *mine}
    assert {contents(recorded)[name] for name in mine} == {b"mine"}
    assert json.loads((recorded / "result.json").read_text())["seed"] == 9


def test_a_file_of_the_same_name_is_refused_without_a_result(small: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "packets.parquet").write_text("mine")
    assert invoke("run", small, "--set", "record.packets=true", "--out", tmp_path) == 2
    assert f"{tmp_path} already has packets.parquet; --force" in capsys.readouterr().err
    assert (tmp_path / "packets.parquet").read_text() == "mine"


def test_a_result_that_is_none_accounts_for_nothing(small: Path, tmp_path: Path, capsys: Captured) -> None:
    """A name that leads elsewhere is no file of it, and a broken one makes no command fail."""
    out = tmp_path / "out"
    assert invoke("run", small, "--out", out) == 0
    document = json.loads((out / "result.json").read_text())
    document["scenario"]["record"] = {"qlog": True}
    for part in (document, document["scenario"]):
        part["flows"] |= dict.fromkeys(("../other", "a\0b", "\ud800"), part["flows"]["dc"])
    other = tmp_path / "other.sender.sqlog"
    other.write_text("")
    broken = [{**document["scenario"], key: value} for key in ("record", "taps") for value in (True, 5, ["qlog"])]
    for older in [document, [1], *({**document, "scenario": scenario} for scenario in broken)]:
        (out / "result.json").write_text(json.dumps(older))
        assert invoke("run", small, "--seed", "4", "--out", out) == 2
        assert invoke("run", small, "--seed", "4", "--out", out, "--force") == 0
        assert other.exists()
        assert json.loads((out / "result.json").read_text())["seed"] == 4
    capsys.readouterr()


BROKEN = "#!/bin/sh\necho partial > $2/main.client.err\necho partial > $2/job.json\nexit 3\n"


@pytest.mark.parametrize("program", [None, BROKEN], ids=["missing", "failing"])
@pytest.mark.parametrize("command", ["run", "shell"])
def test_a_command_in_the_kernel_that_fails_leaves_the_earlier_run(
    command: str, program: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    out, file, live = tmp_path / "out", ROOT / "scenarios/lanes.toml", tmp_path / "live"
    short = ("--set", "flows.main.workload.duration=100 ms")
    assert invoke("run", file, *short, "--set", "record.packets=true", "--out", out) == 0
    before = contents(out)
    assert set(before) == {"result.json", "packets.parquet"}
    if program is not None:
        live.write_text(program)
        live.chmod(0o755)
    monkeypatch.setenv("QUICLAB_LIVE", str(live))
    kernel: list[str | Path] = [*short, "--out", out, "--force"]
    more: dict[str, list[str | Path]] = {
        "run": ["run", file, "--lane", "kernel", "--set", "flows.main.stack=linux", *kernel],
        "shell": ["shell", file, "--server", "true", *kernel, "--", "true"],
    }
    with pytest.raises(SystemExit) if command == "shell" and program is not None else nullcontext():
        assert invoke(*more[command]) != 0
    assert contents(out) == before
    capsys.readouterr()


@pytest.mark.parametrize("force", [False, True])
def test_a_run_that_ended_meanwhile_in_the_same_directory_is_no_part_of_the_result(
    force: bool, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    assert invoke("run", small, *RECORDED, "--seed", "2", "--out", other) == 0
    simulate = result.run_resolved

    def slow(*arguments: Any, **named: Any) -> RunResult:
        for path in other.iterdir():
            path.rename(out / path.name)
        return simulate(*arguments, **named)

    theirs = contents(other)
    monkeypatch.setattr(run_commands, "run_resolved", slow)
    if force:
        assert invoke("run", small, "--out", out, "--force") == 0
        assert set(contents(out)) == {"result.json"}
    else:
        assert invoke("run", small, "--out", out) == 2
        assert contents(out) == theirs
    capsys.readouterr()


@pytest.mark.parametrize("where", ["run", "write"])
def test_a_run_that_fails_leaves_the_earlier_one(
    where: str, recorded: Path, small: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """With `--force`, too: while it runs, and where the disk is full when its tables are written."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = contents(recorded)
    monkeypatch.setattr(run_commands, {"run": "run_resolved", "write": "write_parquet"}[where], fail)
    assert invoke("run", small, *RECORDED, "--seed", "2", "--out", recorded, "--force") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert contents(recorded) == before


def test_a_kill_while_files_are_moved_leaves_no_mixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`result.json`, which says that a run is there, goes first and comes last."""
    new, out = tmp_path / "new", tmp_path / "out"
    for folder in (new, out):
        folder.mkdir()
        for name in ("a.parquet", "result.json", "z.parquet"):
            (folder / name).write_text(folder.name)
    steps: list[set[str]] = []
    move = Path.replace
    gone = Path.unlink

    def note() -> None:
        steps.append({path.name for path in out.iterdir()} if (out / "result.json").exists() else set())
        if (out / "result.json").exists():
            assert len({path.read_text() for path in out.iterdir()}) == 1

    def moved(path: Path, target: Path) -> Path:
        found = move(path, target)
        note()
        return found

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        gone(path, missing_ok)
        note()

    monkeypatch.setattr(Path, "replace", moved)
    monkeypatch.setattr(Path, "unlink", unlinked)
    publish(new, out, claim_directory(out, ["a.parquet", "result.json", "z.parquet"], force=True), "result.json")
    assert steps == [set()] * 5 + [{"a.parquet", "result.json", "z.parquet"}]


def test_the_summary_alone_is_made_of_samples(small: Path, tmp_path: Path, capsys: Captured) -> None:
    """A run is sampled for its percentiles; its files are those of a run that is not."""
    assert invoke("run", small, "--out", tmp_path / "a") == 0
    said = capsys.readouterr().out
    assert "Over time: percentiles of samples every 10 ms" in said
    assert invoke("run", small, "--out", tmp_path / "b", "--json") == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert list(contents(tmp_path / "a")) == ["result.json"]


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        (["qlog", "export", "x.sqlog"], "--out", "a.qlog"),
        (["trace", "generate"], "--out", "a.csv"),
        (["trace", "show", "there.csv"], "--figure", "a.svg"),
        (["path", "show", "leo"], "--figure", "a.svg"),
        (["sweep", "plan", "small.toml", "--vary", "links.down1.rate=1Mbit/s,2Mbit/s"], "--to", "a.json"),
        (["inspect", "small.toml"], "--out", "a.html"),
        (["pacing", "analyse", "x.sqlog"], "--out", "a.html"),
        (["page", str(ROOT / "scenarios/pages/shop.har"), "--network", "small.toml"], "--out", "a.html"),
        (["study", "inspect", "validation/blind", "--only", "case=3"], "--out", "a.html"),
        (["kernel", "host", "quinn"], "--out", "a.toml"),
        (["run", "small.toml"], "--out", "result.json"),
        (["browse", str(ROOT / "scenarios/page_browser.toml")], "--har", "h2.har"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_every_command_that_writes_keeps_what_is_there(
    command: list[str],
    option: str,
    name: str,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    """Before it works, with the name of the file and `--force`; a directory that is missing is said as early."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "small.toml").write_text(small.read_text())
    (folder / "there.csv").write_text("time_s,rate_mbps\n0,1\n1,2\n")
    (folder / name).write_text("mine")
    before = contents(folder)
    into = "." if option == "--har" or command[0] == "run" else name
    assert invoke(*command, option, into) == 2
    said = capsys.readouterr()
    assert name in said.err
    assert "--force" in said.err
    assert said.out == ""
    assert contents(folder) == before
    if into == name:
        assert invoke(*command, option, f"absent/{name}") == 2
        assert f"cannot write absent/{name}: there is no directory absent" in capsys.readouterr().err
        assert contents(folder) == before


@pytest.mark.parametrize("force", [[], ["--force"]], ids=" ".join)
@pytest.mark.parametrize(
    ("command", "option", "output", "given"),
    [
        ("inspect small.toml", "--out", "small.toml", "the input small.toml"),
        ("inspect link.html", "--out", "x.sqlog", "the input link.html"),
        ("inspect small.toml x.sqlog", "--out", "x.sqlog", "the input x.sqlog"),
        ("inspect traced.toml", "--out", "there.csv", "part of the input traced.toml"),
        ("inspect plugged.toml", "--out", "code.py", "part of the input plugged.toml"),
        ("inspect plugged.toml", "--out", "helper.py", "part of the input plugged.toml"),
        ("page shop.har --network traced.txt", "--out", "there.csv", "part of the input traced.txt"),
        ("inspect run", "--out", "run/result.json", "part of the input run"),
        ("inspect run", "--out", "linked/dc.sender.sqlog", "part of the input run"),
        ("inspect run/result.json", "--out", "run/series.parquet", "part of the input run"),
        ("qlog export run/dc.sender.sqlog x.sqlog", "--out", "x.sqlog", "the input x.sqlog"),
        ("sweep plan small.toml --seeds 2", "--to", "small.toml", "the input small.toml"),
        ("pacing analyse x.sqlog", "--out", "link.html", "the input x.sqlog"),
        ("pacing analyse run --keys keys.html", "--out", "keys.html", "the input keys.html"),
        ("pacing analyse run", "--out", "into.html", "part of the input run"),
        ("page shop.har --network small.toml", "--out", "shop.har", "the input shop.har"),
        ("page shop.har --network small.toml", "--out", "small.toml", "the input small.toml"),
        ("trace import data.csv --duration 2s", "--out", "data.csv", "the input data.csv"),
        ("trace show there.csv", "--figure", "there.svg", "the input there.csv"),
        ("kernel host quinn --adapter adapter.toml", "--out", "adapter.toml", "the input adapter.toml"),
        ("run own/dc.sender.sqlog --set record.qlog=true", "--out", "own", "the input own/dc.sender.sqlog"),
        ("browse own/h2.har --protocols h2", "--har", "own", "the input own/h2.har"),
    ],
    ids=lambda value: "" if str(value).startswith(("the", "part")) else None,
)
def test_no_input_is_replaced(
    command: str,
    option: str,
    output: str,
    given: str,
    force: list[str],
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    """Not even with `--force`: a file through a link, a recording in a directory, a file that a scenario names."""
    monkeypatch.chdir(tmp_path)
    recorded = ("--set", "record.qlog=true", "--set", 'record.series_interval="10 ms"')
    assert invoke("run", small, *recorded, "--out", "run") == 0
    copies = {"x.sqlog": tmp_path / "run/dc.sender.sqlog", "shop.har": ROOT / "scenarios/pages/shop.har"}
    copies |= {"own/dc.sender.sqlog": small, "own/h2.har": ROOT / "scenarios/page_browser.toml"}
    (tmp_path / "own").mkdir()
    for name, source in copies.items():
        (tmp_path / name).write_bytes(source.read_bytes())
    rate = 'rate = { kind = "trace", file = "there.csv", format = "csv" }'
    for name in ("traced.toml", "traced.txt"):
        (tmp_path / name).write_text(small.read_text().replace('rate = "20 Mbit/s"', rate, 1))
    exchange = '{ operation = "compute.window", replace = "code:one" }'
    plugged = small.read_text().replace('stack = "quinn"', 'stack = "lab-quic"\nplugins = ["mine"]')
    (tmp_path / "plugged.toml").write_text(f"{plugged}[plugins.mine]\nexchanges = [{exchange}]\n")
    (tmp_path / "code.py").write_text("from helper import one\n")
    (tmp_path / "helper.py").write_text("def one(inputs):\n    return 1.0\n")
    (tmp_path / "there.csv").write_text("time_s,rate_mbps\n0,1\n1,2\n")
    written(tmp_path / "data.csv", *(row(second, 5) for second in range(3)))
    for name in ("keys.html", "adapter.toml"):
        (tmp_path / name).touch()
    links = {"link.html": "x.sqlog", "there.svg": "there.csv", "into.html": "run/dc.sender.sqlog", "linked": "run"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert invoke(*command.split(), option, output, *force) == 2
    said = capsys.readouterr()
    name = f"{output}/{given.rpartition('/')[2]}" if output == "own" else output
    expected = f"{option}: expected a file that is not an input of the command, got {name}"
    assert said.err == f"quiclab: {expected}; it is {given}, which --force does not replace\n"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_scenario_names_the_files_that_are_there(tmp_path: Path) -> None:
    """No directory, as `file = ""` would; what cannot be a scenario, or has broken plugins, names no more."""
    rate = 'rate.file = "{}"\n'
    (tmp_path / "rate.csv").touch()
    (tmp_path / "tables").mkdir()
    odd = [rate.format(name) for name in ("", "tables", "absent", "a" * 300, r"\u0000")]
    broken = ["flows = 1\n", 'flows.a.plugins = ["b"]\nplugins.b = 1\n', "plugins = [[]]\nflows.a = {}\n"]
    named = [rate.format("rate.csv") + more for more in broken]
    padding = "# " + "x" * 1_000_000 + "\n"
    none = [*odd, padding + rate.format("rate.csv"), "a = " + "[" * 50_000]
    for text in (*none, *named):
        given = tmp_path / "given"
        given.write_text(text)
        inputs = [given, tmp_path / "absent"]
        check_no_input([tmp_path / "tables", tmp_path], inputs, "--out")
        if text in named:
            with pytest.raises(RequestError, match="part of the input"):
                check_no_input([tmp_path / "rate.csv"], inputs, "--out")
        else:
            check_new(tmp_path / "rate.csv", True, inputs)
    (tmp_path / "a.sqlog").write_text(named[0])
    check_new(tmp_path / "rate.csv", True, [tmp_path / "a.sqlog"])


def test_what_is_no_recording_in_a_directory_that_is_read_is_replaced(
    recorded: Path, small: Path, capsys: Captured
) -> None:
    page = recorded / "notes.txt"
    assert invoke("inspect", recorded, "--out", page) == 2
    assert f"{page} already exists; --force replaces it" in capsys.readouterr().err
    assert invoke("inspect", recorded, "--out", page, "--force") == 0
    assert page.read_text().startswith("<!doctype html>")
    assert invoke("run", small, *RECORDED, "--out", recorded, "--force") == 0


@pytest.mark.parametrize("force", [[], ["--force"]], ids=" ".join)
def test_what_is_no_file_is_never_replaced(
    force: list[str], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """A directory with all that is in it, a pipe, a device through a link: nothing of them is a command's."""
    monkeypatch.chdir(tmp_path)
    for name in ("result.json", "packets.parquet"):
        out = tmp_path / f"with {name}"
        (out / name).mkdir(parents=True)
        (out / name / "mine").write_text("mine")
        assert invoke("run", small, "--set", "record.packets=true", "--out", out, *force) == 2
        assert f"cannot write {out / name}: it exists, and is not a regular file" in capsys.readouterr().err
        assert (out / name / "mine").read_text() == "mine"
        assert len(list(out.iterdir())) == 1
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        assert invoke("trace", "generate", "--out", name, *force) == 2
        assert f"cannot write {name}: it is not a regular file" in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "null").is_symlink()


def test_force_replaces_a_link_and_not_what_it_leads_to(small: Path, tmp_path: Path) -> None:
    other, out = tmp_path / "other", tmp_path / "out"
    out.mkdir()
    other.write_text("mine")
    for path in (out / "result.json", tmp_path / "a.csv"):
        path.symlink_to(other)
    assert invoke("run", small, "--out", out) == 2
    assert invoke("run", small, "--out", out, "--force") == 0
    assert invoke("trace", "generate", "--out", tmp_path / "a.csv", "--force") == 0
    assert not (out / "result.json").is_symlink()
    assert other.read_text() == "mine"


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="--out: expected a directory"):
        claim_directory(tmp_path / "file", [], force=True)
    full = tmp_path / "z"
    full.mkdir()
    for name in "abcde":
        (full / name).touch()
    with pytest.raises(RequestError, match=r"z already has a, b, c, d and 1 more; --force replaces them"):
        claim_directory(full, "abcdef", force=False)


def test_compressed_files_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    packed: list[bytes] = []
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"qlog " * 5000)
        os.utime(tmp_path / name, (len(packed), len(packed)))
        packed.append(files.compress_file(tmp_path / name).read_bytes())
        assert not (tmp_path / name).exists()
    assert packed[0] == packed[1]
    assert gzip.decompress(packed[0]) == b"qlog " * 5000


@pytest.fixture
def compressed(small: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A run with qlog files, and the same run with compressed ones."""
    plain, packed = tmp_path / "as_recorded", tmp_path / "as_compressed"
    assert invoke("run", small, "--set", "record.qlog=true", "--out", plain) == 0
    assert invoke("run", small, "--set", "record.qlog=true", "--out", packed, "--compress") == 0
    return plain, packed


def test_compressed_qlog_has_the_same_content(compressed: tuple[Path, Path]) -> None:
    plain, packed = compressed
    ends = ("dc.receiver.sqlog", "dc.sender.sqlog")
    assert sorted(contents(packed)) == [*(f"{name}.gz" for name in ends), "result.json"]
    for name in ends:
        assert gzip.decompress((packed / f"{name}.gz").read_bytes()) == (plain / name).read_bytes()
        assert (packed / f"{name}.gz").stat().st_size < 0.2 * (plain / name).stat().st_size
    assert (plain / "result.json").read_bytes() == (packed / "result.json").read_bytes()


def test_all_readers_take_compressed_qlog(compressed: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
    plain, packed = compressed
    found = []
    for number, (folder, ending) in enumerate(((plain, ""), (packed, ".gz"))):
        said = []
        capsys.readouterr()
        files_of_it = [folder / f"dc.{end}.sqlog{ending}" for end in ("sender", "receiver")]
        assert invoke("qlog", "export", *files_of_it, "--out", tmp_path / f"{number}.qlog") == 0
        said.append((tmp_path / f"{number}.qlog").read_bytes())
        assert invoke("pacing", "analyse", folder, "--json") == 0
        capsys.readouterr()
        assert invoke("inspect", folder, "--out", tmp_path / f"{number}.html") == 0
        page = (tmp_path / f"{number}.html").read_text()
        said.append(page.replace(str(folder), "").replace(folder.name, "").encode())
        assert invoke("inspect", files_of_it[0], "--out", tmp_path / f"{number}-file.html") == 0
        found.append(said)
    assert found[0] == found[1]


def test_an_export_is_compressed_by_its_name(compressed: tuple[Path, Path], tmp_path: Path) -> None:
    file = compressed[0] / "dc.sender.sqlog"
    assert invoke("qlog", "export", file, "--out", tmp_path / "a.qlog") == 0
    assert invoke("qlog", "export", file, "--out", tmp_path / "a.qlog.gz") == 0
    assert gzip.decompress((tmp_path / "a.qlog.gz").read_bytes()) == (tmp_path / "a.qlog").read_bytes()


def test_damaged_gzip_is_named(compressed: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
    cut = tmp_path / "cut.sqlog.gz"
    cut.write_bytes((compressed[1] / "dc.sender.sqlog.gz").read_bytes()[:-20])
    capsys.readouterr()
    assert invoke("qlog", "export", cut, "--out", tmp_path / "a.qlog") == 2
    assert f"cannot read {cut}: its gzip data are truncated or damaged" in capsys.readouterr().err
    assert not (tmp_path / "a.qlog").exists()


def test_to_compress_requires_qlog(small: Path, tmp_path: Path, capsys: Captured) -> None:
    assert invoke("run", small, "--out", tmp_path / "a", "--compress") == 2
    assert "--compress requires --out and qlog" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


SWEEP = ("--vary", "links.down1.rate=5Mbit/s,20Mbit/s", "--seeds", "2", "--jobs", "1")


def test_a_sweep_replaces_no_file_of_somebody_else(small: Path, tmp_path: Path, capsys: Captured) -> None:
    """A directory without stored runs is not a results directory; in one, only figures of sweeps are replaced."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "index.html").write_text("mine")
    assert invoke("sweep", small, *SWEEP, "--out", out) == 2
    assert f"{out} is not a results directory, but has index.html" in capsys.readouterr().err
    assert contents(out) == {"index.html": b"mine"}
    (out / "index.html").rename(out / "figure-goodput_mbps.long.svg")
    assert invoke("sweep", small, *SWEEP, "--out", out) == 2
    assert "has figure-goodput_mbps.long.svg" in capsys.readouterr().err
    assert contents(out) == {"figure-goodput_mbps.long.svg": b"mine"}
    (out / "figure-goodput_mbps.long.svg").unlink()
    assert invoke("sweep", small, *SWEEP, "--metric", "goodput", "--out", out) == 0
    (out / "figure-mine.svg").write_text("mine")
    assert invoke("sweep", small, *SWEEP, "--metric", "srtt", "--out", out) == 0
    assert {path.name for path in out.glob("figure-*")} == {"figure-mine.svg", "figure-srtt_ms.svg"}


def test_names_of_files_say_what_they_show() -> None:
    titles = ["Throughput over the DC batch size", "Goodput [Mbit/s]", "Goodput: Mbit/s", "–", "x" * 200]
    assert files.file_names(titles) == [
        "throughput_over_the_dc_batch_size",
        "goodput_mbit_s",
        "goodput_mbit_s_2",
        "untitled",
        "x" * 80,
    ]


@pytest.mark.parametrize(
    "arguments",
    [["kernel", "host", "linux"], ["sweep", "small.toml", *SWEEP, "--sample", "sobol:4"]],
    ids=lambda value: value[0],
)
def test_what_needs_scipy_says_so_before_any_work(
    arguments: list[str], small: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda _: None)
    monkeypatch.chdir(small.parent)
    before = sorted(path.name for path in small.parent.iterdir())
    assert invoke(*arguments) == 1
    said = capsys.readouterr()
    assert "pip install 'quiclab[scipy]'" in said.err
    assert said.out == ""
    assert sorted(path.name for path in small.parent.iterdir()) == before
