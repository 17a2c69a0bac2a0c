"""Settings of `validation/aqm`: each queue discipline with sets of flows, over five networks.

Queues, networks and flows were chosen before any cell was run: rates and round trip times of access lines and longer
paths, few flows as in RFC 7928, with and without marks. When five had been run, the starts were postponed (below), and
fast cells shortened, as they take the kernel minutes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

from quiclab.study import Changes

CODEL, FQ_CODEL, PIE, FQ_PIE, DUALPI2, RED, CAKE = "codel", "fq_codel", "pie", "fq_pie", "dualpi2", "red", "cake"
#: Without an average, RED marks all that meets so many bytes: the step of DCTCP (RFC 8257 section 3.1).
STEP: Changes = {"ecn": True, "min_threshold": "30 kB", "max_threshold": "30 kB", "weight_exponent": 0}
#: PIE's probability changes each so often: `tupdate` of the kernel's default, and one jiffy more in a guest of 1000 Hz,
#: as a timer of the kernel never ends in the jiffy for which it was asked (`pie.rs` of quiclab-core).
UPDATES, ASKED_UPDATES = "16 ms", "15 ms"
#: Depth of the token bucket that has the rate, in both lanes: what `--emulation netem` gives a link at these rates.
BURST = "1614 B"
#: Rate [Mbit/s] and round trip time [ms] without a queue.
NETWORKS = ((4.0, 40), (10.0, 20), (10.0, 80), (40.0, 20), (40.0, 80))
#: The flows start one after the other, in no multiple of a round trip time, and not before PIE of Linux works: it makes
#: its first update half a second after it was set up, which is when a run begins.
STARTS_S = (1.0, 1.37, 1.91, 2.53)
#: Duration by rate [s]: so many packets pass a fast bottleneck that a run takes the kernel minutes.
SECONDS = {4.0: 60, 10.0: 60, 40.0: 30}


@dataclass(frozen=True)
class Load:
    """Downloads that share a queue.

    Attributes
    ----------
    name
        In the name of the cell.
    flows
        Congestion control and `tcp.ecn` of each.
    """

    name: str
    flows: tuple[tuple[str, str], ...]


TWO = Load("drops", (("cubic", "off"), ("cubic", "off")))
FOUR = Load("marks", (("newreno", "classic"), ("cubic", "classic"), ("newreno", "classic"), ("cubic", "classic")))
PAIR = Load("pair", (("cubic", "off"), ("dctcp", "dctcp")))
PAIRS = Load("pairs", (("cubic", "off"), ("dctcp", "dctcp"), ("newreno", "classic"), ("dctcp", "dctcp")))


@dataclass(frozen=True)
class Cell:
    """A queue, a network and flows.

    Attributes
    ----------
    queue
        Kind of the discipline.
    rate_mbps, rtt_ms
        Bottleneck, and round trip time without a queue.
    load
        The flows.
    options
        Options of the queue besides its kind.
    """

    queue: str
    rate_mbps: float
    rtt_ms: int
    load: Load
    options: Changes = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Value of the factor."""
        return f"{self.queue}_{self.rate_mbps:g}mbit_{self.rtt_ms}ms_{self.load.name}"

    @property
    def shapes(self) -> bool:
        """Whether the kernel's discipline is a shaper itself, and no child of a token bucket."""
        return self.queue == CAKE

    @property
    def description(self) -> str:
        """Return the cell in a line."""
        flows = ", ".join(
            control if ecn in ("off", control) else f"{control} with ECN" for control, ecn in self.load.flows
        )
        return f"{self.queue}, {self.rate_mbps:g} Mbit/s, {self.rtt_ms} ms; {flows}"

    @property
    def changes(self) -> Changes:
        """Return what turns `scenarios/linux_tcp.toml` into this cell."""
        seconds = SECONDS[self.rate_mbps]
        half = {"delay": f"{self.rtt_ms / 2:g} ms"}
        rate = f"{self.rate_mbps:g} Mbit/s"
        bottleneck = {
            "rate": rate if self.shapes else {"kind": "token_bucket", "rate": rate, "burst": BURST},
            "overhead_per_packet": "14 B",
            "queue": {"kind": self.queue, **self.options},
        }
        flows = {
            f"flows.flow{number}": {
                "down": ["bottleneck", "far"],
                "up": ["back"],
                "start": f"{start_s:g} s",
                "workload": {"kind": "download", "duration": f"{seconds} s", "request": "16 B"},
                "sender": {
                    "congestion_control": control,
                    "tcp": {"mss": "1460 B", "max_send_buffer": "4 MiB", "ecn": ecn},
                },
                "receiver": {"tcp": {"mss": "1460 B", "max_receive_buffer": "6 MiB", "ecn": ecn}},
            }
            for number, (start_s, (control, ecn)) in enumerate(zip(STARTS_S, self.load.flows, strict=False), start=1)
        }
        return {
            "duration": f"{seconds} s",
            "until": "duration_over",
            "links": {"bottleneck": bottleneck, "far": half, "back": half},
            "record": {"series_interval": "100 ms", "packets": True},
            "flows.main": None,
            **flows,
            **{f"{flow}.stack": "lab-tcp" for flow in flows},
        }


def with_kernel_timers(changes: Changes) -> Changes:
    """Return a cell as the kernel is asked for it, so that its timers have the interval of the cell."""
    links = cast("dict[str, dict[str, Any]]", changes["links"])
    queue = links["bottleneck"]["queue"]
    if queue.get("update_interval") != UPDATES:
        return changes
    bottleneck = {**links["bottleneck"], "queue": {**queue, "update_interval": ASKED_UPDATES}}
    return {**changes, "links": {**links, "bottleneck": bottleneck}}


def serialised(changes: Changes) -> Changes:
    """Return a cell whose bottleneck serialises each packet, in place of the token bucket."""
    links = cast("dict[str, dict[str, Any]]", changes["links"])
    rate = links["bottleneck"]["rate"]
    bottleneck = {**links["bottleneck"], "rate": rate if isinstance(rate, str) else rate["rate"]}
    return {**changes, "links": {**links, "bottleneck": bottleneck}}


#: Queue, its options, and the flows it is tried with.
QUEUES: tuple[tuple[str, Changes, tuple[Load, ...]], ...] = (
    (CODEL, {"ecn": True}, (TWO, FOUR)),
    (FQ_CODEL, {}, (TWO, FOUR)),
    (PIE, {"ecn": True, "update_interval": UPDATES}, (TWO, FOUR)),
    (DUALPI2, {"low_latency": "any_ect"}, (PAIR, PAIRS)),
    (DUALPI2, {}, (FOUR,)),
    (RED, {"ecn": True}, (TWO, FOUR)),
    (RED, STEP, (PAIR,)),
    (FQ_PIE, {"ecn": True, "update_interval": UPDATES}, (TWO, FOUR)),
    (CAKE, {}, (TWO, FOUR)),
)
CELLS = tuple(
    Cell(queue, rate_mbps, rtt_ms, load, options)
    for (queue, options, loads), (rate_mbps, rtt_ms) in product(QUEUES, NETWORKS)
    for load in loads
)
BY_NAME = {cell.name: cell for cell in CELLS}
