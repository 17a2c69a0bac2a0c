"""More runs of what undecided claims read: which settings get them, until when, and the same after a kill."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from conftest import KILLED_AFTER_TWO, ROOT
from quiclab import cli
from quiclab.experiment.repetitions import next_count
from quiclab.study.evaluate import Evaluation
from quiclab.study.manifest import read_manifest
from quiclab.study.registry import find

NAME = "tiny/spread"
SPREAD = '''"""Values between 0 and 1 that the seed decides (of nobody)."""

from dataclasses import replace

from .tiny import RATE

from quiclab.study import Factor, Metric
from quiclab.study.claims import Claim

GOLDEN = 0.6180339887498949
END = Factor("end", "end", "End", "", ("low", "high"), None)


def spread(result, end):
    """Return the fractional part of multiples of the golden ratio, which fills 0 to 1 evenly, or what 1 lacks."""
    value = result.seed * GOLDEN % 1.0
    return value if end == "low" else 1.0 - value


def check(configuration, rate, limit):
    return lambda t: t(configuration, rate=rate, end="low") < limit


SPREAD = replace(
    RATE,
    name="tiny/spread",
    design=replace(
        RATE.design, factors=(*RATE.design.factors, END), engines=RATE.design.engines[:1], runs=5, variants=()
    ),
    measures=replace(
        RATE.measures,
        metric=Metric("spread", "Spread", "", spread, of="end"),
        table=replace(RATE.measures.table, file=""),
        claims=(
            Claim("SP-1", "", "Below 0.99.", check("near", 5, 0.99)),
            Claim("SP-2", "", "Below 0.7.", check("near", 20, 0.7)),
            Claim("SP-3", "", "Below a half.", check("far", 5, 0.5)),
        ),
    ),
)
STUDIES = (SPREAD,)
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A laboratory with one study, run as it asks for."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(ROOT / "tests" / "data" / "tiny", home, dirs_exist_ok=True)
    (home / "studies" / "spread.py").write_text(SPREAD, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICLAB_STUDIES", str(home / "studies"))
        assert cli.invoke(["study", "run", NAME, "--out", str(home / "first")]) == 0
        shutil.copytree(home / "first", home / "decided")
        assert cli.invoke(["study", "decide", NAME, "--max-runs", "20", "--out", str(home / "decided")]) == 0
    return home


@pytest.fixture(autouse=True)
def studies(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLAB_STUDIES", str(home / "studies"))


def rows(out: Path) -> list[dict[str, object]]:
    """The runs, without what a build changes."""
    return Evaluation(find(NAME), out).table.drop("result", "series").to_dicts()


def counts(out: Path) -> dict[tuple[object, ...], int]:
    evaluation = Evaluation(find(NAME), out)
    return {key: len(values) for key, values in evaluation.samples("quinn").items()}


def test_open_claims_get_runs_until_they_are_decided_or_have_the_most(home: Path) -> None:
    # 5 and 10 evenly spread values leave 0.7 open or decide it; that a half is their mean is never decided
    found = counts(home / "decided")
    assert found["near", 5, "low"] == 5
    assert found["far", 20, "low"] == 5, "no claim reads it"
    assert found["near", 20, "low"] == 10
    assert found["far", 5, "low"] == 20
    assert all(found[key[0], key[1], "high"] == runs for key, runs in found.items()), "parts share their runs"
    verdicts = {
        item.claim.identity: item.verdict for item in Evaluation(find(NAME), home / "decided").judgements("quinn")
    }
    assert verdicts == {"SP-1": "confirmed", "SP-2": "confirmed", "SP-3": "undecided"}


def test_deciding_again_changes_nothing_and_says_what_is_open(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = rows(home / "decided")
    assert cli.invoke(["study", "decide", NAME, "--max-runs", "20", "--out", str(home / "decided")]) == 0
    assert capsys.readouterr().out == f"{NAME}: undecided: SP-3\n"
    assert rows(home / "decided") == before


def test_a_normal_sweep_and_the_missing_runs_count_the_further_ones(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["study", "run", NAME, "--out", str(home / "decided")]) == 0
    assert "40 of 40 runs complete, 0 of them new" in capsys.readouterr().err  # 5 + 10 + 20 + 5
    evaluation = Evaluation(find(NAME), home / "decided")
    assert (evaluation.runs, evaluation.missing("quinn"), evaluation.missing_anywhere) == (5, 0, 0)


def test_a_killed_round_continues_to_the_same_results(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(home / "first", out)
    script = tmp_path / "killed.py"
    script.write_text(KILLED_AFTER_TWO)
    arguments = ["study", "decide", NAME, "--max-runs", "20", "--jobs", "2", "--out", str(out)]
    killed = subprocess.run(
        [sys.executable, str(script), "1", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert killed.returncode == -9, killed.stderr
    manifest = read_manifest(out / NAME)
    assert manifest is not None
    assert set(manifest.more.values()) == {10}, "the first round is planned"
    assert Evaluation(find(NAME), out).missing("quinn") > 0
    assert cli.invoke(arguments) == 0
    assert rows(out) == rows(home / "decided")
    assert json.loads((out / NAME / "sweep.json").read_text()) == json.loads(
        (home / "decided" / NAME / "sweep.json").read_text()
    )


def test_an_archive_repeats_the_further_runs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.invoke(["study", "package", NAME, "--out", str(home / "decided")]) == 0
    archive = Path(capsys.readouterr().out.strip())
    with tarfile.open(archive) as packed:
        packed.extractall(home, filter="data")
    unpacked = home / archive.name.removesuffix(".tar.gz")
    assert (unpacked / "sweep.json").read_bytes() == (home / "decided" / NAME / "sweep.json").read_bytes()
    assert 'cp "$here/sweep.json"' in (unpacked / "rerun.sh").read_text()


def test_a_study_that_was_not_run_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["study", "decide", NAME, "--out", str(tmp_path)]) == 1
    assert "no results of tiny/spread" in capsys.readouterr().err


def test_studies_of_a_group_that_were_not_run_are_skipped(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.invoke(["study", "decide", "tiny", "--out", str(home / "decided")]) == 0
    assert "tiny: skipped, without results: tiny/rate" in capsys.readouterr().err


def test_the_next_number_of_runs_hand_computed() -> None:
    assert [next_count(now, 50) for now in (2, 5, 10, 20, 40, 50, 60)] == [4, 10, 20, 40, 50, 50, 60]
    assert next_count(10, 50, needed=13.2) == 14
    assert next_count(10, 50, needed=3.0) == 11
