"""`quiclab study scenario`: a setting of a study as a scenario file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import quiclab
from conftest import ROOT
from quiclab import cli
from quiclab.scenario.inputs import with_absolute_files
from quiclab.study.evaluate import Evaluation
from quiclab.study.registry import find
from quiclab_studies.validation.blind import goodput_mbps

CASE = ["study", "scenario", "validation/blind", "--seed", "12", "--only", "case=11"]


def test_the_scenario_of_a_setting_gives_its_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(CASE) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[:2] == [
        "# quiclab study scenario validation/blind --seed 12 --only case=11 --engine lab-tcp",
        "# its first run: quiclab run FILE --seed 12",
    ]
    file = tmp_path / "case.toml"
    file.write_text(text)
    run = ["study", "run", *CASE[2:], "--runs", "1", "--lane", "sim", "--out", str(tmp_path)]
    assert cli.invoke(run) == 0
    stored = Evaluation(find("validation/blind").with_seed(12), tmp_path)
    assert stored.by_seed("kernel-virtual") == {}
    values = stored.by_seed("lab-tcp")
    result = quiclab.run(quiclab.load(file), seed=12)
    assert values == {("tcp", 11): {12: pytest.approx(goodput_mbps(result), rel=1e-9)}}


@pytest.mark.parametrize(
    ("study", "only", "engine", "options"),
    [
        ("validation/blind", ["case=11"], "kernel-virtual", "--clock virtual --emulation engine"),
        (
            "validation/lanes",
            ["path=10mbit_60ms_q1", "configuration=cubic"],
            "kernel-netem",
            "--clock virtual --emulation netem",
        ),
    ],
)
def test_a_setting_of_the_kernel_lane_names_its_program_and_lane_and_needs_no_kernel(
    study: str,
    only: list[str],
    engine: str,
    options: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [word for item in only for word in ("--only", item)]
    assert cli.invoke(["study", "scenario", study, *words, "--engine", engine]) == 0
    text = capsys.readouterr().out
    assert f"quiclab run FILE --seed 1 --lane kernel {options}" in text
    assert {flow["stack"] for flow in tomllib.loads(text)["flows"].values()} == {"linux"}


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
    assert '--engine: expected "lab-tcp" or "kernel-virtual", got "all"' in capsys.readouterr().err


@pytest.mark.parametrize("key", ["engine", "variant"])
def test_engine_and_variant_have_options_of_their_own(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke([*CASE, "--only", f"{key}=start_300us"]) == 2
    assert f"--only {key}: choose it with --{key}" in capsys.readouterr().err


def test_a_variant_of_a_setting_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke([*CASE, "--variant", "start_300us"]) == 0
    text = capsys.readouterr().out
    assert "--only case=11 --engine lab-tcp --variant start_300us" in text
    assert {flow["start"] for flow in tomllib.loads(text)["flows"].values()} == {"300 us"}


def test_the_reference_of_the_same_lane_runs_too(tmp_path: Path) -> None:
    name = "validation/lab_quic/quinn"
    setting = ["--only", "path=10mbit_112ms", "--only", "configuration=cubic", "--runs", "1"]
    assert cli.invoke(["study", "run", name, *setting, "--lane", "sim", "--out", str(tmp_path)]) == 0
    stored = Evaluation(find(name), tmp_path)
    assert [len(stored.samples(engine)) for engine in ("lab-quic", "quinn")] == [1, 1]
