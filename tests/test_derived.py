"""Documents made from stored runs: kept until something that they are made from changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.study import derived
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find

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
    for name in ("table", "jobs", "_numbers"):
        monkeypatch.setattr(Evaluation, name, property(refuse))
    assert cli.invoke(line) == 0
    assert capsys.readouterr() == first


def test_a_report_is_written_again_when_it_is_gone(home: Path) -> None:
    line = ["study", "report", NAME, "--out", str(home / "results")]
    page, figure = (home / "results" / NAME / name for name in ("report.html", "figure_1.svg"))
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


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "other/1"}', '{"schema": "quiclab.derived/1"}'])
def test_a_damaged_document_is_made_again(tmp_path: Path, content: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    assert derived.read(path, lambda name: name) is None
    derived.write(path, {"a": "a"}, {"rows": [1]})
    assert derived.read(path, lambda name: name) == {"rows": [1]}
    assert derived.read(path, lambda _: "changed") is None
    assert json.loads(path.read_text())["inputs"] == {"a": "a"}
