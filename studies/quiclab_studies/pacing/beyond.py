"""Beyond the pacing thesis: the varied senders, receivers and links, and the metrics.

One network: 20 Mbit/s and 50 ms, so that a bandwidth-delay product is 125 kB or 100 packets of 1256 bytes on the wire,
behind a fast link on which bursts arrive as they were sent. `_pacing_beyond_studies` has the studies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from quiclab.analysis.pacing.runs.queueing import spacing_and_queue
from quiclab.study import Changes, Configuration, Design, Engine, Factor, Measures, Metric, Value
from quiclab_studies.declarations import kept_metric
from quiclab_studies.pacing import metrics
from quiclab_studies.pacing.common import SCENARIO
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quiclab.result import RunResult

ENGINES = (Engine("lab-quic"),)
RUNS = 5
SECONDS = 30
RATE_MBPS = 20
RTT_MS = 50
PATH = {"mean": f"{RTT_MS / 2:g} ms", "deviation": "2.5 ms", "distribution": "uniform", "every": "10 min"}
"""Each run draws the delay of its path once, from 22.5 to 27.5 ms, so that no number rests on one round trip time."""
JITTER = {"deviation": "0.05 ms", "distribution": "normal"}
"""Of the delay of what returns: a tenth of a packet's serialisation."""
BUFFERS_BDP = (0.1, 0.25, 0.5, 1, 2, 4)

# --- senders

NONE = {"kind": "none"}


def bucket(packets: int, **more: object) -> dict[str, object]:
    """Return RFC 9002's pacer, N = 1.25, with bursts of N packets."""
    return {"kind": "leaky_bucket", "burst_packets": packets, **more}


EVEN = {"kind": "even"}


@dataclass(frozen=True)
class Sender:
    """A pacer, and whose: all else is that of one profile."""

    label: str
    pacing: Mapping[str, object]
    stack: str = "lab-quic"

    def flow(self, control: str, **parts: object) -> dict[str, object]:
        """Return a download with it; `parts` are further fields of the flow."""
        profile = "rfc9002" if self.stack == "lab-quic" else "linux-5.15"
        return {
            "stack": self.stack,
            "sender": {"profile": profile, "congestion_control": control, "pacing": dict(self.pacing)},
            "receiver": {"profile": profile},
            "down": ["fast", "at_sender", "bottleneck", "behind", "far"],
            "up": ["back"],
            "workload": {"kind": "download", "duration": f"{SECONDS} s"},
            **parts,
        }


SENDERS: Mapping[str, Sender] = {
    "unpaced": Sender("no pacer", NONE),
    "bucket_2": Sender("leaky bucket, 2 packets", bucket(2)),
    "bucket_10": Sender("leaky bucket, 10 packets", bucket(10)),
    "bucket_16": Sender("leaky bucket, 16 packets", bucket(16)),
    "even": Sender("even, no bursts", EVEN),
    "quantum": Sender("quanta of 1 ms", {"kind": "quantum", "quantum": "1 ms"}),
    "time_bucket": Sender("bucket of time, N = 1", {"kind": "time_bucket"}),
    "tcp_unpaced": Sender("TCP, no pacer", NONE, "lab-tcp"),
    "tcp_linux": Sender("TCP, internal pacing", {"kind": "linux"}, "lab-tcp"),
    "tcp_fq": Sender("TCP, fq", {"kind": "fq"}, "lab-tcp"),
}
"""N is 1.25 unless stated otherwise; the default of the profile is a bucket of 10."""
QUIC_SENDERS = tuple(name for name, sender in SENDERS.items() if sender.stack == "lab-quic")

# --- network


def buffer(bdp: Value) -> Changes:
    """Return a queue of N bandwidth-delay products."""
    return {"links.bottleneck.queue": queue(float(bdp), RATE_MBPS)}


def queue(bdp: float, rate_mbps: int) -> dict[str, object]:
    """Return a drop-tail queue of N bandwidth-delay products."""
    return {"kind": "drop_tail", "bytes": f"{round(bdp * rate_mbps * RTT_MS * 125)} B"}


def buffers(*values: float) -> Factor:
    """Return the factor of the queue's length."""
    return Factor("buffer", "buffer_bdp", "Buffer", "BDP", values, buffer)


def network(rate_mbps: int = RATE_MBPS, seconds: int = SECONDS) -> dict[str, object]:
    """Return the network, with a queue of 1 BDP."""
    half = f"{RTT_MS / 2:g} ms"
    return {
        "duration": f"{seconds} s",
        "taps.behind": {},
        "links.bottleneck": {
            "rate": f"{rate_mbps} Mbit/s",
            "overhead_per_packet": "14 B",
            "queue": queue(1, rate_mbps),
        },
        "links.far": {"delay": PATH},
        "links.back.delay": {"mean": half, **JITTER},
    }


# --- metrics


def goodput_mbps(result: RunResult) -> float:
    """Goodput of all flows together, of the whole run [Mbit/s]."""
    return sum(flow.delivered_bytes for flow in result.flows.values()) * 8e-6 / result.network_time_s


GOODPUT = Metric("goodput_mbps", "Goodput", "Mbit/s", goodput_mbps)
LOSS = kept_metric("loss_percent", "Packets lost", "%", "loss_rate", factor=100)
SOJOURN = kept_metric("sojourn_mean_ms", "Mean time in the bottleneck", "ms")
SOJOURN_P95 = kept_metric("sojourn_p95_ms", "95 % of the packets: time in the bottleneck", "ms")
STARTUP_LOST = kept_metric("startup_lost_packets", "Packets lost in the first 5 s", "")
BURSTY = kept_metric("bursty_share", "Packets in bursts of two or more", "")
VARIATION = kept_metric("variation", "Coefficient of variation of the intervals", "")
BURST = kept_metric("burst_packets", "Packets in a burst", "")
BURST_P99 = kept_metric("burst_p99_packets", "Packets in a burst, 99 % quantile", "")
CLOCKED = kept_metric("ack_clocked", "Bursts that answer an ACK, beyond chance", "")
"""With the windows of the bottleneck's spacing (`quiclab.analysis.pacing.runs.windows`), NaN where its rate changes;
the next three have fixed ones."""
BURSTY_FIXED = kept_metric("bursty_share_fixed", f"Packets in bursts of two or more {metrics.GAP}", "")
BURST_FIXED = kept_metric("burst_packets_fixed", f"Packets in a burst {metrics.GAP}", "")
CLOCKED_FIXED = kept_metric("ack_clocked_fixed", metrics.CLOCKED_FIXED.label, "")
FIXED = (BURSTY_FIXED, BURST_FIXED, CLOCKED_FIXED)
COVERED = kept_metric("packets_per_ack", "Packets per ACK", "")
RETURNED = kept_metric("returned_packets", "Packets on the way back, per packet sent", "")
STARTUP = kept_metric("startup_mbps", "Throughput of the first 5 s", "Mbit/s")
SYNCHRONY = kept_metric("synchrony", "Flows that lose in the same loss event", "")
EVENTS = kept_metric("loss_events", "Loss events", "")
QUEUE_METRICS = (LOSS, SOJOURN, SOJOURN_P95, STARTUP, STARTUP_LOST, BURSTY, VARIATION, BURST, CLOCKED, *FIXED)


def rates_mbps(result: RunResult) -> dict[str, float]:
    """Return the goodput of each flow [Mbit/s]."""
    return {name: flow.delivered_bytes * 8e-6 / result.network_time_s for name, flow in result.flows.items()}


def jain(result: RunResult) -> float:
    """Jain's index of the flows' goodputs: 1 if all have the same, 1/n if one has all."""
    values = list(rates_mbps(result).values())
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else float("nan")


def paced_share(result: RunResult) -> float:
    """Part of the goodput that the even-numbered flows have: the paced ones where some are, and `main` is one."""
    values = rates_mbps(result)
    total = sum(values.values())
    paced = sum(rate for name, rate in values.items() if is_first_half(name))
    return paced / total if total else float("nan")


def is_first_half(name: str) -> bool:
    """Return whether a flow is one of every second, `main` among them."""
    return name == "main" or int(name.removeprefix("f")) % 2 == 0


JAIN = Metric("jain", "Jain's index", "", jain)
PACED_SHARE = Metric("paced_share", "Goodput of the paced half", "", paced_share)

# --- configurations


@dataclass(frozen=True)
class Mix:
    """Pacers of flows that share a link: of every second one, and of the others."""

    label: str
    first: Mapping[str, object]
    second: Mapping[str, object] = field(default_factory=dict)

    def configuration(self, name: str) -> Configuration:
        """Return the configuration that gives each flow its pacer."""

        def paced(given: Changes) -> Changes:
            merged: dict[str, Any] = dict(given)
            for path, value in given.items():
                if path.startswith("flows.") and isinstance(value, dict):
                    pacing = self.first if is_first_half(path.removeprefix("flows.")) else self.second or self.first
                    merged[path] = {**value, "sender": {**value["sender"], "pacing": dict(pacing)}}
            return merged

        return Configuration(name, self.label, paced)


def sharing(control: str, **parts: object) -> Callable[[Value], Changes]:
    """Return the changes for N flows that start at the same time."""

    def changes(count: Value) -> Changes:
        names = ("main", *(f"f{number}" for number in range(1, int(count))))
        return {f"flows.{name}": SENDERS["bucket_10"].flow(control, **parts) for name in names}

    return changes


ASSUMPTIONS = assumed(__file__, "beyond")


design = partial(Design, scenario=SCENARIO, engines=ENGINES, runs=RUNS, own_seeds=True)
"""Settings in the network of the pacing thesis."""
measures = partial(Measures, metric=GOODPUT, keep=spacing_and_queue)
"""Spacing and queue of its runs."""
