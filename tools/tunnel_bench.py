"""Speed of the VPN between two network namespaces, compared with OpenVPN in the same run. Prints one JSON object.

Needs root, /dev/net/tun, iproute2, iperf3 and ping, and for the comparison openvpn and openssl. What cannot be
measured is null, with the reason in `<key>_why`. Nothing limits the link between the namespaces, so that the processors
are what is measured: both ends of the VPN and both ends of iperf3 share those of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ("ip", "iperf3", "ping")
#: What only the comparison needs.
OPENVPN_PROGRAMS = ("openvpn", "openssl")
DEVICE = Path("/dev/net/tun")
KEYS = ("tunnel_tcp_mbps", "tunnel_idle_added_latency_ms")
OPENVPN_KEYS = ("openvpn_tcp_mbps", "openvpn_idle_added_latency_ms")
#: Addresses inside: of the server in the VPN of this project, and in OpenVPN's.
TUNNEL, OPENVPN = "10.77.0.1", "10.88.0.1"
OUTSIDE = "10.1.1.1"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/quiclab-tunnel")
    parser.add_argument("--seconds", type=int, default=8, help="length of each iperf3 run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, in turn; the median counts")
    parser.add_argument("--paths", type=int, default=1, choices=(1, 2))
    options = parser.parse_args()
    program = options.program.resolve()
    why = lacking(PROGRAMS, program)
    result = nulls((*KEYS, *OPENVPN_KEYS), why) if why else measure(program, options)
    print(json.dumps(result))
    return 0


def lacking(programs: tuple[str, ...], program: Path | None = None) -> str:
    """Return the reason why nothing can be measured; empty if it can."""
    if os.geteuid() != 0:
        return "needs root: network namespaces and TUN devices"
    missing = [name for name in programs if shutil.which(name) is None]
    missing += [str(file) for file in (DEVICE, program) if file and not file.exists()]
    return f"missing: {', '.join(missing)}" if missing else ""


def nulls(keys: tuple[str, ...], why: str) -> dict[str, Any]:
    """Keys without value, with the reason."""
    return {name: value for key in keys for name, value in ((key, None), (f"{key}_why", why))}


def measure(program: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure both VPNs alternately, or quiclab-tunnel alone."""
    no_openvpn = lacking(OPENVPN_PROGRAMS)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tunnel-bench-")))
        client, server = stack.enter_context(hosts(options.paths))
        stack.enter_context(tunnel(program, directory, client, server, options.paths))
        rates: dict[str, list[float]] = {TUNNEL: []}
        if not no_openvpn:
            stack.enter_context(openvpn(directory, client, server))
            rates[OPENVPN] = []
        stack.enter_context(running(server, ["iperf3", "-s"]))
        for address in rates:
            until(f"an answer of {address}", partial(answers, client, address))
        for _ in range(options.repeats):
            for address, found in rates.items():
                found.append(throughput(client, address, options.seconds))
        outside, *inside = (ping(client, address, 100) for address in (OUTSIDE, *rates))
        result: dict[str, Any] = {}
        for (address, found), (rate, latency), trip in zip(rates.items(), (KEYS, OPENVPN_KEYS), inside, strict=False):
            if outside is None or trip is None:
                sys.exit(f"tunnel_bench: no answer of {address} while nothing else was sent")
            result[rate] = round(median(found), 1)
            result[latency] = round(trip - outside, 3)
            result[f"{rate}_runs"] = [round(one, 1) for one in found]
        return result | (nulls(OPENVPN_KEYS, no_openvpn) if no_openvpn else {})


def median(values: list[float]) -> float:
    """Middle of an odd number of values."""
    return sorted(values)[len(values) // 2]


def run(*arguments: str) -> str:
    """Run a program and give what it printed."""
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def until(what: str, holds: Callable[[], bool], longest: float = 20) -> None:
    """Look until something is the case."""
    end = time.monotonic() + longest
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"tunnel_bench: not within {longest} s: {what}")
        time.sleep(0.05)


@contextmanager
def running(host: str, command: list[str], log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a namespace until the end."""
    out = log.open("wb") if log else subprocess.DEVNULL
    process = subprocess.Popen(["ip", "netns", "exec", host, *command], stdout=out, stderr=out)  # noqa: S607
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def hosts(paths: int) -> Iterator[tuple[str, str]]:
    """Two namespaces with a veth pair for each path."""
    client, server = (f"qltbench{os.getpid()}{end}" for end in "cs")
    try:
        for host in (client, server):
            run("ip", "netns", "add", host)
            run("ip", "-n", host, "link", "set", "lo", "up")
        for path in range(1, paths + 1):
            pair = ["type", "veth", "peer", "name", f"s{path}", "netns", server]
            run("ip", "link", "add", f"c{path}", "netns", client, *pair)
            for host, device, last in ((client, f"c{path}", 2), (server, f"s{path}", 1)):
                run("ip", "-n", host, "addr", "add", f"10.1.{path}.{last}/24", "dev", device)
                run("ip", "-n", host, "link", "set", device, "up")
        yield client, server
    finally:
        for host in (client, server):
            subprocess.run(["ip", "netns", "del", host], capture_output=True, check=False)  # noqa: S607


@contextmanager
def tunnel(program: Path, directory: Path, client: str, server: str, paths: int) -> Iterator[None]:
    """Both ends of the VPN of this project."""
    keys = {end: run(str(program), "keygen", str(directory / f"{end}.key")).strip() for end in ("s", "c")}
    pid = os.getpid()
    head = 'version = 1\nkey_file = "{0}.key"\ninterface = "qb{1}{0}"\n'
    (directory / "s.toml").write_text(
        head.format("s", pid)
        + '[server]\nlisten = ["0.0.0.0:4433"]\npool_ipv4 = "10.77.0.0/24"\npool_ipv6 = "fd77::/64"\n'
        + f'[[server.peers]]\nname = "client"\npublic_key = "{keys["c"]}"\n'
    )
    ways = "".join(
        f'[[client.paths]]\nname = "p{path}"\ninterface = "c{path}"\nserver = "10.1.{path}.1:4433"\n'
        for path in range(1, paths + 1)
    )
    (directory / "c.toml").write_text(head.format("c", pid) + f'[client]\nserver_key = "{keys["s"]}"\n' + ways)
    with ExitStack() as stack:
        for host, end in ((server, "s"), (client, "c")):
            up = [str(program), "up", str(directory / f"{end}.toml")]
            stack.enter_context(running(host, up, directory / f"{end}.log"))
        yield


@contextmanager
def openvpn(directory: Path, client: str, server: str) -> Iterator[None]:
    """Both ends of OpenVPN: UDP, AES-256-GCM, separate certificates (peer fingerprints), in user space."""
    prints = {}
    for end in ("os", "oc"):
        key, certificate = directory / f"{end}.key", directory / f"{end}.crt"
        request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        run(*request, "-nodes", "-days", "2", "-subj", f"/CN={end}", "-keyout", str(key), "-out", str(certificate))
        said = run("openssl", "x509", "-in", str(certificate), "-noout", "-fingerprint", "-sha256")
        prints[end] = said.split("=", 1)[1].strip()
    common = ["openvpn", "--dev-type", "tun", "--proto", "udp", "--disable-dco", "--data-ciphers", "AES-256-GCM"]
    common += [
        "--cipher",
        "AES-256-GCM",
        "--port",
        "1194",
        "--dh",
        "none",
        "--sndbuf",
        "4000000",
        "--rcvbuf",
        "4000000",
    ]

    def own(end: str, other: str) -> list[str]:
        files = ["--cert", str(directory / f"{end}.crt"), "--key", str(directory / f"{end}.key")]
        return [*files, "--peer-fingerprint", prints[other]]

    up_server = [*common, "--dev", "ovpns", "--tls-server", "--ifconfig", OPENVPN, "10.88.0.2", *own("os", "oc")]
    up_client = [*common, "--dev", "ovpnc", "--tls-client", "--ifconfig", "10.88.0.2", OPENVPN, *own("oc", "os")]
    with ExitStack() as stack:
        stack.enter_context(running(server, up_server, directory / "os.log"))
        stack.enter_context(running(client, [*up_client, "--remote", OUTSIDE], directory / "oc.log"))
        try:
            yield
        except SystemExit:
            for end in ("os", "oc", "s", "c"):
                print((directory / f"{end}.log").read_text()[-2000:], file=sys.stderr)
            raise


def answers(client: str, address: str) -> bool:
    """Whether a host is there."""
    return ping(client, address, 1) is not None


def throughput(client: str, address: str, seconds: int) -> float:
    """Mbit/s that arrive of one TCP flow (CUBIC), without the first second."""
    command = ["iperf3", "-c", address, "-t", str(seconds), "-O", "1", "-C", "cubic", "-J"]
    said = json.loads(run("ip", "netns", "exec", client, *command))
    return float(said["end"]["sum_received"]["bits_per_second"]) / 1e6


def ping(client: str, address: str, count: int) -> float | None:
    """Median of round trips in ms, or nothing if there is no answer."""
    command = ["ip", "netns", "exec", client, "ping", "-n", "-c", str(count), "-i", "0.02", "-W", "1", address]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    times = [float(found) for found in re.findall(r"time=([0-9.]+)", said)]
    return sorted(times)[len(times) // 2] if times else None


if __name__ == "__main__":
    sys.exit(main())
