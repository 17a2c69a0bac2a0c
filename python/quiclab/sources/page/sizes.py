"""Length of a body on the wire: what each recorder means by `bodySize`, `_transferSize` and `content`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quiclab.sources.page.rules import STATUS_NOT_MODIFIED
from quiclab.sources.page.view import header

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.sources.page.entry import Reader
    from quiclab.sources.page.view import View

PLAIN_SECTION_BYTES = 100
MAX_BODY_BYTES = 10**10
#: Files of Firefox 43, 47 and 54 have the lengths of bodies there, those of 57 the sum (browsermob-proxy issue 723).
FIREFOX_COUNTS_HEADERS = 55
BODILESS = (*range(100, 200), 204, 205, STATUS_NOT_MODIFIED)


@dataclass(frozen=True)
class Lengths:
    """The lengths that a file states [B]; `None` if unknown.

    Attributes
    ----------
    view
        The entry.
    body, head, transferred
        `bodySize`, `headersSize` and `_transferSize` of the response.
    size
        `content.size`.
    """

    view: View
    body: int | None
    head: int | None
    transferred: int | None
    size: int | None

    def less_headers(self, length: int) -> int:
        """Return what is left of a length without the header section, which is assumed where it is unknown."""
        return max(length - (self.head or PLAIN_SECTION_BYTES), 0)


@dataclass(frozen=True)
class Case:
    """A form in which recorders state the length.

    Attributes
    ----------
    name
        When it holds.
    source
        Who writes it, and where that is defined.
    length
        The length; `None` if the case does not hold.
    """

    name: str
    source: str
    length: Callable[[Lengths], int | None]


def _bodiless(lengths: Lengths) -> int | None:
    view = lengths.view
    return 0 if view.request.get("method") == "HEAD" or view.status in BODILESS else None


def _firefox(lengths: Lengths) -> int | None:
    body, head = lengths.body, lengths.head
    if not body or not lengths.view.recorder.is_firefox:
        return None
    recorder = lengths.view.recorder
    # browsers made of Firefox number their own versions
    own_version = math.inf if recorder.version is None else recorder.version
    counts_headers = "firefox" not in (recorder.browser or recorder.creator) or own_version >= FIREFOX_COUNTS_HEADERS
    return body - head if counts_headers and head and body >= head and body != lengths.size else body


def _received(lengths: Lengths) -> int | None:
    received = _counted(lengths.view.entry.get("_bytesIn"))
    known = lengths.body or lengths.size or lengths.transferred
    return lengths.less_headers(received) if received and not known else None


def _compressed(lengths: Lengths) -> int | None:
    saved = lengths.view.content.get("compression")
    size = lengths.size or 0
    return size - saved if isinstance(saved, int) and 0 < saved < size else None


DECODED = Case("`content.size`, after decoding", "HAR 1.2", lambda lengths: lengths.size)
#: The first that holds.
CASES: tuple[Case, ...] = (
    Case(
        "answer to HEAD; status 1xx, 204, 205, 304: none, whatever the file states",
        "RFC 9110 sections 6.4.1 and 15.3.6",
        _bodiless,
    ),
    Case(
        "of Firefox `bodySize` less `headersSize`, unless it equals `content.size`, is less than `headersSize`, or the "
        "version is below 55",
        "Firefox: devtools/shared/network-observer/NetworkResponseListener, transferredSize = bodySize + headersSize; "
        "shared/webconsole/network-monitor.js of older versions, transferredSize alone",
        _firefox,
    ),
    Case(
        "`bodySize` that equals `_transferSize`, less the headers",
        "chrome-har over HTTP/2 and HTTP/3: both are `encodedDataLength`",
        lambda lengths: (
            lengths.less_headers(lengths.body) if lengths.body == lengths.transferred and lengths.body else None
        ),
    ),
    Case(
        "no `bodySize` and no content, but `_bytesIn`, less the headers",
        "WebPageTest over SPDY and HTTP/2: `_objectSize` is 0",
        _received,
    ),
    Case(
        "`bodySize` above 0, or 0 without content",
        "HAR 1.2",
        lambda lengths: lengths.body if lengths.body or not lengths.size else None,
    ),
    Case(
        "`_transferSize` less the headers",
        "Chromium over HTTP/2 and HTTP/3 (models/har/Log.ts): `bodySize` is -1",
        lambda lengths: lengths.less_headers(lengths.transferred) if lengths.transferred else None,
    ),
    Case("`content.size` less `content.compression`", "HAR 1.2", _compressed),
    Case(
        "header `Content-Length`",
        "RFC 9110 section 8.6",
        lambda lengths: _counted(header(lengths.view.response, "content-length")),
    ),
    DECODED,
)


def body_of(reader: Reader, view: View) -> tuple[int | None, bool]:
    """Return the length of the body on the wire, `None` if unknown, and whether it is only that after decoding."""
    lengths = Lengths(
        view=view,
        body=reader.size(view.response, "bodySize", "response"),
        head=reader.size(view.response, "headersSize", "response"),
        transferred=reader.size(view.response, "_transferSize", "response"),
        size=reader.size(view.content, "size", "response.content"),
    )
    for case in CASES:
        length = case.length(lengths)
        if length is not None:
            return length, case is DECODED
    return None, False


def _counted(value: object) -> int | None:
    """Take a length that may be written as digits; `None` if it is none."""
    text = str(value)
    if not text.isascii() or not text.isdigit() or len(text) > len(str(MAX_BODY_BYTES)):
        return None
    return min(int(text), MAX_BODY_BYTES)
