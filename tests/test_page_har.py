"""HAR files: what is taken, what is assumed and counted, and what is refused with entry and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, tool
from quiclab.errors import RequestError
from quiclab.sources.page.entry import Sections, kind_of
from quiclab.sources.page.har_reader import RecordedPage, read_har
from quiclab.sources.page.parents import nearest

SHOP = ROOT / "scenarios/pages/shop.har"
SITE = "https://a.example"


def entry(url: str, begin_ms: float, time_ms: float = 50.0, **more: Any) -> dict[str, Any]:
    """Return an entry of a body of 1000 bytes that waited 30 ms; `more` replaces parts."""
    whole: dict[str, Any] = {
        "startedDateTime": f"2026-01-01T00:00:{begin_ms / 1000:06.3f}Z",
        "time": time_ms,
        "request": {"method": "GET", "url": url, "headers": [], "bodySize": 0},
        "response": {"status": 200, "bodySize": 1000, "content": {"size": 1000, "mimeType": "image/png"}},
        "timings": {"connect": -1, "ssl": -1, "wait": 30},
    }
    for name, value in more.items():
        whole[name] = {**whole[name], **value} if isinstance(whole.get(name), dict) else value
    return whole


def har(entries: list[Any], **log: Any) -> dict[str, Any]:
    """Return a file with these entries."""
    return {"log": {"version": "1.2", "entries": entries, **log}}


def read(folder: Path, document: object) -> RecordedPage:
    """Write a file and read it."""
    path = folder / "x.har"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return read_har(path)


def test_dependencies_come_from_redirects_initiators_and_referers(tmp_path: Path) -> None:
    """/ redirects to /home, which names s.css and j.js; the script's stack leads to d, a Referer to i.png."""
    stack = {"callFrames": [], "parent": {"callFrames": [{"url": f"{SITE}/j.js"}]}}
    moved = {"status": 301, "redirectURL": "/home", "bodySize": 0, "content": {"size": 0}}
    referer = {"headers": [{"name": "Referer", "value": f"{SITE}/s.css"}]}
    page = read(
        tmp_path,
        har(
            [
                entry(f"{SITE}/", 0, response=moved),
                entry(f"{SITE}/home#top", 60, _initiator={"type": "other"}),
                entry(f"{SITE}/s.css", 120, _initiator={"type": "parser", "url": f"{SITE}/home"}),
                entry(f"{SITE}/j.js", 90, _initiator=f"{SITE}/home"),
                entry(f"{SITE}/d", 150, _initiator={"type": "script", "stack": stack}),
                entry(f"{SITE}/i.png", 200, request=referer),
                entry(f"{SITE}/other", 210, _initiator={"type": "parser", "url": "https://gone.example/"}),
            ]
        ),
    )
    names = [resource.url.rpartition("/")[2] for resource in page.resources]
    assert names == ["", "home", "j.js", "s.css", "d", "i.png", "other"]
    assert [resource.after for resource in page.resources] == [None, 0, 1, 1, 2, 3, 1]
    # 60 - 50; 90 and 120 - 110; 150 - 140; 200 - 170; 210 - 110, the end of the document after its redirect
    assert [resource.delay_ms for resource in page.resources] == pytest.approx([0, 10, 0, 10, 10, 30, 100])
    assert page.counts == {
        "what led to it: a redirect": 1,
        "what led to it: the initiator": 3,
        "what led to it: Referer": 1,
        "what led to it: the document": 1,
        "began before what led to it was complete": 1,
        "no body: 1 B": 1,
        "header section without headers: 100 B": 13,
        "round trip not recorded: shortest wait of the server": 7,
    }
    assert page.depth == 4


def test_sizes_are_those_on_the_wire(tmp_path: Path) -> None:
    """bodySize, then _transferSize less the section, then content less what compression saved, then content."""
    answers: list[dict[str, Any]] = [
        {"bodySize": 700, "_transferSize": 900, "content": {"size": 2000}},
        {"bodySize": -1, "_transferSize": 900, "headersSize": 150, "content": {"size": 2000}},
        {"bodySize": -1, "_transferSize": 900, "headersSize": -1, "content": {"size": 2000}},
        {"bodySize": -1, "content": {"size": 2000, "compression": 1400}},
        {"bodySize": -1, "content": {"size": 2000}},
        {"bodySize": -1, "content": {"size": -1}},
    ]
    page = read(tmp_path, har([entry(f"{SITE}/{n}", n, response=answer) for n, answer in enumerate(answers)]))
    # the last is the median of 700, 750, 800, 600 and 2000
    assert [resource.body_bytes for resource in page.resources] == [700, 750, 800, 600, 2000, 750]
    assert page.counts["length of the body guessed: median of the others"] == 1
    assert page.counts["length of the body is that after decoding"] == 1


def test_think_time_is_the_wait_less_a_round_trip(tmp_path: Path) -> None:
    """Handshakes: 90 - 50 = 40 with TLS over TCP; 25 where connect and ssl are one (QUIC); else the shortest wait."""
    page = read(
        tmp_path,
        har(
            [
                entry(f"{SITE}/", 0, timings={"connect": 90, "ssl": 50, "wait": 65}),
                entry(f"{SITE}/1", 60, timings={"wait": 35}),
                entry("https://b.example/", 70, timings={"connect": 25, "ssl": 25, "wait": 30}),
                entry("https://c.example/1", 80, timings={"wait": 44}),
                entry("https://c.example/2", 90, timings={"wait": 61}),
                entry("https://c.example/3", 95, timings={"wait": -1}),
            ]
        ),
    )
    assert [resource.think_time_ms for resource in page.resources] == [25, 0, 5, 0, 17, 0]
    assert [resource.origin for resource in page.resources] == [0, 0, 1, 2, 2, 2]
    assert page.origins == ("https://a.example:443", "https://b.example:443", "https://c.example:443")
    assert page.counts["round trip not recorded: shortest wait of the server"] == 2
    assert page.counts["no wait recorded: no think time"] == 1


@pytest.mark.parametrize(
    ("connect_ms", "time_ms", "log", "apart"),
    [
        # 1 + 2 + 90 + 3 + 65 + 4: TLS is in connect (HAR 1.2, Chromium); 50 more: it is not (Firefox)
        (90, 165, {}, 0),
        (40, 165, {}, 1),
        # Firefox rounds each part
        (40, 163.4, {}, 1),
        # the sum decides, not the name
        (90, 165, {"creator": {"name": "Firefox"}}, 0),
        # no sum matches, or there is none: the name decides
        (40, 400, {"browser": {"name": "Firefox"}}, 1),
        (40, -1, {"creator": {"name": "Firefox"}}, 1),
        (90, 400, {"creator": {"name": "WebInspector"}, "browser": []}, 0),
    ],
)
def test_a_handshake_is_the_same_in_both_forms_of_connect(
    tmp_path: Path, connect_ms: float, time_ms: float, log: dict[str, Any], apart: int
) -> None:
    """TCP 40 ms, then TLS 50 ms: 65 - 40 = 25 ms of think time, whether `connect` is 90 or 40."""
    timings = {"blocked": 1, "dns": 2, "connect": connect_ms, "ssl": 50, "send": 3, "wait": 65, "receive": 4}
    page = read(tmp_path, har([entry(f"{SITE}/", 0, time_ms, timings=timings)], **log))
    assert page.resources[0].think_time_ms == 25
    assert page.counts.get("connect without TLS, as Firefox records it", 0) == apart


def test_a_length_of_time_that_is_missing_is_the_sum_of_the_timings(tmp_path: Path) -> None:
    """30 + 8 ms by the timings (negative ones do not count); with Firefox's TLS 20 + 25 + 30; without any 0."""
    site = entry(f"{SITE}/", 0, -1, timings={"blocked": -0.5, "wait": 30, "receive": 8})
    del site["time"]
    second = entry(f"{SITE}/2", 50, -1, timings={"connect": 20, "ssl": 25, "wait": 30}, _initiator=f"{SITE}/")
    third = entry(f"{SITE}/3", 200, -1, timings={"wait": -1}, _initiator=f"{SITE}/2")
    fourth = entry(f"{SITE}/4", 210, _initiator=f"{SITE}/3")
    page = read(tmp_path, har([site, second, third, fourth], creator={"name": "Firefox"}))
    # 50 - 38; 200 - (50 + 75); 210 - 200
    assert [resource.delay_ms for resource in page.resources] == pytest.approx([0, 12, 75, 10])
    assert page.counts["no time recorded: sum of its timings"] == 2
    assert page.counts["no duration recorded: 0"] == 1


def test_answers_without_content_have_no_body_on_the_wire(tmp_path: Path) -> None:
    """RFC 9110 section 6.4.1; `content` is what the cache holds. An answer with content has it."""
    held = {"bodySize": 0, "content": {"size": 50_000}}
    entries = [entry(f"{SITE}/{status}", status, response={**held, "status": status}) for status in (200, 204, 304)]
    entries.append(entry(f"{SITE}/head", 400, request={"method": "HEAD"}, response=held))
    entries.append(entry(f"{SITE}/firefox", 500, response={**held, "status": 304, "bodySize": -1}))
    page = read(tmp_path, har(entries))
    assert [resource.body_bytes for resource in page.resources] == [50_000, 1, 1, 1, 1]
    assert page.counts["no body: 1 B"] == 4
    assert "length of the body guessed: median of the others" not in page.counts


def test_sizes_after_on_load_do_not_stand_for_those_before(tmp_path: Path) -> None:
    """The only size is that of an entry that is left out: there is none."""
    document = har(
        [
            entry(f"{SITE}/", 0, response={"bodySize": -1, "content": {"size": -1}}),
            entry(f"{SITE}/late", 900),
        ],
        pages=[{"pageTimings": {"onLoad": 500}}],
    )
    with pytest.raises(RequestError, match="no size in this or any other response before onLoad"):
        read(tmp_path, document)


@pytest.mark.parametrize("bad", ["http://[", "http://[#top", "//[::1"])
def test_references_that_are_no_url_lead_nowhere(tmp_path: Path, bad: str) -> None:
    """A redirect is counted; an initiator or Referer that no entry can have is passed over."""
    referer = {"headers": [{"name": "Referer", "value": bad}]}
    page = read(
        tmp_path,
        har(
            [
                entry(f"{SITE}/", 0, response={"redirectURL": bad}),
                entry(f"{SITE}/a", 60, _initiator={"url": bad}, request=referer),
            ]
        ),
    )
    assert [resource.after for resource in page.resources] == [None, 0]
    assert page.counts["redirect to what is no URL: none"] == 1
    assert page.counts["what led to it: the document"] == 1


def test_controls_in_addresses_are_encoded(tmp_path: Path) -> None:
    """ESC, a line break, DEL, CSI of 8 bits, a change of direction; what it leads to is still found."""
    raw = f" {SITE}/\x1b]0;x\x07/a\nb\x7f\x9b\u202e "
    page = read(tmp_path, har([entry(f"{SITE}/", 0), entry(raw, 60), entry(f"{SITE}/c", 120, _initiator=raw)]))
    assert page.resources[1].url == f"{SITE}/%1B]0;x%07/ab%7F%C2%9B%E2%80%AE"
    assert [resource.after for resource in page.resources] == [None, 0, 1]


def test_entries_without_a_page_are_of_the_first(tmp_path: Path) -> None:
    """`pageref` may be missing or null."""
    entries = [entry(f"{SITE}/", 0, pageref="p1"), entry(f"{SITE}/a", 60, pageref=None), entry(f"{SITE}/b", 70)]
    page = read(tmp_path, har([*entries, entry(f"{SITE}/c", 80, pageref="p2")], pages=[{"id": "p1"}, {"id": "p2"}]))
    assert [resource.entry for resource in page.resources] == [0, 1, 2]
    assert page.counts["of further pages"] == 1


def test_pages_that_the_file_does_not_have_are_passed_over(tmp_path: Path) -> None:
    entries = [entry(f"{SITE}/", 0, pageref="p2"), entry(f"{SITE}/a", 60, pageref="p2")]
    page = read(tmp_path, har(entries, pages=[{"id": "p1", "pageTimings": {"onLoad": 1}}]))
    assert [resource.entry for resource in page.resources] == [0, 1]


def test_entries_other_than_transfers_are_excluded_and_counted(tmp_path: Path) -> None:
    """Caches, aborted requests, other schemes, further pages, and what began after onLoad."""
    cached = {"bodySize": 0, "_transferSize": 0}
    page = read(
        tmp_path,
        har(
            [
                entry(f"{SITE}/", 0, pageref="p1"),
                entry("data:image/png;base64,AAAA", 1),
                entry("wss://a.example/socket", 2),
                entry(f"{SITE}/memory", 3, _fromCache="memory"),
                entry(f"{SITE}/disk", 4, response=cached),
                entry(f"{SITE}/blocked", 5, response={"status": 0, "bodySize": -7}, time=-3),
                entry(f"{SITE}/later", 501),
                entry(f"{SITE}/next", 20, pageref="p2"),
                entry(f"{SITE}/last", 450),
                entry(f"{SITE}/longer", 499),
            ],
            pages=[{"id": "p1", "pageTimings": {"onLoad": 500}}, {"id": "p2"}],
        ),
    )
    assert [resource.entry for resource in page.resources] == [0, 8]
    assumed = ("led", "round", "100 B")
    assert {what: n for what, n in page.counts.items() if not any(word in what for word in assumed)} == {
        "not HTTP (data, blob, WebSocket, extension)": 2,
        "from a cache": 2,
        "aborted or blocked": 1,
        "of further pages": 1,
        "began after onLoad": 1,
        "ended after onLoad": 1,
    }


def test_lengths_of_header_sections_are_those_of_fields_that_are_new() -> None:
    """RFC 7541: index 1; with a new value 1 + 1 + 8 * 6 / 8 = 8; with a new name 1 + 4 * 6 / 8 = 4 more."""
    sections = Sections()
    assert sections.length((("name", "12345678"),)) == 12
    assert sections.length((("name", "12345678"),)) == 1
    assert sections.length((("name", "87654321"),)) == 8
    assert sections.length(()) == 1


@pytest.mark.parametrize(
    ("recorded", "mime", "path", "kind"),
    [
        ("stylesheet", "", "/x", "style"),
        (None, "text/css; charset=utf-8", "/x", "style"),
        ("document", "text/html", "/frame", "style"),
        (None, "text/javascript", "/x", "script"),
        ("fetch", "application/json", "/x", "script"),
        (None, "font/woff2", "/x", "font"),
        (None, "application/octet-stream", "/x.woff2", "font"),
        (None, "image/svg+xml", "/x", "image"),
        ("media", "video/mp4", "/x", "image"),
    ],
)
def test_kinds(recorded: str | None, mime: str, path: str, kind: str) -> None:
    """What a type is for priorities."""
    assert kind_of({"_resourceType": recorded}, mime, path) == kind


def initiated(url: str, begin_ms: float, by: str) -> dict[str, Any]:
    """Return an entry that another one led to."""
    return entry(f"{SITE}/{url}", begin_ms, _initiator={"type": "script", "url": f"{SITE}/{by}"})


BAD: list[tuple[object, str]] = [
    ('{"log": {"entries": [{"time": 1', "x.har:1:32: not valid JSON: the file is truncated"),
    ("<html></html>", 'x.har:1:1: not valid JSON: expected a value, got "<html></html>"'),
    ("[" * 200_000, "is not a HAR file: its JSON is nested too deeply"),
    ("[1, 2]", "is not a HAR file: the object `log` is missing (HAR 1.2)"),
    ({"log": []}, "is not a HAR file: the object `log` is missing (HAR 1.2)"),
    (har([]), "log.entries: expected a list of 1 to 10000 entries, got []"),
    (har([entry("data:,", 0)]), "none of its 1 entries is an HTTP transfer"),
    (har([7]), "log.entries.0: expected an object, got 7"),
    (har([entry(f"{SITE}/", 0), {}]), "log.entries.1.request: missing; expected an object"),
    (har([entry("https://[/", 0)]), 'log.entries.0.request.url: expected a URL, got "https://[/"'),
    (
        har([entry(f"{SITE}/", 0, response={"bodySize": -1, "content": {}})]),
        "log.entries.0.response: no size in this or any other response before onLoad; expected bodySize,",
    ),
    (
        har([entry(f"{SITE}/", 0, response={"bodySize": "1"})]),
        "log.entries.0.response.bodySize: expected a length of 0 to 10000000000 bytes, or -1 (not known),",
    ),
    (
        har([entry(f"{SITE}/", 0, response={"content": {"size": 1e300}})]),
        "log.entries.0.response.content.size: expected a length of 0 to 10000000000 bytes, or -1 (not",
    ),
    (
        har([entry(f"{SITE}/", 0, time_ms=float("nan"))]),
        "log.entries.0.time: expected a time of 0 to 3600000 ms, or -1 (does not apply), got NaN",
    ),
    (
        har([entry(f"{SITE}/", 0, timings={"wait": 1e12})]),
        "log.entries.0.timings.wait: expected a time of 0 to 3600000 ms, or -1 (does not apply), got",
    ),
    (
        har([entry(f"{SITE}/", 0), entry(f"{SITE}/1", 1, startedDateTime="2031-01-01T00:00:00Z")]),
        "log.entries.1.startedDateTime: expected a time within 3600 s of the first entry,",
    ),
    (
        har([entry(f"{SITE}/", 0, startedDateTime="noon")]),
        'log.entries.0.startedDateTime: expected a date and time (ISO 8601), got "noon"',
    ),
    (
        har([entry(f"{SITE}/", 0), initiated("a", 1, "b"), initiated("b", 2, "c"), initiated("c", 3, "a")]),
        "log.entries.1._initiator: expected an initiator that does not depend on the entry itself, got a",
    ),
    (har([entry(f"{SITE}/", 0)] * 10_001), "log.entries: expected at most 10000 entries, got 10001"),
    (har([0] * 100_000), "log.entries: expected at most 10000 entries, got 100000"),
    (
        har([entry(f"https://{n}.example/", 0) for n in range(257)]),
        "log.entries: expected at most 256 origins, got 257",
    ),
    (
        har([entry(f"{SITE}/", 0)], pages=[{"pageTimings": {"onLoad": 3_600_001}}]),
        "log.pages.0.pageTimings.onLoad: expected a time of 0 to 3600000 ms, or a negative one (not recorded)",
    ),
    (
        har([entry(f"{SITE}/", 0)], pages=[{"pageTimings": {"onLoad": 10**400}}]),
        f"a negative one (not recorded), got 1{'0' * 79}…",
    ),
    (
        json.dumps(har([entry(f"{SITE}/", 0)], pages=[{"pageTimings": {"onLoad": 77}}])).replace("77", "1e999"),
        "log.pages.0.pageTimings.onLoad: expected a time of 0 to 3600000 ms, or a negative one (not recorded), got Inf",
    ),
    # json.dumps writes a lone surrogate as an escape, as a broken recorder does
    (
        har([entry(f"{SITE}/", 0), entry(f"{SITE}/\ud800", 1)]),
        'log.entries.1.request.url: expected a string without lone surrogates, got "https://a.example/\\ud800"',
    ),
]


@pytest.mark.parametrize(("document", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_errors_name_the_field(tmp_path: Path, document: object, message: str) -> None:
    """Every message names the file, and where there is one, entry and field."""
    with pytest.raises(RequestError) as caught:
        read(tmp_path, document)
    assert message in caught.value.message
    assert str(tmp_path / "x.har") in caught.value.message
    if message.startswith("log."):
        assert caught.value.path == message.partition(":")[0]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Missing, or no text."""
    with pytest.raises(RequestError, match="No such file"):
        read_har(tmp_path / "none.har")
    (tmp_path / "x.har").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RequestError, match="not UTF-8"):
        read_har(tmp_path / "x.har")


def test_a_recording_cut_anywhere_is_refused_in_a_message(tmp_path: Path) -> None:
    """Every prefix of a file is one that a full disk may leave."""
    text = json.dumps(har([entry(f"{SITE}/", 0), initiated("a", 60, "")]))
    for length in range(len(text)):
        with pytest.raises(RequestError) as caught:
            read(tmp_path, text[:length])
        assert "\n" not in caught.value.message


def test_ten_thousand_entries_in_one_chain_are_read(tmp_path: Path) -> None:
    """The longest chain that is allowed: no recursion, no square of its length."""
    entries = [initiated(str(n), n / 1000, str(n - 1)) for n in range(10_000)]
    assert read(tmp_path, har(entries)).depth == 10_000


def test_the_nearest_of_many_positions_is_found_by_halving() -> None:
    """The last before it, else the first after it, never itself; of 10 000 positions a few are looked at."""
    assert nearest([2, 5, 9], 9) == 5
    assert nearest([2, 5, 9], 7) == 5
    assert nearest([2, 5, 9], 2) == 5
    assert nearest([5, 9], 2) == 5
    assert nearest([5], 5) is None
    assert nearest([], 5) is None

    class Counted(list[int]):
        reads = 0

        def __getitem__(self, index: Any) -> Any:
            self.reads += 1
            return super().__getitem__(index)

        def __iter__(self) -> Any:
            raise AssertionError("all are read")

    many = Counted(range(10_000))
    assert nearest(many, 7000) == 6999
    # bisect takes 14 steps
    assert many.reads <= 16


def test_ten_thousand_entries_of_one_address_follow_each_other(tmp_path: Path) -> None:
    """Each is led to by the one before it."""
    assert read(tmp_path, har([initiated("x", n / 1000, "x") for n in range(10_000)])).depth == 10_000


def test_the_recording_of_the_shop() -> None:
    """What tools/page_har.py makes is what is stored: 120 resources of three servers, chains of up to five."""
    assert json.loads(SHOP.read_text()) == tool("page_har").shop()
    page = read_har(SHOP)
    assert (len(page.resources), len(page.origins), page.depth) == (120, 3, 5)
    assert page.counts == {"what led to it: the initiator": 119}
    assert [resource.after for resource in page.resources if resource.after is None] == [None]
    assert all(resource.after < number for number, resource in enumerate(page.resources) if resource.after is not None)
    # the server of the document thinks for 80 ms: its wait of 120 less the handshake of 40
    assert page.resources[0].think_time_ms == pytest.approx(80)
