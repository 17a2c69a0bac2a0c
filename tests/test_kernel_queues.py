"""Queue disciplines and a policer beside Linux' own: the same arrivals in virtual time, compared.

A program sends 13295 datagrams of five flows by a fixed plan (tests/data/arrivals) through a link of 10 Mbit/s,
overloaded in five of eight seconds: two long flows, two sparse ones, one that comes in bursts of 60. The link is an
element of ours, or `tbf` with a discipline of the kernel as its child. Both run in a guest with a virtual clock, so
nothing but the disciplines differs, and the first packet of a busy period: a full bucket passes it at once, our link
serialises it. One such offset changes which packets are dropped later, not how many, nor how long they wait. The
policer, of 8 Mbit/s in front of a link that is faster than all datagrams, is the `police` action.
"""

from __future__ import annotations

import functools
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import ROOT
from quiclab.errors import RequestError
from quiclab.lane.kernel import newest_kernel
from quiclab.lane.run import Lane
from quiclab.scenario import load

# one worker: each pair of runs is made once for all tests of it
pytestmark = [pytest.mark.guest, pytest.mark.xdist_group("queues")]
ARRIVALS = ROOT / "tests" / "data" / "arrivals"
SECONDS = 10
SCENARIO = f"""\
version = 1
name = "queues"
duration = "60 s"

[links.down]
overhead_per_packet = "14 B"
LINK

[links.up]
delay = "1 ms"

[flows.main]
stack = "arrivals"
down = ["down"]
up = ["up"]
workload = {{ kind = "download", duration = "{SECONDS} s" }}

[record]
packets = true
"""
#: The queue or the policer of the link. RED without an average is the step of DCTCP (RFC 8257 section 3.1).
QUEUES = {
    "codel": 'kind = "codel"',
    "fq_codel": 'kind = "fq_codel"',
    "pie": 'kind = "pie"',
    "dualpi2": 'kind = "dualpi2"',
    "red": 'kind = "red", ecn = true, max_probability = "10 %"',
    "fq_pie": 'kind = "fq_pie"',
    "cake": 'kind = "cake"',
    "step": 'kind = "red", ecn = true, min_threshold = "30 kB", max_threshold = "30 kB", weight_exponent = 0',
}
POLICER = 'rate = "100 Mbit/s"\npolicer = { rate = "8 Mbit/s", burst = "30 kB" }'
#: What our link has beside the kind: the kernel updates PIE after 15 jiffies of 1 ms and one more, as its timers do.
OURS = dict.fromkeys(("pie", "fq_pie"), ', update_interval = "16 ms"')
SPARSE = (2, 3)
#: The largest packet at 10 Mbit/s: by so much the first packet of a busy period is earlier behind a bucket [ms].
SERIALISATION_MS = 1.16
#: The step counts the packet that waits for tokens below a bucket, and not the one in service; the link behind the
#: policer is ten times as fast.
SLACK_MS = {"step": SERIALISATION_MS, "policer": SERIALISATION_MS / 10}
#: Disciplines that draw random numbers for packets.
RANDOM = ("pie", "fq_pie", "dualpi2", "red")
#: The datagrams are sent once with each of these seeds.
SEEDS = {kind: (1, 2, 3, 4) if kind in RANDOM else (1,) for kind in (*QUEUES, "policer")}
#: The standard deviation over seeds of the mean time in the link of a flow with few packets, here and in Linux [ms].
DEVIATION_MS = 1.3


@dataclass(frozen=True)
class Passage:
    """What became of each datagram, in the order of sending."""

    arrivals_ms: np.ndarray[Any, Any]
    #: NaN for those that were dropped.
    transits_ms: np.ndarray[Any, Any]
    marks: int

    def drops(self, of: np.ndarray[Any, Any]) -> int:
        """Count drops of some datagrams."""
        return int(np.isnan(self.transits_ms[of]).sum())

    def mean_ms(self, of: np.ndarray[Any, Any]) -> float:
        """Return the mean time in the link of those of some datagrams that came through."""
        return float(np.nanmean(self.transits_ms[of]))


@functools.cache
def flows(kind: str) -> np.ndarray[Any, Any]:
    """Return the flow of each datagram, once for each seed."""
    module = runpy.run_path(str(ARRIVALS / "arrivals.py"), run_name="plan")
    return np.array([flow for _, flow, _ in module["plan"](float(SECONDS))] * len(SEEDS[kind]))


def passage(kind: str, emulation: str, folder: Path) -> Passage:
    """Send the datagrams through a link, once with each seed."""
    passages = [passage_with(seed, kind, emulation, folder) for seed in SEEDS[kind]]
    arrivals_ms = np.concatenate([passage.arrivals_ms for passage in passages])
    transits_ms = np.concatenate([passage.transits_ms for passage in passages])
    return Passage(arrivals_ms, transits_ms, sum(passage.marks for passage in passages))


def passage_with(seed: int, kind: str, emulation: str, folder: Path) -> Passage:
    lane = Lane(clock="virtual", emulation=emulation, adapters=(ARRIVALS / "arrivals.toml",))  # type: ignore[arg-type]
    file = folder / f"{kind}_{emulation}.toml"
    options = OURS.get(kind, "") if emulation == "engine" else ""
    link = f'rate = "10 Mbit/s"\nqueue = {{ {QUEUES[kind]}{options} }}' if kind in QUEUES else POLICER
    file.write_text(SCENARIO.replace("LINK", link))
    result = lane.run(load(file, programs=lane.stacks()), seed, base_dir=folder)
    records = result.packets.filter(pl.col("element").cast(pl.String) == "down")

    def times(event: str) -> pl.DataFrame:
        found = records.filter(pl.col("event").cast(pl.String) == event)
        return found.select("packet_id", pl.col("time_ns").alias(event))

    both = times("arrival").join(times("departure"), on="packet_id", how="left").sort("packet_id")
    arrivals = both["arrival"].to_numpy() / 1e6
    transits = both["departure"].cast(pl.Float64).to_numpy() / 1e6 - arrivals
    return Passage(arrivals - arrivals[0], transits, result.elements["down"]["statistics"].get("ce_marks", 0))


@pytest.fixture(scope="module", params=list(SEEDS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Passage, Passage]:
    """Return kind, our link and the kernel's discipline."""
    problem = Lane(clock="virtual").problem()
    if sys.platform != "linux" or problem is not None:
        pytest.skip(problem or "Linux only")
    try:
        newest_kernel()
    except RequestError as error:
        pytest.skip(error.message)
    folder = tmp_path_factory.mktemp("queues")
    return request.param, passage(request.param, "engine", folder), passage(request.param, "netem", folder)


def test_arrivals_are_the_same(pair: tuple[str, Passage, Passage]) -> None:
    kind, ours, linux = pair
    assert len(ours.arrivals_ms) == len(linux.arrivals_ms) == len(flows(kind))
    assert np.abs(ours.arrivals_ms - linux.arrivals_ms).max() < 0.2


def test_drops_are_equal(pair: tuple[str, Passage, Passage]) -> None:
    kind, ours, linux = pair
    everything = np.ones(len(flows(kind)), dtype=bool)
    assert linux.drops(everything) > 1000
    assert ours.drops(everything) == pytest.approx(linux.drops(everything), rel=0.02)
    for flow in range(5):
        of = flows(kind) == flow
        drops = (ours.drops(of) + linux.drops(of)) / 2
        # With a random number for each packet the variance of a number of drops is at most their mean.
        # CoDel drops what is at the head when its time has come, of a flow by its share of the packets: binomial.
        variance = 2 * drops if kind in RANDOM else 2 * drops * (1 - drops / linux.drops(everything))
        slack = (4 if kind in RANDOM else 3) * max(variance, 1.0) ** 0.5
        assert abs(ours.drops(of) - linux.drops(of)) <= slack, flow


def test_marks_are_equal(pair: tuple[str, Passage, Passage]) -> None:
    kind, ours, linux = pair
    # CoDel, PIE and FQ-PIE mark nothing by default
    assert (linux.marks > 300) == (kind in ("fq_codel", "dualpi2", "red", "step", "cake"))
    assert ours.marks == pytest.approx(linux.marks, rel=0.05)


def test_waiting_times_are_equal(pair: tuple[str, Passage, Passage]) -> None:
    kind, ours, linux = pair
    few_ms = 4 * (2 / len(SEEDS[kind])) ** 0.5 * DEVIATION_MS if kind in RANDOM else 0.0
    for flow in (0, 1, 4):
        of = flows(kind) == flow
        slack_ms = max(2 * SERIALISATION_MS, few_ms if flow == 4 else 0.0)
        assert ours.mean_ms(of) == pytest.approx(linux.mean_ms(of), rel=0.03, abs=slack_ms), flow
    for flow in SPARSE:
        of = flows(kind) == flow
        if kind in ("fq_codel", "fq_pie", "cake"):
            # they never wait for a queue
            assert abs(ours.mean_ms(of) - linux.mean_ms(of)) < SERIALISATION_MS / 2
            assert max(np.nanmax(ours.transits_ms[of]), np.nanmax(linux.transits_ms[of])) < 4 * SERIALISATION_MS
        else:
            slack_ms = max(few_ms, SLACK_MS.get(kind, 0.0))
            assert ours.mean_ms(of) == pytest.approx(linux.mean_ms(of), rel=0.08, abs=slack_ms)
