"""The initiator of each request: a redirect, a preflight, its initiator, the Referer, or the document."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING

from quiclab.errors import unexpected

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from quiclab.sources.page.entry import Entry

# Maximum number of entries of a cycle that an error message names
MAX_SHOWN = 5


def parents_of(name: str, kept: Sequence[Entry], chain: Sequence[int], counts: Counter[str]) -> list[int | None]:
    """Return the position of what led to each entry; `None` for the first.

    Parameters
    ----------
    name
        Name of the file, for messages.
    kept
        The entries, the first of `chain` before all others.
    chain
        Positions of the redirects to the document, and of the document: each leads to the next.
    counts
        Counts what was found where.

    Raises
    ------
    RequestError
        If entries lead to each other in a circle.
    """
    positions: dict[str, list[int]] = {}
    redirects: dict[str, list[int]] = {}
    for position, entry in enumerate(kept):
        if not entry.is_preflight:
            positions.setdefault(entry.url, []).append(position)
        if entry.redirect:
            redirects.setdefault(entry.redirect, []).append(position)
    asked_by = _preflights(kept, positions)
    permits = {asked: preflight for preflight, asked in asked_by.items()}
    leads = dict(zip(chain[1:], chain, strict=False))
    document = chain[-1]
    parents: list[int | None] = [None]
    fields = ["", *("the document" for _ in kept[1:])]
    for position, entry in enumerate(kept[1:], start=1):
        asker = kept[asked_by.get(position, position)]
        candidates = [([leads[position]] if position in leads else [], "a redirect")]
        candidates += [([permits[position]] if position in permits else [], "a preflight")]
        candidates += [(redirects.get(entry.url, []), "a redirect")]
        candidates += [(positions.get(url, []), field) for url, field in (*entry.initiators, *asker.initiators)]
        for found, field in candidates:
            other = nearest(found, position)
            if other is not None and other != asked_by.get(position):
                parents.append(other)
                fields[position] = field
                break
        else:
            parents.append(document if entry.started_ms >= kept[document].started_ms else 0)
    for field in fields[1:]:
        counts[f"what led to it: {'the initiator' if 'nitiator' in field else field}"] += 1
    _refuse_circles(name, kept, parents, fields)
    return parents


def _preflights(kept: Sequence[Entry], positions: Mapping[str, Sequence[int]]) -> dict[int, int]:
    """Return which request each preflight is about: the first of its URL that was complete after it.

    A browser may list it before its preflight (Fetch, section 4.8 CORS-preflight fetch): it began to wait earlier.
    """
    found: dict[int, int] = {}
    waiting: dict[str, deque[int]] = {}
    for position, entry in enumerate(kept):
        if not entry.is_preflight:
            continue
        queue = waiting.setdefault(entry.url, deque(positions.get(entry.url, ())))
        while queue and (kept[queue[0]].end_ms < entry.end_ms or queue[0] == 0):
            queue.popleft()
        if queue:
            found[position] = queue.popleft()
    return found


def nearest(found: Sequence[int], position: int) -> int | None:
    """Return the last of rising positions before one, else the first after it; `None` without any."""
    here = bisect_left(found, position)
    if here > 0:
        return found[here - 1]
    return next((other for other in found[:2] if other != position), None)


def _refuse_circles(name: str, kept: Sequence[Entry], parents: Sequence[int | None], fields: Sequence[str]) -> None:
    sound: set[int] = set()
    for start in range(len(kept)):
        chain: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in sound:
            if at in chain:
                circle = list(chain)[list(chain).index(at) :]
                numbers = sorted(kept[place].number for place in circle)
                first = min(circle, key=lambda place: kept[place].number)
                listed = ", ".join(map(str, numbers[:MAX_SHOWN])) + (", …" if len(numbers) > MAX_SHOWN else "")
                path = f"log.entries.{kept[first].number}.{fields[first]}"
                expected = "an initiator that does not depend on the entry itself"
                cycle = f"a cycle of entries {listed}"
                raise unexpected(path, expected, got=cycle, where=name, kind="Conflict")
            chain[at] = None
            at = parents[at]
        sound.update(chain)
