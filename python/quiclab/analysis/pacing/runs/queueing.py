"""The stored data of a run whose bottleneck is between two taps: its queue, and the flows in it.

The scenario has a flow `main`, a tap `at_sender` in front of the link `bottleneck`, a tap `behind` it, and a link
`back` for what returns. A packet's time in the bottleneck is that between the taps, its own serialisation included.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import np, pl
from quiclab.analysis.pacing.runs import windows
from quiclab.analysis.pacing.runs.extract import SKIP_S
from quiclab.analysis.pacing.runs.taps import of_flow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from quiclab.result import RunResult

EVENT_S = 0.05
"""Drops within this time of the first one are of one event: about a round trip."""


def spacing_and_queue(result: RunResult, directory: Path) -> dict[str, Any]:
    """Return how evenly the flow `main` came to the bottleneck, and the effect of the queue there on all flows.

    Parameters
    ----------
    result
        A run of the sim lane with both taps and `record.acks`.
    directory
        Not needed.

    Returns
    -------
    dict
        `bursty_share`, `variation`, `burst_packets` (mean), `burst_p99_packets`, `ack_clocked`, `packets_per_ack`: as
        in the document `quiclab.pacing/1`, of the flow `main`, without the first 5 s, with the windows of the
        bottleneck (`quiclab.analysis.pacing.runs.windows`; `None` if its rate changes); `bursty_share_fixed`,
        `burst_packets_fixed`, `ack_clocked_fixed` with the fixed ones; then `queue_of`.
    """
    del directory

    def analyse(own: Mapping[str, float]) -> dict[str, Any]:
        return of_flow(result, "main", settings={"skip_s": SKIP_S, **own})

    found, fixed = windows.twice(analyse, windows.bottleneck_mbps(result))
    bursts, acks = found["data"]["bursts"], found["acks"]
    return {
        "bursty_share": bursts["share_of_packets"],
        "variation": found["data"]["intervals"]["variation"],
        "burst_packets": bursts["mean_packets"],
        "burst_p99_packets": bursts["p99_packets"],
        "ack_clocked": acks["clocking"]["explained"],
        "packets_per_ack": acks["packets_mean"],
        "bursty_share_fixed": fixed["data"]["bursts"]["share_of_packets"],
        "burst_packets_fixed": fixed["data"]["bursts"]["mean_packets"],
        "ack_clocked_fixed": fixed["acks"]["clocking"]["explained"],
        **queue_of(result),
    }


def queue_of(result: RunResult) -> dict[str, float]:
    """Return the effect of the bottleneck on the packets of all flows.

    Parameters
    ----------
    result
        A run with both taps.

    Returns
    -------
    dict
        `sojourn_mean_ms`, `sojourn_p95_ms`: time in the bottleneck after the first 5 s; `loss_rate`: dropped of those
        that came, after the first 5 s; `startup_lost_packets`: dropped before; `startup_mbps`: what left the bottleneck
        in that time; `loss_events` after it and `synchrony`, the part of the flows that lost a packet in an event;
        `returned_packets`: packets on the way back for each that came from the senders.
    """
    before = result.taps["at_sender"].filter(pl.col("direction") == "down")
    behind = result.taps["behind"].filter(pl.col("direction") == "down").select("packet_id", left_ns="time_ns")
    rows = before.join(behind, on="packet_id", how="left", maintain_order="left")
    came_ns, left_ns = rows["time_ns"].to_numpy().astype("f8"), rows["left_ns"].cast(pl.Float64).to_numpy()
    passed = ~np.isnan(left_ns)
    # first in, first out: what came after the last one that left may still be inside
    last = int(np.flatnonzero(passed)[-1]) if passed.any() else -1
    dropped = ~passed
    dropped[last + 1 :] = False
    late = came_ns >= SKIP_S * 1e9
    sojourn_ms = (left_ns - came_ns)[passed & late] / 1e6
    flows = rows["flow"].cast(pl.String).to_numpy()
    events = losers(came_ns[dropped & late] / 1e9, flows[dropped & late])
    early = rows["size_bytes"].to_numpy()[passed & (left_ns < SKIP_S * 1e9)]
    back = result.elements["back"]["received"]["packets"]
    known = sojourn_ms.size > 0
    return {
        "sojourn_mean_ms": float(sojourn_ms.mean()) if known else math.nan,
        "sojourn_p95_ms": float(np.quantile(sojourn_ms, 0.95)) if known else math.nan,
        "loss_rate": float(dropped[late].mean()) if late.any() else math.nan,
        "startup_lost_packets": float(dropped[~late].sum()),
        "startup_mbps": 8e-6 * float(early.sum()) / SKIP_S,
        "loss_events": float(len(events)),
        "synchrony": float(np.mean(events)) / len(result.flows) if events else math.nan,
        "returned_packets": back / max(rows.height, 1),
    }


def losers(times_s: np.ndarray[Any, Any], flows: np.ndarray[Any, Any]) -> list[int]:
    """Return how many flows lost a packet in each event, in which all drops are within `EVENT_S` of the first."""
    found: list[set[str]] = []
    began_s = -math.inf
    for at_s, flow in zip(times_s, flows, strict=True):
        if at_s >= began_s + EVENT_S:
            began_s = at_s
            found.append(set())
        found[-1].add(str(flow))
    return [len(names) for names in found]


def releases(result: RunResult, directory: Path) -> dict[str, float]:
    """Return in which batches packets come out of the bearer: those that pass the tap `released` at one instant.

    Parameters
    ----------
    result
        A run with that tap behind the bearer.
    directory
        Not needed.

    Returns
    -------
    dict
        `release_packets`: packets that came out together with a packet, itself included, as the mean over packets;
        `release_p95_packets`, `release_largest_packets`. NaN where nothing came after the first 5 s.
    """
    del directory
    times_ns = result.taps["released"].filter(pl.col("direction") == "down")["time_ns"].to_numpy()
    times_ns = times_ns[times_ns >= SKIP_S * 1e9]
    _, sizes = np.unique(times_ns, return_counts=True)
    if not sizes.size:
        return dict.fromkeys(("release_packets", "release_p95_packets", "release_largest_packets"), math.nan)
    by_packet = np.repeat(sizes, sizes)
    return {
        "release_packets": float(by_packet.mean()),
        "release_p95_packets": float(np.quantile(by_packet, 0.95)),
        "release_largest_packets": float(sizes.max()),
    }
