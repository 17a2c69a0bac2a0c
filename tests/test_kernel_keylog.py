"""TLS secrets of programs in the captures of their runs."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from quiclab.experiment.recording import run_and_keep
from quiclab.lane.job import make_job
from quiclab.lane.keylog import embed
from quiclab.lane.run import Lane
from quiclab.result import RunResult
from quiclab.scenario import load

LANES = ROOT / "scenarios" / "lanes.toml"
SENDER = ("flows.main.sender", '{ congestion_control = "newreno" }')
DOWNLOAD = ("flows.main.workload", '{ kind = "download", size = "100 kB" }')
#: A tap in front of the bottleneck.
TAP = [("taps.at_sender", "{}"), ("flows.main.down", '["at_sender", "bottleneck", "far"]')]


def block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


#: Byte order mark, version 1.0, section of unknown length; link type RAW, no snap length; a packet of any content.
SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
INTERFACE = block(1, struct.pack("<HHI", 101, 0, 0))
PACKET = block(6, bytes(20) + b"abcd")


def captures(directory: Path, keys: bytes | None, content: bytes) -> list[Path]:
    if keys is not None:
        (directory / "main.keys").write_bytes(keys)
    files = [directory / f"main.{end}.pcapng" for end in ("sender", "receiver")]
    for file in files:
        file.write_bytes(content)
    return files


def test_secrets_stand_before_the_packets_of_both_captures(tmp_path: Path) -> None:
    files = captures(tmp_path, b"CLIENT_RANDOM 01 02\n\nQUIC_A 3 4", SECTION + INTERFACE + PACKET * 2)
    assert embed(tmp_path, "main")
    # 26 B of lines: no empty one, no prefix, each with its end; then 2 B to a multiple of four
    lines = b"CLIENT_RANDOM 01 02\nA 3 4\n"
    secrets = block(10, struct.pack("<II", 0x544C534B, 26) + lines + bytes(2))
    for file in files:
        assert file.read_bytes() == SECTION + INTERFACE + secrets + PACKET * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "main.keys",
        "main.receiver.pcapng",
        "main.sender.pcapng",
    ]


@pytest.mark.parametrize("keys", [None, b"", b"\n \n"])
def test_without_secrets_captures_stay_as_they_are(tmp_path: Path, keys: bytes | None) -> None:
    files = captures(tmp_path, keys, SECTION + INTERFACE + PACKET)
    assert not embed(tmp_path, "main")
    assert [file.read_bytes() for file in files] == [SECTION + INTERFACE + PACKET] * 2


def test_a_capture_without_packets_gets_them_at_its_end(tmp_path: Path) -> None:
    files = captures(tmp_path, b"A 1 2\n", SECTION + INTERFACE)
    assert embed(tmp_path, "main")
    assert files[0].read_bytes().startswith(SECTION + INTERFACE + struct.pack("<I", 10))


def test_clients_get_a_key_log_path_with_captures() -> None:
    lane = Lane()
    for record, wanted in (("{ pcapng = true }", "{directory}/main.keys"), ("{}", None)):
        chosen = load(LANES, [("flows.main.stack", "aioquic"), ("record", record), SENDER], lane.stacks())
        ends = make_job(chosen, 1, lane, lane.programs())["flows"]["main"]
        assert ends["client"]["environment"].get("SSLKEYLOGFILE") == wanted
        assert "SSLKEYLOGFILE" not in ends["server"]["environment"]


def kept(result: RunResult, directory: Path) -> Mapping[str, Any]:
    """Return what is there: names of files, packets at the tap, and what tshark reads of the client's capture."""
    names = sorted(path.name for path in directory.iterdir() if path.suffix in (".pcapng", ".keys"))
    read = ["tshark", "-r", str(directory / "main.receiver.pcapng"), "-Y", "quic.stream.stream_id", "-T", "fields"]
    streams = None
    if shutil.which("tshark") is not None:
        done = subprocess.run([*read, "-e", "quic.stream.length"], capture_output=True, text=True, check=True)
        streams = len(done.stdout.splitlines())
    return {"names": names, "tap": result.taps["at_sender"].height, "streams": streams}


@pytest.mark.guest
@pytest.mark.parametrize("stack", ["linux", "aioquic"])
def test_a_study_stores_data_from_recordings(stack: str, virtual: Lane) -> None:
    sets = [("flows.main.stack", stack), SENDER, DOWNLOAD, ("record", "{ pcapng = true }"), *TAP]
    result = run_and_keep(load(LANES, sets, virtual.stacks()), 1, ROOT, kept, virtual)
    found = result.data["kept"]
    captured = ["main.receiver.pcapng", "main.sender.pcapng"]
    assert found["names"] == (["main.keys", *captured] if stack == "aioquic" else captured)
    # 100 kB in datagrams of 1200 B or segments of 1448 B
    assert found["tap"] >= 100_000 // 1448
    if stack == "aioquic" and found["streams"] is not None:
        assert found["streams"] >= 100_000 // 1200, "nothing was decrypted"
