"""Lines of 50 and 20 Mbit/s and a tunnel over both, as a scenario: the model of `tests/data/two_lines.sh`."""

from __future__ import annotations

from itertools import product

import polars as pl

from quiclab.result import RunResult
from quiclab.scenario import Scenario

RATES_MBPS, BUFFER_S = (50, 20), 0.1
#: A full packet on a line: 1400 bytes inside, of which 1348 are payload of TCP, and the headers of tunnel and QUIC, of
#: UDP and IP, and of Ethernet.
PAYLOAD_BYTES, PACKET_BYTES = 1348, 1400 + 34 + 28 + 14
#: Payload that both lines carry.
BOTH_MBPS = sum(RATES_MBPS) * PAYLOAD_BYTES / PACKET_BYTES


def model(rtts_ms: tuple[int, int], seconds: int, control: str = "cubic") -> Scenario:
    """Return a download of so many seconds, with a congestion control of the paths."""
    links = {
        f"{direction}{number}": {
            "rate": {"kind": "token_bucket", "rate": f"{rate} Mbit/s", "burst": "10 kB"},
            "queue": {"kind": "drop_tail", "bytes": f"{rate * 1e6 * BUFFER_S / 8:g} B"},
            "delay": f"{rtt / 2:g} ms",
            "overhead_per_packet": "14 B",
        }
        for (number, (rate, rtt)), direction in product(
            enumerate(zip(RATES_MBPS, rtts_ms, strict=True), start=1), ("down", "up")
        )
    }
    tunnel = {
        "stack": "noq",
        "queue": {"kind": "fq_codel", "target": "20 ms", "interval": "200 ms"},
        "scheduler": "earliest_arrival",
        "resequencing": "200 ms",
        "repair": True,
        "paths": [{"down": [f"down{number}"], "up": [f"up{number}"]} for number in (1, 2)],
        "server": {"congestion_control": control},
        "client": {"congestion_control": control},
    }
    load = {
        "stack": "lab-tcp",
        "down": ["vpn"],
        "up": ["vpn"],
        "start": "1 s",
        "workload": {"kind": "download", "duration": f"{seconds} s"},
        "sender": {"congestion_control": "cubic", "tcp": {"mss": "1348 B"}},
        "receiver": {"tcp": {"mss": "1348 B"}},
    }
    return Scenario.from_dict(
        {
            "version": 1,
            "name": "two_lines",
            "duration": f"{seconds + 1} s",
            "until": "duration_over",
            "links": links,
            "tunnels": {"vpn": tunnel},
            "flows": {"load": load},
            "record": {"series_interval": "500 ms"},
        }
    )


def goodput_mbps(result: RunResult, start_s: float, end_s: float) -> float:
    """Return the goodput between two times after the start of the download."""
    delivered = result.series.filter(
        (pl.col("element").cast(pl.String) == "load.receiver")
        & (pl.col("metric").cast(pl.String) == "delivered_bytes")
        & pl.col("time_s").is_between(1 + start_s, 1 + end_s)
    ).sort("time_s")
    times, values = delivered["time_s"], delivered["value"]
    return float((values[-1] - values[0]) * 8e-6 / (times[-1] - times[0]))
