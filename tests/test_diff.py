"""`quiclab diff`: identical runs, and where a changed parameter shows first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quiclab import cli
from quiclab._base.native import build_id, extension

DOWN_MS = 5
RATE_MBPS = 20
# the client's first datagram is padded to 1200 bytes (RFC 9000 section 14.1) and crosses up1; the answer crosses down1
FIRST_PACKET_MS = (1200 + 28) * 8 / (RATE_MBPS * 1e3)


@pytest.fixture
def run(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the small scenario with changes; returns where the result is."""

    def run(name: str, seed: int = 1, *sets: str) -> Path:
        arguments = [part for text in sets for part in ("--set", text)]
        assert cli.invoke(["run", str(small), "--seed", str(seed), *arguments, "--out", str(tmp_path / name)]) == 0
        capsys.readouterr()
        return tmp_path / name

    return run


def difference(a: Path, b: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    texts = []
    for _ in range(2):
        assert cli.invoke(["diff", str(a), str(b), "--json"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    document: dict[str, Any] = json.loads(texts[0])
    assert list(document) == ["schema", "identical", "index", "a", "b", "digests", "repeated_digests", "flows"]
    assert document["schema"] == "quiclab.diff/1"
    assert document["repeated_digests"] == document["digests"]
    return document


def test_identical_runs(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = run("a"), run("b")
    found = difference(a, b, capsys)
    assert (found["identical"], found["index"], found["a"], found["b"]) == (True, None, None, None)
    assert found["digests"][0] == found["digests"][1]
    # what is recorded is no difference of the runs
    assert difference(a, run("c", 1, "record.series_interval=10 ms"), capsys)["identical"]
    assert cli.invoke(["diff", str(a), str(b)]) == 0
    assert "identical" in capsys.readouterr().out


def test_another_delay_shows_at_the_first_packet_that_meets_it(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = difference(run("a"), run("b", 1, f"links.down1.delay={DOWN_MS + 2} ms"), capsys)
    assert not found["identical"]
    a, b = found["a"], found["b"]
    # the server's first packet leaves down1 2 ms later: in the other run something else comes first, or the same later
    assert (a["element"], a["event"], a["flow"]) == ("down1", "departure", "dc")
    assert a["time_ns"] / 1e6 >= FIRST_PACKET_MS + DOWN_MS
    assert b["time_ns"] > a["time_ns"]


def test_another_rate_shows_at_the_first_packet_that_meets_it(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    # the client's first packet leaves after serialisation and a drawn delay that is the same in both runs
    found = difference(run("a"), run("b", 1, f"links.up1.rate={RATE_MBPS // 2} Mbit/s"), capsys)
    a, b = found["a"], found["b"]
    for side in (a, b):
        assert (side["element"], side["event"]) == ("up1", "departure")
        assert side["size_bytes"] == 1200 + 28
    assert (b["time_ns"] - a["time_ns"]) / 1e6 == pytest.approx(FIRST_PACKET_MS, abs=1e-6)
    # before it: the departure from the client and the arrival at the link
    assert found["index"] == 2


def test_another_seed_shows_at_once(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = difference(run("a"), run("b", 2), capsys)
    assert not found["identical"]
    # departures and arrivals carry no content: the first thing a seed can change is the drawn delay of up1
    assert found["index"] == 2
    assert {found["a"]["element"], found["b"]["element"]} == {"up1"}
    assert found["a"]["time_ns"] != found["b"]["time_ns"]


def test_a_longer_download_parts_at_its_end(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = difference(run("a"), run("b", 1, "flows.dc.workload.size=200 kB"), capsys)
    assert not found["identical"]
    # until its last packets the server sends the same, and slow start needs four flights for them (12, 24 and 48 kB are
    # less than 100), each of them after the one before was delivered
    assert min(side["time_ns"] for side in (found["a"], found["b"]) if side) / 1e6 >= 4 * DOWN_MS
    assert [flows["dc"]["delivered_bytes"] for flows in found["flows"]] == [100_000, 200_000]


def test_text_is_stable_and_names_both_runs(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = run("a"), run("b", 2)
    texts = []
    for _ in range(2):
        assert cli.invoke(["diff", str(a), str(b)]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    for part in ("first difference at packet event 2", "up1", "departure", "goodput_mbps", "seed", "digest"):
        assert part in texts[0], part


def test_a_result_that_this_build_does_not_repeat(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = run("a"), run("b")
    result = json.loads((b / "result.json").read_text())
    digest = result["digest"]
    result["digest"] = "0" * 32
    result["versions"]["build"] = "an older one"
    (b / "result.json").write_text(json.dumps(result))
    assert cli.invoke(["diff", str(a), str(b), "--json"]) == 1
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["identical"], document["repeated_digests"]) == (True, [digest, digest])
    assert document["digests"] == [digest, "0" * 32]
    assert captured.err.count("\n") == 1
    for part in (f"{b} was made by quiclab {extension().version()}, build an older one, and", build_id()):
        assert part in captured.err
    assert f"{a} was made by" not in captured.err


@pytest.mark.parametrize("seed", [-4, 2**70, True])
def test_seeds_that_are_none(seed: int, run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a = run("a")
    result = json.loads((a / "result.json").read_text())
    (a / "result.json").write_text(json.dumps({**result, "seed": seed}))
    assert cli.invoke(["diff", str(a), str(a)]) == 2
    assert "is not the result of a run: seed: expected an integer" in capsys.readouterr().err
