"""`quiclab page`: what a recording becomes, what comes out, and what is refused."""

from __future__ import annotations

import json
import re
import weakref
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab.errors import RequestError
from quiclab.scenario import load
from quiclab.sources.page import figure, replay
from quiclab.sources.page.har_reader import read_har

if TYPE_CHECKING:
    from collections.abc import Callable

SHOP = ROOT / "scenarios/pages/shop.har"
NETWORK = ROOT / "scenarios/page_http2.toml"


def run(*arguments: object) -> int:
    """Run the command on the recording of the shop."""
    return cli.invoke(["page", str(SHOP), "--network", str(NETWORK), *map(str, arguments)])


def document_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """Return what the command prints as JSON."""
    assert run("--json", *arguments) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return printed


def test_resources_are_requested_when_their_initiator_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    """In every protocol: wanted = complete of its initiator + recorded delay; then the phases in their order."""
    page = read_har(SHOP)
    document = document_of(capsys, "--stacks", "lab-tcp,chromium-quic1,chromium-gquic37,quinn,noq", "--runs", 1)
    for stack in document["stacks"]:
        rows = stack["typical"]["requests"]
        assert [row["resource"] for row in rows] == list(range(120))
        for row, resource in zip(rows, page.resources, strict=True):
            if resource.after is not None:
                expected = rows[resource.after]["complete_ms"] + resource.delay_ms
                assert row["wanted_ms"] == pytest.approx(expected, abs=0.002), row["url"]
            assert row["size_bytes"] == resource.body_bytes
            assert row["connecting_ms"] <= row["connected_ms"] <= row["asked_ms"]
            assert row["wanted_ms"] <= row["asked_ms"] < row["first_byte_ms"] <= row["complete_ms"]
        last = max(row["complete_ms"] for row in rows)
        assert stack["page_load_ms"] == [pytest.approx(last, abs=0.001)]
        assert stack["typical"]["connections"] == 3
        # a connection begins when its first resource is wanted
        for origin in document["page"]["origins"]:
            here = [row for row in rows if row["origin"] == origin]
            assert here[0]["connecting_ms"] == min(row["wanted_ms"] for row in here)


def test_the_document_has_the_keys_that_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """The keys of docs/page.md, all of them."""
    document = document_of(capsys, "--stacks", "lab-quic", "--runs", 2, "--tls", "early_data")
    text = (ROOT / "docs/page.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([\w.\[\]]+)` \|", text, flags=re.M))
    assert documented == set(keys_of(document))
    assert document["schema"] == "quiclab.page/1"
    assert len(document["stacks"][0]["page_load_ms"]) == 2


def keys_of(value: Any, path: str = "") -> list[str]:
    """Return the paths of all values; a list counts as its first item."""
    if isinstance(value, dict) and path not in ("page.counts", "page.left_out"):
        return [key for name, inner in value.items() for key in keys_of(inner, f"{path}.{name}" if path else name)]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return keys_of(value[0], f"{path}[]")
    return [path]


def test_the_same_seed_gives_the_same_loads_and_early_data_saves_time() -> None:
    """Without loss 0-RTT saves a round trip of 36 ms of the HTML, resumption none over QUIC."""
    scenario = ROOT / "scenarios/page_http2.toml"
    network = load(scenario, [("links.down1.loss", "0 %")])
    page = replay.workload(read_har(SHOP))
    stack = replay.stacks_of("lab-quic")[0]
    html = {}
    for tls in replay.TLS_USES:
        one = replay.scenario_of(network, replay.flow_of(network, None), page, stack, tls).resolved()
        first, second = (replay.load_page(one, stack, [7], lambda: None) for _ in range(2))
        assert first.page_load_ms == second.page_load_ms
        assert first.result is not None
        html[tls] = first.result.flows["page"].receiver["html_ms"]
    assert html["full"] - html["early_data"] > 36
    assert html["resumed"] <= html["full"]


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_real_stacks_load_the_same_page_each_time(stack: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All 120 requests, on a connection to each of the three servers; the same seeds give the same runs."""
    first, second = (document_of(capsys, "--stacks", stack, "--runs", 2) for _ in range(2))
    assert first == second
    (found,) = first["stacks"]
    assert (found["name"], found["stack"], found["profile"]) == (stack, stack, None)
    assert (found["n_runs"], found["problem"]) == (2, None)
    typical = found["typical"]
    assert typical["connections"] == 3
    assert len(typical["requests"]) == 120
    # of the document: handshake and request, a round trip of 36 ms each
    assert typical["html_ms"] > 72


def test_the_page_shows_every_stack_and_works_offline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One waterfall for each stack, nothing from elsewhere, and the path printed at the end."""
    out = tmp_path / "shop.html"
    assert run("--stacks", "lab-tcp,lab-quic", "--runs", 1, "--out", out) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(out)
    text = out.read_text(encoding="utf-8")
    assert re.findall(r'id="(chart-\d)"', text) == ["chart-1", "chart-2"]
    markup = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert not re.search(r'(src|href)="(?!data:|#)', markup)
    assert "default-src 'none'" in markup
    assert "https://www.shop.example/js/part0.js" in text
    # rows are named, and a single run has no deviation
    assert re.search(r">part0\.js</text>", markup)
    assert re.search(r"<td>[\d.]+</td><td>–</td><td>1</td>", markup)


def test_what_is_left_out_is_said_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A redirect, the document, an image, and one from a cache: in the terminal, in the report and as JSON."""
    recording = json.loads(SHOP.read_text())["log"]
    document, image, *_ = recording["entries"]
    moved = {**document, "request": {**document["request"], "url": "https://shop.example/"}}
    moved["response"] = {**document["response"], "status": 301, "redirectURL": document["request"]["url"]}
    cached = {**image, "_fromCache": "memory"}
    file, out = tmp_path / "x.har", tmp_path / "x.html"
    file.write_text(json.dumps({"log": {**recording, "entries": [moved, document, image, cached]}}))
    command = ["page", str(file), "--network", str(NETWORK), "--stacks", "lab-quic", "--runs", "1", "--out", str(out)]
    assert cli.invoke(command) == 0
    told = "Left out of 4 entries: 1 (from a cache: 1)."
    assert told in capsys.readouterr().out
    assert told in out.read_text(encoding="utf-8")
    assert cli.invoke([*command, "--json", "--force"]) == 0
    printed = json.loads(capsys.readouterr().out)
    page, typical = printed["page"], printed["stacks"][0]["typical"]
    assert (page["entries"], page["left_out"], page["url"]) == (4, {"from a cache": 1}, document["request"]["url"])
    assert [item["kind"] for item in typical["requests"]][:2] == ["redirect", "document"]
    # after the redirect, whose end is that of the first resource
    assert typical["html_ms"] == typical["requests"][1]["complete_ms"] > typical["requests"][0]["complete_ms"]


def row(**times: float | None) -> dict[str, Any]:
    """Return a request with these times; others have not come."""
    names = ("connecting", "connected", "wanted", "asked", "first_byte", "complete")
    return {f"{name}_ms": times.get(name) for name in names}


def test_phases_hand_computed() -> None:
    """A new connection, a wait for a stream, a request that was never answered, and one that was never wanted."""
    connection, stream, request, download = figure.PHASES
    new = row(connecting=10, connected=50, wanted=10, asked=50, first_byte=92, complete=95)
    assert figure.phases(new) == [(connection, 10, 50), (request, 50, 92), (download, 92, 95)]
    late = row(connecting=10, connected=50, wanted=60, asked=80, first_byte=120, complete=120)
    assert figure.phases(late) == [(stream, 60, 80), (request, 80, 120)]
    assert figure.phases(row(connecting=0, connected=5, wanted=0, asked=7)) == [(connection, 0, 5), (stream, 5, 7)]
    assert figure.phases(row()) == []


def test_rows_of_a_waterfall_are_in_the_order_in_which_they_were_wanted() -> None:
    """Resource 2 before 1; each of their bars is in the row of its resource."""
    rows = [
        {**row(connecting=0, connected=5, wanted=wanted, asked=9, first_byte=20, complete=30), **about}
        for number, wanted in ((0, 0), (1, 8), (2, 6))
        for about in [{"resource": number, "size_bytes": 1, "kind": "image", "origin": "o"}]
    ]
    tables = figure.waterfall(rows, 30, {0: "a", 1: "b", 2: "c"}).to_dict()["datasets"].values()
    assert {(bar["label"], bar["row"]) for table in tables for bar in table if "row" in bar} == {
        ("a", 0),
        ("c", 1),
        ("b", 2),
    }


@dataclass(eq=False)
class FakeRun:
    """A run that took some time."""

    seed: int
    time_ms: float

    @property
    def flows(self) -> dict[str, Any]:
        """One flow that loaded the page."""
        return {"page": SimpleNamespace(completed=True, receiver={"page_load_ms": self.time_ms})}


@pytest.mark.parametrize(
    ("order", "reruns"),
    [
        # the median moves away from what was kept: 101 rising times have theirs at seed 50, which was the last of 51
        (lambda seed: seed, 1),
        (lambda seed: -seed, 1),
        # mixed, each time but one twice: the first of the two counts first
        (lambda seed: abs(seed * 37 % 101 - 50), 0),
        # the median comes last
        (lambda seed: (seed + 1) % 101 if seed < 100 else 50.5, 0),
    ],
)
def test_of_many_runs_only_those_near_the_median_are_kept(
    monkeypatch: pytest.MonkeyPatch, order: Callable[[int], float], reruns: int
) -> None:
    """The typical run is the lower median by (time, number); never more than nine results and the newest live."""
    alive: weakref.WeakSet[FakeRun] = weakref.WeakSet()
    most, asked = 0, []

    def fake(_scenario: object, seed: int, **_: object) -> FakeRun:
        nonlocal most
        result = FakeRun(seed, order(seed))
        alive.add(result)
        asked.append(seed)
        most = max(most, len(alive))
        return result

    monkeypatch.setattr(replay, "run", fake)
    loads = replay.load_page(SimpleNamespace(base_dir=None), replay.stacks_of("lab-tcp")[0], range(101), lambda: None)  # type: ignore[arg-type]
    expected = sorted(range(101), key=lambda seed: (order(seed), seed))[50]
    assert loads.typical == expected
    assert loads.result is not None
    assert loads.result.seed == expected
    assert most <= 2 * replay.REACH + 3
    assert len(asked) == 101 + reruns


def test_a_stack_is_named_as_in_the_list() -> None:
    """By engine, by profile, or by both."""
    chosen = replay.stacks_of("lab-tcp, linux-5.15,lab-quic/picoquic")
    found = [(stack.name, stack.stack, stack.profile) for stack in chosen]
    assert found == [
        ("lab-tcp", "lab-tcp", None),
        ("linux-5.15", "lab-tcp", "linux-5.15"),
        ("lab-quic/picoquic", "lab-quic", "picoquic"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--stacks", "lab-tcp,moon"),
            "--stacks: unknown stack `moon`; `quiclab stack list` lists all",
        ),
        (
            ("--stacks", "lab-udp"),
            "--stacks: expected a stack that loads pages (`lab-quic`, `lab-tcp`, `quinn`, `noq`, ",
        ),
        (("--stacks", "lab-tcp,lab-tcp"), '--stacks: expected each stack at most once, got "lab-tcp,lab-tcp"'),
        (("--stacks", ","), '--stacks: expected at least one stack, got ","; `quiclab stack list` lists all'),
        (
            ("--stacks", "lab-quic,quinn", "--tls", "resumed"),
            '--tls: expected "full", got "resumed"; the real stack `quinn` makes full handshakes only',
        ),
        (
            ("--stacks", "noq", "--tls", "early_data"),
            '--tls: expected "full", got "early_data"; the real stack `noq` makes full handshakes only',
        ),
        (("--tls", "none"), '--tls: expected "full", "resumed" or "early_data", got "none"'),
        (("--flow", "side"), '--flow: expected "main", got "side"'),
        (("--runs", "0"), "--runs: expected a whole number from 1 to 1000, got 0"),
        (
            ("--network", str(ROOT / "scenarios/two_flows.toml")),
            "--flow: missing; expected one of the 2 flows of the network (first, second)",
        ),
        (
            ("--network", str(ROOT / "scenarios/explicit_wires.toml")),
            "the network defines `wires`; a page requires a flow with routes `down` and `up`",
        ),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    """Exit code 2."""
    out = tmp_path / "x.html"
    assert run("--out", out, *arguments) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_an_existing_file_is_replaced_only_if_wanted(tmp_path: Path) -> None:
    kept = tmp_path / "kept.html"
    kept.write_text("precious")
    options = ("--stacks", "lab-tcp", "--runs", 1, "--out", kept)
    assert run(*options) == 2
    assert kept.read_text() == "precious"
    assert run(*options, "--force") == 0
    assert kept.read_text().startswith("<!doctype html>")


def test_a_default_name_replaces_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / f"page-{SHOP.stem}.html"
    kept.write_text("<!doctype html>\nprecious")
    command = ["page", str(SHOP), "--network", str(NETWORK), "--stacks", "lab-tcp", "--runs", "1"]
    assert cli.invoke(command) == 2
    assert kept.read_text() == "<!doctype html>\nprecious"
    assert cli.invoke([*command, "--json"]) == 0, "it writes no report"
    assert cli.invoke([*command, "--force"]) == 0
    assert cli.invoke(command) == 2


def test_a_recording_that_is_none_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cut in the middle: exit code 2, one message, no page."""
    bad = tmp_path / "bad.har"
    bad.write_text(SHOP.read_text(encoding="utf-8")[:5000], encoding="utf-8")
    out = tmp_path / "x.html"
    assert cli.invoke(["page", str(bad), "--network", str(NETWORK), "--out", str(out)]) == 2
    assert "not valid JSON: the file is truncated" in capsys.readouterr().err
    assert not out.exists()


def test_a_page_that_is_not_loaded_has_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing passes the link: exit code 1, the reason, no time."""
    network = tmp_path / "dead.toml"
    network.write_text(re.sub(r'loss = "1 %"', 'loss = "100 %"', NETWORK.read_text(encoding="utf-8")), encoding="utf-8")
    options = ["--network", str(network), "--stacks", "lab-quic", "--runs", "1", "--json"]
    assert cli.invoke(["page", str(SHOP), *options]) == 1
    captured = capsys.readouterr()
    stack = json.loads(captured.out)["stacks"][0]
    assert (stack["page_load_ms"], stack["page_load_ms_mean"], stack["typical"]) == ([None], None, None)
    assert "lab-quic did not load the page in 1 of 1 runs" in captured.err


def test_one_of_several_flows_gives_the_route() -> None:
    """A network with several flows needs a name; with it, routes and hosts are those of that flow."""
    network = load(ROOT / "scenarios/two_flows.toml")
    with pytest.raises(RequestError, match=r"^flow: missing; .* 2 flows"):
        replay.flow_of(network, None)
    name = sorted(network.value("flows"))[1]
    page = replay.workload(read_har(SHOP))
    taken = replay.flow_of(network, name)
    scenario = replay.scenario_of(network, taken, page, replay.stacks_of("lab-tcp")[0], "full")
    assert list(scenario.value("flows")) == ["page"]
    assert scenario.value("flows.page.down") == taken["down"]
