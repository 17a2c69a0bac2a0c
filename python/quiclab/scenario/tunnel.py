"""Tunnels of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from quiclab.scenario.network import Queue
from quiclab.scenario.transport import EndpointConfig, PathScheduler


@dataclass(frozen=True, kw_only=True)
class PathRoutes:
    """Routes of a path: of a tunnel, or a further one of a flow."""

    down: tuple[str, ...]
    up: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DirectPipeline:
    """A packet leaves the queue when a path can take it at once."""

    kind: Literal["direct"] = "direct"


@dataclass(frozen=True, kw_only=True)
class PquicPipeline:
    """That of PQUIC with the datagram plugin."""

    leaves: Literal["full", "full_or_acknowledging", "at_once"] | None = None
    kind: Literal["pquic"] = "pquic"


Pipeline: TypeAlias = DirectPipeline | PquicPipeline


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """Packets of flows in QUIC datagrams over several paths; `down` goes from its server to its client."""

    stack: str
    paths: tuple[PathRoutes, ...]
    carrier: Literal["connections", "multipath"] | None = None
    pipeline: Pipeline | None = None
    queue: Queue | None = None
    scheduler: PathScheduler | None = None
    mtu: str | None = None
    resequencing: str | None = None
    windows: tuple[str, ...] | None = None
    server: EndpointConfig | None = None
    client: EndpointConfig | None = None
