"""Probes over a path, in the sim lane: one-way delay and loss of small packets, and the rate of a loaded link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quiclab._base.libraries import np
from quiclab.result import run
from quiclab.scenario import Scenario

if TYPE_CHECKING:
    import numpy.typing as npt

    from quiclab.sources.paths.library import NamedPath

#: Size of a probe with its headers, and time between two of them: less than the least rate of a path.
PROBE_BYTES: Final = 60
PROBE_INTERVAL_MS: Final = 20
#: Size of a packet that loads a link, with its headers, and packets of such a run at most.
LOAD_BYTES: Final = 1228
MAX_LOAD_PACKETS: Final = 200_000
#: The load over the largest rate of the definition.
LOAD_FACTOR: Final = 1.2
UDP_AND_IP_BYTES: Final = 28


@dataclass(frozen=True)
class Probes:
    """Probes in one direction.

    Attributes
    ----------
    sent_s
        Time at which each probe was sent.
    delay_ms
        One-way delay of each; NaN if it was lost.
    """

    sent_s: npt.NDArray[np.float64]
    delay_ms: npt.NDArray[np.float64]

    @property
    def loss(self) -> float:
        """Share of lost probes."""
        return float(np.isnan(self.delay_ms).mean())

    @property
    def arrived_ms(self) -> npt.NDArray[np.float64]:
        """Delays of those that arrived."""
        return self.delay_ms[~np.isnan(self.delay_ms)]


@dataclass(frozen=True)
class Load:
    """Packets that arrive over a loaded link: the times, and the bits of one with the overhead of the link."""

    arrivals_s: npt.NDArray[np.float64]
    bits: int
    duration_s: float

    def rate_mbps(self, start_s: float, end_s: float) -> float:
        """Return the rate at which the link served between two times."""
        served = np.count_nonzero((self.arrivals_s > start_s) & (self.arrivals_s <= end_s))
        return float(served * self.bits / (end_s - start_s) / 1e6)


def probe(
    path: NamedPath, link: str, duration_s: float, seed: int = 1, changes: dict[str, Any] | None = None
) -> Probes:
    """Send a probe every 20 ms over a link.

    Parameters
    ----------
    path, link
        The path, and the link that is probed, `down` or `up`.
    duration_s
        Time in which probes are sent.
    seed
        Seed of the run.
    changes
        Changes of the scenario, by path.
    """
    rate = PROBE_BYTES * 8 * 1000 // PROBE_INTERVAL_MS
    packets = _packets(path, link, f"{rate} bit/s", PROBE_BYTES, duration_s, seed, changes or {})
    sent, arrived = packets["probe.sender"], packets["probe.receiver"]
    ids = np.array(sorted(sent), dtype=np.uint64)
    sent_s = np.array([sent[int(number)] for number in ids]) / 1e9
    delay_ms = np.array([arrived.get(int(number), np.nan) for number in ids]) / 1e6 - sent_s * 1e3
    return Probes(sent_s, delay_ms)


def load(path: NamedPath, link: str, duration_s: float, seed: int = 1) -> Load:
    """Send more than a link can serve, for as long as the number of packets allows."""
    definition = path.links[link]
    largest = max(part.rate_mbps for part in definition.over(duration_s)) * LOAD_FACTOR
    duration_s = min(duration_s, MAX_LOAD_PACKETS * LOAD_BYTES * 8 / (largest * 1e6))
    packets = _packets(path, link, f"{round(largest * 1e6)} bit/s", LOAD_BYTES, duration_s, seed, {})
    arrivals = np.array(sorted(packets["probe.receiver"].values()), dtype=np.float64) / 1e9
    return Load(arrivals, (LOAD_BYTES + definition.overhead_bytes) * 8, duration_s)


def _packets(
    path: NamedPath, link: str, rate: str, size: int, duration_s: float, seed: int, changes: dict[str, Any]
) -> dict[str, dict[int, int]]:
    """Return when each packet of a run left the sender and arrived at the receiver [ns], by its number."""
    other = next(name for name in path.links if name != link)
    plain: dict[str, Any] = {
        "version": 1,
        "name": f"probes of {path.name}",
        "network": f"paths/{path.name}",
        "duration": f"{duration_s + 10} s",
        "until": "duration_over",
        "flows": {
            "probe": {
                "stack": "lab-udp",
                "down": [link],
                "up": [other],
                "workload": {
                    "kind": "datagrams",
                    "rate": rate,
                    "size": f"{size - UDP_AND_IP_BYTES} B",
                    "duration": f"{duration_s} s",
                },
            },
        },
        "record": {"packets": True},
    }
    scenario = Scenario.from_dict(plain).resolved().with_values(changes)
    packets = run(scenario, seed=seed).packets
    found: dict[str, dict[int, int]] = {"probe.sender": {}, "probe.receiver": {}}
    events = {("probe.sender", "departure"), ("probe.receiver", "arrival")}
    for time_ns, element, event, number in packets.select("time_ns", "element", "event", "packet_id").iter_rows():
        if (element, event) in events:
            found[element][number] = time_ns
    return found
