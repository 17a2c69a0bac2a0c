"""The demo has enough runs for verdicts, and README.md says what a stored measurement of it says."""

from __future__ import annotations

import json

from conftest import ROOT, tool
from quiclab.experiment.repetitions import MIN_RUNS
from quiclab.study.registry import find

DEMO = tool("demo_time")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_demo_has_enough_runs_for_verdicts_and_prints_them() -> None:
    assert DEMO.runs_of_a_setting(MAKEFILE) >= MIN_RUNS
    commands = DEMO.commands(MAKEFILE)
    assert [command.split()[:3] for command in commands] == [
        ["quiclab", "study", "run"],
        ["quiclab", "study", "compare"],
        ["quiclab", "verify", "dual_connectivity/batch_size"],
        ["quiclab", "study", "report"],
    ]


def test_readme_says_what_was_measured_of_the_demo_as_it_is() -> None:
    stored = json.loads(DEMO.STORED.read_text(encoding="utf-8"))
    assert [step["command"] for step in stored["steps"]] == DEMO.commands(MAKEFILE), (
        "the demo has changed: python tools/demo_time.py --measure --write"
    )
    study = find("dual_connectivity/batch_size")
    settings = len(list(study.points((study.design.default_engine,), 1, variants=())))
    assert stored["runs"] == settings * DEMO.runs_of_a_setting(MAKEFILE)
    readme = DEMO.README.read_text(encoding="utf-8")
    assert DEMO.written(readme, stored) == readme, "write README.md with python tools/demo_time.py --write"


def test_the_sentence_names_runs_time_and_day() -> None:
    stored = {"runs": 7, "measured": "2026-01-02", "steps": [{"cpu_s": 100.0}, {"cpu_s": 80.0}]}
    assert DEMO.sentence(stored) == (
        "its 7 runs, verdicts and report take 3 min of CPU time, which all CPUs share (measured on 2026-01-02)"
    )
