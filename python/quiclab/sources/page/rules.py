"""What of a recording was not on the network, or is no part of the load: one rule for each sign, with its source.

The first rule that holds gives the reason. Signs that a recorder writes for another purpose are no rules: `_cached` of
WebPageTest is the repeat view, `cache.afterRequest` of Firefox with status 304 a request that was on the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.sources.page.view import View, as_number, as_object, header

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STATUS_SWITCHING_PROTOCOLS = 101
STATUS_NOT_MODIFIED = 304
STATUSES = range(100, 600)

CACHE = "from a cache"
NOT_HTTP = "not HTTP (data, blob, WebSocket, extension)"
FAILED = "aborted or blocked"
STREAM = "event stream: it has no end"
TUNNEL = "CONNECT: opens a tunnel through a proxy"
INTERNAL = "redirect inside the browser (HSTS, extension)"
OWN = "request of the browser itself (OCSP, revocation list)"
RECORDER = "answered or sent by the recorder, not by the page"
PREFETCH = "prefetched for a page that may follow"
FURTHER_PAGE = "of further pages"
BEFORE = "began before the document"
LATE_START = "began after onLoad"
LATE_END = "ended after onLoad"

# RFC 6960 appendix A, RFC 2585 section 4
OWN_TYPES = ("application/ocsp-request", "application/ocsp-response", "application/pkix-crl")
# WI.HARBuilder.fetchType
FETCHED_LOCALLY = ("Memory Cache", "Disk Cache", "Service Worker")
# protocols.network.ResourceType of the DevTools protocol
MESSAGE_TYPES = ("websocket", "webtransport", "directsocket", "direct-socket")


def _has_content(view: View) -> bool:
    return as_number(view.content.get("size")) > 0 and view.status != STATUS_NOT_MODIFIED


def _served_from(view: View) -> bool:
    """Whether `cache` says so. HAR 1.2 has `afterRequest` also where a response from the network was stored."""
    cache = as_object(view.entry.get("cache"))
    if view.status == STATUS_NOT_MODIFIED:
        return False
    if view.recorder.is_firefox or "firebug" in view.recorder.creator:
        return "afterRequest" in cache
    return isinstance(cache.get("beforeRequest"), dict) and not view.bytes_on_the_wire


def _took_no_time(view: View) -> bool:
    """Whether no phase took time, without a header section: over a network both are there."""
    timings = as_object(view.entry.get("timings"))
    return (
        view.status != STATUS_NOT_MODIFIED
        and not any(as_number(value) > 0 for value in (*timings.values(), view.response.get("headersSize")))
        and view.entry.get("time") == 0
    )


def _firefox_transferred_nothing(view: View) -> bool:
    body, head = (as_number(view.response.get(name)) for name in ("bodySize", "headersSize"))
    return _has_content(view) and body in (0, max(head, 0)) and body != view.content.get("size")


def _is_prefetch(view: View) -> bool:
    purposes = [header(view.request, name).lower() for name in ("sec-purpose", "purpose", "x-purpose", "x-moz")]
    return view.kind == "prefetch" or any(value.startswith(("prefetch", "preview")) for value in purposes)


@dataclass(frozen=True)
class Rule:
    """A sign that an entry is left out.

    Attributes
    ----------
    reason
        Why, as counted and reported.
    sign
        The field, and what it must be.
    source
        Who writes it, and where that is defined.
    holds
        Whether an entry has it.
    """

    reason: str
    sign: str
    source: str
    holds: Callable[[View], bool]


RULES: tuple[Rule, ...] = (
    Rule(
        NOT_HTTP,
        "the scheme of the URL is neither `http` nor `https`",
        "HAR 1.2, `request.url`; Chromium lists data:, blob:, ws: and extensions, too",
        lambda view: view.scheme not in ("http", "https") and view.request.get("method") != "CONNECT",
    ),
    Rule(
        NOT_HTTP,
        "status 101: the connection is a WebSocket from here on",
        "RFC 9110 section 15.2.2, RFC 6455 section 4.2.2",
        lambda view: view.status == STATUS_SWITCHING_PROTOCOLS,
    ),
    Rule(
        NOT_HTTP,
        "`_resourceType` is `websocket`, or `_webSocketMessages` is there",
        "Chromium: devtools-frontend, models/har/Log.ts; mitmproxy: addons/savehar.py; HTTP Toolkit: model/http/har.ts",
        lambda view: view.kind in MESSAGE_TYPES or isinstance(view.entry.get("_webSocketMessages"), list),
    ),
    Rule(
        TUNNEL,
        "`request.method` is CONNECT",
        "RFC 9110 section 9.3.6; proxies list it: Fiddler, Charles",
        lambda view: view.request.get("method") == "CONNECT",
    ),
    Rule(
        FAILED,
        "`status` is 0, -1 or no status of HTTP",
        "HAR 1.2 has none for it: 0 in Chromium, Firefox, Safari and HTTP Toolkit, -1 in Playwright, "
        "codes of WinINet in WebPageTest",
        lambda view: view.status not in STATUSES,
    ),
    Rule(
        FAILED,
        "`_error`, `_failureText` or `_blockedReason` of the response or the entry",
        "Chromium: models/har/Log.ts; Safari: HARBuilder.js; Playwright: har/harTracer.ts; BrowserMob Proxy: `_error`",
        lambda view: any(
            table.get(name)
            for table in (view.response, view.entry)
            for name in ("_error", "_failureText", "_blockedReason")
        ),
    ),
    Rule(
        FAILED,
        "`_wasAborted`; `_charlesStatus` other than COMPLETE",
        "Playwright: har/harTracer.ts; Charles: export of HAR",
        lambda view: (
            view.entry.get("_wasAborted") is True
            or str(view.response.get("_charlesStatus") or "COMPLETE").upper() != "COMPLETE"
        ),
    ),
    Rule(
        RECORDER,
        "`_wasFulfilled` or `_apiRequest`",
        "Playwright: har/harTracer.ts, of routes that answer, and of requests of the test",
        lambda view: view.entry.get("_wasFulfilled") is True or view.entry.get("_apiRequest") is True,
    ),
    Rule(
        CACHE,
        "`_fromCache` (memory, disk, prefetch)",
        "Chromium, Edge, Opera: models/har/Log.ts",
        lambda view: bool(view.entry.get("_fromCache")),
    ),
    Rule(
        CACHE,
        "`_fetchedViaServiceWorker`; what the worker takes from the network is an entry of its own",
        "Chromium: models/har/Log.ts",
        lambda view: view.response.get("_fetchedViaServiceWorker") is True,
    ),
    Rule(
        CACHE,
        "`_fetchType` is Memory Cache, Disk Cache or Service Worker",
        "Safari, Epiphany: WebInspectorUI/UserInterface/Controllers/HARBuilder.js, fetchType()",
        lambda view: view.entry.get("_fetchType") in FETCHED_LOCALLY,
    ),
    Rule(
        CACHE,
        "content, but `_transferSize` is 0 and no `bodySize` is above 0",
        "Chromium before `_fromCache`, chrome-har (`encodedDataLength`), Playwright",
        lambda view: _has_content(view) and view.response.get("_transferSize") == 0 and not view.bytes_on_the_wire,
    ),
    Rule(
        CACHE,
        "`cache.beforeRequest`, and no byte on the wire; of Firefox and Firebug `cache.afterRequest`; a 304 was on it",
        "HAR 1.2, `cache`; chrome-har, and so browsertime, sitespeed.io and puppeteer-har: lib/entryFromResponse.js; "
        "Firefox: netmonitor/src/har/har-builder.js, buildCache()",
        _served_from,
    ),
    Rule(
        CACHE,
        "of Firefox a `time` of 0, and no phase of `timings` and no `headersSize` above 0; or content of which nothing "
        "was transferred but headers",
        "Firefox: devtools/shared/network-observer/, where a response from a cache has no raw header section and no "
        "times; NetworkResponseListener: transferredSize = bodySize + headersSize",
        lambda view: view.recorder.is_firefox and (_took_no_time(view) or _firefox_transferred_nothing(view)),
    ),
    Rule(
        INTERNAL,
        "header `Non-Authoritative-Reason`",
        "Chromium: net/url_request/redirect_util.cc; no request leaves the browser",
        lambda view: bool(header(view.response, "non-authoritative-reason")),
    ),
    Rule(
        OWN,
        "MIME type of OCSP or of a revocation list",
        "RFC 6960 appendix A, RFC 2585 section 4; WebPageTest and proxies list what the system asks",
        lambda view: not view.types.isdisjoint(OWN_TYPES),
    ),
    Rule(
        STREAM,
        "MIME type text/event-stream; `_resourceType` is `eventsource`; `_eventSourceMessages` is there",
        "HTML, section 9.2 Server-sent events; Chromium: models/har/Log.ts",
        lambda view: (
            "text/event-stream" in view.types
            or view.kind == "eventsource"
            or isinstance(view.entry.get("_eventSourceMessages"), list)
        ),
    ),
    Rule(
        PREFETCH,
        "`Sec-Purpose`, `Purpose` or `X-Moz` is prefetch; `_resourceType` is `prefetch`",
        "Fetch, section 3.10 Sec-Purpose; HTML, link type prefetch: the load event does not wait for it",
        _is_prefetch,
    ),
)
#: Reasons that depend on the other entries, not on a sign of the entry.
OF_THE_PAGE = (FURTHER_PAGE, BEFORE, LATE_START, LATE_END)
#: All reasons, in the order in which they are reported.
REASONS: tuple[str, ...] = (*dict.fromkeys(rule.reason for rule in RULES), *OF_THE_PAGE)


def skip_reason(view: View) -> str | None:
    """Return why an entry is left out; `None` if it is a transfer of the page over the network."""
    return next((rule.reason for rule in RULES if rule.holds(view)), None)


def told(entries: int, left_out: Mapping[str, int]) -> str:
    """Return the sentence on what of a recording is not replayed, and why."""
    if not left_out:
        return f"All {entries} entries of the recording are replayed." if entries > 1 else "Its one entry is replayed."
    listed = "; ".join(f"{reason}: {count}" for reason, count in left_out.items())
    return f"Left out of {entries} entries: {sum(left_out.values())} ({listed})."
