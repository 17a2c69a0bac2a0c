"""Network namespaces of a benchmark, and processes in them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

IPERF_PORT = "5201"
#: Time in which a process must end after SIGTERM [s]; then it is killed.
GRACE_S = 5.0


class BenchError(Exception):
    """Something could not be measured; the text says why."""


@dataclass(frozen=True)
class Network:
    """Two hosts and the paths between them.

    Parameters
    ----------
    client, server
        Namespaces.
    paths
        Number of paths. Path `n` leaves the client by its interface `cn` and the server by `sn`.
    """

    client: str
    server: str
    paths: int

    @staticmethod
    def outside(path: int) -> str:
        """Address of the server on a path."""
        return f"10.1.{path}.1"


@dataclass(frozen=True)
class Shape:
    """A line: what limits it in both directions.

    Parameters
    ----------
    rate_mbps
        Rate of the token bucket [Mbit/s].
    buffer_ms
        Drop-tail buffer in front of it, as time at that rate [ms].
    rtt_ms
        Round trip time of an empty line; one half in each direction [ms].
    """

    rate_mbps: int
    buffer_ms: int
    rtt_ms: float

    @property
    def buffer_bytes(self) -> int:
        """Size of the buffer."""
        return self.rate_mbps * self.buffer_ms * 125


def run(*arguments: str) -> str:
    """Run a program and return what it printed.

    Raises
    ------
    BenchError
        If it failed; with what it printed last on standard error.
    """
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"`{' '.join(arguments)}` failed: {last}")
    return done.stdout


def inside(host: str, *command: str) -> list[str]:
    """Return the command line that runs a command in a namespace."""
    return ["ip", "netns", "exec", host, *command]


def until(what: str, holds: Callable[[], bool], processes: Sequence[subprocess.Popen[bytes]], longest: float) -> None:
    """Look until something is the case.

    Raises
    ------
    BenchError
        If a process ends before, or after `longest` seconds.
    """
    end = time.monotonic() + longest
    while not holds():
        for process in processes:
            if process.poll() is not None:
                raise BenchError(f"ended with exit code {process.returncode} before {what}: {process.args!r}")
        if time.monotonic() > end:
            raise BenchError(f"not within {longest:g} s: {what}")
        time.sleep(0.05)


@contextmanager
def running(host: str, command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a namespace until the end; `ip netns exec` becomes the program, so the process is that of it."""
    with log.open("wb") as out:
        process = subprocess.Popen(inside(host, *command), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def hosts(shapes: Sequence[Shape | None]) -> Iterator[Network]:
    """Two namespaces with a path for each shape; None: a veth pair that nothing limits."""
    client, server = "vbclient", "vbserver"
    wires = [f"vbwire{path}" for path, shape in enumerate(shapes, 1) if shape]
    try:
        for host in (client, server, *wires):
            run("ip", "netns", "add", host)
            run("ip", "-n", host, "link", "set", "lo", "up")
        for path, shape in enumerate(shapes, 1):
            if shape:
                _shaped(client, server, path, shape)
            else:
                _direct(client, server, path)
        yield Network(client, server, len(shapes))
    finally:
        for host in (client, server, *wires):
            subprocess.run(["ip", "netns", "del", host], capture_output=True, check=False)  # noqa: S607


def _direct(client: str, server: str, path: int) -> None:
    """Connect both hosts by a veth pair."""
    run("ip", "link", "add", f"c{path}", "netns", client, "type", "veth", "peer", "name", f"s{path}", "netns", server)
    for host, device, last in ((client, f"c{path}", 130), (server, f"s{path}", 1)):
        run("ip", "-n", host, "addr", "add", f"10.1.{path}.{last}/24", "dev", device)
        run("ip", "-n", host, "link", "set", device, "up")


def _shaped(client: str, server: str, path: int, shape: Shape) -> None:
    """Connect both hosts by a router: they delay what they send, the router shapes it.

    A bucket at the sending host would not be a line: TCP of that host sees the queue (TCP small queues) and does not
    fill it. netem hides that it holds packets (`skb_orphan_partial` in sch_netem.c), as a line does.
    """
    wire = f"vbwire{path}"
    for host, device, own, router, other in (
        (server, f"s{path}", 1, 2, 128),
        (client, f"c{path}", 130, 129, 0),
    ):
        peer = f"r{device}"
        run("ip", "link", "add", device, "netns", host, "type", "veth", "peer", "name", peer, "netns", wire)
        for where, name, last in ((host, device, own), (wire, peer, router)):
            # a delayed or shaped packet is one packet, not a large segment of many
            run("ip", "-n", where, "link", "set", name, "gso_max_segs", "1")
            run("ip", "-n", where, "addr", "add", f"10.1.{path}.{last}/25", "dev", name)
            run("ip", "-n", where, "link", "set", name, "up")
        run("ip", "-n", host, "route", "add", f"10.1.{path}.{other}/25", "via", f"10.1.{path}.{router}")
        bucket = ["rate", f"{shape.rate_mbps}mbit", "burst", "10kb", "limit", str(shape.buffer_bytes)]
        run("tc", "-n", wire, "qdisc", "add", "dev", peer, "root", "tbf", *bucket)
        delay = f"{shape.rtt_ms * 500:.0f}us"
        run("tc", "-n", host, "qdisc", "add", "dev", device, "root", "netem", "delay", delay, "limit", "100000")
    run(*inside(wire, "sysctl", "-qw", "net.ipv4.ip_forward=1"))


@contextmanager
def iperf_server(network: Network, log: Path) -> Iterator[None]:
    """Run the server of iperf3 until the end."""
    with running(network.server, ["iperf3", "-s", "-p", IPERF_PORT], log) as process:
        listening = inside(network.server, "ss", "-Hltn", f"sport = :{IPERF_PORT}")
        until("iperf3 listens", lambda: bool(run(*listening)), [process], 10)
        yield


def iperf_client(address: str, seconds: int) -> list[str]:
    """Return the command line that downloads by TCP with CUBIC, whatever the default of the machine."""
    return ["iperf3", "-c", address, "-p", IPERF_PORT, "-t", str(seconds), "-i", "1", "-R", "-C", "cubic", "-J"]


def ping(address: str, interval_s: float, count: int) -> list[str]:
    """Return the command line of ping."""
    return ["ping", "-n", "-c", str(count), "-i", f"{interval_s:g}", "-W", "2", address]


def answers(network: Network, address: str) -> bool:
    """Whether an address answers a ping of the client."""
    command = inside(network.client, "ping", "-n", "-c", "1", "-W", "1", address)
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
