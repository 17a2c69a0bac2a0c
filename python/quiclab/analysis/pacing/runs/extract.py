"""The stored data of a run with a bottleneck: its analysis, the source of all metrics and figures.

The scenario has a flow `main`, a tap `at_sender`, and a link `bottleneck`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiclab._base.libraries import np, pl
from quiclab.analysis.pacing.runs import windows
from quiclab.analysis.pacing.runs.captures import acknowledgements
from quiclab.analysis.pacing.runs.over_time import half_widths, over_time
from quiclab.analysis.pacing.runs.taps import ETHERNET_BYTES, of_flow
from quiclab.errors import QuiclabError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from quiclab.result import RunResult

SKIP_S = 5.0
"""Time excluded at the start [s]: handshake, slow start, and the STARTUP phase of BBR."""
GAINS = (1.25, 1.0, 0.75)
STEP_S = 1.0
PERIODS_S = (3, 30)
"""Shortest and longest period that is looked for."""
CORRELATED = 0.3
MIN_STEPS = 40
"""Seconds with acknowledgements, at least."""
ROUNDING = 1e-9


def main_flow(result: RunResult, directory: Path) -> dict[str, Any]:
    """Analyse the flow `main`: its packets at the tap, and what its receiver acknowledges.

    Parameters
    ----------
    result
        A run of either lane, with the tap; of the sim lane with `record.acks`, of the kernel lane with `record.pcapng`.
    directory
        Where the captures of the kernel lane are.

    Returns
    -------
    dict
        A flow of the document `quiclab.pacing/1` with the windows of the bottleneck (`windows`);
        `fixed`: its `bursts` and `clocking` with the fixed windows; `period_s`: the period of the packets that an
        acknowledgement covers (`None` without one, or in the kernel lane). In the sim lane also `over_time`, and
        `half_widths_us` of the clusters of each gain (`quiclab.analysis.pacing.runs.over_time`).
    """
    rate_mbps = bottleneck_mbps(result)
    common = {"bottleneck_mbps": rate_mbps, "gains": list(GAINS), "skip_s": SKIP_S}
    kernel = result.data.get("lane") == "kernel"

    def analyse(own: Mapping[str, float]) -> dict[str, Any]:
        settings = {**common, **own}
        found = of_flow(result, "main", settings=settings)
        if kernel:
            found |= acknowledgements(directory / "main.sender.pcapng", settings)
        return found

    found, fixed = windows.twice(analyse, rate_mbps)
    # rates over time are for pages, and large
    found["data"].pop("rate_over_time_mbps")
    kept = {**found, "fixed": {"bursts": fixed["data"]["bursts"], "clocking": fixed["acks"]["clocking"]}}
    if kernel:
        return {**kept, "period_s": None}
    together = 2 if result.data["scenario"]["flows"]["main"].get("stack") == "lab-tcp" else 1
    expected_ms = [together * item["interval_ms"] for item in found["data"]["clusters"]["expected"]]
    return {
        **kept,
        "period_s": period_s(result),
        "over_time": over_time(result, "main", SKIP_S),
        "half_widths_us": half_widths(result, "main", SKIP_S, expected_ms),
    }


def link_use(result: RunResult, directory: Path) -> dict[str, float]:
    """Return how far the flow `main` fills the link `bottleneck`, in front of the tap.

    Parameters
    ----------
    result
        A run with the tap behind the link.
    directory
        Not needed.

    Returns
    -------
    dict
        `utilisation`: bits of all frames, Ethernet headers included, over the time from the first to the last and the
        rate of the link; `packets`.
    """
    del directory
    records = result.taps["at_sender"].filter((pl.col("flow") == "main") & (pl.col("direction") == "down"))
    times_ns = records["time_ns"]
    frame_bytes = int(records["size_bytes"].cast(pl.Int64).sum()) + ETHERNET_BYTES * records.height
    seconds = (int(times_ns[-1]) - int(times_ns[0])) / 1e9 if records.height > 1 else 0.0
    used = 8e-6 * frame_bytes / seconds / bottleneck_mbps(result) if seconds > 0 else 0.0
    return {"utilisation": used, "packets": float(records.height)}


def bottleneck_mbps(result: RunResult) -> float:
    """Return the rate of the bottleneck [Mbit/s].

    Raises
    ------
    QuiclabError
        If it changes.
    """
    rate_mbps = windows.bottleneck_mbps(result)
    if rate_mbps is None:
        raise QuiclabError("links.bottleneck.rate changes: there is no interval of evenly spaced packets")
    return rate_mbps


def period_s(result: RunResult) -> float | None:
    """Return the period of the packets an acknowledgement covers, from the autocorrelation of medians of a second.

    The shortest lag of 3 to 30 s with the largest value, of those at which it has a local maximum of at least 0.3;
    `None` without one. Seconds without an acknowledgement are interpolated, and a linear trend is taken away.
    """
    if result.acks.is_empty():
        return None
    heard = result.acks.filter((pl.col("element") == "main.sender") & (pl.col("covered") > 0))
    steps = (heard["time_ns"].to_numpy() / (STEP_S * 1e9)).astype(int)
    covered = heard["covered"].to_numpy()
    there = np.unique(steps[steps >= int(SKIP_S / STEP_S)])
    if len(there) < MIN_STEPS:
        return None
    at = np.arange(there[0], there[-1] + 1)
    medians = np.interp(at, there, [float(np.median(covered[steps == step])) for step in there])
    values = medians - np.polyval(np.polyfit(at, medians, 1), at)
    # what a straight line leaves are errors of rounding
    if np.ptp(values) <= ROUNDING * np.abs(medians).max():
        return None
    power = float(values @ values)
    shortest, longest = PERIODS_S[0], min(PERIODS_S[1], len(values) // 2)
    # one more on either side, so that a maximum at the first or last is one; the sum has fewer terms the longer the lag
    found = {
        lag: float(values[lag:] @ values[:-lag]) / power * len(values) / (len(values) - lag)
        for lag in range(shortest - 1, longest + 2)
    }
    peaks = [
        lag for lag in range(shortest, longest + 1) if found[lag] >= max(found[lag - 1], found[lag + 1], CORRELATED)
    ]
    return max(peaks, key=lambda lag: found[lag]) * STEP_S if peaks else None
