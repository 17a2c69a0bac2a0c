"""Which packets of a run are of one burst, and which bursts answer an acknowledgement: two windows, defined here alone.

Both are half of the bottleneck's spacing, the time that a full packet of the flow takes there:

- Packets that follow each other faster leave at more than twice the rate of the bottleneck, faster than pacers after
  slow start (N and gains are at most 1.25): nothing spaces them, and the bottleneck has to queue them.
- A burst answers an ACK if it begins within this time after it. At the rate of the bottleneck that is half of the time
  if each packet is acknowledged by itself, a quarter with an ACK for two, and less with rarer ones, so that chance
  never explains all; packets of a pacer fall into the rest, too.

So they scale with rate and packet, and what a host takes for a packet changes neither as long as it is less than half
of the spacing. A program that takes longer is nearly as slow as the bottleneck, or slower: it sets the pace itself, and
intervals show its own.

Fixed windows of 0.04 and 0.1 ms are beside them: those of numbers that are compared with published ones, whose sources
define none. 0.04 ms lies between packets sent in one batch (8 us) and the shortest interval of a pacer at 100 Mbit/s
(84 us). A host that takes as long moves packets out of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from quiclab.scenario.quantity import megabits_per_second

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quiclab.result import RunResult

    Analysis = dict[str, Any]

#: Maximum gap within a burst, and maximum delay of a burst after its ACK, as a part of the bottleneck's spacing.
PART_OF_SPACING: Final = 0.5
FIXED: Final[Mapping[str, float]] = {"burst_gap_ms": 0.04, "clocked_ms": 0.1}


def bottleneck_mbps(result: RunResult) -> float | None:
    """Return the rate of the link `bottleneck` [Mbit/s]; `None` if it changes."""
    rate = result.data["scenario"]["links"]["bottleneck"]["rate"]
    if isinstance(rate, dict):
        return megabits_per_second(str(rate["rate"])) if "rate" in rate else None
    return megabits_per_second(str(rate))


def derived(frame_bytes: float, rate_mbps: float) -> dict[str, float]:
    """Return both windows for packets of this size at a bottleneck of this rate, as settings of an analysis."""
    window_ms = PART_OF_SPACING * 8e-3 * frame_bytes / rate_mbps
    return {"burst_gap_ms": window_ms, "clocked_ms": window_ms}


def twice(analyse: Callable[[Mapping[str, float]], Analysis], rate_mbps: float | None) -> tuple[Analysis, Analysis]:
    """Analyse a run with the windows of its bottleneck, and with the fixed ones.

    Parameters
    ----------
    analyse
        Returns the analysis with given windows.
    rate_mbps
        Rate of the bottleneck; `None` if it changes.

    Returns
    -------
    tuple
        Both analyses. A bottleneck whose rate changes has no spacing: its bursts and ACK clocking are then `None`.
    """
    fixed = analyse(FIXED)
    if rate_mbps is None:
        data = {**fixed["data"], "bursts": dict.fromkeys(fixed["data"]["bursts"])}
        acks = {**fixed["acks"], "clocking": dict.fromkeys(fixed["acks"]["clocking"])}
        return {**fixed, "data": data, "acks": acks}, fixed
    return analyse(derived(fixed["data"]["frame_median_bytes"], rate_mbps)), fixed
