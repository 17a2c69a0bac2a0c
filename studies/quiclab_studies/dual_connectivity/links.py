"""Split bearer as a network of queues: throughput of a window, and the window at which a queue overflows.

First part of the analytical model of the Dual Connectivity study; the second part, `_dual_connectivity_model`, adds the
congestion window. Derivation and limits: docs/studies/dual_connectivity_model.md. Nothing here is fitted to results.

Sources: netem's model of a link (rate, then delay); 3GPP TS 38.323 (delivery in sequence, t-Reordering); the rate of a
closed network of queues without randomness is its smallest ratio of packets to time over all circuits (Baccelli, Cohen,
Olsder, Quadrat: *Synchronization and Linearity*, Wiley 1992, theorem 3.23).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from quiclab.study.libraries import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

# rates of two links that differ by less than this part are the same: their printed values are rounded to 0.1 Mbit/s
SAME_RATE = 0.005


@dataclass(frozen=True)
class Link:
    """One link of the bearer, in the units of the model.

    Attributes
    ----------
    rate_packets_per_s
        Full packets that the link serialises in a second.
    round_trip_s
        Round trip of a packet that finds an empty queue [s]; infinitely many packets may be in flight.
    share
        Part of the packets that take this link, 0 to 1.
    run_packets
        Packets of a batch that take this link one after the other; infinite if all packets do.
    """

    rate_packets_per_s: float
    round_trip_s: float
    share: float
    run_packets: float

    @property
    def pipe_packets(self) -> float:
        """Bandwidth-delay product [packets]."""
        return self.rate_packets_per_s * self.round_trip_s

    @property
    def bound_packets_per_s(self) -> float:
        """Rate of all packets at which this link is always busy: rate over share."""
        return self.rate_packets_per_s / self.share

    def excursion_packets(self, rate_packets_per_s: float) -> float:
        """Packets that queue during a run which arrives at `rate_packets_per_s`: n (1 - mu / lambda).

        The run arrives in n / lambda and takes n / mu to leave. The same number is held back behind the run.
        """
        if math.isinf(self.run_packets):
            return 0.0
        return self.run_packets * max(0.0, 1.0 - self.rate_packets_per_s / rate_packets_per_s)


def jitter_hold_s(deviation_s: float, rate_packets_per_s: float) -> float:
    """Return the increase of a delay drawn per packet that is caused by in-order delivery [s].

    A packet is delivered when it and all before it have arrived. With normal delays of deviation sigma and packets
    every 1 / lambda, it is late by less than z sigma with probability prod_k Phi(z + k / (lambda sigma)); this is the
    median.

    Parameters
    ----------
    deviation_s
        Deviation of the delay of a packet [s].
    rate_packets_per_s
        Packets of the sequence a second.

    Returns
    -------
    float
        z sigma [s], at least 0.
    """
    if deviation_s <= 0.0:
        return 0.0
    reach = 6.0  # deviations: nothing is later
    steps = np.arange(0.0, reach, 1.0 / (rate_packets_per_s * deviation_s))
    low, high = 0.0, reach
    for _ in range(16):
        z = (low + high) / 2
        low, high = (z, high) if _log_probability(z + steps) < -math.log(2.0) else (low, z)
    return deviation_s * low


def _log_probability(deviations: Floats) -> float:
    """Return the logarithm of the probability that independent normal variables are all below as many deviations."""
    return sum(math.log(0.5 * math.erfc(-z / math.sqrt(2.0))) for z in deviations.tolist())


def split_bound_packets_per_s(links: list[Link]) -> float:
    """Return the rate at which the first link is always busy [packets/s]: min(mu_i / s_i)."""
    return min(link.bound_packets_per_s for link in links)


def rate_packets_per_s(links: list[Link], window_packets: Floats) -> Floats:
    """Return what windows of packets achieve while nothing is lost.

    Circuits of packets: the acknowledgement of a packet lets another one out (a round trip D), packets of one run leave
    one after the other (1 / mu each). For a window W > mu D that reaches into the k-th run of n packets, k = ceil(W/n):

    - from inside a run to the same place k runs later: k n packets in D + (k n - W) / mu;
    - from the beginning of a run: (k + 1) n packets in D + n / mu.

    Parameters
    ----------
    links
        The links in use.
    window_packets
        Windows [packets].

    Returns
    -------
    array of float
        Packets a second, at most the split bound.
    """
    rate = np.full(window_packets.shape, split_bound_packets_per_s(links))
    for link in links:
        mu, trip, run = link.rate_packets_per_s, link.round_trip_s, link.run_packets
        busy = np.full(window_packets.shape, mu)
        if not math.isinf(run):
            reached = run * np.maximum(1.0, np.ceil(window_packets / run))
            inside = reached / (trip + np.maximum(0.0, reached - window_packets) / mu)
            busy = np.minimum(inside, (reached + run) / (trip + run / mu))
        # below the bandwidth-delay product nothing queues, and runs do not matter
        rate = np.minimum(rate, np.where(window_packets <= link.pipe_packets, window_packets / trip, busy))
    return rate


def overflow_window_packets(links: list[Link], queue_packets: float) -> float:
    """Return the window at which a queue of `queue_packets` overflows if both links are used evenly [packets].

    Either the excursion of a run fills the queue before a link is busy all the time, n (1 - mu / lambda) = Q, or a link
    is always busy and a standing queue grows. In both cases W = lambda RTT, and the packet that finds the queue full
    has the longest round trip, D + Q / mu, or waits for one of a longer path.
    """
    bound = split_bound_packets_per_s(links)
    windows, standing_s = [], []
    longest_s = max(link.round_trip_s for link in links)
    for link in links:
        mu, run = link.rate_packets_per_s, link.run_packets
        filling = mu * run / (run - queue_packets) if queue_packets < run < math.inf else math.inf
        if filling < bound:
            windows.append(filling * max(link.round_trip_s + queue_packets / mu, longest_s))
        elif link.bound_packets_per_s <= bound * (1 + SAME_RATE):
            standing_s.append(queue_packets / mu)
    if standing_s:
        windows.append(bound * (longest_s + min(standing_s)))
    return min(windows)


def early_overflow(links: list[Link], queue_packets: float) -> tuple[float, float]:
    """Return the window at which a queue may overflow early, with the probability that it does.

    A run of n > Q + mu D packets can hold a window of Q + mu D, and then one link has to take all of it. Between the
    windows (n + mu D) / 2 and n the rate does not grow, and what queues at the two links adds up to n - mu D: how it is
    divided is a phase that nothing moves back or forth, so it is taken as uniform. The larger part exceeds Q with
    probability 2 (n - mu D - Q) / (n - mu D), at most 1: certainly from n = 2 Q + mu D on.

    Returns
    -------
    tuple of float
        Window [packets] and probability; infinite and 0 if no run is that long.
    """
    found = (math.inf, 0.0)
    for link in links:
        excess = link.run_packets - link.pipe_packets
        if queue_packets < excess < math.inf:
            found = min(found, (queue_packets + link.pipe_packets, min(1.0, 2 * (excess - queue_packets) / excess)))
    return found
