"""Events of the DevTools protocol as HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/).

Playwright also records HAR files, but the load event in whole milliseconds of the wall clock, without the time
before a connection and without its number (1.65 was tried); chrome-har-capturer, which the published study used, needs
Node. The one addition: with 0-RTT a request leaves before the handshake is over, which HAR has no notion of.
`timings.connect` is then the wait of the request, and `_handshake` (ms) the duration of the handshake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

Event = tuple[str, Mapping[str, Any]]

#: Events that are needed; all others are passed over.
EVENTS: Final = (
    "Network.requestWillBeSent",
    "Network.requestServedFromCache",
    "Network.responseReceived",
    "Network.dataReceived",
    "Network.loadingFinished",
    "Network.loadingFailed",
    "Page.domContentEventFired",
    "Page.loadEventFired",
    "Inspector.targetCrashed",
)
_NONE: Final = -1.0


@dataclass
class Exchange:
    """One request with its response, from events; times in seconds of the browser's monotonic clock.

    Parameters
    ----------
    sent
        `Network.requestWillBeSent`.
    response
        `response` of `Network.responseReceived`; None if none came.
    finished_s
        When the last byte was there; None if it was not.
    wire_bytes
        Headers and body as they were sent, of a finished exchange.
    body_bytes
        Body as it was read.
    from_cache
        Whether a cache gave the answer.
    failure
        Failure reported by the browser; None without one.
    """

    sent: Mapping[str, Any]
    response: Mapping[str, Any] | None = None
    finished_s: float | None = None
    wire_bytes: int = 0
    body_bytes: int = 0
    from_cache: bool = False
    failure: str | None = None

    @property
    def url(self) -> str:
        """Address."""
        return str(self.sent["request"]["url"])

    @property
    def sent_s(self) -> float:
        """Time of the request in the browser."""
        return float(self.sent["timestamp"])

    def timing(self, name: str) -> float:
        """Return a value of the response's `timing` [ms since `requestTime`]; -1 where it does not apply."""
        timing = (self.response or {}).get("timing") or {}
        return float(timing.get(name, _NONE))

    def at_s(self, name: str) -> float | None:
        """Return a value of `timing` as a time; None where it does not apply."""
        timing = (self.response or {}).get("timing") or {}
        if self.timing(name) < 0 or "requestTime" not in timing:
            return None
        return float(timing["requestTime"]) + self.timing(name) / 1e3


@dataclass
class Recording:
    """Events during the load of a page."""

    exchanges: dict[str, Exchange] = field(default_factory=dict)
    content_loaded_s: float | None = None
    loaded_s: float | None = None
    crashed: bool = False

    @property
    def first(self) -> Exchange | None:
        """The page itself."""
        return next(iter(self.exchanges.values()), None)

    @property
    def is_complete(self) -> bool:
        """Whether the load event came and every request has ended."""
        ended = all(part.finished_s is not None or part.failure is not None for part in self.exchanges.values())
        return self.loaded_s is not None and ended

    @property
    def dns_ms(self) -> float:
        """Time that the name of the page's server took [ms]; 0 if it was known."""
        if self.first is None or self.first.timing("dnsStart") < 0:
            return 0.0
        return self.first.timing("dnsEnd") - self.first.timing("dnsStart")

    @property
    def on_load_ms(self) -> float | None:
        """HAR's `onLoad` [ms]: from the request of the page to the load event; None if it did not come."""
        if self.first is None or self.loaded_s is None:
            return None
        return (self.loaded_s - self.first.sent_s) * 1e3


def record(events: Iterable[Event]) -> Recording:
    """Put events in order of requests; events of requests that began before are passed over."""
    recording = Recording()
    for name, event in events:
        if name == "Network.requestWillBeSent" and not event["request"]["url"].startswith("data:"):
            recording.exchanges[event["requestId"]] = Exchange(event)
        elif name == "Page.domContentEventFired":
            recording.content_loaded_s = float(event["timestamp"])
        elif name == "Page.loadEventFired":
            recording.loaded_s = float(event["timestamp"])
        elif name == "Inspector.targetCrashed":
            recording.crashed = True
        elif (exchange := recording.exchanges.get(event.get("requestId", ""))) is not None:
            _note(exchange, name, event)
    return recording


def _note(exchange: Exchange, name: str, event: Mapping[str, Any]) -> None:
    if name == "Network.responseReceived":
        exchange.response = event["response"]
        exchange.from_cache |= bool(event["response"].get("fromDiskCache"))
    elif name == "Network.dataReceived":
        exchange.body_bytes += int(event["dataLength"])
    elif name == "Network.requestServedFromCache":
        exchange.from_cache = True
    elif name == "Network.loadingFinished":
        exchange.finished_s = float(event["timestamp"])
        exchange.wire_bytes = int(event["encodedDataLength"])
    elif name == "Network.loadingFailed":
        exchange.failure = str(event.get("errorText") or "it failed without a reason")


def har(recording: Recording, title: str, browser: str, version: str) -> dict[str, Any]:
    """Return the HAR of one load, whose page is `title`.

    Parameters
    ----------
    recording
        A load with a page.
    title
        Identifier and title of the page.
    browser
        Name and version of the browser, separated by a slash.
    version
        Version of quiclab.
    """
    first = recording.first
    started = _date(float(first.sent["wallTime"])) if first is not None else _date(0.0)
    on_load = recording.on_load_ms
    content = recording.content_loaded_s
    timings = {
        "onContentLoad": round((content - first.sent_s) * 1e3, 3) if content and first else _NONE,
        "onLoad": round(on_load, 3) if on_load is not None else _NONE,
    }
    name, _, browser_version = browser.partition("/")
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "quiclab", "version": version},
            "browser": {"name": name, "version": browser_version},
            "pages": [{"startedDateTime": started, "id": title, "title": title, "pageTimings": timings}],
            "entries": [_entry(part, title) for part in recording.exchanges.values() if part.response is not None],
        }
    }


def _entry(exchange: Exchange, page: str) -> dict[str, Any]:
    request, response = exchange.sent["request"], exchange.response or {}
    protocol = str(response.get("protocol", ""))
    query = exchange.url.partition("?")[2]
    pairs = [part.partition("=") for part in query.split("&") if part]
    timings = _timings(exchange)
    header_bytes = int(response.get("encodedDataLength", 0))
    entry = {
        "pageref": page,
        "startedDateTime": _date(float(exchange.sent["wallTime"])),
        "time": round(sum(value for name, value in timings.items() if value > 0 and name != "ssl"), 3),
        "request": {
            "method": request["method"],
            "url": exchange.url,
            "httpVersion": protocol,
            "cookies": [],
            "headers": _headers(request.get("headers", {})),
            "queryString": [{"name": name, "value": value} for name, _, value in pairs],
            "headersSize": -1,
            "bodySize": 0,
        },
        "response": {
            "status": response.get("status", 0),
            "statusText": response.get("statusText", ""),
            "httpVersion": protocol,
            "cookies": [],
            "headers": _headers(response.get("headers", {})),
            "content": {"size": exchange.body_bytes, "mimeType": response.get("mimeType", "")},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": exchange.body_bytes,
            "_transferSize": exchange.wire_bytes or header_bytes,
        },
        "cache": {},
        "timings": timings,
        "serverIPAddress": str(response.get("remoteIPAddress", "")).strip("[]"),
        "connection": str(response.get("connectionId", "")),
        "_initiator": dict(exchange.sent.get("initiator", {})),
        "_priority": request.get("initialPriority"),
    }
    start_s, end_s = exchange.at_s("connectStart"), exchange.at_s("connectEnd")
    if start_s is not None and end_s is not None:
        entry["_handshake"] = round((end_s - start_s) * 1e3, 3)
    return entry


def _timings(exchange: Exchange) -> dict[str, float]:
    """Return `timings` [ms]: their sum, without `ssl`, is the time from the request to its last byte."""
    of = exchange.timing
    base_s = float(((exchange.response or {}).get("timing") or {}).get("requestTime", exchange.sent_s))
    queued = max(0.0, (base_s - exchange.sent_s) * 1e3)
    send = of("sendStart")
    dns = of("dnsEnd") - of("dnsStart") if of("dnsStart") >= 0 else _NONE
    connect = min(of("connectEnd"), send) - of("connectStart") if of("connectStart") >= 0 else _NONE
    ssl = min(of("sslEnd"), send) - of("sslStart") if of("sslStart") >= 0 else _NONE
    blocked = queued + max(0.0, send) - max(0.0, dns) - max(0.0, connect)
    end = of("receiveHeadersEnd")
    finished_ms = (exchange.finished_s - base_s) * 1e3 if exchange.finished_s is not None else end
    values = {
        "blocked": max(0.0, blocked),
        "dns": dns,
        "connect": max(connect, 0.0) if of("connectStart") >= 0 else _NONE,
        "send": max(0.0, of("sendEnd") - send),
        "wait": max(0.0, end - of("sendEnd")),
        "receive": max(0.0, finished_ms - end),
        "ssl": max(ssl, 0.0) if of("sslStart") >= 0 else _NONE,
    }
    return {name: round(value, 3) for name, value in values.items()}


def _headers(headers: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"name": name, "value": str(value)} for name, value in headers.items()]


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
