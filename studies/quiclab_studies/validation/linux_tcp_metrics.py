"""Metrics of the study `validation/linux_tcp`, as defined by the reference."""

import math

from quiclab.result import RunResult
from quiclab.scenario.quantity import seconds
from quiclab.study import Metric
from quiclab_studies.validation.linux_tcp_cells import ROUND_TRIPS_BEFORE_DATA
from quiclab_studies.validation.linux_tcp_parts import PAIR_DURATION_S

PAYLOAD_BYTES = 1448  # MSS 1460 without the timestamps option
COUNTERS = ("retransmits", "retransmitted_packets", "lost_packets")
"""Statistics of a sender that count retransmissions, the first of them that there is."""


def goodput_mbps(result: RunResult) -> float:
    """Bits received from the first data on, over the time that the reference measured [Mbit/s]."""
    scenario = result.scenario
    round_trip = sum(seconds(_mean(scenario.value(f"links.{name}.delay"))) for name in ("far", "back"))
    duration = result.network_time_s - ROUND_TRIPS_BEFORE_DATA * round_trip
    return 8 * result.flows["main"].delivered_bytes / duration / 1e6


def _mean(delay: object) -> str:
    return str(delay.get("mean", "0 s")) if isinstance(delay, dict) else str(delay)


def srtt_ms(result: RunResult) -> float:
    """Smoothed RTT of the sender in the mean over time [ms]; of the first flow, where there are two."""
    return result.over_time(f"{next(iter(result.flows))}.sender", "srtt_ms", "mean")


def cwnd_packets(result: RunResult) -> float:
    """Congestion window in the mean over time [full packets]."""
    return result.over_time("main.sender", "cwnd_bytes", "mean") / PAYLOAD_BYTES


def longest_cwnd_packets(result: RunResult) -> float:
    """Largest congestion window [full packets]."""
    return result.over_time("main.sender", "cwnd_bytes", "largest") / PAYLOAD_BYTES


def retransmits(result: RunResult) -> float:
    """Packets sent again; NaN if the stack does not count them."""
    sender = next(iter(result.flows.values())).sender
    return next((float(sender[name]) for name in COUNTERS if name in sender), math.nan)


def transfer_time_ms(result: RunResult) -> float:
    """Time from the client's first packet to the last byte [ms]; NaN if it did not finish."""
    time = result.flows["main"].download_time_s
    return math.nan if time is None else 1e3 * time


def share(result: RunResult) -> float:
    """Part of the first flow in what both have delivered."""
    first, second = (result.flows[name].delivered_bytes for name in ("first", "second"))
    return first / (first + second)


def sum_mbps(result: RunResult) -> float:
    """Goodput of both flows together [Mbit/s]."""
    return 8 * sum(flow.delivered_bytes for flow in result.flows.values()) / PAIR_DURATION_S / 1e6


def batch_throughput_mbps(result: RunResult) -> float:
    """File bits over the time from the first data to the last byte [Mbit/s]; NaN if it did not finish."""
    flow = result.flows["dc"]
    scenario = result.scenario
    round_trip = sum(seconds(_mean(scenario.value(f"links.{name}.delay"))) for name in ("down1", "up1"))
    if flow.download_time_s is None:
        return math.nan
    return 8 * flow.delivered_bytes / (flow.download_time_s - ROUND_TRIPS_BEFORE_DATA * round_trip) / 1e6


def queue_drops(result: RunResult) -> float:
    """Packets that the queues of both downlinks dropped; NaN where these are the kernel's, which counts all drops."""
    links = (result.elements[name]["statistics"] for name in ("down1", "down2"))
    return float(sum(link.get("dropped_queue_full_packets", math.nan) for link in links))


def timer_expiries(result: RunResult) -> float:
    """Times that t-Reordering expired at the client."""
    return float(result.elements["dc.egress"]["statistics"]["timer_expiries"])


BULK_METRICS = (
    Metric("goodput_mbps", "Goodput", "Mbit/s", goodput_mbps),
    Metric("srtt_ms", "Mean smoothed RTT", "ms", srtt_ms),
    Metric("cwnd_packets", "Mean congestion window", "packets", cwnd_packets),
    Metric("longest_cwnd_packets", "Largest congestion window", "packets", longest_cwnd_packets),
    Metric("retransmits", "Retransmissions", "packets", retransmits),
)
PAIR_METRICS = (
    Metric("share", "Share of the first flow", "", share),
    Metric("sum_mbps", "Goodput of both", "Mbit/s", sum_mbps),
    Metric("srtt_ms", "Mean smoothed RTT of the first flow", "ms", srtt_ms),
)
BATCH_METRICS = (
    Metric("throughput_mbps", "Throughput", "Mbit/s", batch_throughput_mbps),
    Metric("queue_drops", "Drops of both queues", "packets", queue_drops),
    Metric("timer_expiries", "Expiries of t-Reordering", "", timer_expiries),
    BULK_METRICS[-1],
)
TRANSFER_TIME = Metric("time_ms", "Time", "ms", transfer_time_ms)
