"""Which entries of a HAR file are transfers of one load of one page, and why the others are left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from quiclab.errors import RequestError, unexpected
from quiclab.sources.page.document import chain_of, document_of, is_navigation
from quiclab.sources.page.entry import MAX_MS, Entry, Reader, read_entry
from quiclab.sources.page.rules import (
    BEFORE,
    CACHE,
    FURTHER_PAGE,
    LATE_END,
    LATE_START,
    RECORDER,
    skip_reason,
)
from quiclab.sources.page.timings import ROUNDING_MS, instant
from quiclab.sources.page.urls import resolved
from quiclab.sources.page.view import View, recorder_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NEVER = datetime.max.replace(tzinfo=UTC)
STAND_IN = "document left out: the first transfer stands for it"
NO_ON_LOAD = "onLoad before the end of the document: not used"


@dataclass(frozen=True)
class Selection:
    """The entries of a load.

    Attributes
    ----------
    entries
        In the order in which they began; the first of `chain` is the first.
    chain
        Positions of the redirects to the document, and of the document.
    left_out
        Number of entries by reason.
    assumed
        Number of assumptions by kind.
    on_load_ms
        Load time that the browser states [ms]; `None` if missing.
    url
        The document's, even where another entry stands for it.
    """

    entries: tuple[Entry, ...]
    chain: tuple[int, ...]
    left_out: Counter[str]
    assumed: Counter[str]
    on_load_ms: float | None
    url: str


def select(name: str, log: Mapping[str, Any], raw: Sequence[object]) -> Selection:
    """Return the entries of the first page of a file that has transfers.

    Raises
    ------
    RequestError
        With number of the entry and field.
    """
    recorder = recorder_of(log)
    readers = [Reader(name, number, entry) for number, entry in enumerate(raw)]
    views = {reader.number: View(reader, recorder) for reader in readers}
    reasons = {number: skip_reason(view) for number, view in views.items()}
    transfers = [views[number] for number, why in reasons.items() if why is None]
    pages = _pages(log, transfers)
    default = _default_ref(pages, transfers)
    number, page = _page(pages, {_ref(view, default) for view in transfers})
    wanted = page.get("id") if page else default
    here = {number for number, view in views.items() if wanted is None or _ref(view, default) == str(wanted)}
    left_out = Counter(why for number, why in reasons.items() if why is not None and number in here)
    left_out[FURTHER_PAGE] += len(readers) - len(here)
    taken = [reader for reader in readers if reader.number in here and reasons[reader.number] is None]
    if not taken:
        listed = ", ".join(f"{reason}: {count}" for reason, count in (+left_out).items())
        raise RequestError(
            f"{name}: none of its {len(readers)} entries is an HTTP transfer over the network ({listed})"
        )
    # the file's first: one absurd time must not make all others absurd
    origin = taken[0].started()
    entries = sorted((read_entry(reader, views[reader.number], origin) for reader in taken), key=_begin)
    assumed: Counter[str] = Counter()
    may_be = [views[number] for number in sorted(here) if reasons[number] in (None, CACHE, RECORDER)]
    found = document_of(page, sorted(may_be, key=lambda view: (view.began or NEVER, view.number)))
    document = _entry_of(found, entries, origin, assumed)
    chain = chain_of(document, entries)
    further = 0
    if wanted is None:
        entries, further = _until_next(views, entries, chain)
    left_out[FURTHER_PAGE] += further
    first = chain[0]
    later = [entry for entry in entries if entry is not first and entry.started_ms >= first.started_ms]
    left_out[BEFORE] += len(entries) - 1 - len(later)
    entries = [first, *later]
    on_load_ms = _on_load(name, number, page)
    if on_load_ms is not None:
        entries = _in_time(entries, chain, on_load_ms, _start_of(page, origin), left_out, assumed)
    places = {entry.number: place for place, entry in enumerate(entries)}
    chain_places = tuple(places[entry.number] for entry in chain)
    url = chain[-1].url
    if found is not None and found.number != document.number:
        url = resolved("", found.url) or found.url
    return Selection(tuple(entries), chain_places, +left_out, assumed, on_load_ms, url)


def _begin(entry: Entry) -> tuple[float, int]:
    return entry.started_ms, entry.number


def _pages(log: Mapping[str, Any], transfers: Sequence[View]) -> list[Mapping[str, Any]]:
    """Return the pages of a file; none where all entries name others, which the file does not have."""
    pages = log.get("pages")
    listed = pages if isinstance(pages, list) else []
    found: list[Mapping[str, Any]] = [page if isinstance(page, dict) else {} for page in listed]
    refs = {str(view.entry.get("pageref") or "") for view in transfers}
    named = {str(page.get("id") or "") for page in found}
    return found if refs & named or "" in refs | named else []


def _default_ref(pages: Sequence[Mapping[str, Any]], transfers: Sequence[View]) -> object:
    """Return the page of entries that name none: the first; `None` if no page has a name."""
    if pages:
        return pages[0].get("id")
    return next((ref for view in transfers if (ref := view.entry.get("pageref"))), None)


def _ref(view: View, default: object) -> str:
    return str(view.entry.get("pageref") or default)


def _page(pages: Sequence[Mapping[str, Any]], refs: set[str]) -> tuple[int, Mapping[str, Any]]:
    """Return the first page that has transfers, with its number; empty without pages."""
    number = next((number for number, page in enumerate(pages) if str(page.get("id")) in refs), 0)
    return number, pages[number] if pages else {}


def _entry_of(found: View | None, entries: Sequence[Entry], origin: datetime, assumed: Counter[str]) -> Entry:
    """Return the entry of the document; the first after it where it was left out."""
    if found is None:
        return entries[0]
    for entry in entries:
        if entry.number == found.number:
            return entry
    assumed[STAND_IN] += 1
    began_ms = 0.0 if found.began is None else _milliseconds(found.began, origin)
    return next((entry for entry in entries if entry.started_ms >= began_ms), entries[0])


def _milliseconds(instant: datetime, origin: datetime) -> float:
    return (instant - origin).total_seconds() * 1000


def _until_next(views: Mapping[int, View], entries: Sequence[Entry], chain: Sequence[Entry]) -> tuple[list[Entry], int]:
    """Return the entries before the next navigation, and the number of the others."""
    own = {entry.number for entry in chain}
    begins = [
        entry.started_ms
        for entry in entries
        if entry.started_ms > chain[-1].started_ms and entry.number not in own and is_navigation(views[entry.number])
    ]
    kept = [entry for entry in entries if not begins or entry.started_ms < begins[0]]
    return kept, len(entries) - len(kept)


def _start_of(page: Mapping[str, Any], origin: datetime) -> float | None:
    """Return when the page began, in ms since `origin`; `None` if it is not stated."""
    began = instant(page.get("startedDateTime"))
    return None if began is None else _milliseconds(began, origin)


def _on_load(name: str, number: int, page: Mapping[str, Any]) -> float | None:
    timings = page.get("pageTimings")
    value = timings.get("onLoad") if isinstance(timings, dict) else None
    if value is None or (isinstance(value, int | float) and value < 0):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= MAX_MS:
        expected = f"a time of 0 to {MAX_MS:.0f} ms, or a negative one (not recorded)"
        raise unexpected(f"log.pages.{number}.pageTimings.onLoad", expected, value, where=name)
    return float(value)


def _in_time(
    entries: Sequence[Entry],
    chain: Sequence[Entry],
    on_load_ms: float,
    page_start_ms: float | None,
    left_out: Counter[str],
    assumed: Counter[str],
) -> list[Entry]:
    """Return the entries for which the load event waited: those that were complete before it.

    `onLoad` counts from the start of the page (HAR 1.2), which may be that of the window (Playwright) or follow
    redirects (Chromium). Where the document would not be complete by then, it counts from the first entry.
    """
    starts = [chain[0].started_ms] if page_start_ms is None else [page_start_ms, chain[0].started_ms]
    ends = [start + on_load_ms for start in starts if start + on_load_ms >= chain[-1].end_ms - ROUNDING_MS]
    if not ends:
        assumed[NO_ON_LOAD] += 1
        return list(entries)
    own = {entry.number for entry in chain}
    kept = []
    for entry in entries:
        if entry.started_ms > ends[0] and entry.number not in own:
            left_out[LATE_START] += 1
        elif entry.end_ms > ends[0] + ROUNDING_MS and entry.number not in own:
            left_out[LATE_END] += 1
        else:
            kept.append(entry)
    return kept
