"""A study's own functions are tried on its first run; an error in them is one sentence, and no run is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.experiment.store import Store
from quiclab.study.registry import find

NAME = "tiny/rate"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a study of its own."""
    home = tmp_path / "home"
    shutil.copytree(ROOT / "tests" / "data" / "tiny", home)
    monkeypatch.setenv("QUICLAB_STUDIES", str(home / "studies"))
    return home / "studies" / "tiny.py"


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


METRIC = 'result.flows["dc"].goodput_mbps'
PREDICATE = 'lambda t: t("near", rate=5) > 0,'


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (METRIC, 'result.flows["moon"].goodput_mbps', ("metric `goodput_mbps`", ": KeyError: 'moon' (", "tiny.py")),
        (PREDICATE, 'lambda t: t("near", rate=5).mean > 0,', ("claim TI-1", "AttributeError", "tiny.py:")),
        (PREDICATE, 'lambda t: t("nearr", rate=5) > 0,', ("claim TI-1", "`nearr`", "did you mean `near`?")),
        (PREDICATE, 'lambda t: t("near", rate=7) > 0,', ("claim TI-1: rate: expected", '"5" or "20"', 'got "7"')),
        (PREDICATE, 'lambda t: t("near") > 0,', ("claim TI-1", "a value of `rate` is missing")),
        (METRIC, METRIC, ()),
        (PREDICATE, 'lambda t: 1 / (t("near", rate=5) - t("far", rate=5)) > 0,', ()),  # fails on equal values only
    ],
)  # fmt: skip
def test_a_mistake_shows_after_the_first_run(
    file: Path, before: str, after: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(file, before, after)
    out = tmp_path / "results"
    line = ["study", "run", NAME, "--runs", "40", "--jobs", "1", "--out", str(out)]
    code, err = cli.invoke(line), capsys.readouterr().err
    made = len(Store(out / NAME).identities())
    assert "Traceback" not in err
    if not words:
        assert (code, made) == (0, 160)
        return
    assert code in (1, 2)
    assert [word for word in (f"study {NAME}", *words) if word not in err] == []
    assert 0 < made < 160


def test_an_error_in_the_function_that_keeps_data_is_one_sentence(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "keeping.py").write_text("def keep(result, directory):\n    return {'files': directory.moon}\n")
    change(file, "    measures=Measures(", "    measures=Measures(\n        keep=keep,")
    change(file, "from quiclab.result", "from keeping import keep\nfrom quiclab.result")
    assert cli.invoke(["study", "run", NAME, "--out", str(tmp_path / "results")]) == 1
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "keeping.keep, quiclab run " in err
    assert "has no attribute 'moon' (" in err
    assert "keeping.py:2); stored runs are kept" in err


def test_values_of_only_are_checked(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del file
    out = tmp_path / "results"
    for only, words in (
        ("rate=6", '--only rate: expected "5" or "20", got "6"'),
        ("rate_mbps=6", '--only rate_mbps: expected "5" or "20", got "6"'),
        ("configuration=fa", 'expected "near" or "far", got "fa"; did you mean `far`?'),
        ("engine=quin", "did you mean `quinn`?"),
    ):
        assert cli.invoke(["study", "run", NAME, "--only", only, "--out", str(out)]) == 2
        assert words in capsys.readouterr().err
    assert not out.exists()
    assert cli.invoke(["study", "run", NAME, "--runs", "1", "--only", "rate=5", "--out", str(out)]) == 0
    assert len(Store(out / NAME).identities()) == len(find(NAME).design.configurations)
