"""Explicit congestion notification of lab-tcp beside Linux, behind elements of ours that mark: in virtual time both.

Compared are the handshake, field by field; what the queue marks and what the sender counts of it; how often the sender
reduces its window, and the mean of it; and goodput.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
import pytest

import quiclab
from quiclab.errors import RequestError
from quiclab.lane.kernel import newest_kernel
from quiclab.lane.kernel.cache import version_key
from quiclab.lane.run import Lane
from quiclab.scenario import load

if TYPE_CHECKING:
    from pathlib import Path

    from quiclab import RunResult

pytestmark = pytest.mark.guest
#: Time between samples of the window: several in each round trip.
SAMPLE_MS = 5
#: Slow start is over.
SETTLED_S = 2.0
#: Round trip without a queue.
RTT_MS = 20
SCENARIO = f"""\
version = 1
name = "ecn"
duration = "12 s"

[links.down]
rate = "20 Mbit/s"
delay = "{RTT_MS // 2} ms"
queue = {{ QUEUE }}

[links.up]
rate = "20 Mbit/s"
delay = "{RTT_MS // 2} ms"

[flows.main]
stack = "STACK"
down = ["down"]
up = ["up"]
workload = {{ kind = "download", duration = "10 s" }}
sender = {{ congestion_control = "CONTROL", tcp = {{ ecn = "FEEDBACK" }} }}
receiver = {{ tcp = {{ ecn = "FEEDBACK" }} }}

[record]
pcapng = true
series_interval = "{SAMPLE_MS} ms"
"""
#: Release of Linux in which `tcp_ecn` may be 3: commit 8ae3e8e6ceed, "tcp: accecn: enable AccECN", for 7.0.
FIRST_WITH_ACCURATE_ECN = (7, 0)
CODEL = 'kind = "codel", ecn = true, packets = 1000'
FQ_CODEL = 'kind = "fq_codel", ecn = true'
#: Kinds of the option of AccECN (RFC 9768 section 3.2.3): which field is first.
ACCURATE_OPTIONS = (172, 174)


@dataclass(frozen=True)
class Opening:
    """A segment of the handshake: flags, the ECN field of its packet, and whether it has the option of AccECN."""

    flags: int
    field: int
    option: bool


@dataclass(frozen=True)
class Ran:
    """What a run gave."""

    goodput_mbps: float
    marks: int
    retransmitted: int
    #: Packets with marks that the sender knows of; None: its feedback does not count.
    counted: int | None
    reductions: int
    #: Mean window of the sender after the first seconds [B].
    window: float
    handshake: list[Opening]


def handshake(capture: bytes) -> list[Opening]:
    """Return the first three segments of a capture of IP packets (draft-ietf-opsawg-pcapng, section 4.3)."""
    found: list[Opening] = []
    at = 0
    while at < len(capture) and len(found) < 3:
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == 6:
            packet = capture[at + 28 : at + 28 + struct.unpack_from("<I", capture, at + 20)[0]]
            segment = packet[4 * (packet[0] & 15) :]
            header = segment[20 : 4 * (segment[12] >> 4)]
            found.append(
                Opening(
                    (segment[12] & 1) << 8 | segment[13],
                    packet[1] & 3,
                    any(kind in ACCURATE_OPTIONS for kind in options(header)),
                )
            )
        at += length
    return found


def options(header: bytes) -> list[int]:
    """Return the kinds of the options of a segment (RFC 9293 section 3.1)."""
    kinds, at = [], 0
    while at < len(header) and header[at] != 0:
        kinds.append(header[at])
        at += 1 if header[at] == 1 else header[at + 1]
    return kinds


def windows(result: RunResult) -> pl.DataFrame:
    """Return the sender's window in the order of time."""
    of_sender = (pl.col("element").cast(pl.String) == "main.sender") & (
        pl.col("metric").cast(pl.String) == "cwnd_bytes"
    )
    return result.series.filter(of_sender).sort("time_s").select("time_s", "value")


def reductions(rows: pl.DataFrame) -> int:
    """Count the rounds in which the window became smaller: of those less than a round trip apart the first."""
    smaller: list[float] = [1e3 * after[0] for before, after in pairwise(rows.iter_rows()) if after[1] < before[1]]
    gaps = [later - earlier for earlier, later in pairwise(smaller)]
    return bool(smaller) + sum(gap > RTT_MS for gap in gaps)


def ran(lane: Lane | None, folder: Path, **values: str) -> Ran:
    """Run the scenario: lab-tcp in the sim lane, or Linux."""
    name = "sim" if lane is None else "kernel"
    text = SCENARIO.replace("STACK", "lab-tcp" if lane is None else "linux")
    for key, value in values.items():
        text = text.replace(key.upper(), value)
    file, directory = folder / f"{name}.toml", folder / name
    file.write_text(text)
    directory.mkdir()
    if lane is None:
        # both ends of the programs have the congestion control: one that needs ECN has ECN-capable SYNs
        both = [("flows.main.receiver.congestion_control", f'"{values["control"]}"')]
        result = quiclab.run(load(file, both), seed=1, record_dir=directory)
    else:
        result = lane.run(load(file, programs=lane.stacks()), 1, base_dir=folder, record_dir=directory)
    flow = result.flows["main"]
    return Ran(
        flow.goodput_mbps,
        result.elements["down"]["statistics"]["ce_marks"],
        flow.sender["retransmitted_packets"],
        flow.sender.get("marked_packets"),
        reductions(windows(result)),
        windows(result).filter(pl.col("time_s") > SETTLED_S)["value"].mean(),  # type: ignore[arg-type]
        handshake((directory / "main.receiver.pcapng").read_bytes()),
    )


def virtual(feedback: str) -> Lane:
    """Return the kernel lane with the virtual clock, whose kernel has the feedback."""
    lane = Lane(clock="virtual")
    problem = lane.problem()
    if sys.platform != "linux" or problem is not None:
        pytest.skip(problem or "Linux only")
    try:
        kernel = newest_kernel()
    except RequestError as error:
        pytest.skip(error.message)
    if feedback == "accurate" and version_key(kernel.version) < FIRST_WITH_ACCURATE_ECN:
        pytest.skip(f"Linux {kernel.version} has no AccECN")
    return lane


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
def test_marks_and_goodput_are_those_of_linux(control: str, feedback: str, queue: str, tmp_path: Path) -> None:
    lane = virtual(feedback)
    given = {"control": control, "feedback": feedback, "queue": queue}
    ours, linux = ran(None, tmp_path, **given), ran(lane, tmp_path, **given)
    assert linux.marks > 10
    assert ours.goodput_mbps == pytest.approx(linux.goodput_mbps, rel=0.01)
    # one mark of 15 or 20, or the share of a scalable control
    assert ours.marks == pytest.approx(linux.marks, rel=0.05, abs=2)
    assert ours.retransmitted == linux.retransmitted == 0
    # DCTCP has a reduction in each round with a mark: two counts of rounds differ as chance makes them
    slack = 2 * (ours.reductions + linux.reductions) ** 0.5 if control == "dctcp" else 2
    assert abs(ours.reductions - linux.reductions) <= slack
    assert ours.window == pytest.approx(linux.window, rel=0.02)
    assert ours.handshake == linux.handshake
    if feedback == "accurate":
        # all that the queue has marked, but for what the last acknowledgements did not get to say
        for found in (ours, linux):
            assert found.counted is not None
            assert 0 <= found.marks - found.counted <= 2
