"""Loads over both protocols together: means with intervals, the study's percent difference, Welch's t-test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from quiclab.result.stats import SIGNIFICANT, percent_difference, summarise, welch_p

if TYPE_CHECKING:
    from quiclab.lane.browser.load import PageLoad
    from quiclab.lane.browser.runner import PageLoads


@dataclass(frozen=True)
class ProtocolSummary:
    """Loads over one protocol: times in ms; `low` and `high` bound the 95 % interval of the mean (Student's t).

    `early_data_sent` and `early_data_accepted` count loads; None for HTTP/2.
    """

    loads: int
    page_load_ms: float
    page_load_sd_ms: float
    page_load_low_ms: float
    page_load_high_ms: float
    html_ms: float
    first_byte_ms: float
    handshake_ms: float | None
    early_data_sent: int | None
    early_data_accepted: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as a table; values missing from a load are None."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class Comparison:
    """Summaries by protocol, and their difference: `percent`, `p`, `significant`; None unless there are both."""

    protocols: dict[str, ProtocolSummary]
    difference: dict[str, Any] | None


def compared(found: PageLoads) -> Comparison:
    """Return the comparison of loads over both protocols."""
    by_protocol = {protocol: found.of(protocol) for protocol in found.clients}
    summaries = {protocol: summary(loads) for protocol, loads in by_protocol.items()}
    difference = None
    if {"h2", "h3"} <= set(summaries):
        difference = differing(*([load.page_load_ms for load in by_protocol[protocol]] for protocol in ("h2", "h3")))
    return Comparison(summaries, difference)


def differing(h2_ms: Sequence[float], h3_ms: Sequence[float]) -> dict[str, Any]:
    """Return the percent difference of page load times, positive where HTTP/3 is faster, and Welch's test of it.

    `p` is None below two loads, or where nothing varies.
    """
    h2, h3 = summarise(h2_ms), summarise(h3_ms)
    p = welch_p(h2, h3)
    return {
        "percent": percent_difference(h3.mean, h2.mean),
        "p": None if math.isnan(p) else p,
        "significant": p < SIGNIFICANT,
    }


def summary(loads: Sequence[PageLoad]) -> ProtocolSummary:
    """Return the summary of loads over one protocol."""
    page = summarise([load.page_load_ms for load in loads])
    handshakes = [load.handshake_ms for load in loads if load.handshake_ms is not None]
    told = [load for load in loads if load.early_data_sent is not None]
    return ProtocolSummary(
        loads=page.n,
        page_load_ms=page.mean,
        page_load_sd_ms=page.std,
        page_load_low_ms=page.low,
        page_load_high_ms=page.high,
        html_ms=summarise([load.html_ms for load in loads]).mean,
        first_byte_ms=summarise([load.first_byte_ms for load in loads]).mean,
        handshake_ms=summarise(handshakes).mean if handshakes else None,
        early_data_sent=sum(bool(load.early_data_sent) for load in told) if told else None,
        early_data_accepted=sum(bool(load.early_data_accepted) for load in told) if told else None,
    )
