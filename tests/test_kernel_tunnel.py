"""A tunnel over two lines with the program itself, Linux TCP and the kernel's queues, and the sim lane's model of it.

Both have a virtual clock, so that neither depends on the machine. Compared is the second half of a download: how long
TCP takes to fill both lines is a matter of chance, in Linux as in the model.
"""

from __future__ import annotations

import json
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

import quiclab
from conftest import ROOT
from quiclab.lane.kernel import newest_kernel
from quiclab.lane.kernel.virtual import GUEST_DIRECTORY, boot
from two_lines import BOTH_MBPS, BUFFER_S, goodput_mbps, model

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.guest, pytest.mark.slow, pytest.mark.usefixtures("virtual_kernel")]
SCRIPT = ROOT / "tests" / "data" / "two_lines.sh"
SECONDS = 30
#: TCP on top takes some seconds to fill both lines again after a loss.
ADDED_UP_MBPS = 0.97 * BOTH_MBPS
#: Between the program and its model.
WITHIN = 0.1
RTTS_MS = ((1, 1), (20, 20), (40, 40), (10, 60))


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


@pytest.mark.parametrize("rtts_ms", RTTS_MS, ids=lambda rtts: f"{rtts[0]}_and_{rtts[1]}_ms")
def test_two_lines_add_up(rtts_ms: tuple[int, int], tmp_path: Path) -> None:
    first, goodput, ping_ms = of_the_program(tmp_path, rtts_ms)
    modelled = goodput_mbps(quiclab.run(model(rtts_ms, SECONDS), seed=1), SECONDS / 2, SECONDS)
    print(f"{rtts_ms}: {first:.1f}, then {goodput:.1f} Mbit/s, model {modelled:.1f}, ping {ping_ms:.1f} ms")
    if rtts_ms[0] == rtts_ms[1]:  # otherwise the window of TCP needs seconds for the delay of the slower line
        assert first >= (1 - WITHIN) * ADDED_UP_MBPS
    assert ADDED_UP_MBPS <= goodput <= BOTH_MBPS
    assert modelled == pytest.approx(goodput, rel=WITHIN)
    # what waits in the lines delays the ping, and no more
    assert ping_ms <= min(rtts_ms) + 1e3 * BUFFER_S
