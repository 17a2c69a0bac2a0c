"""`quiclab study scenario`: a setting of a study as a scenario file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT
from quiclab import cli
from quiclab.studies.validation.blind import goodput_mbps
from quiclab.study.evaluate import Evaluation
from quiclab.study.inputs import with_absolute_files
from quiclab.study.registry import find

CASE = ["study", "scenario", "validation/blind", "--seed", "12", "--only", "case=11"]


def test_the_scenario_of_a_setting_gives_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(CASE) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[:2] == [
        "# validation/blind, case=11, lab-tcp",
        "# its first run: quiclab run FILE --seed 12",
    ]
    file = tmp_path / "case.toml"
    file.write_text(text)
    run = ["study", "run", *CASE[2:], "--runs", "1", "--out", str(tmp_path)]
    assert cli.invoke(run) == 0
    values = Evaluation(find("validation/blind").with_seed(12), tmp_path).by_seed("lab-tcp")
    result = quiclab.run(quiclab.load(file), seed=12)
    assert values == {("tcp", 11): {12: pytest.approx(goodput_mbps(result), rel=1e-9)}}


def test_a_setting_of_the_kernel_lane_names_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("resource")
    code = cli.invoke([*CASE, "--engine", "kernel-virtual"])
    text = capsys.readouterr()
    if code:
        assert "cannot run on this machine with kernel-virtual" in text.err
        return
    assert "quiclab run FILE --seed 12 --lane kernel --clock virtual" in text.out
    assert {flow["stack"] for flow in tomllib.loads(text.out)["flows"].values()} == {"linux"}


def test_files_are_named_from_the_root() -> None:
    scenario = json.loads(quiclab.load(ROOT / "scenarios" / "cellular_trace.toml").to_json())
    moved = with_absolute_files(scenario, ROOT / "scenarios")
    files = [link["rate"]["file"] for link in moved["links"].values() if isinstance(link["rate"], dict)]
    assert files
    assert all(Path(file).is_file() and Path(file).is_absolute() for file in files)


def test_one_setting_in_one_engine_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(CASE[:-2]) == 2
    assert "200 settings; choose one with --only: case" in capsys.readouterr().err
    assert cli.invoke([*CASE, "--engine", "all"]) == 2
    refused = "--engine: expected one engine, got 'all'; expected one of lab-tcp, kernel-virtual"
    assert refused in capsys.readouterr().err
