"""The command line: exit codes, messages, and that JSON is all that goes to stdout."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from conftest import ROOT
from quiclab import cli
from quiclab._base.native import build_id, extension
from quiclab.cli import run as run_commands
from quiclab.cli.commands import COMMANDS, GROUPS, Group, Part
from quiclab.report import show
from quiclab.result import RunResult

Captured = pytest.CaptureFixture[str]


def invoke(*arguments: str | Path) -> int:
    return cli.invoke([str(argument) for argument in arguments])


def message(capsys: Captured) -> str:
    """What went to stderr: one line that names the program; nothing on stdout."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("quiclab: ")
    assert "Traceback" not in captured.err
    return captured.err


def test_run_prints_json(small: Path, capsys: Captured) -> None:
    assert invoke("run", small, "--seed", "7", "--set", "flows.dc.workload.size=200 kB", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    keys = ["schema", "scenario", "seed", "lane", "versions", "digest", "run", "flows", "elements", "warnings"]
    assert sorted(document) == sorted(keys)
    assert document["schema"] == "quiclab.run/1"
    assert document["seed"] == 7
    assert document["scenario"]["flows"]["dc"]["workload"]["size"] == "200 kB"
    assert document["flows"]["dc"]["delivered_bytes"] == 200_000
    assert len(document["digest"]) == 32


def test_the_same_seed_gives_the_same_json(small: Path, capsys: Captured) -> None:
    texts = []
    for seed in ("1", "1", "2"):
        assert invoke("run", small, "--seed", seed, "--json") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["digest"] != json.loads(texts[2])["digest"]


def test_run_prints_a_summary(small: Path, capsys: Captured) -> None:
    assert invoke("run", small) == 0
    text = capsys.readouterr().out
    for part in ("small: seed 1, lane sim", "completed", "100000", "down1", "digest "):
        assert part in text


def test_run_writes_recordings(small: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    recorded = ("--set", "record.series_interval=10 ms", "--set", "record.packets=true", "--set", "record.acks=true")
    assert invoke("run", small, *recorded, "--out", out, "--json") == 0
    text = capsys.readouterr().out
    assert json.loads((out / "result.json").read_text()) == json.loads(text)
    assert {path.name for path in out.iterdir()} >= {"result.json", "series.parquet", "packets.parquet", "acks.parquet"}


def test_qlog_export_names_what_it_drops_and_replaces_nothing(small: Path, tmp_path: Path, capsys: Captured) -> None:
    assert invoke("run", small, "--set", "record.qlog=true", "--out", tmp_path / "out") == 0
    whole = tmp_path / "out" / "dc.sender.sqlog"
    out = tmp_path / "out.qlog"
    capsys.readouterr()
    assert invoke("qlog", "export", whole, "--out", out) == 0
    captured = capsys.readouterr()
    assert re.fullmatch(rf"{out}: 1 trace, \d+ events\n", captured.out)
    assert captured.err == ""
    cut = tmp_path / "cut.sqlog"
    cut.write_bytes(whole.read_bytes()[:-10])
    assert invoke("qlog", "export", cut, "--out", out) == 2
    assert "--force" in message(capsys)
    assert invoke("qlog", "export", cut, whole, "--out", out, "--force") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{out}: 2 traces, ")
    assert captured.err == f"{cut} is truncated: its last record was dropped\n"


@pytest.mark.parametrize(
    ("file", "out"), [("absent.sqlog", "out.qlog"), (".", "out.qlog"), ("some.sqlog", "no/out.qlog")]
)
def test_qlog_export_names_the_file_that_it_cannot_use(file: str, out: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "some.sqlog").write_text("\x1e{}\n")
    assert invoke("qlog", "export", tmp_path / file, "--out", tmp_path / out) == 2
    said = message(capsys)
    assert said.startswith((f"quiclab: cannot read {tmp_path / file}: ", f"quiclab: cannot write {tmp_path / out}: "))
    assert "os error" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["some.sqlog"]


def test_qlog_export_names_the_file_that_is_not_qlog(small: Path, tmp_path: Path, capsys: Captured) -> None:
    recorded = ("--set", "record.qlog=true", "--set", "record.pcapng=true")
    assert invoke("run", small, *recorded, "--out", tmp_path / "out") == 0
    whole, other = tmp_path / "out" / "dc.sender.sqlog", ROOT / "tests/data/aioquic-0.9.25.qlog"
    assert invoke("qlog", "export", other, whole, "--out", tmp_path / "both.qlog") == 0, "of any stack"
    bad, packed = tmp_path / "bad.sqlog", tmp_path / "packed.sqlog.gz"
    bad.write_bytes(whole.read_bytes() + b"\x1e{bad\n\x1e{}\n")
    packed.write_bytes(gzip.compress(b'\x1e{"a":1}\n'))
    capsys.readouterr()
    for file, expected in (
        (bad, r"record \d+ is not JSON"),
        (packed, r"expected a qlog file \(.*\), got JSON with the field `a`"),
        (
            whole.with_suffix(".pcapng"),
            r"expected a qlog file \(.*\), got a packet capture, which `quiclab pacing analyse` reads",
        ),
    ):
        assert invoke("qlog", "export", whole, file, "--out", tmp_path / "out.qlog") == 2
        assert re.fullmatch(rf"quiclab: {re.escape(str(file))}: {expected}\n", message(capsys))


def test_qlog_export_lists_the_files_of_a_directory(small: Path, tmp_path: Path, capsys: Captured) -> None:
    assert invoke("run", small, "--set", "record.qlog=true", "--out", tmp_path / "out") == 0
    (tmp_path / "empty").mkdir()
    capsys.readouterr()
    expected = "expected a qlog file of a run (.sqlog, .sqlog.gz), got a directory with"
    for folder, has in (("out", "dc.receiver.sqlog, dc.sender.sqlog"), ("empty", "no qlog file")):
        assert invoke("qlog", "export", tmp_path / folder, "--out", tmp_path / "x.qlog") == 2
        assert message(capsys) == f"quiclab: cannot read {tmp_path / folder}: {expected} {has}\n"


def test_ctrl_c_is_one_message_and_130(small: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_commands, "run_resolved", stop)
    assert invoke("run", small) == 130
    assert message(capsys).strip() == "quiclab: stopped"


STOP_WHILE_LOADING = """\
import sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
import quiclab
from quiclab.cli import main
main(["stack", "list"])
"""


@pytest.mark.parametrize("module", ["typer", "quiclab.cli.scenario"])
def test_ctrl_c_while_loading_is_one_message_and_130(module: str) -> None:
    command = [sys.executable, "-c", STOP_WHILE_LOADING, module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "quiclab: stopped\n")


def test_version(capsys: Captured) -> None:
    assert invoke("--version") == 0
    assert capsys.readouterr().out == f"quiclab {extension().version()} (build {build_id()})\n"


@pytest.mark.parametrize("command", [[], ["study"], ["scenario"], ["stack"], ["qlog"]])
def test_without_a_command_the_help_is_the_answer(command: list[str], capsys: Captured) -> None:
    assert invoke(*command) == 2
    captured = capsys.readouterr()
    assert "Usage: " in captured.out
    assert captured.err == ""


def test_help_keeps_its_words(capsys: Captured) -> None:
    assert invoke("run", "--help") == 0
    assert "`record`" in capsys.readouterr().out


def test_diff(small: Path, tmp_path: Path, capsys: Captured) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert invoke("run", small, "--seed", seed, "--out", tmp_path / name) == 0
    capsys.readouterr()
    assert invoke("diff", tmp_path / "a", tmp_path / "b" / "result.json") == 0
    assert "identical" in capsys.readouterr().out
    assert invoke("diff", tmp_path / "a", tmp_path / "c", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["identical"] is False
    assert document["schema"] == "quiclab.diff/1"
    assert document["digests"][0] != document["digests"][1]
    assert invoke("diff", tmp_path / "a", tmp_path / "c") == 0
    assert "first difference" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "absent.toml"], "cannot read the scenario absent.toml: No such file or directory"),
        (
            ["run", "SMALL", "--set", "rate"],
            '--set: expected PATH=VALUE, such as bearers.dc.batch_packets=200, got "rate"',
        ),
        (["run", "SMALL", "--lane", "moon"], '--lane: expected "sim" or "kernel", got "moon"'),
        (["run", "SMALL", "--clock", "sun"], '--clock: expected "virtual" in lane sim, got "sun"'),
        (["run", "SMALL", "--seed", "x"], "--seed: expected a whole number from 0 to"),
        (["run", "SMALL", "--seed", " 5 "], "--seed: expected a whole number from 0 to"),
        (["run", "SMALL", "--seed", "1_0"], "--seed: expected a whole number from 0 to"),
        (["run", "SMALL", "--seed", "+5"], "--seed: expected a whole number from 0 to"),
        (["run", "SMALL", "--seed", "\u0665"], "--seed: expected a whole number from 0 to"),
        (["run", "SMALL", "--seed", "9" * 5000], "--seed: expected a whole number from 0 to"),
        (["run", "SMALL", "--syscall-cost", "0"], "--syscall-cost: not supported in lane sim"),
        (["run", "SMALL", "--lane", "kernel", "--syscall-cost", "0"], "--syscall-cost requires --clock virtual"),
        (
            ["run", "SMALL", "--set", "record.qlog=true"],
            "records qlog or pcapng files; choose a directory for them with --out",
        ),
        (["run"], "FILE"),
        (["run", "SMALL", "--speed"], "--speed"),
        (["fly"], "fly"),
        (["diff", "absent", "SMALL"], "cannot read the result absent"),
        (["diff", "absent", "absent"], "cannot read the result absent"),
        (
            ["stack", "show", "moon"],
            "unknown stack `moon`; expected `lab-quic`, `lab-tcp`, `lab-udp`, `quinn`, `noq` or `aioquic`",
        ),
        (
            ["study", "run", "moon"],
            "unknown study `moon`; `quiclab study list` lists all",
        ),
        (
            ["study", "run", "dual_connectivity", "--only", "x"],
            '--only: expected key=value, such as configuration=quic_large_buffer, got "x"',
        ),
        (
            ["study", "run", "dual_connectivity", "--engines", "moon"],
            "unknown engine `moon`; expected `lab-quic`, `quinn`, `noq`, `aioquic`, `linux` or `ngtcp2`",
        ),
        (
            ["study", "run", "dual_connectivity", "--runs", "0"],
            "--runs: expected a whole number from 1 to 100000, got 0",
        ),
        (
            ["study", "table", "dual_connectivity/share", "--format", "xml"],
            '--format: expected "table", "csv" or "json", got "xml"',
        ),
    ],
)
def test_invalid_requests_are_one_line_errors(arguments: list[str], part: str, small: Path, capsys: Captured) -> None:
    assert invoke(*(small if argument == "SMALL" else argument for argument in arguments)) == 2
    assert part in message(capsys)


def test_verify_without_results_prints_no_verdicts(tmp_path: Path, capsys: Captured) -> None:
    assert invoke("verify", "dual_connectivity/share", "--out", tmp_path) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    command = f"`quiclab study run dual_connectivity/share --out {tmp_path}`"
    assert captured.err == f"quiclab: no runs of dual_connectivity/share in {tmp_path}; run {command}\n"
    assert invoke("verify", "dual_connectivity", "--out", tmp_path) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "dual_connectivity/reordering, and " in captured.err


@pytest.mark.parametrize("command", ["table", "compare", "report", "package"])
def test_without_results_the_answer_is_how_to_get_them(command: str, tmp_path: Path, capsys: Captured) -> None:
    assert invoke("study", command, "dual_connectivity/share", "--out", tmp_path) == 1
    assert f"share; run `quiclab study run dual_connectivity/share --out {tmp_path}`" in message(capsys)


def test_unwritable_results(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert invoke("study", "run", "dual_connectivity/share", "--runs", "1", "--out", file) == 2
    assert "cannot write results to" in message(capsys)
    small = tmp_path / "small.toml"
    small.write_text("")
    assert invoke("run", small, "--out", file / "out") == 2
    assert capsys.readouterr().err.startswith("error: version: missing; expected `version = 1`\n")


def test_incomplete_results_are_printed_and_end_in_1(tmp_path: Path, capsys: Captured) -> None:
    only = ("--only", "batch=500")
    study = "dual_connectivity/batch_size"
    assert invoke("study", "run", study, "--runs", "1", *only, "--out", tmp_path) == 0
    assert "3 of 3 runs complete" in capsys.readouterr().err
    for command, count in ((("study", "table", study), "33 runs"), (("verify", study), "33 runs")):
        assert invoke(*command, "--out", tmp_path) == 1
        captured = capsys.readouterr()
        assert captured.out
        assert count in captured.err
        assert "quiclab study run" in captured.err
    assert invoke("study", "compare", study, "--json", "--out", tmp_path) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "quiclab.compare/1"
    assert [row["measured_n"] for row in document["rows"]].count(1) == 3
    assert document["runs_missing"] == 33
    assert document["fidelity"] == []
    assert document["unavailable"] == {}
    assert invoke("verify", study, "--json", "--out", tmp_path) == 1
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert {claim["verdict"] for claim in claims} == {"not_tested"}


def test_verify_goes_on_after_a_study_that_cannot_be_read(tmp_path: Path, capsys: Captured) -> None:
    studies = ("dual_connectivity/batch_size", "dual_connectivity/share")
    only = ("--only", "batch=500", "--only", "configuration=quic_large_buffer")
    assert invoke("study", "run", studies[0], "--runs", "1", *only, "--out", tmp_path) == 0
    stale = tmp_path / studies[1]
    stale.mkdir()
    (stale / "sweep.json").write_text('{"runs": 1}')  # and nothing that this version made
    capsys.readouterr()
    assert invoke("verify", "dual_connectivity", "--json", "--out", tmp_path) == 1
    captured = capsys.readouterr()
    claims = json.loads(captured.out)["claims"]
    assert {(claim["study"], claim["engine"]) for claim in claims} == {(studies[0], "lab-quic")}
    # on a slow machine progress may come before it
    assert sum(line.startswith("quiclab: ") for line in captured.err.splitlines()) == 1
    for part in (f"the runs in {stale} were made by another version", "35 runs of dual_connectivity/batch_size"):
        assert part in captured.err
    assert invoke("verify", "dual_connectivity", "--engines", "moon", "--out", tmp_path) == 2
    assert "study dual_connectivity/pdcp: unknown engine `moon`; expected `lab-quic`, `quinn` or `noq`" in message(
        capsys
    )


def test_scenarios_and_stacks_print(small: Path, tmp_path: Path, capsys: Captured) -> None:
    assert invoke("scenario", "new") == 0
    template = tmp_path / "new.toml"
    template.write_text(capsys.readouterr().out)
    assert invoke("scenario", "show", template) == 0
    shown = tmp_path / "shown.toml"
    shown.write_text(capsys.readouterr().out)
    assert invoke("scenario", "show", shown, "--json") == 0
    assert json.loads(capsys.readouterr().out)["version"] == 1
    assert invoke("scenario", "schema") == 0
    assert json.loads(capsys.readouterr().out)["type"] == "object"
    assert invoke("scenario", "show", small, "--set", "links.down1.rate=5 Mbit/s") == 0
    assert "5 Mbit/s" in capsys.readouterr().out
    assert invoke("stack", "list", "--json") == 0
    stacks = json.loads(capsys.readouterr().out)["stacks"]
    assert {"quinn", "noq"} <= {stack["name"] for stack in stacks}
    for name in (stack["name"] for stack in stacks):
        assert invoke("stack", "show", name, "--json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["protocol"] in ("quic", "tcp", "udp")
        assert shown["workloads"]
        assert invoke("stack", "show", name) == 0
        printed = capsys.readouterr().out
        assert name in printed
        for profile in shown["profiles"]:
            assert f"profile {profile['name']}:" in printed
            assert all(option["default"] and option["source"] for option in profile["options"])
        assert ("It has no options." in printed) == (not shown["options"])
    assert invoke("stack", "list") == 0
    assert invoke("study", "list") == 0
    assert "dual_connectivity/batch_size" in capsys.readouterr().out


def test_profiles_are_printed_by_their_changes(capsys: Captured) -> None:
    option = {"option": "a", "meaning": "the first", "default": "1", "source": "here"}
    fixed = {"option": None, "meaning": "the second", "default": "2", "source": "there"}
    old = {"name": "old", "description": "as it was", "options": [option, fixed | {"default": "20"}]}
    new = {"name": "new", "description": "as it is", "options": [option, fixed]}
    entry = {"name": "s", "version": "1", "description": "d", "protocol": "tcp", "workloads": ["download"]}
    show.stack({**entry, "options": [option, fixed], "profiles": [old, new]})
    table, _, profiles = capsys.readouterr().out.partition("profile old: as it was; instead of the above:")
    assert table.count("the first") == table.count("the second") == 1
    assert profiles.count("20") == 1
    assert "the first" not in profiles
    assert "profile new: as it is: the above" in profiles


def test_python_m_is_the_same(small: Path, capsys: Captured) -> None:
    command = [sys.executable, "-m", "quiclab", "run", str(small), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ))
    assert invoke("run", small, "--json") == 0
    assert done.stdout == capsys.readouterr().out
    wrong = subprocess.run([*command[:3], "fly"], capture_output=True, text=True, timeout=60, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_results_are_typed(small: Path, capsys: Captured) -> None:
    assert invoke("run", small, "--json") == 0
    result = RunResult.from_json(capsys.readouterr().out)
    assert result.scenario.name == "small"
    assert result.flows["dc"].completed
    assert result.flows["dc"].download_time_s is not None
    assert RunResult.from_json(result.to_json()) == result


WHAT_IS_LOADED = """\
import sys
from quiclab.cli import invoke
code = invoke(sys.argv[1:])
heavy = ("numpy", "polars", "scipy", "altair", "jinja2", "pydantic", "rich")
heavy += ("matplotlib", "pygments", "yaml", "_hashlib", "asyncio", "multiprocessing")
heavy += ("quiclab.lane.run", "quiclab.study.evaluate", "quiclab.study.registry")
print(code, *(name for name in heavy if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (["--help"], ""),
        (["run", "--help"], ""),
        (["run", "FILE"], " numpy polars _hashlib"),
        (["run", "FILE", "--no-limits"], " _hashlib"),
        (["run", "FILE", "--json"], " _hashlib"),
        (["scenario", "new"], ""),
        (["scenario", "show", "FILE"], ""),
        (["scenario", "show", "FILE", "--json"], ""),
        (["stack", "list"], " rich _hashlib"),
        (
            ["study", "run", "--help"],
            " _hashlib multiprocessing quiclab.study.evaluate quiclab.study.registry",
        ),
    ],
)
def test_a_command_loads_only_its_modules(arguments: list[str], loaded: str, small: Path) -> None:
    words = [str(small) if word == "FILE" else word for word in arguments]
    command = [sys.executable, "-c", WHAT_IS_LOADED, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == f"0{loaded}\n"


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_the_help_of_a_command_is_the_same_if_it_is_not_loaded(name: str) -> None:
    helps = []
    for named in ("", name):
        group = typer.main.get_command(cli.application(named))
        assert isinstance(group, TyperGroup)
        helps.append(group.commands[name].help)
    listed: dict[str, Part | Group] = {**COMMANDS, **GROUPS}
    assert helps == [listed[name].help] * 2


@pytest.mark.parametrize("name", GROUPS)
def test_a_command_behind_two_dashes_is_loaded(name: str) -> None:
    command = next(iter(GROUPS[name].commands))
    assert cli.first_words([name, "--", command]) == [name, command]
    assert cli.first_words(["--", name, command]) == [name, command]
