"""Long transfers of the page-load thesis: concurrently on 5 Mbit/s, under loss, and under jitter."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from quiclab.study import Configuration, Factor, Metric, Table, Value
from quiclab.study.published import csv_rows
from quiclab_studies.page_load.common import (
    BRIDGE_RTT_MS,
    BROWSER,
    BROWSER_TIME,
    ENDS,
    HTML_BYTES,
    LABELS,
    REFERENCE,
    SOURCE,
    configuration,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from quiclab.result import RunResult

BULK_MB = 2000
"""More than any of them gets: all are watched for as long. The thesis has 210 MB for 150 s."""
FAIRNESS_S = 60
RATE_MBPS, QUEUE_KB = 5, 30
MAX_FLOWS = 5
ETHERNET_BYTES = 14


def bulk(name: str, seconds: int) -> Configuration:
    """Return a transfer that is watched for some seconds, with the page of one large image."""
    large = {
        "flows.page.workload.objects": [{"count": 1, "size": f"{BULK_MB} MB"}],
        "duration": f"{seconds} s",
        "until": "duration_over",
    }
    return configuration(name, large)


# --- concurrent transfers

BESIDE = {
    "Q2+Q2": ("quic1", "quic1"),
    "T+T": ("tcp", "tcp"),
    "Q2+T": ("quic1", "tcp"),
    "Q2+2T": ("quic1", "tcp", "tcp"),
    "Q2+4T": ("quic1", "tcp", "tcp", "tcp", "tcp"),
    "Q1+T": ("quic1_n1", "tcp"),
    "Q1+2T": ("quic1_n1", "tcp", "tcp"),
    "Qbbr+Tbbr": ("quic1_bbr", "tcp_bbr"),
    "Q2+Tbbr": ("quic1", "tcp_bbr"),
}
PUBLISHED_NAMES = {
    "quic_vs_quic": "Q2+Q2",
    "tcp_vs_tcp": "T+T",
    "quic_vs_tcp": "Q2+T",
    "quic_vs_tcp_x2": "Q2+2T",
    "quic_vs_tcp_x4": "Q2+4T",
    "quic_bbr_vs_tcp_bbr": "Qbbr+Tbbr",
    "quic_cubic_vs_tcp_bbr": "Q2+Tbbr",
}
FLOW = Factor("flow", "flow_number", "Flow", "", tuple(range(1, MAX_FLOWS + 1)), None)


def concurrent_transfers(name: str) -> Configuration:
    """Return several transfers at the same moment on one link; each browser takes its own time for the HTML."""
    changes: dict[str, object] = {
        **(BROWSER if "Q" in name else {}),
        "flows.page": None,
        "duration": f"{FAIRNESS_S} s",
        "until": "duration_over",
    }
    for direction in ("down1", "up1"):
        changes |= {
            f"links.{direction}.rate": f"{RATE_MBPS} Mbit/s",
            f"links.{direction}.delay": f"{BRIDGE_RTT_MS / 2:g} ms",
            f"links.{direction}.queue": {"kind": "drop_tail", "waiting_bytes": f"{QUEUE_KB} kB"},
        }
    for number, stack in enumerate(BESIDE[name], start=1):
        flow: dict[str, Any] = {**ENDS[stack], "down": ["down1"], "up": ["up1"]}
        flow["workload"] = {
            "kind": "page",
            "html": f"{HTML_BYTES} B",
            "objects": [{"count": 1, "size": f"{BULK_MB} MB"}],
            "browser_time": BROWSER_TIME,
        }
        changes[f"flows.f{number}"] = flow
    label = " + ".join(LABELS[stack] for stack in BESIDE[name])
    return Configuration(name, label, changes)


def throughput_mbps(result: RunResult, number: Value) -> float:
    """Rate of a flow as in a capture at the client, Ethernet headers included; NaN if there are fewer flows."""
    element = result.elements.get(f"f{number}.receiver")
    if element is None:
        return float("nan")
    received = element["received"]
    return float(received["bytes"] + ETHERNET_BYTES * received["packets"]) * 8e-6 / FAIRNESS_S


THROUGHPUT = Metric("throughput_mbps", "Throughput", "Mbit/s", throughput_mbps, of="flow")


def read_fairness(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the rows of Tables 4.1 and 4.2 with the columns of the study."""
    seen: Counter[str] = Counter()
    rows = []
    for row in [*csv_rows(path), *csv_rows(path.with_name("table_4_2_fairness_bbr.csv"))]:
        seen[row["scenario"]] += 1
        named = {"configuration": PUBLISHED_NAMES[row["scenario"]], "flow_number": str(seen[row["scenario"]])}
        rows.append({**row, **named})
    return rows


FAIRNESS_TABLE = Table(f"{REFERENCE}/table_4_1_fairness_cubic.csv", f"{SOURCE}, Tables 4.1 and 4.2", read_fairness)
