"""What a flow transfers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from quiclab.scenario.network import Delay


@dataclass(frozen=True, kw_only=True)
class Download:
    """The client asks once; the server answers with `size`, or for `duration`."""

    size: str | None = None
    duration: str | None = None
    request: str | None = None
    kind: Literal["download"] = "download"


@dataclass(frozen=True, kw_only=True)
class RequestResponse:
    """The client asks, waits for the whole answer, pauses, and asks again."""

    count: int
    response: str
    request: str | None = None
    pause: str | None = None
    kind: Literal["request_response"] = "request_response"


@dataclass(frozen=True, kw_only=True)
class Datagrams:
    """The sender sends datagrams at a constant rate, or in periods of it, whether they arrive or not."""

    rate: str
    size: str
    duration: str
    on: str | None = None
    off: str | None = None
    kind: Literal["datagrams"] = "datagrams"


@dataclass(frozen=True, kw_only=True)
class Ping:
    """The receiver sends probes that the sender sends back."""

    count: int
    size: str | None = None
    interval: str | None = None
    protocol: Literal["udp", "icmp"] | None = None
    kind: Literal["ping"] = "ping"


@dataclass(frozen=True, kw_only=True)
class PageObjects:
    """Objects of a page that are alike."""

    count: int
    size: str
    kind: Literal["image", "style", "script", "font"] | None = None


@dataclass(frozen=True, kw_only=True)
class PageResource:
    """A resource of a page that other resources lead to; `after` has their numbers, 0 for the HTML."""

    size: str
    kind: Literal["image", "style", "script", "font"] | None = None
    after: tuple[int, ...] | None = None
    delay: str | None = None
    origin: int | None = None
    think_time: str | None = None
    request: str | None = None
    response: str | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """The client loads a page: HTML, then the objects that it names, or resources that depend on each other.

    Over HTTP/3 on QUIC, or HTTP/2 on TCP.
    """

    html: str
    objects: tuple[PageObjects, ...] = ()
    resources: tuple[PageResource, ...] | None = None
    html_think_time: str | None = None
    think_time: str | None = None
    browser_time: str | Delay | None = None
    priorities: Literal["browser", "round_robin"] | None = None
    request: str | None = None
    response: str | None = None
    kind: Literal["page"] = "page"


@dataclass(frozen=True, kw_only=True)
class Media:
    """The sender sends video frames over RTP, at the rate that SCReAM (RFC 8298) lets them have."""

    max_rate: str
    duration: str
    start_rate: str | None = None
    min_rate: str | None = None
    frame_rate: int | None = None
    packet_size: str | None = None
    target_delay: str | None = None
    ramp_up_speed: str | None = None
    ecn: bool | None = None
    kind: Literal["media"] = "media"


Workload: TypeAlias = Download | RequestResponse | Datagrams | Page | Ping | Media
