"""Quantities in Python are those of the engine: the same units, the same values."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from conftest import SMALL
from quiclab._base.native import extension
from quiclab.analysis.inspect.links import capacity_kbps
from quiclab.scenario import Scenario
from quiclab.scenario.quantity import UNITS, bits_per_second, byte_count, nanoseconds, parse

#: Type of the schema, a field with it, and the reader, of each kind of quantity.
KINDS = {
    "bytes": ("ByteCount", "flows.dc.workload.size", byte_count),
    "nanoseconds": ("Duration", "duration", nanoseconds),
    "bits_per_second": ("DataRate", "links.down1.rate", bits_per_second),
}


@pytest.mark.parametrize("kind", KINDS)
def test_units_are_those_of_the_engine(kind: str) -> None:
    schema = json.loads(extension().schema())["$defs"][KINDS[kind][0]]["pattern"]
    listed = re.search(r"\(([^()]*\|[^()]*)\)", schema)
    assert listed is not None
    assert set(listed[1].split("|")) == set(UNITS[kind])


@pytest.mark.parametrize(("kind", "unit"), [(kind, unit) for kind, units in UNITS.items() for unit in units])
@pytest.mark.parametrize("number", ["3", "1_0", "1.5"])
def test_the_engine_reads_the_same_value(kind: str, unit: str, number: str) -> None:
    if number == "1.5" and UNITS[kind][unit] == 1:
        pytest.skip("finer than the base unit")
    _, path, read = KINDS[kind]
    text = f"{number} {unit}"
    # what the engine writes has the largest unit that fits, never the one given
    resolved = Scenario.from_dict(tomllib.loads(SMALL)).with_value(path, text).resolved().to_dict()
    for step in path.split("."):
        resolved = resolved[step]
    assert read(str(resolved)) == read(text) == UNITS[kind][unit] * (float(number) if "." in number else int(number))


def test_the_capacity_of_a_link_is_its_rate() -> None:
    assert [capacity_kbps({"rate": rate}) for rate in ("20 Mbit/s", "1.5 Gbit/s", "1500 bit/s")] == [
        20_000,
        1_500_000,
        2,
    ]
    assert [capacity_kbps(link) for link in ({}, {"rate": {"kind": "trace"}}, {"rate": "20 ms"})] == [None] * 3
    assert parse(None) is None
