"""A curve of delivered bytes, and numbers of the start."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from quiclab.scenario.quantity import megabits_per_second, nanoseconds
from quiclab.study.libraries import pl

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab.result import RunResult

FLOW = "main"
#: Bytes of stream data in a full packet, and of that packet at the link: 1200 B of UDP payload less short header,
#: AEAD and frame header, with IP, UDP and 14 B of framing; a segment of 1448 B in a frame of 1514 B.
PAYLOAD_SHARE = {"lab-quic": 1167 / 1242, "lab-tcp": 1448 / 1514}
CONGESTION_AVOIDANCE = 2
SETUP_ROUND_TRIPS, ROUND_TRIPS, POINTS = 2, 30, 120
#: Round trips after the end of slow start in which its losses are found and repaired.
RECOVERY_ROUND_TRIPS = 2


class Steps:
    """A time series: the value at a time is that of the last sample until then."""

    def __init__(self, series: pl.DataFrame, element: str, metric: str) -> None:
        names = {"element": element, "metric": metric}
        rows = series.filter(*(pl.col(column).cast(pl.String) == name for column, name in names.items()))
        self.times, self.values = rows["time_s"].to_list(), rows["value"].to_list()

    def at(self, time_s: float) -> float:
        """Return the value at a time; 0 before the first sample."""
        index = bisect_right(self.times, time_s + 1e-9) - 1
        return float(self.values[index]) if index >= 0 else 0.0


def start_of(result: RunResult, directory: Path) -> dict[str, Any]:
    """Return what is stored of the flow `main`.

    Parameters
    ----------
    result
        A run with time series.
    directory
        Not needed.

    Returns
    -------
    dict
        `curve`: bytes delivered at `POINTS` times of `ROUND_TRIPS` round trips, which begin when the first byte can
        arrive, in bandwidth-delay products of payload; `lost_rtt`: by how many round trips of the full rate they are
        behind at the end; `area`: their integral as a part of that at the full rate. Beside another flow the full rate
        is half of the link's. The end of slow start: `exit_rtt` [round trips after the first byte can arrive],
        `exit_bdp`, the window then, `ssthresh_bdp`, the threshold a round trip later, and `lost_bdp`, what is found
        lost until two later, in bandwidth-delay products; None if it did not end.
    """
    del directory
    scenario = result.data["scenario"]
    flow, link = scenario["flows"][FLOW], scenario["links"]["down"]
    rtt_s = sum(_seconds(scenario["links"][name]["delay"]) for name in ("down", "up"))
    bdp_bytes = 125e3 * megabits_per_second(link["rate"]) * rtt_s
    full = PAYLOAD_SHARE[flow["stack"]] * bdp_bytes / len(scenario["flows"])
    begin_s = nanoseconds(flow["start"]) / 1e9 + SETUP_ROUND_TRIPS * rtt_s
    delivered = Steps(result.series, f"{FLOW}.receiver", "delivered_bytes")
    step = ROUND_TRIPS / POINTS
    curve = [delivered.at(begin_s + step * (index + 1) * rtt_s) / full for index in range(POINTS)]
    return {
        "curve": [round(value, 4) for value in curve],
        "lost_rtt": ROUND_TRIPS - curve[-1],
        "area": sum(curve) / sum(step * (index + 1) for index in range(POINTS)),
        **_exit(result.series, begin_s, rtt_s, bdp_bytes),
    }


def _exit(series: pl.DataFrame, begin_s: float, rtt_s: float, bdp_bytes: float) -> dict[str, float | None]:
    sender = f"{FLOW}.sender"
    phases = Steps(series, sender, "phase")
    ended = [time for time, value in zip(phases.times, phases.values, strict=True) if value == CONGESTION_AVOIDANCE]
    if not ended:
        return dict.fromkeys(("exit_rtt", "exit_bdp", "ssthresh_bdp", "lost_bdp"))
    window, threshold = (Steps(series, sender, f"{name}_bytes") for name in ("cwnd", "ssthresh"))
    srtt_s = Steps(series, sender, "srtt_ms").at(ended[0]) / 1e3
    before = [value for time, value in zip(window.times, window.values, strict=True) if time <= ended[0]]
    packets = Steps(series, sender, "lost_packets").at(ended[0] + RECOVERY_ROUND_TRIPS * srtt_s)
    size = 1200 if Steps(series, sender, "handshake_complete_ms").times else 1448
    return {
        "exit_rtt": (ended[0] - begin_s) / rtt_s,
        "exit_bdp": max(before) / bdp_bytes,
        "ssthresh_bdp": threshold.at(ended[0] + srtt_s) / bdp_bytes,
        "lost_bdp": size * packets / bdp_bytes,
    }


def _seconds(delay: Any) -> float:
    return nanoseconds(delay["mean"] if isinstance(delay, dict) else delay) / 1e9
