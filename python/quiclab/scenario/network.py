"""Links and hosts of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: When CoDel's next drop is due.
ControlLaw: TypeAlias = Literal["inverse_sqrt", "inverse_count"]
#: With which count CoDel begins a new series of drops.
CodelRestart: TypeAlias = Literal["last_series", "minus_two"]
#: What the hash of FQ-CoDel takes of a packet.
FlowHash: TypeAlias = Literal["five_tuple", "field_sum"]


@dataclass(frozen=True, kw_only=True)
class TokenBucket:
    """A rate shaped as by `tc-tbf`."""

    rate: str
    burst: str
    kind: Literal["token_bucket"] = "token_bucket"


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A rate over time, or delivery times, read from a file."""

    file: str
    format: Literal["csv", "mahimahi"] | None = None
    at_end: Literal["loop", "hold", "stop"] | None = None
    kind: Literal["trace"] = "trace"


@dataclass(frozen=True, kw_only=True)
class DropTail:
    """First in, first out; a packet that would exceed a limit is dropped. The packet in service counts."""

    packets: int | None = None
    bytes: str | None = None
    time: str | None = None
    kind: Literal["drop_tail"] = "drop_tail"


@dataclass(frozen=True, kw_only=True)
class HeadDrop:
    """First in, first out; what has waited longest is dropped until the new packet fits."""

    packets: int | None = None
    bytes: str | None = None
    kind: Literal["head_drop"] = "head_drop"


@dataclass(frozen=True, kw_only=True)
class Codel:
    """One queue with controlled delay (RFC 8289), as Linux' `codel`."""

    packets: int | None = None
    target: str | None = None
    interval: str | None = None
    ecn: bool | None = None
    ce_threshold: str | None = None
    least_backlog: str | None = None
    control_law: ControlLaw | None = None
    restart: CodelRestart | None = None
    kind: Literal["codel"] = "codel"


@dataclass(frozen=True, kw_only=True)
class FqCodel:
    """A CoDel queue for each flow, served in turn (RFC 8290), as Linux' `fq_codel`."""

    packets: int | None = None
    memory: str | None = None
    memory_per_packet: str | None = None
    drop_batch: int | None = None
    flows: int | None = None
    hash: FlowHash | None = None
    quantum: str | None = None
    target: str | None = None
    interval: str | None = None
    ecn: bool | None = None
    ce_threshold: str | None = None
    least_backlog: str | None = None
    control_law: ControlLaw | None = None
    restart: CodelRestart | None = None
    kind: Literal["fq_codel"] = "fq_codel"


@dataclass(frozen=True, kw_only=True)
class Independent:
    """Loss of each packet with the same probability."""

    probability: float | str
    kind: Literal["independent"] = "independent"


@dataclass(frozen=True, kw_only=True)
class GilbertElliott:
    """Loss with a good and a bad state."""

    good_to_bad: float | str
    bad_to_good: float | str
    loss_in_bad: float | str
    loss_in_good: float | str | None = None
    kind: Literal["gilbert_elliott"] = "gilbert_elliott"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Loss of exactly these packets, counted from 0 in the order of arrival."""

    packets: tuple[int, ...]
    kind: Literal["listed"] = "listed"


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Propagation delay, drawn for each packet or for a time."""

    mean: str
    deviation: str | None = None
    distribution: Literal["constant", "normal", "uniform", "pareto"] | None = None
    reorder: bool | None = None
    every: str | None = None
    steps: int | None = None


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A packet that a link holds back after its delay: for a time, or until so many have passed."""

    packet: int
    by: str
    behind: int | None = None


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """Reports of a link to its bearer (3GPP TS 38.425)."""

    interval: str | None = None
    delay: str | None = None
    desired_buffer: str | None = None


Rate: TypeAlias = str | TokenBucket | Trace
Loss: TypeAlias = str | float | Independent | GilbertElliott | Listed
Queue: TypeAlias = DropTail | HeadDrop | Codel | FqCodel


@dataclass(frozen=True, kw_only=True)
class Link:
    """A one-way link: loss, then queue, then serialisation at the rate, then delay."""

    rate: Rate | None = None
    overhead_per_packet: str | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    delay: str | Delay | None = None
    holds: tuple[Hold, ...] | None = None
    feedback: Feedback | None = None


@dataclass(frozen=True, kw_only=True)
class Host:
    """What user space and kernel cost at one end of a flow."""

    receive_buffer: str | None = None
    truesize: str | None = None
    memory_return: Literal["at_once", "in_quarters"] | None = None
    receive_datagram: str | None = None
    receive_call: str | None = None
    receive_batch: int | None = None
    send_datagram: str | None = None
    send_call: str | None = None
    send_batch: int | None = None
    page_object: str | None = None
    timer_slack: str | Delay | None = None
    wake_up: str | Delay | None = None
