"""CAKE beside Linux' `sch_cake`, which has the rate of the link itself: shares of hosts, and filtered acknowledgements.

What both do with the same datagrams of five flows between two hosts is in test_kernel_queues.py. Both lanes have a
virtual clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import quiclab
from conftest import ROOT
from quiclab.lane.run import Lane
from quiclab.scenario import load

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab import RunResult

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("virtual_kernel"), pytest.mark.xdist_group("cake")]
ARRIVALS = ROOT / "tests" / "data" / "arrivals"
#: Two machines: one with two of the plans of datagrams, one with one. Each plan has 13 Mbit/s in the seconds looked at.
HOSTS = """\
version = 1
name = "hosts"
duration = "60 s"

[links.down]
rate = "16 Mbit/s"
overhead_per_packet = "14 B"
queue = { kind = "cake", ISOLATION }

[links.up]
delay = "1 ms"
"""
FLOW = """
[flows.NAME]
stack = "arrivals"
receiver_machine = "MACHINE"
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "5 s" }
"""
MACHINES = {"first": "laptop", "second": "laptop", "alone": "desktop"}
BUSY_S = (2.0, 4.0)
FILTER = """\
version = 1
name = "filter"
duration = "12 s"

[links.down]
rate = "50 Mbit/s"
delay = "10 ms"
queue = { kind = "cake" }

[links.up]
rate = "500 kbit/s"
overhead_per_packet = "18 B"
queue = { kind = "cake", ack_filter = "KIND" }
delay = "10 ms"

[flows.main]
stack = "STACK"
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "10 s" }
"""


def shares(emulation: Any, isolation: str, folder: Path) -> dict[str, float]:
    """Return the part of the bytes that leave the link in the seconds in which it is overloaded, by flow."""
    lane = Lane(clock="virtual", emulation=emulation, adapters=(ARRIVALS / "arrivals.toml",))
    flows = [FLOW.replace("NAME", name).replace("MACHINE", machine) for name, machine in MACHINES.items()]
    file = folder / f"{emulation}.toml"
    file.write_text(HOSTS.replace("ISOLATION", isolation) + "".join(flows) + "\n[record]\npackets = true\n")
    result = lane.run(load(file, programs=lane.stacks()), 1, base_dir=folder)
    left = result.packets.filter(
        (pl.col("element").cast(pl.String) == "down")
        & (pl.col("event").cast(pl.String) == "departure")
        & pl.col("time_ns").is_between(int(BUSY_S[0] * 1e9), int(BUSY_S[1] * 1e9))
    )
    assert left["size_bytes"].sum() * 8 > 0.95 * 16e6 * (BUSY_S[1] - BUSY_S[0])
    of_flow = left.group_by(pl.col("flow").cast(pl.String)).agg(pl.col("size_bytes").sum())
    return {name: size / left["size_bytes"].sum() for name, size in of_flow.iter_rows()}


@pytest.mark.parametrize("isolated", [True, False])
def test_hosts_have_the_shares_that_linux_gives_them(isolated: bool, tmp_path: Path) -> None:
    isolation = f"host_isolation = {str(isolated).lower()}"
    ours, linux = shares("engine", isolation, tmp_path), shares("netem", isolation, tmp_path)
    # by hosts a half; by flows a third, as the flows of all three are the same
    assert linux["alone"] == pytest.approx(1 / 2 if isolated else 1 / 3, rel=0.05)
    for flow in MACHINES:
        assert ours[flow] == pytest.approx(linux[flow], rel=0.02), flow


def downloaded(kind: str, lane: Lane | None, folder: Path) -> RunResult:
    file = folder / f"{kind}_{'lab-tcp' if lane is None else 'linux'}.toml"
    file.write_text(FILTER.replace("KIND", kind).replace("STACK", "lab-tcp" if lane is None else "linux"))
    if lane is None:
        return quiclab.run(load(file), seed=1)
    return lane.run(load(file, programs=lane.stacks()), 1, base_dir=folder)


@pytest.mark.parametrize("kind", ["off", "conservative", "aggressive"])
def test_as_many_acknowledgements_are_filtered_as_in_linux(kind: str, tmp_path: Path) -> None:
    lane = Lane(clock="virtual", emulation="netem")
    ours, linux = downloaded(kind, None, tmp_path), downloaded(kind, lane, tmp_path)
    filtered = [result.elements["up"]["statistics"]["filtered_acks"] for result in (ours, linux)]
    goodputs = [result.flows["main"].goodput_mbps for result in (ours, linux)]
    if kind == "off":
        assert filtered == [0, 0]
    else:
        assert filtered[1] > 1000
        assert filtered[0] == pytest.approx(filtered[1], rel=0.03)
    assert goodputs[0] == pytest.approx(goodputs[1], rel=0.03)
    # what is filtered has left the queue, and is known as such
    assert linux.elements["up"]["dropped"]["packets"] >= filtered[1]
