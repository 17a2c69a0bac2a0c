"""Shared parts of the studies `validation/linux_tcp`: reading the reference, and its network.

Every setting is built from the columns of the reference; nothing is set for a row alone.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quiclab.errors import expected_got, shown
from quiclab.result.stats import summarise

REFERENCE = "validation/reference/linux_tcp"
CONTROLS = {"reno": "newreno", "cubic": "cubic", "bbr": "bbr-linux"}
ROUND_TRIPS_BEFORE_DATA = 2  # SYN and SYN-ACK, then request and first data

Cells = dict[str, str]
Key = tuple[str | int | float, ...]


def read(file: str) -> list[Cells]:
    """Return the rows of a file of the reference."""
    with (Path(__file__).parents[1] / file).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def length(seconds: float, rtt_ms: float) -> str:
    """Return the duration of a transfer whose data are to flow for this time, as scenarios write it."""
    return f"{round(1e6 * (seconds + ROUND_TRIPS_BEFORE_DATA * rtt_ms / 1e3)) / 1e3:.10g} ms"


@dataclass(frozen=True)
class Network:
    """The network between server and client in one setting: a bottleneck, and a delay node."""

    rate_mbps: float
    rtt_ms: float
    queue_packets: int
    loss_percent: float

    def chain(self, jitter: str = "none") -> dict[str, object]:
        """Return its changes to the base scenario.

        Parameters
        ----------
        jitter
            `none`, or distribution, deviation and direction, such as `normal 1ms down`.
        """
        half = f"{self.rtt_ms / 2:g} ms"
        far: object = half
        if jitter != "none":
            kind, deviation, direction = jitter.split()
            if direction != "down":
                raise ValueError(f"jitter: {expected_got('the direction `down`', shown(jitter))}")
            width = f"{deviation.removesuffix('ms')} ms"
            far = {"mean": half, "deviation": width, "distribution": kind, "reorder": True}
        changes: dict[str, object] = {
            "links.bottleneck.rate": f"{self.rate_mbps:g} Mbit/s",
            "links.bottleneck.queue.packets": self.queue_packets,
            "links.far.delay": far,
            "links.back.delay": half,
        }
        if self.loss_percent:
            changes["links.bottleneck.loss"] = f"{self.loss_percent:g} %"
        return changes


def grouped(rows: Iterable[Cells], key: Callable[[Cells], Key]) -> dict[Key, list[Cells]]:
    """Return rows by key, in the order of their first appearance."""
    found: dict[Key, list[Cells]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def column(rows: Sequence[Cells], name: str) -> list[float]:
    """Return the numbers of a column."""
    return [float(row[name]) for row in rows]


def with_means(cells: Cells, values: Mapping[str, Sequence[float]]) -> Cells:
    """Add mean, deviation and number of repeated measurements to the cells that name a setting."""
    found = dict(cells)
    for name, numbers in values.items():
        summary = summarise(numbers)
        found |= {f"{name}_mean": f"{summary.mean:.6g}", f"{name}_std": f"{summary.std:.3g}", "n_runs": str(summary.n)}
    return found
