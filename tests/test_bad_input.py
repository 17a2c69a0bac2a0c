"""Bad input through the command line: exit code 2, a message with place and expectation, nothing written."""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path

import pytest

from conftest import ROOT, quiclab_process
from quiclab import RequestError, ScenarioError, cli, load
from quiclab.errors import MAX_LISTED, nearest, not_one_of, unknown
from quiclab.result import RunResult

GOOD = """\
version = 1
name = "good"
duration = "10 s"
[links.down1]
rate = "20 Mbit/s"
[links.down2]
rate = { kind = "trace", file = "good.csv" }
[links.up1]
rate = "20 Mbit/s"
delay = "5 ms"
[bearers.dc]
links = ["down1", "down2"]
batch_packets = 100
shares = [1, 1]
[flows.f]
stack = "quinn"
sender = { congestion_control = "newreno" }
down = ["dc"]
up = ["up1"]
workload = { kind = "download", size = "10 kB" }
"""

WIRED = """\
version = 1
name = "wired"
duration = "10 s"
links = { a = { rate = "1 Mbit/s" }, b = {}, c = {}, up = { delay = "1 ms" } }
flows.f = { stack = "quinn", workload = { kind = "download", size = "10 kB" } }
[[wires]]
from = "f.sender.0"
to = "a.0"
[[wires]]
from = "a.0"
to = "b.0"
[[wires]]
from = "b.0"
to = "c.0"
[[wires]]
from = "c.0"
to = "f.receiver.0"
[[wires]]
from = "f.receiver.0"
to = "up.0"
[[wires]]
from = "up.0"
to = "f.sender.0"
"""

TRACES = {
    "good.csv": b"time_s,rate_mbps\n0,5\n1,6\n",
    "empty.csv": b"",
    "header.csv": b"time_s,rate_mbps\n",
    "unsorted.csv": b"time_s,rate_mbps\n0,5\n2,6\n1,7\n",
    "negative.csv": b"time_s,rate_mbps\n0,5\n1,-6\n",
    "words.csv": b"time_s,rate_mbps\n0,fast\n",
    "binary.csv": b"\xff\xfe\x00\x01",
    "empty.mahimahi": b"",
    "unsorted.mahimahi": b"5\n3\n",
    "words.mahimahi": b"1\nsoon\n",
}

# what is replaced by what; line, field and kind of the problem
SCENARIOS = [
    ('rate = "20 Mbit/s"\n[links.down2]', 'speed = "20 Mbit/s"\n[links.down2]', 5, "links.down1.speed", "UnknownField"),
    ('rate = "20 Mbit/s"\n[links.down2]', 'rate = "20 MB"\n[links.down2]', 5, "links.down1.rate", "OutOfRange"),
    ('rate = "20 Mbit/s"\n[links.down2]', "rate = 20\n[links.down2]", 5, "links.down1.rate", "WrongType"),
    ('rate = "20 Mbit/s"\n[links.down2]', 'rate = "-1 Mbit/s"\n[links.down2]', 5, "links.down1.rate", "OutOfRange"),
    ('rate = "20 Mbit/s"\n[links.down2]', 'rate = "0 bit/s"\n[links.down2]', 5, "links.down1.rate", "OutOfRange"),
    ("shares = [1, 1]", "shares = [0, 0]", 14, "bearers.dc.shares", "Conflict"),
    ("batch_packets = 100", "batch_packets = 0", 13, "bearers.dc.batch_packets", "OutOfRange"),
    ('down = ["dc"]', 'down = ["moon"]', 18, "flows.f.down.0", "UnknownName"),
    ('down = ["dc"]', "down = []", 18, "flows.f.down", "MissingField"),
    ('up = ["up1"]\n', "", 15, "flows.f.up", "MissingField"),
    ('"quinn"', '"moon"', 16, "flows.f.stack", "UnknownName"),
    ('congestion_control = "newreno"', 'profile = "moon"', 17, "flows.f.sender.profile", "Unsupported"),
    ('"newreno"', '"moon"', 17, "flows.f.sender.congestion_control", "UnknownName"),
    (
        'sender = { congestion_control = "newreno" }',
        'sender = { tcp = { mss = "1 kB" } }',
        17,
        "flows.f.sender.tcp",
        "Unsupported",
    ),
    (
        'sender = { congestion_control = "newreno" }',
        'sender = { stack = "lab-quic" }',
        17,
        "flows.f.sender.stack",
        "Conflict",
    ),
    (
        'kind = "download", size = "10 kB"',
        'kind = "media", max_rate = "1 Mbit/s", duration = "1 s"',
        20,
        "flows.f.workload.kind",
        "Conflict",
    ),
    ("version = 1", "version = 2", 1, "version", "OutOfRange"),
    ("version = 1\n", "", 1, "version", "MissingField"),
    ('name = "good"', 'name = "good', 2, "", "Syntax"),
]

WIRES = [
    ('to = "a.0"', 'to = "moon.0"', 8, "wires.0.to", "UnknownName"),
    ('to = "a.0"', 'to = "a.7"', 8, "wires.0.to", "OutOfRange"),
    ('to = "f.receiver.0"', 'to = "b.0"', 17, "wires.3.to", "Conflict"),
]

TRACE_CASES = [
    ("empty.csv", "csv", "at least one entry"),
    ("header.csv", "csv", "at least one entry"),
    ("unsorted.csv", "csv", "line 4"),
    ("negative.csv", "csv", "line 3"),
    ("words.csv", "csv", "line 2"),
    ("binary.csv", "csv", "not text in UTF-8"),
    ("absent.csv", "csv", "No such file or directory"),
    (".", "csv", "Is a directory"),
    ("empty.mahimahi", "mahimahi", "at least one entry"),
    ("unsorted.mahimahi", "mahimahi", "line 2"),
    ("words.mahimahi", "mahimahi", "line 2"),
]

# arguments, and the parts of the message: the value and what is allowed
REQUESTS: list[tuple[list[str], tuple[str, ...]]] = [
    (["run", "absent.toml"], ("absent.toml", "No such file or directory")),
    (["run", "."], ("scenario", "Is a directory")),
    (["run", "binary.csv"], ("binary.csv", "UTF-8")),
    (["run", "good.toml", "--seed", "-1"], ("--seed", "got -1", "0 to 18446744073709551615")),
    (["run", "good.toml", "--seed", "18446744073709551616"], ("--seed", "0 to 18446744073709551615")),
    (["run", "good.toml", "--seed", "seven"], ("--seed", 'got "seven"', "whole number")),
    (["run", "good.toml", "--seed", "1.5"], ("--seed", 'got "1.5"', "whole number")),
    (["run", "good.toml", "--lane", "moon"], ('"moon"', '"sim" or "kernel"')),
    (["run", "good.toml", "--lane", "kernel", "--clock", "moon"], ('"moon"', '"real" or "virtual"')),
    (["run", "good.toml", "--lane", "kernel", "--emulation", "moon"], ('"moon"', '"engine" or "netem"')),
    (["run", "good.toml", "--emulation", "netem"], ("--emulation", "--lane kernel")),
    (["run", "good.toml", "--clock", "real"], ('"real"', '"virtual"')),
    (["run", "good.toml", "--set", "links"], ("--set", 'got "links"', "PATH=VALUE")),
    (["run", "good.toml", "--set", "=1"], ("--set", 'got "=1"', "PATH=VALUE")),
    (["run", "good.toml", "--set", "links.down1.speed=1"], ("--set", "links.down1.speed: unknown field", "`rate`")),
    (
        ["run", "good.toml", "--set", "links.down1.rate=5"],
        ("--set", "links.down1.rate: expected", "got 5", "unit is missing"),
    ),
    (
        ["run", "good.toml", "--set", "bearers.dc.batch_packets=0"],
        ("--set", "batch_packets: expected", "1 to 65535", "got 0"),
    ),
    (["run", "good.toml", "--set", "name.x=1"], ("--set", "name")),
    (["run", "good.toml", "--set", "record.qlog=true"], ("good.toml", "--out")),
    (["run", "good.toml", "--set", "links.down1.rate", "5 Mbit/s"], ("--set", 'got "links.down1.rate"', "PATH=VALUE")),
    (["run", "good.toml", "--out", "file"], ("--out: expected a directory", 'got "file"', "it is a file")),
    (["browse", "good.toml", "--protocols", "h2,h4"], ('--protocols: expected "h2" or "h3"', 'got "h4"')),
    (["browse", "good.toml", "--protocols", "h2,h2"], ("--protocols: expected each protocol at most once",)),
    (["browse", "good.toml"], ("flows: missing; expected a flow with workload `page`",)),
    (["run", "good.toml", "--out", "file/out"], ("cannot write to file/out", "Not a directory")),
    (["run", "good.toml", "--out", "/proc/out"], ("cannot write to /proc/out", "No such file or directory")),
    (["scenario", "show", "absent.toml"], ("absent.toml", "No such file or directory")),
    (["stack", "show", "moon"], ("`moon`", "`quinn`, `noq`")),
    (["diff", "absent.json", "absent.json"], ("absent.json", "No such file or directory")),
    (["diff", "good.toml", "good.toml"], ("good.toml:1:1", "not valid JSON")),
    (["diff", "list.json", "list.json"], ("list.json", "schema: missing; expected", "`quiclab.run/1`")),
    (["diff", "other.json", "other.json"], ("other.json", "schema: expected", "`quiclab.run/1`")),
    (["diff", "half.json", "half.json"], ("half.json", "scenario: missing")),
    (["diff", ".", "."], ("result.json", "No such file or directory")),
    (["study", "run", "moon"], ("`moon`", "`quiclab study list`")),
    (["study", "run", "dual_connectivity/share", "--engines", "moon"], ("`moon`", "`quinn`, `noq` or `aioquic`")),
    (["study", "run", "dual_connectivity/share", "--runs", "0"], ("--runs", "got 0", "1 to")),
    (["study", "run", "dual_connectivity/share", "--jobs", "0"], ("--jobs", "got 0", "1 to")),
    (["study", "run", "dual_connectivity/share", "--only", "moon=1"], ("`moon`", "`configuration`, `share`")),
    (["study", "run", "dual_connectivity/share", "--only", "share=55"], ("--only share: expected", 'got "55"')),
    (["study", "run", "dual_connectivity/share", "--only", "share"], ("--only", 'got "share"', "key=value")),
    (["study", "run", "dual_connectivity/share", "--only", "share", "50"], ("--only", 'got "share"', "key=value")),
    (["study", "run", "dual_connectivity/share", "--lane", "moon"], ('"moon"', '"sim" or "kernel"')),
    (["study", "run", "dual_connectivity/share", "--lane", "kernel"], ("no engine of lane kernel", "quinn (sim)")),
    (["study", "run", "dual_connectivity/share", "--out", "file"], ("cannot write results to file", "Not a directory")),
    (["study", "run", "dual_connectivity/share", "--out", "/proc/out"], ("cannot write results to /proc/out",)),
    (["study", "table", "moon"], ("`moon`",)),
    (["study", "report", "moon"], ("`moon`",)),
    (["verify", "moon"], ("`moon`",)),
    (["fly"], ("fly",)),
]


# a misspelt name on the command line; option or field, and the name that was meant
MISSPELT = [
    (["run", "good.toml", "--lane", "kernal"], "--lane", "kernel"),
    (["run", "good.toml", "--lane", "kernel", "--emulation", "netme"], "--emulation", "netem"),
    (["stack", "show", "labquic"], "", "lab-quic"),
    (["study", "run", "dual_conectivity/share"], "", "dual_connectivity/share"),
    (["study", "run", "dual_conectivity"], "", "dual_connectivity"),
    (["verify", "validation/linux_tpc"], "", "validation/linux_tcp"),
    (["study", "run", "dual_connectivity/share", "--engines", "quin"], "", "quinn"),
    (["study", "run", "dual_connectivity/share", "--only", "shre=50"], "", "share"),
    (["study", "table", "dual_connectivity/share", "--format", "CSV"], "--format", "csv"),
    (["page", "shop.har", "--network", "good.toml", "--stacks", "lab-qiuc"], "--stacks", "lab-quic"),
    (["page", "shop.har", "--network", "good.toml", "--tls", "resume"], "--tls", "resumed"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with good and bad files, as the working directory."""
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "wired.toml").write_text(WIRED)
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "other.json").write_text('{"schema": "quiclab.diff/1"}')
    (tmp_path / "half.json").write_text('{"schema": "quiclab.run/1", "seed": 1}')
    for name, content in TRACES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listing(folder: Path) -> dict[str, bytes]:
    """Everything in a directory, with its content."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in paths}


def check_message(code: int, out: str, err: str, parts: tuple[str, ...]) -> None:
    assert code == 2, err
    assert out == ""
    assert err.endswith("\n")
    assert "Traceback" not in err
    if err.startswith("error: "):  # about a scenario: the message, then the line of the file
        assert " --> " in err or "--set: " in err
    else:
        assert err.count("\n") == 1
        assert err.startswith(("quiclab: ", "--set: "))
    for part in parts:
        assert part in err


def wrong(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], place: str) -> ScenarioError:
    """Check that a command rejects a scenario file, and return the error; `place` is the file and the line."""
    refused(folder, capsys, arguments, f" --> {place}:")
    with pytest.raises(ScenarioError) as error:
        load(arguments[1] if arguments[0] == "run" else arguments[2])
    return error.value


def refused(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], *parts: str) -> None:
    """Run the command line in this process and check that all it does is to complain."""
    before = listing(folder)
    code = cli.invoke(arguments)
    captured = capsys.readouterr()
    check_message(code, captured.out, captured.err, parts)
    assert listing(folder) == before


def test_the_good_files_are_good(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("good.toml", "wired.toml"):
        assert cli.invoke(["run", name, "--json"]) == 0, capsys.readouterr().err
    assert (folder / "good.toml").read_text() == GOOD


@pytest.mark.parametrize(("right", "changed", "line", "field", "kind"), SCENARIOS)
def test_wrong_scenarios(
    right: str, changed: str, line: int, field: str, kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert GOOD.count(right) == 1
    (folder / "good.toml").write_text(GOOD.replace(right, changed))
    for command in (["run", "good.toml", "--json", "--out", "out"], ["scenario", "show", "good.toml"]):
        error = wrong(folder, capsys, command, f"good.toml:{line}")
        assert (error.path, error.kind) == (field, kind)


@pytest.mark.parametrize(("right", "changed", "line", "field", "kind"), WIRES)
def test_wrong_wires(
    right: str, changed: str, line: int, field: str, kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert WIRED.count(right) == 1
    (folder / "wired.toml").write_text(WIRED.replace(right, changed))
    error = wrong(folder, capsys, ["run", "wired.toml", "--out", "out"], f"wired.toml:{line}")
    assert (error.path, error.kind) == (field, kind)


@pytest.mark.parametrize(("file", "form", "reason"), TRACE_CASES)
def test_wrong_traces(file: str, form: str, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = f'{{ kind = "trace", file = "{file}", format = "{form}" }}'
    (folder / "good.toml").write_text(GOOD.replace('{ kind = "trace", file = "good.csv" }', changed))
    error = wrong(folder, capsys, ["run", "good.toml", "--out", "out"], "good.toml:7")
    assert error.path == "links.down2.rate.file"
    assert reason in error.message


def test_a_message_is_that_of_a_compiler(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "good.toml").write_text(GOOD.replace("batch_packets = 100", "batch_packet = 100"))
    assert cli.invoke(["run", "good.toml"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: bearers.dc.batch_packet: unknown field; expected `batch_packets`, ")
    assert lines[0].endswith("; did you mean `batch_packets`?")
    assert lines[1].strip() == "--> good.toml:13:1"
    assert lines[3] == "13 | batch_packet = 100"
    assert lines[4].strip("| ") == "^" * len("batch_packet = 100")


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", "1:1", "the file is empty"),
        ('{"a": 1,\n "b": [1, 2', "2:12", "the file is truncated"),
        ('{"a": 1, "b": tru', "1:15", "the file is truncated"),
        ('{"a": "b', "1:7", "the file is truncated"),
        ('{"a": 1}\n{', "2:1", "expected the end of the file"),
        ('{"a"= 1}', "1:5", "expected `:`"),
        ("<html>", "1:1", 'expected a value, got "<html>"'),
    ],
)
def test_text_that_is_not_json_is_shown_with_its_place(text: str, place: str, reason: str) -> None:
    with pytest.raises(RequestError) as error:
        RunResult.from_json(text, "a/result.json")
    assert error.value.kind == "Syntax"
    assert error.value.message == f"a/result.json:{place}: not valid JSON: {reason}"
    assert error.value.rendered.startswith(f"error: not valid JSON: {reason}\n --> a/result.json:{place}\n")


def test_a_long_line_is_shown_in_part() -> None:
    with pytest.raises(RequestError) as error:
        RunResult.from_json('{"a": "' + "x" * 1000 + '", "c": "' + "y" * 1000 + '" "b"}', "r")
    _, place, _, line, marked = error.value.rendered.splitlines()
    assert place == " --> r:1:2019"
    assert len(line) < 150
    assert line.endswith('yyy" "b"}')
    assert line[marked.index("^") - 1 :] == ' "b"}'


def error_of(arguments: list[str]) -> RequestError:
    """Run the command line in this process and return the error that it ends with."""
    with pytest.raises(RequestError) as error:
        cli.application(*arguments[:2])(args=arguments, standalone_mode=False)
    return error.value


@pytest.mark.parametrize(("arguments", "path", "meant"), MISSPELT, ids=[" ".join(case[0]) for case in MISSPELT])
def test_a_misspelt_name_is_recognised(
    arguments: list[str], path: str, meant: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = error_of(arguments)
    assert (error.path, error.kind, error.suggestion) == (path, "UnknownName", meant)
    refused(folder, capsys, arguments, f"; did you mean `{meant}`?")


def test_the_suggestion_is_a_similar_name() -> None:
    assert nearest("TCP", ["udp", "tcp"]) == "tcp"
    assert nearest("rate", ["trace", "queue", "delay"]) is None
    assert nearest("", ["a"]) is None
    assert nearest("a", []) is None


def test_a_suggestion_replaces_a_long_list() -> None:
    names = [f"name{number}" for number in range(MAX_LISTED + 1)]
    assert not_one_of("--x", "nmae1", names).message == "--x: unknown value `nmae1`; did you mean `name1`?"
    assert '"name0", "name1"' in not_one_of("--x", "moon", names).message
    numbers = range(1, MAX_LISTED + 2)
    assert not_one_of("--only case", "N", numbers).message == f'--only case: expected 1 to {MAX_LISTED + 1}, got "N"'
    assert not_one_of("--only case", "N", [*numbers, 99]).expected.endswith('or "99"')
    error = unknown("tap", "moon", names, listing="quiclab list")
    assert error.message == "unknown tap `moon`; `quiclab list` lists all"
    error = unknown("tap", "nmae1", names[:2])
    assert error.message == "unknown tap `nmae1`; expected `name0` or `name1`; did you mean `name1`?"


def test_errors_keep_their_data_between_processes() -> None:
    with pytest.raises(ScenarioError) as raised:
        load(ROOT / "scenarios" / "single_link.toml", [("links.down1.dely", "5 ms")])
    error = copy(raised.value)  # by the same method as pickle
    assert (error.path, error.kind, error.rendered) == ("links.down1.dely", "UnknownField", raised.value.rendered)


@pytest.mark.parametrize(("arguments", "parts"), REQUESTS, ids=[" ".join(arguments) for arguments, _ in REQUESTS])
def test_wrong_requests(
    arguments: list[str], parts: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(folder, capsys, arguments, *parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "good.toml", "--set", "links.down1.rate=-5 Mbit/s", "--out", "out"], ("links.down1.rate", "-5")),
        (["run", "good.toml", "--seed", "-1", "--out", "out"], ("--seed", "got -1")),
        (["run", "good.toml", "--out", "file/out"], ("cannot write to file/out",)),
        (["diff", "half.json", "half.json"], ("half.json",)),
        (["study", "run", "dual_connectivity/share", "--runs", "0", "--out", "out"], ("--runs", "got 0")),
        (
            ["study", "run", "dual_connectivity/share", "--runs", "1", "--out", "file"],
            ("cannot write results to file",),
        ),
    ],
)
def test_processes_end_with_2_and_one_message(arguments: list[str], parts: tuple[str, ...], folder: Path) -> None:
    before = listing(folder)
    done = quiclab_process(*arguments, cwd=folder)
    check_message(done.returncode, done.stdout, done.stderr, parts)
    assert listing(folder) == before


def test_no_message_is_about_this_machine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files are named as the user named them."""
    (folder / "good.toml").write_text(GOOD.replace("version = 1", "version = 3"))
    assert cli.invoke(["run", "good.toml"]) == 2
    assert not re.search(rf"{re.escape(str(folder))}|{re.escape(str(ROOT))}", capsys.readouterr().err)
