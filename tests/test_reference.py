"""The generated pages of the reference, and the fields that they show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import tool
from quiclab import RequestError, ScenarioError, load, run
from quiclab.result.metrics import metrics
from quiclab.scenario.fields import at, quantities, scenario_types, tables, types_of
from quiclab.stacks import catalogue

reference = tool("reference")

EVERYTHING = """\
version = 1
name = "everything"
duration = "10 s"

[links.a]
rate = "20 Mbit/s"
queue = { kind = "drop_tail", packets = 1000 }

[links.b]
rate = "20 Mbit/s"

[links.c]

[bearers.dc]
links = ["a", "b"]

[hosts.phone]

[flows.main]
stack = "quinn"
receiver = { host = "phone" }
down = ["dc"]
up = ["c"]
workload = { kind = "download", size = "1 kB" }
"""


def headings(page: str) -> set[str]:
    return {line.lstrip("#").strip().lower().replace(" ", "-") for line in page.splitlines() if line[:2] == "##"}


def test_every_field_is_on_the_page_of_scenarios() -> None:
    """Each table once, and what its link leads to is a section."""
    page = reference.pages()["scenario.md"]
    types = {
        name: item for name, item in scenario_types().items() if name not in {*quantities(), "Rate", "ReorderingTimer"}
    }
    for name, item in types.items():
        assert page.count(reference.fields(item, reference.section)) >= 1, name
    named = {reference.section(name, "").partition("(#")[2].rstrip(")") for name in types if name != "Scenario"}
    assert named <= headings(page)


def test_every_field_has_a_meaning() -> None:
    vpn = types_of(json.loads(reference.VPN_SCHEMA.read_text(encoding="utf-8")), "Config")
    for name, item in (scenario_types() | vpn).items():
        for table in tables(item):
            for field in table.fields:
                assert field.meaning or table.meaning, f"{name}.{field.name}"
                assert field.type, f"{name}.{field.name}"
            assert all(meaning for _, meaning in table.values), name


@pytest.mark.parametrize("stack", catalogue(), ids=lambda stack: stack["name"])
def test_every_option_has_its_source(stack: dict[str, Any]) -> None:
    for item in [*stack["options"], *(item for profile in stack["profiles"] for item in profile["options"])]:
        assert item["meaning"], item
        assert item["default"], item
        assert item["source"], item


def test_every_metric_is_on_the_page_of_results() -> None:
    page = reference.pages()["result.md"]
    for metric in metrics():
        assert (
            f"`{metric.names[0].removesuffix('_mean') if metric.kind == 'distribution' else metric.names[0]}`" in page
        )
        assert metric.meaning in page


def test_the_types_of_the_vpn_are_on_its_page_once() -> None:
    schema = json.loads(reference.VPN_SCHEMA.read_text(encoding="utf-8"))
    assert {"Config", *schema["$defs"]} == set(reference.VPN_TYPES)
    page = reference.pages()["vpn.md"]
    for item in types_of(schema, "Config").values():
        assert page.count(reference.fields(item, reference.vpn_section)) == 1


def test_fields_are_found_by_their_path() -> None:
    of_queues = {table.kind: table.fields for table in at("links.any.queue.packets")}
    assert of_queues.keys() > {"drop_tail", "fq_codel"}
    assert of_queues["fq_codel"][0].default == "10240"
    assert [table.kind for table in at("flows.any.sender.quic.acknowledgement")[1:]] == [
        "every", "timer", "rtt_fraction", "as_requested",
    ]  # fmt: skip
    assert [field.name for field in at("links.any.ecn_rewrites.0")[0].fields] == ["to", "from"]
    assert at("")[0].fields == tables(scenario_types()["Scenario"])[0].fields


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("lnks", "lnks: unknown field; expected one of 16 fields; did you mean `links`?"),
        ("links.a.queue.packets.b", "links.a.queue.packets.b: unknown field; expected nothing: none is defined"),
        (
            "links.a.ecn_rewrites.b",
            'links.a.ecn_rewrites.b: expected the number of an entry of a list, from 0, got "b"',
        ),
    ],
)
def test_a_field_that_does_not_exist_is_an_error(path: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        at(path)
    assert error.value.message == message


PROFILES = [(stack["name"], profile["name"]) for stack in catalogue() for profile in stack["profiles"]]


@pytest.mark.parametrize(("stack", "profile"), PROFILES)
def test_a_profile_is_taken(stack: str, profile: str, tmp_path: Path) -> None:
    file = tmp_path / "everything.toml"
    file.write_text(EVERYTHING)
    sets = [("flows.main.stack", stack), ("flows.main.sender.profile", profile)]
    assert load(file, sets).resolved().value("flows.main.sender.profile") == profile
    for end in ("sender", "receiver"):
        with pytest.raises(ScenarioError) as error:
            load(file, [*sets, (f"flows.main.{end}.profile", "no-such-profile")])
        assert error.value.path == f"flows.main.{end}.profile"


def test_profiles_change_the_packets_of_a_run(small: Path) -> None:
    """A run of 100 kB over a link of 100 packets shows the initial window, which differs among profiles of lab-quic.

    But for that of PQUIC, a fork, which is picoquic's.
    """
    profiles = [profile for stack, profile in PROFILES if stack == "lab-quic"]
    sets = [("flows.dc.stack", "lab-quic")]
    digests = {run(load(small, [*sets, ("flows.dc.sender.profile", profile)])).digest for profile in profiles}
    assert len(digests) == len(profiles) - 1 > 1
