"""Public questions: each answer is in the range that theory gives, and its command repeats the run."""

from __future__ import annotations

import json
import math
import shlex
import statistics
from pathlib import Path

import pytest

import quiclab
from quiclab import cli
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find
from quiclab_studies.validation.answers import FAR, RUNS, STUDY, listing, position
from quiclab_studies.validation.answers_cases import BY_NAME, CASES, QUESTIONS

ROOT = Path(__file__).resolve().parent.parent
#: Cases of less than a second that stand for the kinds of measures.
SHORT = ("h2_window", "certificate_chain_of_2.5_kb", "udp_isolation_fq_codel", "noq_chunks_noq_window_of_50_mb")


def _runs(name: str) -> list[quiclab.RunResult]:
    """Run a case with the seeds of the study; once, where nothing in it is random."""
    case = BY_NAME[name]
    scenario = quiclab.load(ROOT / case.scenario).with_values({**case.setting.changes, "name": name})
    runs = [quiclab.run(scenario, seed=seed) for seed in (1, 2)]
    if runs[0].digest == runs[1].digest:
        return runs[:1]
    return runs + [quiclab.run(scenario, seed=seed) for seed in range(3, RUNS + 1)]


@pytest.mark.parametrize("name", SHORT)
def test_short_answers_are_in_the_range_of_theory(name: str) -> None:
    assert abs(statistics.fmean(map(position, _runs(name)))) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in SHORT])
def test_answers_are_in_the_range_of_theory(name: str) -> None:
    assert abs(statistics.fmean(map(position, _runs(name)))) <= 1


def test_a_position_outside_of_the_range_is_beyond_one() -> None:
    case = BY_NAME["window_limit"]
    # half of the window, a range that the answer cannot be in
    halved = quiclab.load(ROOT / case.scenario).with_values(
        {"name": case.name, "flows.main.receiver.stream_receive_window": "512 KiB"}
    )
    assert position(quiclab.run(halved, seed=1)) < -1
    failed = quiclab.run(
        quiclab.load(ROOT / BY_NAME["noq_chunks_noq_window_of_50_mb"].scenario).with_value(
            "name", "noq_chunks_quinn_window_of_50_mb"
        ),
        seed=1,
    )
    assert position(failed) == -FAR


def test_ranges_and_words_of_questions_are_complete() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for question in QUESTIONS:
        assert question.asks.endswith("?")
        assert all(("#" in thread) or thread.startswith("draft-") for thread in question.threads)
    for case in CASES:
        assert 0 <= case.setting.low <= case.setting.high < math.inf
        assert (ROOT / case.scenario).is_file()


def test_the_command_of_a_case_repeats_its_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    name = "udp_isolation_fq_codel"
    words = shlex.split(BY_NAME[name].command)
    assert words[0] == "quiclab"
    assert cli.invoke([*words[1:], "--seed", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == _runs(name)[0].digest


def test_the_study_has_a_row_for_each_case(tmp_path: Path) -> None:
    case = "certificate_chain_of_4_kb"
    assert (
        cli.invoke(["study", "run", STUDY.name, "--only", f"case={case}", "--runs", "1", "--out", str(tmp_path)]) == 0
    )
    evaluation = Evaluation(find(STUDY.name), tmp_path)
    rows = listing(evaluation, STUDY.design.default_engine)
    assert len(rows) == len(CASES)
    assert [row for row in rows if row[6]] == [row for row in rows if row[2] == "chain of 4 kB"]
