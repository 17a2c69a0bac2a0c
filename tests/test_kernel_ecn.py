"""Explicit congestion notification of lab-tcp beside Linux, behind elements of ours that mark: in virtual time both."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import quiclab
from quiclab.errors import RequestError
from quiclab.kernel import newest_kernel
from quiclab.kernel.cache import version_key
from quiclab.lane.run import Lane
from quiclab.scenario import load

pytestmark = pytest.mark.guest
SCENARIO = """\
version = 1
name = "ecn"
duration = "12 s"

[links.down]
rate = "20 Mbit/s"
delay = "10 ms"
queue = { QUEUE }

[links.up]
rate = "20 Mbit/s"
delay = "10 ms"

[flows.main]
stack = "STACK"
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "10 s" }
sender = { congestion_control = "CONTROL", tcp = { ecn = "FEEDBACK" } }
receiver = { tcp = { ecn = "FEEDBACK" } }
"""
#: Release of Linux in which `tcp_ecn` may be 3: commit 8ae3e8e6ceed, "tcp: accecn: enable AccECN", for 7.0.
FIRST_WITH_ACCURATE_ECN = (7, 0)
CODEL = 'kind = "codel", ecn = true, packets = 1000'
FQ_CODEL = 'kind = "fq_codel", ecn = true'


def ran(lane: Lane | None, folder: Any, **values: str) -> tuple[float, float, float]:
    """Return goodput in Mbit/s, and the numbers of marks and of retransmissions."""
    text = SCENARIO.replace("STACK", "lab-tcp" if lane is None else "linux")
    for name, value in values.items():
        text = text.replace(name.upper(), value)
    file = folder / ("sim.toml" if lane is None else "kernel.toml")
    file.write_text(text)
    if lane is None:
        result = quiclab.run(load(file), seed=1)
    else:
        result = lane.run(load(file, programs=lane.stacks()), 1, base_dir=folder)
    flow = result.flows["main"]
    marks = result.elements["down"]["statistics"]["ce_marks"]
    return flow.goodput_mbps, marks, flow.sender["retransmitted_packets"]


@pytest.mark.parametrize(
    ("control", "feedback", "queue"),
    [
        ("cubic", "classic", CODEL),
        ("newreno", "classic", FQ_CODEL),
        ("dctcp", "dctcp", CODEL),
        ("cubic", "accurate", CODEL),
        ("newreno", "accurate", FQ_CODEL),
        ("dctcp", "accurate", CODEL),
    ],
)
def test_marks_and_goodput_are_those_of_linux(control: str, feedback: str, queue: str, tmp_path: Any) -> None:
    lane = Lane(clock="virtual")
    problem = lane.problem()
    if sys.platform != "linux" or problem is not None:
        pytest.skip(problem or "Linux only")
    try:
        kernel = newest_kernel()
    except RequestError as error:
        pytest.skip(error.message)
    given = {"control": control, "feedback": feedback, "queue": queue}
    if feedback == "accurate" and version_key(kernel.version) < FIRST_WITH_ACCURATE_ECN:
        pytest.skip(f"Linux {kernel.version} has no AccECN")
    ours, linux = ran(None, tmp_path, **given), ran(lane, tmp_path, **given)
    assert linux[1] > 10
    assert ours[0] == pytest.approx(linux[0], rel=0.01)
    # one mark of 15 or 20, or the share of a scalable control
    assert ours[1] == pytest.approx(linux[1], rel=0.05, abs=2)
    assert ours[2] == linux[2] == 0
