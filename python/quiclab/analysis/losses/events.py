"""Event log of a sender of either protocol, the input of the models of the standards."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

Range: TypeAlias = tuple[int, int]
"""First and last packet number, both included; of TCP first position and the one behind the last."""


@dataclass(frozen=True)
class Sent:
    """An ack-eliciting packet, or a segment with data.

    Attributes
    ----------
    time_ms
        When it left.
    number
        Packet number, or number of the segment from 0 in the order of its data.
    span
        Of a segment: its positions.
    space
        Of a packet: `initial`, `handshake` or `1RTT`.
    again
        Of a segment: it has been sent before.
    """

    time_ms: float
    number: int
    span: Range = (0, 0)
    space: str = "1RTT"
    again: bool = False


@dataclass(frozen=True)
class AckReceived:
    """An acknowledgement that arrived.

    Attributes
    ----------
    time_ms
        When.
    ranges
        Packet numbers that it acknowledges; of TCP the SACK blocks in their order.
    delay_ms
        The acknowledgement delay reported by the peer.
    space
        As of a packet.
    cumulative
        Of TCP: all positions below it have arrived.
    echo_ms
        Of TCP: the timestamp that it echoes; `None` without the option.
    """

    time_ms: float
    ranges: tuple[Range, ...]
    delay_ms: float = 0.0
    space: str = "1RTT"
    cumulative: int = 0
    echo_ms: float | None = None


@dataclass(frozen=True)
class Lost:
    """A packet that was declared lost, or should have been.

    Attributes
    ----------
    number
        As of what was sent.
    sent_ms, time_ms
        When it had left, when it was declared lost.
    rule
        The reason; empty if unknown.
    """

    number: int
    sent_ms: float
    time_ms: float
    rule: str = ""


@dataclass
class SenderLog:
    """One run, seen from its sender.

    Attributes
    ----------
    events
        Packets sent and acknowledgements received, in the order of the sender.
    lost
        Losses declared by the sender.
    arrived
        Packets that arrived nevertheless: number and time of sending.
    closed_ms
        When the connection was closed: nothing is declared lost from then on.
    told
        Source of the declared losses, in prose.
    """

    events: list[Sent | AckReceived] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    arrived: set[tuple[int, float]] = field(default_factory=set)
    closed_ms: float = math.inf
    told: str = ""
