"""Which entry is the document of the page, where its load begins, and when it ends.

| Sign of the document, the first that an entry has | Written by |
| --- | --- |
| its URL is `pages[]._URL` | WebPageTest, whose first entry may be of the system (OCSP) |
| `_is_base_page` | WebPageTest |
| its URL is in `pages[].title` | Chromium (models/har/Log.ts), Safari (HARBuilder.js), chrome-har, older WebPageTest |
| `_resourceType` is `document` | Chromium |
| header `Sec-Fetch-Dest: document` | all browsers (Fetch Metadata), as Firefox and proxies record it |
| HTML in answer to GET, without a Referer: a frame has one | |
| it began first | |

The load begins with the first of the redirects that led to the document (`redirectURL`, else Location): these are
resources, too. Where the document itself is left out, as from a cache, the first transfer stands for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from quiclab.sources.page.urls import resolved
from quiclab.sources.page.view import header

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from quiclab.sources.page.entry import Entry
    from quiclab.sources.page.view import View

HTML = ("text/html", "application/xhtml+xml")
# What Chromium shows of an URL, and some words
MAX_TITLE = 4096
ANY_URL = re.compile(r"https?://\S+")
# Fetch, section 4.4 HTTP-redirect fetch: the 21st is an error
MAX_REDIRECTS = 20


def document_of(page: Mapping[str, Any], views: Sequence[View]) -> View | None:
    """Return the entry of the document, of entries in the order in which they began; `None` without a sign of one."""
    stated = _spellings(page.get("_URL"))
    titles = {spelt for url in ANY_URL.findall(str(page.get("title") or "")[:MAX_TITLE]) for spelt in _spellings(url)}
    signs: list[Callable[[View], bool]] = [
        lambda view: _spelt(view.url) in stated,
        lambda view: view.entry.get("_is_base_page") in (True, 1, "1", "true"),
        lambda view: _spelt(view.url) in titles,
        lambda view: view.kind == "document",
        lambda view: header(view.request, "sec-fetch-dest") == "document",
        lambda view: (
            view.request.get("method") == "GET"
            and not view.types.isdisjoint(HTML)
            and not header(view.request, "referer")
        ),
    ]
    http = [view for view in views if view.scheme in ("http", "https")]
    return next((view for sign in signs for view in http if sign(view)), None)


def _spellings(stated: object) -> set[str]:
    """Return the URLs that a person may have meant, who may have typed one without scheme or slash."""
    if not isinstance(stated, str) or not stated.strip():
        return set()
    wanted = stated.strip()
    return {_spelt(wanted)} if "://" in wanted else {_spelt(f"{scheme}://{wanted}") for scheme in ("https", "http")}


def _spelt(url: str) -> str:
    return (resolved("", url) or "").rstrip("/")


def is_navigation(view: View) -> bool:
    """Whether the entry is a navigation of the window, by what the browser sent with it."""
    return header(view.request, "sec-fetch-dest") == "document" and header(view.request, "sec-fetch-mode") == "navigate"


def chain_of(document: Entry, entries: Sequence[Entry]) -> list[Entry]:
    """Return the redirects that led to an entry, in their order, the entry, and those that it begins."""
    chain = [document]
    while len(chain) <= MAX_REDIRECTS:
        known = {entry.number for entry in chain}
        first = chain[0]
        before = [
            entry
            for entry in entries
            if entry.redirect == first.url and entry.started_ms <= first.started_ms and entry.number not in known
        ]
        if not before:
            break
        chain.insert(0, max(before, key=lambda entry: (entry.started_ms, entry.number)))
    while chain[-1].redirect and len(chain) <= MAX_REDIRECTS:
        known = {entry.number for entry in chain}
        last = chain[-1]
        after = [
            entry
            for entry in entries
            if entry.url == last.redirect and entry.started_ms >= last.started_ms and entry.number not in known
        ]
        if not after:
            break
        chain.append(min(after, key=lambda entry: (entry.started_ms, entry.number)))
    return chain
