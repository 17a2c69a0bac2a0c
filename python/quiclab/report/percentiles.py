"""Round-trip times and queueing delays of a run: what `quiclab run` prints first.

Percentiles are those over time: of equally spaced samples of the smoothed RTT of a sender and of the backlog of a link.
Sampling changes nothing in a run (its events and its digest stay the same), so a run whose scenario has no time series
is sampled for its summary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from quiclab.scenario.quantity import bits_per_second, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Samples: TypeAlias = "Mapping[str, Mapping[str, Sequence[float]]]"
"""Element -> metric -> values in the order of time."""

PERCENTILES: Final = (50, 95, 99)
#: Step of the samples [ms]; longer where a run would have more than `MAX_SAMPLES` of each metric at all elements.
STEP_MS: Final = 10
MAX_SAMPLES: Final = 200_000
NS_PER_MS: Final = 10**6


def step_of(scenario: Mapping[str, Any]) -> str:
    """Return the step with which to sample a resolved scenario that has no time series."""
    elements = len(scenario["links"]) + 2 * len(scenario["flows"])
    needed = math.ceil(elements * nanoseconds(scenario["duration"]) / NS_PER_MS / MAX_SAMPLES)
    return f"{max(STEP_MS, needed)} ms"


def percentiles(values: Sequence[float]) -> list[float | None]:
    """Return the percentiles of samples, interpolated between neighbours as numpy does; `None` without samples."""
    ordered = sorted(values)
    if not ordered:
        return [None] * len(PERCENTILES)
    found: list[float | None] = []
    for percent in PERCENTILES:
        position = percent / 100 * (len(ordered) - 1)
        below = int(position)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (position - below) * (ordered[above] - ordered[below]))
    return found


def waits_ms(data: Mapping[str, Any], link: str, samples: Samples) -> Sequence[float]:
    """Return how long a packet that arrives at a link would wait, at each sample; empty if that is not known.

    The time to transmit the backlog, the packet in service included, at a constant rate; behind a queue discipline that
    measures it, the wait of the packet served last.

    Parameters
    ----------
    data
        The result of the run.
    link
        Name of the link.
    samples
        The samples of the run.
    """
    found = samples.get(link, {})
    if "queue_sojourn_ms" in found:
        return found["queue_sojourn_ms"]
    rate = data["scenario"]["links"][link].get("rate")
    changed = any(change["link"] == link for change in data.get("changes", []))
    if changed or not isinstance(rate, str):  # a trace, or no limit
        return []
    bits_per_ms = bits_per_second(rate) / 1000
    return [8 * backlog / bits_per_ms for backlog in found.get("queue_bytes", [])]
