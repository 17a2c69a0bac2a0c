"""Studies through the command line on the real engine: killed and continued, one worker or two, the same table."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from conftest import KILLED_AFTER_TWO, ROOT
from quiclab import cli
from quiclab.experiment.runs import Runs
from quiclab.experiment.store import Store
from quiclab.study import Factor
from quiclab.study.evaluate import Evaluation
from quiclab.study.plan import Plan
from quiclab.study.registry import find

STUDY = "tiny/rate"
RUNS = 2 * 2 * 3  # of two configurations and two rates; variants are not asked for
FLUSH_RUNS = 3


@pytest.fixture(scope="module", autouse=True)
def tiny_studies() -> Iterator[None]:
    """Let the study files be those of the tests, here and in processes that are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICLAB_STUDIES", str(ROOT / "tests" / "data" / "tiny" / "studies"))
        yield


def invoke(*arguments: str | int | Path) -> tuple[int, str, str]:
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
    assert f"{RUNS} of {RUNS} runs complete, {RUNS - 2 * FLUSH_RUNS} of them new" in progress
    assert outputs(out) == whole


def test_shards_of_a_study_give_the_table_of_one_machine(whole: dict[str, bytes], tmp_path: Path) -> None:
    plan, out = tmp_path / "rate.plan.json", tmp_path / "out"
    code, text, said = invoke("study", "plan", STUDY, "--to", plan)
    assert (code, text) == (0, f"{plan}\n")
    assert f"{STUDY}: 4 settings, {RUNS} runs" in said
    for index in (2, 0):
        assert invoke("shard", plan, "--index", index, "--of", "3", "--jobs", "1")[0] == 0
    code, _, complaint = invoke("study", "merge", plan, "--out", out)
    assert code == 1
    assert f"4 of {RUNS} runs are missing, of shard 1; run `quiclab shard" in complaint
    code, text, _ = invoke("shard", plan, "--index", "1", "--of", "3", "--jobs", "1", "--json")
    assert (code, json.loads(text)["runs_new"]) == (0, 4)
    code, text, said = invoke("study", "merge", plan, "--out", out, "--json")
    assert (code, json.loads(text)["studies"][0]["runs_complete"]) == (0, RUNS)
    assert f"{STUDY}: {RUNS} of {RUNS} runs complete, 4 of them new" in said
    assert outputs(out) == whole


def test_runs_with_several_parts_are_in_one_shard() -> None:
    """The flows of a run are settings of their own, and no shard repeats the run of another one."""
    study = find(STUDY)
    ends = Factor("end", "end", "End", "", ("sender", "receiver"), None)
    study = replace(study, design=replace(study.design, factors=(ends, *study.design.factors)))
    runs = Runs.of(Plan(study, list(study.points(("quinn",), 4, variants=()))))
    parts = [runs.shard(index, 3).identities.tolist() for index in range(3)]
    assert len(runs) == 2 * sum(len(set(part)) for part in parts)
    assert sum(len(set(part)) for part in parts) == len(set(chain.from_iterable(parts)))


def test_a_plan_of_another_study_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "rate.plan.json"
    assert invoke("study", "plan", STUDY, "--only", "rate=5", "--to", plan)[0] == 0
    document = json.loads(plan.read_text())
    plan.write_text(json.dumps({**document, "only": ["rate=20"]}))
    code, _, complaint = invoke("shard", plan, "--index", "0", "--of", "1")
    assert (code, f"{STUDY} has changed since the plan was written" in complaint) == (2, True)
    code, _, complaint = invoke("sweep", "merge", plan)
    assert (code, "schema: expected `quiclab.plan/1`" in complaint) == (2, True)


def test_runs_are_added_until_intervals_are_narrow(tmp_path: Path) -> None:
    options = ("--runs", "2", "--jobs", "1", "--out", tmp_path, "--json")
    code, printed, said = invoke("study", "run", STUDY, "--adaptive", "0.0001%", "--max-runs", "6", *options)
    assert code == 0, said
    [counts] = json.loads(printed)["studies"]
    assert counts["runs"] == counts["runs_complete"] == counts["runs_new"] == len(Store(tmp_path / STUDY).identities())
    assert f"{STUDY}: round 1: open are intervals of {STUDY}; " in said
    evaluation = Evaluation(find(STUDY), tmp_path)
    wide = {
        key: item for key, item in evaluation.summaries("quinn").items() if item.high - item.mean > 1e-6 * item.mean
    }
    assert {item.n for item in wide.values()} == {6}


def test_further_runs_are_those_of_the_settings_that_are_chosen(tmp_path: Path) -> None:
    options = ("--runs", "2", "--jobs", "1", "--out", tmp_path)
    assert invoke("study", "run", STUDY, *options)[0] == 0
    code, _, said = invoke(
        "study", "run", STUDY, "--only", "rate=5", "--adaptive", "0.0001%", "--max-runs", "6", *options
    )
    assert code == 0, said
    counts = {key: item.n for key, item in Evaluation(find(STUDY), tmp_path).summaries("quinn").items()}
    assert {key: count for key, count in counts.items() if 5 not in key} == {key: 2 for key in counts if 5 not in key}
    assert 6 in counts.values()


def test_a_wrong_precision_is_refused(tmp_path: Path) -> None:
    options = ("--runs", "2", "--jobs", "1", "--out", tmp_path)
    code, _, said = invoke("study", "run", STUDY, "--adaptive", "much", *options)
    assert (code, said.count("\n"), "--adaptive: expected a percentage above 0" in said) == (2, 1, True)


def test_a_wrong_executor_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    code, _, said = invoke("study", "run", STUDY, "--executor", "dask", "--out", tmp_path / "out")
    assert (code, "--executor: expected `processes`, `ray`" in said) == (2, True)
    assert not (tmp_path / "out").exists()


def test_runs_are_added_until_claims_are_decided(tmp_path: Path) -> None:
    code, _, said = invoke("study", "run", STUDY, "--adaptive", "verdicts", "--jobs", "1", "--out", tmp_path)
    assert code == 0, said
    assert f"{STUDY}: decided: TI-1, TI-2\n" in said
