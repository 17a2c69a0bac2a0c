"""Goodput, CPU time and idle latency between two namespaces of this machine, whose processors are the only limit."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from vpn_bench.network import (
    BenchError,
    Network,
    answers,
    hosts,
    inside,
    iperf_client,
    iperf_server,
    ping,
    until,
)
from vpn_bench.parsing import busy_seconds, process_seconds, round_trips, summary, transfer
from vpn_bench.vpns import Vpn
from vpn_bench.vpns.base import last_line

#: Pings of each repeat, and their interval [s].
PINGS, PING_INTERVAL_S = 50, 0.02
#: What other processes may use of one processor before the time of the whole machine means nothing.
LARGEST_BACKGROUND = 0.1
BACKGROUND_S = 1.0
KEYS = ("tcp_mbps", "cpu_s_per_gbit", "machine_cpu_s_per_gbit", "idle_latency_ms", "idle_added_latency_ms")


@dataclass
class Subject:
    """A VPN that runs, or the network without one."""

    name: str
    address: str
    processes: Sequence[subprocess.Popen[bytes]] = ()
    in_kernel: bool = False
    mbps: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    machine: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    #: Round trip of the network without a VPN in the same repeat.
    outside: list[float] = field(default_factory=list)


def measure(vpns: Sequence[Vpn], seconds: int, repeats: int, directory: Path) -> dict[str, Any]:
    """Measure all in turn, as often as there are repeats; what fails is null with the reason."""
    results: dict[str, Any] = {vpn.name: nulls(vpn.lacking()) for vpn in vpns}
    present = [vpn for vpn in vpns if not vpn.lacking()]
    paths = max([getattr(vpn, "paths", 1) for vpn in present], default=1)
    with ExitStack() as stack:
        network = stack.enter_context(hosts([None] * paths))
        stack.enter_context(iperf_server(network, directory / "iperf3.log"))
        outside = Subject("none", Network.outside(1))
        until("the hosts see each other", partial(answers, network, outside.address), [], 10)
        subjects = [outside]
        for vpn in present:
            tell(f"starting {vpn.label}")
            try:
                subjects.append(start(stack, vpn, network, directory / vpn.name))
            except BenchError as error:
                results[vpn.name] = nulls(str(error))
        background = []
        for repeat in range(1, repeats + 1):
            background.append(background_share())
            for subject in list(subjects):
                try:
                    once(network, subject, outside, seconds)
                except (BenchError, ValueError, subprocess.TimeoutExpired) as error:
                    results[subject.name] = nulls(str(error))
                    subjects.remove(subject)
                    tell(f"{subject.name}: {error}")
                else:
                    tell(f"repeat {repeat} of {repeats}: {subject.name} {subject.mbps[-1]:.0f} Mbit/s")
    for subject in subjects:
        results[subject.name] = figures(subject, median(background))
    return {
        "seconds": seconds,
        "repeats": repeats,
        "pings": PINGS,
        "ping_interval_ms": PING_INTERVAL_S * 1e3,
        "background_processors": summary(background, 3),
        "results": {"none": results.pop("none"), **results},
    }


def start(stack: ExitStack, vpn: Vpn, network: Network, directory: Path) -> Subject:
    """Start a VPN and wait until its server answers inside."""
    directory.mkdir()
    with ExitStack() as own:
        processes = own.enter_context(vpn.up(network, directory))
        try:
            until(f"an answer of {vpn.label}", partial(answers, network, vpn.server_address), processes, 20)
        except BenchError as error:
            raise BenchError(f"{error}; last words: {last_line(directory / 'client.log')}") from error
        stack.push(own.pop_all())
    return Subject(vpn.name, vpn.server_address, processes, vpn.in_kernel)


def once(network: Network, subject: Subject, outside: Subject, seconds: int) -> None:
    """Measure one repeat."""
    subject.outside.append(latency(network, outside.address))
    subject.latency.append(latency(network, subject.address))
    before, before_machine = spent(subject), busy()
    command = inside(network.client, *iperf_client(subject.address, seconds))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 20)
    cpu, machine = spent(subject) - before, busy() - before_machine
    found = transfer(done.stdout or done.stderr)
    subject.mbps.append(found.mbps)
    subject.cpu.append(cpu / found.gbit)
    subject.machine.append(machine / found.gbit)


def latency(network: Network, address: str) -> float:
    """Return the median round trip while nothing else is sent [ms]."""
    command = inside(network.client, *ping(address, PING_INTERVAL_S, PINGS))
    trips = round_trips(subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout)
    if len(trips) < PINGS / 2:
        raise BenchError(f"{address} answered {len(trips)} of {PINGS} pings")
    return median(trips)


def spent(subject: Subject) -> float:
    """Return the CPU time of both ends until now [s]."""
    try:
        return sum(process_seconds(Path(f"/proc/{process.pid}/stat").read_text()) for process in subject.processes)
    except (FileNotFoundError, ProcessLookupError) as error:
        raise BenchError(f"an end of {subject.name} has ended") from error


def busy() -> float:
    """Return the time that all processors of the machine were busy until now [s]."""
    return busy_seconds(Path("/proc/stat").read_text())


def background_share() -> float:
    """Return how many processors are busy while nothing is measured."""
    start, before = time.monotonic(), busy()
    time.sleep(BACKGROUND_S)
    return (busy() - before) / (time.monotonic() - start)


def figures(subject: Subject, background: float) -> dict[str, Any]:
    """Return what was found of one VPN."""
    result: dict[str, Any] = {"tcp_mbps": summary(subject.mbps, 1)}
    if subject.in_kernel:
        result |= null("cpu_s_per_gbit", "the kernel handles the packets, not a process of its own")
    elif subject.processes:
        result["cpu_s_per_gbit"] = summary(subject.cpu, 3)
    else:
        result |= null("cpu_s_per_gbit", "no VPN")
    if background > LARGEST_BACKGROUND:
        result |= null("machine_cpu_s_per_gbit", f"other processes used {background:.2f} processors")
    else:
        result["machine_cpu_s_per_gbit"] = summary(subject.machine, 3)
    result["idle_latency_ms"] = summary(subject.latency, 3)
    added = [own - other for own, other in zip(subject.latency, subject.outside, strict=True)]
    if subject.processes or subject.in_kernel:
        result["idle_added_latency_ms"] = summary(added, 3)
    else:
        result |= null("idle_added_latency_ms", "no VPN")
    return result


def null(key: str, why: str) -> dict[str, Any]:
    """Return a key without a value, and the reason."""
    return {key: None, f"{key}_why": why}


def nulls(why: str) -> dict[str, Any]:
    """Return all keys without values, and the reason."""
    return {name: value for key in KEYS for name, value in null(key, why).items()}


def tell(text: str) -> None:
    """Show progress."""
    print(f"tunnel_bench: {text}", file=sys.stderr, flush=True)
