"""Analytical estimate of the throughput of a download over a split bearer with t-Reordering.

Third part: the congestion window over the links of `_dual_connectivity_links`. NewReno grows by a packet for each
window that is acknowledged and is halved by a loss; each loss costs one expiry of t-Reordering. The states are the
windows after a loss, a cycle is what lies between two losses, and the download is followed cycle by cycle (a Markov
chain, deterministic without random loss) until the file is through. About 2 ms a point.

Derivation, validity and comparison: docs/studies/dual_connectivity_model.md. Nothing is fitted to results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quiclab.errors import alternatives, expected_got, shown
from quiclab.scenario.quantity import seconds
from quiclab.study.libraries import np
from quiclab_studies.dual_connectivity.links import (
    early_overflow,
    overflow_window_packets,
    rate_packets_per_s,
    split_bound_packets_per_s,
)
from quiclab_studies.dual_connectivity.setting import (
    AIOQUIC,
    LINUX_RENO,
    Parameters,
    Sender,
    links_of,
    loss_probability,
    slow_start_exit_packets,
)
from quiclab_studies.hosts import AIOQUIC_DATAGRAM

if TYPE_CHECKING:
    from quiclab_studies.dual_connectivity.links import Floats

SKB_TRUESIZE = 2304  # bytes that Linux charges for a datagram of 1280
INITIAL_WINDOW = 10.0  # packets
MIN_WINDOW = 2.0  # packets, RFC 9002 section 7.2
MAX_ACK_DELAY_S = 0.025  # RFC 9000 section 18.2, part of a probe timeout
READ_S, ACK_TIMER_S = seconds(AIOQUIC_DATAGRAM), 1e-3  # cost of a datagram at the study's client; aioquic's timer
GRID = 96
SAME_STATE = 1e-9
UNLIKELY = 1e-3  # starts that do not widen the grid


@dataclass(frozen=True)
class Estimate:
    """Results of the model with intermediate values; times in s, windows and queues in packets, rates in packets/s.

    Attributes
    ----------
    throughput_mbps
        File bits over the time from the start of the client [Mbit/s].
    split_bound_mbps
        The same with links that are never idle: min(r1/s, r2/(1-s)) x payload / wire [Mbit/s].
    overflow_window_packets
        Window at which a queue overflows.
    excursion_packets
        Queue of the run of a batch on each link at the full split bound.
    slow_start_window_packets, slow_start_s
        Window at the end of slow start, and time until then, handshake included.
    mean_window_packets
        Over time, stalls not counted.
    loss_events, expiries
        Reductions of the window, and expiries of t-Reordering, in the file.
    stall_s
        Capacity that a loss event costs, as time without any packet on the links (mean; without those of slow start).
    idle_s
        All of it in the file.
    utilisation
        Busy part of each link over the download.
    """

    throughput_mbps: float
    split_bound_mbps: float
    overflow_window_packets: float
    excursion_packets: tuple[float, ...]
    slow_start_window_packets: float
    slow_start_s: float
    mean_window_packets: float
    loss_events: float
    expiries: float
    stall_s: float
    idle_s: float
    utilisation: tuple[float, ...]


class Download:
    """A download that is followed cycle by cycle; expected values of packets, time and events so far."""

    def __init__(self, parameters: Parameters, sender: Sender) -> None:
        self.parameters = parameters
        self.sender = sender
        self.links = links_of(parameters, sender)
        self.loss = loss_probability(parameters)
        self.round_trip_s = max(link.round_trip_s for link in self.links)
        self.timer_s = parameters.t_reordering_ms / 1e3
        self.file_packets = parameters.file_mb * 1e6 / sender.payload_bytes
        self.overflow = overflow_window_packets(self.links, parameters.queue_packets)
        self.early, self.early_probability = early_overflow(self.links, parameters.queue_packets)
        self.packets = 0.0
        self.time_s = sender.round_trips_to_first_byte * self.round_trip_s
        self.events = self.expiries = self.idle_s = 0.0

    def rate(self, window: Floats) -> Floats:
        """Return what windows achieve [packets/s]."""
        return rate_packets_per_s(self.links, window)

    def rate_at(self, window: float) -> float:
        """Return what one window achieves [packets/s]."""
        return float(self.rate(np.array([window]))[0])

    def stall_s(self, window: Floats, lead_s: float = 0.0) -> Floats:
        """Return the time for which the links have nothing to send after a loss at these windows [s].

        Between the arrival of the gap and that of the first packet sent after the expiry lie T + D; in it the window is
        delivered that was in flight, which takes W / lambda. The timer may have run for `lead_s` when delivery stops.
        """
        return np.maximum(0.0, self.timer_s - lead_s + self.round_trip_s - window / self.rate(window))

    def lead_s(self) -> float:
        """Return how long the timer has run when a packet at the end of a run is missed [s]: the hold of the run."""
        rate = self.rate_at(self.overflow) if math.isfinite(self.overflow) else split_bound_packets_per_s(self.links)
        return max(link.excursion_packets(rate) / link.rate_packets_per_s for link in self.links)

    def socket_s(self, window: Floats) -> Floats:
        """Return the delay due to the socket buffer after an expiry releases a whole window [s].

        Datagrams that do not fit are retransmitted. If more is missing than half a window, nothing can be sent
        before a probe timeout: SRTT + 4 RTTVAR + max_ack_delay, of which T - lead have passed. The
        acknowledgements of the released packets carry RTTs of about T + D; aioquic's RTTVAR is
        the mean of |RTT - min RTT|.
        """
        fit = self.parameters.receive_buffer_bytes / SKB_TRUESIZE
        if math.isinf(fit):
            return np.zeros_like(window)
        trip = window / self.rate(window)
        dropped = np.maximum(0.0, window - fit)
        samples = math.ceil(fit * READ_S / ACK_TIMER_S)
        late = self.timer_s - self.lead_s() + trip - fit / 2 / self.rate(window)
        srtt = late + (trip - late) * (7 / 8) ** samples
        rttvar = late - self.round_trip_s + (trip - late) * (3 / 4) ** samples
        wait = srtt + 4 * rttvar + MAX_ACK_DELAY_S - (self.timer_s - self.lead_s()) + self.round_trip_s
        return dropped / self.rate(window) + np.where(dropped > window / 2, np.maximum(0.0, wait), 0.0)

    def add(self, packets: float, time_s: float) -> None:
        """Add delivered packets, up to the end of the file."""
        part = min(1.0, (self.file_packets - self.packets) / packets) if packets > 0 else 1.0
        self.packets += part * packets
        self.time_s += part * time_s

    @property
    def done(self) -> bool:
        """Whether the file is through."""
        return self.packets >= self.file_packets * (1 - 1e-9)

    def slow_start(self) -> list[tuple[float, float]]:
        """Follow slow start, and return with which probability it leaves which window."""
        leaves = slow_start_exit_packets(self.links, self.sender)
        window, here = INITIAL_WINDOW, 1.0
        starts = []
        while window < min(leaves, self.overflow) and not self.done:
            lost = here * -math.expm1(window * math.log1p(-self.loss))
            self.add(here * window, here * window / self.rate_at(window))
            if lost > 0:  # seen when the window has doubled: half of that
                starts.append((lost, window))
                self._expire(lost, 1.0, float(self.stall_s(np.array([window]))[0]))
            here -= lost
            window *= 2
        if leaves <= self.overflow or self.done:
            return [*starts, (here, min(leaves, window))]
        # twice the overflowing window is sent before the loss is known, and half of that overflows again; gaps
        # everywhere, so that the packets which came after the first expiry began wait for a second one
        trip_s = self.overflow / self.rate_at(self.overflow)
        stall_s = float(self.stall_s(np.array([self.overflow]))[0])
        self.add(2 * here * self.overflow, 2 * here * trip_s)
        self._expire(here, 2.0, 2 * stall_s)
        self._expire(here, 1.0, stall_s)
        return [*starts, (here, self.overflow / 2)]

    def _expire(self, events: float, expiries: float, stall_s: float) -> None:
        """Count loss events with their expiries and stall each."""
        if self.done:
            return
        self.events += events
        self.expiries += events * expiries
        self.idle_s += events * stall_s
        self.time_s += events * stall_s

    def _states(self, starts: list[tuple[float, float]]) -> Floats:
        """Return the distinguished windows, closer together where they are small.

        As far as a window can come: to the overflow, with the whole file, or with 20 times the packets between losses.
        """
        packets_ahead = min(self.file_packets, 20 / self.loss if self.loss else math.inf)
        highest = max(window for weight, window in starts if weight > UNLIKELY)
        top = min(self.overflow, math.hypot(highest, math.sqrt(2 * packets_ahead)) + 1)
        return MIN_WINDOW + (max(top, 2 * MIN_WINDOW) - MIN_WINDOW) * np.linspace(0.0, 1.0, GRID) ** 2

    def avoid_congestion(self, starts: list[tuple[float, float]]) -> tuple[float, float]:
        """Follow the cycles of congestion avoidance; return the mean window and the stall of a loss [s]."""
        edges = self._states(starts)
        middle = (edges[1:] + edges[:-1]) / 2
        # a packet for each window: dn = W dW, and dt = dn / lambda
        step_packets = middle * np.diff(edges)
        step_s = step_packets / self.rate(middle)
        sent = np.concatenate(([0.0], np.cumsum(step_packets)))
        upper = np.arange(GRID)[:, None] <= np.arange(GRID)[None, :]
        alive = np.where(upper, np.exp(np.minimum(0.0, np.log1p(-self.loss) * (sent[None, :] - sent[:, None]))), 0.0)
        # the early overflow lies in the step around its window
        past = np.clip((edges - self.early) / np.gradient(edges) + 0.5, 0.0, 1.0)
        later = np.arange(GRID)[:, None] < np.arange(GRID)[None, :]
        alive = np.where(later, (1 - self.early_probability * past[None, :]) * alive, alive)
        # where a cycle that began at one window ends: at random between two, or at the top
        random_end = np.where(upper[:, :-1], alive[:, :-1] - alive[:, 1:], 0.0)
        full_end = alive[:, -1]
        again = -np.expm1(middle * np.log1p(-self.loss))  # another loss in the window after the first
        random_stall = self.stall_s(middle) + again * self.timer_s + self.socket_s(middle)
        full = np.array([edges[-1]])
        full_again = -math.expm1(edges[-1] * math.log1p(-self.loss))
        full_stall = float((self.stall_s(full, self.lead_s()) + full_again * self.timer_s + self.socket_s(full))[0])
        full_trip = float((full / self.rate(full))[0])

        # a cycle: growth, the window in flight at the loss, the stall
        step_alive = np.where(upper[:, :-1], (alive[:, :-1] + alive[:, 1:]) / 2, 0.0)
        packets = step_alive @ step_packets + random_end @ middle + full_end * edges[-1]
        stall = random_end @ random_stall + full_end * full_stall
        busy = step_alive @ step_s + random_end @ (middle / self.rate(middle)) + full_end * full_trip
        expiries = 1 + random_end @ again + full_end * full_again
        growth = random_end @ _onto(edges, middle / 2) + full_end[:, None] * _onto(edges, full / 2)
        window_s = step_alive @ (middle * step_s)

        state = np.zeros(GRID)
        for weight, window in starts:
            state += weight * _onto(edges, np.array([window]))[0]
        area = spent = 0.0
        growth_s = step_alive @ step_s
        while not self.done:
            a_cycle = float(state @ packets)
            left = self.file_packets - self.packets
            if left < a_cycle:
                self._last_cycle(left, state, edges, sent, np.concatenate(([0.0], np.cumsum(step_s))))
                break
            after = state @ growth
            # all further cycles are like this one as soon as the distribution stays
            count = math.floor(left / a_cycle) if np.abs(after - state).sum() < SAME_STATE else 1
            self.packets += count * a_cycle
            self.time_s += count * float(state @ (busy + stall))
            self.idle_s += count * float(state @ stall)
            self.events += count
            self.expiries += count * float(state @ expiries)
            area += count * float(state @ window_s)
            spent += count * float(state @ growth_s)
            state = after
        if spent == 0.0:
            area, spent = float(state @ window_s), float(state @ growth_s)
        return area / max(spent, 1e-9), float(state @ stall)

    def _last_cycle(self, left: float, state: Floats, edges: Floats, sent: Floats, time_s: Floats) -> None:
        """Add the cycle in which the file ends: growth, then the rest at the rate of the largest window."""
        until = sent + left
        grown_s = np.interp(until, sent, time_s) - time_s
        rest_s = np.maximum(0.0, until - sent[-1]) / self.rate_at(float(edges[-1]))
        lost = float(state @ -np.expm1(np.log1p(-self.loss) * np.minimum(left, sent[-1] - sent)))
        stall_s = float(state @ self.stall_s(edges))
        self.packets = self.file_packets
        self.time_s += float(state @ (grown_s + rest_s)) + lost * stall_s
        self.idle_s += lost * stall_s
        self.events += lost
        self.expiries += lost


def _onto(edges: Floats, windows: Floats) -> Floats:
    """Return how windows are divided between the two states around each: one row a window."""
    below = np.clip(np.searchsorted(edges, windows, side="right") - 1, 0, len(edges) - 2)
    part = np.clip((windows - edges[below]) / (edges[below + 1] - edges[below]), 0.0, 1.0)
    rows = np.zeros((len(windows), len(edges)))
    index = np.arange(len(windows))
    rows[index, below] = 1 - part
    rows[index, below + 1] = part
    return rows


def model(parameters: Parameters, sender: Sender = AIOQUIC) -> Estimate:
    """Estimate a download.

    Parameters
    ----------
    parameters
        The setting.
    sender
        The stack: `AIOQUIC` or `LINUX_RENO`, or one of them with other properties.

    Returns
    -------
    Estimate
        The throughput [Mbit/s] and what leads to it.
    """
    download = Download(parameters, sender)
    links = download.links
    starts = download.slow_start()
    slow_start_s = download.time_s
    mean_window, stall_s = download.avoid_congestion(starts)
    bound = split_bound_packets_per_s(links)
    mbit = 8 * sender.payload_bytes / 1e6
    achieved = download.file_packets / download.time_s
    return Estimate(
        throughput_mbps=mbit * achieved,
        split_bound_mbps=mbit * bound,
        overflow_window_packets=download.overflow,
        excursion_packets=tuple(link.excursion_packets(bound) for link in links),
        slow_start_window_packets=starts[-1][1],
        slow_start_s=slow_start_s,
        mean_window_packets=mean_window,
        loss_events=download.events,
        expiries=download.expiries,
        stall_s=stall_s,
        idle_s=download.idle_s,
        utilisation=tuple(min(1.0, achieved * link.share / link.rate_packets_per_s) for link in links),
    )


SENDERS = {"quic_large_buffer": AIOQUIC, "quic_default_buffer": AIOQUIC, "tcp": LINUX_RENO}
DEFAULT_BUFFER_BYTES = 212992.0


def estimate(configuration: str, **values: float) -> float:
    """Return the estimated throughput of a configuration of the study [Mbit/s].

    Parameters
    ----------
    configuration
        `quic_large_buffer`, `quic_default_buffer` or `tcp`.
    **values
        Fields of `Parameters` that differ from the default point, with their units.

    Returns
    -------
    float
        Mbit/s, file bits over the time from the start of the client.
    """
    if configuration not in SENDERS:
        raise ValueError(f"configuration: {expected_got(alternatives(SENDERS), shown(configuration))}")
    parameters = Parameters(**values)  # type: ignore[arg-type]  # a boolean is a number
    if configuration == "quic_default_buffer":
        parameters = replace(parameters, receive_buffer_bytes=DEFAULT_BUFFER_BYTES)
    return model(parameters, SENDERS[configuration]).throughput_mbps
