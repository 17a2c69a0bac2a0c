"""Numbers of a run of the pacing studies, from the analysis that is kept of it (`quiclab.analysis.pacing.runs`).

A metric is named by what a predicate of the reference asks for: `share(send_interval_ms(v, rate), a, b)` is the metric
`send_share_a_b` of configuration and rate. Distributions are reduced run by run; the mean of the runs' shares is the
share of the pooled intervals where runs have equally many, as they have here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab.analysis.pacing.runs import windows
from quiclab.study import Metric, Value
from quiclab_studies.declarations import kept_metric
from quiclab_studies.reductions import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from quiclab.result import RunResult

Kept = dict[str, Any]
FIXED = "_fixed"
"""Ending of what has the fixed windows of `quiclab.analysis.pacing.runs`: what is compared with published numbers."""
WIDTH = ("0.01", "0.99")


def kept(result: RunResult) -> Kept:
    """Return the stored data of a run."""
    found: Kept = result.data["kept"]
    return found


def intervals(kind: str) -> Callable[[Kept], Kept]:
    """Return what reads intervals: `send`, `ack`, within bursts (`within`) or between bursts (`between`)."""
    if kind in ("send", "ack"):
        return lambda found: found["data" if kind == "send" else "acks"]["intervals"]
    return lambda found: bursts(found, kind)[kind.removesuffix(FIXED)]


def bursts(found: Kept, kind: str) -> Kept:
    """Return the bursts: with the gap of the bottleneck's spacing, or with the fixed one for kinds of that ending."""
    return (found["fixed"] if kind.endswith(FIXED) else found["data"])["bursts"]  # type: ignore[no-any-return]


def weighted_quantile(weights: Iterable[tuple[float, float]], part: float) -> float:
    """Return the first of ascending values at which their weights reach a part of the sum; NaN without any."""
    found = list(weights)
    rank, seen = part * sum(weight for _, weight in found), 0.0
    for value, weight in found:
        seen += weight
        if seen >= rank:
            return float(value)
    return math.nan


def share(values: Kept, low_ms: float, high_ms: float) -> float:
    """Return the part of the intervals within two limits, both inclusive; NaN without any."""
    inside = sum(count for at, count in zip(values["at_ms"], values["counts"], strict=True) if low_ms <= at <= high_ms)
    return inside / values["count"] if values["count"] else math.nan


def share_metric(kind: str, low_ms: float, high_ms: float) -> Metric:
    """Return the part of the intervals of a kind within two limits."""
    label = f"{NAMES[kind]} of {low_ms:g} to {high_ms:g} ms"
    read = intervals(kind)
    return Metric(
        f"{kind}_share_{low_ms:g}_{high_ms:g}", label, "", lambda result: share(read(kept(result)), low_ms, high_ms)
    )


GAP = f"({windows.FIXED['burst_gap_ms']:g} ms)"
NAMES = {
    "send": "Intervals between packets",
    "ack": "Intervals between ACKs",
    "within": "Intervals within bursts",
    "between": "Intervals between bursts",
    "within_fixed": f"Intervals within bursts {GAP}",
    "between_fixed": f"Intervals between bursts {GAP}",
}


def quantile_metric(kind: str, part: str) -> Metric:
    """Return a quantile of the intervals of a kind [ms]."""
    read = intervals(kind)
    label = f"{NAMES[kind]}, {float(part):g} quantile"
    return Metric(
        f"{kind}_q{part}_ms", label, "ms", lambda result: number(read(kept(result))["quantiles_ms"].get(part))
    )


def mode_metric(kind: str) -> Metric:
    """Return the most common interval of a kind, in bins of 1 % [ms]."""
    read = intervals(kind)

    def measure(result: RunResult) -> float:
        found = read(kept(result))
        most = max(found["counts"], default=0)
        return float(found["at_ms"][found["counts"].index(most)]) if most else math.nan

    return Metric(f"{kind}_mode_ms", f"{NAMES[kind]}, most common", "ms", measure)


def width_metric() -> Metric:
    """Return the width of the distribution of ACK intervals, from the 1 % to the 99 % quantile [ms]."""

    def measure(result: RunResult) -> float:
        quantiles = kept(result)["acks"]["intervals"]["quantiles_ms"]
        low, high = (number(quantiles.get(part)) for part in WIDTH)
        return high - low

    return Metric("ack_width_ms", "Width of the ACK intervals", "ms", measure)


def peaks(found: list[Kept], low_ms: float, high_ms: float) -> int:
    """Return how many peaks lie within two limits."""
    return sum(low_ms <= peak["centre_ms"] <= high_ms for peak in found)


def peaks_metric(kind: str, low_ms: float, high_ms: float) -> Metric:
    """Return how many peaks the distribution of the intervals has within two limits."""

    def measure(result: RunResult) -> float:
        analysis = kept(result)
        found = analysis["data"]["clusters"]["found"] if kind == "send" else analysis["acks"]["found"]
        return float(peaks(found, low_ms, high_ms))

    label = f"Peaks of the {NAMES[kind].lower()}, {low_ms:g} to {high_ms:g} ms"
    return Metric(f"{kind}_peaks_{low_ms:g}_{high_ms:g}", label, "", measure)


def largest_metric(kind: str) -> Metric:
    """Return the longest interval of a kind [ms]."""
    read = intervals(kind)
    return Metric(
        f"{kind}_largest_ms", f"{NAMES[kind]}, longest", "ms", lambda result: number(read(kept(result))["largest_ms"])
    )


# --- counted things: packets of a burst, packets that an ACK covers


def counts(result: RunResult, kind: str) -> dict[int, int]:
    """Return how many bursts have how many packets (`burst`, `burst_fixed`), or ACKs cover how many (`covered`)."""
    analysis = kept(result)
    table: Mapping[str, int] = analysis["acks"]["packets"] if kind == "covered" else bursts(analysis, kind)["sizes"]
    return {int(packets): count for packets, count in table.items()}


def count_share_metric(kind: str, low: int, high: int | None = None) -> Metric:
    """Return the share of bursts or ACKs with this number of packets; without `high`, with `low` or more."""
    most = math.inf if high is None else high

    def measure(result: RunResult) -> float:
        table = counts(result, kind)
        total = sum(table.values())
        return sum(count for packets, count in table.items() if low <= packets <= most) / total if total else math.nan

    if high is None:
        return Metric(f"{kind}_share_{low}_up", f"{COUNTED[kind]} of {low} or more packets", "", measure)
    return Metric(f"{kind}_share_{low}_{high}", f"{COUNTED[kind]} of {low} to {high} packets", "", measure)


LARGE_ACK = 10
"""Packets of a large ACK (PA-06)."""
COUNTED = {"burst": "Bursts", "burst_fixed": f"Bursts {GAP}", "covered": "ACKs"}


def count_mode_metric(kind: str) -> Metric:
    """Return the mode of the number of packets of a burst or an ACK."""

    def measure(result: RunResult) -> float:
        table = counts(result, kind)
        return float(max(sorted(table), key=table.__getitem__)) if table else math.nan

    return Metric(f"{kind}_mode_packets", f"{COUNTED[kind]}, mode", "packets", measure)


def count_quantile_metric(kind: str, part: float, *, by_packets: bool = False) -> Metric:
    """Return a quantile of the packets of bursts or ACKs; each packet counts once with `by_packets`."""

    def measure(result: RunResult) -> float:
        table = sorted(counts(result, kind).items())
        return weighted_quantile(((size, count * (size if by_packets else 1)) for size, count in table), part)

    weighted = "_weighted" if by_packets else ""
    label = f"{COUNTED[kind]}, {part:g} quantile{' by packets' if by_packets else ''}"
    return Metric(f"{kind}_q{part:g}{weighted}_packets", label, "packets", measure)


# --- single numbers

DUPLICATES = kept_metric("dup_ack_share", "Duplicate ACKs", "", "acks", "duplicate_share")
FRAME = kept_metric("frame_bytes", "Median frame", "B", "data", "frame_median_bytes")
PERIOD = Metric(
    "ack_period_s",
    "Period of the packets per ACK; 0 without one",
    "s",
    lambda result: float(kept(result)["period_s"] or 0),
)
COVERED = kept_metric("packets_per_ack", "Packets per ACK", "packets", "acks", "packets_mean")
MEDIAN_INTERVAL = quantile_metric("send", "0.5")
EVEN = kept_metric("variation", "Coefficient of variation of the intervals", "", "data", "intervals", "variation")
BURSTY = kept_metric("bursty_share", "Packets in bursts of two or more", "", "data", "bursts", "share_of_packets")
CLOCKED = kept_metric("ack_clocked", "Bursts that answer an ACK, beyond chance", "", "acks", "clocking", "explained")
"""Both with windows of the bottleneck's spacing (`quiclab.analysis.pacing.runs`); the next two with fixed ones."""
BURSTY_FIXED = kept_metric(
    "bursty_share_fixed", f"Packets in bursts of two or more {GAP}", "", "fixed", "bursts", "share_of_packets"
)
CLOCKED_FIXED = kept_metric(
    "ack_clocked_fixed",
    f"Bursts that answer an ACK within {windows.FIXED['clocked_ms']:g} ms, beyond chance",
    "",
    "fixed",
    "clocking",
    "explained",
)
NOMINAL = Metric(
    "packet_interval_ms",
    "Interval of evenly spaced packets",
    "ms",
    lambda result: next(
        item["interval_ms"] for item in kept(result)["data"]["clusters"]["expected"] if item["gain"] == 1
    ),
)


EVEN_PARTS = (0.5, 0.75, 1.25, 1.5, 2.5)
"""Multiples of the even interval at which distributions of several stacks are compared (PA-18): coarser than what
programs cost, such as 8 or 100 us between the packets of a pair at 10 Mbit/s."""


def even_share_metric(part: float) -> Metric:
    """Return the part of the intervals up to so many times that of evenly spaced packets."""
    return Metric(
        f"send_even_{part:g}",
        f"Intervals up to {part:g} times the even one",
        "",
        lambda result: share(kept(result)["data"]["intervals"], 0, part * NOMINAL.measure(result)),
    )


WINDOW_MS = 0.1


def pairs(result: RunResult) -> int:
    """Packets that leave together: Linux' TCP releases two segments at a time, at these rates."""
    return 2 if result.scenario.value("flows.main.stack") == "lab-tcp" else 1


def gain_interval(result: RunResult, gain: Value) -> float:
    """Interval of a pacing gain, between pairs where packets leave in pairs [ms]."""
    expected = kept(result)["data"]["clusters"]["expected"]
    return pairs(result) * float(next(item["interval_ms"] for item in expected if item["gain"] == gain))


def cluster_share(result: RunResult, gain: Value) -> float:
    """Part of the intervals within 0.1 ms of that of a pacing gain [%]."""
    interval = gain_interval(result, gain)
    return 100 * share(kept(result)["data"]["intervals"], interval - WINDOW_MS, interval + WINDOW_MS)


def cluster_centre(result: RunResult, gain: Value) -> float:
    """Peak nearest to the interval of a pacing gain [ms]; NaN if none is within 5 %."""
    data, interval = kept(result)["data"]["clusters"], gain_interval(result, gain)
    near = [peak["centre_ms"] for peak in data["found"] if abs(peak["centre_ms"] / interval - 1) < 0.05]
    return min(near, key=lambda centre: abs(centre - interval)) if near else math.nan


CLUSTER = Metric("intervals_percent", "Intervals around that of the gain", "%", cluster_share, of="gain")
CENTRE = Metric("centre_ms", "Peak near the interval of the gain", "ms", cluster_centre, of="gain")


def loss_rate(result: RunResult) -> float:
    """Packets that the bottleneck dropped, of those that came there."""
    counters = result.elements["bottleneck"]
    return float(counters["dropped"]["packets"] / max(counters["received"]["packets"], 1))


LOSS = Metric("loss_rate", "Packets lost", "", loss_rate)
