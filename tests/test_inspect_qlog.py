"""Reading qlog through the extension: our own log of a run, a log of another stack, and what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quiclab
from quiclab._base.native import extension
from quiclab.scenario import load

DATA = Path(__file__).parent.parent / "crates" / "quiclab-trace" / "tests" / "data"


def test_the_log_of_a_run_agrees_with_its_result(small: Path, tmp_path: Path) -> None:
    scenario = load(small).with_value("record", {"qlog": True})
    result = quiclab.run(scenario, seed=3, record_dir=tmp_path)
    logs = sorted(tmp_path.rglob("*.sqlog"))
    assert len(logs) == 2
    found = {}
    for log in logs:
        (connection,) = json.loads(extension().inspect_qlog(str(log), 1000))
        assert connection["schema"] == 1
        assert connection["counts"]["malformed"] == 0
        assert connection["counts"]["skipped"] == {}
        assert connection["counts"]["truncated_at_byte"] is None
        found[connection["vantage"]] = connection
    # whatever the client has received, the server has sent
    client, server = found["client"]["counts"], found["server"]["counts"]
    assert 0 < client["packets_received"] <= server["packets_sent"]
    carried = max(stream["unique_bytes"] for one in found.values() for stream in one["streams"])
    assert carried >= result.flows["dc"].delivered_bytes > 0


def test_progress_and_its_errors() -> None:
    log = DATA / "03-aioquic.qlog"
    told: list[tuple[int, int]] = []
    extension().inspect_qlog(str(log), 1000, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (2 * log.stat().st_size, 2 * log.stat().st_size)

    def stop(done: int, total: int) -> None:
        raise LookupError(f"{done} of {total}")

    with pytest.raises(LookupError, match="of 34014"):
        extension().inspect_qlog(str(log), 1000, stop)


def test_files_other_than_qlog_are_reported(small: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a qlog file .*, got a file that starts with "):
        extension().inspect_qlog(str(small), 1000)
    with pytest.raises(OSError, match=r"^No such file or directory$"):
        extension().inspect_qlog(str(tmp_path / "missing.qlog"), 1000)
