"""Runs the benchmark in PID and mount namespaces of its own, so that nothing of it outlives it, however it ends.

With the first process of the PID namespace all others end, and with them the network namespaces, whose names are in a
private `/run`. The first process is killed if its parent ends, and so is that if the benchmark's own process does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from vpn_bench.vpns.base import missing

#: Option by which the benchmark knows that it is inside.
INSIDE = "--inside"
#: What the rest takes.
PROGRAMS = ("setpriv", "unshare", "mount", "ip", "tc", "ss", "sysctl", "iperf3", "ping")
SCRIPT = 'mount -t tmpfs tmpfs /run && mkdir /run/netns && exec "$@"'


def lacking() -> str:
    """Return the reason why nothing can be measured here; empty if it can."""
    if os.geteuid() != 0:
        return "needs root: network namespaces and TUN devices"
    if why := missing(PROGRAMS):
        return why
    # root of a container may not have the privileges
    probe = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "--", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"no namespaces: {done.stderr.strip()}"


def command(script: str, arguments: Sequence[str]) -> list[str]:
    """Return the command line that runs a script of Python inside."""
    return [
        *("setpriv", "--pdeathsig", "KILL", "--"),
        *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"),
        *("sh", "-c", SCRIPT, "sh", sys.executable, script, INSIDE, *arguments),
    ]


def run_inside(script: str, arguments: Sequence[str]) -> int:
    """Run a script inside and return its exit code; SIGTERM and SIGINT end all of it at once."""
    process = subprocess.Popen(command(script, arguments))

    def end(number: int, frame: object) -> None:
        del frame
        process.kill()  # not wait(), whose lock the main program holds
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    return process.wait()
