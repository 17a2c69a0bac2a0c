"""Where packets of the tunnel wait: in its own queue, which FQ-CoDel keeps short, or in those of the paths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quiclab.quantity import bits_per_second, seconds
from quiclab.studies.tunnel.common import LENGTH_S, mean, series
from quiclab.study import Metric

if TYPE_CHECKING:
    from quiclab.result import RunResult

PATHS_DOWN = ("down1", "down2")


def bandwidth_delay_product(result: RunResult, path: int) -> float:
    """Rate of a path down times its propagation delay both ways [B]."""
    links = result.data["scenario"]["links"]
    down, up = links[f"down{path}"], links[f"up{path}"]
    both_ways_s = seconds(down["delay"]["mean"]) + seconds(up["delay"]["mean"])
    return bits_per_second(down["rate"]) / 8 * both_ways_s


def in_flight_bdp(result: RunResult) -> float:
    """Maximum number of bytes in flight on a path over its bandwidth-delay product; seconds 1 to 30 of the test."""
    found = []
    for path in (1, 2):
        in_flight = series(result, "vpn.server", f"path{path}_in_flight_bytes")
        product = bandwidth_delay_product(result, path)
        found += [value / product for at_s, value in in_flight if 1 <= at_s <= LENGTH_S]
    return max(found, default=math.nan)


def waiting_bytes(result: RunResult, element: str) -> float:
    """Mean of the bytes in the queue of an element, seconds 5 to 30."""
    return mean([value for at_s, value in series(result, element, "queue_bytes") if 5 <= at_s <= LENGTH_S])


def tunnel_queue_bytes(result: RunResult) -> float:
    """Mean of the bytes in the tunnel's queue at the proxy, seconds 5 to 30."""
    return waiting_bytes(result, "vpn.server")


def path_queue_bytes(result: RunResult) -> float:
    """Mean of the bytes in the queues of both paths down, seconds 5 to 30."""
    return math.fsum(waiting_bytes(result, link) for link in PATHS_DOWN)


def path_drops(result: RunResult) -> float:
    """Packets dropped in the queues of both paths down."""
    return math.fsum(result.elements[link]["dropped"]["packets"] for link in PATHS_DOWN)


WHERE_IT_WAITS = (
    Metric("in_flight_bdp", "Most data in flight on a path over its bandwidth-delay product", "", in_flight_bdp),
    Metric("tunnel_queue_bytes", "Bytes that wait in the tunnel's queue at the proxy", "B", tunnel_queue_bytes),
    Metric("path_queue_bytes", "Bytes that wait in the queues of both paths down", "B", path_queue_bytes),
    Metric("path_drops", "Packets dropped in the queues of both paths down", "", path_drops),
)
