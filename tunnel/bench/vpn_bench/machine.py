"""The machine on which a benchmark runs."""

from __future__ import annotations

import os
import platform
import re
import shutil
from pathlib import Path
from typing import Any

from vpn_bench.vpns.base import first_line


def description() -> dict[str, Any]:
    """Return processor, cores, memory, kernel, and the versions of the programs that measure."""
    return {
        "processor": processor(Path("/proc/cpuinfo").read_text()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "virtual": bool(re.search(r"^flags.*\bhypervisor\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE)),
        "kernel": platform.release().split("-")[0],
        "iperf3": first_line("iperf3", "--version") if shutil.which("iperf3") else None,
    }


def processor(cpuinfo: str) -> str:
    """Return the name of the processor, from /proc/cpuinfo."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else platform.machine()
