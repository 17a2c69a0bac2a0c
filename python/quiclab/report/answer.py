"""What happened in a run, in sentences: what each flow delivered, what limited its sender, where packets were lost."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from quiclab.result.delivered import capacity_bps
from quiclab.result.formats import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quiclab.result import RunResult

#: Causes of drops by the counter of an element.
CAUSES: Final = {
    "queue_full": "full queue",
    "loss": "random loss",
    "policed": "policer",
    "link_ended": "end of the trace",
    "too_large": "larger than its MTU or token bucket",
}
#: Causes of a sender that are named: at least this share [%].
MIN_PERCENT: Final = 0.5
_COUNTER: Final = re.compile(r"dropped_(.+)_packets")


def outcome(result: RunResult, name: str) -> str:
    """Return what a flow has delivered, how fast, and how much of the capacity of its routes that is."""
    flow = result.flows[name]
    delivered = f"{flow.delivered_bytes / 1e6:.6g} MB"
    if flow.start_s is None:
        return f"{name} never started."
    if flow.failed:
        why = f": {flow.failure}" if flow.failure else ""
        return f"{name} failed after {delivered}{why}."
    took_s = (result.network_time_s if flow.finish_s is None else flow.finish_s) - flow.start_s
    state = "delivered" if flow.completed else "had not finished: it delivered"
    rate = capacity_bps(result.data, name)
    share = ""
    if math.isfinite(rate) and rate > 0:
        share = f", {100e6 * flow.goodput_mbps / rate:.3g} % of the {rate / 1e6:g} Mbit/s of its links"
    return f"{name} {state} {delivered} in {number(took_s)} s, {number(flow.goodput_mbps)} Mbit/s{share}."


def limited(percent: Mapping[str, float]) -> str:
    """Return what limited a sender, from the share of each cause [%]: the largest first; empty if nothing is known."""
    shares = sorted(((share, cause) for cause, share in percent.items() if share >= MIN_PERCENT), reverse=True)
    return ", ".join(f"{cause} {share:.0f} %" for share, cause in shares)


def losses(result: RunResult) -> str:
    """Return the packets that elements have dropped, by element and cause."""
    parts = []
    for name, element in result.elements.items():
        causes = [f"{number} ({cause})" for cause, number in _dropped(element)]
        if causes:
            parts.append(f"{name} {', '.join(causes)}")
    return f"Dropped packets: {'; '.join(parts)}." if parts else "No element dropped a packet."


def _dropped(element: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the causes of the drops of an element; what it does not count by cause is of its queue discipline."""
    counted = []
    for key, value in element.get("statistics", {}).items():
        found = _COUNTER.fullmatch(key)
        if found is not None and value > 0:
            counted.append((CAUSES.get(found[1], found[1].replace("_", " ")), int(value)))
    rest = int(element["dropped"]["packets"]) - sum(value for _, value in counted)
    return [*counted, *([("queue discipline", rest)] if rest > 0 else [])]


def answer(result: RunResult, limits: Mapping[str, Mapping[str, float]] | None = None) -> list[str]:
    """Return the sentences on a run.

    Parameters
    ----------
    result
        The run.
    limits
        Share of each cause that limited the sender of a flow [%], by flow, if known.
    """
    lines = []
    for name in result.flows:
        line, why = outcome(result, name), limited((limits or {}).get(name, {}))
        lines.append(f"{line} Its sender was limited by: {why}." if why else line)
    return [*lines, losses(result)]
