"""Metrics of the pacing studies for what the thesis has in figures and prose: values computed by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from quiclab.analysis.pacing.runs.over_time import half_widths, over_time, phases
from quiclab.study.findings import NotMeasuredError
from quiclab.study.registry import find
from quiclab_studies.pacing import claims, further, variants
from quiclab_studies.pacing import common as pacing

MS = 1_000_000


def run_of(times_ns: list[int], acks: list[tuple[int, int]], seconds: float = 10.0) -> Any:
    """Return a run with frames of 1000 B at the tap, and ACKs of so many packets at the sender."""
    frames = {"time_ns": times_ns, "flow": "main", "direction": "down", "size_bytes": 986}
    heard = {"time_ns": [at for at, _ in acks], "element": "main.sender", "covered": [packets for _, packets in acks]}
    return SimpleNamespace(taps={"at_sender": pl.DataFrame(frames)}, acks=pl.DataFrame(heard), network_time_s=seconds)


def kept(**parts: Any) -> Any:
    return SimpleNamespace(data={"kept": parts})


def spacing(at_ms: list[float], counts: list[int], **quantiles: float) -> dict[str, Any]:
    mean = sum(at * count for at, count in zip(at_ms, counts, strict=True)) / sum(counts)
    named = {key.replace("q", "0."): value for key, value in quantiles.items()}
    return {"count": sum(counts), "at_ms": at_ms, "counts": counts, "mean_ms": mean, "quantiles_ms": named}


EVEN = {"expected": [{"gain": 1.0, "interval_ms": 1.2}], "found": []}


def metric(study: str, name: str) -> Any:
    return find(f"pacing/{study}").measures.metric_of(name)


def test_each_second_has_its_rate_and_its_acknowledgements() -> None:
    """From 5 s to 10: 125 frames of 1000 B in a second are 1 Mbit/s."""
    times = [second * 1000 * MS + number * MS for second in range(10) for number in range(125 if second != 7 else 250)]
    acks = [(5100 * MS, 2), (5200 * MS, 2), (5300 * MS, 8), (6100 * MS, 0), (6200 * MS, 3), (9999 * MS, 0)]
    found = over_time(run_of(times, acks), "main", 5.0)
    assert found["rate_mbps"] == [1.0, 1.0, 2.0, 1.0, 1.0]
    assert found["acks"] == [3, 2, 0, 0, 1]
    assert found["duplicates"] == [0, 1, 0, 0, 1]
    assert found["covered_median"] == [2.0, 3.0, None, None, None]
    result = kept(over_time=found)
    # mean 1.2, deviations 0.2 four times and 0.8: 0.4
    assert metric("intervals", "rate_variation").measure(result) == pytest.approx(0.4 / 1.2)
    assert metric("intervals", "rate_mbps").measure(result) == pytest.approx(1.2)
    assert metric("acks", "ack_rate_hz").measure(result) == pytest.approx(1.2)
    assert metric("acks", "duplicate_seconds_share").measure(result) == pytest.approx(0.4)
    assert metric("acks", "covered_swing_packets").measure(result) == 1.0


def test_a_run_without_acknowledgements_has_none() -> None:
    silent = run_of([6000 * MS], [])
    found = over_time(silent, "main", 5.0)
    assert found["acks"] == [0] * 5
    assert found["covered_median"] == [None] * 5
    assert found["frequent"] == []
    assert math.isnan(metric("acks", "covered_swing_packets").measure(kept(over_time=found)))
    assert math.isnan(metric("acks", "ack_rate_variation").measure(kept(over_time=found)))


def test_phases_of_frequent_acknowledgements() -> None:
    """Four in a row make one; two that are a second apart are one, three in a row are none."""
    at_s = np.array([0.0, 0.1, 0.2, 0.3, 1.3, 1.4, 1.5, 1.6, 10.0, 10.1, 10.2, 16.3, 16.4, 16.5, 16.6])
    covered = np.array([3, 1, 2, 3, 3, 3, 3, 3, 200, 2, 2, 2, 2, 2, 2])
    assert phases(at_s, covered) == [{"start_s": 0.0, "seconds": 1.6}, {"start_s": 10.1, "seconds": 6.5}]
    covered[10] = 4
    found = phases(at_s, covered)
    assert found == [{"start_s": 0.0, "seconds": 1.6}, {"start_s": 16.3, "seconds": 0.3}]
    result = kept(over_time={"frequent": found})
    assert metric("acks", "frequent_every_s").measure(result) == pytest.approx(16.3)
    assert metric("acks", "frequent_longest_s").measure(result) == pytest.approx(1.6)
    assert math.isnan(metric("acks", "frequent_every_s").measure(kept(over_time={"frequent": found[:1]})))


def test_a_cluster_ends_where_it_is_thin() -> None:
    """9000 intervals in five bins from 1.198 ms, one in 10 000 beside them: half a width of 2.5 us."""
    steps = [1198, 1199, 1200, 1201, 1202] * 1800 + [1210]
    times = np.cumsum([5000 * MS, *(1000 * step for step in steps)]).tolist()
    result = run_of(times, [])
    assert half_widths(result, "main", 5.0, (1.2, 1.6)) == [2.5, None]
    assert half_widths(run_of([1, 2], []), "main", 5.0, (1.2,)) == [None]
    clusters = {"expected": [{"gain": 1.25, "interval_ms": 0.96}, {"gain": 1.0, "interval_ms": 1.2}]}
    measured = kept(data={"clusters": clusters}, half_widths_us=[None, 2.5])
    assert metric("clusters", "half_width_us").value(measured, {"gain": 1.0}) == 2.5
    assert math.isnan(metric("clusters", "half_width_us").value(measured, {"gain": 1.25}))


def test_spacing_against_the_even_one() -> None:
    """A median of 0.96 ms of 1.2 is a rate of 1.25; half of the intervals are pairs, the others 2.4 ms apart."""
    values = spacing([0.001, 1.1, 1.3, 2.4], [5, 1, 1, 3], q5=0.96)
    result = kept(data={"intervals": values, "clusters": EVEN, "bursts": {"share_of_packets": 0.75, "sizes": {"2": 3}}})
    assert metric("intervals", "pace_ratio").measure(result) == pytest.approx(1.25)
    assert metric("intervals", "near_even_share").measure(result) == 0.2
    assert metric("intervals", "send_above_0.1_q0.5_ms").measure(result) == 2.4
    assert math.isnan(further.quantile_above(values, 5.0, 0.5))
    assert metric("intervals", "burst_largest_packets").measure(result) == 2
    assert metric("intervals", "burst_share_3_up").measure(result) == 0
    # a gap of half of 1.2 ms
    chance = 1 - math.exp(-2 * 0.6 / values["mean_ms"])
    assert metric("intervals", "bursty_excess").measure(result) == pytest.approx((0.75 - chance) / (1 - chance))


def test_distance_of_two_distributions() -> None:
    first, second = spacing([1.0, 2.0], [1, 1]), spacing([1.001, 4.0], [3, 1])
    assert further.distance(first, first) == 0
    # 0.5 of one and 0.75 of the other are no longer than 1 ms, all and 0.75 no longer than 2
    assert further.distance(first, second) == pytest.approx(0.25)
    assert further.distance(spacing([1.0], [1]), spacing([3.0], [1])) == 1
    assert math.isnan(further.distance(first, {"count": 0, "at_ms": [], "counts": []}))


def test_acknowledgements_over_the_round_trip_time() -> None:
    """Half of 400 ms lie in the interval of 200 ms; of 50 ms and 750 in the queue it is a quarter."""
    result = kept(acks={"intervals": spacing([2.0, 200.0], [100, 1])})
    result.elements = {
        "bottleneck": {"statistics": {"queueing_mean_ms": 750.0}},
        "main.sender": {"statistics": {"lost_packets": 5, "packets_sent": 100, "congestion_events": 3}},
    }
    result.network_time_s = 90.0
    assert metric("acks", "ack_interval_ms").measure(result) == 2.0
    result.data["kept"]["acks"]["intervals"]["counts"][1] = 2
    assert metric("acks", "ack_interval_ms").measure(result) == 200.0
    assert metric("acks", "rtt_ms").measure(result) == 800.0
    assert metric("acks", "ack_over_rtt").measure(result) == 0.25
    assert metric("acks", "declared_lost_share").measure(result) == 0.05
    assert metric("acks", "loss_events_per_min").measure(result) == 2.0


def test_peaks_and_intervals_of_the_gains() -> None:
    """Three peaks within 9 % of 118.56 us, as published, and one that is 10 % away."""
    found = [{"centre_ms": at} for at in (0.114, 0.1205, 0.125, 0.1305)]
    result = kept(data={"clusters": {"expected": [{"gain": 1.0, "interval_ms": 0.11856}], "found": found}})
    result.scenario = SimpleNamespace(value={"flows.main.stack": "lab-quic"}.get)
    assert metric("clusters", "cluster_peaks").value(result, {"gain": 1.0}) == 3
    assert metric("clusters", "expected_ms").value(result, {"gain": 1.0}) == 0.11856


def test_rate_of_a_link() -> None:
    result = kept(utilisation=0.15)
    result.data["scenario"] = {"links": {"bottleneck": {"rate": "10 Gbit/s"}}}
    assert metric("utilisation", "frame_rate_mbps").measure(result) == pytest.approx(1500)


def test_predicates_may_use_what_the_reference_names() -> None:
    names = claims.Names.__new__(claims.Names)
    names._home = "intervals"
    pairs = claims.Series("intervals", "send", "ngtcp2", 10)
    assert names.above(pairs, 0.1).kind == "send_above_0.1"
    # 2070.4 us are 2.0704 ms
    assert names.above(claims.Series("intervals", "send", "ngtcp2", 10, 1e3), 100).kind == "send_above_0.1"
    assert names.rel(2.07, 2.0) == pytest.approx(0.035)
    with pytest.raises(NotMeasuredError):
        names.ks(pairs, claims.Series("intervals", "ack", "netcat", 10))


def given(name: str, rate: int) -> Any:
    changes = pacing.configuration(name).changes
    assert callable(changes)
    return changes(pacing.rate(rate))


def test_a_late_card_merges_segments_of_tcp_alone() -> None:
    tcp, quic = variants.receive_card(given("netcat", 100)), variants.receive_card(given("ngtcp2", 100))
    assert tcp["hosts.client"] == {"receive_batch": variants.MERGED, "wake_up": "250 us"}
    assert quic["hosts.client"] == {**pacing.C_HOST, "wake_up": "250 us"}
    assert quic["flows.main.receiver"]["host"] == "client"  # type: ignore[index]
    assert quic["flows.main.sender"]["host"] == "user"  # type: ignore[index]


def test_late_pacers_take_longer_for_a_pair_than_the_bottleneck() -> None:
    """Two frames are 242.24 us at 100 Mbit/s, 10 us more: 2 x 1448 B in 252.24 us, 91.849 Mbit/s."""
    sender: Any = variants.late_pacers(given("so_max_pacing_rate", 100))["flows.main.sender"]
    assert sender["pacing"]["max_rate"] == "91849 kbit/s"
    assert sender["tcp"] == {"gso_segments": 2}
    assert variants.late_pacers(given("netcat", 100)) == given("netcat", 100)


def test_sockets_have_a_buffer_and_aioquic_its_costs() -> None:
    limited: Any = variants.socket_buffer(given("ngtcp2", 100))
    assert limited["hosts.user"] == {**pacing.C_HOST, "receive_buffer": "212992 B"}
    assert variants.socket_buffer(given("netcat", 100)) == given("netcat", 100)
    assert variants.measured_python(given("ngtcp2", 100)) == limited
    python: Any = variants.measured_python(given("aioquic", 100))["hosts.user"]
    assert (python["send_datagram"], python["receive_datagram"]) == ("81 us", "100 us")


def test_every_study_measures_what_it_lists_once() -> None:
    for name in ("utilisation", "intervals", "acks", "clusters"):
        names = [item.name for item in find(f"pacing/{name}").measures.metrics]
        assert len(names) == len(set(names)), name
