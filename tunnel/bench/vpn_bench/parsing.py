"""What iperf3, ping and /proc print, as numbers; medians with ranges."""

from __future__ import annotations

import json
import os
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Where the numbers after the name of the command begin in /proc/PID/stat, and those of user and system time (proc(5)).
USER_TIME, SYSTEM_TIME = 11, 12
#: Columns of `cpu` in /proc/stat in which a processor does nothing for this machine: idle, iowait, steal (proc(5)).
NOT_BUSY = (3, 4, 7)
#: Columns of /proc/stat; those of guests, which follow, are part of `user` and `nice`.
CPU_COLUMNS = 8


@dataclass(frozen=True)
class Transfer:
    """A TCP transfer.

    Parameters
    ----------
    mbps
        Goodput after the first second [Mbit/s].
    gbit
        What was received in all [Gbit].
    """

    mbps: float
    gbit: float


def transfer(text: str, algorithm: str = "cubic") -> Transfer:
    """Read the report of an iperf3 client that received (`-R -J`), with intervals of one second.

    Raises
    ------
    ValueError
        If iperf3 failed, or the sender used another congestion control than `algorithm`.
    """
    try:
        report: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise ValueError(f"iperf3 ended without a report: {text.strip()[-200:]!r}") from error
    if "error" in report:
        raise ValueError(f"iperf3: {report['error']}")
    used = report["end"].get("sender_tcp_congestion")
    if used != algorithm:
        raise ValueError(f"congestion control of the sender: expected {algorithm}, got {used}")
    later = [one["sum"] for one in report["intervals"] if one["sum"]["start"] > 0.5]
    seconds = sum(one["seconds"] for one in later)
    if not seconds:
        raise ValueError("iperf3 reported no second after the first")
    return Transfer(
        mbps=sum(one["bytes"] for one in later) * 8 / seconds / 1e6,
        gbit=report["end"]["sum_received"]["bytes"] * 8 / 1e9,
    )


def round_trips(text: str) -> list[float]:
    """Return the round trip times that ping printed [ms]."""
    return [float(found) for found in re.findall(r"time=([0-9.]+) ms", text)]


def sent_and_received(text: str) -> tuple[int, int]:
    """Return the requests and replies that ping counted.

    Raises
    ------
    ValueError
        If there is no such line.
    """
    found = re.search(r"(\d+) packets transmitted, (\d+) received", text)
    if not found:
        raise ValueError(f"ping ended without a summary: {text.strip()[-200:]!r}")
    return int(found[1]), int(found[2])


def process_seconds(stat: str) -> float:
    """Return the user and system time of all threads of a process, from /proc/PID/stat [s]."""
    numbers = stat.rpartition(")")[2].split()  # the name of the command may contain spaces and parentheses
    return (int(numbers[USER_TIME]) + int(numbers[SYSTEM_TIME])) / os.sysconf("SC_CLK_TCK")


def busy_seconds(stat: str) -> float:
    """Return the time that all processors together were busy, interrupts included, from /proc/stat [s]."""
    numbers = [int(number) for number in stat.splitlines()[0].split()[1 : 1 + CPU_COLUMNS]]
    return (sum(numbers) - sum(numbers[column] for column in NOT_BUSY)) / os.sysconf("SC_CLK_TCK")


def summary(runs: Sequence[float], digits: int) -> dict[str, Any]:
    """Return median, lowest and highest of repeats, and the repeats themselves."""
    rounded = [round(run, digits) for run in runs]
    middle = round(statistics.median(runs), digits)
    return {"median": middle, "low": min(rounded), "high": max(rounded), "runs": rounded}


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least so many per cent of the values do not exceed (nearest rank)."""
    rank = -(-len(values) * percent // 100)
    return sorted(values)[max(int(rank), 1) - 1]
