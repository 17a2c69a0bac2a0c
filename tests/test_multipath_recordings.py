"""Multipath QUIC in recordings: each path has packet numbers of its own, in qlog files and captures of either stack."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quiclab.analysis.inspect import open_run, side
from quiclab.analysis.pacing import Settings, analyse
from quiclab.result import run
from quiclab.scenario import load

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

SCENARIO = Path(__file__).parents[1] / "scenarios/multipath_quic.toml"


def progress(_step: object, _name: object) -> AbstractContextManager[None]:
    return nullcontext()


@pytest.fixture(scope="module", params=["lab-quic", "noq"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A download over two paths, with qlog and captures."""
    scenario = load(SCENARIO)
    changes: dict[str, Any] = {
        "flows.main.workload.size": "1 MB",
        "record": {"qlog": True, "pcapng": True},
        "flows.main.stack": request.param,
        # paths are opened with frames that give out their connection IDs
        "flows.main.sender": {"multipath": {}},
        "flows.main.receiver": {"multipath": {}},
    }
    for path, value in changes.items():
        scenario = scenario.with_value(path, value)
    folder = tmp_path_factory.mktemp("multipath")
    result = run(scenario, 1, record_dir=folder)
    (folder / "result.json").write_text(result.to_json(), encoding="utf-8")
    return folder


@pytest.mark.parametrize("suffix", ["sqlog", "pcapng"])
def test_no_acknowledgement_is_of_nothing_new(recorded: Path, suffix: str) -> None:
    found = analyse([recorded / f"main.sender.{suffix}"], Settings())
    (capture,) = found.captures
    (flow,) = capture["flows"]
    assert flow["protocol"] == "quic"
    assert flow["acks_known"]
    assert flow["acks"]["duplicate_share"] == 0
    assert flow["data"]["packets"] > 1_000_000 / 1500
    assert not any("PATH_ACK" in problem for problem in capture["problems"])


def test_no_packet_arrives_before_it_is_sent(recorded: Path) -> None:
    (connection,) = side(open_run(recorded, 100_000, progress)).data["connections"]
    assert not any("clocks" in note for note in connection["notes"]), connection["notes"]
    for arrows in connection["arrows"]:
        paths = {sum(arrows["path"][: place + 1]) for place in range(min(len(arrows["path"]), 500))}
        assert paths >= {0, 1}
