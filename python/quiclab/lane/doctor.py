"""Kernel-lane features of this machine. Nothing here changes the system.

Features are tested in anonymous namespaces, which are removed with their process.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from quiclab.errors import QuiclabError
from quiclab.lane import adapter
from quiclab.lane.kernel.build import missing_tools
from quiclab.lane.kernel.cache import newest_kernel
from quiclab.lane.kernel.programs import PACKAGES, found, live_program
from quiclab.lane.kernel.virtual import boot as boot_guest
from quiclab.lane.kernel.virtual import isolation

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = "quiclab.doctor/1"
QDISCS = {
    "netem": "delay 1ms",
    "fq": "",
    "fq_codel": "",
    "tbf": "rate 1mbit burst 10kb latency 10ms",
    "htb": "default 1",
}
CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
DEFAULT_CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
TUN = Path("/dev/net/tun")
#: A machine whose timers are later than this makes the real clock's results those of the machine.
LATE_MS = 1.0
TIMERS, TIMER_S = 100, 0.005
BOOT_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Finding:
    """One thing that the machine can or cannot do.

    Parameters
    ----------
    name
        Stable name, for programs.
    title
        Name of the feature.
    ok
        Whether the machine supports it.
    found
        The state.
    advice
        The remedy; empty if none is required.
    """

    name: str
    title: str
    ok: bool
    found: str
    advice: str = ""


def examine(boot: bool = False) -> list[Finding]:
    """Examine the machine, which takes about a second.

    Parameters
    ----------
    boot
        Also start the virtual-clock kernel.
    """
    prefix = user_prefix()
    return [
        privileges(prefix),
        namespaces(),
        network_namespace(prefix),
        tun_device(),
        *(program(name) for name in ("ip", "tc")),
        *queue_disciplines(prefix),
        *congestion_controls(),
        tcp_probe(prefix),
        build_tools(),
        live(),
        virtual_kernel(),
        *([virtual_boot()] if boot else []),
        *programs(),
        timer_lateness(),
    ]


def programs() -> list[Finding]:
    """Look for the programs that adapters start, each with its version."""
    findings = []
    for entry in adapter.programs():
        name, missing = entry["name"], entry["missing"]
        found_there = (entry["version"] or "available") if not missing else "not usable"
        findings.append(Finding(f"stack_{name}", f"stack {name}", not missing, found_there, "; ".join(missing)))
    return findings


def user_prefix() -> list[str] | None:
    """Return what makes a command root in its namespaces: nothing for root; None if this is not possible."""
    unshare = found("unshare")
    if unshare is None:
        return None
    for extra in ([], ["--user", "--map-root-user"]):
        line = [unshare, *extra]
        if _run([*line, "--mount", "true"])[0] == 0:
            return line
    return None


def privileges(prefix: list[str] | None) -> Finding:
    """Look for root, or user namespaces."""
    title = "root or user namespaces"
    if prefix is not None:
        return Finding("privileges", title, True, "user namespaces" if "--user" in prefix else "root")
    advice = "run as root, or allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1` or, on Ubuntu, "
    return Finding(
        "privileges", title, False, "neither", advice + "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
    )


def namespaces() -> Finding:
    """Try mount and PID namespaces, which a guest lives in."""
    title = "mount and PID namespaces"
    try:
        isolation()
    except QuiclabError as error:
        return Finding("namespaces", title, False, "none", error.message)
    return Finding("namespaces", title, True, "available")


def network_namespace(prefix: list[str] | None) -> Finding:
    """Try a network namespace."""
    title = "network namespaces"
    if prefix is not None and _run([*prefix, "--net", "true"])[0] == 0:
        return Finding("network_namespaces", title, True, "available")
    return Finding("network_namespaces", title, False, "none", "run as root; in a container, give it CAP_SYS_ADMIN")


def tun_device() -> Finding:
    """Open the device that packets of the elements come from."""
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        advice = "`modprobe tun`; in a container, pass the device (`--device /dev/net/tun`)"
        return Finding("tun", str(TUN), False, error.strerror or "unusable", advice)
    return Finding("tun", str(TUN), True, "can be opened")


def program(name: str) -> Finding:
    """Look for a program of the system."""
    path = found(name)
    if path is None:
        return Finding(name, f"program {name}", False, "missing", f"`apt-get install {PACKAGES[name]}`")
    return Finding(name, f"program {name}", True, path)


def queue_disciplines(prefix: list[str] | None) -> list[Finding]:
    """Try queue disciplines of this machine's kernel, each on the loopback of a throwaway namespace."""
    tc = found("tc")
    findings = []
    for name, options in QDISCS.items():
        title, key = f"queue discipline {name}", f"qdisc_{name}"
        if tc is None or prefix is None:
            findings.append(Finding(key, title, False, "not tried", "needs `tc` and a network namespace"))
            continue
        code, text = _run([*prefix, "--net", tc, "qdisc", "add", "dev", "lo", "root", name, *options.split()])
        if code == 0:
            findings.append(Finding(key, title, True, "available"))
        else:
            advice = (
                f"`modprobe sch_{name}`; else use emulation `engine`, or the virtual clock, whose kernel supports it"
            )
            findings.append(Finding(key, title, False, text or "refused", advice))
    return findings


def congestion_controls() -> list[Finding]:
    """Read which congestion controls programs can choose, and which one they get if they choose none."""
    available, default = (_read(path) for path in (CONGESTION_CONTROLS, DEFAULT_CONGESTION_CONTROL))
    missing = [name for name in ("cubic", "reno") if name not in available.split()]
    advice = f"`modprobe tcp_{missing[0]}`; else use the virtual clock, whose kernel supports it" if missing else ""
    # BBR as the default of a host has spoilt measurements: lanes set it, programs of users may forget it
    usual = default in ("cubic", "reno")
    hint = "" if usual else "set congestion_control in scenarios; this default is unusual"
    return [
        Finding("congestion_controls", "TCP congestion controls", not missing, available or "unknown", advice),
        Finding("default_congestion_control", "default of them", usual, default or "unknown", hint),
    ]


def tcp_probe(prefix: list[str] | None) -> Finding:
    """Look for the kernel's trace of congestion windows, one event for each ACK, in a private mount."""
    title = "trace event tcp:tcp_probe"
    script = "mount -t tracefs tracefs /sys/kernel/tracing && test -d /sys/kernel/tracing/events/tcp/tcp_probe"
    if prefix is not None and _run([*prefix, "--mount", "sh", "-c", script])[0] == 0:
        return Finding("tcp_probe", title, True, "available")
    return Finding(
        "tcp_probe",
        title,
        False,
        "none",
        "requires root and a kernel that supports it, such as the virtual-clock kernel",
    )


def build_tools() -> Finding:
    """Look for what building the virtual-clock kernel needs."""
    missing = missing_tools()
    if missing:
        advice = f"`apt-get install {' '.join(missing)}`"
        return Finding("build_tools", "tools to build a kernel", False, f"missing: {', '.join(missing)}", advice)
    return Finding("build_tools", "tools to build a kernel", True, "complete")


def live() -> Finding:
    """Look for the program that runs jobs."""
    try:
        return Finding("quiclab_live", "program quiclab-live", True, str(live_program()))
    except QuiclabError as error:
        return Finding("quiclab_live", "program quiclab-live", False, "missing", error.message)


def virtual_kernel() -> Finding:
    """Look for the kernel of the virtual clock."""
    title = "virtual-clock kernel"
    try:
        kernel = newest_kernel()
    except QuiclabError:
        return Finding("virtual_kernel", title, False, "not built", "`quiclab kernel build`")
    mode = "seccomp" if kernel.seccomp else "ptrace, twice the CPU time"
    return Finding("virtual_kernel", title, True, f"{kernel.version} ({mode}), {kernel.path}")


def virtual_boot() -> Finding:
    """Start a guest that does nothing."""
    title = "virtual-clock kernel starts"
    try:
        with tempfile.TemporaryDirectory(prefix="quiclab-doctor-") as folder:
            ended = boot_guest(newest_kernel(), ["true"], Path(folder), 1, BOOT_TIMEOUT_S)
    except QuiclabError as error:
        return Finding("virtual_boot", title, False, "no", error.message)
    if ended.code != 0:
        return Finding(
            "virtual_boot", title, False, f"`true` ended with {ended.code}", "report this as a bug, with this output"
        )
    return Finding("virtual_boot", title, True, f"{ended.wall_s:.2f} s, of CPU {ended.cpu_s:.2f} s")


def timer_lateness(
    sleep: Callable[[float], None] = time.sleep, clock: Callable[[], int] = time.perf_counter_ns
) -> Finding:
    """Measure how late timers of this machine are, over half a second.

    Parameters
    ----------
    sleep
        Waits for seconds.
    clock
        Nanoseconds.
    """
    late_ms = []
    for _ in range(TIMERS):
        before = clock()
        sleep(TIMER_S)
        late_ms.append((clock() - before) / 1e6 - TIMER_S * 1e3)
    middle, high = median(late_ms), quantiles(late_ms, n=100)[98]
    ok = high <= LATE_MS
    text = f"median {middle:.2f} ms, 99 % at most {high:.2f} ms"
    advice = "" if ok else "with the real clock, run nothing else at the same time; the virtual clock is not affected"
    return Finding("timer_lateness", "lateness of timers", ok, text, advice)


def _run(command: list[str]) -> tuple[int, str]:
    """Return exit code and first line of the error output of a command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        return 127, error.strerror or "cannot be started"
    lines = done.stderr.strip().splitlines()
    return done.returncode, lines[0] if lines else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
