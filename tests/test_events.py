"""Events of a scenario: what a result and the report of a run show of them, and where they are refused."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import ROOT
from quiclab import RunResult, cli, load, run
from quiclab.analysis.inspect.links import changes
from quiclab.analysis.inspect.source import open_run
from quiclab.analysis.inspect.view import side

SETS = [("duration", "12 s"), ("record.series_interval", "10 ms")]


@pytest.fixture(scope="module")
def result() -> RunResult:
    return run(load(ROOT / "scenarios" / "events.toml", SETS), seed=1)


def test_a_result_lists_what_events_have_changed(result: RunResult) -> None:
    table = result.changes
    # DRAIN of flow a, the route at 10 s in both directions, and an outage of 200 ms in both
    assert table["event"].to_list()[0] == 0
    assert table.filter(pl.col("event") == 1)["time_s"].to_list() == [10.0, 10.0]
    drain = table.row(0, named=True)
    assert (drain["link"], drain["rate_mbps"], drain["delay_ms"], drain["up"]) == ("down", 45.0, 20.0, True)
    outage = table.filter(pl.col("event") == 2)
    assert outage["link"].to_list() == ["down", "up"] * 2
    begin, _, end, _ = outage["time_s"].to_list()
    assert end - begin == pytest.approx(0.2, abs=1e-9)
    assert outage["rate_mbps"].to_list() == [0.0, 0.0, 45.0, 50.0]
    assert outage["up"].to_list() == [False, False, True, True]
    assert RunResult.from_json(json.dumps(dict(result.data))).changes.equals(table)


def test_a_run_without_events_has_no_changes(result: RunResult) -> None:
    plain = run(load(ROOT / "scenarios" / "single_link.toml"), seed=1)
    assert plain.changes.height == 0
    assert "changes" not in plain.data
    assert plain.changes.columns == result.changes.columns


def test_the_report_of_a_run_shows_changes(tmp_path: Path, result: RunResult) -> None:
    words = [f"--set={name}={value}" for name, value in SETS]
    path = ROOT / "scenarios" / "events.toml"
    assert cli.invoke(["run", str(path), "--seed", "1", "--out", str(tmp_path / "run"), *words]) == 0
    data = side(open_run(tmp_path / "run", 10**6, lambda *_: nullcontext())).data
    down = {link["name"]: link for link in data["links"]}["down"]["changes"]
    own = result.changes.filter(pl.col("link") == "down")
    times, rates = (list(accumulated(down[name])) for name in "tv")
    assert times == [round(1e6 * time) for time in own["time_s"]]
    assert rates == [round(1000 * rate) for rate in own["rate_mbps"]]
    assert down["text"][0] == "event 0 begins: 45 Mbit/s, 20 ms, loss 0 %"
    assert any(text.endswith(", down") for text in down["text"])


def accumulated(differences: list[int]) -> list[int]:
    return [sum(differences[: index + 1]) for index in range(len(differences))]


def test_a_link_without_a_rate_has_none_in_words() -> None:
    change: dict[str, Any] = {"time_s": 1.0, "event": 3, "begins": False, "link": "a"}
    change |= {"rate_mbps": None, "delay_ms": 2.5, "loss": 0.01, "up": True}
    found = changes([change, {**change, "link": "b"}], "a")
    assert found == {"t": [1_000_000], "v": [0], "text": ["event 3 ends: 2.5 ms, loss 1 %"]}
