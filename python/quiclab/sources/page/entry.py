"""One entry of a HAR file (HTTP Archive 1.2): its values, and errors in it.

| Quantity | Taken from, in this order |
| --- | --- |
| body on the wire | `bodySize`, `_transferSize` or `content`, by recorder: see `sizes.py` |
| header sections | `headers`, as HPACK (RFC 7541) would write them the first time, see `Sections`; 100 B without them |
| uploaded body | `request.bodySize`, counted with the request's section |
| start, length | `startedDateTime`, `time`; without it the sum of `timings` |
| waiting, handshake | `timings`, see `timings.py` |

A size or time of -1 means "not known" (HAR 1.2), any other negative one, too: Chromium subtracts lengths of header
sections that were not transferred, and times on two clocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from quiclab.errors import RequestError, unexpected
from quiclab.sources.page.sizes import MAX_BODY_BYTES, body_of
from quiclab.sources.page.timings import instant, times_of
from quiclab.sources.page.urls import initiators, resolved
from quiclab.sources.page.view import header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.sources.page.view import View

Kind: TypeAlias = Literal["style", "script", "image", "font"]

# Chromium's limit for a header list, which is also that of the workload
MAX_SECTION_BYTES = 256 * 1024
# a page that takes longer is not being loaded
MAX_MS = 3_600_000.0
# codes of letters and digits have 5 to 7 bits (RFC 7541 appendix B)
HUFFMAN_BITS = 6
PORTS = {"https": 443, "http": 80}
REDIRECTIONS = range(300, 400)
# JSON can write halves of a pair of UTF-16, which no other text can
SURROGATE = "a string without lone surrogates"
NO_REDIRECT = "redirect to what is no URL: none"


@dataclass(frozen=True)
class Entry:
    """A request of the page as it was recorded.

    Attributes
    ----------
    number
        Its position in `log.entries`, from 0.
    url, origin
        Without fragment; scheme, host and port.
    kind
        Its kind for the priorities of a browser.
    is_preflight
        Whether it asks for permission of the request to the same URL that follows it.
    body_bytes
        Length of the body on the wire; `None` if the file does not state it.
    size_is_decoded
        The length is that after decoding: what was on the wire may have been shorter.
    started_ms, duration_ms
        Time of the request in the browser, and duration of the load.
    wait_ms
        From the end of the request to the first byte of the answer; `None` if not recorded.
    handshake_ms
        Time of the round trip of a TCP handshake; `None` if no connection was opened for it.
    upload_bytes
        Length of the body of the request.
    request_headers, response_headers
        Names and values; `None` if not recorded.
    initiators
        URLs that may have led to it, the likeliest first, with where each was found.
    redirect
        Where its answer sends the browser; empty for nowhere.
    assumed
        Assumptions that differ from the file, to be counted.
    """

    number: int
    url: str
    origin: str
    kind: Kind
    is_preflight: bool
    body_bytes: int | None
    size_is_decoded: bool
    started_ms: float
    duration_ms: float
    wait_ms: float | None
    handshake_ms: float | None
    upload_bytes: int
    request_headers: tuple[tuple[str, str], ...] | None
    response_headers: tuple[tuple[str, str], ...] | None
    initiators: tuple[tuple[str, str], ...]
    redirect: str
    assumed: tuple[str, ...]

    @property
    def end_ms(self) -> float:
        """When it was complete."""
        return self.started_ms + self.duration_ms


class Reader:
    """Fields of one entry; raises an error for each invalid field."""

    def __init__(self, file: str, number: int, entry: object) -> None:
        self.file, self.number = file, number
        self.entry = self.table(entry, "")

    def refuse(self, field: str, value: object, expected: str) -> RequestError:
        """Return the error about a field."""
        name = f"log.entries.{self.number}" + (f".{field}" if field else "")
        return unexpected(name, expected, value, where=self.file)

    def table(self, value: object, field: str) -> Mapping[str, Any]:
        """Take an object."""
        if not isinstance(value, dict):
            raise self.refuse(field, value, "an object")
        return value

    def text(self, table: Mapping[str, Any], name: str, field: str) -> str:
        """Read a string; empty if it is missing."""
        value = table.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.refuse(f"{field}.{name}" if field else name, value, "a string")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.refuse(f"{field}.{name}" if field else name, value, SURROGATE) from None
        return value

    def size(self, table: Mapping[str, Any], name: str, field: str) -> int | None:
        """Take a length in bytes; `None`: not known."""
        value = table.get(name)
        if value is None or _is_negative(value):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_BODY_BYTES:
            raise self.refuse(f"{field}.{name}", value, f"a length of 0 to {MAX_BODY_BYTES} bytes, or -1 (not known)")
        return int(value)

    def milliseconds(self, table: Mapping[str, Any], name: str, field: str) -> float | None:
        """Take a time; `None`: it does not apply."""
        value = table.get(name)
        if value is None or _is_negative(value):
            return None
        path = f"{field}.{name}" if field else name
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_MS:
            raise self.refuse(path, value, f"a time of 0 to {MAX_MS:.0f} ms, or -1 (does not apply)")
        return float(value)

    def started(self) -> datetime:
        """Take when the request began."""
        text = self.text(self.entry, "startedDateTime", "")
        found = instant(text)
        if found is None:
            raise self.refuse("startedDateTime", text or None, "a date and time (ISO 8601)")
        return found

    def headers(self, message: Mapping[str, Any], field: str) -> tuple[tuple[str, str], ...] | None:
        """Take names and values of a message's headers; `None` if there are none."""
        listed = message.get("headers")
        if not listed:
            return None
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise self.refuse(f"{field}.headers", listed, "a list of objects with name and value")
        return tuple((str(item.get("name", "")).lower(), str(item.get("value", ""))) for item in listed)


def _is_negative(value: object) -> bool:
    return isinstance(value, int | float) and value < 0


def read_entry(reader: Reader, view: View, origin_of_time: datetime) -> Entry:
    """Take what counts of an entry.

    Parameters
    ----------
    reader
        The entry.
    view
        The same entry, as the rules see it.
    origin_of_time
        The origin of times.

    Raises
    ------
    RequestError
        With number of the entry and field.
    """
    entry = reader.entry
    request, response = view.request, view.response
    reader.table(response.get("content") or {}, "response.content")
    try:
        url = resolved("", view.url) or ""
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise reader.refuse("request.url", view.url, "a URL") from None
    if not parts.hostname:
        raise reader.refuse("request.url", view.url, "a URL with a host")
    started_ms = (reader.started() - origin_of_time).total_seconds() * 1000
    if not abs(started_ms) <= MAX_MS:
        allowed = f"a time within {MAX_MS / 1000:.0f} s of the first entry, {origin_of_time.isoformat()}"
        raise reader.refuse("startedDateTime", entry.get("startedDateTime"), allowed)
    times = times_of(reader, view.recorder.has_firefox)
    body, decoded = body_of(reader, view)
    redirect = reader.text(response, "redirectURL", "response")
    if not redirect and view.status in REDIRECTIONS:
        redirect = header(response, "location")
    target = resolved(url, redirect) if redirect else ""
    request_headers = reader.headers(request, "request")
    return Entry(
        number=reader.number,
        url=url,
        origin=f"{parts.scheme}://{parts.hostname}:{port}",
        kind=kind_of(entry, reader.text(view.content, "mimeType", "response.content"), parts.path),
        is_preflight=view.kind == "preflight"
        or (request.get("method") == "OPTIONS" and bool(header(request, "access-control-request-method"))),
        body_bytes=body,
        size_is_decoded=decoded,
        started_ms=started_ms,
        duration_ms=times.duration_ms,
        wait_ms=times.wait_ms,
        handshake_ms=times.handshake_ms,
        upload_bytes=reader.size(request, "bodySize", "request") or 0,
        request_headers=request_headers,
        response_headers=reader.headers(response, "response"),
        initiators=tuple(initiators(entry, request_headers)),
        redirect=target or "",
        assumed=(*times.assumed, *([NO_REDIRECT] if target is None else [])),
    )


def kind_of(entry: Mapping[str, Any], mime: str, path: str) -> Kind:
    """Return the kind of a response for the priorities of a browser, of the four kinds that pages have.

    What is none of them gets the one that has its priority in Chromium (`TypeToPriority`, blink's resource_fetcher.cc):
    frames that of style sheets (highest), fetch, XHR and other text that of scripts (high), media that of images (low).
    """
    mime = mime.partition(";")[0].strip().lower()
    recorded = entry.get("_resourceType")
    kinds: dict[object, Kind] = {"stylesheet": "style", "script": "script", "image": "image", "font": "font"}
    if isinstance(recorded, str) and recorded in kinds:
        return kinds[recorded]
    if "css" in mime or mime in ("text/html", "application/xhtml+xml"):
        return "style"
    if mime.startswith(("image/", "audio/", "video/")):
        return "image"
    if "font" in mime or path.endswith((".woff", ".woff2", ".ttf", ".otf")):
        return "font"
    return "script"


class Sections:
    """Lengths of header sections on one connection.

    As HPACK and QPACK write them: a field that was sent before is an index of one byte (RFC 7541 section 6.1); else its
    value, and its name the first time, are literals of Huffman codes (section 5.2), 6 bits for a character. Indices
    beyond the first 62, table eviction and fields that are never indexed are not modelled.
    """

    def __init__(self) -> None:
        self.fields: set[tuple[str, str]] = set()
        self.names: set[str] = set()

    def length(self, headers: tuple[tuple[str, str], ...]) -> int:
        """Return the length of the next section in bytes, at least 1."""
        total = 0
        for name, value in headers:
            total += 1
            if (name, value) in self.fields:
                continue
            total += 1 + math.ceil(len(value) * HUFFMAN_BITS / 8)
            if name not in self.names:
                total += 1 + math.ceil(len(name) * HUFFMAN_BITS / 8)
            self.fields.add((name, value))
            self.names.add(name)
        return max(1, min(total, MAX_SECTION_BYTES))
