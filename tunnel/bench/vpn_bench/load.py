"""Latency beside a download over shaped lines, in guests with a virtual clock.

A guest has its own kernel, with token bucket and netem, and the same programs as the machine. Computations take no time
on its clock, so the figures are those of queues and congestion controls, and repeat exactly whatever else the machine
does. Each case is a guest of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vpn_bench.network import Shape
from vpn_bench.parsing import percentile, round_trips, sent_and_received, transfer
from vpn_bench.speed import null, tell

#: Rates of the lines [Mbit/s], their drop-tail buffers [ms], and round trip times of empty lines [ms].
RATES_MBPS, BUFFER_MS, RTTS_MS = (50, 20), 100, (1.0, 40.0)
#: Interval of the pings [ms], their number on idle lines, and when those under load begin after the download [s].
PING_INTERVAL_MS, IDLE_PINGS, SETTLING_S = 100, 20, 5
#: Queue of the tunnel with a limit only, as that of a network interface.
DROP_TAIL = '{ kind = "drop_tail", packets = 1000 }'
SEED = 1
TIMEOUT_S = 300.0
FILE, IDLE_FILE, LOADED_FILE, DOWNLOAD_FILE = "case.json", "idle.txt", "loaded.txt", "download.json"
KEYS = (
    "goodput_mbps",
    "idle_ms",
    "loaded_median_ms",
    "loaded_p95_ms",
    "added_median_ms",
    "pings_lost",
)
GUEST = Path(__file__).with_name("guest.py")


@dataclass(frozen=True)
class Case:
    """A guest.

    Parameters
    ----------
    vpn
        Name of the VPN in the table of `vpn_bench.catalogue`; `none` for none.
    rtt_ms
        Round trip time of the empty lines.
    paths
        How many of the lines there are.
    seconds
        Length of the download.
    """

    vpn: str
    rtt_ms: float
    paths: int
    seconds: int

    @property
    def shapes(self) -> list[Shape]:
        """The lines."""
        return [Shape(rate, BUFFER_MS, self.rtt_ms) for rate in RATES_MBPS[: self.paths]]

    @property
    def key(self) -> str:
        """Name of its directory."""
        return f"{self.vpn}-{self.paths}-{self.rtt_ms:g}"


def measure(cases: Sequence[Case], program: Path, vpn_programs: Path, jobs: int, directory: Path) -> dict[str, Any]:
    """Run all cases; what fails is null with the reason."""
    try:
        from quiclab.errors import QuiclabError  # noqa: PLC0415 (the rest works without quiclab)
        from quiclab.lane.kernel import newest_kernel  # noqa: PLC0415

        try:
            kernel = newest_kernel()
        except QuiclabError as error:
            return null("results", error.message)
    except ImportError as error:
        return null("results", f"quiclab is not installed ({error}); run with .venv/bin/python after `make setup`")

    def one(case: Case) -> dict[str, Any]:
        found = boot(kernel, case, program, vpn_programs, directory / case.key)
        tell(f"{case.key}: {found.get('loaded_median_ms')} ms under load")
        return found

    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(one, cases))
    return {
        "kernel": kernel.version,
        "seed": SEED,
        "seconds": max((case.seconds for case in cases), default=0),
        "settling_s": SETTLING_S,
        "ping_interval_ms": PING_INTERVAL_MS,
        "rates_mbps": list(RATES_MBPS),
        "buffer_ms": BUFFER_MS,
        "drop_tail_queue": DROP_TAIL,
        "results": results,
    }


def boot(kernel: Any, case: Case, program: Path, vpn_programs: Path, directory: Path) -> dict[str, Any]:
    """Run one guest and read what it has written."""
    from quiclab.errors import QuiclabError  # noqa: PLC0415
    from quiclab.lane.kernel import boot as start  # noqa: PLC0415

    directory.mkdir(parents=True)
    task = {**asdict(case), "program": str(program), "vpn_programs": str(vpn_programs)}
    (directory / FILE).write_text(json.dumps(task))
    head = {"vpn": case.vpn, "rtt_ms": case.rtt_ms, "paths": case.paths}
    try:
        ended = start(kernel, [sys.executable, "-B", str(GUEST)], directory, SEED, TIMEOUT_S, memory="1G")
    except QuiclabError as error:
        return head | nulls(error.message)
    why = (directory / "why.txt").read_text() if (directory / "why.txt").exists() else ""
    if why or ended.code != 0:
        return head | nulls(
            why or f"the guest's command ended with exit code {ended.code}: {' '.join(ended.lines[-1:])}"
        )
    try:
        return head | figures(*((directory / name).read_text() for name in (IDLE_FILE, LOADED_FILE, DOWNLOAD_FILE)))
    except ValueError as error:
        return head | nulls(str(error))


def figures(idle: str, loaded: str, download: str) -> dict[str, Any]:
    """Return the figures of one case, from the output of both pings and of iperf3.

    Raises
    ------
    ValueError
        If there is no answer in one of them.
    """
    quiet, trips = round_trips(idle), round_trips(loaded)
    if not quiet or not trips:
        raise ValueError(f"no answer to a ping {'beside the download' if quiet else 'on idle lines'}")
    sent, received = sent_and_received(loaded)
    at_rest, middle = percentile(quiet, 50), percentile(trips, 50)
    return {
        "goodput_mbps": round(transfer(download).mbps, 1),
        "idle_ms": round(at_rest, 2),
        "loaded_median_ms": round(middle, 1),
        "loaded_p95_ms": round(percentile(trips, 95), 1),
        "added_median_ms": round(middle - at_rest, 1),
        "pings_lost": sent - received,
    }


def nulls(why: str) -> dict[str, Any]:
    """Return all keys without values, and the reason."""
    return {name: value for key in KEYS for name, value in null(key, why).items()}
