"""The version of results: while it is the same, so are the digest of every run and what is measured of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import tool
from quiclab.experiment.identity import RESULTS
from quiclab.experiment.sweeps.metrics import METRICS

ONE = "single_link.toml"


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    return tool("record_digests")


@pytest.fixture(scope="module")
def recorded(recorder: ModuleType) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(recorder.RECORDED.read_text(encoding="utf-8"))
    return content


def test_digests_and_values_change_only_with_the_version_of_results(
    recorder: ModuleType, recorded: dict[str, Any]
) -> None:
    now, again = recorder.stacks(), f"`{recorder.COMMAND}`"
    assert recorded["stacks"] == now, f"digests are recorded with {recorded['stacks']}, these stacks are {now}: {again}"
    assert recorded["version"] == RESULTS, f"version {RESULTS} is not recorded: {again}"
    found = recorder.measured_all()
    changed = recorder.changed(recorded, found)
    assert not changed, (
        f"{', '.join(changed)} have other digests or values: raise RESULTS, or the version of a part, in "
        f"python/quiclab/experiment/identity.py, so that stored runs are made again, then run {again}"
    )
    metrics = [metric.name for metric in METRICS]
    assert recorded["metrics"] == metrics, f"there are other metrics, with the same values of the former ones: {again}"
    names = recorded["digests"].keys()
    assert names == found.keys() == recorded["values"].keys(), f"scenarios are new or gone: {again}"


def test_a_value_of_a_run_that_changes_is_noticed(recorder: ModuleType, recorded: dict[str, Any]) -> None:
    run = recorder.measured(recorder.SCENARIOS / ONE)
    assert recorder.changed(recorded, {ONE: run}) == []
    document = json.loads(json.dumps(run.document))
    document["elements"]["down1"]["dropped"]["packets"] += 1
    goodput = run.metrics["goodput"]["goodput_mbps"]
    others = [
        replace(run, digest="0" * 32),
        replace(run, document=document),
        replace(run, metrics={**run.metrics, "goodput": {"goodput_mbps": goodput * (1 + 1e-6)}}),
        replace(run, metrics={**run.metrics, "goodput": {"goodput_mbytes": goodput}}),
    ]
    assert [recorder.changed(recorded, {ONE: other}) for other in others] == [[ONE]] * 4
    statistics = json.loads(json.dumps(run.document))
    statistics["flows"]["main"]["receiver"]["new_bytes"] = 1.0
    larger = replace(run, document=statistics)
    assert [recorder.changed(recorded, {ONE: larger}, added) for added in ((), ("*.new_bytes",))] == [[ONE], []]
    rounding = replace(run, metrics={**run.metrics, "goodput": {"goodput_mbps": goodput * (1 + 1e-13)}})
    new = replace(run, metrics={**run.metrics, "a new one": {"a": 1.0}})
    assert [recorder.changed(recorded, {ONE: same}) for same in (rounding, new)] == [[], []]


def test_changed_values_are_recorded_with_another_version_only(
    recorder: ModuleType, recorded: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorder.measured(recorder.SCENARIOS / ONE)
    monkeypatch.setattr(recorder, "RECORDED", tmp_path / "digests.json")
    monkeypatch.setattr(recorder, "measured_all", lambda: {ONE: run})
    assert recorder.main() is None
    one = json.loads((tmp_path / "digests.json").read_text())
    assert (one["digests"][ONE], one["values"][ONE]) == (recorded["digests"][ONE], recorded["values"][ONE])
    (tmp_path / "digests.json").write_text(json.dumps(one | {"values": {ONE: "0" * 32}}))
    advice = "raise RESULTS in python/quiclab/experiment/identity.py first, or the version of a part"
    assert recorder.main() == f"{ONE} changed: {advice}"
    monkeypatch.setattr(recorder, "RESULTS", RESULTS + 1)
    assert recorder.main() is None
    assert json.loads((tmp_path / "digests.json").read_text()) == one | {"version": RESULTS + 1}


def test_another_version_of_a_stack_excuses_only_its_own_scenarios(
    recorder: ModuleType, recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorder.measured(recorder.SCENARIOS / ONE)
    assert "quinn" in run.stacks
    other = replace(run, digest="0" * 32)
    monkeypatch.setattr(recorder, "stacks", lambda: recorded["stacks"] | {"quinn": "0.1"})
    assert recorder.changed(recorded, {ONE: other}) == []
    monkeypatch.setattr(recorder, "stacks", lambda: recorded["stacks"] | {"noq": "0.1"})
    assert recorder.changed(recorded, {ONE: other}) == [ONE]
