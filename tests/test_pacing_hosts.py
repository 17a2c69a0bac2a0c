"""What programs cost in the pacing study, which of them fill 1 Gbit/s, and the numbers of the thesis' text."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import pytest

from conftest import ROOT
from quiclab import load, run
from quiclab.scenario.quantity import seconds
from quiclab.study.published import read_published
from quiclab.study.registry import find
from quiclab_studies import hosts
from quiclab_studies.pacing import common

FILE = ROOT / "studies/quiclab_studies/pacing/reference/utilisation_real.csv"


def cpu_us(stack: str, end: str) -> float:
    """Return the median CPU time of an end for a frame, where processors limit it at 1 Gbit/s."""
    with Path(FILE).open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["stack"] == stack and row["rate_mbps"] == "1000"]
    assert all(row["limit"].startswith("CPU") for row in rows)
    return median(float(row[f"{end}_cpu_s_per_gbit"]) * float(row["frame_bytes_mean"]) * 8e-3 for row in rows)


@pytest.mark.parametrize(
    ("end", "go", "c"),
    [("server", hosts.GO_SEND_CALL, hosts.C_SEND_CALL), ("client", hosts.GO_DATAGRAM, hosts.C_DATAGRAM)],
)
def test_go_costs_what_was_measured_beside_c(end: str, go: str, c: str) -> None:
    """Rounded to a microsecond: 8 and 10 us times the ratio of the CPU times of quic-go and ngtcp2."""
    ratio = cpu_us("quic-go", end) / cpu_us("ngtcp2", end)
    assert seconds(go) == pytest.approx(ratio * seconds(c), abs=0.5e-6)


@pytest.mark.parametrize(("name", "least", "most"), [("quic-go", 0.6, 0.9), ("ngtcp2", 0.97, 1.0)])
def test_a_client_in_go_does_not_fill_a_gigabit(name: str, least: float, most: float) -> None:
    """Section 6.1: quic-go does not fill the link, ngtcp2 has 97 % or more. 1294 B in 14 us are 739 Mbit/s."""
    given = {**common.link(1000), "duration": "1.5 s", "flows.main.workload": {"kind": "download", "duration": "1.5 s"}}
    (stack,) = common.filling(name)
    assert callable(stack.changes)
    result = run(load(ROOT / common.SCENARIO).with_values(stack.changes(given)), 1)
    frames = result.taps["at_sender"].filter(result.taps["at_sender"]["direction"] == "down")
    late = frames.filter(frames["time_ns"] >= 1e9)
    rate_bps = 8 * (float(late["size_bytes"].cast(int).sum()) + 14 * late.height) / 0.5
    assert least < rate_bps / 1e9 <= most + 0.01


def test_numbers_of_the_text_are_beside_those_of_the_studies() -> None:
    """What is typical is compared with the most common number of packets; the least utilisation is aioquic's."""

    def printed(study: str, metric: str = "") -> dict[tuple[str | float, ...], float]:
        return {row.key: row.summary.mean for row in read_published(find(f"pacing/{study}"), metric)}

    assert printed("utilisation") == {("aioquic", 100): 0.4692, ("aioquic", 10000): 0.0047}
    assert printed("acks", "dup_ack_share") == {("netcat", 10): 0.2652, ("apache", 10): 0.2652}
    typical = printed("acks")
    assert (typical["netcat", 100], typical["fq", 100], typical["bbr", 10]) == (3, 2, 2)
    assert (typical["picoquic_bbr", 10], typical["picoquic_bbr", 100]) == (7, 68.5)
