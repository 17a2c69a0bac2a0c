"""Named paths: their files, scenarios that name them, the commands, and agreement with probes."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import quiclab
from conftest import ROOT, tool
from quiclab import cli
from quiclab.errors import RequestError
from quiclab.scenario.quantity import bits_per_second
from quiclab.sources import paths
from quiclab.sources.paths import figure
from quiclab.sources.paths.agreement import compare
from quiclab.sources.paths.library import DIRECTIONS

paths_page = tool("paths_page")

SCENARIO = ROOT / "scenarios" / "named_path.toml"
EXPECTED = {
    "5g",
    "5g-handover",
    "bufferbloated-home",
    "data-centre",
    "docsis",
    "geo",
    "leo",
    "lte",
    "wifi-bad",
    "wifi-fade",
    "wifi-good",
}


def test_the_paths_are_there_with_both_links() -> None:
    assert set(paths.names()) == EXPECTED
    for name in paths.names():
        assert set(paths.read(name).links) == set(DIRECTIONS), name


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_value_has_a_source(name: str) -> None:
    path = paths.read(name)
    text = (ROOT / "python" / "quiclab" / "scenario" / "paths" / f"{name}.toml").read_text(encoding="utf-8")
    written: dict[str, set[str]] = {link: set() for link in DIRECTIONS}
    link = ""
    for line in text.splitlines():
        if found := re.match(r"\[links\.(\w+)(?:\.(\w+))?\]", line):
            link = found[1]
            written[link] |= {found[2]} - {None}
            inside = found[2] is not None
        elif line.startswith("["):
            link = ""
        elif link and not inside and (found := re.match(r"(\w+) = ", line)):
            written[link].add(found[1])
    for link, fields in written.items():
        assert fields, link
        for field in fields:
            assert path.source(link, field), f"{link}.{field}"
    known = {f"{link}.{field}" for link in DIRECTIONS for field in written[link]} | set().union(*written.values())
    assert set(path.sources) <= known, "sources of fields that are not there"


def test_the_rates_of_lte_are_those_of_the_trace() -> None:
    rows = paths.read("lte").links["down"].plain["conditions"]["rows"]
    lines = (ROOT / "scenarios" / "traces" / "synthetic_lte.csv").read_text(encoding="utf-8").splitlines()
    trace = [line.split(",") for line in lines if line[:1].isdigit()]
    assert len(rows) == 61
    rates = [bits_per_second(row["rate"]) for row in rows]
    assert rates == [1000 * int(rate) for _, rate in trace[:61]]
    assert [row["at"] for row in rows[1:4]] == ["1 s", "2 s", "3 s"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
@pytest.mark.parametrize("link", DIRECTIONS)
def test_probes_agree_with_the_definition(name: str, link: str) -> None:
    found = compare(paths.read(name), link, seed=3)
    # packets at the ends of the measurement, and a run of repetitions, count for less than 1 %
    assert found.measured_rate_mbps == pytest.approx(found.defined_rate_mbps, rel=0.01)
    # no probe is early; one of thousands is not late, except by the phase of transmissions and a delay that holds
    assert found.measured_least_ms >= found.defined_least_ms - 1e-6
    assert found.measured_least_ms <= found.defined_least_ms + 2 * found.slack_ms + 0.1
    tolerance = 5 * found.mean_error_ms + found.slack_ms + 0.01
    assert found.measured_mean_ms == pytest.approx(found.defined_mean_ms, abs=tolerance)
    error = (found.defined_loss * (1 - found.defined_loss) / found.probes) ** 0.5
    # where losses are certain, their number differs by those at the ends of an outage
    assert found.measured_loss == pytest.approx(found.defined_loss, abs=5 * error + 10 / found.probes)


def test_a_scenario_takes_the_links_of_a_path() -> None:
    scenario = quiclab.load(SCENARIO)
    plain = scenario.to_dict()
    assert "network" not in plain
    assert plain["links"]["down"] == paths.read("wifi-bad").links["down"].plain
    other = quiclab.load(SCENARIO, [("network", "paths/geo"), ("links.down.rate", "10 Mbit/s")])
    assert other.to_dict()["links"]["down"]["rate"] == "10 Mbit/s"
    assert other.to_dict()["links"]["up"] == paths.read("geo").links["up"].plain
    # the same from classes
    made = quiclab.Scenario.from_dict(
        {**{key: value for key, value in plain.items() if key != "links"}, "network": "paths/wifi-bad"}
    )
    assert made.resolved() == scenario
    assert quiclab.run(scenario, seed=1).flows["main"].completed


def test_a_network_in_a_file_of_the_user(tmp_path: Path) -> None:
    text = SCENARIO.read_text(encoding="utf-8").replace("paths/wifi-bad", "mine.toml")
    (tmp_path / "scenario.toml").write_text(text, encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        'description = "d"\n[links.down]\nrate = "1 Mbit/s"\n[links.up]\nrate = "2 Mbit/s"\n', encoding="utf-8"
    )
    assert quiclab.load(tmp_path / "scenario.toml").to_dict()["links"]["up"]["rate"] == "2 Mbit/s"
    (tmp_path / "mine.toml").write_text('description = "d"\n[links.down]\nrate = "1 Mbps"\n', encoding="utf-8")
    with pytest.raises(RequestError) as refused:
        quiclab.load(tmp_path / "scenario.toml")
    assert "mine.toml" in refused.value.message
    assert "links.down.rate" in refused.value.message


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("paths/wifi-bda", "did you mean `paths/wifi-bad`?"),
        ("wifi-bad", "did you mean `paths/wifi-bad`?"),
        ("missing.toml", 'network: cannot be read, got "missing.toml"'),
    ],
)
def test_a_network_that_is_not_there(network: str, expected: str) -> None:
    with pytest.raises(RequestError) as refused:
        quiclab.load(SCENARIO, [("network", network)])
    message = refused.value.message
    assert "network" in message
    if "did you mean" in expected:
        assert message.endswith(expected), message
    else:
        assert "missing.toml" in message


def test_conditions_from_a_file(tmp_path: Path) -> None:
    text = """
        version = 1
        name = "changing"
        duration = "20 s"
        [links.down]
        rate = "10 Mbit/s"
        conditions = { file = "c.csv", at_end = "hold", while_down = "lose" }
        [links.up]
        [flows.main]
        stack = "lab-udp"
        down = ["down"]
        up = ["up"]
        workload = { kind = "datagrams", rate = "80 kbit/s", size = "100 B", duration = "10 s" }
    """
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    (tmp_path / "c.csv").write_text("time_s,delay_ms,up\n0,10,1\n4,50,0\n5,,1\n", encoding="utf-8")
    result = quiclab.run(quiclab.load(tmp_path / "s.toml"), seed=1)
    receiver = result.data["flows"]["main"]["receiver"]
    assert receiver["one_way_delay_ms_min"] == pytest.approx(10.1, abs=0.05)
    assert receiver["one_way_delay_ms_max"] == pytest.approx(50.1, abs=0.05)
    down = result.data["elements"]["down"]["statistics"]
    assert down["dropped_link_down_packets"] == receiver["lost_packets"] == 100
    (tmp_path / "c.csv").write_text("time_s,delay_ms\n0,10\n4,-1\n", encoding="utf-8")
    with pytest.raises(RequestError) as refused:
        quiclab.load(tmp_path / "s.toml")
    expected = 'line 3: delay_ms: expected a number of at least 0, got "-1"'
    assert expected in refused.value.message
    assert "links.down.conditions.file" in refused.value.message


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["path", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {path["name"] for path in listed["paths"]} == EXPECTED
    assert cli.invoke(["path", "list"]) == 0
    assert "bufferbloated-home" in capsys.readouterr().out
    assert cli.invoke(["path", "show", "wifi-bad", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["schema"], shown["links"]["down"]["rate"]) == ("quiclab.path/1", "10 Mbit/s")
    assert cli.invoke(["path", "show", "lte"]) == 0
    assert "61 rows" in capsys.readouterr().out
    assert cli.invoke(["path", "show", "wifi-bda"]) == 2
    assert "did you mean `wifi-bad`?" in capsys.readouterr().err


def test_the_figure_has_the_panels(tmp_path: Path) -> None:
    target = tmp_path / "leo.svg"
    assert cli.invoke(["path", "show", "leo", "--figure", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    for title in ("Rate [Mbit/s]", "One-way delay [ms]", "Lost probes [%]", "paths/leo"):
        assert title in text
    assert figure.SHOWN_S == 60


def test_the_page_has_the_stored_measurements() -> None:
    found: dict[str, list[dict[str, Any]]] = json.loads(paths_page.DATA.read_text(encoding="utf-8"))
    text = paths_page.PAGE.read_text(encoding="utf-8")
    assert paths_page.page(text, found) == text, "run python tools/paths_page.py"
    stored = next(row for row in found["agreement"] if (row["path"], row["link"]) == ("wifi-bad", "down"))
    again = compare(paths.read("wifi-bad"), "down")
    assert again.measured_mean_ms == stored["measured_mean_ms"], "run python tools/paths_page.py --run"
    downloads = next(row for row in found["downloads"] if (row["path"], row["control"]) == ("wifi-fade", "bbr-v3"))
    assert paths_page.download("wifi-fade", "bbr-v3", 2) == downloads["times_s"][1], (
        "run python tools/paths_page.py --run"
    )


def test_links_of_a_named_path_can_be_changed_in_python() -> None:
    plain = {**tomllib.loads(SCENARIO.read_text(encoding="utf-8")), "network": "paths/geo"}
    changed = quiclab.Scenario.from_dict(plain).with_value("links.down.rate", "5 Mbit/s")
    assert changed.value("network") is None
    assert changed.resolved().value("links.down.rate") == "5 Mbit/s"
    with pytest.raises(RequestError, match=re.escape("unknown link `dwon`; expected")):
        quiclab.Scenario.from_dict(plain).with_value("links.dwon.rate", "5 Mbit/s")
