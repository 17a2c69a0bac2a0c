"""Studies through the command line on the real engine: killed and continued, one worker or two, the same table."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from conftest import KILLED_AFTER_TWO, ROOT
from quiclab import cli
from quiclab.store import Store

STUDY = "tiny/rate"
RUNS = 2 * 2 * 3  # of two configurations and two rates; variants are not asked for
FLUSH_RUNS = 3


@pytest.fixture(scope="module", autouse=True)
def tiny_studies() -> Iterator[None]:
    """Let the study files be those of the tests, here and in processes that are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICLAB_STUDIES", str(ROOT / "tests" / "data" / "tiny" / "studies"))
        yield


def invoke(*arguments: str | Path) -> tuple[int, str, str]:
    """Run the command line in this process; returns exit code, stdout and stderr."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = cli.invoke([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def study_run(out: Path, jobs: int) -> str:
    code, text, progress = invoke("study", "run", STUDY, "--jobs", str(jobs), "--out", out)
    assert (code, text) == (0, ""), progress
    return progress


def outputs(out: Path) -> dict[str, bytes]:
    """Everything that a study prints or writes about its results."""
    found = {"runs.parquet": (out / STUDY / "runs.parquet").read_bytes()}
    for command in (
        ["study", "table", STUDY],
        ["study", "table", STUDY, "--format", "json"],
        ["study", "compare", STUDY, "--json"],
        ["verify", STUDY, "--json"],
    ):
        code, text, complaint = invoke(*command, "--out", out)
        assert code == 0, complaint
        found[" ".join(command)] = text.encode()
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tiny_studies: None) -> dict[str, bytes]:
    """What the study gives when nothing goes wrong, with one worker."""
    del tiny_studies
    out = tmp_path_factory.mktemp("whole")
    study_run(out, jobs=1)
    found = outputs(out)
    assert found[f"study table {STUDY}"].count(b"\n") == 1 + 4
    return found


def test_workers_do_not_change_the_results_of_a_study(whole: dict[str, bytes], tmp_path: Path) -> None:
    study_run(tmp_path, jobs=2)
    assert outputs(tmp_path) == whole


def test_a_killed_study_continues_to_the_same_table(whole: dict[str, bytes], tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED_AFTER_TWO)
    out = tmp_path / "out"
    arguments = [str(FLUSH_RUNS), "study", "run", STUDY, "--jobs", "2", "--out", str(out)]
    # returns only when the pipes are closed, hence when no worker is left
    killed = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    assert len(Store(out / STUDY).identities()) == 2 * FLUSH_RUNS
    assert not (out / STUDY / "runs.parquet").exists()
    # what is there can be read, and says that it is not complete
    code, _, complaint = invoke("study", "table", STUDY, "--out", out)
    assert code == 1
    assert "are missing" in complaint
    progress = study_run(out, jobs=2)
    assert f"{RUNS - 2 * FLUSH_RUNS} of {RUNS} runs to do" in progress
    assert outputs(out) == whole
