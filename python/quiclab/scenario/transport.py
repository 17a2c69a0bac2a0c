"""What the ends of a flow are: stack, congestion control, pacing, options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, kw_only=True)
class AckFrequency:
    """What a sender asks of its peer's acknowledgements (QUIC ACK Frequency extension)."""

    ack_eliciting_threshold: int
    max_ack_delay: str | None = None
    reordering_threshold: int | None = None


CongestionControl: TypeAlias = Literal[
    "newreno", "cubic", "bbr-linux", "bbr-chromium", "bbr-picoquic", "fixed", "lia", "olia", "balia"
]
SlowStartExit: TypeAlias = Literal["none", "hystart-linux", "hystart-chromium", "hystart-plus-plus", "aioquic"]


@dataclass(frozen=True, kw_only=True)
class NoPacing:
    """Packets leave as soon as the window allows."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True)
class LeakyBucket:
    """A bucket that fills at `factor` · cwnd / srtt."""

    factor: float | None = None
    slow_start_factor: float | None = None
    burst_packets: int | None = None
    burst_share: float | None = None
    burst_time: str | None = None
    idle_burst_packets: int | None = None
    whole_bursts: bool | None = None
    kind: Literal["leaky_bucket"] = "leaky_bucket"


@dataclass(frozen=True, kw_only=True)
class Even:
    """One packet after the other, without any burst."""

    factor: float | None = None
    kind: Literal["even"] = "even"


@dataclass(frozen=True, kw_only=True)
class Quantum:
    """As the leaky bucket, but a wait is never shorter than `quantum`."""

    factor: float | None = None
    burst_packets: int | None = None
    quantum: str | None = None
    kind: Literal["quantum"] = "quantum"


@dataclass(frozen=True, kw_only=True)
class TimeBucket:
    """A bucket of time; whatever it holds pays for a packet."""

    factor: float | None = None
    burst_packets: int | None = None
    burst_share: float | None = None
    kind: Literal["time_bucket"] = "time_bucket"


@dataclass(frozen=True, kw_only=True)
class LinuxPacing:
    """Internal pacing of Linux TCP."""

    max_rate: str | None = None
    kind: Literal["linux"] = "linux"


@dataclass(frozen=True, kw_only=True)
class FqPacing:
    """Pacing by the fq queueing discipline of the sender's host."""

    max_rate: str | None = None
    kind: Literal["fq"] = "fq"


Pacing: TypeAlias = NoPacing | LeakyBucket | Even | Quantum | TimeBucket | LinuxPacing | FqPacing


@dataclass(frozen=True, kw_only=True)
class TcpOptions:
    """Options of TCP; what is left out has the value of the profile."""

    mss: str | None = None
    timestamps: bool | None = None
    sack: bool | None = None
    dsack: bool | None = None
    window_scaling: bool | None = None
    receive_buffer: str | None = None
    max_receive_buffer: str | None = None
    max_send_buffer: str | None = None
    min_rto: str | None = None
    reordering: int | None = None
    max_reordering: int | None = None
    loss_detection: Literal["duplicate_acks", "duplicate_acks_and_rack", "rack"] | None = None
    tail_loss_probe: bool | None = None
    frto: bool | None = None
    undo: bool | None = None
    rate_reduction: Literal["none", "prr", "prr_safe_ack"] | None = None
    min_delayed_ack: str | None = None
    max_delayed_ack: str | None = None
    quick_acks: int | None = None
    compressed_acks: int | None = None
    compressed_ack_delay: str | None = None
    restart_after_idle: bool | None = None
    gso_segments: int | None = None
    initial_rto: str | None = None
    metrics: Literal["none", "from_run_before"] | None = None


@dataclass(frozen=True, kw_only=True)
class AckEvery:
    """Acknowledge every few packets, after a delay, and at once where packets are missing."""

    packets: int | None = None
    delay: str | None = None
    kind: Literal["every"] = "every"


@dataclass(frozen=True, kw_only=True)
class AckTimer:
    """Acknowledge after a delay only, whatever arrives."""

    delay: str
    kind: Literal["timer"] = "timer"


@dataclass(frozen=True, kw_only=True)
class AckRttFraction:
    """Acknowledge after a part of the RTT, or a number of packets."""

    fraction: float | None = None
    packets: int | None = None
    delay: str | None = None
    from_packet: int | None = None
    kind: Literal["rtt_fraction"] = "rtt_fraction"


@dataclass(frozen=True, kw_only=True)
class AckAsAsked:
    """Acknowledge as the peer asks with ACK_FREQUENCY frames."""

    delay: str | None = None
    kind: Literal["as_asked"] = "as_asked"


Acknowledgement: TypeAlias = AckEvery | AckTimer | AckRttFraction | AckAsAsked


@dataclass(frozen=True, kw_only=True)
class RoundRobin:
    """Each path in turn that has room."""

    kind: Literal["round_robin"] = "round_robin"


@dataclass(frozen=True, kw_only=True)
class StrictRoundRobin:
    """Each path in turn; one without room is waited for."""

    kind: Literal["strict_round_robin"] = "strict_round_robin"


@dataclass(frozen=True, kw_only=True)
class WeightedRoundRobin:
    """Bytes in the ratio of given weights, by the paths that have room."""

    weights: tuple[int, ...]
    kind: Literal["weighted_round_robin"] = "weighted_round_robin"


@dataclass(frozen=True, kw_only=True)
class LowestRtt:
    """The path with the lowest smoothed RTT that has room; the slowest may be penalised."""

    penalise_above: str | None = None
    kind: Literal["lowest_rtt"] = "lowest_rtt"


@dataclass(frozen=True, kw_only=True)
class CheapestFirst:
    """The cheapest path that has room."""

    order: tuple[int, ...] | None = None
    kind: Literal["cheapest_first"] = "cheapest_first"


@dataclass(frozen=True, kw_only=True)
class Redundant:
    """All paths that have room: the packet is sent several times."""

    kind: Literal["redundant"] = "redundant"


@dataclass(frozen=True, kw_only=True)
class Blest:
    """The fastest path, or a slower one if it is estimated not to block it."""

    scaling: float | None = None
    send_window: str | None = None
    kind: Literal["blest"] = "blest"


@dataclass(frozen=True, kw_only=True)
class Ecf:
    """The fastest path, or a slower one if everything that waits ends sooner with it."""

    hysteresis: float | None = None
    kind: Literal["ecf"] = "ecf"


@dataclass(frozen=True, kw_only=True)
class EarliestArrival:
    """The path on which the packet is expected to arrive first."""

    hysteresis: float | None = None
    patience: str | None = None
    kind: Literal["earliest_arrival"] = "earliest_arrival"


#: In full, or short: the kind alone.
PathScheduler: TypeAlias = (
    RoundRobin
    | StrictRoundRobin
    | WeightedRoundRobin
    | LowestRtt
    | CheapestFirst
    | Redundant
    | Blest
    | Ecf
    | EarliestArrival
    | Literal[
        "round_robin",
        "strict_round_robin",
        "lowest_rtt",
        "cheapest_first",
        "redundant",
        "blest",
        "ecf",
        "earliest_arrival",
    ]
)


@dataclass(frozen=True, kw_only=True)
class QuicOptions:
    """Options of QUIC; what is left out has the value of the profile."""

    version: Literal["v1", "gquic-37"] | None = None
    connection_id: str | None = None
    packet_number: str | None = None
    acknowledgement: Acknowledgement | None = None
    ack_ranges: int | None = None
    max_ack_delay: str | None = None
    adaptive_packet_threshold: bool | None = None
    adaptive_time_threshold: bool | None = None
    rtt_variation: Literal["rfc9002", "from_minimum"] | None = None
    persistent_congestion: bool | None = None
    probe_packets: int | None = None
    window_validation: bool | None = None
    max_window: str | None = None
    pacing_before_rtt: bool | None = None
    max_streams: int | None = None
    flow_control: Literal["fixed", "double_when_half_used", "double_within_two_rtts"] | None = None
    max_stream_receive_window: str | None = None
    max_connection_receive_window: str | None = None
    stream_scheduler: Literal["fifo", "round_robin", "priority", "priority_in_batches"] | None = None
    amplification_factor: int | None = None
    datagram_congestion_control: bool | None = None
    idle_timeout: str | None = None
    path_scheduler: PathScheduler | None = None


@dataclass(frozen=True, kw_only=True)
class Http2Options:
    """Options of an end of HTTP/2, which a page over TCP uses."""

    stream_window: str | None = None
    connection_window: str | None = None
    max_streams: int | None = None
    frame_size: str | None = None
    warm_up: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tls:
    """TLS, as flights of exact size with their round trips."""

    version: Literal["1.2", "1.3"]
    resumption: bool | None = None
    certificate: str | None = None
    early_data: Literal["accepted", "rejected"] | None = None


@dataclass(frozen=True, kw_only=True)
class EndpointConfig:
    """Stack and options of one end of a flow."""

    stack: str | None = None
    profile: str | None = None
    host: str | None = None
    congestion_control: CongestionControl | None = None
    datagram_size: str | None = None
    initial_window: str | None = None
    stream_receive_window: str | None = None
    connection_receive_window: str | None = None
    send_window: str | None = None
    packet_threshold: int | None = None
    time_threshold: float | None = None
    initial_rtt: str | None = None
    ack_frequency: AckFrequency | None = None
    controller: Literal["stack", "quiclab"] | None = None
    emulated_connections: int | None = None
    slow_start_exit: SlowStartExit | None = None
    pacing: Pacing | None = None
    tcp: TcpOptions | None = None
    quic: QuicOptions | None = None
    http2: Http2Options | None = None
    tls: Tls | None = None
