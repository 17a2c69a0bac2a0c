"""Numbers that the text of the tunnel thesis prints, as rows of a table of the studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from quiclab.study import Table
from quiclab.study.published import csv_rows

FILE = "tunnel/reference/prose_results.csv"
NETWORKS = {"homogeneous": "homo", "heterogeneous": "hetero"}
# quantity in the file: metric of the studies, and the factor to its unit
QUANTITIES = {
    "mean ICMP RTT": ("rtt_ms", 1.0),
    "ICMP RTT": ("rtt_ms", 1.0),
    "mean throughput": ("goodput_mbps", 1.0),
    "aggregate throughput": ("goodput_mbps", 1.0),
    "share of packets on path A": ("share_a", 0.01),
    "share of traffic on path A": ("share_a", 0.01),
}
QUEUES = {"fq_codel": ("fq",), "fifo": ("fifo",), "fq_codel and fifo": ("fq", "fifo")}
RELATIVE = {"decrease of end-to-end latency": ("rtt_ms", -1), "increase of mean throughput": ("goodput_mbps", 1)}
"""Quantities that are printed as a change of another setting, which is printed itself: metric and direction."""


def read(test: str, path: Path) -> Sequence[Mapping[str, str]]:
    """Return a row for each setting of a test that has printed numbers; a number that is not printed is empty."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    lines = [line for line in csv_rows(path) if line["test"] == test and line["value"]]
    for line in lines:
        if line["quantity"] in QUANTITIES and line["unit"] in ("ms", "Mbps", "percent"):
            metric, unit = QUANTITIES[line["quantity"]]
            for scheduler in schedulers(line):
                for queue in QUEUES[line["queue_discipline"]]:
                    key = (queue, NETWORKS[line["network"]], scheduler)
                    found.setdefault(key, {})[metric] = float(line["value"]) * unit
    for line in (line for line in lines if line["quantity"] in RELATIVE):
        metric, sign = RELATIVE[line["quantity"]]
        net, change = NETWORKS[line["network"]], 1 + sign * float(line["value"]) / 100
        printed_one = found["fq", net, "rr"][metric]
        if line["scheduler"] == "rr":  # FQ-CoDel against the FIFO, which is not printed
            found.setdefault(("fifo", net, "rr"), {})[metric] = printed_one / change
        else:
            found.setdefault(("fq", net, "lowrtt"), {})[metric] = printed_one * change
    metrics = ("rtt_ms", "goodput_mbps", "share_a")
    return [
        {
            "configuration": queue,
            "network": net,
            "scheduler": scheduler,
            "n_runs": "1",
            **{f"{name}_mean": str(values.get(name, "")) for name in metrics},
        }
        for (queue, net, scheduler), values in found.items()
    ]


def schedulers(line: Mapping[str, str]) -> tuple[str, ...]:
    """Return the schedulers that a number is of: two, where the text says that they are the same."""
    return ("rr", "lowrtt") if "equivalent" in line["qualifier"] else (line["scheduler"],)


def printed(test: str) -> Table:
    """Return the numbers in the text about a test."""
    return Table(FILE, "text of sections 6.1 to 6.6", partial(read, test))
