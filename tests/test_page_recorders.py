"""HAR files of each recorder: entries that are left out and why, the meaning of lengths, begin and end of the load.

Each file is made here, in the form that the sources named in `rules` and `sizes` of `quiclab.sources.page` write.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab.errors import RequestError
from quiclab.sources.page import rules
from quiclab.sources.page.har_reader import RecordedPage, read_har

SITE = "https://a.example"
TIMINGS = {"blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 30, "receive": 20}

Json = dict[str, Any]


def entry(path: str, begin_ms: float, time_ms: float = 50, **more: Any) -> Json:
    """Return an entry of 1000 bytes; `more` replaces parts, `None` removes them."""
    whole: Json = {
        "startedDateTime": f"2026-01-01T00:00:{begin_ms / 1000:06.3f}Z",
        "time": time_ms,
        "request": {"method": "GET", "url": f"{SITE}{path}" if path.startswith("/") else path, "headers": []},
        "response": {"status": 200, "bodySize": 1000, "content": {"size": 1000, "mimeType": "image/png"}},
        "cache": {},
        "timings": TIMINGS,
    }
    for name, value in more.items():
        whole[name] = {**whole[name], **value} if isinstance(whole.get(name), dict) and value else value
    return whole


def html(path: str = "/", begin_ms: float = 0, **more: Any) -> Json:
    """Return an entry of HTML."""
    response = {"content": {"size": 1000, "mimeType": "text/html"}, **more.pop("response", {})}
    return entry(path, begin_ms, response=response, **more)


def read(folder: Path, entries: list[Json], creator: str = "WebInspector", **log: Any) -> RecordedPage:
    """Write a file and read it."""
    path = folder / "x.har"
    whole = {"version": "1.2", "creator": {"name": creator, "version": "111.0"}, "entries": entries, **log}
    path.write_text(json.dumps({"log": whole}), encoding="utf-8")
    return read_har(path)


def header(name: str, value: str) -> Json:
    """Return a list of one header."""
    return {"headers": [{"name": name, "value": value}]}


NO_TIMES = dict.fromkeys(TIMINGS, 0)
LEFT_OUT: list[tuple[str, str, Json]] = [
    ("WebInspector", rules.CACHE, {"_fromCache": "memory"}),
    ("WebInspector", rules.CACHE, {"_fromCache": "disk", "response": {"bodySize": 0, "_transferSize": 0}}),
    ("WebInspector", rules.CACHE, {"response": {"_fetchedViaServiceWorker": True}}),
    ("WebInspector", rules.CACHE, {"response": {"bodySize": -197, "_transferSize": 0}}),
    ("WebKit Web Inspector", rules.CACHE, {"_fetchType": "Memory Cache", "response": {"bodySize": -1}}),
    ("WebKit Web Inspector", rules.CACHE, {"_fetchType": "Disk Cache", "response": {"bodySize": 0}}),
    ("WebKit Web Inspector", rules.CACHE, {"_fetchType": "Service Worker", "response": {"bodySize": -1}}),
    # Firefox 111: images of the image cache have no phases, scripts of the disk cache phases of 0
    (
        "Firefox",
        rules.CACHE,
        {"time": 0, "timings": None, "response": {"bodySize": -1, "content": {"mimeType": "a/b"}}},
    ),
    ("Firefox", rules.CACHE, {"time": 0, "timings": NO_TIMES, "response": {"headersSize": 0, "bodySize": 4002}}),
    ("Waterfox", rules.CACHE, {"response": {"headersSize": 200, "bodySize": 200}}),
    ("Firefox", rules.CACHE, {"cache": {"afterRequest": None}}),
    ("chrome-har", rules.CACHE, {"cache": {"beforeRequest": {}}, "response": {"bodySize": -300, "_transferSize": 0}}),
    ("Browsertime", rules.CACHE, {"cache": {"beforeRequest": {"hitCount": 0}}, "response": {"bodySize": -1}}),
    ("mitmproxy", rules.NOT_HTTP, {"response": {"status": 101, "bodySize": 0}, "time": 20_000}),
    ("WebInspector", rules.NOT_HTTP, {"_resourceType": "websocket"}),
    ("HTTP Toolkit", rules.NOT_HTTP, {"_webSocketMessages": []}),
    ("WebInspector", rules.NOT_HTTP, {"request": {"url": "chrome-extension://abc/x.js"}}),
    ("WebInspector", rules.NOT_HTTP, {"request": {"url": "blob:https://a.example/1"}}),
    ("WebInspector", rules.NOT_HTTP, {"request": {"url": "about:blank"}}),
    ("mitmproxy", rules.NOT_HTTP, {"request": {"url": "wss://a.example/"}}),
    ("Fiddler", rules.TUNNEL, {"request": {"method": "CONNECT", "url": "a.example:443"}}),
    ("Charles Proxy", rules.TUNNEL, {"request": {"method": "CONNECT", "url": f"{SITE}:443"}}),
    ("HTTP Toolkit", rules.FAILED, {"response": {"status": 0, "bodySize": -1}}),
    ("Playwright", rules.FAILED, {"response": {"status": -1}}),
    ("WebPagetest", rules.FAILED, {"response": {"status": 12_999}}),
    ("WebInspector", rules.FAILED, {"response": {"_error": "net::ERR_ABORTED"}}),
    ("Playwright", rules.FAILED, {"response": {"_failureText": "net::ERR_FAILED"}}),
    ("Playwright", rules.FAILED, {"_wasAborted": True}),
    ("Charles Proxy", rules.FAILED, {"response": {"_charlesStatus": "EXCEPTION"}}),
    ("Playwright", rules.RECORDER, {"_wasFulfilled": True}),
    ("Playwright", rules.RECORDER, {"_apiRequest": True}),
    (
        "WebInspector",
        rules.INTERNAL,
        {"response": {"status": 307, "bodySize": -197, **header("Non-Authoritative-Reason", "HSTS")}},
    ),
    ("WebPagetest", rules.OWN, {"response": {"content": {"size": 5, "mimeType": "application/ocsp-response"}}}),
    ("mitmproxy", rules.OWN, {"request": header("Content-Type", "application/ocsp-request")}),
    ("mitmproxy", rules.STREAM, {"response": {"content": {"mimeType": "text/event-stream; charset=utf-8"}}}),
    ("WebInspector", rules.STREAM, {"_resourceType": "eventsource", "time": 40_000}),
    ("WebInspector", rules.PREFETCH, {"request": header("Sec-Purpose", "prefetch;prerender")}),
    ("Firefox", rules.PREFETCH, {"request": header("X-Moz", "prefetch")}),
    ("WebInspector", rules.PREFETCH, {"_resourceType": "prefetch"}),
]


@pytest.mark.parametrize(("creator", "reason", "more"), LEFT_OUT, ids=[f"{row[0]}, {row[2]}"[:60] for row in LEFT_OUT])
def test_what_was_not_on_the_network_is_left_out(tmp_path: Path, creator: str, reason: str, more: Json) -> None:
    """The entry is none of the page's, and the reason is counted; the document remains."""
    page = read(tmp_path, [html(), entry("/x", 60, **{**more, "time_ms": more.get("time", 50)})], creator)
    assert [resource.entry for resource in page.resources] == [0]
    assert page.left_out == {reason: 1}
    assert page.counts[reason] == 1


STAYS: list[tuple[str, Json, int]] = [
    # `_cached` of WebPageTest is the repeat view; a 304 of Firefox has the stored entry
    ("WebPagetest", {"_cached": 1}, 1000),
    ("Firefox", {"response": {"status": 304, "bodySize": 5509, "headersSize": 386}, "cache": {"afterRequest": {}}}, 1),
    ("WebInspector", {"response": {"status": 304, "bodySize": 0, "_transferSize": 253}}, 1),
    ("chrome-har", {"cache": {"beforeRequest": {}}, "response": {"status": 304, "bodySize": 0}}, 1),
    # HAR 1.2: a response that was stored has `afterRequest`, too
    ("Other", {"cache": {"afterRequest": {}}}, 1000),
    ("WebKit Web Inspector", {"_fetchType": "Network Load"}, 1000),
    ("Charles Proxy", {"response": {"_charlesStatus": "COMPLETE"}}, 1000),
    # Firefox over a loopback: no phase reaches a millisecond, but a header section came
    ("Firefox", {"time": 0, "timings": NO_TIMES, "response": {"headersSize": 200, "bodySize": 1200}}, 1000),
    # a status that a recorder wrote as text
    ("Other", {"response": {"status": "200"}}, 1000),
]


@pytest.mark.parametrize(("creator", "more", "body"), STAYS)
def test_what_was_on_the_network_stays(tmp_path: Path, creator: str, more: Json, body: int) -> None:
    """Signs that look like those of a cache, but are none."""
    page = read(tmp_path, [html(), entry("/x", 60, **{**more, "time_ms": more.get("time", 50)})], creator)
    assert [resource.body_bytes for resource in page.resources][1:] == [body]
    assert page.left_out == {}


LENGTHS: list[tuple[str, Json, int]] = [
    # Firefox counts header bytes in `bodySize`: 3871 - 465; where it equals the content, or is shorter, it did not
    ("Firefox", {"headersSize": 465, "bodySize": 3871, "content": {"size": 3406}}, 3406),
    ("Firefox", {"headersSize": 300, "bodySize": 1300, "content": {"size": 5000}}, 1000),
    ("Firefox", {"headersSize": 200, "bodySize": 1000, "content": {"size": 1000}}, 1000),
    ("Firefox", {"headersSize": 200, "bodySize": 150, "content": {"size": 900}}, 150),
    ("Firefox", {"headersSize": 200, "bodySize": 230, "status": 204, "content": {"size": 0}}, 1),
    # Playwright writes the lengths of Firefox itself
    ("Playwright", {"headersSize": 465, "bodySize": 3406, "content": {"size": 9000}}, 3406),
    # Chromium over HTTP/2; with a negative difference
    ("WebInspector", {"headersSize": -1, "bodySize": -1, "_transferSize": 7132, "content": {"size": 7108}}, 7032),
    ("WebInspector", {"headersSize": 300, "bodySize": -300, "content": {"size": 900, "compression": 400}}, 500),
    # chrome-har over HTTP/2: both are what was transferred
    ("chrome-har", {"headersSize": -1, "bodySize": 69072, "_transferSize": 69072, "content": {"size": 99999}}, 68972),
    ("chrome-har", {"headersSize": 502, "bodySize": 6198, "_transferSize": 6700, "content": {"size": 20582}}, 6198),
    ("Other", {"bodySize": -1, "content": {"size": 9000}, **header("Content-Length", "2500")}, 2500),
    ("Other", {"bodySize": -1, "content": {"size": 9000}, **header("Content-Length", "many")}, 9000),
    ("Other", {"bodySize": 4000, "status": 205, "content": {"size": 4000}}, 1),
]


@pytest.mark.parametrize(("creator", "response", "body"), LENGTHS)
def test_lengths_are_those_of_bodies_on_the_wire(tmp_path: Path, creator: str, response: Json, body: int) -> None:
    """By what the recorder means."""
    browser = {"name": "Firefox" if creator in ("Firefox", "Playwright") else "Chrome"}
    page = read(tmp_path, [html(), entry("/x", 60, response=response)], creator, browser=browser)
    assert page.resources[1].body_bytes == body


@pytest.mark.parametrize(("version", "body"), [("43.0.4", 11820), ("54.0", 11820), ("57.0", 11169), ("x", 11169)])
def test_older_versions_of_firefox_count_no_headers(tmp_path: Path, version: str, body: int) -> None:
    """11820 with 651 of headers, of compressed content: the body, or the sum."""
    response = {"headersSize": 651, "bodySize": 11820, "content": {"size": 30_000, "mimeType": "text/css"}}
    named = {"name": "Firefox", "version": version}
    page = read(tmp_path, [html(), entry("/x", 60, response=response)], browser=named, creator="Firefox")
    assert page.resources[1].body_bytes == body


def test_browsers_made_of_firefox_number_their_own_versions(tmp_path: Path) -> None:
    response = {"headersSize": 651, "bodySize": 11820, "content": {"size": 30_000, "mimeType": "text/css"}}
    named = {"name": "Waterfox", "version": "6.0.20"}
    page = read(tmp_path, [html(), entry("/x", 60, response=response)], browser=named, creator="Waterfox")
    assert page.resources[1].body_bytes == 11169


def test_bytes_received_stand_for_a_length_that_webpagetest_lacks(tmp_path: Path) -> None:
    """Over SPDY and HTTP/2 `_objectSize` is 0, and so `bodySize`: 17283 - 857."""
    response = {"headersSize": 857, "bodySize": 0, "content": {"size": 0, "mimeType": "text/html"}}
    page = read(tmp_path, [html(response=response, _bytesIn="17283")], "WebPagetest")
    assert page.body_bytes == 17283 - 857


@pytest.mark.parametrize("typed", ["https://a.example/", "https://a.example", "A.EXAMPLE", "a.example/"])
def test_the_document_of_webpagetest_is_the_url_that_was_tested(tmp_path: Path, typed: str) -> None:
    """What the system asked before is left out, whatever its type."""
    first = html("http://check.example/", 0, time_ms=20)
    pages = [{"id": "p", "title": "Run 1", "_URL": typed}]
    page = read(tmp_path, [first, html("/", 50), entry("/a", 200)], "WebPagetest", pages=pages)
    assert page.url == f"{SITE}/"
    assert [resource.entry for resource in page.resources] == [1, 2]
    assert page.left_out == {rules.BEFORE: 1}


@pytest.mark.parametrize(
    ("more", "title"),
    [
        ({"_is_base_page": True}, ""),
        ({}, f"{SITE}/"),
        ({}, f"Run 1, First View for {SITE}/"),
        ({"_resourceType": "document"}, ""),
        ({"request": header("Sec-Fetch-Dest", "document")}, ""),
    ],
)
def test_signs_of_the_document(tmp_path: Path, more: Json, title: str) -> None:
    """WebPageTest, Chromium and Safari, older WebPageTest, Chromium, what a proxy records of any browser."""
    first = html("http://check.example/", 0)
    page = read(tmp_path, [first, html("/", 60, **more), entry("/a", 200)], pages=[{"id": "p", "title": title}])
    assert page.resources[page.chain[-1]].entry == 1


def test_the_first_html_is_a_document_unless_something_led_to_it(tmp_path: Path) -> None:
    """A proxy that began late has no document: the first transfer begins the load, not the first frame."""
    frame = html("/frame", 60, request=header("Referer", f"{SITE}/"))
    assert read(tmp_path, [entry("/a.js", 0), frame], "Fiddler").resources[0].entry == 0
    page = read(tmp_path, [entry("/a.js", 0), html("/", 60), frame], "Fiddler")
    assert (page.resources[0].entry, page.left_out) == (1, {rules.BEFORE: 1})


def test_redirects_are_resources_before_the_document(tmp_path: Path) -> None:
    """Chromium's title is where they end, and its load time counts from there; the redirect inside it is none."""
    pages = [{"id": "p", "title": f"{SITE}/home", "startedDateTime": "2026-01-01T00:00:00.200Z"}]
    pages[0]["pageTimings"] = {"onLoad": 500}  # type: ignore[assignment]
    inside = {"status": 307, "bodySize": -1, "redirectURL": f"{SITE}/", **header("Non-Authoritative-Reason", "HSTS")}
    entries = [
        html("http://a.example/", 0, response=inside),
        # a host without a path is the URL with one
        html("/", 100, response={"status": 301, "redirectURL": "https://www.a.example", "bodySize": 0}),
        html("https://www.a.example/", 150, response={"status": 302, **header("Location", f"{SITE}/home")}),
        html("/home", 200, _resourceType="document"),
        entry("/late", 640),
        entry("/later", 701),
    ]
    page = read(tmp_path, entries, pages=pages)
    assert page.url == f"{SITE}/home"
    assert [page.role(number) for number in range(4)] == ["redirect", "redirect", "document", None]
    assert [resource.after for resource in page.resources] == [None, 0, 1, 2]
    assert [resource.delay_ms for resource in page.resources] == pytest.approx([0, 0, 0, 390])
    assert page.left_out == {rules.INTERNAL: 1, rules.LATE_START: 1}


def test_the_load_event_ends_the_load(tmp_path: Path) -> None:
    """Playwright counts from the start of the window; what the event did not wait for is left out, but the document."""
    page_of = {"id": "p", "startedDateTime": "2026-01-01T00:00:00.000Z", "pageTimings": {"onLoad": 1500}}
    entries = [
        html("/", 1000),
        entry("/image", 1100, 300),
        entry("/rounded", 1100, 401),
        entry("/poll", 1200, 30_000),
        entry("/beacon", 1600),
    ]
    page = read(tmp_path, entries, "Playwright", pages=[page_of])
    assert [resource.entry for resource in page.resources] == [0, 1, 2]
    assert page.left_out == {rules.LATE_START: 1, rules.LATE_END: 1}
    # without the start of the page it counts from the first entry
    del page_of["startedDateTime"]
    page = read(tmp_path, entries, "Playwright", pages=[page_of])
    assert page.left_out == {rules.LATE_END: 1}
    # a load that ends before its document is none
    page = read(tmp_path, entries, "Playwright", pages=[{**page_of, "pageTimings": {"onLoad": 10}}])
    assert page.left_out == {}
    assert page.counts["onLoad before the end of the document: not used"] == 1


def test_a_document_from_a_cache_is_named(tmp_path: Path) -> None:
    """The first transfer after it begins the load."""
    entries = [
        entry("http://check.example/", 0),
        html("/", 100, _fromCache="disk", _resourceType="document"),
        entry("/a", 150),
        html("/frame", 200, _resourceType="document"),
    ]
    page = read(tmp_path, entries, pages=[{"id": "p", "title": f"{SITE}/"}])
    assert page.resources[0].entry == 2
    assert page.url == f"{SITE}/"
    assert page.left_out == {rules.CACHE: 1, rules.BEFORE: 1}
    assert page.counts["document left out: the first transfer stands for it"] == 1


def test_a_request_waits_for_its_preflight(tmp_path: Path) -> None:
    """Chromium lists it as begun before; the preflight is led to by what leads to the request."""
    script = {"type": "script", "url": f"{SITE}/j.js"}
    ask = {"method": "OPTIONS", **header("Access-Control-Request-Method", "PUT")}
    entries = [
        html(),
        entry("/j.js", 60),
        entry("https://api.example/x", 120, 130, _initiator=script),
        entry("https://api.example/x", 121, 60, request=ask, _initiator={"type": "preflight"}),
    ]
    page = read(tmp_path, entries)
    assert [(resource.entry, resource.after) for resource in page.resources] == [(0, None), (1, 0), (3, 1), (2, 2)]
    assert page.counts["what led to it: a preflight"] == 1


def test_the_first_page_with_transfers_is_replayed(tmp_path: Path) -> None:
    """Pages without entries are passed over; files without pages end with the next navigation."""
    entries = [html("/", 0, pageref="b"), entry("/a", 60, pageref="b"), html("/next", 500, pageref="c")]
    page = read(tmp_path, entries, pages=[{"id": "a"}, {"id": "b"}, {"id": "c"}])
    assert [resource.entry for resource in page.resources] == [0, 1]
    assert page.left_out == {rules.FURTHER_PAGE: 1}
    assert read(tmp_path, entries, pages=[]).left_out == {rules.FURTHER_PAGE: 1}
    headers = [{"name": "Sec-Fetch-Dest", "value": "document"}, {"name": "Sec-Fetch-Mode", "value": "navigate"}]
    navigate = {"request": {"headers": headers}}
    entries = [html("/", 0, **navigate), entry("/a", 60), html("/next", 500, **navigate), entry("/b", 560)]
    page = read(tmp_path, entries, "mitmproxy", pages=[])
    assert [resource.entry for resource in page.resources] == [0, 1]
    assert page.left_out == {rules.FURTHER_PAGE: 2}


def test_files_without_a_transfer_say_why(tmp_path: Path) -> None:
    """Every reason, with its number."""
    stream: Json = {"response": {"content": {"mimeType": "text/event-stream"}}}
    with pytest.raises(RequestError, match=r"none of its 3 entries .*\(from a cache: 1, event stream: .*: 2\)"):
        read(tmp_path, [entry("/", 0, _fromCache="disk"), entry("/a", 1, **stream), entry("/b", 2, **stream)])


def test_every_reason_is_documented_and_told() -> None:
    """docs/page.md has all of them; the sentence has each with its number."""
    text = (ROOT / "docs/page.md").read_text(encoding="utf-8")
    assert [reason for reason in rules.REASONS if reason not in text] == []
    assert rules.told(5, {"from a cache": 2, "ended after onLoad": 1}) == (
        "Left out of 5 entries: 3 (from a cache: 2; ended after onLoad: 1)."
    )
    assert rules.told(5, {}) == "All 5 entries of the recording are replayed."
