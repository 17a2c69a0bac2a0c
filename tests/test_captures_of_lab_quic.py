"""Captures of lab-quic are QUIC: tshark decrypts each packet, with the lengths, numbers and data of the run."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import quiclab
from conftest import SMALL
from quiclab.result import RunResult
from quiclab.scenario import load

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (apt-get install tshark)"
)

SIZE = 300_000
QUEUE_PACKETS = 20
RECORD_SEPARATOR = "\x1e"
#: Types of long headers in tshark, by their names in qlog.
TYPES = {"initial": "0", "0RTT": "1", "handshake": "2"}
FRESH, RESUMED = '{ version = "1.3" }', '{ version = "1.3", resumption = true }'
EARLY = '{ version = "1.3", resumption = true, early_data = "accepted" }'
#: Profiles differ in lengths of connection IDs, packet numbers and messages; their sessions in messages.
CASES = [
    ("rfc9002", FRESH),
    ("aioquic", RESUMED),
    ("ngtcp2-2022", EARLY),
    ("quic-go", '{ version = "1.3", resumption = true, early_data = "rejected" }'),
    ("chromium-quic1", EARLY),
    ("picoquic", '{ version = "1.3", certificate = "0 B" }'),
]
FIELDS = (
    "frame.packet_flags_direction",
    "frame.len",
    "quic.packet_number",
    "quic.long.packet_type",
    "quic.stream_data",
    "quic.decryption_failed",
    "_ws.expert.message",
    "frame.comment",
)
SENT = "0x00000002"


@dataclass(frozen=True)
class Seen:
    """A datagram as tshark dissects it."""

    sent: bool
    length: int
    numbers: list[str]
    long_types: list[str]
    stream_bytes: int
    problems: str
    comment: str


def dissected(file: Path) -> list[Seen]:
    """Return each packet of a capture."""
    selected = [part for field in FIELDS for part in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", file, "-T", "fields", "-E", "separator=|", *selected],  # noqa: S607 - that of the machine
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    seen = []
    for line in done.stdout.splitlines():
        direction, length, numbers, types, data, failed, expert, comment = line.split("|")
        # two digits for each byte
        stream_bytes = sum(len(part) // 2 for part in data.split(",") if part)
        seen.append(
            Seen(
                sent=direction == SENT,
                length=int(length),
                numbers=numbers.split(",") if numbers else [],
                long_types=types.split(",") if types else [],
                stream_bytes=stream_bytes,
                problems=failed + expert,
                comment=comment,
            )
        )
    return seen


def headers(file: Path, name: str) -> list[tuple[str, int]]:
    """Return type and number of each packet of a qlog file that was sent or received."""
    records = [json.loads(text) for text in file.read_text(encoding="utf-8").split(RECORD_SEPARATOR)[1:]]
    found = [record["data"]["header"] for record in records if record.get("name") == f"quic:packet_{name}"]
    return [(header["packet_type"], header["packet_number"]) for header in found]


def run(folder: Path, *sets: tuple[str, str]) -> RunResult:
    file = folder / "small.toml"
    file.write_text(SMALL)
    every = [
        ("flows.dc.stack", "lab-quic"),
        ("flows.dc.workload.size", f"{SIZE} B"),
        ("links.down1.queue.packets", str(QUEUE_PACKETS)),
        ("record", "{ qlog = true, pcapng = true, packets = true }"),
    ]
    return quiclab.run(load(file, [*every, *sets]), 7, record_dir=folder)


@pytest.mark.parametrize(("profile", "tls"), CASES, ids=[profile for profile, _ in CASES])
def test_tshark_reads_what_the_run_has_recorded(tmp_path: Path, profile: str, tls: str) -> None:
    ends = [
        (f"flows.dc.{end}.{key}", value)
        for end in ("sender", "receiver")
        for key, value in (("profile", profile), ("tls", tls))
    ]
    result = run(tmp_path, *ends)
    assert result.flows["dc"].completed
    assert result.flows["dc"].sender["lost_packets"] > 0
    packets = result.packets
    for end in ("dc.sender", "dc.receiver"):
        seen = dissected(tmp_path / f"{end}.pcapng")
        assert [item for item in seen if item.problems or item.comment] == []
        # lengths, in the order of the run
        recorded = packets.filter(pl.col("element") == end)
        assert [item.length for item in seen] == recorded["size_bytes"].to_list()
        assert [item.sent for item in seen] == (recorded["event"] == "departure").to_list()
        # types and packet numbers of all packets sent
        sent = headers(tmp_path / f"{end}.sqlog", "sent")
        numbers = [int(number) for item in seen if item.sent for number in item.numbers]
        assert numbers == [number for _, number in sent]
        types = [kind for item in seen if item.sent for kind in item.long_types]
        assert types == [TYPES[kind] for kind, _ in sent if kind in TYPES]
        if end == "dc.sender":
            # all data, and those again that were lost
            data = sum(item.stream_bytes for item in seen if item.sent)
            again = result.flows["dc"].sender["lost_packets"] * max(item.stream_bytes for item in seen)
            assert SIZE < data <= SIZE + again


def test_the_stream_of_a_capture_is_the_download(tmp_path: Path) -> None:
    """Without losses each byte is sent once."""
    result = run(tmp_path, ("links.down1.queue.packets", "1000"))
    assert result.flows["dc"].sender["lost_packets"] == 0
    for end, sent in (("dc.sender", True), ("dc.receiver", False)):
        seen = dissected(tmp_path / f"{end}.pcapng")
        assert sum(item.stream_bytes for item in seen if item.sent == sent) == SIZE


def test_a_packet_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """Google QUIC is not protected: headers of lengths that are right, and what the packet would be."""
    result = run(
        tmp_path, ("flows.dc.sender.profile", "chromium-gquic37"), ("flows.dc.receiver.profile", "chromium-gquic37")
    )
    seen = dissected(tmp_path / "dc.sender.pcapng")
    assert len(seen) == result.packets.filter(pl.col("element") == "dc.sender").height
    assert all(item.comment.startswith("modelled by lab-quic, bytes not written: Google QUIC 37") for item in seen)
    assert not any(item.numbers or item.stream_bytes for item in seen)
    assert any(item.comment.endswith("1-RTT packet 12: Stream") for item in seen)


def test_captures_follow_from_the_seed(tmp_path: Path) -> None:
    """Equal runs have equal files; another seed has other secrets."""

    def capture(name: str, seed: int) -> bytes:
        folder = tmp_path / name
        folder.mkdir()
        file = folder / "small.toml"
        file.write_text(SMALL)
        quiclab.run(load(file, [("flows.dc.stack", "lab-quic"), ("record.pcapng", "true")]), seed, record_dir=folder)
        return (folder / "dc.sender.pcapng").read_bytes()

    first = capture("first", 1)
    assert capture("again", 1) == first
    client = first.index(b"CLIENT_TRAFFIC_SECRET_0 ")
    line = first[client : first.index(b"\n", client)]
    assert line not in capture("other", 2)
