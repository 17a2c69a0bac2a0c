"""The document `quiclab.pacing/1` for the type checker: `document.rs` of quiclab-trace defines each field.

Times are milliseconds, rates Mbit/s, shares 0 to 1. Unknown values are `None`.
"""

from __future__ import annotations

from typing import Final, TypedDict

SCHEMA: Final = "quiclab.pacing/1"


class Intervals(TypedDict):
    """A distribution of times; bins of 1 % of their value: `at_ms` ascending, with their `counts`."""

    count: int
    mean_ms: float | None
    std_ms: float | None
    variation: float | None
    least_ms: float | None
    largest_ms: float | None
    quantiles_ms: dict[str, float]
    at_ms: list[float]
    counts: list[int]


class Bursts(TypedDict):
    """Packets that follow each other closely; `sizes` counts bursts by their packets."""

    count: int
    share_of_packets: float | None
    mean_packets: float | None
    p99_packets: int | None
    largest_packets: int
    sizes: dict[str, int]
    within: Intervals
    between: Intervals


class Expected(TypedDict):
    """Intervals around one that was expected."""

    gain: float
    interval_ms: float
    share: float
    centre_ms: float | None


class Found(TypedDict):
    """A peak of the distribution."""

    centre_ms: float
    from_ms: float
    to_ms: float
    share: float


class Clusters(TypedDict):
    """Where intervals gather."""

    expected: list[Expected]
    found: list[Found]


class Spacing(TypedDict):
    """Packets of the end that sends more."""

    packets: int
    frame_bytes: int
    payload_bytes: int
    frame_median_bytes: int
    frame_largest_bytes: int
    rate_mbps: float | None
    utilisation: float | None
    oversized: int
    backwards: int
    intervals: Intervals
    bursts: Bursts
    clusters: Clusters
    rate_step_s: float
    rate_over_time_mbps: list[float]


class Clocking(TypedDict):
    """How far arrivals of ACKs explain when packets leave."""

    share: float | None
    by_chance: float | None
    explained: float | None


class Acks(TypedDict):
    """How the receiver acknowledges; `packets` counts ACKs by the packets that they newly cover."""

    count: int
    intervals: Intervals
    found: list[Found]
    packets_mean: float | None
    packets_mode: int | None
    packets: dict[str, int]
    duplicate_share: float | None
    clocking: Clocking


class Flow(TypedDict):
    """A flow, seen from the end that sent more."""

    protocol: str
    name: str
    sender: str
    receiver: str
    start_s: float
    duration_s: float
    acks_known: bool
    notes: list[str]
    data: Spacing
    acks: Acks


class Capture(TypedDict):
    """The contents of a file; flows with the most bytes first."""

    file: str
    format: str
    frames: int
    problems: dict[str, int]
    notes: list[str]
    flows: list[Flow]
    further_flows: int
    further_packets: int
