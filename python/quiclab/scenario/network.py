"""Links and hosts of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


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
    """Propagation delay, drawn for each packet."""

    mean: str
    deviation: str | None = None
    distribution: Literal["constant", "normal", "uniform", "pareto"] | None = None
    reorder: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """Reports of a link to its bearer (3GPP TS 38.425)."""

    interval: str | None = None
    delay: str | None = None
    desired_buffer: str | None = None


Rate: TypeAlias = str | TokenBucket | Trace
Loss: TypeAlias = str | float | Independent | GilbertElliott | Listed
Queue: TypeAlias = DropTail


@dataclass(frozen=True, kw_only=True)
class Link:
    """A one-way link: loss, then queue, then serialisation at the rate, then delay."""

    rate: Rate | None = None
    overhead_per_packet: str | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    delay: str | Delay | None = None
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
    timer_slack: str | Delay | None = None
