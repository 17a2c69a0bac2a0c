"""Settings and stacks of the analytical model of the Dual Connectivity study, in units of packets.

Second part of the model, between `_dual_connectivity_links` and `_dual_connectivity_model`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from quiclab.errors import expected_got
from quiclab_studies.dual_connectivity.links import Link, jitter_hold_s, split_bound_packets_per_s

ETHERNET, IPV4, UDP, TCP, PDCP = 14, 20, 8, 20, 2  # bytes; netem shapes with the Ethernet header
# short header with a connection ID of 8 bytes and 2 of packet number (RFC 9000 section 17.3.1), tag of 16 (RFC 9001
# section 5.3), STREAM frame with an offset of 4 and a length of 2 (RFC 9000 section 19.8)
QUIC_HEADERS = (1 + 8 + 2) + 16 + (1 + 1 + 4 + 2)
TIMESTAMPS = 12  # RFC 7323 section 3.2, padded
TLS_RECORD, RECORD_HEADERS = (
    16384,
    22 + 9,
)  # RFC 8446 section 5.2; HTTP/2 frames (RFC 9113 section 4.1) as long as records
SEGMENT = 1280  # bytes, UDP payload and clamped MSS of the published set-up


@dataclass(frozen=True)
class Sender:
    """Parameters of a stack in the model.

    Attributes
    ----------
    wire_bytes, payload_bytes
        Length of a full packet on the link, and its payload [B].
    round_trips_to_first_byte
        From the start of the client to the first byte: handshakes and request.
    acknowledgement_delay_ms
        Mean delay of acknowledgements at the receiver [ms].
    rtt_exit
        Whether slow start ends when the RTT has risen by a quarter (aioquic's `QuicRttMonitor`), or by a loss only.
    """

    wire_bytes: float
    payload_bytes: float
    round_trips_to_first_byte: float
    acknowledgement_delay_ms: float
    rtt_exit: bool


# aioquic acknowledges by a timer of 1 ms (K_GRANULARITY), which the first packet of each acknowledgement waits for
AIOQUIC = Sender(ETHERNET + IPV4 + UDP + SEGMENT + PDCP, SEGMENT - QUIC_HEADERS, 2.0, 1.0, rtt_exit=True)
# Linux Reno acknowledges each second segment: half a packet waits, 0.27 ms at 20 Mbit/s; TCP, TLS 1.3, request
LINUX_RENO = Sender(
    ETHERNET + IPV4 + TCP + SEGMENT + PDCP,
    (SEGMENT - TIMESTAMPS) * TLS_RECORD / (TLS_RECORD + RECORD_HEADERS),
    3.0,
    0.27,
    rtt_exit=False,
)


@dataclass(frozen=True)
class Parameters:
    """A setting; the defaults are the published ones.

    Attributes
    ----------
    file_mb
        Size of the file [10^6 B].
    batch_packets
        Packets of a batch.
    share_percent
        Share of the packets on link 1 [%]; a batch has ceil(share x batch) of them.
    rate_1_mbps, rate_2_mbps
        Rates of the links [Mbit/s].
    delay_1_ms, delay_2_ms, uplink_delay_ms
        One-way delays [ms].
    jitter_percent
        Deviation of each delay [% of it]; packets overtake one another.
    queue_packets
        Limit of each queue, the packet in service included.
    loss_1_percent, loss_2_percent
        Random loss [%].
    duplicate
        Whether both links carry all packets.
    t_reordering_ms
        t-Reordering [ms].
    receive_buffer_bytes
        Socket buffer of the client in the units of Linux [B]; infinite: never full. For datagrams only.
    """

    file_mb: float = 100.0
    batch_packets: float = 100.0
    share_percent: float = 50.0
    rate_1_mbps: float = 20.0
    rate_2_mbps: float = 20.0
    delay_1_ms: float = 10.0
    delay_2_ms: float = 10.0
    uplink_delay_ms: float = 10.0
    jitter_percent: float = 10.0
    queue_packets: float = 100.0
    loss_1_percent: float = 0.0
    loss_2_percent: float = 0.0
    duplicate: bool = False
    t_reordering_ms: float = 200.0
    receive_buffer_bytes: float = math.inf

    def __post_init__(self) -> None:
        infinite = {"queue_packets", "receive_buffer_bytes"}
        zero = {"share_percent", "jitter_percent", "loss_1_percent", "loss_2_percent", "t_reordering_ms"}
        zero |= {"delay_1_ms", "delay_2_ms", "uplink_delay_ms"}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "duplicate":
                continue
            if math.isnan(value) or (math.isinf(value) and field.name not in infinite):
                raise ValueError(f"{field.name}: {expected_got('a finite number', value)}")
            if value < 0 or (value == 0 and field.name not in zero):
                limit = "at least 0" if field.name in zero else "more than 0"
                raise ValueError(f"{field.name}: {expected_got(limit, value)}")
            if field.name.endswith("percent") and (value > 100 or ("loss" in field.name and value == 100)):
                limit = "less than 100" if "loss" in field.name else "at most 100"
                raise ValueError(f"{field.name}: {expected_got(limit, value)}")
        if self.batch_packets < 1 or self.queue_packets < 1:
            least = min(self.batch_packets, self.queue_packets)
            raise ValueError(f"batch_packets and queue_packets: {expected_got('at least 1', least)}")


def links_of(parameters: Parameters, sender: Sender) -> list[Link]:
    """Return the links in use, in packets; two that duplicate count as the slower one, without batches."""
    p = parameters
    on_1 = math.ceil(round(p.share_percent / 100 * p.batch_packets, 9))
    links = []
    for rate_mbps, delay_ms, run in (
        (p.rate_1_mbps, p.delay_1_ms, on_1),
        (p.rate_2_mbps, p.delay_2_ms, p.batch_packets - on_1),
    ):
        share = 1.0 if p.duplicate else run / p.batch_packets
        if share <= 0:
            continue
        mu = rate_mbps * 1e6 / 8 / sender.wire_bytes
        fixed_s = (delay_ms + p.uplink_delay_ms + sender.acknowledgement_delay_ms) / 1e3 + 1 / mu
        hold_s = jitter_hold_s(p.jitter_percent / 100 * delay_ms / 1e3, mu / share)
        links.append(Link(mu, fixed_s + hold_s, share, math.inf if share >= 1 else run))
    return [min(links, key=lambda link: link.rate_packets_per_s)] if p.duplicate else links


def loss_probability(parameters: Parameters) -> float:
    """Return the probability that a packet is lost at random: of the copies both, or one of the shares' mean."""
    p = parameters
    loss = (p.loss_1_percent / 100, p.loss_2_percent / 100)
    if p.duplicate:
        return loss[0] * loss[1]
    share = math.ceil(round(p.share_percent / 100 * p.batch_packets, 9)) / p.batch_packets
    return share * loss[0] + (1 - share) * loss[1]


def slow_start_exit_packets(links: list[Link], sender: Sender) -> float:
    """Return the window at which slow start ends without a loss [packets]; infinite without such an exit.

    aioquic leaves when five samples and then five counts lie a quarter above the baseline; samples are 1 ms and a
    packet apart. What a run queues is part of that quarter, at least half of it at any time. The RTT tells so a round
    trip after the window that made it was sent, which has doubled since. If all that was acknowledged until then is in
    the first run of the first batch, only its link counts.
    """
    if not sender.rtt_exit:
        return math.inf
    trip_s = max(link.round_trip_s for link in links)

    def exit_packets(rate: float, excursion_s: float) -> float:
        return rate * (2 * (trip_s + max(0.0, trip_s / 4 - excursion_s / 2)) + 10e-3) + 10.0

    alone = exit_packets(links[0].rate_packets_per_s, 0.0)
    bound = split_bound_packets_per_s(links)
    excursion_s = max(link.excursion_packets(bound) / link.rate_packets_per_s for link in links)
    return alone if alone <= links[0].run_packets else exit_packets(bound, excursion_s)
