"""A bottleneck with a queue in bandwidth-delay products, for studies of senders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Bytes of a full packet on Ethernet without its check sequence.
FRAME_BYTES = 1514
#: Shorter queues hold back any sender: full packets.
MIN_PACKETS = 4


def bdp_bytes(rate_mbps: float, rtt_ms: float) -> int:
    """Return the bandwidth-delay product in bytes on the wire."""
    return round(125 * rate_mbps * rtt_ms)


def links(rate_mbps: float, rtt_ms: float, queue_bdp: float, jitter_ms: float = 0.0) -> dict[str, Any]:
    """Return the links `down`, with the bottleneck, and `up`, which nothing limits.

    The queue is a number of bytes, so that it holds the same time whatever the size of a sender's packets.

    Parameters
    ----------
    rate_mbps
        Rate of the bottleneck; a packet takes its IP length and 14 bytes.
    rtt_ms
        Round trip time without a queue.
    queue_bdp
        Limit of the queue, the packet in service included, in bandwidth-delay products.
    jitter_ms
        Standard deviation of the delay of `down`, which keeps the order of packets.
    """
    limit = max(MIN_PACKETS * FRAME_BYTES, round(queue_bdp * bdp_bytes(rate_mbps, rtt_ms)))
    half = f"{rtt_ms / 2:g} ms"
    delay: str | Mapping[str, Any] = half
    if jitter_ms:
        delay = {"mean": half, "deviation": f"{jitter_ms:g} ms", "distribution": "normal", "reorder": False}
    return {
        "down": {
            "rate": f"{rate_mbps:g} Mbit/s",
            "overhead_per_packet": "14 B",
            "queue": {"kind": "drop_tail", "bytes": f"{limit} B"},
            "delay": delay,
        },
        "up": {"delay": {"mean": half, "deviation": "10 us", "distribution": "normal", "reorder": False}},
    }
