"""Where packets of the tunnel wait: in its own queue, which FQ-CoDel keeps short, or in those of the paths."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from quiclab.scenario.quantity import bits_per_second, seconds
from quiclab.study import Metric
from quiclab_studies.reductions import mean
from quiclab_studies.tunnel.common import LENGTH_S, series

if TYPE_CHECKING:
    from collections.abc import Callable

    from quiclab.result import RunResult

PATHS_DOWN = ("down1", "down2")
CODEL_DROPS, SOJOURN_MEDIAN = "codel_dropped_packets", "sojourn_median_ms"
SOJOURN_SERIES = (CODEL_DROPS, SOJOURN_MEDIAN)
"""Further series that studies with the metrics `STEADY` and `FEW_BYTES` keep."""
MEDIAN = "Median over steps of 100 ms of the median sojourn time"


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


def window_falls(result: RunResult) -> float:
    """How often the window of a path is smaller than a second before, seconds 1 to 30."""
    falls = 0
    for path in (1, 2):
        window = dict(series(result, "vpn.server", f"path{path}_cwnd_bytes"))
        seconds = [window[second] for second in range(1, int(LENGTH_S) + 1) if second in window]
        falls += sum(after < before for before, after in itertools.pairwise(seconds))
    return float(falls)


def sojourn_quantile(metric: str, start_s: int, part: float) -> Callable[[RunResult], float]:
    """Return a quantile over steps of 100 ms of sojourn times of the first flow at the proxy [ms].

    A step has the time of its end: the first one ends after `start_s`.
    """

    def measure(result: RunResult) -> float:
        steps = series(result, "vpn.server:down1", metric)
        values = sorted(value for at_s, value in steps if start_s < at_s <= LENGTH_S)
        return values[min(int(part * len(values)), len(values) - 1)] if values else math.nan

    return measure


def codel_drops(result: RunResult) -> float:
    """Packets of the first flow that CoDel drops at the proxy, seconds 5 to 30."""
    steps = series(result, "vpn.server:down1", CODEL_DROPS)
    return math.fsum(value for at_s, value in steps if 5 < at_s <= LENGTH_S)


def most(metrics: tuple[str, ...]) -> Callable[[RunResult], float]:
    """Return the largest value of some series of the proxy, seconds 2 to 30."""

    def measure(result: RunResult) -> float:
        values = [
            value for name in metrics for at_s, value in series(result, "vpn.server", name) if 2 <= at_s <= LENGTH_S
        ]
        return max(values, default=math.nan)

    return measure


WINDOW_FALLS = Metric("window_falls", "Seconds after which the window of a path is smaller", "", window_falls)
STEADY = (
    Metric("codel_drops_5_30", "Packets of the first download that CoDel drops, seconds 5 to 30", "", codel_drops),
    Metric("sojourn_median_5_30_ms", f"{MEDIAN}, seconds 5 to 30", "ms", sojourn_quantile(SOJOURN_MEDIAN, 5, 0.5)),
    Metric(
        "sojourn_p99_5_30_ms",
        "99th percentile over steps of 100 ms of the longest sojourn time, seconds 5 to 30",
        "ms",
        sojourn_quantile("sojourn_longest_ms", 5, 0.99),
    ),
)
"""What the steady state of a queue looks like."""
FEW_BYTES = (
    Metric("sojourn_median_2_30_ms", f"{MEDIAN}, seconds 2 to 30", "ms", sojourn_quantile(SOJOURN_MEDIAN, 2, 0.5)),
    Metric("queue_most_2_30_bytes", "Most in the queue, seconds 2 to 30", "B", most(("queue_bytes",))),
    Metric(
        "in_flight_most_2_30_bytes",
        "Most on a path, seconds 2 to 30",
        "B",
        most(("path1_in_flight_bytes", "path2_in_flight_bytes")),
    ),
)
"""Whether a queue is short although its sojourn time is not."""
WHERE_IT_WAITS = (
    Metric("in_flight_bdp", "Most data in flight on a path over its bandwidth-delay product", "", in_flight_bdp),
    Metric("tunnel_queue_bytes", "Bytes that wait in the tunnel's queue at the proxy", "B", tunnel_queue_bytes),
    Metric("path_queue_bytes", "Bytes that wait in the queues of both paths down", "B", path_queue_bytes),
    Metric("path_drops", "Packets dropped in the queues of both paths down", "", path_drops),
)
