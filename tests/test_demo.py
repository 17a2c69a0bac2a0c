"""The demo is decided by its runs, and README.md says what a stored measurement of it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import ROOT, tool
from quiclab import cli
from quiclab.cli.demo import RUNS, STUDY
from quiclab.study.registry import find

DEMO = tool("demo_time")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_demo_ends_with_confirmed_claims_and_a_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["demo", "--out", str(tmp_path), "--jobs", "2"]) == 0
    out, err = capfd.readouterr()
    page = tmp_path / STUDY / "report.html"
    assert out.splitlines() == [str(page)]
    assert page.is_file()
    claims = len(find(STUDY).measures.claims)
    last = err.splitlines()[-1]
    assert last.endswith(f"{claims} claims: {claims} confirmed. Open {page} in a browser.")


def test_readme_says_what_was_measured_of_the_demo_as_it_is() -> None:
    stored = json.loads(DEMO.STORED.read_text(encoding="utf-8"))
    assert [step["command"] for step in stored["steps"]] == DEMO.commands(MAKEFILE), (
        "the demo has changed: python tools/demo_time.py --measure --write"
    )
    study = find(STUDY)
    assert stored["runs"] == RUNS * len(list(study.points((study.design.default_engine,), 1, variants=())))
    readme = DEMO.README.read_text(encoding="utf-8")
    assert DEMO.written(readme, stored) == readme, "write README.md with python tools/demo_time.py --write"


def test_the_sentence_names_runs_time_and_day() -> None:
    stored = {"runs": 7, "measured": "2026-01-02", "steps": [{"cpu_s": 100.0}, {"cpu_s": 80.0}]}
    assert DEMO.sentence(stored) == (
        "its 7 runs, verdicts and report take 3 min of CPU time, which all CPUs share (measured on 2026-01-02)"
    )
