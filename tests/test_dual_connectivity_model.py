"""The analytical model of the Dual Connectivity study: limits, monotonicity, hostile values, published tables.

Bounds of the comparison are stated in docs/studies/dual_connectivity_model.md with their reasons; all other expected
values follow from the parameters.
"""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from statistics import fmean, median

import numpy as np
import pytest

from conftest import ROOT
from quiclab.scenario.quantity import seconds
from quiclab_studies.dual_connectivity import common, model
from quiclab_studies.dual_connectivity import links as links_model
from quiclab_studies.dual_connectivity.setting import AIOQUIC, LINUX_RENO, Parameters, links_of

TABLES = ROOT / "studies/quiclab_studies/dual_connectivity/reference"
LARGE, DEFAULT, TCP = "quic_large_buffer", "quic_default_buffer", "tcp"
BATCHES = (2, 10, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500)
COLUMNS = {
    "file_size_mb": "file_mb",
    "dc_batch_packets": "batch_packets",
    "link1_share_percent": "share_percent",
    "link1_rate_mbps": "rate_1_mbps",
    "link2_rate_mbps": "rate_2_mbps",
    "link1_delay_ms": "delay_1_ms",
    "link2_delay_ms": "delay_2_ms",
}
# table and rows of it: largest median and largest single relative difference, with the large buffer and with TCP; the
# estimate does not hold at 200 ms of delay together, where jitter and slow start decide
PUBLISHED = {
    ("table_5_02_file_size",): ((0.04, 0.05), (0.03, 0.15)),
    ("table_5_03_batch_size",): ((0.05, 0.28), (0.03, 0.18)),
    ("table_5_04_dc_ratio",): ((0.04, 0.05), (0.02, 0.03)),
    ("table_5_05_bandwidth_ratio", "split_mode", "fixed_1_to_1"): ((0.02, 0.04), (0.02, 0.02)),
    ("table_5_06_delay_ratio", "delay_sum_ms", "20"): ((0.05, 0.06), (0.02, 0.02)),
    ("table_5_07_random_loss", "duplicate", "false"): ((0.13, 0.19), (0.07, 0.10)),
    ("table_5_05_bandwidth_ratio", "split_mode", "matched_to_bandwidth"): ((0.04, 0.12), (0.03, 0.08)),
    ("table_5_07_random_loss", "duplicate", "true"): ((0.10, 0.15), (0.06, 0.10)),
}


def settings(table: tuple[str, ...], configuration: str) -> list[tuple[dict[str, float], float]]:
    """Parameters and published mean of each row."""
    name, *wanted = table
    with (TABLES / f"{name}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["configuration"] == configuration]
    if wanted:
        rows = [row for row in rows if row[wanted[0]] == wanted[1]]
    found = []
    for row in rows:
        values = {field: float(row[column]) for column, field in COLUMNS.items() if row[column]}
        loss = float(row["loss_percent_per_link"])
        duplicate = row["duplicate"] == "true"
        values |= {"loss_1_percent": loss, "loss_2_percent": loss, "duplicate": duplicate}
        found.append((values, float(row["throughput_mbps_mean"])))
    return found


@pytest.mark.parametrize("table", PUBLISHED)
def test_published_tables(table: tuple[str, ...]) -> None:
    for configuration, (middle, largest) in zip((LARGE, TCP), PUBLISHED[table], strict=True):
        differences = [
            abs(model.estimate(configuration, **values) / mean - 1) for values, mean in settings(table, configuration)
        ]
        assert differences
        assert median(differences) <= middle
        assert max(differences) <= largest


def test_the_cost_of_a_datagram_is_that_of_the_study() -> None:
    """An earlier estimate had 35 us, where the client of the study takes 100."""
    assert seconds(common.host(212_992)["receive_datagram"]) == model.READ_S


def test_the_default_buffer_costs_where_throughput_is_high() -> None:
    # as claims DC-09 and DC-10 have it, to about a percent: at least 5 % up to a batch of 300, at most 6 % from 400 on
    # and from a loss of 0.05 % on
    for batch in BATCHES:
        ratio = model.estimate(DEFAULT, batch_packets=batch) / model.estimate(LARGE, batch_packets=batch)
        assert (ratio <= 0.96) if batch <= 300 else (ratio >= 0.93)
    for loss in (0.05, 0.1, 0.2):
        values = {"loss_1_percent": loss, "loss_2_percent": loss}
        assert model.estimate(DEFAULT, **values) >= 0.94 * model.estimate(LARGE, **values)


def test_endless_queues_leave_the_split_bound() -> None:
    file = 2000.0
    for share, batch in ((50, 100), (50, 500), (80, 100), (100, 100)):
        parameters = Parameters(
            share_percent=share, batch_packets=batch, queue_packets=math.inf, file_mb=file, jitter_percent=0
        )
        result = model.model(parameters)
        assert result.loss_events == 0
        assert 0.99 * result.split_bound_mbps <= result.throughput_mbps < result.split_bound_mbps


def test_the_split_bound() -> None:
    per_mbps = AIOQUIC.payload_bytes / AIOQUIC.wire_bytes
    assert AIOQUIC.wire_bytes == 1280 + 28 + 2 + 14
    for share, bound in ((50, 40.0), (20, 25.0), (100, 20.0)):
        assert model.model(Parameters(share_percent=share)).split_bound_mbps == pytest.approx(bound * per_mbps)


@pytest.mark.parametrize("values", [{}, {"loss_1_percent": 0.1}, {"delay_1_ms": 15.0}, {"rate_1_mbps": 10.0}])
def test_one_link_does_not_know_of_the_other(values: dict[str, float]) -> None:
    assert model.estimate(LARGE, share_percent=0, **values) == model.estimate(LARGE, share_percent=0)
    mirrored = {name.replace("_1_", "_2_"): value for name, value in values.items()}
    assert model.estimate(LARGE, share_percent=100, **values) == pytest.approx(
        model.estimate(LARGE, share_percent=0, **mirrored)
    )


def test_links_can_be_exchanged() -> None:
    one = {"share_percent": 30, "rate_1_mbps": 15, "rate_2_mbps": 25, "delay_1_ms": 5, "delay_2_ms": 20}
    other = {"share_percent": 70, "rate_1_mbps": 25, "rate_2_mbps": 15, "delay_1_ms": 20, "delay_2_ms": 5}
    # Reno: aioquic's exit from slow start looks at the link of the first batch
    assert model.estimate(TCP, **one) == pytest.approx(model.estimate(TCP, **other))


def test_no_loss_is_the_limit_of_little_loss() -> None:
    for batch in (2, 100, 500):
        none = model.estimate(LARGE, batch_packets=batch)
        little = model.estimate(LARGE, batch_packets=batch, loss_1_percent=1e-7, loss_2_percent=1e-7)
        assert little == pytest.approx(none, rel=1e-3)


def test_loss_costs() -> None:
    losses = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    values = [model.estimate(LARGE, loss_1_percent=loss, loss_2_percent=loss, file_mb=1000) for loss in losses]
    assert values == sorted(values, reverse=True)
    twice = model.estimate(LARGE, loss_1_percent=2.0, loss_2_percent=2.0, duplicate=True)
    once = model.estimate(LARGE, share_percent=100, loss_1_percent=0.04)
    assert twice == pytest.approx(once, rel=1e-6)  # both copies: 2 % of 2 %


@pytest.mark.parametrize("percent", [0.01, 0.1, 1.0])
def test_one_wide_link_without_a_stall_gives_the_square_root(percent: float) -> None:
    wide = Parameters(
        share_percent=100,
        rate_1_mbps=1000,
        delay_1_ms=90,
        jitter_percent=0,
        queue_packets=1e6,
        t_reordering_ms=0,
        loss_1_percent=percent,
        file_mb=1e5,
    )
    result = model.model(wide)
    trip_s = links_of(wide, AIOQUIC)[0].round_trip_s
    window = result.throughput_mbps * 1e6 / 8 / AIOQUIC.payload_bytes * trip_s
    # Ott, Kemperman, Mathis (1996): 1.31 / sqrt(p); here the window before the halving is sent, too
    assert 1.2 <= window * math.sqrt(percent / 100) <= 1.45


def test_a_longer_timer_a_smaller_queue_and_a_larger_batch_cost() -> None:
    timers = [model.estimate(LARGE, t_reordering_ms=value, file_mb=1000) for value in (20, 60, 100, 200, 400)]
    assert timers == sorted(timers, reverse=True)
    batches = [model.estimate(LARGE, batch_packets=value, file_mb=1000) for value in (200, 300, 400, 500)]
    assert batches == sorted(batches, reverse=True)
    queues = [model.estimate(LARGE, batch_packets=400, queue_packets=value, file_mb=1000) for value in (50, 100, 200)]
    assert queues == sorted(queues)


def test_windows_hand_computed() -> None:
    # 1000 packets/s and 40 ms: a pipe of 40 packets, with a queue of 60
    def bearer(run: float) -> list[links_model.Link]:
        return [links_model.Link(1000.0, 0.04, 0.5, run) for _ in range(2)]

    windows = np.array([20.0, 40.0, 100.0, 1000.0])
    # runs of 200: a pipe fills one link; at 100, 200 packets in 40 + 100 ms
    assert links_model.rate_packets_per_s(bearer(200), windows).tolist() == pytest.approx(
        [500, 1000, 200 / 0.14, 2000], rel=1e-9
    )
    assert links_model.overflow_window_packets(bearer(20), 60) == pytest.approx(2000 * (0.04 + 0.06))
    # runs of 180: 60 queue at 1500 packets/s
    assert bearer(180)[0].excursion_packets(1500) == pytest.approx(60)
    assert links_model.overflow_window_packets(bearer(180), 60) == pytest.approx(1500 * 0.1)
    assert links_model.early_overflow(bearer(100), 60) == (math.inf, 0.0)
    window, probability = links_model.early_overflow(bearer(120), 60)
    assert (window, probability) == pytest.approx((100, 2 * 20 / 80))
    assert links_model.early_overflow(bearer(160), 60)[1] == 1.0


def test_jitter_hold() -> None:
    assert links_model.jitter_hold_s(0.0, 1000) == 0
    # with one packet a deviation and less, a packet waits for no other one
    assert links_model.jitter_hold_s(1e-3, 1) == pytest.approx(0, abs=1e-6)
    holds = [links_model.jitter_hold_s(1e-3, rate) for rate in (100, 1000, 10_000, 100_000)]
    assert holds == sorted(holds)
    assert holds[-1] < 6e-3


def test_initiators_of_a_request() -> None:
    result = model.model(Parameters())
    link = links_of(Parameters(), AIOQUIC)[0]
    assert result.overflow_window_packets == pytest.approx(2 * (100 + link.pipe_packets))
    assert result.excursion_packets == pytest.approx((25.0, 25.0))
    # NewReno: 3/8 W^2 packets between two losses, and one window more
    cycle = 0.375 * result.overflow_window_packets**2 + result.overflow_window_packets
    packets = 8e9 / 8 / AIOQUIC.payload_bytes
    assert model.model(Parameters(file_mb=1000)).loss_events == pytest.approx(packets / cycle, rel=0.1)
    assert 0 < result.stall_s < 0.2
    assert fmean(result.utilisation) < 1


@pytest.mark.parametrize(
    "values",
    [
        {"rate_1_mbps": 0.0},
        {"rate_1_mbps": -1.0},
        {"rate_2_mbps": math.inf},
        {"delay_1_ms": math.nan},
        {"delay_1_ms": -1.0},
        {"share_percent": 101.0},
        {"loss_1_percent": 100.0},
        {"queue_packets": 0.5},
        {"batch_packets": 0.0},
        {"file_mb": 0.0},
        {"receive_buffer_bytes": -1.0},
    ],
)
def test_hostile_parameters(values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        model.estimate(LARGE, **values)


def test_hostile_configuration() -> None:
    with pytest.raises(ValueError, match="configuration"):
        model.estimate("sctp")
    with pytest.raises(TypeError):
        model.estimate(LARGE, batch=100)


def test_extremes_end() -> None:
    for values in (
        {"file_mb": 1e-6},
        {"file_mb": 1e6},
        {"loss_1_percent": 99.0, "loss_2_percent": 99.0},
        {"queue_packets": 1.0},
        {"batch_packets": 1e6},
        {"delay_1_ms": 1e5},
        {"rate_1_mbps": 1e5, "rate_2_mbps": 1e5},
        {"rate_1_mbps": 1e-3, "rate_2_mbps": 1e-3},
        {"t_reordering_ms": 0.0},
    ):
        for sender in (AIOQUIC, LINUX_RENO):
            parameters = replace(Parameters(), **values)  # type: ignore[arg-type]
            result = model.model(parameters, sender)
            assert 0 < result.throughput_mbps <= result.split_bound_mbps
