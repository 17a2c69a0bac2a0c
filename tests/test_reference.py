"""The reference of the scenario file: its tables are those of the schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import tool
from quiclab import ScenarioError, load, run
from quiclab.native import extension
from quiclab.stacks import catalogue

scenario_reference = tool("scenario_reference")

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


def test_the_page_is_current() -> None:
    text = scenario_reference.PAGE.read_text(encoding="utf-8")
    made = scenario_reference.page(text, json.loads(extension().schema()))
    assert made == text, "run `make reference`"


def test_the_page_of_results_is_current() -> None:
    text = scenario_reference.RESULT_PAGE.read_text(encoding="utf-8")
    assert scenario_reference.result_page(text, scenario_reference.rows) == text, "run `make reference`"


def test_the_page_of_the_vpn_is_current() -> None:
    text = scenario_reference.VPN_PAGE.read_text(encoding="utf-8")
    schema = json.loads(scenario_reference.VPN_SCHEMA.read_text(encoding="utf-8"))
    assert scenario_reference.described(text) == scenario_reference.VPN_TYPES
    assert scenario_reference.vpn_page(text, schema) == text, "run `make reference`"


def test_the_page_of_the_vpn_leads_to_that_of_scenarios() -> None:
    schema = json.loads(scenario_reference.VPN_SCHEMA.read_text(encoding="utf-8"))
    scenario = scenario_reference.PAGE.read_text(encoding="utf-8")
    headings = {
        line.lstrip("#").strip().lower().replace(" ", "-") for line in scenario.splitlines() if line[:2] == "##"
    }
    for part in scenario_reference.VPN_PAGE.read_text(encoding="utf-8").split("(scenario.md#")[1:]:
        assert part.partition(")")[0] in headings
    types = set(schema["$defs"]) - scenario_reference.VPN_TYPES
    assert {name: schema["$defs"][name] for name in types} == {
        name: json.loads(extension().schema())["$defs"][name] for name in types
    }


def test_the_page_of_the_stacks_is_current() -> None:
    pytest.importorskip("aioquic", reason="the page describes the extra aioquic")
    text = scenario_reference.STACKS_PAGE.read_text(encoding="utf-8")
    stacks = catalogue()
    shown = text + scenario_reference.PAGE.read_text(encoding="utf-8")
    assert set(scenario_reference.OPTIONS_BLOCK.findall(shown)) == {stack["name"] for stack in stacks}
    assert scenario_reference.stacks_page(text, stacks) == text, "run `make reference`"


def test_the_page_of_the_plugins_is_current() -> None:
    text = scenario_reference.PLUGINS_PAGE.read_text(encoding="utf-8")
    known = json.loads(extension().plugins())
    assert scenario_reference.plugins_page(text, known) == text, "run `make reference`"


def test_every_type_has_its_block() -> None:
    schema = json.loads(extension().schema())
    text = scenario_reference.PAGE.read_text(encoding="utf-8")
    assert scenario_reference.described(text) == scenario_reference.to_describe(schema)


def test_links_within_the_page_lead_somewhere() -> None:
    text = scenario_reference.PAGE.read_text(encoding="utf-8")
    headings = {line.lstrip("#").strip().lower().replace(" ", "-") for line in text.splitlines() if line[:2] == "##"}
    for part in text.split("](#")[1:]:
        assert part.partition(")")[0] in headings


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
