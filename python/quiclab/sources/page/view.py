"""An entry of a HAR file as the rules see it, and what recorded it: no value of it is an error here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quiclab.sources.page.timings import instant
from quiclab.sources.page.urls import plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from quiclab.sources.page.entry import Reader

LEADING_NUMBER = re.compile(r"([0-9]{1,6})\b")
FIREFOX_BUILDS = ("firefox", "waterfox", "floorp", "librewolf", "tor browser", "mullvad", "seamonkey", "palemoon")


@dataclass(frozen=True)
class Recorder:
    """What wrote the file.

    Attributes
    ----------
    creator, browser
        Their names, in lower case; empty if the file does not have them.
    version
        The first number of the browser's version, or else of the creator's; `None` without any.
    """

    creator: str
    browser: str
    version: int | None

    @property
    def has_firefox(self) -> bool:
        """Whether the browser was Firefox, or one made of it."""
        return any(build in name for build in FIREFOX_BUILDS for name in (self.creator, self.browser))

    @property
    def is_firefox(self) -> bool:
        """Whether Firefox wrote the file itself, or an extension of it; Playwright has a writer of its own."""
        return self.has_firefox and "playwright" not in self.creator


def recorder_of(log: Mapping[str, Any]) -> Recorder:
    """Return what the file states about its recorder."""
    creator, browser = (
        str(tool.get("name") or "").lower() if isinstance(tool := log.get(name), dict) else ""
        for name in ("creator", "browser")
    )
    versions = [as_object(log.get(name)).get("version") for name in ("browser", "creator")]
    numbers = [found[1] for version in versions if (found := LEADING_NUMBER.match(str(version)))]
    return Recorder(creator, browser, int(numbers[0]) if numbers else None)


class View:
    """An entry as the rules see it: nothing in it is an error."""

    def __init__(self, reader: Reader, recorder: Recorder) -> None:
        self.number = reader.number
        self.entry: Mapping[str, Any] = reader.entry
        self.recorder: Recorder = recorder
        self.request: Mapping[str, Any] = reader.table(self.entry.get("request"), "request")
        self.response: Mapping[str, Any] = reader.table(self.entry.get("response"), "response")
        self.url = plain(reader.text(self.request, "url", "request"))

    @cached_property
    def began(self) -> datetime | None:
        """When it began; `None` if that is no date."""
        return instant(self.entry.get("startedDateTime"))

    @property
    def content(self) -> Mapping[str, Any]:
        """The object `content`; empty if there is none."""
        return as_object(self.response.get("content"))

    @cached_property
    def status(self) -> int:
        """The status of the response; 0 without any."""
        value = self.response.get("status")
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value[:4])
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    @property
    def kind(self) -> str:
        """The kind that the recorder states, in lower case; empty if it states none."""
        return str(self.entry.get("_resourceType") or "").lower()

    @property
    def types(self) -> set[str]:
        """MIME types of request and response."""
        values = (self.content.get("mimeType"), header(self.request, "content-type"))
        return {str(value or "").partition(";")[0].strip().lower() for value in values}

    @property
    def scheme(self) -> str:
        """The scheme of the URL."""
        return self.url.partition(":")[0].lower()

    @property
    def bytes_on_the_wire(self) -> bool:
        """Whether any were counted; negative lengths are none."""
        return any(as_number(self.response.get(name)) > 0 for name in ("bodySize", "_transferSize"))


def header(message: Mapping[str, Any], name: str) -> str:
    """Return the value of a header, by its name in lower case; empty without it."""
    listed = message.get("headers")
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and str(item.get("name", "")).lower() == name:
            return str(item.get("value", ""))
    return ""


def as_object(value: object) -> Mapping[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_number(value: object) -> float:
    """Return a value if it is a number, else -1, as for one that is not known."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else -1
