"""What the definition of a path says, beside what probes measure over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quiclab.scenario.quantity import milliseconds
from quiclab.sources.paths.probe import PROBE_BYTES, load, probe

if TYPE_CHECKING:
    from quiclab.sources.paths.library import LinkDefinition, NamedPath

#: Time over which a path is probed and loaded: the longest period of a path, several times.
DURATION_S: Final = 60.0
#: Start of the measurement of a rate: the first packets are in transit until then.
WARM_UP_S: Final = 1.0


@dataclass(frozen=True)
class Agreement:
    """A direction of a path, as defined and as measured.

    Attributes
    ----------
    path, link
        Name of the path, and of its link.
    defined_rate_mbps, measured_rate_mbps
        Mean rate of a loaded link, over the time that was measured.
    defined_least_ms, measured_least_ms
        Shortest one-way delay.
    defined_mean_ms, measured_mean_ms
        Mean one-way delay of packets that may overtake each other.
    mean_error_ms
        Standard error of the measured mean.
    slack_ms
        By how much the mean of this run may be another than the mean of all runs: delays that hold for long, and the
        phase of transmissions.
    defined_loss, measured_loss
        Share of lost packets.
    probes
        Number of probes.
    """

    path: str
    link: str
    defined_rate_mbps: float
    measured_rate_mbps: float
    defined_least_ms: float
    measured_least_ms: float
    defined_mean_ms: float
    measured_mean_ms: float
    mean_error_ms: float
    slack_ms: float
    defined_loss: float
    measured_loss: float
    probes: int


def compare(path: NamedPath, link: str, seed: int = 1) -> Agreement:
    """Measure a direction of a path."""
    definition = path.links[link]
    probes = probe(path, link, DURATION_S, seed, _overtaking(link, definition))
    loaded = load(path, link, DURATION_S, seed)
    start = min(WARM_UP_S, loaded.duration_s / 2)
    delays = probes.arrived_ms
    return Agreement(
        path.name,
        link,
        definition.rate_mbps(start, loaded.duration_s),
        loaded.rate_mbps(start, loaded.duration_s),
        definition.least_delay_ms(DURATION_S, PROBE_BYTES),
        float(delays.min()),
        definition.mean_delay_ms(DURATION_S, PROBE_BYTES),
        float(delays.mean()),
        float(delays.std()) / math.sqrt(len(delays)),
        _slack_ms(definition),
        definition.loss(DURATION_S),
        probes.loss,
        len(probes.delay_ms),
    )


def _overtaking(link: str, definition: LinkDefinition) -> dict[str, Any]:
    """Return the change with which packets overtake each other, if one of them may be late: none waits for another."""
    late = definition.plain.get("retransmission") or definition.distribution != "constant"
    return {f"links.{link}.delay.reorder": True} if late else {}


def _slack_ms(definition: LinkDefinition) -> float:
    """Return by how much the mean of a run may differ from that of all runs."""
    delay, slack = definition.plain["delay"], 0.0
    if delay.get("every"):
        slack += milliseconds(delay["deviation"])
    if aggregation := definition.plain.get("aggregation"):
        slack += milliseconds(aggregation["interval"]) / 2
    return slack
