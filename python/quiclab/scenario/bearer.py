"""Split bearers of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, kw_only=True)
class Batches:
    """Batches of packets, divided by fixed shares."""

    kind: Literal["batches"] = "batches"


@dataclass(frozen=True, kw_only=True)
class Proportional:
    """Batches of packets, divided by the measured rates of the links."""

    start_rate: str | None = None
    smoothing: str | None = None
    floor: float | str | None = None
    kind: Literal["proportional"] = "proportional"


@dataclass(frozen=True, kw_only=True)
class LeastExpectedArrival:
    """Each packet takes the link on which it is expected to arrive first."""

    start_rate: str | None = None
    smoothing: str | None = None
    probe_interval: str | None = None
    kind: Literal["least_expected_arrival"] = "least_expected_arrival"


@dataclass(frozen=True, kw_only=True)
class FlowControl:
    """A queue at the sending end, and no more in a link than it desires (3GPP TS 38.425)."""

    queue_packets: int | None = None
    start_buffer: str | None = None
    kind: Literal["flow_control"] = "flow_control"


@dataclass(frozen=True, kw_only=True)
class AdaptiveTimer:
    """A t-Reordering that follows the skew of the links."""

    least: str | None = None
    most: str | None = None
    window: str | None = None
    factor: float | None = None
    kind: Literal["adaptive"] = "adaptive"


Splitter: TypeAlias = Batches | Proportional | LeastExpectedArrival | FlowControl


@dataclass(frozen=True, kw_only=True)
class Reordering:
    """PDCP reordering (3GPP TS 38.323 section 5.2.2.2)."""

    enabled: bool | None = None
    timer: str | AdaptiveTimer | None = None
    sequence_bits: int | None = None


@dataclass(frozen=True, kw_only=True)
class Bearer:
    """A split bearer over several links."""

    links: tuple[str, ...]
    batch_packets: int | None = None
    shares: tuple[int, ...] | None = None
    mode: Literal["split", "duplicate"] | None = None
    splitter: Splitter | None = None
    duplication: float | str | None = None
    reordering: Reordering | None = None
