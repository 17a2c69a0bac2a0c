"""Measures how much of a link each stack fills in real time, and what it costs: experiment U of the pacing study.

    python tools/measure_utilisation.py OUT.csv [--runs 3] [--seconds 5] [--only STACK,...] [--links 10,100,1000]

Server and client sit on one veth pair in two network namespaces; nothing of quiclab is between them. The kernel's tbf
at the server's end limits it (bucket of 1600 B, 200 ms); the link `unlimited` has none. Frames are counted by the veth:
it gets them as they would be on a wire (`gso_max_segs 1`: what a stack hands over in one piece is cut up before), with
Ethernet header and without checksum. The stacks are the programs of the kernel lane with windows that do not limit;
TCP's congestion control is set explicitly. Requires root and iproute2.

Each row is a run. `utilisation` is bytes of the server's frames over the time between the first and the last that was
seen, over the link's rate; without a rate it is empty. CPU seconds are those of the processes (user and system, without
what interrupts do), per gigabit of frames. `limit` is what a run was held back by: see `limit_of`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from quiclab._base.progress import CountProgress
from quiclab.errors import RequestError
from quiclab.lane.adapter import Adapter, load_adapters

#: Name of the device at both ends: that of the hosts of the kernel lane, which programs know.
DEVICE = "quiclab0"
SERVER, CLIENT = "10.1.1.1", "10.1.1.2"
BURST, LATENCY = "1600b", "200ms"
#: Look at the counters every so often [s]; the time between the first and the last frame is known so well.
LOOK_S = 0.02
#: Maximum time for a server to start, and for a client to end after its duration [s].
READY_S, AFTER_S = 20.0, 10.0
#: From these shares on a link counts as full, and a process as busy all the time.
FULL, BUSY = 0.95, 0.85
WINDOWS = {"stream_receive_window": "16 MiB", "connection_receive_window": "32 MiB"}
#: quinn closes a connection that has more than 1024 gaps in a stream (quinn-proto 0.11.19, assembler.rs): what slow
#: start loses must fit.
QUINN_WINDOWS = {"stream_receive_window": "4 MiB", "connection_receive_window": "8 MiB"}
BUFFERS = {"tcp": {"max_receive_buffer": "32 MiB"}}
COLUMNS = (
    *("stack", "version", "rate_mbps", "run", "seconds", "frames", "frame_bytes_mean", "sent_mbps", "utilisation"),
    *("server_cpu_share", "client_cpu_share", "server_cpu_s_per_gbit", "client_cpu_s_per_gbit"),
    *("window_limited_share", "machine_busy_share", "load", "limit", "problem"),
)


@dataclass(frozen=True)
class Stack:
    """A program with options."""

    name: str
    program: str
    sender: Mapping[str, Any]
    receiver: Mapping[str, Any]
    paced_to_rate: bool = False

    def flow(self, rate_mbps: int | None, adapter: Adapter, seconds: float) -> dict[str, Any]:
        """Return the flow as adapters take it: a download for a time, or of what fits into it."""
        sender = dict(self.sender)
        if self.paced_to_rate and rate_mbps is not None:
            sender["pacing"] = {"kind": "linux", "max_rate": f"{rate_mbps} Mbit/s"}
        workload: dict[str, Any] = {"kind": "download", "request": "16 B"}
        if "download.duration" in adapter.file.workloads:
            workload["duration"] = f"{seconds} s"
        else:
            # without a duration, the size that fits into it; a program without a rate limit is stopped
            workload["size"] = f"{int((rate_mbps or 20_000) * 125_000 * seconds)} B"
        return {"sender": sender, "receiver": dict(self.receiver), "workload": workload}


def stacks() -> tuple[Stack, ...]:
    """Return what is measured."""
    buffer = {"tcp": {"max_send_buffer": "16 MiB"}}
    return (
        Stack("tcp_cubic", "linux", {"congestion_control": "cubic", **buffer}, BUFFERS),
        Stack(
            "tcp_so_max_pacing_rate", "linux", {"congestion_control": "cubic", **buffer}, BUFFERS, paced_to_rate=True
        ),
        Stack("tcp_bbr", "linux", {"congestion_control": "bbr-linux", **buffer}, BUFFERS),
        Stack("quic-go", "quic-go", {"congestion_control": "newreno"}, WINDOWS),
        Stack("quinn", "quinn", {"congestion_control": "cubic"}, QUINN_WINDOWS),
        Stack("ngtcp2", "ngtcp2", {"congestion_control": "cubic"}, WINDOWS),
        Stack("aioquic", "aioquic", {"congestion_control": "newreno"}, WINDOWS),
        Stack("aioquic-0.9", "aioquic-0.9", {"congestion_control": "newreno"}, WINDOWS),
    )


@dataclass(frozen=True)
class Ends:
    """The namespaces of both ends, and a process that is in the server's as long as it is there."""

    server: str
    client: str
    witness: int


@contextmanager
def hosts() -> Iterator[Ends]:
    """Two namespaces with a veth pair between them."""
    names = tuple(f"qlutil{os.getpid()}{end}" for end in "sc")
    server, client = names
    try:
        for name in names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run(*f"ip link add {DEVICE} netns {server} type veth peer name {DEVICE} netns {client}".split())
        for name, address in ((server, SERVER), (client, CLIENT)):
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
            run("ip", "-n", name, "link", "set", "dev", DEVICE, "gso_max_segs", "1", "up")
        # counters and sockets of a namespace are read by the /proc of a process in it; programs end when they are done
        witness = subprocess.Popen(["ip", "netns", "exec", server, "sleep", "infinity"])  # noqa: S607
        try:
            until("the witness", lambda: sent(witness.pid) is not None)
            yield Ends(server, client, witness.pid)
        finally:
            witness.kill()
            witness.wait()
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)  # noqa: S607


def limit_link(server: str, rate_mbps: int | None) -> None:
    """Give the link a rate."""
    before = ["ip", "netns", "exec", server, "tc", "qdisc"]
    subprocess.run([*before, "del", "dev", DEVICE, "root"], capture_output=True, check=False)
    if rate_mbps is not None:
        shape = f"tbf rate {rate_mbps}mbit burst {BURST} latency {LATENCY}".split()
        run(*before, "replace", "dev", DEVICE, "root", *shape)


def run(*command: str) -> None:
    """Run a program of iproute2."""
    subprocess.run(command, check=True, capture_output=True, text=True)


@contextmanager
def started(host: str, program: Mapping[str, Any], directory: Path, end: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start an end in its namespace; it is gone afterwards."""
    late = {"{server_address}": SERVER, "{client_address}": CLIENT, "{directory}": str(directory)}

    def filled(word: str) -> str:
        for name, value in late.items():
            word = word.replace(name, value)
        return word

    command = ["ip", "netns", "exec", host, *map(filled, program["command"])]
    variables = {**os.environ, **{name: filled(word) for name, word in program["environment"].items()}}
    with (directory / f"{end}.err").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=variables, start_new_session=True)
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def ended(process: subprocess.Popen[bytes], longest_s: float) -> float | None:
    """Wait for the end of a process; returns its CPU seconds, or None if it is still there."""
    until = time.monotonic() + longest_s
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if time.monotonic() >= until:
            return None
        time.sleep(LOOK_S)


def sent(pid: int) -> tuple[int, int] | None:
    """Return bytes and frames that the device of a process' network has sent; None if there is no such device."""
    for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == DEVICE:
            fields = counters.split()
            return int(fields[8]), int(fields[9])
    return None


def busy_and_all() -> tuple[int, int]:
    """Return the ticks in which CPUs of this machine did something, and all."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def bound(pid: int, protocol: str, port: int) -> bool:
    """Whether a socket has a port in the network of a process."""
    rows = Path(f"/proc/{pid}/net/{protocol}").read_text().splitlines()[1:]
    return any(int(row.split()[1].rpartition(":")[2], 16) == port for row in rows)


def until(what: str, holds: Callable[[], bool]) -> None:
    """Look until something is the case."""
    end = time.monotonic() + READY_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {READY_S:g} s: {what}")
        time.sleep(LOOK_S)


def measure(stack: Stack, adapter: Adapter, ends: Ends, rate_mbps: int | None, seconds: float) -> dict[str, Any]:
    """Run a download and return its row."""
    limit_link(ends.server, rate_mbps)
    programs = adapter.commands(stack.flow(rate_mbps, adapter, seconds), {"flow": "main", "seed": "1"})
    ready = programs["server"]["ready"]
    with tempfile.TemporaryDirectory(prefix="quiclab-utilisation-") as scratch:
        directory = Path(scratch)
        with started(ends.server, programs["server"], directory, "server") as server:
            until("the server's port", lambda: bound(ends.witness, ready["protocol"], ready["port"]))
            load, ticks = os.getloadavg()[0], busy_and_all()
            with started(ends.client, programs["client"], directory, "client") as client:
                seen = watch(client, ends.witness, seconds)
                busy = [later - earlier for earlier, later in zip(ticks, busy_and_all(), strict=True)]
                os.kill(client.pid, signal.SIGTERM) if client.returncode is None else None
                client_cpu_s = seen.client_cpu_s or ended(client, AFTER_S)
            os.kill(server.pid, signal.SIGTERM)
            server_cpu_s = ended(server, AFTER_S)
        windows = window_limited_s(directory)
        problem = "" if client.returncode in (0, -signal.SIGTERM) else last_words(directory / "client.err")
    took_s, (size, frames) = seen.seconds, seen.sent
    sent_mbps = 8e-6 * size / took_s
    row: dict[str, Any] = {
        "stack": stack.name,
        "version": adapter.version() or "",
        "rate_mbps": rate_mbps or "unlimited",
        "seconds": round(took_s, 2),
        "frames": frames,
        "frame_bytes_mean": round(size / max(frames, 1), 1),
        "sent_mbps": round(sent_mbps, 2),
        "utilisation": round(sent_mbps / rate_mbps, 4) if rate_mbps else "",
        "window_limited_share": "" if windows is None else round(windows / took_s, 3),
        "machine_busy_share": round(busy[0] / max(busy[1], 1), 3),
        "load": round(load, 2),
        "problem": problem,
    }
    for end, cpu_s in (("server", server_cpu_s), ("client", client_cpu_s)):
        row[f"{end}_cpu_share"] = "" if cpu_s is None else round(cpu_s / took_s, 3)
        row[f"{end}_cpu_s_per_gbit"] = "" if cpu_s is None or not size else round(cpu_s / (8e-9 * size), 3)
    return {**row, "limit": limit_of(row)}


@dataclass
class Seen:
    """Values of the counters."""

    seconds: float
    sent: tuple[int, int]
    client_cpu_s: float | None


def watch(client: subprocess.Popen[bytes], witness: int, seconds: float) -> Seen:
    """Look at the server's counters until the client has ended, or its time is over."""
    start = first = last = time.monotonic()
    before = counted = sent(witness) or (0, 0)
    cpu_s = None
    while cpu_s is None and time.monotonic() < start + seconds + AFTER_S / 5:
        cpu_s = ended(client, LOOK_S)
        now, found = time.monotonic(), sent(witness) or counted
        if found != counted:
            first = now if counted == before else first
            last, counted = now, found
    return Seen(max(last - first, LOOK_S), (counted[0] - before[0], counted[1] - before[1]), cpu_s)


def window_limited_s(directory: Path) -> float | None:
    """Return how long a receive window held the sender back, if the sender reports it (TCP)."""
    try:
        told = json.loads((directory / "main.server.json").read_text())["statistics"]
    except (OSError, ValueError, KeyError):
        return None
    return None if "window_limited_ms" not in told else float(told["window_limited_ms"]) / 1e3


def last_words(file: Path) -> str:
    """Return the last line that a program has printed."""
    lines = file.read_text(errors="replace").split("\n")
    return next((line.strip()[:120] for line in reversed(lines) if line.strip()), "it said nothing")


def limit_of(row: Mapping[str, Any]) -> str:
    """Name what held a run back: the first that holds of a full link, busy processes, a busy machine, the window.

    What is left is the sender: its pacer or its congestion control, which cannot be told apart from outside.
    """
    if row["problem"]:
        return "failed"
    if row["utilisation"] != "" and row["utilisation"] >= FULL:
        return "link"
    for end in ("server", "client"):
        if row[f"{end}_cpu_share"] != "" and row[f"{end}_cpu_share"] >= BUSY:
            return f"CPU of {end}"
    if row["machine_busy_share"] >= FULL:
        return "CPU of the machine, which does other things, too"
    if row["window_limited_share"] not in ("", 0) and row["window_limited_share"] >= 0.5:
        return "window"
    return "pacer or congestion control"


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", help="stacks, joined by commas")
    parser.add_argument("--links", default="10,100,1000,unlimited", help="rates in Mbit/s, or `unlimited`")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("measure_utilisation: needs root: network namespaces")
    rates = [None if word == "unlimited" else int(word) for word in options.links.split(",")]
    chosen = [stack for stack in stacks() if options.only is None or stack.name in options.only.split(",")]
    adapters = load_adapters()
    for stack in list(chosen):
        if missing := adapters[stack.program].missing():
            print(f"left out: {stack.name}: {missing[0]}", file=sys.stderr)
            chosen.remove(stack)
    plan = [(rate, stack, number) for rate in rates for stack in chosen for number in range(options.runs)]
    with (
        hosts() as ends,
        options.out.open("w", newline="") as out,
        CountProgress("utilisation", len(plan)) as progress,
    ):
        measure_all(plan, adapters, ends, options.seconds, out, progress)
    return 0


def measure_all(
    plan: list[tuple[int | None, Stack, int]],
    adapters: Mapping[str, Adapter],
    ends: Ends,
    seconds: float,
    out: TextIO,
    progress: CountProgress,
) -> None:
    """Execute the runs of a plan; each row is written as soon as it is available."""
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    for rate, stack, number in plan:
        if rate is not None or not stack.paced_to_rate:
            try:
                row = measure(stack, adapters[stack.program], ends, rate, seconds)
                table.writerow({**row, "run": number})
                out.flush()
                progress.line(
                    f"{stack.name}, {row['rate_mbps']} Mbit/s: {row['sent_mbps']} Mbit/s, limit: {row['limit']}"
                )
            except (TimeoutError, RequestError, OSError) as error:
                progress.line(f"failed: {stack.name}, {rate} Mbit/s: {error}")
        progress.advance()


if __name__ == "__main__":
    sys.exit(main())
