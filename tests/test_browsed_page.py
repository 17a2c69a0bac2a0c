"""Recorded pages that a real browser loads: what of a HAR file is served, and in which order it is requested."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from conftest import ROOT, without_browser
from quiclab.errors import RequestError
from quiclab.lane.browser.envoy import configuration
from quiclab.lane.browser.runner import load_pages
from quiclab.lane.browser.site import MAX_RESOURCES, MIN_IMAGE_BYTES, Page, body
from quiclab.scenario import Scenario, load
from quiclab.sources.page.har_reader import RecordedPage, Resource, read_har
from quiclab.sources.page.replay import FLOW, browsed

NETWORK = ROOT / "scenarios" / "page_browser.toml"
SHOP = ROOT / "scenarios" / "pages" / "shop.har"


def resource(kind: Any, size: int, after: int | None, origin: int = 0) -> Resource:
    """Return a resource with a delay and a think time, which a real browser and server do not take over."""
    return Resource(0, "https://shop.test/", kind, origin, after, 30.0, 20.0, size, 100, 100)


#: The document is behind a redirect from another server; a style sheet leads to a font, a script to an image.
RECORDED = RecordedPage(
    file="small.har",
    url="https://shop.test/",
    resources=(
        resource("image", 200, None, 1),
        resource("image", 4000, 0),
        resource("style", 3000, 1),
        resource("script", 20_000, 1, 1),
        resource("font", 9000, 2, 1),
        resource("image", 43, 3),
        resource("image", 5000, 0),
    ),
    origins=("https://shop.test", "https://static.test"),
    chain=(0, 1),
    entries=7,
    left_out={},
    counts={},
    on_load_ms=None,
)


def small() -> Scenario:
    return browsed(load(NETWORK, [("duration", "20 s")]), None, RECORDED)


def page_of(scenario: Scenario) -> Page:
    return Page.of(scenario.value(f"flows.{FLOW}.workload"))


def followers(page: Page) -> dict[int, list[tuple[Any, ...]]]:
    """Return what the script of the HTML requests, by the number of what it follows."""
    found = re.search(r"N=(\{.*?\})</script>", page.html().decode())
    assert found is not None
    return {int(number): [tuple(row) for row in rows] for number, rows in json.loads(found[1]).items()}


def test_each_resource_has_the_size_the_kind_and_the_initiator_of_the_recording() -> None:
    recorded = read_har(SHOP)
    page = page_of(browsed(load(NETWORK), None, recorded))
    assert (page.html_bytes, page.lengthened, page.origins) == (recorded.resources[0].body_bytes, 0, 3)
    expected = [(1, item.body_bytes, item.kind, item.origin, item.after) for item in recorded.resources[1:]]
    assert [tuple(group) for group in page.groups] == expected


def test_redirects_are_left_out_and_least_lengths_are_counted() -> None:
    page = page_of(small())
    # the image that followed the redirect follows the document, as the first server is that of the document
    assert [tuple(group) for group in page.groups] == [
        (1, 3000, "style", 0, 0),
        (1, 20_000, "script", 1, 0),
        (1, 9000, "font", 1, 1),
        (1, MIN_IMAGE_BYTES, "image", 0, 2),
        (1, 5000, "image", 0, 0),
    ]
    assert (page.html_bytes, page.lengthened) == (4000, 1)


def test_the_html_names_what_follows_it_and_its_script_the_rest() -> None:
    page = page_of(small())
    html = page.html().decode()
    assert len(html) == 4000
    assert "<link rel=stylesheet href=/0/0 onload=L(1) onerror=L(1)>" in html
    assert "<script src=//o1.quiclab.test/1/0 onload=L(2) onerror=L(2)></script>" in html
    assert "<img src=/4/0>" in html, "nothing follows it"
    assert followers(page) == {1: [(3, "font", "//o1.quiclab.test/2/0")], 2: [(4, "image", "/3/0")]}
    # each object is named once
    assert [html.count(f"{path} ") + html.count(f'{path}"') + html.count(f"{path}>") for path in page.sizes()][1:] == [
        1
    ] * 5


def test_a_short_html_is_lengthened_to_what_it_names() -> None:
    short = replace(RECORDED, resources=(RECORDED.resources[0], resource("image", 10, 0), *RECORDED.resources[2:]))
    page = page_of(browsed(load(NETWORK), None, short))
    assert page.lengthened == 2
    assert len(page.html()) == page.html_bytes == page.sizes()["/"]


@pytest.mark.parametrize("kind", ["style", "script", "image", "font"])
def test_objects_of_each_kind_have_their_length_and_type(kind: str) -> None:
    assert len(body(kind, 5000)) == 5000
    if kind in ("style", "script"):
        assert not body(kind, 5000).strip()


def test_the_server_has_a_file_and_a_type_for_each_resource(tmp_path: Any) -> None:
    plan = configuration(page_of(small()), tmp_path, "10.0.0.1", tmp_path / "c.pem", tmp_path / "k.pem")
    manager = plan["static_resources"]["listeners"][1]["filter_chains"][0]["filters"][0]["typed_config"]
    (host,) = manager["route_config"]["virtual_hosts"]
    types = [route["response_headers_to_add"][0]["header"]["value"] for route in host["routes"]]
    assert types == ["text/css", "text/javascript", "font/woff2", "image/png", "image/png", "text/html; charset=utf-8"]
    assert {entry["header"]["key"] for entry in host["response_headers_to_add"]} == {
        "cache-control",
        "access-control-allow-origin",
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delay": "1 ms"}, "workload.resources.0.delay: expected 0"),
        ({"think_time": "1 ms"}, "workload.resources.0.think_time: expected 0"),
        ({"after": [0, 1]}, "workload.resources.0.after: expected one resource"),
        ({"size": "101 MB"}, "workload.resources.0.size: expected at most"),
    ],
)
def test_resources_that_a_real_browser_cannot_have_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=re.escape(words)):
        Page.of({"kind": "page", "html": "9 kB", "resources": [{"size": "3 kB", **change}]})
    with pytest.raises(RequestError, match=f"at most {MAX_RESOURCES} resources, got {MAX_RESOURCES + 1}"):
        Page.of({"kind": "page", "html": "9 kB", "resources": [{"size": "3 kB"}] * (MAX_RESOURCES + 1)})


@pytest.mark.kernel_lane
@pytest.mark.browser
@pytest.mark.skipif(without_browser() is not None, reason=without_browser() or "")
@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_chromium_requests_each_resource_when_the_one_before_it_is_complete(protocol: str) -> None:
    scenario = small()
    found = load_pages(scenario, 1, protocols=[protocol], pause_s=0.0)
    page = page_of(scenario)
    (counted,) = found.counted
    assert (counted.resources, counted.body_bytes) == (6, page.total_bytes)
    entries = {}
    for entry in found.hars[protocol]["log"]["entries"][6:]:  # the first load is discarded
        path = entry["request"]["url"].partition(".test")[2].partition("?")[0]
        begun = datetime.fromisoformat(entry["startedDateTime"]).timestamp() * 1e3
        entries[path] = (entry["request"]["url"].split("/")[2], begun, begun + entry["time"])
    servers = {path: server for path, (server, _, _) in entries.items()}
    expected = ["quiclab.test", "o1.quiclab.test", "o1.quiclab.test", "quiclab.test", "quiclab.test"]
    assert servers == {"/": "quiclab.test"} | {f"/{n}/0": server for n, server in enumerate(expected)}
    for number, group in enumerate(page.groups):
        if group.after:
            # times of HAR files have a thousandth of a millisecond
            assert entries[f"/{number}/0"][1] >= entries[f"/{group.after - 1}/0"][2] - 0.01
