"""A tunnel over two lines with the program itself, Linux TCP and the kernel's queues, and the sim lane's model of it.

Both have a virtual clock, so that neither depends on the machine. Compared is the second half of a download: how long
TCP takes to fill both lines is a matter of chance, in Linux as in the model.
"""

from __future__ import annotations

import json
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl
import pytest

import quiclab
from conftest import ROOT
from quiclab.kernel import newest_kernel
from quiclab.kernel.virtual import GUEST_DIRECTORY, boot
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.guest, pytest.mark.slow, pytest.mark.usefixtures("virtual_kernel")]
SCRIPT = ROOT / "tests" / "data" / "two_lines.sh"
SECONDS = 30
#: A full packet on a line: 1400 bytes inside, of which 1348 are payload of TCP, and the headers of tunnel and QUIC, of
#: UDP and IP, and of Ethernet. Both lines carry 63.9 Mbit/s of payload.
PAYLOAD_BYTES, PACKET_BYTES = 1348, 1400 + 34 + 28 + 14
ADDED_UP_MBPS = 63.0
#: Between the program and its model.
WITHIN = 0.1
RTTS_MS = ((1, 1), (20, 20), (10, 60))
RATES_MBPS, BUFFER_S = (50, 20), 0.1


def program() -> Path:
    """Return the newest `quiclab-tunnel` that was built."""
    built = [ROOT / "target" / profile / "quiclab-tunnel" for profile in ("release", "quick", "debug")]
    found = [path for path in built if path.exists()]
    if not found:
        pytest.skip("quiclab-tunnel was not built: cargo build -p quiclab-tunnel")
    return max(found, key=lambda path: path.stat().st_mtime)


def of_the_program(folder: Path, rtts_ms: tuple[int, int]) -> tuple[float, float, float]:
    """Return goodput of both halves [Mbit/s], and mean round trip time of the ping [ms]."""
    script = folder / SCRIPT.name
    script.write_bytes(SCRIPT.read_bytes())
    command = ["/bin/bash", f"{GUEST_DIRECTORY}/{script.name}", str(program()), *map(str, rtts_ms), str(SECONDS)]
    ended = boot(newest_kernel(), command, folder, seed=1, timeout_s=600, memory="1G")
    report = folder / "download.json"
    assert report.exists(), ended.lines[-5:]
    rates = [interval["sum"]["bits_per_second"] for interval in json.loads(report.read_text())["intervals"]]
    middle = len(rates) // 2
    times = (folder / "ping.txt").read_text().splitlines()[-1].split("=")[-1].split("/")
    return fmean(rates[:middle]) / 1e6, fmean(rates[middle:]) / 1e6, float(times[1])


def model(rtts_ms: tuple[int, int]) -> Scenario:
    """Return the same lines and the same tunnel as a scenario."""
    links = {
        f"{direction}{number}": {
            "rate": {"kind": "token_bucket", "rate": f"{rate} Mbit/s", "burst": "10 kB"},
            "queue": {"kind": "drop_tail", "bytes": f"{rate * 1e6 * BUFFER_S / 8:g} B"},
            "delay": f"{rtt / 2:g} ms",
            "overhead_per_packet": "14 B",
        }
        for (number, (rate, rtt)), direction in product(
            enumerate(zip(RATES_MBPS, rtts_ms, strict=True), start=1), ("down", "up")
        )
    }
    tunnel = {
        "stack": "noq",
        "queue": {"kind": "fq_codel", "target": "20 ms", "interval": "200 ms"},
        "scheduler": "earliest_arrival",
        "resequencing": "200 ms",
        "repair": True,
        "paths": [{"down": [f"down{number}"], "up": [f"up{number}"]} for number in (1, 2)],
    }
    load = {
        "stack": "lab-tcp",
        "down": ["vpn"],
        "up": ["vpn"],
        "start": "1 s",
        "workload": {"kind": "download", "duration": f"{SECONDS} s"},
        "sender": {"congestion_control": "cubic", "tcp": {"mss": "1348 B"}},
        "receiver": {"tcp": {"mss": "1348 B"}},
    }
    return Scenario.from_dict(
        {
            "version": 1,
            "name": "two_lines",
            "duration": f"{SECONDS + 1} s",
            "until": "duration_over",
            "links": links,
            "tunnels": {"vpn": tunnel},
            "flows": {"load": load},
            "record": {"series_interval": "500 ms"},
        }
    )


def of_the_model(rtts_ms: tuple[int, int]) -> float:
    """Return the goodput of the second half [Mbit/s]."""
    series = quiclab.run(model(rtts_ms), seed=1).series
    delivered = series.filter(
        (pl.col("element").cast(pl.String) == "load.receiver")
        & (pl.col("metric").cast(pl.String) == "delivered_bytes")
        & (pl.col("time_s") >= 1 + SECONDS / 2)
    ).sort("time_s")
    times, values = delivered["time_s"], delivered["value"]
    return float((values[-1] - values[0]) * 8e-6 / (times[-1] - times[0]))


@pytest.mark.parametrize("rtts_ms", RTTS_MS, ids=lambda rtts: f"{rtts[0]}_and_{rtts[1]}_ms")
def test_two_lines_add_up(rtts_ms: tuple[int, int], tmp_path: Path) -> None:
    first, goodput, ping_ms = of_the_program(tmp_path, rtts_ms)
    modelled = of_the_model(rtts_ms)
    print(f"{rtts_ms}: {first:.1f}, then {goodput:.1f} Mbit/s, model {modelled:.1f}, ping {ping_ms:.1f} ms")
    if rtts_ms[0] == rtts_ms[1]:  # otherwise the window of TCP needs seconds for the delay of the slower line
        assert first >= (1 - WITHIN) * ADDED_UP_MBPS
    assert ADDED_UP_MBPS <= goodput <= sum(RATES_MBPS) * PAYLOAD_BYTES / PACKET_BYTES
    assert modelled == pytest.approx(goodput, rel=WITHIN)
    # what waits in the lines delays the ping, and no more
    assert ping_ms <= min(rtts_ms) + 1e3 * BUFFER_S
