"""Numbers of the analyser: on captures of which every number is known, and in bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, tool
from quiclab._base.native import extension

header_capture = tool("header_capture")
MEMORY_MIB = 200


def analysed(path: Path, **settings: object) -> Any:
    """Analyse the largest flow of a capture."""
    text = extension().analyse_packets(str(path), json.dumps(settings), [], 8)
    capture = json.loads(text)
    assert capture["problems"] == {}
    (flow,) = capture["flows"]
    return flow


def test_every_number_of_a_known_capture_is_exact(tmp_path: Path) -> None:
    """3000 packets: 1000 pairs, each acknowledged; tools/header_capture.py says how."""
    capture = tmp_path / "known.pcap"
    assert header_capture.write(capture, 3000) == 3000
    flow = analysed(capture, bottleneck_mbps=100, link_mbps=1000, clocked_ms=0.001)
    data, acks = flow["data"], flow["acks"]
    assert flow["sender"] == "10.0.0.1:443"
    assert flow["receiver"] == "10.0.0.2:40000"
    assert (data["packets"], data["frame_median_bytes"], data["payload_bytes"]) == (2000, 1514, 2000 * 1448)
    intervals = data["intervals"]
    assert intervals["count"] == 1999
    assert intervals["least_ms"] == 0.0012
    assert intervals["largest_ms"] == pytest.approx(0.24104, abs=1e-12)
    # 1000 within pairs, 999 between
    assert intervals["mean_ms"] == pytest.approx((1000 * 0.0012 + 999 * 0.24104) / 1999, rel=1e-12)
    assert [intervals["quantiles_ms"][part] for part in ("0.25", "0.5", "0.75")] == [0.0012, 0.0012, 0.24104]
    assert data["bursts"]["sizes"] == {"2": 1000}
    assert data["bursts"]["between"]["least_ms"] == data["bursts"]["between"]["largest_ms"] == 0.24224
    assert [(peak["centre_ms"], peak["share"]) for peak in data["clusters"]["found"]] == [
        (0.0012, 1000 / 1999),
        (0.24104, 999 / 1999),
    ]
    # 1999 frames after the first, in 999 periods and 1.2 us
    rate_mbps = 1999 * 1514 * 8 / (999 * 242.24 + 1.2)
    assert data["rate_mbps"] == pytest.approx(rate_mbps, rel=1e-12)
    assert data["utilisation"] == pytest.approx(rate_mbps / 1000, rel=1e-12)
    assert acks["packets"] == {"2": 1000}
    assert (acks["packets_mode"], acks["duplicate_share"]) == (2, 0)
    assert acks["intervals"]["least_ms"] == acks["intervals"]["largest_ms"] == 0.24224
    # 999 bursts come after an ACK, each 0.12 us after it; a microsecond of 242.24 is close
    assert acks["clocking"]["share"] == 1
    assert acks["clocking"]["by_chance"] == pytest.approx(1 / 242.24, rel=1e-9)


def test_truncation_leaves_the_remaining_events_unchanged(tmp_path: Path) -> None:
    """A tenth of a second is cut off: 412 pairs of 242.24 us and the ACK of the 412th are before it."""
    capture = tmp_path / "known.pcap"
    header_capture.write(capture, 3000)
    flow = analysed(capture, skip_s=0.1)
    assert flow["data"]["packets"] == 2 * (1000 - 413)
    assert flow["acks"]["packets"] == {"2": 1000 - 412}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the memory that a process had")
def test_memory_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    """The analyser's peak is the same for a capture and for one five times as long; `make pacing-memory`: 500 MB."""
    peaks = []
    megabytes = int(os.environ.get("QUICLAB_CAPTURE_MB", "20"))
    for factor in (1, 5):
        capture = tmp_path / f"{factor}.pcap"
        # 16 bytes of record and 66 of headers each
        header_capture.write(capture, factor * megabytes * 1_000_000 // 5 // 82)
        peaks.append(peak_mib(capture))
    assert peaks[1] < peaks[0] + 4
    assert peaks[1] < MEMORY_MIB


def peak_mib(capture: Path) -> float:
    """Return the most memory of a process that analyses a capture and does nothing else."""
    program = (
        "import sys; from pathlib import Path; from quiclab._base.native import extension; "
        "extension().analyse_packets(sys.argv[1], '{}', [], 8); "
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(capture)], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return float(done.stdout) / 1024
