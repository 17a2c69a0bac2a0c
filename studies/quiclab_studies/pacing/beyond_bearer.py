"""Pacers over a bearer of Dual Connectivity: their effect on its batches, and on the bursts that PDCP delivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiclab.analysis.pacing.runs.queueing import releases
from quiclab.study import Configuration, Design, Factor, Measures, Metric, Presentation, Study
from quiclab_studies.declarations import kept_metric
from quiclab_studies.pacing.beyond import ENGINES, SENDERS
from quiclab_studies.pacing.beyond_views import curves, figure
from quiclab_studies.remarks import assumed

if TYPE_CHECKING:
    from quiclab.result import RunResult
    from quiclab.study import Changes, Value

SECONDS = 30
BATCHES = (2, 10, 50, 100, 200, 400)
PACERS = ("unpaced", "bucket_2", "bucket_10", "bucket_16", "even", "quantum")


def batch(packets: Value) -> Changes:
    """Return the size of a batch."""
    return {"bearers.dc.batch_packets": packets}


def over_bearer(name: str) -> Configuration:
    """Return a download over the bearer with a pacer; all else is that of the scenario."""
    end = {"profile": "rfc9002", "datagram_size": "1280 B"}
    sender = {**end, "congestion_control": "newreno", "initial_window": "12800 B", "pacing": dict(SENDERS[name].pacing)}
    changes: Changes = {
        "flows.dc.stack": "lab-quic",
        "flows.dc.sender": sender,
        "flows.dc.receiver": {**end, "host": "large_buffer"},
    }
    return Configuration(name, SENDERS[name].label, changes)


def goodput_mbps(result: RunResult) -> float:
    """Goodput of the flow over the whole run [Mbit/s]."""
    return result.flows["dc"].delivered_bytes * 8e-6 / result.network_time_s


def dropped(result: RunResult) -> float:
    """Packets that the queues of both links dropped [%]."""
    lost, came = 0.0, 0.0
    for link in ("down1", "down2"):
        lost += result.elements[link]["dropped"]["packets"]
        came += result.elements[link]["received"]["packets"]
    return 100 * lost / max(came, 1.0)


GOODPUT = Metric("goodput_mbps", "Goodput", "Mbit/s", goodput_mbps)
DROPPED = Metric("dropped_percent", "Packets dropped by the links", "%", dropped)
RELEASE = kept_metric("release_packets", "Packets released together, mean over packets", "")
RELEASE_P95 = kept_metric("release_p95_packets", "Packets released together, 95 % of the packets", "")
EXPIRIES = Metric(
    "timer_expiries",
    "Expiries of t-Reordering",
    "",
    lambda result: float(result.elements["dc.egress"]["statistics"]["timer_expiries"]),
)
SPREAD = "Mean and standard deviation over the runs. Two links of 20 Mbit/s, t-Reordering 200 ms."
DUAL_CONNECTIVITY = Study(
    "pacing/beyond_dual_connectivity",
    design=Design(
        scenario="scenarios/dual_connectivity.toml",
        configurations=tuple(over_bearer(name) for name in PACERS),
        factors=(Factor("batch", "batch_packets", "Batch", "packets", BATCHES, batch),),
        engines=ENGINES,
        engine_changes=lambda _: {
            "duration": f"{SECONDS} s",
            "until": "duration_over",
            "taps.released": {},
            "flows.dc.down": ["dc", "released"],
            "flows.dc.workload": {"kind": "download", "duration": f"{SECONDS} s"},
        },
        runs=5,
        own_seeds=True,
    ),
    measures=Measures(
        metric=GOODPUT,
        further=(RELEASE, RELEASE_P95, EXPIRIES, DROPPED),
        keep=releases,
    ),
    presentation=Presentation(
        title="Benefits of pacing over Dual Connectivity",
        abstract="One QUIC flow with NewReno over two links of 20 Mbit/s in batches of 2 to 400 packets; the pacer is "
        "exchanged.",
        source="quiclab, on the links of the study of Dual Connectivity",
        figures=(
            figure("Goodput over the batch", SPREAD, curves("batch", GOODPUT, EXPIRIES)),
            figure("Packets that PDCP delivers at one instant", SPREAD, curves("batch", RELEASE, RELEASE_P95)),
        ),
        assumptions=assumed(__file__, "beyond_bearer"),
    ),
)
