"""Pages by real programs: pages as files, events of a browser as HAR, what is refused; and one page by Chromium."""

from __future__ import annotations

import csv
import importlib.util
import json
import struct
import subprocess
import tempfile
import zlib
from argparse import Namespace
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from conftest import ROOT, without_browser, without_definition
from quiclab import cli
from quiclab.errors import RequestError
from quiclab.lane.adapter import BUILT_IN, load_adapters
from quiclab.lane.adapter_plan import GuestPlan
from quiclab.lane.browser import client
from quiclab.lane.browser.chromium import Chromium, environment, key_hash
from quiclab.lane.browser.compare import differing, summary
from quiclab.lane.browser.envoy import Request, configuration, requests
from quiclab.lane.browser.har_writer import Event, har, record
from quiclab.lane.browser.load import LoadError, PageLoad, examine, with_log
from quiclab.lane.browser.runner import load_pages, page_scenario
from quiclab.lane.browser.site import MIN_IMAGE_BYTES, Page, png
from quiclab.scenario import load

PAGE_FILE = ROOT / "scenarios" / "page_browser.toml"
SIZES = {"/": 1000, "/0/0": 3000, "/0/1": 3000}
WORKLOAD = {"kind": "page", "html": "1 kB", "objects": [{"count": 2, "size": "3 kB"}]}
#: The page of `SIZES`, as Chromium 156 reported it behind a link with 36 ms of round trip.
RECORDED: dict[str, list[list[Any]]] = json.loads((ROOT / "tests" / "data" / "browser_events.json").read_text())


def events(protocol: str) -> list[Event]:
    return [(name, deepcopy(event)) for name, event in RECORDED[protocol]]


def changed(recording: str, url: str, **fields: Any) -> list[Event]:
    """Return the recording with other fields in the response for the URL that ends in `url`."""
    found = events(recording)
    for name, event in found:
        if name == "Network.responseReceived" and event["response"]["url"].endswith(url):
            event["response"].update(fields)
    return found


def test_a_page_has_the_wanted_lengths_and_names_all_images() -> None:
    page = Page.of(WORKLOAD)
    assert page.sizes() == SIZES
    html = page.html().decode()
    assert len(html) == 1000
    assert [html.count(f"<img src={path}>") for path in SIZES] == [0, 1, 1]
    assert "rel=icon href=data:," in html, "the browser asks for no icon"


@pytest.mark.parametrize("size_bytes", [MIN_IMAGE_BYTES, 3000, 100_000])
def test_an_image_is_a_whole_png_of_the_wanted_length(size_bytes: int) -> None:
    image = png(size_bytes)
    assert len(image) == size_bytes
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    at, kinds = 8, []
    while at < len(image):
        (length,) = struct.unpack_from(">I", image, at)
        body = image[at + 4 : at + 8 + length]
        assert struct.unpack_from(">I", image, at + 8 + length) == (zlib.crc32(body),)
        kinds.append(body[:4])
        at += 12 + length
    assert kinds == [b"IHDR", b"quPd", b"IDAT", b"IEND"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "download"}, ["workload.kind: expected", 'got "download"', "`page`"]),
        ({"think_time": "1 ms"}, ["workload.think_time: expected", 'got "1 ms"', "expected 0"]),
        ({"html_think_time": "2 ms"}, ["workload.html_think_time: expected", 'got "2 ms"']),
        ({"priorities": "round_robin"}, ["workload.priorities: expected", 'got "round_robin"', "`browser`"]),
        (
            {"objects": [{"count": 1, "size": "3 kB", "kind": "font"}]},
            ["objects.0.kind: expected", 'got "font"', "`image`"],
        ),
        # signature 8, four chunks of 12, IHDR of 13, an IDAT of two bytes compressed: 10
        ({"objects": [{"count": 1, "size": "78 B"}]}, ["objects.0.size: expected", 'got "78 B"', "at least 79 B"]),
        # before any of it is made: 2^32 B are more than a chunk of PNG can have
        (
            {"objects": [{"count": 1, "size": "5 GB"}]},
            ["objects.0.size: expected", 'got "5 GB"', "at most 100000000 B"],
        ),
        ({"html": "101 MB"}, ["workload.html: expected", 'got "101 MB"', "at most 100000000 B"]),
        ({"objects": [{"count": 50_001, "size": "1 kB"}] * 2}, ["objects: expected", "got 100002", "at most 100000"]),
        # 11 * 100 MB and 1 kB of HTML
        (
            {"objects": [{"count": 11, "size": "100 MB"}]},
            ["objects: expected", "got 1100001000 B", "at most 1000000000 B"],
        ),
        # 85 bytes of head, 7 of filler, 18 for each of the first ten images, 19 for the others
        (
            {"objects": [{"count": 200, "size": "5 kB"}]},
            ["workload.html: expected", 'got "1 kB"', "names of 200 images"],
        ),
    ],
)
def test_a_page_that_a_real_server_cannot_have_is_refused(change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(RequestError) as error:
        Page.of(WORKLOAD | change)
    for word in [*words, "expected"]:
        assert word in error.value.message


def test_the_key_of_the_certificate_matches_openssl() -> None:
    # openssl x509 -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
    assert key_hash(BUILT_IN / "certificate-p-256.pem") == "1znCwsNTeUOxyrJDsxS+2/ThyRdxBFzqerRC9CAgCjk="


def test_a_browser_writes_into_its_profile_only() -> None:
    # as `tempfile` names it, in the /dev/shm of browser.sh
    profile = Path("/dev/shm/quiclab-browser-abcdefgh")  # noqa: S108
    found = environment(profile)
    assert found["HOME"] == str(profile)
    assert Path(str(found["TMPDIR"])).parent == profile
    # unix(7): 108 bytes with the 0 at the end
    assert len(f"{found['TMPDIR']}/org.chromium.Chromium.XXXXXX/SingletonSocket") < 108


def test_the_server_speaks_both_protocols_with_the_same_files() -> None:
    plan = configuration(Page.of(WORKLOAD), Path("/run"), "10.0.0.1", Path("/c.pem"), Path("/k.pem"))
    listeners = plan["static_resources"]["listeners"]
    assert [entry["address"]["socket_address"]["protocol"] for entry in listeners] == ["TCP", "UDP"]
    routes = []
    for listener in listeners:
        manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
        host = manager["route_config"]["virtual_hosts"][0]
        assert host["response_headers_to_add"][0]["header"]["value"] == "no-store, no-cache"
        routes.append(host["routes"])
        # 100 for each stream without it: Chromium sends more for pages of 100 images, and loses the connection
        assert manager["http2_protocol_options"]["max_inbound_priority_frames_per_stream"] == 2**32 - 1
    assert routes[0] == routes[1]
    assert [route["direct_response"]["body"]["filename"] for route in routes[0]] == ["/run/object-0", "/run/html"]


@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_the_numbers_of_a_load_are_those_of_its_events(protocol: str) -> None:
    found = examine(record(events(protocol)), SIZES, 1, protocol)
    sent_s = RECORDED[protocol][0][1]["timestamp"]
    loaded_s = RECORDED[protocol][-1][1]["timestamp"]
    timing = RECORDED[protocol][1][1]["response"]["timing"]
    dns_ms = timing["dnsEnd"] - timing["dnsStart"]
    assert found.page_load_ms == pytest.approx((loaded_s - sent_s) * 1e3 - dns_ms)
    assert found.handshake_ms == pytest.approx(timing["connectEnd"] - timing["connectStart"])
    assert (found.resources, found.body_bytes) == (3, 7000)
    assert found.finished_ns == round(loaded_s * 1e9)
    assert found.early_data_sent is {"h2": None, "h3": True}[protocol]


def test_zero_rtt_is_a_request_sent_before_the_handshake_is_complete() -> None:
    timing = dict(RECORDED["h3"][1][1]["response"]["timing"])
    late = timing | {"sendStart": timing["connectEnd"] + 1, "sendEnd": timing["connectEnd"] + 2}
    assert examine(record(events("h3")), SIZES, 1, "h3").early_data_sent is True
    assert examine(record(changed("h3", "?h3-1", timing=late)), SIZES, 1, "h3").early_data_sent is False
    unknown = timing | {"connectStart": -1, "connectEnd": -1}
    assert examine(record(changed("h3", "?h3-1", timing=unknown)), SIZES, 1, "h3").early_data_sent is False


def test_time_for_the_name_does_not_count() -> None:
    timing = dict(RECORDED["h2"][1][1]["response"]["timing"]) | {"dnsStart": 1.0, "dnsEnd": 13.5}
    slow = examine(record(changed("h2", "?h2-1", timing=timing)), SIZES, 1, "h2")
    none = examine(record(changed("h2", "?h2-1", timing=timing | {"dnsStart": -1, "dnsEnd": -1})), SIZES, 1, "h2")
    assert slow.page_load_ms == pytest.approx(none.page_load_ms - 12.5)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (changed("h3", "/0/1", protocol="h2"), ["/0/1: expected protocol `h3`, got `h2`", "fell back"]),
        (changed("h3", "/0/0", fromDiskCache=True), ["/0/0 was loaded from a cache"]),
        (changed("h3", "/0/0", headers={"Content-Encoding": "br"}), ["/0/0 was compressed"]),
        (changed("h3", "/0/0", status=503), ["/0/0: expected status 200, got 503"]),
        (
            changed("h3", "?h3-1", connectionReused=True),
            ["its connection existed before the load; connections were not closed"],
        ),
        (changed("h3", "/0/0", connectionId=1), ["expected one connection, got 2"]),
        ([*events("h3"), ("Network.loadingFailed", {"requestId": "2", "errorText": "net::ERR_X"})], ["net::ERR_X"]),
        ([*events("h3"), ("Inspector.targetCrashed", {})], ["crashed"]),
        (
            [*events("h3"), ("Network.requestServedFromCache", {"requestId": "3"})],
            ["/0/1 was loaded from a cache"],
        ),
        (
            [event for event in events("h3") if event[0] != "Page.loadEventFired"],
            ["the load event did not fire"],
        ),
        (
            [event for event in events("h3") if event[0] != "Network.dataReceived" or event[1]["requestId"] != "2"],
            ["/0/0: expected 3000 bytes, got 0"],
        ),
        (
            [event for event in events("h3") if event[1].get("requestId") != "3"],
            ["1 of 3 resources were not requested; the first is /0/1"],
        ),
        ([], ["the browser sent no request"]),
    ],
)
def test_an_invalid_load_is_rejected(found: list[Event], words: list[str]) -> None:
    with pytest.raises(LoadError) as error:
        examine(record(found), SIZES, 7, "h3")
    for word in ["load 7 over HTTP/3", *words]:
        assert word in str(error.value)


@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_a_har_follows_the_specification(protocol: str) -> None:
    recording = record(events(protocol))
    log = har(recording, "load_1", "Chromium/156.0", "0.1.0")["log"]
    assert (log["version"], log["browser"]) == ("1.2", {"name": "Chromium", "version": "156.0"})
    assert log["pages"][0]["pageTimings"]["onLoad"] == pytest.approx(recording.on_load_ms, abs=1e-3)
    assert [entry["request"]["httpVersion"] for entry in log["entries"]] == [protocol] * 3
    assert [entry["response"]["content"]["size"] for entry in log["entries"]] == [1000, 3000, 3000]
    for entry, exchange in zip(log["entries"], recording.exchanges.values(), strict=True):
        timings = entry["timings"]
        assert entry["time"] == pytest.approx(sum(v for k, v in timings.items() if v > 0 and k != "ssl"), abs=1e-2)
        took_ms = ((exchange.finished_s or 0) - exchange.sent_s) * 1e3
        assert entry["time"] == pytest.approx(took_ms, abs=0.1), "from the request to its last byte"
    assert log["entries"][1]["timings"]["connect"] == -1, "its connection was there"


def test_with_zero_rtt_the_request_does_not_wait_for_the_handshake() -> None:
    first = {
        protocol: har(record(events(protocol)), "load_1", "Chromium/156.0", "0.1.0")["log"]["entries"][0]
        for protocol in ("h2", "h3")
    }
    # two round trips of 36 ms for TCP and TLS, one for QUIC; in 0-RTT nobody waits for it
    assert first["h2"]["timings"]["connect"] == first["h2"]["_handshake"] > 72
    assert first["h3"]["_handshake"] > 36 > first["h3"]["timings"]["connect"]


LOG = """\
{"bytes_sent":1000,"connection":9516,"early_data":null,"path":"/?h3-0","protocol":"HTTP/3","tls":"TLSv1.3"}
{"bytes_sent":1000,"connection":4774,"early_data":"1","path":"/?h3-1","protocol":"HTTP/3","tls":"TLSv1.3"}
{"bytes_sent":3000,"connection":4774,"early_data":null,"path":"/0/0","protocol":"HTTP/3","tls":"TLSv1.3"}
{"bytes_sent":3000,"connection":47"""


def test_the_servers_log_says_whether_zero_rtt_was_taken() -> None:
    logged = requests(LOG)
    assert [request.early_data for request in logged] == [False, True, False], "the last line is not whole"
    found = examine(record(events("h3")), SIZES, 1, "h3")
    assert with_log(found, logged, "/?h3-1").early_data_accepted is True
    assert with_log(found, logged, "/?h3-0").early_data_accepted is False
    with pytest.raises(LoadError, match="not in the log of the server"):
        with_log(found, logged, "/?h3-2")
    with pytest.raises(LoadError, match="has it over HTTP/2"):
        with_log(found, [Request("HTTP/2", "1", "/?h3-1", early_data=False)], "/?h3-1")


def a_load(number: int, protocol: str = "h3", *, sent: bool | None = True, page_load_ms: float = 100.0) -> PageLoad:
    base = asdict(examine(record(events("h3")), SIZES, number, "h3"))
    return PageLoad(**(base | {"protocol": protocol, "early_data_sent": sent, "page_load_ms": page_load_ms}))


class Scripted:
    """A loader whose loads had a ticket or not, as a list says."""

    version = "script/1"

    def __init__(self, protocol: str, tickets: list[bool | None]) -> None:
        self.protocol, self.tickets, self.queries = protocol, list(tickets), list[str]()

    def load(self, number: int, query: str, timeout_s: float) -> tuple[PageLoad, dict[str, Any]]:
        assert timeout_s == 9.0
        self.queries.append(query)
        return a_load(number, self.protocol, sent=self.tickets.pop(0)), {"log": {"pages": [], "entries": []}}

    def close(self) -> None:
        pass


def logged(path: str) -> list[Request]:
    protocol = {"h2": "HTTP/2", "h3": "HTTP/3"}[path[2:4]]
    return [Request(protocol, "1", path, early_data=True)]


def test_the_first_round_is_discarded_and_loads_without_a_ticket_are_repeated() -> None:
    loaders = {"h2": Scripted("h2", [None] * 3), "h3": Scripted("h3", [False, True, False, True])}
    loads = client.Loads()
    client.load_all(loaders, 2, 9.0, 0.0, logged, loads)
    assert loaders["h2"].queries == ["h2-0", "h2-1", "h2-2"]
    assert loaders["h3"].queries == ["h3-0", "h3-1", "h3-2", "h3-3"], "in turns, and one more"
    assert [(load.protocol, load.number) for load in loads.counted] == [("h2", 1), ("h3", 1), ("h2", 2), ("h3", 3)]
    assert [load.number for load in loads.left_out] == [2]
    assert len(loads.discarded) == 2
    statistics = client.report(loads, None)["statistics"]
    assert (statistics["loads"], statistics["early_data_sent_loads"]) == (4, 2)
    assert without_definition(statistics) == set()


def test_loads_that_never_have_a_ticket_come_to_an_end() -> None:
    with pytest.raises(LoadError, match="had no ticket for 0-RTT"):
        client.load_all({"h3": Scripted("h3", [False] * 99)}, 2, 9.0, 0.0, logged, client.Loads())


def test_a_failure_leaves_a_message_and_no_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("main.loads.json", "main.h3.har"):
        (tmp_path / name).write_text("of an older run")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(client, "driver", lambda: nullcontext(Mock()))
    arguments = Namespace(
        directory=str(tmp_path), flow="main", workload=json.dumps(WORKLOAD), address="127.0.0.1", name="quiclab.test",
        certificate=str(BUILT_IN / "certificate-p-256.pem"), protocols="h3", loads=1, timeout=1.0, pause=0.0,
    )  # fmt: skip
    assert client.run(arguments) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main.client.json"]
    said = json.loads((tmp_path / "main.client.json").read_text())
    assert "the program `chromium` is missing: apt-get install chromium" in said["failure"]
    assert "finished_ns" not in said


def test_loads_together() -> None:
    # mean 110, sample deviation 10; 95 % of t with two degrees of freedom is 4.303: 4.303 * 10 / sqrt(3) = 24.84
    found = summary([a_load(number, page_load_ms=value) for number, value in enumerate([100.0, 110.0, 120.0], 1)])
    assert found.page_load_ms == pytest.approx(110)
    assert found.page_load_sd_ms == pytest.approx(10)
    assert found.page_load_high_ms == pytest.approx(134.84, abs=0.01)
    assert (found.early_data_sent, found.early_data_accepted) == (3, 0)
    # (2 - 1) / 1; nothing varies
    assert differing([2.0, 2.0], [1.0, 1.0]) == {"percent": 100.0, "p": None, "significant": False}
    # Welch: t = 10 / sqrt(1 / 3 + 1 / 3) = 12.25 with 4 degrees of freedom, p = 2.5e-4; (21 - 11) / 11
    found_difference = differing([20.0, 21.0, 22.0], [10.0, 11.0, 12.0])
    assert found_difference["p"] == pytest.approx(2.55e-4, rel=0.01)
    assert found_difference["percent"] == pytest.approx(90.9, abs=0.01)
    assert found_difference["significant"] is True
    # t = 1 / sqrt(2 / 3) = 1.22, p = 0.29
    assert differing([11.0, 12.0, 13.0], [10.0, 11.0, 12.0])["significant"] is False


def test_only_browsers_ask_for_another_guest() -> None:
    asked = {name: entry.file.guest for name, entry in load_adapters().items() if entry.file.guest != GuestPlan()}
    assert set(asked) == {"chromium", "chromium-h2"}, "memory sizes TCP's buffers: that of the others stays as it is"
    for plan in asked.values():
        assert (plan.memory, dict(plan.sysctls)) == ("2G", {"kernel.io_uring_disabled": "2"})


def test_our_own_measurement_is_whole() -> None:
    folder = ROOT / "studies/quiclab_studies/page_load/reference"
    with (folder / "browser.csv").open() as cells, (folder / "browser_loads.csv").open() as loads:
        rows, singles = list(csv.DictReader(cells)), list(csv.DictReader(loads))
    keys = ("clock", "experiment", "bandwidth_mbps", "object_size_kb", "protocol")
    # two experiments, two rates, three sizes, two protocols, two clocks
    assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows) == 48
    for row in rows:
        own = [load for load in singles if all(load[key] == row[key] for key in keys)]
        assert len(own) == int(row["loads"]) == 20
        mean_ms = sum(float(load["page_load_ms"]) for load in own) / 20
        assert mean_ms == pytest.approx(float(row["page_load_ms"]), abs=0.002)
        assert row["kept_up"] == "True"
        wanted = {"20"} if row["protocol"] == "h3" else {""}
        assert {row["early_data_sent"], row["early_data_accepted"]} == wanted, "0-RTT in every load"


def test_the_browser_is_compared_with_the_sim_in_each_cell() -> None:
    """The browser's side follows from its loads; that of the sim takes its runs: only its direction is held here."""
    path = ROOT / "tools" / "compare_browser_with_sim.py"
    specification = importlib.util.spec_from_file_location("compare_browser_with_sim", path)
    assert specification is not None
    assert specification.loader is not None
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    # (30 - 20) / 20; nothing varies
    assert tool.difference([30.0] * 3, [20.0] * 3, "x") == (50.0, 50.0, 50.0)
    assert tool.told((-4.0, -9.0, 1.0)) == "none -4 (-9 to +1)"
    text = (ROOT / "studies/quiclab_studies/page_load/reference" / "browser.md").read_text(encoding="utf-8")
    rows = text.split(tool.BEGIN)[1].split(tool.END)[0].splitlines()
    assert rows[0] == tool.HEAD
    cells = [(name, rate, size) for name in ("X01", "X05") for rate in (10, 50) for size in (10, 100, 1000)]
    for line, cell in zip(rows[2:], cells, strict=True):
        name, real, virtual, sim, same, _ = (part.strip() for part in line.strip("|").split("|"))
        assert name == f"{cell[0]}, {cell[1]} Mbit/s, {cell[2]} KB"
        assert [real, virtual] == [tool.told(tool.browser(clock, cell)) for clock in ("real", "virtual")]
        assert same == ("yes" if real.split()[0] == virtual.split()[0] == sim.split()[0] else "no")


def test_of_a_scenario_network_and_page_count() -> None:
    scenario = load(ROOT / "scenarios" / "page_http2.toml")
    with pytest.raises(RequestError, match=r"flows.main.workload.html_think_time: expected 0, got .10 ms"):
        page_scenario(scenario, None, 20, 0.5)
    with pytest.raises(RequestError, match=r"^flow: expected .*`main`"):
        page_scenario(scenario, "other", 20, 0.5)
    plain = scenario.to_dict()
    plain["flows"]["main"]["workload"] = WORKLOAD
    found, timeout_s = page_scenario(type(scenario).from_dict(plain), None, 20, 0.5)
    flow = found.to_dict()["flows"]["main"]
    assert (flow["stack"], timeout_s) == ("chromium", 60.0)
    assert not (flow.get("sender") or {}).get("tls"), "lab-tcp's options are none of the browser's"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--loads", "0"], "--loads"),
        (["--protocols", "h1"], '--protocols: expected "h2" or "h3", got "h1"'),
        (["--protocols", "h3,h3"], '--protocols: expected each protocol at most once, got "h3,h3"'),
        (["--clock", "atomic"], '--clock: expected "real" or "virtual", got "atomic"'),
        (["--emulation", "ns-3"], '--emulation: expected "engine" or "netem", got "ns-3"'),
        (["--flow", "x"], '--flow: expected a flow with workload `page` (`main`), got "x"'),
    ],
)
def test_an_invalid_request_is_a_one_line_error(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["browse", str(PAGE_FILE), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_crash_is_an_event_or_the_class_of_an_error() -> None:
    chromium = object.__new__(Chromium)
    chromium.protocol, chromium.sizes, chromium._events, chromium._crashed = "h2", {}, [], False
    closed = type("TargetClosedError", (Exception,), {})
    assert chromium._reason(Exception("cannot load https://crashed.example"), 5.0).startswith("cannot load")
    assert chromium._reason(closed("the page is gone"), 5.0) == "Chromium crashed"
    chromium._on_crash(None)
    assert chromium._reason(Exception("Page.goto: failed"), 5.0) == "Chromium crashed"


def test_missing_items_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("quiclab.lane.adapter.SYSTEM_PATH", "/nowhere")
    assert cli.invoke(["browse", str(PAGE_FILE)]) == 2
    assert "stack `chromium` needs the program `chromium`: apt-get install chromium" in capsys.readouterr().err


def left_behind() -> set[str]:
    return {path.name for folder in ("/tmp", "/dev/shm") for path in Path(folder).glob("*chromium*")}  # noqa: S108


@pytest.mark.kernel_lane
@pytest.mark.skipif(without_browser() is not None, reason=without_browser() or "")
def test_results_stay_and_the_rest_of_a_loader_goes_even_in_dev_shm() -> None:
    """The directory of the results is bound from below the new /dev/shm; what is written beside it is not seen."""
    script = BUILT_IN / "browser.sh"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        results = Path(directory) / "deep" / "out"
        results.mkdir(parents=True)
        (results / "before").write_text("here")
        shell = f"cat {results}/before; echo 1 > {results}/kept; echo 2 > /dev/shm/quiclab-gone; echo $TMPDIR"
        words = ["unshare", "--mount", "sh", str(script), str(results), "sh", "-c", shell]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout == "here/dev/shm\n"
        assert (results / "kept").read_text() == "1\n"
        assert not Path("/dev/shm/quiclab-gone").exists()  # noqa: S108


@pytest.mark.kernel_lane
@pytest.mark.browser
@pytest.mark.skipif(without_browser() is not None, reason=without_browser() or "")
def test_chromium_loads_a_page_over_both_protocols() -> None:
    before = left_behind()
    found = load_pages(load(PAGE_FILE, [("duration", "20 s")]), 1, pause_s=0.0)
    assert [load.protocol for load in found.counted] == ["h2", "h3"]
    h2, h3 = found.counted
    # a round trip is 36 ms: three before the HTML over TCP and TLS 1.3, one in 0-RTT, however slow the machine is
    assert h2.first_byte_ms >= 3 * 36
    assert h3.first_byte_ms >= 36
    assert h3.early_data_sent
    assert h3.early_data_accepted
    # and another for the image, which takes 0.1 MB * 8 / 10 Mbit/s = 80 ms
    assert h2.page_load_ms >= h2.html_ms + 36 + 80
    assert found.hars["h3"]["log"]["entries"][0]["request"]["httpVersion"] == "h3"
    assert len(found.hars["h2"]["log"]["pages"]) == 2, "the first one is in it, too"
    assert left_behind() <= before
