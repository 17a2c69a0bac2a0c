"""From a HAR file to the components of a page load: sizes, order, dependencies, delays, think times.

Missing values are assumed, and each assumption is counted (`RecordedPage.counts`):

| Value | Assumption |
| --- | --- |
| what led to a request | the redirect to it; else `_initiator`, its stack; else Referer; else the document |
| delay | from the end of what led to it to its start; 0 where it began before (a preload scanner reads on the way) |
| server's think time | `timings.wait` less the round trip of a handshake with its server, else less its shortest wait |
| body whose length is missing | the median of those that are known |
| a body of nothing | 1 B, the workload's least |

Origins have a connection each, as with HTTP/2 and HTTP/3. `rules.py` and `selection.py` leave entries out,
`document.py` finds the document.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from quiclab._base.places import parse_json
from quiclab.errors import RequestError, unexpected
from quiclab.sources.page.entry import MAX_SECTION_BYTES, Entry, Kind, Sections
from quiclab.sources.page.parents import parents_of
from quiclab.sources.page.rules import REASONS
from quiclab.sources.page.selection import Selection, select
from quiclab.sources.page.sizes import PLAIN_SECTION_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_ENTRIES = 10_000
MAX_FILE_BYTES = 256 * 1024 * 1024
# as the scenario's `origin`
MAX_ORIGINS = 256


@dataclass(frozen=True)
class Resource:
    """A resource of the page.

    Attributes
    ----------
    entry
        Number of its entry in the file.
    url
        Without fragment.
    kind
        Its kind for the priorities of a browser.
    origin
        Position in `RecordedPage.origins`.
    after
        Position in `RecordedPage.resources` of the resource that led to its request; `None` for the document.
    delay_ms
        Time from the completion of that resource to the request [ms].
    think_time_ms
        Think time of the server [ms]: the recorded wait for the first byte, minus the round-trip time.
    body_bytes
        Length of the response body [B].
    request_bytes, response_bytes
        Lengths of the header sections of request and response [B].
    """

    entry: int
    url: str
    kind: Kind
    origin: int
    after: int | None
    delay_ms: float
    think_time_ms: float
    body_bytes: int
    request_bytes: int
    response_bytes: int


@dataclass(frozen=True)
class RecordedPage:
    """A recorded page.

    Attributes
    ----------
    file
        Name of the HAR file.
    url
        Address of the document, after redirects.
    resources
        Resources, the document first; each follows the resource that led to its request.
    origins
        Scheme, host and port of each server, that of the document first.
    chain
        Positions in `resources` of the redirects to the document, and of the document.
    entries
        Number of entries of the file.
    left_out
        Number of entries that are left out, by reason.
    counts
        Those, and the number of entries by assumption.
    on_load_ms
        Load time reported by the browser [ms]; `None` if missing.
    """

    file: str
    url: str
    resources: tuple[Resource, ...]
    origins: tuple[str, ...]
    chain: tuple[int, ...]
    entries: int
    left_out: Mapping[str, int]
    counts: Mapping[str, int]
    on_load_ms: float | None

    def role(self, resource: int) -> Literal["document", "redirect"] | None:
        """Return what a resource is in the chain to the document; `None` for all others."""
        if resource == self.chain[-1]:
            return "document"
        return "redirect" if resource in self.chain else None

    @property
    def body_bytes(self) -> int:
        """All bodies."""
        return sum(resource.body_bytes for resource in self.resources)

    @property
    def depth(self) -> int:
        """Resources in the longest chain, one leading to the next; the document alone has 1."""
        depths: list[int] = []
        for resource in self.resources:
            depths.append(1 if resource.after is None else 1 + depths[resource.after])
        return max(depths)


def read_har(path: Path) -> RecordedPage:
    """Read a HAR file.

    Raises
    ------
    RequestError
        If it cannot be read or is not a HAR file; the message names entry and field.
    """
    log = _log(path)
    name = str(path)
    entries = log.get("entries")
    if not isinstance(entries, list) or not entries:
        raise unexpected("log.entries", f"a list of 1 to {MAX_ENTRIES} entries", entries, where=name)
    if len(entries) > MAX_ENTRIES:
        raise unexpected("log.entries", f"at most {MAX_ENTRIES} entries", len(entries), where=name)
    chosen = select(name, log, entries)
    kept = chosen.entries
    if not any(entry.body_bytes is not None for entry in kept):
        field = f"log.entries.{kept[0].number}.response"
        expected = "bodySize, _transferSize or content.size in at least one entry"
        raise RequestError(
            f"{name}: {field}: no size in this or any other response before onLoad; expected {expected}",
            path=field,
            kind="MissingField",
            expected=expected,
        )
    counts = Counter({reason: chosen.left_out[reason] for reason in REASONS if chosen.left_out[reason]})
    counts.update(+chosen.assumed)
    parents = parents_of(name, kept, chosen.chain, counts)
    return _page(name, chosen, parents, counts, len(entries))


def _log(path: Path) -> Mapping[str, Any]:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            hint = "record it without response contents"
            raise unexpected("", f"at most {MAX_FILE_BYTES} bytes", size, hint, where=str(path))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"cannot read {path}: not UTF-8 text") from error
    try:
        document = parse_json(text, str(path))
    except RecursionError as error:
        raise RequestError(f"{path} is not a HAR file: its JSON is nested too deeply") from error
    log = document.get("log") if isinstance(document, dict) else None
    if not isinstance(log, dict):
        raise RequestError(f"{path} is not a HAR file: the object `log` is missing (HAR 1.2)")
    return log


def _page(
    name: str, chosen: Selection, parents: Sequence[int | None], counts: Counter[str], entries: int
) -> RecordedPage:
    kept = chosen.entries
    order = _order(parents)
    place = {position: number for number, position in enumerate(order)}
    origins: dict[str, int] = {}
    for position in order:
        origins.setdefault(kept[position].origin, len(origins))
    if len(origins) > MAX_ORIGINS:
        raise unexpected("log.entries", f"at most {MAX_ORIGINS} origins", len(origins), where=name)
    known = [entry.body_bytes for entry in kept if entry.body_bytes is not None]
    usual = round(median(known))
    round_trips = _round_trips(kept)
    sections = {origin: (Sections(), Sections()) for origin in origins}
    resources = []
    for position in order:
        entry, parent = kept[position], parents[position]
        delay_ms = 0.0
        if parent is not None:
            delay_ms = entry.started_ms - kept[parent].end_ms
            _count(counts, "began before what led to it was complete", int(delay_ms < 0))
        counts.update(entry.assumed)
        body = entry.body_bytes
        _count(counts, "length of the body guessed: median of the others", int(body is None))
        _count(counts, "length of the body is that after decoding", int(entry.size_is_decoded))
        _count(counts, "no body: 1 B", int(body == 0))
        request, response = (
            _section(table, headers, counts)
            for table, headers in zip(
                sections[entry.origin], (entry.request_headers, entry.response_headers), strict=True
            )
        )
        _count(counts, "upload longer than 256 KiB cut", int(request + entry.upload_bytes > MAX_SECTION_BYTES))
        resources.append(
            Resource(
                entry=entry.number,
                url=entry.url,
                kind=entry.kind,
                origin=origins[entry.origin],
                after=None if parent is None else place[parent],
                delay_ms=max(delay_ms, 0.0),
                think_time_ms=_think_time(entry, round_trips, counts),
                body_bytes=max(usual if body is None else body, 1),
                request_bytes=min(request + entry.upload_bytes, MAX_SECTION_BYTES),
                response_bytes=response,
            )
        )
    return RecordedPage(
        file=name,
        url=chosen.url,
        resources=tuple(resources),
        origins=tuple(origins),
        chain=tuple(place[position] for position in chosen.chain),
        entries=entries,
        left_out={reason: counts[reason] for reason in REASONS if counts[reason]},
        counts=dict(counts),
        on_load_ms=chosen.on_load_ms,
    )


def _order(parents: Sequence[int | None]) -> list[int]:
    """Return positions so that each comes after what led to it, otherwise as they began."""
    children: dict[int, list[int]] = {}
    for position, parent in enumerate(parents):
        if parent is not None:
            children.setdefault(parent, []).append(position)
    order, ready = [], [0]
    while ready:
        position = heapq.heappop(ready)
        order.append(position)
        for child in children.get(position, ()):
            heapq.heappush(ready, child)
    return order


def _section(table: Sections, headers: tuple[tuple[str, str], ...] | None, counts: Counter[str]) -> int:
    if headers is None:
        _count(counts, "header section without headers: 100 B")
        return PLAIN_SECTION_BYTES
    return table.length(headers)


@dataclass(frozen=True)
class _RoundTrip:
    time_ms: float
    measured: bool


def _round_trips(kept: Sequence[Entry]) -> dict[str, _RoundTrip]:
    """Return the round trip of each origin: the shortest handshake, else the shortest wait."""
    found: dict[str, _RoundTrip] = {}
    for origin in {entry.origin for entry in kept}:
        here = [entry for entry in kept if entry.origin == origin]
        handshakes = [entry.handshake_ms for entry in here if entry.handshake_ms is not None]
        waits = [entry.wait_ms for entry in here if entry.wait_ms is not None]
        if handshakes:
            found[origin] = _RoundTrip(min(handshakes), True)
        elif waits:
            found[origin] = _RoundTrip(min(waits), False)
    return found


def _think_time(entry: Entry, round_trips: Mapping[str, _RoundTrip], counts: Counter[str]) -> float:
    if entry.wait_ms is None:
        _count(counts, "no wait recorded: no think time")
        return 0.0
    round_trip = round_trips[entry.origin]
    _count(counts, "round trip not recorded: shortest wait of the server", int(not round_trip.measured))
    return max(entry.wait_ms - round_trip.time_ms, 0.0)


def _count(counts: Counter[str], what: str, times: int = 1) -> None:
    if times:
        counts[what] += times
