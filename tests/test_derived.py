"""Documents made from stored runs: kept until something that they are made from changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.lane.run import Lane
from quiclab.stacks import PythonStack, registry
from quiclab.stacks.protocol import EndpointSetup, PythonEndpoint
from quiclab.study import Engine, derived
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find
from quiclab.study.tables import read_table, write_table

NAME = "tiny/rate"
ANSWERS = (["study", "table", NAME], ["study", "compare", NAME, "--json"], ["verify", NAME, "--json"])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of study files, with the results of their first study below it."""
    home = tmp_path / "home"
    shutil.copytree(ROOT / "tests" / "data" / "tiny", home)
    monkeypatch.setenv("QUICLAB_STUDIES", str(home / "studies"))
    assert cli.invoke(["study", "run", NAME, "--runs", "1", "--out", str(home / "results")]) == 0
    return home


def endpoint(_: EndpointSetup) -> PythonEndpoint:
    raise AssertionError("nothing is run")


def refuse(_: Evaluation) -> None:
    raise AssertionError("runs are read again")


@pytest.mark.parametrize("command", ANSWERS, ids=lambda command: " ".join(command[:2]))
def test_an_answer_is_kept_and_the_same(
    home: Path, command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = [*command, "--out", str(home / "results")]
    capsys.readouterr()
    assert cli.invoke(line) == 0
    first = capsys.readouterr()
    for name in ("table", "all_runs", "_numbers"):
        monkeypatch.setattr(Evaluation, name, property(refuse))
    assert cli.invoke(line) == 0
    assert capsys.readouterr() == first


def test_a_report_is_written_again_when_it_is_gone(home: Path) -> None:
    line = ["study", "report", NAME, "--out", str(home / "results")]
    page, figure = (home / "results" / NAME / name for name in ("report.html", "goodput_over_the_rate.svg"))
    assert cli.invoke(line) == 0
    before = page.read_bytes(), page.stat().st_mtime_ns
    assert cli.invoke(line) == 0
    assert (page.read_bytes(), page.stat().st_mtime_ns) == before
    figure.unlink()
    assert cli.invoke(line) == 0
    assert figure.exists()
    page.write_text("edited")
    assert cli.invoke(line) == 0
    assert page.read_bytes() == before[0]


def edited(path: str) -> Callable[[Path], int]:
    """Return a change of a file: a comment, or a line, more."""
    return lambda home: (home / path).write_bytes((home / path).read_bytes() + b"\n# more\n")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(edited("studies/tiny.py"), id="study"),
        pytest.param(edited("scenarios/tiny.toml"), id="scenario"),
        pytest.param(edited("reference/tiny.csv"), id="published table"),
        pytest.param(lambda home: (home / "results" / NAME / "shards/000001.parquet").touch(), id="runs"),
        pytest.param(lambda home: (home / "results" / NAME / "sweep.json").touch(), id="manifest"),
    ],
)
def test_a_state_changes_with_its_inputs(home: Path, change: Callable[[Path], object]) -> None:
    study, directory = find(NAME), home / "results" / NAME
    before = derived.state_of(study, directory, ["quinn"])
    Evaluation(study, home / "results").judgements("quinn")  # what this leaves in results changes nothing
    assert derived.state_of(study, directory, ["quinn"]) == before
    assert derived.state_of(study, directory, ["quinn", "noq"]) != before
    change(home)
    assert derived.state_of(study, directory, ["quinn"]) != before


def test_a_state_changes_with_stacks_written_in_python(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, directory = find(NAME), home / "results" / NAME

    def state(*stacks: PythonStack) -> str:
        monkeypatch.setattr(registry, "_registered", {stack.name: stack for stack in stacks})
        return derived.state_of(study, directory, ["quinn"])

    stack = PythonStack(name="own", version="1.0", description="A stack.", protocol="udp", endpoint=endpoint)
    assert len({state(), state(stack), state(replace(stack, version="1.1"))}) == 3
    assert state(stack) == state(replace(stack)), "and with nothing else"


def test_a_state_changes_with_the_programs_of_the_kernel_lane(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "quiclab-live"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("QUICLAB_LIVE", str(program))
    study, directory = find(NAME), home / "results" / NAME
    lane = Engine("linux", lane=Lane(clock="real"))
    study = replace(study, design=replace(study.design, engines=(*study.design.engines, lane)))
    states = {name: derived.state_of(study, directory, [name]) for name in ("quinn", "linux")}
    program.write_text("#!/bin/sh\nexit 1\n")
    assert derived.state_of(study, directory, ["quinn"]) == states["quinn"]
    assert derived.state_of(study, directory, ["linux"]) != states["linux"]


def test_a_state_has_all_files_of_quiclab_but_the_extension() -> None:
    files = [Path(line.rsplit(" ", 2)[0]) for line in derived._package()]
    kinds = {file.suffix for file in files}
    assert {".py", ".j2", ".js", ".css", ".toml"} <= kinds
    assert not {".so", ".pyc"} & kinds


def test_a_measured_table_is_read_whatever_its_directory_is_called(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for name in ("a[b]", "a*b", "what?"):
        (tmp_path / name).mkdir()
        write_table(tmp_path / name, "key", table)
        found = read_table(tmp_path / name, "key")
        assert found is not None
        assert found.equals(table)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "other/1"}', '{"schema": "quiclab.derived/1"}'])
def test_a_damaged_document_is_made_again(tmp_path: Path, content: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    assert derived.read(path, lambda name: name) is None
    derived.write(path, {"a": "a"}, {"rows": [1]})
    assert derived.read(path, lambda name: name) == {"rows": [1]}
    assert derived.read(path, lambda _: "changed") is None
    assert json.loads(path.read_text())["inputs"] == {"a": "a"}
