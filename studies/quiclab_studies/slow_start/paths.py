"""Paths: rate, round trip time, and a queue in bandwidth-delay products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quiclab_studies import bottleneck

#: Round trips from the first byte that can arrive to the end of what is measured.
ROUND_TRIPS = 30
#: Handshake, and request with the first byte, in round trips.
SETUP_ROUND_TRIPS = 2
#: Samples of time series in a round trip.
SAMPLES = 20


@dataclass(frozen=True)
class Path:
    """A bottleneck and its round trip time without a queue."""

    rate_mbps: float
    rtt_ms: float

    @property
    def name(self) -> str:
        """Its name as the value of a factor."""
        return f"{self.rate_mbps:g} Mbit/s, {self.rtt_ms:g} ms"

    @property
    def bdp_bytes(self) -> int:
        """The bandwidth-delay product."""
        return bottleneck.bdp_bytes(self.rate_mbps, self.rtt_ms)

    @property
    def seconds(self) -> float:
        """Duration of a download."""
        return (SETUP_ROUND_TRIPS + ROUND_TRIPS) * self.rtt_ms / 1e3

    def links(self, queue_bdp: float, jitter_ms: float = 0.0) -> dict[str, Any]:
        """Return its links; jitter keeps the order of packets."""
        return bottleneck.links(self.rate_mbps, self.rtt_ms, queue_bdp, jitter_ms)


PATHS = (
    Path(1, 100),
    Path(10, 20),
    Path(10, 100),
    Path(100, 2),
    Path(100, 20),
    Path(100, 100),
    Path(1000, 2),
    Path(1000, 20),
    Path(250, 600),
)
BY_NAME = {path.name: path for path in PATHS}
