"""The real engine through the Python interface: stub, conservation, bounds that follow from the parameters."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import json
from pathlib import Path

import polars as pl
import pytest

import quiclab
from quiclab._base.native import extension
from quiclab.scenario import Scenario, load

STUB = Path(quiclab.__file__).with_name("_quiclab.pyi")


@pytest.fixture
def recorded(small: Path) -> Scenario:
    """The small scenario with a queue that overflows, and with everything recorded."""
    scenario = load(small).with_value("links.down1.queue.packets", 5).with_value("flows.dc.workload.size", "1 MB")
    return scenario.with_value("record", {"series_interval": "10 ms", "packets": True})


def test_the_stub_is_the_extension() -> None:
    body = ast.parse(STUB.read_text(encoding="utf-8")).body
    functions = {item.name: [a.arg for a in item.args.args] for item in body if isinstance(item, ast.FunctionDef)}
    classes = {item.name for item in body if isinstance(item, ast.ClassDef)}
    module = extension()
    public = {name for name in dir(module) if not name.startswith("_")}
    constants = {
        item.target.id for item in body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    assert public == set(functions) | classes | constants
    for name, parameters in functions.items():
        assert list(inspect.signature(getattr(module, name)).parameters) == parameters, name


def test_the_versions_agree() -> None:
    assert quiclab.__version__ == extension().version() == importlib.metadata.version("quiclab")


def test_counters_balance(recorded: Scenario) -> None:
    result = quiclab.run(recorded, seed=3)
    assert result.flows["dc"].completed
    for name, element in result.elements.items():
        for unit in ("packets", "bytes"):
            inward, outward = (
                sum(element[key][unit] if isinstance(element[key], dict) else 0 for key in keys)
                for keys in (("received", "created"), ("sent", "dropped", "consumed", "held"))
            )
            assert inward == outward, (name, unit)
    assert result.elements["down1"]["dropped"]["packets"] > 0


def test_packet_records_agree_with_the_counters(recorded: Scenario) -> None:
    result = quiclab.run(recorded, seed=3)
    here = result.packets.filter(pl.col("element") == "down1")
    counts = {event: here.filter(pl.col("event") == event).height for event in ("arrival", "departure", "drop")}
    link = result.elements["down1"]
    assert counts["arrival"] == link["received"]["packets"]
    assert counts["departure"] == link["sent"]["packets"]
    assert counts["drop"] == link["dropped"]["packets"]
    assert result.packets["time_ns"].is_sorted()


def test_series_are_on_their_grid(recorded: Scenario) -> None:
    series = quiclab.run(recorded, seed=3).series
    assert set(series.columns) == {"time_s", "element", "metric", "value"}
    steps = (series["time_s"] * 100).round()
    assert ((series["time_s"] * 100) - steps).abs().max() < 1e-6  # type: ignore[operator]
    assert series["metric"].n_unique() > 1


def test_a_link_bounds_the_goodput(small: Path) -> None:
    result = quiclab.run(load(small, [("flows.dc.workload.size", "5 MB")]))
    flow = result.flows["dc"]
    # 20 Mbit/s at most, two delays of 5 ms before the first byte, and 40 Mbit of payload: 2.01 s at the least
    assert flow.download_time_s is not None
    assert flow.download_time_s >= 2.01
    assert flow.goodput_mbps <= 20.0


def test_the_same_seed_gives_the_same_bytes(small: Path) -> None:
    scenario = load(small)
    first, again, other = (quiclab.run(scenario, seed) for seed in (1, 1, 2))
    assert first.to_json() == again.to_json()
    assert first.digest != other.digest


def test_the_resolved_scenario_is_a_fixed_point(small: Path) -> None:
    scenario = load(small)
    assert scenario.resolved() == scenario
    text = extension().to_toml(scenario.to_json())
    copy = small.with_name("copy.toml")
    copy.write_text(text)
    assert load(copy) == scenario
    assert quiclab.run(load(copy)).digest == quiclab.run(scenario).digest


def test_first_difference_of_a_changed_queue(small: Path) -> None:
    scenario = load(small, [("flows.dc.workload.size", "1 MB")])
    native = extension()
    texts = [scenario.to_json(), scenario.with_value("links.down1.queue.packets", 5).to_json()]
    same = json.loads(native.first_difference(texts[0], 1, texts[0], 1, ".", "."))
    assert same["identical"] is True
    parted = json.loads(native.first_difference(texts[0], 1, texts[1], 1, ".", "."))
    assert parted["identical"] is False
    keys = {"time_ns", "element", "event", "port", "reason", "direction", "flow", "size_bytes"}
    assert set(parted["a"]) == keys
    # the queue of 5 is the first thing that can differ: it drops what the other one takes
    assert parted["b"]["element"] == "down1"
    assert (parted["b"]["event"], parted["b"]["reason"], parted["b"]["flow"]) == ("drop", "queue_full", "dc")
