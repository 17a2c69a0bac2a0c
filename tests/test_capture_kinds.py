"""Captures as strangers have them: copied, shortened, wrapped, in formats and link types of all kinds."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab import cli
from quiclab._base.native import extension

CAPTURES = ROOT / "tests" / "data" / "captures"


def analysed(path: Path) -> Any:
    return json.loads(extension().analyse_packets(str(path), "{}", [], 8))


@pytest.mark.parametrize(
    ("file", "payload_bytes", "note"),
    [
        ("every-frame-twice.pcap", 2000, "30 of 60 frames are copies"),
        ("headers-only-length-lost.pcap", 29200, "20 of 30 frames are stated to be shorter"),
        ("modified-libpcap.pcap", 2000, ""),
        ("mpls.pcap", 2000, "30 of 30 frames have their packets inside MPLS"),
        ("ppp-ns3.pcap", 2000, "frames have a header of PPP"),
        ("pppoe.pcap", 2000, "30 of 30 frames have their packets inside PPPoE"),
        ("sll2-full-size.pcap", 29200, "frames have a header that the kernel made"),
        ("vxlan.pcap", 2000, "30 of 30 frames have their packets inside VXLAN"),
    ],
)
def test_twenty_packets_and_ten_acknowledgements(file: str, payload_bytes: int, note: str) -> None:
    """Each file has 20 segments of 192.0.2.1:443, and an ACK for every second one."""
    capture = analysed(CAPTURES / file)
    (flow,) = capture["flows"]
    assert capture["problems"] == {}
    assert any(said.startswith(note) for said in capture["notes"]) or not note
    assert (flow["protocol"], flow["sender"]) == ("tcp", "192.0.2.1:443")
    data, acks = flow["data"], flow["acks"]
    assert (data["packets"], data["payload_bytes"], data["oversized"]) == (20, payload_bytes, 0)
    assert (acks["count"], acks["packets_mean"], acks["duplicate_share"]) == (10, 2.0, 0)


def test_a_limit_of_frames_is_one_of_ip_packets(tmp_path: Path) -> None:
    """A frame of two tags and 1500 B of IP is one packet; 1501 B are not."""
    for length, oversized in ((1500, 0), (1501, 1)):
        ip = struct.pack(">BBHHHBBH8s", 0x45, 0, length, 1, 0, 64, 17, 0, bytes([10, 0, 0, 1, 10, 0, 0, 2]))
        frame = (
            bytes(12) + bytes.fromhex("88a80005810000060800") + ip + struct.pack(">HHHH", 1000, 2000, length - 20, 0)
        )
        record = struct.pack("<IIII", 1, 0, len(frame), 22 + length)
        path = tmp_path / f"{length}.pcap"
        path.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) + record + frame)
        assert analysed(path)["flows"][0]["data"]["oversized"] == oversized


@pytest.mark.parametrize("magic", ["a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "a1b2cd34", "34cdb2a1", "0a0d0d0a"])
def test_each_command_knows_a_capture_of_each_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], magic: str
) -> None:
    """Nanoseconds, the modified format, both byte orders: what reads no captures names the command that does."""
    path = tmp_path / "some.pcap"
    path.write_bytes(bytes.fromhex(magic) + bytes(60))
    for command in (("inspect", path, "--out", tmp_path / "page.html"), ("qlog", "export", path, "--out", "x.qlog")):
        assert cli.invoke([str(part) for part in command]) == 2
        assert "got a packet capture, which `quiclab pacing analyse` reads" in capsys.readouterr().err
    (tmp_path / "some.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert analysed(path)["format"] + ", gzip" == analysed(tmp_path / "some.gz")["format"]
