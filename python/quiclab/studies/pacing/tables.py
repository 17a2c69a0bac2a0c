"""Published numbers of the pacing thesis in the form of the studies, and what follows from BBR's gain cycle alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.studies.pacing.common import SOURCE
from quiclab.study import Model, Table, Value

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
    from quiclab.study.published import csv_rows  # noqa: PLC0415 - studies are loaded before results are

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
    from quiclab.study.published import csv_rows  # noqa: PLC0415

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
