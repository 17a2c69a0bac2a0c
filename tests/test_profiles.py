"""lab-quic and its profiles beside theory and the stacks that the profiles stand for."""

from __future__ import annotations

import itertools
import math
from typing import Any

import polars as pl
import pytest

import quiclab

RATE_MBPS, RTT_MS, PACKET = 20, 40, 1228
#: `probe_rtt` among the phases of a congestion control (`Phase` of quiclab-core).
PROBE_RTT = 6


def network(down: dict[str, Any] | None = None, **changes: object) -> quiclab.Scenario:
    """Return a download over 20 Mbit/s and 40 ms."""
    delay = {"delay": f"{RTT_MS // 2} ms", "rate": f"{RATE_MBPS} Mbit/s"}
    scenario: dict[str, Any] = {
        "version": 1,
        "name": "profiles",
        "duration": "20 s",
        "links": {"down": {**delay, **(down or {})}, "up": delay},
        "flows": {
            "main": {
                "stack": "lab-quic",
                "down": ["down"],
                "up": ["up"],
                "workload": {"kind": "download", "size": "100 kB"},
            }
        },
        "record": {"packets": True, "series_interval": "5 ms"},
    }
    found = quiclab.Scenario.from_dict(scenario)
    for path, value in changes.items():
        found = found.with_value(path.replace("__", "."), value)
    return found


def with_profile(scenario: quiclab.Scenario, name: str) -> quiclab.Scenario:
    """Return the scenario with a profile at both ends."""
    for end in ("sender", "receiver"):
        scenario = scenario.with_value(f"flows.main.{end}.profile", name)
    return scenario


def departures(result: quiclab.RunResult) -> list[tuple[float, int]]:
    """Return times [s] and sizes of the packets that the sender sends."""
    left = result.packets.filter(pl.col("element") == "main.sender", pl.col("event") == "departure").sort("time_ns")
    return [(time / 1e9, size) for time, size in zip(left["time_ns"], left["size_bytes"], strict=True)]


#: Everything is sent by 191 ms; what leaves in the last 20 ms is lost, and the path is up again before a probe.
TAIL = {
    "conditions": {
        "at_end": "hold",
        "while_down": "lose",
        "rows": [{"at": "0 s"}, {"at": "170 ms", "up": False}, {"at": "215 ms", "up": True}],
    }
}


def probes(scenario: quiclab.Scenario) -> list[int]:
    """Return the sizes of the packets of the first probe timeout, after everything was sent [B]."""
    later = [(time, size) for time, size in departures(quiclab.run(scenario, seed=1)) if time > 0.2]
    return [size for time, size in later if time < later[0][0] + 1e-4]


def test_both_probes_carry_data_that_are_unacknowledged() -> None:
    # RFC 9002 section 6.2.4; several packets at the end are lost, so that each has other data
    assert probes(network(TAIL)) == [PACKET, PACKET]


def test_probes_of_quinn_repeat_no_stream_data() -> None:
    real, profile = probes(network(TAIL, flows__main__stack="quinn")), probes(with_profile(network(TAIL), "quinn"))
    assert len(real) == len(profile) == 2
    assert max(*real, *profile) < PACKET / 2


def test_probes_of_aioquic_carry_the_oldest_data_since_it_declares_them_lost() -> None:
    # 0.9.25 sends a PING; after the last acknowledgement nothing leaves before the first probe
    rows = [{"at": "0 s"}, {"at": "150 ms", "up": False}, {"at": "1 s", "up": True}]
    silent = network({"conditions": {"at_end": "hold", "while_down": "lose", "rows": rows}})
    silent = silent.with_value("links.up.conditions", {"at_end": "hold", "while_down": "lose", "rows": rows})
    assert probes(silent.with_value("flows.main.stack", "aioquic"))[0] == PACKET
    assert probes(with_profile(silent, "aioquic-1.7.2"))[0] == PACKET
    assert probes(with_profile(silent, "aioquic"))[0] < PACKET / 2


def test_a_handshake_timeout_is_a_congestion_event_of_the_older_aioquic_only() -> None:
    # 600 ms are more than two initial RTTs of 100 ms: the ClientHello's answer is sent again while it is on its way
    far = network(links__up__delay="300 ms", links__down__delay="300 ms")
    events = {
        name: quiclab.run(with_profile(far, name), seed=1).flows["main"].sender["congestion_events"]
        for name in ("aioquic", "aioquic-1.7.2")
    }
    assert events == {"aioquic": 1, "aioquic-1.7.2": 0}


def test_after_persistent_congestion_the_window_grows_at_once() -> None:
    # RFC 9002 appendix B.8: congestion_recovery_start_time is 0, so that the second of two probes lets the window grow
    rows = [{"at": "0 s"}, {"at": "3 s", "up": False}, {"at": "5 s", "up": True}]
    down = {
        "queue": {"kind": "drop_tail", "packets": 70},
        "conditions": {"at_end": "hold", "while_down": "lose", "rows": rows},
    }
    scenario = network(
        down, until="duration_over", duration="8 s", flows__main__workload={"kind": "download", "duration": "8 s"}
    )
    series = quiclab.run(scenario.with_value("record.series_interval", "1 ms"), seed=1).series
    window = series.filter(pl.col("element") == "main.sender", pl.col("metric") == "cwnd_bytes", pl.col("time_s") > 5)
    least = window.filter(pl.col("value") == window["value"].min())["time_s"].to_list()
    assert window["value"].min() == 2 * 1200
    # a round trip later both packets that such a window lets go are acknowledged
    assert least[-1] - least[0] < 2 * RTT_MS / 1e3


@pytest.mark.parametrize("control", ["bbr-linux", "bbr-chromium", "bbr-v3"])
def test_probe_rtt_has_the_interval_and_the_duration_of_the_scenario(control: str) -> None:
    # bbr-picoquic postpones ProbeRTT as long as RTTs are within 5 % of the smallest
    interval_s, duration_s = 2.0, 0.3
    stack = "lab-tcp" if control == "bbr-linux" else "lab-quic"
    constants = {"probe_rtt_interval": f"{interval_s} s", "probe_rtt_duration": f"{duration_s} s"}
    scenario = network(
        {"queue": {"kind": "drop_tail", "packets": 70}},
        until="duration_over",
        duration="11 s",
        flows__main__stack=stack,
        flows__main__workload={"kind": "download", "duration": "11 s"},
        flows__main__sender={"congestion_control": control, "bbr": constants},
    )
    series = quiclab.run(scenario.with_value("record.packets", False), seed=1).series
    window = series.filter(pl.col("element") == "main.sender", pl.col("metric") == "phase")
    starts = [
        (time, before)
        for time, before, now in zip(window["time_s"][1:], window["value"], window["value"][1:], strict=False)
        if now == PROBE_RTT and before != PROBE_RTT
    ]
    # a period is the interval, the time in ProbeRTT, and a few round trips until the queue has drained
    gaps = [later[0] - earlier[0] for earlier, later in itertools.pairwise(starts)]
    assert len(gaps) >= 2, starts
    for gap in gaps:
        assert interval_s + duration_s <= gap <= interval_s + duration_s + 8 * RTT_MS / 1e3, gaps


def test_a_slow_start_that_keeps_less_has_one_loss_event() -> None:
    # neqo#3162: what left the window twice too large is above the BDP and the queue with 0.7 and below it with 0.4
    events = {}
    for beta in (0.7, 0.4):
        scenario = network(
            {"rate": "50 Mbit/s", "queue": {"kind": "drop_tail", "bytes": "50 kB"}},
            flows__main__sender={"congestion_control": "cubic", "cubic": {"slow_start_beta": beta}},
            flows__main__workload={"kind": "download", "size": "10 MiB"},
        )
        result = quiclab.run(scenario.with_value("record.packets", False), seed=1)
        early = result.series.filter(
            pl.col("element") == "main.sender", pl.col("metric") == "congestion_events", pl.col("time_s") < 1.0
        )
        events[beta] = int(early["value"][-1])
    assert events[0.4] == 1 < events[0.7]


@pytest.mark.parametrize(("datagrams", "round_trips"), [(1, 3), (2, 2)])
def test_a_second_datagram_of_the_first_flight_saves_a_round_trip(datagrams: int, round_trips: int) -> None:
    # base-drafts#3784: 5 kB of certificates fit into 3 x 2 x 1200 B, and not into 3 x 1200 B
    tls = {"version": "1.3", "certificate": "5 kB"}
    scenario = network(
        {"rate": "1 Gbit/s"},
        flows__main__workload={"kind": "download", "size": "1 kB"},
        flows__main__sender={"tls": tls},
        flows__main__receiver={"tls": tls, "quic": {"initial_datagrams": datagrams}},
    )
    receiver = quiclab.run(scenario, seed=1).flows["main"].receiver
    assert round(receiver["first_byte_ms"] / RTT_MS) == round_trips


@pytest.mark.parametrize(("nagle", "waits"), [(False, 0.0), (True, 40.0)])
def test_nagle_beside_a_delayed_acknowledgement_costs_its_wait(nagle: bool, waits: float) -> None:
    # smithy-rs#4677: a request of two writes; the second is held until the peer's delayed acknowledgement of the first
    acknowledges = {"acknowledge_reads": False, "quick_acks": 0, "min_delayed_ack": "40 ms"}
    scenario = network(
        {"rate": "1 Gbit/s"},
        flows__main__stack="lab-tcp",
        flows__main__workload={"kind": "download", "size": "1 kB", "request": "600 B"},
        flows__main__sender={"tcp": {**acknowledges, "kernel_hz": 1000}},
        flows__main__receiver={"tcp": {"nagle": nagle, "write_size": "300 B"}},
    )
    receiver = quiclab.run(scenario, seed=1).flows["main"].receiver
    # handshake, request and response are two round trips; a held write adds the wait and a round trip
    expected = 2 * RTT_MS + (waits + RTT_MS if nagle else 0.0)
    assert math.isclose(receiver["first_byte_ms"], expected, abs_tol=5.0)


def test_a_largest_window_that_binds_is_a_warning() -> None:
    # 1 Gbit/s and 100 ms are 12.5 MB, above the 2000 packets that Chromium's BBR has; 20 Mbit/s and 40 ms are 100 kB
    for rate, delay, quic, packets in [
        ("1 Gbit/s", "50 ms", {}, 2000),
        ("20 Mbit/s", "20 ms", {"max_window": "12 kB"}, 10),
        ("20 Mbit/s", "20 ms", {}, None),
    ]:
        scenario = network(
            {"rate": rate, "delay": delay, "queue": {"kind": "drop_tail", "packets": 1000}},
            flows__main__sender={"congestion_control": "bbr-chromium", "quic": quic},
            flows__main__workload={"kind": "download", "duration": "2 s"},
        )
        warnings = quiclab.run(scenario.with_value("record.packets", False), seed=1).warnings
        expected = f"sender of flow `main`: the congestion window reached its maximum of {packets} packets"
        assert [text.startswith(expected) for text in warnings] == ([] if packets is None else [True]), warnings
