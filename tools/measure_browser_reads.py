"""Measures browser_reads.csv: when Chromium reads QUIC's packets while it prepares the requests of a page.

    PATH=.venv/bin:$PATH python tools/measure_browser_reads.py WORK_DIRECTORY [--loads 10] [--write]

Needs what `quiclab browse` needs, and root. A hundred images of 10 kB over HTTP/3 at 100 Mbit/s, in real time: run
nothing else beside. A wrapper of the browser writes its NetLog, which has the packets read and the tasks of requests in
order, and the kernel's time of arrival of each packet. NetLog itself takes time for each packet. Columns, over all
loads but the first:

- `turns`: how often the process turned from requests to reading between the first image asked for and the last, the
  median of the loads;
- `late_p10_ms`, `late_p50_ms`, `late_p90_ms`: from the arrival of a packet to its reading, of those that arrive in this
  time; `late_after_p50_ms`: of those that arrive later;
- `late_percent`: of the former, how many are read later than the increase of the RTT that ends Hybrid Slow Start.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from measure_browser import finish, scenario
from quiclab._base.progress import RunProgress
from quiclab.errors import QuiclabError
from quiclab.lane.browser.runner import load_pages

RATE_MBPS, COUNT, SIZE_KB = 100, 100, 10
RTTS_MS = (36, 112)
PORT = 443
WRAPPER = """#!/bin/sh
{python} {tool} --sniff "{folder}/arrivals.$$" $$ &
exec {chromium} "$@" --log-net-log="{folder}/net_log.$$" --net-log-capture-mode=Default
"""
READ = "QUIC_SESSION_PACKET_RECEIVED"
ASKED = "QUIC_CHROMIUM_CLIENT_STREAM_SEND_REQUEST_HEADERS"
REQUEST = (ASKED, "QUIC_SESSION_POOL_ATTACH_HTTP_STREAM_JOB_TO_EXISTING_SESSION")
"""Events of the two tasks of a request."""


def sniff(file: Path, browser: int) -> None:
    """Write the kernel's times of arrival of UDP's packets until the browser is gone: time [us], port, UDP length."""
    import socket  # noqa: PLC0415 - of the wrapper only
    import struct  # noqa: PLC0415
    import time  # noqa: PLC0415

    timestamps = 35  # SO_TIMESTAMPNS
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    packets.setsockopt(socket.SOL_SOCKET, timestamps, 1)
    packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    packets.settimeout(1)
    offset_ns = time.time_ns() - time.monotonic_ns()
    with file.open("w", buffering=1) as out:
        while Path(f"/proc/{browser}").exists():
            try:
                data, extra, _, _ = packets.recvmsg(64, 256)
            except TimeoutError:
                continue
            if data[0] >> 4 != 4 or data[9] != socket.IPPROTO_UDP:
                continue
            source, port, length = struct.unpack(">HHH", data[20:26])
            seconds, nanoseconds = struct.unpack("qq", extra[0][2])
            if source == PORT:
                out.write(f"{(seconds * 10**9 + nanoseconds - offset_ns) // 1000} {port} {length - 8}\n")


def sessions(file: Path) -> list[list[tuple[float, str, dict[str, Any]]]]:
    """Return the events of each QUIC session of a NetLog: time [ms], name, parameters."""
    text = file.read_text()
    try:
        log = json.loads(text)
    except json.JSONDecodeError:  # the browser was ended while it wrote
        log = json.loads(text.rstrip().rstrip(",") + "]}")
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    kind = log["constants"]["logSourceType"]["QUIC_SESSION"]
    found: dict[int, list[tuple[float, str, dict[str, Any]]]] = {}
    for event in log["events"]:
        if event["source"]["type"] == kind:
            entry = (float(event["time"]), names[event["type"]], event.get("params", {}))
            found.setdefault(event["source"]["id"], []).append(entry)
    return list(found.values())


def lateness(events: list[tuple[float, str, dict[str, Any]]], arrivals: list[list[int]]) -> dict[str, Any]:
    """Return how late the packets of a load were read, in ms, and how often the process turned to reading."""
    reads = [(time, params) for time, name, params in events if name == READ]
    port = int(reads[0][1]["self_address"].rsplit(":")[-1])
    came = [(time_us / 1e3, size) for time_us, at, size in arrivals if at == port]
    asked = [time for time, name, _ in events if name == ASKED][1:]  # the first is the HTML's
    late: dict[str, list[float]] = {"during": [], "after": []}
    for (arrival, size), (time, params) in zip(came, reads, strict=False):
        if size != params["size"]:
            raise QuiclabError("the packets of NetLog are not those that arrived")
        if arrival >= asked[0]:
            late["during" if arrival <= asked[-1] else "after"].append(time - arrival)
    kinds = [name == READ for time, name, _ in events if name in (READ, *REQUEST) and asked[0] <= time <= asked[-1]]
    return {**late, "turns": sum(after and not before for before, after in pairwise(kinds))}


def measure(rtt_ms: int, loads: int, folder: Path) -> dict[str, Any]:
    """Return the row of a round trip time."""
    folder.mkdir(parents=True, exist_ok=True)
    chromium = os.environ["PATH"]
    wrapper = folder / "chromium"
    found = next(Path(place) / "chromium" for place in chromium.split(":") if (Path(place) / "chromium").exists())
    wrapper.write_text(WRAPPER.format(python=sys.executable, tool=Path(__file__), folder=folder, chromium=found))
    wrapper.chmod(0o755)
    links = {f"links.{name}.delay": f"{rtt_ms / 2:g} ms" for name in ("down", "up")}
    queue_bytes = 2 * RATE_MBPS * 1_000_000 * rtt_ms // 8000
    queues = {f"links.{name}.queue": {"kind": "drop_tail", "bytes": f"{queue_bytes} B"} for name in ("down", "up")}
    page = {"objects": [{"count": COUNT, "size": f"{SIZE_KB} kB"}], "html": "3 kB"}
    workload = {f"flows.page.workload.{name}": value for name, value in page.items()}
    os.environ["PATH"] = f"{folder}:{chromium}"
    try:
        changed = scenario(0, RATE_MBPS, SIZE_KB).with_values({**links, **queues, **workload})
        with RunProgress(f"{rtt_ms} ms") as progress:
            load_pages(changed, loads, protocols=("h3",), progress=progress)
    finally:
        os.environ["PATH"] = chromium
    (net_log,) = folder.glob("net_log.*")
    lines = folder.joinpath(net_log.name.replace("net_log", "arrivals")).read_text().splitlines()
    arrivals = [[int(value) for value in line.split()] for line in lines]
    each = [lateness(events, arrivals) for events in sessions(net_log)[1:]]
    during = sorted(time for load in each for time in load["during"])
    tenths = quantiles(during, n=10)
    threshold_ms = min(max(rtt_ms / 8, 4), 16)
    return {
        "rtt_ms": rtt_ms,
        "object_count": COUNT,
        "loads": len(each),
        "packets": len(during),
        "turns": median(load["turns"] for load in each),
        "late_p10_ms": round(max(0, tenths[0]), 1),
        "late_p50_ms": round(median(during), 1),
        "late_p90_ms": round(tenths[-1], 1),
        "late_after_p50_ms": round(median(time for load in each for time in load["after"]), 1),
        "late_percent": round(100 * sum(time > threshold_ms for time in during) / len(during)),
    }


def main() -> int:
    """Measure both round trip times."""
    if sys.argv[1:2] == ["--sniff"]:
        sniff(Path(sys.argv[2]), int(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--loads", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [measure(rtt_ms, options.loads, options.directory.resolve() / str(rtt_ms)) for rtt_ms in RTTS_MS]
    return finish(rows, "browser_reads.csv", write=options.write)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except QuiclabError as error:
        sys.exit(f"{Path(__file__).name}: {error}")
