"""Metrics of the pacing studies for what the thesis shows in figures and prose, without a number that it compares.

Each says its unit, its definition, and where the thesis has what it measures. They are computed from the tap in front
of the bottleneck and from the acknowledgements that reach the sender there, without the first 5 s of a run; those of
the queue and of losses are of the whole run. `quiclab_studies.pacing.metrics` has what predicates of the
reference read word for word.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Any

from quiclab.analysis.pacing.runs import windows
from quiclab.analysis.pacing.runs.extract import bottleneck_mbps
from quiclab.study import Metric, Value
from quiclab_studies.pacing.common import DELAY_S
from quiclab_studies.pacing.metrics import (
    NOMINAL,
    count_quantile_metric,
    count_share_metric,
    counts,
    gain_interval,
    intervals,
    kept,
    peaks,
    peaks_metric,
    quantile_metric,
    share,
    weighted_quantile,
)
from quiclab_studies.reductions import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiclab.analysis.pacing.document import Intervals
    from quiclab.result import RunResult

PAIR_MS = 0.1
"""Shorter intervals lie within a pair (predicate of PA-17)."""
AROUND = 0.09
"""Half of the range around an interval of the gains, as a part of it: 108 to 130 us of 118.6 (predicate of PA-25)."""

# --- intervals between packets (experiment B)


def pace_ratio(result: RunResult) -> float:
    """Rate at which a packet follows another, over the rate of the bottleneck: even interval over median interval.

    The factor N of a pacer, as the thesis reads it from the spacing of picoquic with CUBIC: 1.25, with 1 in the code
    (section 6.3.3, Figure 6.14).
    """
    middle = number(kept(result)["data"]["intervals"]["quantiles_ms"].get("0.5"))
    return NOMINAL.measure(result) / middle if middle > 0 else math.nan


def near_even(result: RunResult) -> float:
    """Part of the intervals within 10 % of that of evenly spaced packets (Table 6.1; Figures 6.9 to 6.14)."""
    even = NOMINAL.measure(result)
    return share(kept(result)["data"]["intervals"], 0.9 * even, 1.1 * even)


def quantile_above(values: Intervals | dict[str, Any], least_ms: float, part: float) -> float:
    """Return a quantile of the intervals that are longer than a limit [ms], from their bins of 1 %."""
    pairs = zip(values["at_ms"], values["counts"], strict=True)
    return weighted_quantile(((at, count) for at, count in pairs if at > least_ms), part)


def above_metric(kind: str, least_ms: float, part: float = 0.5) -> Metric:
    """Return a quantile of the intervals of a kind that are longer than a limit [ms].

    With 0.1 ms the median between pairs of packets: 2.07 ms with frames of 1294 bytes at 10 Mbit/s, 2.42 ms in TCP
    (section 6.3.1, Figure 6.9).
    """
    read = intervals(kind)
    label = f"{LABELS[kind]} above {least_ms:g} ms, {part:g} quantile"
    name = f"{kind}_above_{least_ms:g}_q{part:g}_ms"
    return Metric(name, label, "ms", lambda result: quantile_above(read(kept(result)), least_ms, part))


LABELS = {"send": "Intervals between packets", "ack": "Intervals between ACKs"}


def burst_extreme(result: RunResult) -> float:
    """Packets of the largest burst: below 16, the capacity of aioquic's bucket (section 6.3.3)."""
    return float(max(counts(result, "burst"), default=0))


def bursty_excess(result: RunResult) -> float:
    """Part of the packets in bursts of two or more, beyond chance: (share - chance) / (1 - chance), at least 0.

    By chance is with as many packets at random times (a Poisson process): each has a neighbour within the gap g of a
    burst with the probability 1 - exp(-2 g / mean interval). Figures 6.9 to 6.12 show bursts as intervals near 0.
    """
    data = kept(result)["data"]
    mean_ms, bursty = number(data["intervals"]["mean_ms"]), number(data["bursts"]["share_of_packets"])
    gap_ms = windows.PART_OF_SPACING * NOMINAL.measure(result)
    chance = 1 - math.exp(-2 * gap_ms / mean_ms) if mean_ms > 0 else math.nan
    return max((bursty - chance) / (1 - chance), 0.0) if chance < 1 else math.nan


def clock_distance(result: RunResult) -> float:
    """Largest distance between two distribution functions, that of the intervals between bursts and between ACKs.

    The Kolmogorov-Smirnov distance: near 0 where bursts come in step with ACKs, as those of quic-go and TCP do (section
    6.3.1, Figure 6.12), up to 1 where a pacer has intervals of its own. Bins of 1 % blur it.
    """
    analysis = kept(result)
    return distance(analysis["data"]["bursts"]["between"], analysis["acks"]["intervals"])


def distance(first: Intervals | dict[str, Any], second: Intervals | dict[str, Any]) -> float:
    """Return the largest distance between the distribution functions of two sets of intervals; NaN without any.

    Both are read at the edges of bins of 1 %, as they may be binned at slightly different places.
    """
    if not first["count"] or not second["count"]:
        return math.nan
    steps: dict[int, float] = {}
    for values, sign in ((first, 1), (second, -1)):
        for at_ms, count in zip(values["at_ms"], values["counts"], strict=True):
            place = round(math.log(max(at_ms, 1e-6)) / math.log(1.02))
            steps[place] = steps.get(place, 0.0) + sign * count / values["count"]
    most = total = 0.0
    for place in sorted(steps):
        total += steps[place]
        most = max(most, abs(total))
    return most


def rates(result: RunResult) -> list[float]:
    """Return the rate at the tap in each second [Mbit/s]."""
    return list(kept(result)["over_time"]["rate_mbps"])


def rate_variation(result: RunResult) -> float:
    """Coefficient of variation of the rate at the tap in each second: the pacing rate over time (section 6.3.2)."""
    values = rates(result)
    return pstdev(values) / fmean(values) if values and fmean(values) > 0 else math.nan


INTERVAL_METRICS = (
    Metric("pace_ratio", "Rate within the spacing, over that of the bottleneck", "", pace_ratio),
    Metric("near_even_share", "Intervals within 10 % of the even one", "", near_even),
    above_metric("send", PAIR_MS),
    *(quantile_metric("send", part) for part in ("0.05", "0.25", "0.75", "0.95")),
    *(quantile_metric("ack", part) for part in ("0.05", "0.25", "0.75", "0.95")),
    *(count_share_metric("burst", low, high) for low, high in ((1, 1), (2, 2), (3, None))),
    Metric("burst_largest_packets", "Largest burst", "packets", burst_extreme),
    Metric("bursty_excess", "Packets in bursts of two or more, beyond chance", "", bursty_excess),
    Metric("clock_distance", "Distance of the intervals between bursts from those between ACKs", "", clock_distance),
    peaks_metric("send", 0.086, 0.104),
    peaks_metric("send", 0.144, 0.173),
    Metric(
        "rate_mbps", "Rate at the tap", "Mbit/s", lambda result: fmean(rates(result)) if rates(result) else math.nan
    ),
    Metric("rate_variation", "Coefficient of variation of the rate of a second", "", rate_variation),
)
"""Of `pacing/intervals`: Figures 6.9 to 6.14."""


def link_rate(result: RunResult) -> float:
    """Rate of the server's frames [Mbit/s]: a single QUIC stream has between 1 and 2 Gbit/s at most (section 6.1)."""
    return float(kept(result)["utilisation"]) * bottleneck_mbps(result)


LINK_RATE = Metric("frame_rate_mbps", "Rate of the frames", "Mbit/s", link_rate)
"""Of `pacing/utilisation`: Figures 6.1 and 6.2."""

# --- acknowledgements (experiment A)


def ack_rate(result: RunResult) -> float:
    """Acknowledgements in a second, the mean [1/s] (section 6.2: ACK frequency)."""
    values: Sequence[int] = kept(result)["over_time"]["acks"]
    return fmean(values) if values else math.nan


def ack_rate_variation(result: RunResult) -> float:
    """Coefficient of variation of the acknowledgements in a second (Figures 6.4, 6.6 to 6.8: frequency over time)."""
    values: Sequence[int] = kept(result)["over_time"]["acks"]
    return pstdev(values) / fmean(values) if values and any(values) else math.nan


def medians(result: RunResult) -> list[float]:
    """Return the median of the packets per ACK of each second that has an ACK."""
    return [value for value in kept(result)["over_time"]["covered_median"] if value is not None]


def covered_swing(result: RunResult) -> float:
    """Largest less smallest of the medians of a second of the packets per ACK (Figure 6.6: 2 to 8 with aioquic)."""
    found = medians(result)
    return max(found) - min(found) if found else math.nan


def duplicate_seconds(result: RunResult) -> float:
    """Part of the seconds with a duplicate ACK: whether they come all the time or around losses (Figure 6.3)."""
    values: Sequence[int] = kept(result)["over_time"]["duplicates"]
    return sum(value > 0 for value in values) / len(values) if values else math.nan


def frequent(result: RunResult) -> list[dict[str, float]]:
    """Return the phases of ACKs for fewer than four packets."""
    found: list[dict[str, float]] = kept(result)["over_time"]["frequent"]
    return found


def frequent_every(result: RunResult) -> float:
    """Median time from the start of a phase of ACKs for fewer than four packets to the start of the next one [s].

    About 15 s with picoquic and CUBIC (section 6.2.2, Figure 6.8); NaN with fewer than two phases.
    """
    starts = [phase["start_s"] for phase in frequent(result)]
    return median([after - before for before, after in pairwise(starts)] or [math.nan])


def frequent_longest(result: RunResult) -> float:
    """Longest phase of ACKs for fewer than four packets [s]: below 1 s with picoquic and CUBIC (Figure 6.8)."""
    return max((phase["seconds"] for phase in frequent(result)), default=0.0)


def time_weighted(values: Intervals | dict[str, Any], part: float = 0.5) -> float:
    """Return the interval in or below which a part of all time lies [ms]."""
    pairs = zip(values["at_ms"], values["counts"], strict=True)
    return weighted_quantile(((at, at * count) for at, count in pairs), part)


def ack_interval(result: RunResult) -> float:
    """Interval between ACKs that half of the time lies in or below [ms].

    150 to 300 ms with picoquic and CUBIC (Figure 6.8); weighted by time, as its phases of frequent ACKs are short.
    """
    return time_weighted(kept(result)["acks"]["intervals"])


def queueing(result: RunResult) -> float:
    """Mean wait in the queue of the bottleneck [ms], of the whole run: the 200 ms of section 5.4, or what there is."""
    return float(result.elements["bottleneck"]["statistics"]["queueing_mean_ms"])


def round_trip(result: RunResult) -> float:
    """Mean round trip time from the tap and back [ms]: delay of both directions, and the wait in the bottleneck.

    Base of 50 ms (sections 5.3 and 5.4); serialisation and hosts are not in it.
    """
    return 2e3 * DELAY_S + queueing(result)


def ack_over_rtt(result: RunResult) -> float:
    """Interval between ACKs of half of the time, over the mean round trip time: a quarter in picoquic (Figure 6.8)."""
    return ack_interval(result) / round_trip(result)


def declared_lost(result: RunResult) -> float:
    """Packets that the sender declares lost, of those that it sends: what it sends again (section 6.2.1)."""
    found = result.elements["main.sender"]["statistics"]
    return float(found["lost_packets"] / max(found["packets_sent"], 1)) if "lost_packets" in found else math.nan


def loss_events(result: RunResult) -> float:
    """Reductions of the window in a minute: loss is about three times rarer at 100 Mbit/s (section 6.2.1)."""
    found = result.elements["main.sender"]["statistics"].get("congestion_events", math.nan)
    return 60 * float(found) / result.network_time_s


ACK_METRICS = (
    *(count_share_metric("covered", low, high) for low, high in ((1, 1), (3, 3), (4, None))),
    *(count_quantile_metric("covered", part) for part in (0.05, 0.5, 0.99)),
    *(quantile_metric("ack", part) for part in ("0.05", "0.95", "0.99")),
    Metric("ack_rate_hz", "ACKs in a second", "1/s", ack_rate),
    Metric("ack_rate_variation", "Coefficient of variation of the ACKs in a second", "", ack_rate_variation),
    Metric(
        "covered_swing_packets", "Packets per ACK, largest less smallest median of a second", "packets", covered_swing
    ),
    Metric("duplicate_seconds_share", "Seconds with a duplicate ACK", "", duplicate_seconds),
    Metric("frequent_every_s", "ACKs for fewer than four packets: from phase to phase", "s", frequent_every),
    Metric("frequent_longest_s", "ACKs for fewer than four packets: longest phase", "s", frequent_longest),
    Metric("ack_interval_ms", "Interval between ACKs of half of the time", "ms", ack_interval),
    Metric("queueing_ms", "Mean wait in the bottleneck", "ms", queueing),
    Metric("rtt_ms", "Mean round trip time from the tap", "ms", round_trip),
    Metric("ack_over_rtt", "Interval between ACKs over the round trip time", "", ack_over_rtt),
    Metric("declared_lost_share", "Packets declared lost", "", declared_lost),
    Metric("loss_events_per_min", "Reductions of the window", "1/min", loss_events),
)
"""Of `pacing/acks`: Figures 6.3 to 6.8."""

# --- clusters of BBR


def half_width(result: RunResult, gain: Value) -> float:
    """Distance from the centre of the cluster of a gain at which its density falls below 0.0002 [us].

    BBR's precision (section 6.3.2). The thesis has no bin width; here the density is the part of all intervals in a bin
    of 1 us, and the distance is half of the width.
    """
    expected = kept(result)["data"]["clusters"]["expected"]
    places = [index for index, item in enumerate(expected) if item["gain"] == gain]
    return number(kept(result)["half_widths_us"][places[0]]) if places else math.nan


def cluster_peaks(result: RunResult, gain: Value) -> float:
    """Peaks within 9 % of the interval of a gain: one at 10 Mbit/s, three at 100 (section 6.3.2, Figure 6.13)."""
    interval = gain_interval(result, gain)
    found = kept(result)["data"]["clusters"]["found"]
    return float(peaks(found, (1 - AROUND) * interval, (1 + AROUND) * interval))


CLUSTER_METRICS = (
    Metric("expected_ms", "Interval of the gain", "ms", gain_interval, of="gain"),
    Metric("half_width_us", "Distance at which the density falls below 0.0002", "us", half_width, of="gain"),
    Metric("cluster_peaks", "Peaks around the interval of the gain", "", cluster_peaks, of="gain"),
)
"""Of `pacing/clusters`: Table 6.2, the precision of section 6.3.2, and Figure 6.13."""
