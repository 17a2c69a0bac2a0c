"""Published numbers of the pacing thesis in the form of the studies, and what follows from BBR's gain cycle alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.study import Model, Table, Value
from quiclab.study.published import csv_rows
from quiclab_studies.pacing.common import SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

REFERENCE = "pacing/reference"
RUNS = "10"
FIRST = {"tcp": "netcat", "picoquic": "picoquic_bbr"}
"""Configuration that represents an implementation: frame sizes do not depend on congestion control."""
CYCLE = {1.25: 1, 1.0: 6, 0.75: 1}
"""Phases of the gain cycle, each of a round trip."""


def frames(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the rows of Table 6.1: intervals of evenly spaced frames."""
    return [
        {
            **row,
            "configuration": FIRST.get(row["impl"], row["impl"]),
            "n_runs": RUNS,
            "packet_interval_ms_mean": row["packet_interval_ms_printed"],
            "packet_interval_ms_std": "",
        }
        for row in csv_rows(path)
    ]


def clusters(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the measured rows of Table 6.3: shares of the intervals around those of the gains."""
    return [
        {
            **row,
            "configuration": "picoquic_bbr",
            "n_runs": RUNS,
            "intervals_percent_mean": row["intervals_percent"],
            "intervals_percent_std": "",
        }
        for row in csv_rows(path)
        if row["kind"] == "measured"
    ]


TEXT = {
    "tcp_netcat": "netcat",
    "tcp_apache_https": "apache",
    "tcp_custom_c": "so_max_pacing_rate",
    "aioquic": "aioquic",
    "quic-go": "quic-go",
    "ngtcp2": "ngtcp2",
}
"""Configurations of what the text names; that of others follows from congestion control or pacer."""
TYPICAL = ("typical", "typical_without_loss", "most_common")


def utilised(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the utilisations that the text has as numbers; limits are in the claims."""
    names = {**TEXT, "slowest_quic": "aioquic"}
    return [
        {
            **row,
            "configuration": names[row["impl"]],
            "n_runs": RUNS,
            "utilisation_mean": str(round(float(row["link_utilisation_percent"]) / 100, 6)),
            "utilisation_std": "",
        }
        for row in csv_rows(path)
        if row["relation"] == "=" and row["impl"] in names
    ]


def acknowledged(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the packets of a typical ACK, the middle of what is printed, and the part of duplicates."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in csv_rows(path):
        statistic, rate = row["statistic"], row["bottleneck_rate_mbps"]
        name = TEXT.get(row["impl"]) or f"{row['impl']}_{row['cc']}".removeprefix("tcp_")
        name = "fq" if row["sender_pacing"] == "fq_qdisc" else name
        values = found.setdefault((name, rate), {})
        if statistic in TYPICAL:
            middle = (float(row["packets_per_ack_low"]) + float(row["packets_per_ack_high"])) / 2
            values["covered_mode_packets_mean"] = f"{middle:g}"
        elif statistic == "duplicate_acks" and row["share_of_acks_percent"]:
            values["dup_ack_share_mean"] = str(round(float(row["share_of_acks_percent"]) / 100, 6))
    columns = ("packets_per_ack_mean", "covered_mode_packets_mean", "dup_ack_share_mean")
    return [
        {
            **dict.fromkeys(columns, ""),
            "configuration": name,
            "bottleneck_rate_mbps": rate,
            "n_runs": RUNS,
            **values,
        }
        for (name, rate), values in found.items()
        if values
    ]


def theory() -> Model:
    """Return the shares if each phase takes a round trip: gain times phases over their sum."""

    def estimate(configuration: str, values: Mapping[str, Value]) -> float | None:
        gain = float(values["gain"])
        # half of the intervals of pairs lie within a pair
        among = 2 if configuration == "bbr" else 1
        return 100 * gain * CYCLE[gain] / sum(each * phases for each, phases in CYCLE.items()) / among

    return Model("phases of a round trip each", "gain x phases / sum", estimate)


FRAMES = Table(f"{REFERENCE}/table_6_1_frame_intervals.csv", f"{SOURCE}, Table 6.1", frames)
CLUSTERS = Table(f"{REFERENCE}/table_6_3_picoquic_bbr_clusters.csv", f"{SOURCE}, Table 6.3", clusters)
UTILISED = Table(f"{REFERENCE}/link_utilisation_prose.csv", f"{SOURCE}, sections 6.1 and 7.1", utilised)
ACKNOWLEDGED = Table(f"{REFERENCE}/ack_frequency_prose.csv", f"{SOURCE}, section 6.2", acknowledged)
