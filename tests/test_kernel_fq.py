"""CUBIC with fq in lab-tcp beside Linux: goodput, losses and pairs where pacing decides on them. In virtual time both.

A tap between sender and bottleneck sees when packets leave. Linux makes skbs of two segments at least, and fq lets
the two go together, so that queues of a few packets overflow as they would not with single segments.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import quiclab
from quiclab.errors import RequestError
from quiclab.lane.kernel import newest_kernel
from quiclab.lane.run import Lane
from quiclab.scenario import load

# one worker: each run is made once for all tests of it
pytestmark = [pytest.mark.guest, pytest.mark.xdist_group("fq")]
SCENARIO = """\
version = 1
name = "fq"
duration = "14 s"

[links.down]
rate = "20 Mbit/s"
delay = "20 ms"
queue = { kind = "drop_tail", packets = QUEUE }

[links.up]
rate = "20 Mbit/s"
delay = "20 ms"

[taps.host]

[flows.main]
stack = "STACK"
down = ["host", "down"]
up = ["up"]
workload = { kind = "download", duration = "12 s" }
sender = { congestion_control = "cubic", pacing = { PACING }, tcp = { OPTIONS } }

[record]
packets = true
"""
FQ = 'kind = "fq"'
BELOW_LINK = 'kind = "fq", max_rate = "18 Mbit/s"'
#: A frame takes 0.6 ms at 20 Mbit/s: what follows within less was sent together.
TOGETHER_MS = 0.1


@dataclass(frozen=True)
class Run:
    """What became of a download."""

    goodput_mbps: float
    retransmitted: float
    #: When the packets left the host.
    sent_ms: np.ndarray[Any, Any]

    @property
    def paired(self) -> float:
        """Return the share of packets that left with another one."""
        together = np.diff(self.sent_ms) < TOGETHER_MS
        return float((np.append(together, False) | np.insert(together, 0, False)).mean())


def ran(folder: Any, lane: Lane | None, queue: int, pacing: str, options: str = "") -> Run:
    """Run the scenario in the simulator or in `lane`."""
    text = SCENARIO.replace("QUEUE", str(queue)).replace("PACING", pacing).replace("OPTIONS", options)
    file = folder / ("sim.toml" if lane is None else "kernel.toml")
    file.write_text(text.replace("STACK", "lab-tcp" if lane is None else "linux"))
    if lane is None:
        result = quiclab.run(load(file), seed=1)
    else:
        result = lane.run(load(file, programs=lane.stacks()), 1, base_dir=folder)
    flow, element, event = result.flows["main"], pl.col("element").cast(pl.String), pl.col("event").cast(pl.String)
    sent = result.packets.filter((element == "host") & (event == "arrival"))
    times_ms = np.sort(sent["time_ns"].to_numpy()) / 1e6
    return Run(flow.goodput_mbps, flow.sender["retransmitted_packets"], times_ms)


@pytest.fixture(scope="module")
def lane() -> Lane:
    lane = Lane(clock="virtual")
    problem = lane.problem()
    if sys.platform != "linux" or problem is not None:
        pytest.skip(problem or "Linux only")
    try:
        newest_kernel()
    except RequestError as error:
        pytest.skip(error.message)
    return lane


@pytest.mark.parametrize("queue", [8, 20])
def test_losses_and_pairs_are_those_of_linux(lane: Lane, queue: int, tmp_path: Any) -> None:
    ours, linux = ran(tmp_path, None, queue, FQ), ran(tmp_path, lane, queue, FQ)
    assert linux.retransmitted > 0
    assert ours.retransmitted == pytest.approx(linux.retransmitted, rel=0.05, abs=2)
    assert ours.goodput_mbps == pytest.approx(linux.goodput_mbps, rel=0.01)
    assert ours.paired == pytest.approx(linux.paired, abs=0.02)


def test_below_the_rate_of_the_link_both_lose_nothing_and_send_at_the_same_times(lane: Lane, tmp_path: Any) -> None:
    ours, linux = ran(tmp_path, None, 20, BELOW_LINK), ran(tmp_path, lane, 20, BELOW_LINK)
    assert ours.retransmitted == linux.retransmitted == 0
    assert ours.paired == pytest.approx(linux.paired, abs=0.01)
    # until the application's last write
    count = int((linux.sent_ms < linux.sent_ms[0] + 11_900).sum())
    apart = (ours.sent_ms[:count] - ours.sent_ms[0]) - (linux.sent_ms[:count] - linux.sent_ms[0])
    assert count > 15_000
    assert np.abs(apart).max() < TOGETHER_MS


def test_pairs_overflow_a_queue_that_single_segments_do_not(tmp_path: Any) -> None:
    """Of the simulator alone: what the comparison above can tell apart."""
    pairs = ran(tmp_path, None, 2, FQ)
    single = ran(tmp_path, None, 2, FQ, "gso_segments = 1")
    assert pairs.paired > 0.8
    assert single.paired < 0.05
    assert pairs.retransmitted > single.retransmitted
    assert pairs.goodput_mbps < 0.8 * single.goodput_mbps
