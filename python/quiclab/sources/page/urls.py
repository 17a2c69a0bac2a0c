"""URLs of an entry: cleaned as browsers do before they parse them, and those that may have led to a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urldefrag, urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

# C0 control or space: what an URL's ends lose
ENDS = "".join(map(chr, range(0x21)))
BREAKS = {ord(character): None for character in "\t\n\r"}
# frames of asynchronous stacks: what lies deeper is the page's framework
MAX_STACKS = 32


def plain(url: str) -> str:
    """Return an URL without spaces around it and line breaks in it; what cannot be printed is percent-encoded.

    After the basic URL parser (WHATWG URL, section 4.4), which encodes all characters beyond ASCII; here only those are
    that a terminal would obey or not show: controls, directions of writing, spaces.
    """
    url = url.strip(ENDS).translate(BREAKS)
    if url.isprintable():
        return url
    return "".join(letter if letter.isprintable() else quote(letter, errors="replace") for letter in url)


def resolved(base: str, url: str) -> str | None:
    """Return an URL without fragment, as seen from another one; `None` if it is none.

    Scheme and host are in lower case, and a path is at least `/`: one URL has one spelling (WHATWG URL, section 4.4).
    """
    try:
        parts = urlsplit(urldefrag(urljoin(base, plain(url))).url)
    except ValueError:
        return None
    if not parts.netloc:
        return parts.geturl()
    return parts._replace(netloc=parts.netloc.lower(), path=parts.path or "/").geturl()


def initiators(entry: Mapping[str, Any], headers: tuple[tuple[str, str], ...] | None) -> list[tuple[str, str]]:
    """Return URLs that may have led to a request, the likeliest first, with where each was found.

    Strings that are not URLs are omitted.
    """
    found: list[tuple[str, str]] = []
    for field in ("_initiator_detail", "_initiator", "initiator"):
        value = entry.get(field)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = _parsed_detail(value)
        if isinstance(value, str):
            found.append((value, field))
        elif isinstance(value, dict):
            found += [(url, field) for url in _urls_of(value)]
    found += [(value, "Referer") for name, value in headers or () if name == "referer"]
    return [(whole, field) for url, field in found if (whole := resolved("", url))]


def _parsed_detail(text: str) -> object:
    """Read the object that some recorders write as a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _urls_of(initiator: Mapping[str, Any]) -> list[str]:
    """Return the URLs in Chrome's description of an initiator: its own, then those of its stacks from the inside."""
    urls = [initiator.get("url")]
    stack = initiator.get("stack")
    for _ in range(MAX_STACKS):
        if not isinstance(stack, dict):
            break
        frames = stack.get("callFrames")
        urls += [frame.get("url") for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else []
        stack = stack.get("parent")
    return [url for url in urls if isinstance(url, str)]
