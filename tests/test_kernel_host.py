"""Calibration of hosts: recorded system calls, the fit of known costs, timers, and the file that is written."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from quiclab.errors import QuiclabError, RequestError
from quiclab.lane.calibration import host_file, measure, syscalls
from quiclab.lane.calibration.costs import COSTS, Observation, fit
from quiclab.lane.calibration.host_file import host_name, sim_stack, together, write_hosts
from quiclab.lane.calibration.measure import End, Measurement, Setting, choose, stack_of_interest
from quiclab.lane.calibration.syscalls import SyscallLog, read_trace
from quiclab.lane.calibration.timers import PARETO_SHAPE, slack
from quiclab.lane.run import Lane
from quiclab.scenario import load

DATA = Path(__file__).parent / "data" / "strace"
KNOWN = {"start": 0.05, "receive_datagram": 4e-6, "receive_call": 9e-6, "send_datagram": 3e-6, "send_call": 21e-6}


def recorded(name: str) -> SyscallLog:
    """Read what `strace -f -yy -s 0` has written: a few calls of each kind, verbatim."""
    return read_trace((DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines())


def observation(setting: str, counts: tuple[float, ...], factor: float = 1.0) -> Observation:
    """Return a run with the known costs."""
    cpu = KNOWN["start"] + sum(KNOWN[name] * count for name, count in zip(COSTS, counts, strict=True))
    return Observation(setting, cpu * factor, *counts)


def known_runs(noise: float = 0.0) -> list[Observation]:
    """Runs of five settings whose batches and directions differ."""
    settings = {
        "slow": (9_000.0, 8_000.0, 2_000.0, 2_000.0),
        "fast": (40_000.0, 10_000.0, 9_000.0, 8_000.0),
        "back": (8_000.0, 7_900.0, 30_000.0, 4_000.0),
        "requests": (500.0, 500.0, 500.0, 500.0),
        "short": (20_000.0, 18_000.0, 21_000.0, 19_000.0),
    }
    random = np.random.default_rng(3)
    return [
        observation(name, counts, 1 + noise * float(random.normal()))
        for name, counts in settings.items()
        for _ in range(6)
    ]


def test_known_costs_are_found_without_noise() -> None:
    costs = fit(known_runs(), resamples=50)
    for name, value in KNOWN.items():
        assert costs.by_name[name].seconds == pytest.approx(value, rel=1e-6)
        assert costs.by_name[name].apart
    assert costs.residual < 1e-9
    assert costs.runs == 30


def test_intervals_hold_known_costs_with_noise() -> None:
    costs = fit(known_runs(0.01), resamples=300)
    held = [costs.by_name[name].low <= value <= costs.by_name[name].high for name, value in KNOWN.items()]
    assert sum(held) >= 4  # each does in 95 of 100 cases
    assert costs.residual == pytest.approx(0.01, rel=0.4)


def test_calls_of_one_datagram_have_one_cost() -> None:
    runs = [
        Observation(f"{n}", 0.1 + 30e-6 * n + 50e-6 * m, n, n, m, m)
        for n, m in ((1000, 400), (4000, 900), (500, 500), (8000, 8000))
    ]
    costs = fit(runs, resamples=10).by_name
    assert costs["receive_call"].seconds == pytest.approx(30e-6)
    assert costs["send_call"].seconds == pytest.approx(50e-6)
    assert (costs["receive_datagram"].seconds, costs["send_datagram"].seconds) == (0.0, 0.0)
    assert not costs["receive_call"].apart


def test_no_cost_is_negative() -> None:
    runs = [Observation(f"{n}", 1.0 - n * 1e-6, n, n, n * n / 1e4, n * n / 1e4) for n in (1000.0, 2000.0, 3000.0)]
    assert all(estimate.seconds >= 0 for estimate in fit(runs, resamples=10).by_name.values())


def test_one_setting_is_too_little() -> None:
    with pytest.raises(ValueError, match="two settings"):
        fit([observation("one", (1.0, 1.0, 1.0, 1.0))])


def test_trace_of_batched_calls() -> None:
    found = recorded("quinn")
    assert (found.receive.calls, found.receive.datagrams, found.receive.empty) == (2, 4, 1)
    assert (found.receive.largest, found.receive.most) == (3, 32)
    # 7260 B are five datagrams of 1452 B
    assert (found.send.calls, found.send.datagrams, found.send.largest) == (2, 6, 5)
    assert found.waits == {"epoll_wait": 1}
    assert found.grain_s == 1e-3
    assert found.receive_buffer is None


def test_trace_of_single_calls_leaves_other_sockets_out() -> None:
    found = recorded("aioquic")
    assert (found.receive.calls, found.send.calls) == (1, 2)
    assert (found.receive.most, found.send.most) == (1, 1)
    assert found.waits == {}


def test_trace_of_threads_and_of_the_receive_buffer() -> None:
    found = recorded("go")
    assert (found.receive.calls, found.send.calls) == (2, 1)
    assert (found.receive_buffer, found.beyond_limit) == (7340032, False)
    assert found.waits_with == "none"


def test_traces_of_settings_together() -> None:
    whole = together([recorded("quinn"), recorded("go")])
    assert whole.receive.calls == 4
    assert whole.receive.most == 32
    assert whole.receive_buffer == 7340032


def test_a_missing_tracer_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls, "found", {}.get)
    with pytest.raises(QuiclabError, match="apt-get install strace"):
        syscalls.tracer()


def test_slack_knows_the_distributions_of_scenarios() -> None:
    random = np.random.default_rng(5)
    normal = slack((3e-3 + 2e-4 * random.normal(size=4000)).tolist(), 0.0)
    assert normal.distribution == "normal"
    assert normal.mean_s == pytest.approx(3e-3, rel=0.01)
    assert normal.deviation_s == pytest.approx(2e-4, rel=0.05)
    pareto = slack((1e-3 * (1 + random.pareto(PARETO_SHAPE, size=4000))).tolist(), 0.0)
    assert pareto.distribution == "pareto"
    assert slack([1e-4] * 50, 0.0).distribution == "constant"


def test_a_long_tail_keeps_its_mean_above_zero() -> None:
    found = slack([1e-4] * 98 + [2e-2] * 2, 0.0)
    assert found.distribution == "pareto"
    assert found.deviation_s == pytest.approx(found.mean_s * math.sqrt(3))
    assert found.measured_s > found.deviation_s


def test_a_grain_adds_half_of_itself() -> None:
    found = slack([6e-4] * 200, 1e-3)
    assert found.distribution == "uniform"
    assert found.mean_s == pytest.approx(1.1e-3)
    assert found.deviation_s == pytest.approx(1e-3 / math.sqrt(12), rel=0.01)


def test_settings_follow_from_the_first_look() -> None:
    per_byte_s = 1e-7
    look = [0.3 + per_byte_s * size for size in measure.LOOK_BYTES]
    slow, fast, longer, *requests = choose(look, requests=True)
    loads = [setting.rate_bps * per_byte_s / 8 for setting in (slow, fast)]
    assert loads == pytest.approx(list(measure.LOADS), rel=0.05)
    assert longer.rate_bps == fast.rate_bps
    assert len(requests) == len(measure.EXCHANGES)
    # a stack that costs next to nothing is not measured beyond what the elements do
    assert choose([0.1, 0.1], requests=False)[1].rate_bps == measure.MAX_BPS
    assert choose([0.1, 0.1], requests=False)[0].rate_bps <= measure.MAX_BPS / 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonesuch", "lane kernel: unknown stack `nonesuch`"),
        ("linux", "stack `linux` is TCP: its packets are sent by the kernel"),
    ],
)
def test_stacks_that_have_no_hosts(name: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        stack_of_interest(Lane(), name)


def test_the_file_is_a_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, default = tmp_path / "rmem_max", tmp_path / "rmem_default"
    limit.write_text("4194304\n")
    default.write_text("212992\n")
    monkeypatch.setattr(host_file, "BUFFER_LIMIT", limit)
    monkeypatch.setattr(host_file, "BUFFER_DEFAULT", default)
    settings = (Setting("download, fast", {"kind": "download", "size": "1000000 B"}, 20_000_000),)
    ends = {
        "server": End(known_runs(), {"fast": recorded("quinn")}, [0.5]),
        "client": End(known_runs(), {"fast": recorded("go")}, [0.5]),
    }
    measured = Measurement(settings, ends, [1e-4, 2e-4, 1e-4], 6, version="quinn 0.11")
    path = tmp_path / "quinn.toml"
    path.write_text(write_hosts("quinn", measured, {"machine": "2 CPUs"}, {"congestion_control": "cubic"}))
    hosts = load(path).to_dict()["hosts"]
    server, client = hosts["quinn_server"], hosts["quinn_client"]
    assert (server["receive_datagram"], server["receive_call"]) == ("4 us", "9 us")
    assert (server["receive_batch"], server["send_batch"]) == (32, 5)
    # what the kernel counts: twice what it asks for, within the limit; the default where it does not ask
    assert (server["receive_buffer"], client["receive_buffer"]) == ("208 KiB", "8 MiB")
    assert server["timer_slack"]["distribution"] in ("uniform", "pareto")
    assert "95 %" in path.read_text()


def test_names() -> None:
    assert host_name("quic-go", "client") == "quic_go_client"
    assert sim_stack("quinn") == ("quinn", None)
    assert sim_stack("quic-go") == ("lab-quic", "quic-go")
    assert sim_stack("envoy") == ("lab-quic", None)
