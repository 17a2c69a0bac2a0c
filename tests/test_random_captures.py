"""The analyser of captures against tshark: inputs made at random, each number of each flow.

A sample is tried with every run of the tests, 1000 by `make random-captures`. Which frames are copies tshark does not
say: that is known from how the captures are made.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

import random_captures
from quiclab._base.native import extension

TSHARK, MERGECAP = (shutil.which(name) or "" for name in ("tshark", "mergecap"))
pytestmark = pytest.mark.skipif(not (TSHARK and MERGECAP), reason="tshark is not installed (apt-get install tshark)")

NUMBER: Final = int(os.environ.get("QUICLAB_RANDOM_CAPTURES", "60"))
#: Captures that one start of tshark reads.
BATCH: Final = 100
FIELDS: Final = (
    "frame.time_epoch",
    "frame.len",
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ip.len",
    "ip.hdr_len",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.plen",
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.len",
    "tcp.hdr_len",
    "tcp.flags",
    "udp.stream",
    "udp.srcport",
    "udp.dstport",
    "udp.length",
)
SYN_FIN_RST: Final = 7
ACK: Final = 16
Row = dict[str, str]


def rows_of(files: Sequence[Path], merged: Path) -> list[Row]:
    """Return what tshark says of the innermost headers of each frame of all files, one after the other."""
    merge = [MERGECAP, "-a", "-F", "pcapng", "-w", str(merged), *map(str, files)]
    subprocess.run(merge, check=True, capture_output=True)
    options = ["-o", "ip.defragment:FALSE", "-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=l"]
    # a label does not say what it carries; tshark guesses, and wrongly where lengths were lost
    options += ["-d", f"mpls.label=={random_captures.PSEUDO_WIRE},pwethcw"]
    command = [TSHARK, "-r", str(merged), *options, *(part for name in FIELDS for part in ("-e", name))]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [dict(zip(FIELDS, line.split("|"), strict=True)) for line in printed.splitlines()]


@dataclass
class Flow:
    """A connection by tshark's number of it: its ends in the order of their first packets."""

    protocol: str
    ends: tuple[str, str]
    start_ns: int
    #: Of each end: times, bytes of frames and of payload of packets with data; acknowledgements.
    data: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    acks: dict[str, int] = field(default_factory=dict)

    def told(self) -> tuple[Any, ...]:
        """Return what the analyser has to say of it."""
        first, second = self.ends
        payload = {end: sum(item[2] for item in self.data.get(end, [])) for end in self.ends}
        sender, receiver = (second, first) if payload[second] > payload[first] else (first, second)
        packets = self.data.get(sender, [])
        span = packets[-1][0] - packets[0][0] if packets else 0
        sizes = len(packets), payload[sender], sum(item[1] for item in packets)
        return self.protocol, sender, receiver, self.start_ns, *sizes, span, self.acks.get(receiver, 0)


def end_of(address: str, port: str) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def nanoseconds(seconds: str) -> int:
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0")[:9])


def expected(made: Any, rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Return the flows of a capture after tshark, without the frames that are copies."""
    found: dict[tuple[str, str], Flow] = {}
    for frame, row in zip(made.frames, rows, strict=True):
        protocols = row["frame.protocols"].split(":")
        transport = next((name for name in reversed(protocols) if name in {"tcp", "udp"}), None)
        if frame.copy or transport is None:
            continue
        below = protocols[: len(protocols) - protocols[::-1].index(transport)]
        family = next(name for name in reversed(below) if name in {"ip", "ipv6"})
        source = end_of(row[f"{family}.src"], row[f"{transport}.srcport"])
        target = end_of(row[f"{family}.dst"], row[f"{transport}.dstport"])
        at, payload = nanoseconds(row["frame.time_epoch"]), payload_of(row, below, family, shortened=made.shortened)
        size = frame.whole if made.shortened else int(row["frame.len"])
        key = transport, row[f"{transport}.stream"]
        flow = found.setdefault(key, Flow(transport, (source, target), at))
        if transport == "udp" or payload:
            flow.data.setdefault(source, []).append((at, size, payload))
        if transport == "udp" or (is_ack(row) and not payload):
            flow.acks[source] = flow.acks.get(source, 0) + 1
    return sorted(flow.told() for flow in found.values())


def payload_of(row: Row, protocols: Sequence[str], family: str, *, shortened: bool) -> int:
    """Return bytes of payload, by the header of IP where the file lost the lengths of frames."""
    if protocols[-1] == "udp":
        return int(row["udp.length"]) - 8
    if not shortened:
        return int(row["tcp.len"])
    if family == "ip":
        return int(row["ip.len"]) - int(row["ip.hdr_len"]) - int(row["tcp.hdr_len"])
    headers = protocols[len(protocols) - protocols[::-1].index("ipv6") :]
    return int(row["ipv6.plen"]) - 8 * sum(name.startswith("ipv6.") for name in headers) - int(row["tcp.hdr_len"])


def is_ack(row: Row) -> bool:
    flags = int(row["tcp.flags"], 0)
    return bool(flags & ACK) and not flags & SYN_FIN_RST


def analysed(path: Path) -> Any:
    return json.loads(extension().analyse_packets(str(path), "{}", [], 1000))


def told(capture: Any) -> list[tuple[Any, ...]]:
    """Return the flows of a capture after the analyser."""
    return sorted(
        (
            flow["protocol"],
            flow["sender"],
            flow["receiver"],
            round(flow["start_s"] * 1e9),
            flow["data"]["packets"],
            flow["data"]["payload_bytes"],
            flow["data"]["frame_bytes"],
            round(flow["duration_s"] * 1e9),
            flow["acks"]["count"],
        )
        for flow in capture["flows"]
    )


def batches(number: int) -> Iterator[range]:
    for first in range(0, number, BATCH):
        yield range(first, min(first + BATCH, number))


def test_flows_are_those_of_tshark(tmp_path: Path) -> None:
    wrong: list[object] = []
    kinds: set[str] = set()
    again = copied = 0
    for seeds in batches(NUMBER):
        cases = [random_captures.capture(seed) for seed in seeds]
        files = [tmp_path / made.name for made in cases]
        for made, file in zip(cases, files, strict=True):
            file.write_bytes(made.content)
        rows = iter(rows_of(files, tmp_path / "merged.pcapng"))
        for made, file in zip(cases, files, strict=True):
            right = expected(made, [next(rows) for _ in made.frames])
            capture = analysed(file)
            copies = sum(frame.copy for frame in made.frames)
            kinds.update(made.description)
            copied += copies
            again += any(note.startswith("ports were used again") for note in capture["notes"])
            noted = next((note for note in capture["notes"] if "are copies" in note), "0")
            if told(capture) != right or int(noted.split()[0]) != copies:
                wrong.append((made.name, made.description, right, told(capture), copies, noted))
        assert next(rows, None) is None
    # a sample that shows something
    assert set(random_captures.TUNNELS) | {"cut", "lost", "same place", "other place", "other side"} <= kinds
    assert again >= NUMBER / 10
    assert copied >= NUMBER
    assert not wrong, f"{len(wrong)} of {NUMBER} differ: {wrong[0]}"
