"""Windows of bursts and of ACK clocking: in proportion to the bottleneck's spacing, whatever programs cost."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from quiclab.analysis.pacing.runs import windows
from quiclab.analysis.pacing.runs.taps import of_flow
from quiclab.experiment.recording import run_and_keep
from quiclab.result import RunResult
from quiclab.scenario import Scenario
from quiclab.study.plan import Plan
from quiclab.study.registry import find

FRAME_BYTES = 1250
RATES_MBPS = (1, 10, 100, 1000)
SECONDS = 12


def run_of(study: str, cost_us: int | None = None, variants: tuple[str, ...] = (), **labels: object) -> RunResult:
    """Run a setting for 12 s; with a cost of a datagram in place of that of its host."""
    found = find(f"pacing/{study}")
    only = {key: (str(value),) for key, value in labels.items()}
    job = Plan(found, list(found.points(("lab-quic",), 1, only, variants))).first_runs()[-1]
    scenario = json.loads(job.scenario)
    scenario["duration"] = f"{SECONDS} s"
    scenario["flows"]["main"]["workload"] = {"kind": "download", "duration": f"{SECONDS} s"}
    if cost_us is not None:
        timers = {"timer_slack": scenario["hosts"]["user"]["timer_slack"]}
        costs = {key: f"{cost_us} us" for key in ("send_datagram", "receive_datagram") if cost_us}
        scenario["hosts"]["user"] = timers | costs
    return run_and_keep(Scenario.from_dict(scenario), job.seed, job.recipe.base_dir, job.recipe.recording.keep)


def metrics_of(study: str, result: RunResult) -> dict[str, float]:
    wanted = ("ack_clocked", "bursty_share", "ack_clocked_fixed")
    return {name: find(f"pacing/{study}").measures.metric_of(name).measure(result) for name in wanted}


def sender(rate_mbps: float, times: list[float], lag: float = 0.1) -> Any:
    """Return packets at multiples of the bottleneck's spacing, and an ACK every two of them, `lag` before."""
    spacing_ns = 8e3 * FRAME_BYTES / rate_mbps
    frames = {"time_ns": [round(at * spacing_ns) for at in times], "flow": "main", "direction": "down"}
    acks = [round((2 * number - lag) * spacing_ns) for number in range(1, len(times) // 2)]
    heard = {"time_ns": acks, "element": "main.sender", "covered": 2}
    return SimpleNamespace(
        taps={"at_sender": pl.DataFrame({**frames, "size_bytes": FRAME_BYTES - 14})},
        acks=pl.DataFrame(heard).cast({"covered": pl.UInt32}),
    )


def numbers(result: Any, own: Any) -> list[float]:
    """Return packets in bursts, and bursts that answer ACKs beyond chance; NaN where chance explains all."""
    found = of_flow(result, "main", settings=own)
    explained = found["acks"]["clocking"]["explained"]
    return [found["data"]["bursts"]["share_of_packets"], math.nan if explained is None else explained]


def test_half_of_the_spacing_hand_computed() -> None:
    """1322 B at 10 Mbit/s take 1.0576 ms."""
    assert windows.derived(1322, 10) == pytest.approx({"burst_gap_ms": 0.5288, "clocked_ms": 0.5288})
    rates = {"links": {"bottleneck": {"rate": {"kind": "token_bucket", "rate": "10 Mbit/s"}}}}
    assert windows.bottleneck_mbps(SimpleNamespace(data={"scenario": rates})) == 10  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "offsets", "expected"),
    [
        ("pairs that answer ACKs", (0.0, 0.3), [1.0, 1.0]),
        ("single packets, each second one after an ACK", (0.0, 1.0), [0.0, 0.333]),
        ("single packets between ACKs", (0.7, 1.6), [0.0, 0.0]),
    ],
)
def test_the_same_pattern_has_the_same_numbers_at_any_rate(
    name: str, offsets: tuple[float, float], expected: list[float]
) -> None:
    """By chance is a quarter: half a spacing of two. Half of the bursts less chance, over the rest, are a third."""
    times = [2 * pair + offset for pair in range(2000) for offset in offsets]
    runs = {rate: sender(rate, times) for rate in RATES_MBPS}
    found = [numbers(result, windows.derived(FRAME_BYTES, rate)) for rate, result in runs.items()]
    assert found == [pytest.approx(expected, abs=0.002)] * len(RATES_MBPS), name
    fixed = [numbers(result, windows.FIXED) for result in runs.values()]
    assert any(one != pytest.approx(expected, abs=0.1) for one in fixed), "fixed windows tell rates apart"


@pytest.mark.parametrize("cost_us", [0, 50, 100, 200])
def test_what_a_program_costs_does_not_decide_whether_acks_clock_it(cost_us: int) -> None:
    """At 10 Mbit/s, where a packet of aioquic takes 1.06 ms."""
    found = metrics_of("intervals", run_of("intervals", cost_us, configuration="aioquic", rate=10))
    assert found["ack_clocked"] > 0.95
    assert found["bursty_share"] > 0.95
    assert (found["ack_clocked_fixed"] > 0.95) == (cost_us == 0), "fixed windows flip"


@pytest.mark.parametrize("cost_us", [0, 50])
def test_nor_at_ten_times_the_rate(cost_us: int) -> None:
    found = metrics_of("intervals", run_of("intervals", cost_us, configuration="aioquic", rate=100))
    assert found["ack_clocked"] > 0.95
    assert found["bursty_share"] > 0.95


def test_a_program_as_slow_as_the_bottleneck_sets_its_own_pace() -> None:
    """200 us where the bottleneck takes 106: half of the link is used, and each packet is by itself."""
    result = run_of("intervals", 200, configuration="aioquic", rate=100)
    found = metrics_of("intervals", result)
    assert result.data["kept"]["data"]["rate_mbps"] < 60
    assert found["bursty_share"] == 0
    assert found["ack_clocked"] < 0.2


@pytest.mark.parametrize("rate", [10, 100])
def test_the_matrix_says_the_same_of_aioquic_as_the_thesis_network(rate: int) -> None:
    """Its hosts cost nothing, as those of the kernel lane, whose clock stands still while programs compute."""
    matrix = run_of("matrix", configuration="aioquic-0.8.8", receiver="aioquic-0.8.8", rate=rate)
    ideal = run_of("intervals", None, ("ideal_hosts",), configuration="aioquic", rate=rate)
    for study, result in (("matrix", matrix), ("intervals", ideal)):
        assert metrics_of(study, result)["ack_clocked"] > 0.95, study


def test_who_paces_is_not_clocked_at_either_rate() -> None:
    for rate in (10, 100):
        paced = run_of("intervals", configuration="picoquic_bbr", rate=rate)
        assert metrics_of("intervals", paced)["ack_clocked"] < 0.05


def test_a_rate_that_changes_has_no_spacing() -> None:
    """Then only the fixed windows have numbers."""
    result = run_of("beyond_changing", configuration="unpaced", change="rate, steps of 5 s")
    assert result.data["kept"]["burst_packets"] is None
    assert result.data["kept"]["burst_packets_fixed"] > 1
    study = find("pacing/beyond_changing")
    assert math.isnan(study.measures.metric_of("ack_clocked").measure(result))
    assert study.measures.metric_of("ack_clocked_fixed").measure(result) > 0.5
