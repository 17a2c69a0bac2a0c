"""Make a HAR file of a page as there are many: 120 requests to three servers, chains of up to four.

A document of a shop: style sheets and scripts on its own server and a CDN, fonts that a style sheet names, a framework
that fetches data and then images, an analytics server that leads to further requests. All numbers are invented; sizes
are of the order of the medians of the HTTP Archive's Web Almanac 2022 (page weight: 70 requests and 2 MB on a desktop).
Times are those of a browser on 10 Mbit/s and 40 ms, roughly: the recording's network does not enter the replay, only
delays and waits do.

    python tools/page_har.py > scenarios/pages/shop.har
"""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

SHOP, CDN, STATS = "https://www.shop.example", "https://cdn.example", "https://stats.example"
ROUND_TRIP_MS = {SHOP: 40.0, CDN: 20.0, STATS: 60.0}
BEGIN = datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)
MIMES = {"script": "text/javascript", "stylesheet": "text/css", "image": "image/webp", "font": "font/woff2"}
RATE_BYTES_PER_MS = 1250
REQUESTS = 120


class Recording:
    """Entries so far, as Chrome writes them."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.ends: list[float] = []
        self.connected: set[str] = set()
        self.random = random.Random(8)  # noqa: S311 - sizes, no secrets

    def add(self, url: str, kind: str, size: int, after: int | None, delay_ms: float, think_ms: float = 2.0) -> int:
        """Add a request that another leads to; returns its number."""
        begin = 0.0 if after is None else self.ends[after] + delay_ms
        origin = "/".join(url.split("/")[:3])
        round_trip = ROUND_TRIP_MS[origin]
        first = origin not in self.connected
        self.connected.add(origin)
        connect, ssl = (2 * round_trip, round_trip) if first else (-1, -1)
        wait = round_trip + think_ms
        receive = size / RATE_BYTES_PER_MS
        time = max(connect, 0) + wait + receive
        plain = "text/html" if after is None else "application/json"
        headers = [
            {"name": "accept", "value": "*/*"},
            {"name": "accept-encoding", "value": "gzip, deflate, br"},
            {"name": "user-agent", "value": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/122.0"},
            {"name": ":path", "value": url.removeprefix(origin)},
        ]
        entry: dict[str, Any] = {
            "startedDateTime": (BEGIN + timedelta(milliseconds=round(begin, 3))).isoformat(timespec="milliseconds"),
            "time": round(time, 3),
            "_resourceType": kind,
            "_initiator": self.initiator(kind, after),
            "request": {
                "method": "GET",
                "url": url,
                "httpVersion": "http/2.0",
                "headers": headers,
                "headersSize": -1,
                "bodySize": 0,
            },
            "response": {
                "status": 200,
                "httpVersion": "http/2.0",
                "headers": [
                    {"name": "content-type", "value": MIMES.get(kind, "text/html")},
                    {"name": "content-length", "value": str(size)},
                    {"name": "cache-control", "value": "max-age=31536000"},
                ],
                "content": {"size": size, "mimeType": MIMES.get(kind, plain)},
                "redirectURL": "",
                "headersSize": -1,
                "bodySize": -1,
                "_transferSize": size + 100,
            },
            "timings": {
                "blocked": 0,
                "dns": -1,
                "connect": connect,
                "ssl": ssl,
                "send": 0,
                "wait": wait,
                "receive": round(receive, 3),
            },
            "pageref": "page_1",
        }
        self.entries.append(entry)
        self.ends.append(begin + time)
        return len(self.entries) - 1

    def initiator(self, kind: str, after: int | None) -> dict[str, Any]:
        """Describe what led to a request."""
        if after is None:
            return {"type": "other"}
        parent = self.entries[after]
        url = parent["request"]["url"]
        if parent["_resourceType"] == "script" or kind == "fetch":
            return {"type": "script", "stack": {"callFrames": [{"functionName": "load", "url": url, "lineNumber": 1}]}}
        return {"type": "parser", "url": url, "lineNumber": 12}

    def size(self, middle: int) -> int:
        """Draw a size around a middle, as sizes are: with a long tail."""
        return max(200, round(middle * self.random.lognormvariate(0, 0.6)))


def shop() -> dict[str, Any]:
    """Return the recording."""
    page = Recording()
    html = page.add(f"{SHOP}/", "document", 28_000, None, 0, think_ms=80)
    sheets = ("base", "shop", "print")
    styles = [page.add(f"{SHOP}/css/{name}.css", "stylesheet", page.size(14_000), html, 2) for name in sheets]
    theme = page.add(f"{CDN}/theme/theme.css", "stylesheet", page.size(20_000), html, 2)
    scripts = [page.add(f"{SHOP}/js/part{number}.js", "script", page.size(18_000), html, 4) for number in range(8)]
    framework = page.add(f"{CDN}/framework/core.js", "script", 92_000, html, 4)
    tags = page.add(f"{STATS}/tag.js", "script", 31_000, html, 5)
    for number in range(30):
        page.add(f"{SHOP}/img/product{number}.webp", "image", page.size(16_000), html, 6)
    for sheet, names in ((theme, ("regular", "bold", "icons")), (styles[0], ("serif",))):
        for name in names:
            page.add(f"{CDN}/fonts/{name}.woff2", "font", page.size(24_000), sheet, 3)
    for number in range(6):
        page.add(f"{SHOP}/img/sprite{number}.webp", "image", page.size(5_000), styles[1], 3)
    chunks = [
        page.add(f"{CDN}/framework/chunk{number}.js", "script", page.size(22_000), framework, 12) for number in range(6)
    ]
    data = [
        page.add(f"{SHOP}/api/list{number}", "fetch", page.size(6_000), chunk, 8, think_ms=35)
        for number, chunk in enumerate(chunks)
    ]
    for number in range(36):
        page.add(f"{CDN}/photos/{number}.webp", "image", page.size(14_000), data[number % len(data)], 5)
    collected = page.add(f"{STATS}/config", "fetch", 2_500, tags, 10, think_ms=15)
    while len(page.entries) < REQUESTS - 2:
        page.add(f"{STATS}/pixel{len(page.entries)}", "image", 300, collected, 2)
    for number, script in enumerate(scripts[:2]):
        page.add(f"{SHOP}/api/user{number}", "fetch", page.size(1_500), script, 6, think_ms=25)
    order = sorted(range(len(page.entries)), key=lambda number: page.entries[number]["startedDateTime"])
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "tools/page_har.py", "version": "1"},
            "pages": [
                {
                    "id": "page_1",
                    "title": f"{SHOP}/",
                    "startedDateTime": BEGIN.isoformat(timespec="milliseconds"),
                    "pageTimings": {"onContentLoad": -1, "onLoad": round(max(page.ends), 3)},
                }
            ],
            "entries": [page.entries[number] for number in order],
        }
    }


if __name__ == "__main__":
    print(json.dumps(shop(), separators=(",", ":")))
