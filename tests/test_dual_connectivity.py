"""Dual Connectivity at its default point: published ranges, the knee, the share curve, and bounds from the parameters.

The ranges (33 to 38, 16 to 18.5 and under 5 Mbit/s) are what the experiment has to show; every other bound follows from
sizes, rates and delays of the scenario.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import fmean, variance

import pytest

import quiclab
from conftest import ROOT
from quiclab.result import RunResult
from quiclab.scenario import load

FILE = ROOT / "scenarios" / "dual_connectivity.toml"
STACKS = ("quinn", "noq")
LINK_MBPS = 20.0
DELAY_MS = 10.0

DATAGRAM = 1280
IP_AND_UDP = 20 + 8
PDCP = 2  # 16-bit numbers (3GPP TS 38.323 section 6.2.2 has 2 bytes for 12 bits)
ETHERNET = 14
# short header (RFC 9000 section 17.3.1): flags, connection ID, packet number of one byte at least; AEAD tag of 16 bytes
# (RFC 9001 section 5.3); STREAM frame (RFC 9000 section 19.8): type and stream ID, offset and length may be absent
CONNECTION_ID = 8
MIN_QUIC = (1 + CONNECTION_ID + 1) + 16 + (1 + 1)
PAYLOAD_SHARE = (DATAGRAM - MIN_QUIC) / (DATAGRAM + IP_AND_UDP + PDCP + ETHERNET)
ONE_LINK_MBPS = LINK_MBPS * PAYLOAD_SHARE

SHARES = tuple(range(0, 101, 10))
SEEDS = (1, 2, 3, 4)


@cache
def run(stack: str, sets: tuple[tuple[str, str], ...] = (), seed: int = 1) -> RunResult:
    result = quiclab.run(load(FILE, [("flows.dc.stack", stack), *sets]), seed)
    assert result.flows["dc"].completed
    assert result.warnings == ()
    return result


def mbps(stack: str, *sets: tuple[str, str], seed: int = 1) -> float:
    return run(stack, sets, seed).flows["dc"].goodput_mbps


def without_jitter(*links: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"links.{link}.delay", f"{DELAY_MS:.0f} ms") for link in links)


@pytest.mark.parametrize("stack", STACKS)
def test_default_point(stack: str) -> None:
    assert 33 <= mbps(stack) <= 38
    assert mbps(stack) <= 2 * ONE_LINK_MBPS


@pytest.mark.parametrize("stack", STACKS)
def test_one_link_through_the_bearer(stack: str) -> None:
    for shares in ("[1, 0]", "[0, 1]"):
        assert 16 <= mbps(stack, ("bearers.dc.shares", shares)) <= 18.5
        assert mbps(stack, ("bearers.dc.shares", shares)) <= ONE_LINK_MBPS


@pytest.mark.parametrize("stack", STACKS)
def test_without_reordering_the_jitter_is_taken_for_loss(stack: str) -> None:
    sets = (("bearers.dc.reordering.enabled", "false"), ("flows.dc.workload.size", "10 MB"))
    unordered = run(stack, sets)
    assert unordered.flows["dc"].goodput_mbps < 5
    # packets that only overtook one another: far more are declared lost than were
    dropped = sum(element["dropped"]["packets"] for element in unordered.elements.values())
    assert unordered.flows["dc"].sender["lost_packets"] > 10 * max(dropped, 1)


@pytest.mark.parametrize("stack", STACKS)
def test_the_knee_over_the_batch_size(stack: str) -> None:
    at = {batch: mbps(stack, ("bearers.dc.batch_packets", str(batch))) for batch in (2, 100, 200, 300, 400, 500)}
    assert at[500] < 0.8 * at[100]
    # past the knee it falls, and stays low where a half-batch exceeds the window
    assert at[200] > at[300] > max(at[400], at[500])
    # a batch never costs all of the second link
    assert all(ONE_LINK_MBPS < value <= 2 * ONE_LINK_MBPS for value in at.values())


@pytest.mark.parametrize("stack", STACKS)
def test_the_share_curve(stack: str) -> None:
    samples = {
        share: [
            mbps(stack, ("bearers.dc.shares", f"[{share}, {100 - share}]"), ("flows.dc.workload.size", "20 MB"), seed=s)
            for s in SEEDS
        ]
        for share in SHARES
    }
    means = {share: fmean(values) for share, values in samples.items()}
    assert max(means, key=lambda share: means[share]) == 50
    # packets follow the shares, so the busier link bounds the whole: its rate over its share
    for share, values in samples.items():
        assert max(values) <= ONE_LINK_MBPS / (max(share, 100 - share) / 100), share
    # symmetric within noise: five pairs with a common variance, two-sided 99 % of all five (Bonferroni: t(0.999, 30))
    pooled = fmean(variance(samples[share]) for share in SHARES if share != 50)
    error = math.sqrt(2 * pooled / len(SEEDS))
    for share in SHARES[:5]:
        assert abs(means[share] - means[100 - share]) <= 3.385 * error, share
    # it rises to the middle from both sides
    rising = [means[share] for share in SHARES[:6]]
    falling = [means[share] for share in SHARES[5:]]
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)


@pytest.mark.parametrize("stack", STACKS)
def test_duplication_carries_no_more_than_one_link(stack: str) -> None:
    sets = (("bearers.dc.mode", "duplicate"), ("bearers.dc.shares", "[]"), ("flows.dc.workload.size", "20 MB"))
    result = run(stack, sets)
    assert result.flows["dc"].goodput_mbps <= ONE_LINK_MBPS
    sent, received = result.elements["dc.ingress"], result.elements["dc.egress"]
    assert sent["sent"]["packets"] == 2 * sent["received"]["packets"]
    copies = received["received"]["packets"] - received["sent"]["packets"]
    assert copies == received["statistics"]["duplicate_packets"] + received["statistics"]["late_packets"]


@pytest.mark.parametrize("stack", STACKS)
def test_round_trips_are_never_shorter_than_the_delays(stack: str) -> None:
    result = run(stack, (*without_jitter("down1", "down2", "up1"), ("flows.dc.workload.size", "10 MB")))
    for end in (result.flows["dc"].sender, result.flows["dc"].receiver):
        assert end["min_rtt_ms"] >= 2 * DELAY_MS
        assert end["srtt_ms"] >= end["min_rtt_ms"]
    # a full queue holds 100 packets, the one in service included
    queue_ms = 100 * (DATAGRAM + IP_AND_UDP + PDCP + ETHERNET) * 8 / (LINK_MBPS * 1e3)
    for link in ("down1", "down2"):
        statistics = result.elements[link]["statistics"]
        assert statistics["queueing_longest_ms"] <= queue_ms
        assert statistics["queue_longest_packets"] <= 100
        assert 0 < statistics["utilisation_share"] <= 1


@pytest.mark.parametrize("stack", STACKS)
def test_no_link_carries_more_than_its_rate(stack: str) -> None:
    result = run(stack)
    for link in ("down1", "down2", "up1"):
        # at the least: a link counts IP packets, and the PDCP header comes on top of these
        sent = result.elements[link]["sent"]
        bits = 8 * (sent["bytes"] + ETHERNET * sent["packets"])
        assert bits <= LINK_MBPS * 1e6 * result.network_time_s, link
    downlinks = [result.elements[link]["sent"]["packets"] for link in ("down1", "down2")]
    assert sum(downlinks) == result.elements["dc.egress"]["received"]["packets"]
    # batches of 100 go to the links in turn, so that they differ by a batch at most, and by what was dropped
    offered = [result.elements[link]["received"]["packets"] for link in ("down1", "down2")]
    assert abs(offered[0] - offered[1]) <= 100
