"""Captures as the engine describes them (`quiclab.pacing/1`), made from times of packets that follow a simple rule.

Stand-ins for real captures: of the tables and of the page they show all that can be there. Distributions and bursts are
counted from the times; shares of ACK clocking and clusters that were found are made up.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, Final, TypeAlias

from quiclab.analysis.pacing.document import Acks, Bursts, Capture, Expected, Flow, Found, Intervals, Spacing
from quiclab.analysis.pacing.settings import Settings

QUANTILES: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
FRAME_BYTES: Final = 1514
MAX_FOUND: Final = 4
Gaps: TypeAlias = Callable[[Random], list[float]]
"""Intervals of the next packets [ms], drawn from random numbers."""

#: Rules after which senders space packets at 10 Mbit/s: intervals of a packet, a pair, a train [ms].
RULES: Final[Mapping[str, Gaps]] = {
    "even": lambda random: [random.gauss(1.21, 0.012)],
    "pairs": lambda random: [0.0013, random.gauss(2.42, 0.05)],
    "bbr": lambda random: [random.gauss(1.211 / random.choice((1.25, *[1.0] * 6, 0.75)), 0.006)] * 8,
    "bursts": lambda random: [*(random.uniform(0.004, 0.02) for _ in range(15)), random.gauss(19.2, 0.4)],
    "quanta": lambda random: [*[0.006] * random.choice((0, 0, 1)), random.gauss(1.3, 0.16) + random.expovariate(8)],
}


def times_of(rule: str, packets: int, seed: int = 1) -> list[float]:
    """Return when packets leave [ms]."""
    random, times = Random(seed), [0.0]  # noqa: S311 - no secret
    while len(times) < packets:
        for gap_ms in RULES[rule](random):
            times.append(times[-1] + max(gap_ms, 0.0))
    return times[:packets]


def intervals(gaps_ms: Sequence[float]) -> Intervals:
    """Count intervals in bins of 1 %, and their moments."""
    gaps = sorted(gaps_ms)
    bins: dict[int, list[float]] = {}
    for gap in gaps:
        bins.setdefault(round(math.log(max(gap, 1e-6)) / math.log(1.01)), []).append(gap)
    mean = statistics.fmean(gaps) if gaps else None
    deviation = statistics.stdev(gaps) if len(gaps) > 1 else None
    return {
        "count": len(gaps),
        "mean_ms": mean,
        "std_ms": deviation,
        "variation": deviation / mean if mean and deviation is not None else None,
        "least_ms": gaps[0] if gaps else None,
        "largest_ms": gaps[-1] if gaps else None,
        "quantiles_ms": {f"{part:g}": gaps[math.ceil(part * len(gaps)) - 1] for part in QUANTILES if gaps},
        "at_ms": [statistics.fmean(bins[number]) for number in sorted(bins)],
        "counts": [len(bins[number]) for number in sorted(bins)],
    }


def bursts(times_ms: Sequence[float], gap_ms: float) -> Bursts:
    """Count bursts of packets that follow each other no later than a gap."""
    trains = [[times_ms[0]]] if times_ms else []
    for before, time in pairwise(times_ms):
        if time - before <= gap_ms:
            trains[-1].append(time)
        else:
            trains.append([time])
    lengths = sorted(len(train) for train in trains)
    return {
        "count": len(trains),
        "share_of_packets": sum(size for size in lengths if size > 1) / len(times_ms) if times_ms else None,
        "mean_packets": statistics.fmean(lengths) if lengths else None,
        "p99_packets": lengths[math.ceil(0.99 * len(lengths)) - 1] if lengths else None,
        "largest_packets": max(lengths, default=0),
        "sizes": {str(size): count for size, count in sorted(Counter(lengths).items())},
        "within": intervals([later - earlier for train in trains for earlier, later in pairwise(train)]),
        "between": intervals([later[0] - earlier[0] for earlier, later in pairwise(trains)]),
    }


def found(counted: Intervals) -> list[Found]:
    """Return the decades with more than a tenth of the intervals: not what the engine finds, but of its shape."""
    decades: dict[int, list[tuple[float, int]]] = {}
    for at_ms, count in zip(counted["at_ms"], counted["counts"], strict=True):
        decades.setdefault(math.floor(4 * math.log10(max(at_ms, 1e-6))), []).append((at_ms, count))
    total = max(counted["count"], 1)
    peaks: list[Found] = [
        {
            "centre_ms": max(inside, key=lambda item: item[1])[0],
            "from_ms": inside[0][0],
            "to_ms": inside[-1][0],
            "share": sum(count for _, count in inside) / total,
        }
        for _, inside in sorted(decades.items())
    ]
    return [peak for peak in peaks if peak["share"] > 0.1][:MAX_FOUND]


def expected(gaps_ms: Sequence[float], frame_bytes: int, settings: Settings) -> list[Expected]:
    """Count intervals around those of evenly spaced packets."""
    if settings.bottleneck_mbps is None or not gaps_ms:
        return []
    near: list[Expected] = []
    for gain in settings.gains:
        at_ms = 8 * frame_bytes / (1000 * settings.bottleneck_mbps * gain)
        inside = [gap for gap in gaps_ms if abs(gap - at_ms) <= settings.window_ms]
        near.append(
            {
                "gain": gain,
                "interval_ms": at_ms,
                "share": len(inside) / len(gaps_ms),
                "centre_ms": statistics.fmean(inside) if inside else None,
            }
        )
    return near


def spacing(times_ms: Sequence[float], frame_bytes: int, settings: Settings) -> Spacing:
    """Describe packets of one size that leave at these times."""
    gaps = [later - earlier for earlier, later in pairwise(times_ms)]
    counted = intervals(gaps)
    lasting_ms = times_ms[-1] - times_ms[0] if times_ms else 0.0
    rate = 8 * frame_bytes * len(times_ms) / (1000 * lasting_ms) if lasting_ms else None
    steps = Counter(int((time - times_ms[0]) / (1000 * settings.rate_step_s)) for time in times_ms)
    return {
        "packets": len(times_ms),
        "frame_bytes": frame_bytes * len(times_ms),
        "payload_bytes": (frame_bytes - 66) * len(times_ms),
        "frame_median_bytes": frame_bytes if times_ms else 0,
        "frame_largest_bytes": frame_bytes if times_ms else 0,
        "rate_mbps": rate,
        "utilisation": rate / settings.link_mbps if rate and settings.link_mbps else None,
        "oversized": 0,
        "backwards": 0,
        "intervals": counted,
        "bursts": bursts(times_ms, settings.burst_gap_ms),
        "clusters": {"expected": expected(gaps, frame_bytes, settings), "found": found(counted)},
        "rate_step_s": settings.rate_step_s,
        "rate_over_time_mbps": [
            8 * frame_bytes * steps[step] / (1e6 * settings.rate_step_s) for step in range(max(steps, default=-1) + 1)
        ],
    }


def acks(times_ms: Sequence[float], every: int, explained: float | None, seed: int = 2) -> Acks:
    """Describe ACKs of mostly so many packets each, half a round trip of 50 ms later."""
    random, at, covered = Random(seed), [], []  # noqa: S311 - no secret
    number = 0
    while number < len(times_ms):
        packets = random.choice((every, every, every, every, every + 1, max(every - 1, 1)))
        number += packets
        covered.append(packets)
        at.append(times_ms[min(number, len(times_ms)) - 1] + 25 + random.uniform(0, 0.2))
    counted = intervals([max(later - earlier, 0.0) for earlier, later in pairwise(at)])
    by_chance = 0.08
    return {
        "count": len(at),
        "intervals": counted,
        "found": found(counted),
        "packets_mean": statistics.fmean(covered) if covered else None,
        "packets_mode": Counter(covered).most_common(1)[0][0] if covered else None,
        "packets": {str(size): count for size, count in sorted(Counter(covered).items())},
        "duplicate_share": 0.004 if at else None,
        "clocking": {
            "share": None if explained is None else by_chance + explained * (1 - by_chance),
            "by_chance": by_chance if explained is not None else None,
            "explained": explained,
        },
    }


def flow(rule: str, settings: Settings, packets: int = 6000, **changes: Any) -> Flow:
    """Describe a flow whose packets follow a rule; `changes` replace what it says."""
    times = times_of(rule, packets)
    made: Flow = {
        "protocol": "tcp" if rule == "pairs" else "quic",
        "name": "" if rule == "pairs" else f"original connection ID {abs(hash_of(rule)):016x}",
        "sender": "10.0.0.1:443",
        "receiver": "10.0.1.2:50712",
        "start_s": 1_600_000_000.25,
        "duration_s": (times[-1] - times[0]) / 1000,
        "acks_known": True,
        "notes": [],
        "data": spacing(times, FRAME_BYTES, settings),
        "acks": acks(times, 2 if rule in ("pairs", "even") else 10, 0.93 if rule == "pairs" else 0.06),
    }
    return {**made, **changes}  # type: ignore[typeddict-item]


def hash_of(text: str) -> int:
    """Return a number that a text has in every process."""
    return sum(ord(letter) << 8 * (number % 8) for number, letter in enumerate(text))


def capture(file: str, *flows: Flow, **changes: Any) -> Capture:
    """Describe a file with these flows."""
    made: Capture = {
        "file": file,
        "format": "pcapng",
        "frames": sum(item["data"]["packets"] + item["acks"]["count"] for item in flows),
        "problems": {},
        "notes": [],
        "flows": list(flows),
        "further_flows": 0,
        "further_packets": 0,
    }
    return {**made, **changes}  # type: ignore[typeddict-item]


def of_nothing(settings: Settings) -> Flow:
    """Describe a flow of which only one packet counts: whatever can be null is."""
    return {
        **flow("even", settings, packets=1),
        "name": "",
        "duration_s": 0.0,
        "acks_known": False,
        "data": {**spacing([0.0], FRAME_BYTES, settings), "bursts": bursts([], 0.1), "rate_over_time_mbps": []},
        "acks": acks([], 2, None),
    }
