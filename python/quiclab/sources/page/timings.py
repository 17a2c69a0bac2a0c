"""Times of a HAR entry: when it began, how long it took, and the round trip of its handshake.

`connect` includes `ssl` in HAR 1.2, and in Chromium's files; in Firefox's it is TCP's handshake alone, and `ssl`
follows it. Which of the two a file means shows in `time`, which is the sum of all phases: with `ssl` once more, or
without. Where that does not tell, the name of the recorder does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.sources.page.entry import Reader

# each of seven phases may be rounded to whole milliseconds; so many may add up to this, rarely to more
ROUNDING_MS = 2.0

TLS_APART = "connect without TLS, as Firefox records it"
SUMMED = "no time recorded: sum of its timings"
NO_DURATION = "no duration recorded: 0"


@dataclass(frozen=True)
class Times:
    """The times of an entry.

    Attributes
    ----------
    duration_ms
        Time from the start of the entry to its completion [ms].
    wait_ms
        Time from the end of the request to the first byte of the response [ms]; `None` if not recorded.
    handshake_ms
        Round-trip time of a handshake [ms]; `None` if no connection was opened for the entry.
    assumed
        Assumptions about deviations of the entry from HAR 1.2.
    """

    duration_ms: float
    wait_ms: float | None
    handshake_ms: float | None
    assumed: tuple[str, ...]


def instant(text: object) -> datetime | None:
    """Return the time of a date (ISO 8601); `None` if it is none."""
    try:
        return datetime.fromisoformat(text).astimezone() if isinstance(text, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def times_of(reader: Reader, by_firefox: bool) -> Times:
    """Return the times of an entry; `by_firefox` decides where they leave open whether `connect` includes TLS."""
    timings = reader.table(reader.entry.get("timings") or {}, "timings")
    recorded_ms = reader.milliseconds(reader.entry, "time", "")
    connect, ssl, wait = (reader.milliseconds(timings, name, "timings") for name in ("connect", "ssl", "wait"))
    others = [_lenient(timings, name) for name in ("blocked", "dns", "send", "receive")]
    known = [value for value in (*others, connect, wait) if value is not None]
    apart = bool(connect and ssl) and _is_apart(recorded_ms, sum(known), ssl or 0.0, by_firefox)
    assumed = [TLS_APART] if apart else []
    if recorded_ms is None:
        assumed.append(SUMMED if known else NO_DURATION)
        recorded_ms = sum(known) + (ssl or 0.0 if apart else 0.0)
    return Times(recorded_ms, wait, _handshake(connect, 0.0 if apart else ssl or 0.0), tuple(assumed))


def _lenient(timings: Mapping[str, Any], name: str) -> float | None:
    """Take a phase that only counts in the sum: browsers write slightly negative ones, too."""
    value = timings.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return float(min(value, 10**9))


def _is_apart(recorded_ms: float | None, sum_ms: float, ssl_ms: float, by_firefox: bool) -> bool:
    if recorded_ms is None:
        return by_firefox
    within, apart = abs(sum_ms - recorded_ms), abs(sum_ms + ssl_ms - recorded_ms)
    if within == apart or min(within, apart) > ROUNDING_MS:
        return by_firefox
    return apart < within


def _handshake(connect: float | None, ssl: float) -> float | None:
    """Return the round trip of TCP's handshake; where `connect` and `ssl` are the same, it is QUIC's."""
    if connect is None or connect <= 0:
        return None
    tcp = connect - ssl
    return tcp if tcp > 0 else connect
