"""The options of scenario files as dataclasses.

Made from the JSON schema of the engine by `python tools/scenario_reference.py --write`; change the Rust types instead.
`None` means that an option is not given: the engine fills in its default. Defaults are shown as in TOML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = [
    "AckAsRequested",
    "AckEvery",
    "AckFrequency",
    "AckRttFraction",
    "AckTimer",
    "Acknowledgement",
    "AdaptiveTimer",
    "Batches",
    "Bearer",
    "BearerMode",
    "Blest",
    "ByteCount",
    "CarrierKind",
    "CheapestFirst",
    "Codel",
    "CodelRestart",
    "CongestionControl",
    "ControlLaw",
    "Controller",
    "DataRate",
    "Datagrams",
    "Delay",
    "Delivered",
    "DirectPipeline",
    "Distribution",
    "Download",
    "DropTail",
    "Duration",
    "EarliestArrival",
    "EarlyData",
    "Ecf",
    "EndpointConfig",
    "Even",
    "Exchange",
    "Feedback",
    "Flow",
    "FlowControl",
    "FlowHash",
    "FqCodel",
    "FqPacing",
    "GilbertElliott",
    "HeadDrop",
    "Hold",
    "Host",
    "Http2Options",
    "Independent",
    "LeakyBucket",
    "LeastExpectedArrival",
    "LeaveRule",
    "Link",
    "LinuxPacing",
    "Listed",
    "Loss",
    "LowestRtt",
    "Media",
    "MemoryReturn",
    "NoPacing",
    "ObjectKind",
    "Pacing",
    "Page",
    "PageObjects",
    "PageResource",
    "PathRoutes",
    "PathScheduler",
    "Pie",
    "Ping",
    "PingProtocol",
    "Pipeline",
    "Plugin",
    "PluginEnds",
    "PquicPipeline",
    "Priorities",
    "Probability",
    "Proportional",
    "Quantum",
    "Queue",
    "QuicFlowControl",
    "QuicOptions",
    "QuicVersion",
    "Rate",
    "RateReduction",
    "Record",
    "Redundant",
    "Reordering",
    "ReorderingTimer",
    "RequestResponse",
    "RoundRobin",
    "RttVariation",
    "ScenarioFields",
    "ShapedRate",
    "SlowStartExit",
    "Splitter",
    "StreamScheduler",
    "StrictRoundRobin",
    "Tap",
    "TcpLossDetection",
    "TcpMetrics",
    "TcpOptions",
    "TimeBucket",
    "TimerRule",
    "Tls",
    "TlsVersion",
    "TokenBucket",
    "Trace",
    "TraceEnd",
    "TraceFormat",
    "Tunnel",
    "Until",
    "WeightedRoundRobin",
    "Wire",
    "WireDirection",
    "Workload",
]

#: A size, such as "64 KiB".
ByteCount: TypeAlias = str


#: A duration, such as "10 ms".
Duration: TypeAlias = str


@dataclass(frozen=True, kw_only=True)
class Download:
    """The client asks once; the server answers with `size` bytes, or for `duration`.

    Attributes
    ----------
    size
        How much the server sends. Either this or `duration`. Takes a size of at least "1 B".
    duration
        How long the server sends, from the start of the client. Either this or `size`. Takes a duration above "0 s".
    request
        Length of the client's request. Takes a size of at least "1 B". Default: `"100 B"`.
    """

    size: ByteCount | None = None
    duration: Duration | None = None
    request: ByteCount | None = None
    kind: Literal["download"] = "download"


@dataclass(frozen=True, kw_only=True)
class RequestResponse:
    """The client asks, waits for the whole answer, pauses, and asks again.

    Attributes
    ----------
    count
        How often. Takes an integer of at least 1.
    response
        Length of each response. Takes a size of at least "1 B".
    request
        Length of each request. Takes a size of at least "1 B". Default: `"100 B"`.
    pause
        Pause between a response and the next request. Default: `"0 ns"`.
    """

    count: int
    response: ByteCount
    request: ByteCount | None = None
    pause: Duration | None = None
    kind: Literal["request_response"] = "request_response"


#: A rate, such as "20 Mbit/s".
DataRate: TypeAlias = str


@dataclass(frozen=True, kw_only=True)
class Datagrams:
    """The sender sends datagrams at a constant rate, whether they arrive or not.

    Attributes
    ----------
    rate
        Rate of their payload while they are sent. Takes a rate above "0 bit/s".
    size
        Payload of each. Takes a size from "1 B" to "65507 B".
    duration
        How long the sender goes on, from the start of the flow. Takes a duration above "0 s".
    on
        Length of a period of sending; without it, one that lasts all the time. Together with `off`. Takes a duration
        above "0 s".
    off
        Length of the pause after each period of sending. Together with `on`. Takes a duration above "0 s".
    """

    rate: DataRate
    size: ByteCount
    duration: Duration
    on: Duration | None = None
    off: Duration | None = None
    kind: Literal["datagrams"] = "datagrams"


#: What an object of a page is.
#: - `image`: An image.
#: - `style`: A style sheet.
#: - `script`: A script.
#: - `font`: A font.
ObjectKind: TypeAlias = Literal["image", "style", "script", "font"]


@dataclass(frozen=True, kw_only=True)
class PageObjects:
    """Objects of a page that are alike.

    Attributes
    ----------
    count
        How many. Takes an integer of at least 1.
    size
        Length of each. Takes a size of at least "1 B".
    kind
        What they are: a browser's priorities depend on it. Default: `"image"`.
    """

    count: int
    size: ByteCount
    kind: ObjectKind | None = None


@dataclass(frozen=True, kw_only=True)
class PageResource:
    """A resource of a page that other resources lead to.

    Attributes
    ----------
    size
        Length of the body. Takes a size of at least "1 B".
    kind
        What it is: a browser's priorities depend on it. Default: `"image"`.
    after
        Numbers of the resources that must be complete before the browser asks for it. Of resources before it. Takes an
        array of one or more integers of at least 0. Default: `[0]`.
    delay
        Time from their completion to the request: what the browser needs to parse and to execute them. Default:
        `"0 ns"`.
    origin
        Which server has it. Each has its own connection, opened when it is first needed; 0 has the HTML. Takes an
        integer from 0 to 255. Default: `0`.
    think_time
        Time from the end of the request to the first byte of the answer; without it, `think_time` of the page.
    request
        Length of the header section of the request, compressed; without it, `request` of the page. Takes a size from
        "1 B" to "256 KiB".
    response
        Length of the header section of the response, compressed; without it, `response` of the page. Takes a size from
        "1 B" to "256 KiB".
    """

    size: ByteCount
    kind: ObjectKind | None = None
    after: tuple[int, ...] | None = None
    delay: Duration | None = None
    origin: int | None = None
    think_time: Duration | None = None
    request: ByteCount | None = None
    response: ByteCount | None = None


#: Distribution of a delay; drawn for each packet independently, or for a time.
#: - `constant`: Always the mean.
#: - `normal`: Normal.
#: - `uniform`: Uniform between mean - deviation and mean + deviation.
#: - `pareto`: Pareto of shape 3, shifted and scaled to mean and deviation.
Distribution: TypeAlias = Literal["constant", "normal", "uniform", "pareto"]


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Propagation delay.

    Attributes
    ----------
    mean
        Mean; written short as `"10 ms"` if it is constant.
    deviation
        Standard deviation (uniform: half of the width). Above 0 with a `distribution`, 0 without. Default: `"0 ns"`.
    distribution
        Distribution, cut off at 0. Default: `"constant"`.
    reorder
        Whether packets may overtake each other within the link. Needs a `distribution`. Default: `false`.
    every
        How long a delay holds that was drawn; without it, each packet draws its own. Needs a `distribution`. Takes a
        duration of at least "10 us".
    steps
        In how many equal steps, spread over `every`, a delay changes; the first change is immediate. 1 without `every`.
        Takes an integer from 1 to 1000.
    """

    mean: Duration
    deviation: Duration | None = None
    distribution: Distribution | None = None
    reorder: bool | None = None
    every: Duration | None = None
    steps: int | None = None


#: In which order a server sends what was asked for.
#: - `browser`: As browsers ask.
#: - `round_robin`: All objects in turn.
Priorities: TypeAlias = Literal["browser", "round_robin"]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The client loads a page.

    HTML first, then the objects that it names, or resources that depend on each other, over HTTP/3 on QUIC or HTTP/2 on
    TCP.

    Attributes
    ----------
    html
        Length of the HTML. Takes a size of at least "1 B".
    objects
        What the HTML names, in its order.
    resources
        What the page needs beyond the HTML, each with what makes the browser ask for it; instead of `objects`. Resource
        0 is the HTML, those of this list follow, from 1.
    html_think_time
        Time from the end of a request to the first byte of the answer that the server needs for the HTML. Default:
        `"0 ns"`.
    think_time
        The same for each object. Default: `"0 ns"`.
    browser_time
        Time that the browser takes for everything but the network, from the last byte of the HTML to the first request
        for an object; drawn once. Without `reorder` and `every`. Default: `{ deviation = "0 ns", distribution =
        "constant", mean = "0 ns", reorder = false }`.
    priorities
        In which order the server sends the objects. Default: `"browser"`.
    request
        Length of the header section of each request, compressed. Takes a size from "1 B" to "256 KiB". Default:
        `"100 B"`.
    response
        Length of the header section of each response, compressed. Takes a size from "1 B" to "256 KiB". Default:
        `"100 B"`.
    """

    html: ByteCount
    objects: tuple[PageObjects, ...] | None = None
    resources: tuple[PageResource, ...] | None = None
    html_think_time: Duration | None = None
    think_time: Duration | None = None
    browser_time: Duration | Delay | None = None
    priorities: Priorities | None = None
    request: ByteCount | None = None
    response: ByteCount | None = None
    kind: Literal["page"] = "page"


#: What carries probes above IP.
#: - `udp`: UDP.
#: - `icmp`: Echo and echo reply of ICMP (RFC 792).
PingProtocol: TypeAlias = Literal["udp", "icmp"]


@dataclass(frozen=True, kw_only=True)
class Ping:
    """The receiver sends probes that the sender sends back.

    Attributes
    ----------
    count
        How many. Takes an integer of at least 1.
    size
        Payload of each probe. Takes a size from "1 B" to "65507 B". Default: `"56 B"`.
    interval
        Time from one to the next. Takes a duration above "0 s". Default: `"1 s"`.
    protocol
        Above IP; `icmp` on lab-udp only. Default: `"udp"`.
    """

    count: int
    size: ByteCount | None = None
    interval: Duration | None = None
    protocol: PingProtocol | None = None
    kind: Literal["ping"] = "ping"


@dataclass(frozen=True, kw_only=True)
class Media:
    """The sender sends video frames over RTP, at the rate that SCReAM (RFC 8298) lets them have.

    Attributes
    ----------
    max_rate
        Highest rate.
    duration
        How long the sender goes on, from the start of the flow. Takes a duration above "0 s".
    start_rate
        Rate at the start, RTP headers included. From `min_rate` to `max_rate`. Default: `"1 Mbit/s"`.
    min_rate
        Lowest rate. Takes a rate above "0 bit/s". Default: `"100 kbit/s"`.
    frame_rate
        Frames in a second. Takes an integer from 1 to 1000. Default: `25`.
    packet_size
        Largest RTP packet, its header included. Takes a size from "100 B" to "1472 B". Default: `"1200 B"`.
    target_delay
        Queueing delay that is aimed at without competing flows (QDELAY_TARGET_LO). Takes a duration above "0 s".
        Default: `"100 ms"`.
    ramp_up_speed
        By how much the rate may grow in a second (RAMP_UP_SPEED). Takes a rate above "0 bit/s". Default:
        `"200 kbit/s"`.
    ecn
        Packets are ECN-capable, and marks count as congestion. Default: `false`.
    """

    max_rate: DataRate
    duration: Duration
    start_rate: DataRate | None = None
    min_rate: DataRate | None = None
    frame_rate: int | None = None
    packet_size: ByteCount | None = None
    target_delay: Duration | None = None
    ramp_up_speed: DataRate | None = None
    ecn: bool | None = None
    kind: Literal["media"] = "media"


#: What is transferred.
Workload: TypeAlias = Download | RequestResponse | Datagrams | Page | Ping | Media


#: Congestion control of a sender.
#: - `newreno`: NewReno (RFC 9002 section 7, RFC 6582); Linux calls it reno.
#: - `cubic`: CUBIC (RFC 9438).
#: - `bbr-linux`: BBR version 1 as in Linux 5.15 and later.
#: - `bbr-chromium`: BBR version 1 as in Chromium's QUIC.
#: - `bbr-picoquic`: BBR version 1 as in picoquic.
#: - `fixed`: A window that stays what `initial_window` says.
#: - `lia`: Coupled over several paths: linked increases (RFC 6356).
#: - `olia`: Coupled over several paths: opportunistic linked increases.
#: - `balia`: Coupled over several paths: balanced linked adaptation.
CongestionControl: TypeAlias = Literal[
    "newreno",
    "cubic",
    "bbr-linux",
    "bbr-chromium",
    "bbr-picoquic",
    "fixed",
    "lia",
    "olia",
    "balia",
]


@dataclass(frozen=True, kw_only=True)
class AckFrequency:
    """What a sender asks of its peer's acknowledgements (draft-ietf-quic-ack-frequency).

    Attributes
    ----------
    ack_eliciting_threshold
        Ack-eliciting packets the peer may receive without acknowledging immediately.
    max_ack_delay
        Longest time the peer may wait; without it, its own max_ack_delay. Takes a duration from "1 ms" to "16.383 s".
    reordering_threshold
        Reordering the peer ignores before it acknowledges immediately. Default: `2`.
    """

    ack_eliciting_threshold: int
    max_ack_delay: Duration | None = None
    reordering_threshold: int | None = None


#: Whose congestion control a real stack uses.
#: - `stack`: The stack's own.
#: - `quiclab`: That of quiclab's transports, behind the stack's interface.
Controller: TypeAlias = Literal["stack", "quiclab"]


#: What ends slow start before a loss does.
#: - `none`: Nothing.
#: - `hystart-linux`: HyStart as in Linux: ACK train and delay.
#: - `hystart-chromium`: HyStart as in Chromium: delay only, from a window of 16 packets on.
#: - `hystart-plus-plus`: HyStart++ (RFC 9406).
#: - `aioquic`: aioquic's: five RTT samples a quarter above the smallest.
SlowStartExit: TypeAlias = Literal["none", "hystart-linux", "hystart-chromium", "hystart-plus-plus", "aioquic"]


@dataclass(frozen=True, kw_only=True)
class NoPacing:
    """Not at all: as soon as the window allows."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True)
class LeakyBucket:
    """A bucket that fills at `factor` · cwnd / srtt and holds `burst_packets`.

    Attributes
    ----------
    factor
        Rate as a multiple of cwnd / srtt (RFC 9002 section 7.7: 1.25). Takes a number from 0.01 to 10. Default: `1.25`.
    slow_start_factor
        The same in slow start, without it as after it (Chromium: 2). Takes a number from 0.01 to 10.
    burst_packets
        Packets that may leave in one burst after a pause. Takes an integer of at least 1 packet. Default: `10`.
    burst_share
        A burst is at most this part of the window, too; two packets at least (aioquic: a quarter). Takes a number from
        0.001 to 1.
    burst_time
        A burst may be as long as the rate gives in this time, if that is more (quinn: 2 ms). Takes a duration above
        "0 s", at most "1 s".
    idle_burst_packets
        Packets that may leave in one burst at the start, and when none has left for a round trip, if that is more
        (Chromium: 10). Takes an integer of at least 1 packet.
    wait_for_full_burst
        Once the burst is used up, the timer waits until a whole one may leave (quinn); a packet still leaves when
        something else, such as an acknowledgement, wakes the sender and there is room for it.
    """

    factor: float | None = None
    slow_start_factor: float | None = None
    burst_packets: int | None = None
    burst_share: float | None = None
    burst_time: Duration | None = None
    idle_burst_packets: int | None = None
    wait_for_full_burst: bool | None = None
    kind: Literal["leaky_bucket"] = "leaky_bucket"


@dataclass(frozen=True, kw_only=True)
class Even:
    """One packet each srtt / (`factor` · cwnd in packets), without any burst.

    Attributes
    ----------
    factor
        Rate as a multiple of cwnd / srtt. Takes a number from 0.01 to 10. Default: `1.25`.
    """

    factor: float | None = None
    kind: Literal["even"] = "even"


@dataclass(frozen=True, kw_only=True)
class Quantum:
    """As the leaky bucket, but a wait is never shorter than `quantum`: below it, packets leave in bursts (quic-go).

    Attributes
    ----------
    factor
        Rate as a multiple of cwnd / srtt. Takes a number from 0.01 to 10. Default: `1.25`.
    burst_packets
        Packets that may leave in one burst after a pause. Takes an integer of at least 1 packet. Default: `10`.
    quantum
        Shortest wait. Takes a duration above "0 s", at most "1 s". Default: `"1 ms"`.
    """

    factor: float | None = None
    burst_packets: int | None = None
    quantum: Duration | None = None
    kind: Literal["quantum"] = "quantum"


@dataclass(frozen=True, kw_only=True)
class TimeBucket:
    """A bucket of time that fills by the clock.

    Whatever it holds pays for a packet, so that the pace is up to twice the rate (aioquic).

    Attributes
    ----------
    factor
        Rate as a multiple of cwnd / srtt. Takes a number from 0.01 to 10. Default: `1.0`.
    burst_packets
        Packets that may leave in one burst after a pause. Takes an integer of at least 1 packet. Default: `16`.
    burst_share
        A burst is at most this part of the window, too; two packets at least. Takes a number from 0.001 to 1. Default:
        `0.25`.
    """

    factor: float | None = None
    burst_packets: int | None = None
    burst_share: float | None = None
    kind: Literal["time_bucket"] = "time_bucket"


@dataclass(frozen=True, kw_only=True)
class LinuxPacing:
    """Linux TCP's internal pacing.

    2 · cwnd / srtt in slow start, 1.2 · cwnd / srtt after it, or what the congestion control asks for; each release is
    worth about a millisecond, two segments at least.

    Attributes
    ----------
    max_rate
        `SO_MAX_PACING_RATE`. Takes a rate above "0 bit/s".
    """

    max_rate: DataRate | None = None
    kind: Literal["linux"] = "linux"


@dataclass(frozen=True, kw_only=True)
class FqPacing:
    """The same rates, kept by the fq queueing discipline of the sender's host.

    Each packet has its own departure time.

    Attributes
    ----------
    max_rate
        `SO_MAX_PACING_RATE`, or `maxrate` of the queueing discipline. Takes a rate above "0 bit/s".
    """

    max_rate: DataRate | None = None
    kind: Literal["fq"] = "fq"


#: How a sender spaces its packets.
Pacing: TypeAlias = NoPacing | LeakyBucket | Even | Quantum | TimeBucket | LinuxPacing | FqPacing


#: How TCP detects losses.
#: - `duplicate_acks`: SACK and a count of duplicates (RFC 6675).
#: - `duplicate_acks_and_rack`: Both: a count of duplicates, and RACK (Linux 4.15).
#: - `rack`: RACK (RFC 8985; Linux since 4.18).
TcpLossDetection: TypeAlias = Literal["duplicate_acks", "duplicate_acks_and_rack", "rack"]


#: How TCP shrinks its window during recovery.
#: - `none`: At once, to the new threshold.
#: - `prr`: PRR of RFC 6937, as Linux before 5.11 has it.
#: - `prr_safe_ack`: PRR of RFC 9937, as Linux since 5.11 has it.
RateReduction: TypeAlias = Literal["none", "prr", "prr_safe_ack"]


#: What is known of a destination when a connection to it begins.
#: - `none`: Nothing: the connection is the first.
#: - `warm_start`: What Linux saves when the same connection of a run before this one ends, of which nothing else is
#:   kept.
TcpMetrics: TypeAlias = Literal["none", "warm_start"]


@dataclass(frozen=True, kw_only=True)
class TcpOptions:
    """Options of TCP; unset fields inherit from the profile.

    Attributes
    ----------
    mss
        Maximum segment size announced: payload with the timestamps option counted, as in the MSS option. Takes a size
        from "88 B" to "9148 B".
    timestamps
        Timestamps (RFC 7323).
    sack
        Selective acknowledgements (RFC 2018).
    dsack
        Duplicates reported by SACK (RFC 2883). Needs `sack`.
    window_scaling
        Window scaling (RFC 7323 section 2).
    receive_buffer
        Receive buffer at the start (`tcp_rmem`, second value). At most `max_receive_buffer`. Takes a size from "4 KiB"
        to "1048560 KiB".
    max_receive_buffer
        Largest receive buffer that autotuning reaches (`tcp_rmem`, third value). Takes a size from "4 KiB" to
        "1048560 KiB".
    max_send_buffer
        Largest send buffer that autotuning reaches (`tcp_wmem`, third value). Takes a size from "4 KiB" to
        "1048560 KiB".
    min_rto
        Smallest retransmission timeout (`rto_min`). Takes a duration from "1 ms" to "2 min".
    reordering
        Segments of reordering assumed at the start (`tcp_reordering`). At most `max_reordering`. Takes an integer of at
        least 3 segments.
    max_reordering
        Largest reordering that is adapted to (`tcp_max_reordering`). Takes an integer of at least 3 segments.
    loss_detection
        How losses are detected.
    tail_loss_probe
        Tail loss probes (RFC 8985 section 7).
    frto
        F-RTO: whether a timeout was spurious is found out (RFC 5682).
    undo
        Reductions of the window are undone when they prove spurious (Eifel, DSACK).
    rate_reduction
        How the window shrinks during recovery.
    min_delayed_ack
        Shortest wait of a delayed acknowledgement. At most `max_delayed_ack`. Takes a duration above "0 s", at most
        "2 min".
    max_delayed_ack
        Longest wait of a delayed acknowledgement. Takes a duration above "0 s", at most "2 min".
    quick_acks
        Segments acknowledged one by one at the start and after pauses.
    compressed_acks
        Most duplicate acknowledgements that are merged into one (`tcp_comp_sack_nr`); 0: none.
    compressed_ack_delay
        Longest wait of merged acknowledgements (`tcp_comp_sack_delay_ns`). Takes a duration of at most "2 min".
    restart_after_idle
        The window shrinks when nothing was sent for an RTO (`tcp_slow_start_after_idle`).
    gso_segments
        Most segments that leave in one burst, as segmentation offload makes them; 1: single segments. Takes an integer
        from 1 to 65535 segments.
    initial_rto
        Shortest time to the next SYN without an answer (RFC 6298 section 2). Takes a duration from "1 ms" to "2 min".
    metrics
        What the kernel of this end knows of the other from connections before (`tcp_no_metrics_save`).
    """

    mss: ByteCount | None = None
    timestamps: bool | None = None
    sack: bool | None = None
    dsack: bool | None = None
    window_scaling: bool | None = None
    receive_buffer: ByteCount | None = None
    max_receive_buffer: ByteCount | None = None
    max_send_buffer: ByteCount | None = None
    min_rto: Duration | None = None
    reordering: int | None = None
    max_reordering: int | None = None
    loss_detection: TcpLossDetection | None = None
    tail_loss_probe: bool | None = None
    frto: bool | None = None
    undo: bool | None = None
    rate_reduction: RateReduction | None = None
    min_delayed_ack: Duration | None = None
    max_delayed_ack: Duration | None = None
    quick_acks: int | None = None
    compressed_acks: int | None = None
    compressed_ack_delay: Duration | None = None
    restart_after_idle: bool | None = None
    gso_segments: int | None = None
    initial_rto: Duration | None = None
    metrics: TcpMetrics | None = None


#: Wire format and handshake of QUIC.
#: - `v1`: RFC 9000 with TLS 1.3 (RFC 9001).
#: - `gquic-37`: Google QUIC 37 with QUIC Crypto.
QuicVersion: TypeAlias = Literal["v1", "gquic-37"]


@dataclass(frozen=True, kw_only=True)
class AckEvery:
    """Every few packets, after a delay, and immediately where packets are missing (RFC 9000 section 13.2).

    Attributes
    ----------
    packets
        Packets that ask for an acknowledgement before there is one. Takes an integer of at least 1. Default: `2`.
    delay
        Longest wait. Takes a duration of at most "16.383 s". Default: `"25 ms"`.
    """

    packets: int | None = None
    delay: Duration | None = None
    kind: Literal["every"] = "every"


@dataclass(frozen=True, kw_only=True)
class AckTimer:
    """After a delay only, whatever arrives (aioquic).

    Attributes
    ----------
    delay
        The wait. Takes a duration of at most "16.383 s".
    """

    delay: Duration
    kind: Literal["timer"] = "timer"


@dataclass(frozen=True, kw_only=True)
class AckRttFraction:
    """After a part of the RTT, or a number of packets: decimation (Chromium).

    Attributes
    ----------
    fraction
        Part of the smoothed RTT. Takes a number from 0.001 to 1. Default: `0.25`.
    packets
        Packets that ask for an acknowledgement before there is one. Takes an integer of at least 1. Default: `10`.
    delay
        Longest wait. Takes a duration of at most "16.383 s". Default: `"25 ms"`.
    from_packet
        Packet number from which on this holds; before it, every second packet is acknowledged. Default: `100`.
    """

    fraction: float | None = None
    packets: int | None = None
    delay: Duration | None = None
    from_packet: int | None = None
    kind: Literal["rtt_fraction"] = "rtt_fraction"


@dataclass(frozen=True, kw_only=True)
class AckAsRequested:
    """As the peer requests with ACK_FREQUENCY frames; before it does, as `every` second packet.

    Attributes
    ----------
    delay
        Longest wait before the peer asks. Takes a duration of at most "16.383 s". Default: `"25 ms"`.
    """

    delay: Duration | None = None
    kind: Literal["as_requested"] = "as_requested"


#: When a receiver acknowledges.
Acknowledgement: TypeAlias = AckEvery | AckTimer | AckRttFraction | AckAsRequested


#: What the RTT variation is the mean of.
#: - `rfc9002`: |smoothed - adjusted sample| (RFC 9002 section 5.3).
#: - `from_min_rtt`: |smallest - sample| (aioquic): a standing queue makes it large.
RttVariation: TypeAlias = Literal["rfc9002", "from_min_rtt"]


#: How receive windows grow.
#: - `fixed`: They do not; credit is given back when an eighth of the window has been read (quinn).
#: - `double_when_half_used`: They double whenever half of one has been used (aioquic).
#: - `double_within_two_rtts`: They double when half of one is used within two round trips (Chromium, quic-go).
QuicFlowControl: TypeAlias = Literal["fixed", "double_when_half_used", "double_within_two_rtts"]


#: Which stream sends next.
#: - `fifo`: The oldest with something to send, until it has nothing more.
#: - `round_robin`: One packet of each in turn.
#: - `priority`: The most urgent; among equals those that are incremental in turn, others one after the other (RFC
#:   9218).
#: - `priority_in_batches`: The most urgent; among equals each in turn, 16 000 B at a time (google/quiche,
#:   `QuicWriteBlockedList`).
StreamScheduler: TypeAlias = Literal["fifo", "round_robin", "priority", "priority_in_batches"]


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
    """Bytes in the ratio of given weights, by the paths that have room.

    Attributes
    ----------
    weights
        Weight of each path, the first (`down` and `up` of a flow) first. One of at least 1 for each path. Takes an
        array of one or more integers of at least 1.
    """

    weights: tuple[int, ...]
    kind: Literal["weighted_round_robin"] = "weighted_round_robin"


@dataclass(frozen=True, kw_only=True)
class LowestRtt:
    """The path with the lowest smoothed RTT that has room.

    Attributes
    ----------
    penalise_above
        With more in flight on all paths, the slowest may have only half as much in flight; without it, no path is
        penalised. Takes a size of at least "1 B".
    """

    penalise_above: ByteCount | None = None
    kind: Literal["lowest_rtt"] = "lowest_rtt"


@dataclass(frozen=True, kw_only=True)
class CheapestFirst:
    """The cheapest path that has room.

    Attributes
    ----------
    order
        Numbers of the paths, from 0, the cheapest first; those left out follow. Each at most once.
    """

    order: tuple[int, ...] | None = None
    kind: Literal["cheapest_first"] = "cheapest_first"


@dataclass(frozen=True, kw_only=True)
class Redundant:
    """All paths that have room: the packet is sent several times."""

    kind: Literal["redundant"] = "redundant"


@dataclass(frozen=True, kw_only=True)
class Blest:
    """The fastest path, or a slower one if it is estimated not to block it (BLEST).

    Attributes
    ----------
    scaling
        Factor on what the fastest could send meanwhile. Takes a number above 0, at most 100. Default: `1.2`.
    send_window
        What may be in flight on all paths; without it, what they deliver in the longest RTT. Takes a size of at least
        "1 B".
    """

    scaling: float | None = None
    send_window: ByteCount | None = None
    kind: Literal["blest"] = "blest"


@dataclass(frozen=True, kw_only=True)
class Ecf:
    """The fastest path, or a slower one if everything that waits ends sooner with it (ECF).

    Attributes
    ----------
    hysteresis
        Part by which the slower one must end sooner after a decision to wait. Takes a number from 0 to 1. Default:
        `0.25`.
    """

    hysteresis: float | None = None
    kind: Literal["ecf"] = "ecf"


@dataclass(frozen=True, kw_only=True)
class EarliestArrival:
    """The path on which the packet is expected to arrive first.

    Attributes
    ----------
    hysteresis
        Part of the delay by which another path must be earlier than the last one taken. Takes a number from 0 to 1.
        Default: `0.125`.
    patience
        Longest time that the backlog may need to leave an earlier path that is waited for. Takes a duration of at most
        "1 s". Default: `"2.5 ms"`.
    """

    hysteresis: float | None = None
    patience: Duration | None = None
    kind: Literal["earliest_arrival"] = "earliest_arrival"


#: Kinds that may be written short: those that need no field.
PathScheduler: TypeAlias = (
    Literal[
        "round_robin",
        "strict_round_robin",
        "lowest_rtt",
        "cheapest_first",
        "redundant",
        "blest",
        "ecf",
        "earliest_arrival",
    ]
    | RoundRobin
    | StrictRoundRobin
    | WeightedRoundRobin
    | LowestRtt
    | CheapestFirst
    | Redundant
    | Blest
    | Ecf
    | EarliestArrival
)


@dataclass(frozen=True, kw_only=True)
class QuicOptions:
    """Options of QUIC; unset fields inherit from the profile.

    Attributes
    ----------
    version
        Wire format and handshake.
    connection_id
        Length of the connection IDs that this end chooses: its peer sends them in every packet. Takes a size of at most
        "20 B".
    packet_number
        Length of packet numbers; without it, the shortest that the peer can expand. Takes a size from "1 B" to "4 B".
    acknowledgement
        When this end acknowledges what has arrived.
    ack_ranges
        Most ranges of packet numbers that this end keeps to acknowledge. Takes an integer of at least 1.
    max_ack_delay
        Longest delay of an acknowledgement that this end announces (RFC 9000 section 18.2). At least the delay of
        `acknowledgement`. Takes a duration of at most "16.383 s".
    adaptive_packet_threshold
        The packet threshold grows with the reordering that was mistaken for loss.
    adaptive_time_threshold
        The time threshold widens when it was too narrow.
    rtt_variation
        What the RTT variation is the mean of.
    persistent_congestion
        The window collapses when everything sent over a long time is lost (RFC 9002 section 7.6).
    probe_packets
        Packets sent when a probe timeout expires: 1 or 2 (RFC 9002 section 6.2.4). Takes an integer from 1 to 2
        packets.
    window_validation
        A window that is not used does not grow (RFC 9002 section 7.8).
    max_window
        Largest congestion window; without it, there is none. At least `initial_window`. Takes a size from "1 B" to
        "4611686018427387903 B".
    pacing_before_rtt
        Packets are paced before the first RTT sample, too, as if the RTT were `initial_rtt`.
    max_streams
        Bidirectional streams that the peer may have open at one time. Takes an integer from 1 to 1152921504606847000.
    flow_control
        How the receive windows of streams and connection grow.
    max_stream_receive_window
        Largest receive window of a stream that growth reaches. At least `stream_receive_window`. Takes a size from
        "1 B" to "4611686018427387903 B".
    max_connection_receive_window
        Largest receive window of the connection that growth reaches. At least `connection_receive_window`. Takes a size
        from "1 B" to "4611686018427387903 B".
    stream_scheduler
        Which stream sends next.
    amplification_factor
        Bytes that a server may send for each byte received before the client's address is validated (RFC 9000 section
        8.1: 3); 0: no limit.
    datagram_congestion_control
        DATAGRAM frames wait for the congestion window (RFC 9221 section 5.4).
    idle_timeout
        The connection ends when nothing was received for so long (RFC 9000 section 10.1). Takes a duration from "1 ms"
        to "1440 min".
    path_scheduler
        Which path the next packet takes, where there are several.
    """

    version: QuicVersion | None = None
    connection_id: ByteCount | None = None
    packet_number: ByteCount | None = None
    acknowledgement: Acknowledgement | None = None
    ack_ranges: int | None = None
    max_ack_delay: Duration | None = None
    adaptive_packet_threshold: bool | None = None
    adaptive_time_threshold: bool | None = None
    rtt_variation: RttVariation | None = None
    persistent_congestion: bool | None = None
    probe_packets: int | None = None
    window_validation: bool | None = None
    max_window: ByteCount | None = None
    pacing_before_rtt: bool | None = None
    max_streams: int | None = None
    flow_control: QuicFlowControl | None = None
    max_stream_receive_window: ByteCount | None = None
    max_connection_receive_window: ByteCount | None = None
    stream_scheduler: StreamScheduler | None = None
    amplification_factor: int | None = None
    datagram_congestion_control: bool | None = None
    idle_timeout: Duration | None = None
    path_scheduler: PathScheduler | None = None


@dataclass(frozen=True, kw_only=True)
class Http2Options:
    """Options of an end of HTTP/2 (RFC 9113); unset fields have the values of the deployed programs.

    Attributes
    ----------
    stream_window
        Receive window that this end offers for each stream. Takes a size from "1 B" to "2147483647 B".
    connection_window
        Receive window that this end offers for the connection; it cannot be smaller than it starts (RFC 9113 section
        6.9.2). Takes a size from "65535 B" to "2147483647 B".
    max_streams
        Streams that the peer may have open at one time. Takes an integer of at least 1.
    frame_size
        Largest payload of a DATA frame that this end sends; larger ones would need SETTINGS_MAX_FRAME_SIZE (RFC 9113
        section 4.2). Takes a size from "1 B" to "16 KiB".
    warm_up
        Bytes that a server writes in records of 1300 B, before those of 16 KB.
    """

    stream_window: ByteCount | None = None
    connection_window: ByteCount | None = None
    max_streams: int | None = None
    frame_size: ByteCount | None = None
    warm_up: ByteCount | None = None


#: Version of TLS.
#: - `1.2`: RFC 5246: two round trips, one if resumed.
#: - `1.3`: RFC 8446: one round trip.
TlsVersion: TypeAlias = Literal["1.2", "1.3"]


#: What becomes of 0-RTT data.
#: - `accepted`: The server takes them.
#: - `rejected`: The server does not: the client sends them again after the handshake.
EarlyData: TypeAlias = Literal["accepted", "rejected"]


@dataclass(frozen=True, kw_only=True)
class Tls:
    """TLS above TCP, as flights of exact size with their round trips.

    Attributes
    ----------
    version
        Protocol version. QUIC needs 1.3.
    resumption
        The session is resumed: no certificate; with TLS 1.2 a round trip less. Default: `false`.
    certificate
        Length of the server's certificate chain. Takes a size of at most "64 KiB". Default: `"3 kB"`.
    early_data
        What becomes of data in the client's first flight (0-RTT, RFC 8446 section 2.3); without it, there are none.
        Needs `resumption`; QUIC only.
    """

    version: TlsVersion
    resumption: bool | None = None
    certificate: ByteCount | None = None
    early_data: EarlyData | None = None


@dataclass(frozen=True, kw_only=True)
class EndpointConfig:
    """Stack and options of one end. An option left out has the default of the stack.

    Attributes
    ----------
    stack
        Name of the stack: see `quiclab stack list`.
    profile
        A named parameter set of the stack. See `quiclab stack show`.
    host
        Kind of host it runs on: a name in `hosts`; without it, one that costs nothing.
    congestion_control
        Congestion control.
    datagram_size
        Largest UDP payload sent; path MTU discovery is off. Takes a size from "1200 B" to "65507 B".
    initial_window
        Initial congestion window. lab-quic, lab-tcp: one datagram or segment to 1 GiB; quinn, noq: more than a
        datagram, below 4 GiB; aioquic: ten datagrams. Takes a size of at least "1 B".
    stream_receive_window
        Flow-control window offered for each stream. Takes a size of at least "1 B".
    connection_receive_window
        Flow-control window offered for the connection. Takes a size of at least "1 B".
    send_window
        Most bytes of stream data sent and not acknowledged. Takes a size of at least "1 B".
    packet_threshold
        Packets of reordering before one is declared lost (RFC 9002 section 6.1.1). Takes an integer of at least 3
        packets.
    time_threshold
        Multiple of the RTT before a packet is declared lost (RFC 9002 section 6.1.2). Takes a number from 1 to 1000
        round-trip times.
    initial_rtt
        RTT assumed before the first sample (RFC 9002 section 6.2.2). Takes a duration from "1 us" to "30 s".
    ack_frequency
        What this end asks of the peer's acknowledgements (QUIC ACK Frequency extension).
    controller
        Whose congestion control a real stack uses; its own without it, where it has the one wanted.
    emulated_connections
        Number of connections that CUBIC or NewReno stands for, N of Chromium. 1 without `newreno` or `cubic`. Takes an
        integer of at least 1.
    slow_start_exit
        What ends slow start before a loss does. `none` without `newreno` or `cubic`.
    pacing
        How packets are spaced. Not `none` with BBR.
    tcp
        Options of TCP.
    quic
        Options of QUIC.
    http2
        Options of HTTP/2, which a page over TCP uses.
    tls
        TLS: above TCP, without it none; in QUIC, without it that of the profile.
    """

    stack: str | None = None
    profile: str | None = None
    host: str | None = None
    congestion_control: CongestionControl | None = None
    datagram_size: ByteCount | None = None
    initial_window: ByteCount | None = None
    stream_receive_window: ByteCount | None = None
    connection_receive_window: ByteCount | None = None
    send_window: ByteCount | None = None
    packet_threshold: int | None = None
    time_threshold: float | None = None
    initial_rtt: Duration | None = None
    ack_frequency: AckFrequency | None = None
    controller: Controller | None = None
    emulated_connections: int | None = None
    slow_start_exit: SlowStartExit | None = None
    pacing: Pacing | None = None
    tcp: TcpOptions | None = None
    quic: QuicOptions | None = None
    http2: Http2Options | None = None
    tls: Tls | None = None


@dataclass(frozen=True, kw_only=True)
class PathRoutes:
    """Routes of a further path of a flow.

    Attributes
    ----------
    down
        Links, bearers and taps from sender to receiver, in order.
    up
        Links, bearers and taps from receiver to sender, in order.
    """

    down: tuple[str, ...]
    up: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A transfer between two endpoints.

    Attributes
    ----------
    workload
        What is transferred.
    stack
        Stack of both ends, where they do not name one.
    sender
        The end that sends the data: the server of a download.
    receiver
        The end that receives the data: the client of a download.
    down
        Links, bearers and taps from sender to receiver, in order. Not empty, nothing twice; empty with `[[wires]]`.
    up
        Links, bearers and taps from receiver to sender, in order. Not empty, nothing twice; empty with `[[wires]]`.
    paths
        Paths in addition to `down` and `up`, which are the first (Multipath QUIC). Takes an array of 0 to 7 tables.
    plugins
        Bundles of exchanged operations: names in `plugins`, or of built-in plugins. Each at most once.
    start
        When the client starts. Below `duration` of the scenario. Default: `"0 ns"`.
    """

    workload: Workload
    stack: str | None = None
    sender: EndpointConfig | None = None
    receiver: EndpointConfig | None = None
    down: tuple[str, ...] | None = None
    up: tuple[str, ...] | None = None
    paths: tuple[PathRoutes, ...] | None = None
    plugins: tuple[str, ...] | None = None
    start: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """All flows together have delivered this much to their applications.

    Attributes
    ----------
    delivered
        Takes a size of at least "1 B".
    """

    delivered: ByteCount


#: What ends a run before its duration is over.
#: - `workloads_done`: All workloads are done.
#: - `duration_over`: Nothing: the run lasts as long as `duration` says.
Until: TypeAlias = Literal["workloads_done", "duration_over"] | Delivered


@dataclass(frozen=True, kw_only=True)
class TokenBucket:
    """Token bucket as `tc-tbf`: packets leave while tokens last, which refill at `rate`.

    Attributes
    ----------
    rate
        Refill rate. Takes a rate above "0 bit/s".
    burst
        Depth of the bucket; at least the largest packet. With the overheads of that packet. Takes a size of at least
        "1 B".
    """

    rate: DataRate
    burst: ByteCount
    kind: Literal["token_bucket"] = "token_bucket"


#: Format of a trace file.
#: - `csv`: Lines `time,rate` with a header naming the units: `time_s` or `time_ms`, `rate_bps`, `rate_kbps` or
#:   `rate_mbps`. A rate holds until the next time.
#: - `mahimahi`: One number a line: the millisecond of an opportunity to deliver 1504 bytes.
TraceFormat: TypeAlias = Literal["csv", "mahimahi"]


#: What follows the last entry of a trace.
#: - `loop`: It starts again; the period is the time of the last entry.
#: - `hold`: The last rate holds (CSV only).
#: - `stop`: Nothing is delivered any more.
TraceEnd: TypeAlias = Literal["loop", "hold", "stop"]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Rate over time, or delivery times, read from a file.

    Attributes
    ----------
    file
        Path, relative to the scenario file. Takes a non-empty string.
    format
        What the file holds. Default: `"csv"`.
    at_end
        What follows the last entry. Not `hold` with `mahimahi`. Default: `"loop"`.
    """

    file: str
    format: TraceFormat | None = None
    at_end: TraceEnd | None = None
    kind: Literal["trace"] = "trace"


#: A rate that is not constant.
ShapedRate: TypeAlias = TokenBucket | Trace


#: How fast a link serialises.
Rate: TypeAlias = DataRate | ShapedRate


@dataclass(frozen=True, kw_only=True)
class DropTail:
    """First in, first out; a packet that would exceed a limit is dropped. All limits given hold.

    Attributes
    ----------
    packets
        Most packets, the one in service included. Takes an integer of at least 1.
    bytes
        Most bytes (with the link's overhead), the packet in service included. Takes a size of at least "1 B".
    time
        Longest time the backlog (with the new packet) needs at the present rate. Takes a duration above "0 s".
    """

    packets: int | None = None
    bytes: ByteCount | None = None
    time: Duration | None = None
    kind: Literal["drop_tail"] = "drop_tail"


@dataclass(frozen=True, kw_only=True)
class HeadDrop:
    """First in, first out; what has waited longest is dropped until the new packet fits. All limits given hold.

    Attributes
    ----------
    packets
        Most packets that wait. Takes an integer of at least 1.
    bytes
        Most bytes that wait. Takes a size of at least "1 B".
    """

    packets: int | None = None
    bytes: ByteCount | None = None
    kind: Literal["head_drop"] = "head_drop"


#: When CoDel's next drop is due, after `count` of them.
#: - `inverse_sqrt`: `interval` / sqrt(count), in Linux' fixed-point numbers (RFC 8289 section 5.5).
#: - `inverse_count`: `interval` / count: the published tunnel.
ControlLaw: TypeAlias = Literal["inverse_sqrt", "inverse_count"]


#: The count with which CoDel begins a new series of drops.
#: - `last_series`: How much the last series has added, if it ended within 16 intervals, else 1 (RFC 8289 section 5.5).
#: - `minus_two`: Two less than before, at least 1, if the packet has waited less than one interval, else 1: the
#:   published tunnel.
CodelRestart: TypeAlias = Literal["last_series", "minus_two"]


@dataclass(frozen=True, kw_only=True)
class Codel:
    """Controlled delay (CoDel, RFC 8289) as Linux' `codel`: one queue, dropped from or marked at its head.

    Attributes
    ----------
    packets
        Most packets that wait; what would exceed it is dropped on arrival. Takes an integer of at least 1. Default:
        `1000`.
    target
        Acceptable standing queue delay. Below `interval`. Default: `"5 ms"`.
    interval
        How long every packet must have waited longer than `target` before the first drop. Takes a duration above "0 s".
        Default: `"100 ms"`.
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `false`.
    ce_threshold
        ECN-capable packets that have waited longer are marked immediately (default: none).
    least_backlog
        While no more than this waits, nothing is dropped; `0 B`: no such exception. Default: `"1514 B"`.
    control_law
        When the next drop is due. Default: `"inverse_sqrt"`.
    restart
        The count of drops with which a new series begins. Default: `"last_series"`.
    """

    packets: int | None = None
    target: Duration | None = None
    interval: Duration | None = None
    ecn: bool | None = None
    ce_threshold: Duration | None = None
    least_backlog: ByteCount | None = None
    control_law: ControlLaw | None = None
    restart: CodelRestart | None = None
    kind: Literal["codel"] = "codel"


#: What of a packet the hash of FQ-CoDel takes.
#: - `five_tuple`: Addresses, protocol and ports (ICMP: type, code and identifier; fragments: identification).
#: - `field_sum`: The sum of protocol, addresses and ports, 0 for ICMP: the published tunnel.
FlowHash: TypeAlias = Literal["five_tuple", "field_sum"]


@dataclass(frozen=True, kw_only=True)
class FqCodel:
    """A CoDel queue for each flow, served in turn (FQ-CoDel, RFC 8290) as Linux' `fq_codel`.

    Attributes
    ----------
    packets
        Most packets that wait in all queues. Takes an integer of at least 1. Default: `10240`.
    memory
        Most memory of all queues: the bytes of packets, and `memory_per_packet` for each. Takes a size of at least
        "1 B". Default: `"32 MiB"`.
    memory_per_packet
        Memory of a packet in addition to its bytes (Linux counts the whole buffer). Default: `"0 B"`.
    drop_batch
        Maximum number of packets dropped in one batch from the longest queue when a limit is exceeded, but not more
        than half of its bytes. Takes an integer of at least 1 packet. Default: `64`.
    flows
        Number of queues that flows are hashed to. Takes an integer from 1 to 65536 queues. Default: `1024`.
    hash
        What the hash takes of a packet. Default: `"five_tuple"`.
    quantum
        Bytes a queue may send in its turn. Takes a size from "256 B" to "1 MiB". Default: `"1514 B"`.
    target
        As for `codel`. Below `interval`. Default: `"5 ms"`.
    interval
        As for `codel`. Takes a duration above "0 s". Default: `"100 ms"`.
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `true`.
    ce_threshold
        As for `codel`.
    least_backlog
        While no more than this waits in all queues, nothing is dropped; `0 B`: no such exception. Default: `"1514 B"`.
    control_law
        As for `codel`. Default: `"inverse_sqrt"`.
    restart
        As for `codel`. Default: `"last_series"`.
    """

    packets: int | None = None
    memory: ByteCount | None = None
    memory_per_packet: ByteCount | None = None
    drop_batch: int | None = None
    flows: int | None = None
    hash: FlowHash | None = None
    quantum: ByteCount | None = None
    target: Duration | None = None
    interval: Duration | None = None
    ecn: bool | None = None
    ce_threshold: Duration | None = None
    least_backlog: ByteCount | None = None
    control_law: ControlLaw | None = None
    restart: CodelRestart | None = None
    kind: Literal["fq_codel"] = "fq_codel"


#: A probability, such as "0.1 %".
Probability: TypeAlias = float | str


@dataclass(frozen=True, kw_only=True)
class Pie:
    """Proportional integral controller, enhanced (PIE, RFC 8033) as Linux' `pie`.

    One queue, dropped from or marked on arrival.

    Attributes
    ----------
    packets
        Most packets that wait; what would exceed it is dropped on arrival. Takes an integer of at least 1. Default:
        `1000`.
    target
        Waiting time that the controller aims at. Takes a duration above "0 s". Default: `"15 ms"`.
    update_interval
        Time between two updates of the drop probability. Linux rounds it up to jiffies, and its timer takes one more.
        Takes a duration of at least "1 ms". Default: `"15 ms"`.
    alpha
        What each second of waiting time above `target` adds to the probability at an update. Linux' unit: 2 is 0.125.
        Takes an integer from 0 to 32 sixteenths. Default: `2`.
    beta
        What each second by which the waiting time has grown since the last update adds to the probability. Takes an
        integer from 0 to 32 sixteenths. Default: `20`.
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `false`.
    ecn_drop_threshold
        Probability above which ECN-capable packets are dropped, too (`mark_ecnth`). Default: `0.1`.
    byte_mode
        Whether the probability is proportional to the size of a packet, up to `mtu`. Default: `false`.
    burst_allowance
        Time with departures during which nothing is dropped or marked after the queue was short. Default: `"150 ms"`.
    rate_estimator
        Whether the waiting time is the backlog by an estimate of the departure rate (Linux' `dq_rate_estimator`); else
        it is that of the packet served last. Default: `false`.
    mtu
        Largest packet with its header; while less than two of them wait, nothing is dropped or marked. Takes a size
        from "1 B" to "1 MiB". Default: `"1514 B"`.
    """

    packets: int | None = None
    target: Duration | None = None
    update_interval: Duration | None = None
    alpha: int | None = None
    beta: int | None = None
    ecn: bool | None = None
    ecn_drop_threshold: Probability | None = None
    byte_mode: bool | None = None
    burst_allowance: Duration | None = None
    rate_estimator: bool | None = None
    mtu: ByteCount | None = None
    kind: Literal["pie"] = "pie"


#: What waits, and what is dropped or marked.
Queue: TypeAlias = DropTail | HeadDrop | Codel | FqCodel | Pie


@dataclass(frozen=True, kw_only=True)
class Independent:
    """Each packet with the same probability; written short as `"0.1 %"`.

    Attributes
    ----------
    probability
        Probability of each packet.
    """

    probability: Probability
    kind: Literal["independent"] = "independent"


@dataclass(frozen=True, kw_only=True)
class GilbertElliott:
    """Two states, one good and one bad (Gilbert 1960, Elliott 1963).

    Attributes
    ----------
    good_to_bad
        Probability of going from good to bad before each packet. Not 0 together with `bad_to_good`.
    bad_to_good
        Probability of going from bad to good before each packet.
    loss_in_bad
        Loss probability in the bad state.
    loss_in_good
        Loss probability in the good state. Default: `0.0`.
    """

    good_to_bad: Probability
    bad_to_good: Probability
    loss_in_bad: Probability
    loss_in_good: Probability | None = None
    kind: Literal["gilbert_elliott"] = "gilbert_elliott"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Exactly these packets, counted from 0 in the order of arrival at the link.

    Attributes
    ----------
    packets
        Their numbers.
    """

    packets: tuple[int, ...]
    kind: Literal["listed"] = "listed"


#: Loss of a link.
Loss: TypeAlias = Probability | Independent | GilbertElliott | Listed


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A packet that a link holds back after its delay.

    Attributes
    ----------
    packet
        Its number, counted from 0 in the order of arrival at the link, lost ones included. Each packet at most once.
    by
        How long it is held. Takes a duration above "0 s".
    behind
        It is released before that, directly after the packet that is the last of so many to pass it. Takes an integer
        of at least 1.
    """

    packet: int
    by: Duration
    behind: int | None = None


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """Reports of a link to the sending end of its bearer, after DL DATA DELIVERY STATUS of 3GPP TS 38.425.

    Attributes
    ----------
    interval
        Time between two reports, while there is something to report. Takes a duration above "0 s". Default: `"5 ms"`.
    delay
        How long a report takes to the bearer. Default: `"1 ms"`.
    desired_buffer
        Desired buffer size, as the time in which the link sends it at its present rate. Takes a duration above "0 s".
        Default: `"15 ms"`.
    """

    interval: Duration | None = None
    delay: Duration | None = None
    desired_buffer: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Link:
    """A one-way link: loss, then queue, then serialisation at the rate, then delay.

    Attributes
    ----------
    rate
        How fast packets are serialised; without it, in no time. Takes a rate above "0 bit/s", or a table with `kind`.
    overhead_per_packet
        Bytes that serialisation adds to each packet (Ethernet header: 14 B). Needs a `rate`. Default: `"0 B"`.
    queue
        What waits for serialisation. Needs a `rate`. Default: `{ kind = "drop_tail", packets = 1000 }`.
    loss
        Loss before the queue.
    delay
        Propagation delay after serialisation. Default: `{ deviation = "0 ns", distribution = "constant", mean = "0 ns",
        reorder = false }`.
    holds
        Packets that are held back at the far end, so that others overtake them.
    feedback
        Reports to the bearer that sends over the link; none without it. Needs a `rate`, and a link of exactly one
        bearer.
    """

    rate: Rate | None = None
    overhead_per_packet: ByteCount | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    delay: Duration | Delay | None = None
    holds: tuple[Hold, ...] | None = None
    feedback: Feedback | None = None


#: What a bearer does with a packet.
#: - `split`: Each packet takes one link.
#: - `duplicate`: Each packet takes all links, with one number.
BearerMode: TypeAlias = Literal["split", "duplicate"]


@dataclass(frozen=True, kw_only=True)
class Batches:
    """Batches of `batch_packets`, divided by `shares`."""

    kind: Literal["batches"] = "batches"


@dataclass(frozen=True, kw_only=True)
class Proportional:
    """Batches of `batch_packets`, divided by the measured rates of the links.

    Attributes
    ----------
    start_rate
        Rate that each link is taken to have before it has been measured. Takes a rate above "0 bit/s". Default:
        `"10 Mbit/s"`.
    smoothing
        Time over which rates are averaged. Takes a duration above "0 s", at most "60 min". Default: `"100 ms"`.
    floor
        Least share of a link, so that a slow one is measured again. At most one over the number of links. Takes a
        probability above 0, at most 1, such as 0.001 or "0.1 %". Default: `0.05`.
    """

    start_rate: DataRate | None = None
    smoothing: Duration | None = None
    floor: Probability | None = None
    kind: Literal["proportional"] = "proportional"


@dataclass(frozen=True, kw_only=True)
class LeastExpectedArrival:
    """Each packet takes the link on which it is expected to arrive first.

    Attributes
    ----------
    start_rate
        Rate that each link is taken to have before it has been measured. Takes a rate above "0 bit/s". Default:
        `"10 Mbit/s"`.
    smoothing
        Time over which rates and delays are averaged. Takes a duration above "0 s", at most "60 min". Default:
        `"100 ms"`.
    probe_interval
        A link that has had no packet for this long gets the next one. Takes a duration above "0 s". Default: `"1 s"`.
    """

    start_rate: DataRate | None = None
    smoothing: Duration | None = None
    probe_interval: Duration | None = None
    kind: Literal["least_expected_arrival"] = "least_expected_arrival"


@dataclass(frozen=True, kw_only=True)
class FlowControl:
    """A queue at the sending end, and no more in a link than it desires (3GPP TS 38.425 section 5.4.2).

    Attributes
    ----------
    queue_packets
        Most packets in the queue of the sending end. Takes an integer of at least 1 packet. Default: `1000`.
    start_buffer
        Desired buffer size that each link is taken to have before its first report. Takes a size of at least "1 B".
        Default: `"16 KiB"`.
    """

    queue_packets: int | None = None
    start_buffer: ByteCount | None = None
    kind: Literal["flow_control"] = "flow_control"


#: How a bearer chooses the link of a packet.
Splitter: TypeAlias = Batches | Proportional | LeastExpectedArrival | FlowControl


@dataclass(frozen=True, kw_only=True)
class AdaptiveTimer:
    """It follows the skew of the links: how long gaps stay open that are filled in the end.

    Attributes
    ----------
    least
        Shortest value. At most `most`. Default: `"5 ms"`.
    most
        Longest value; also that of the first `window`, and of the first one after silence. Takes a duration above
        "0 s", at most "60 min". Default: `"200 ms"`.
    window
        Time whose longest gap counts. Takes a duration above "0 s", at most "60 min". Default: `"2 s"`.
    factor
        The value as a multiple of the longest gap. Takes a number from 1 to 100. Default: `1.5`.
    """

    least: Duration | None = None
    most: Duration | None = None
    window: Duration | None = None
    factor: float | None = None
    kind: Literal["adaptive"] = "adaptive"


#: A t-Reordering that changes.
TimerRule: TypeAlias = AdaptiveTimer


#: How long a gap is waited for.
ReorderingTimer: TypeAlias = Duration | TimerRule


@dataclass(frozen=True, kw_only=True)
class Reordering:
    """PDCP reordering (3GPP TS 38.323 section 5.2.2.2).

    Attributes
    ----------
    enabled
        Whether packets are put in order; if not, the number is stripped and they pass immediately. Default: `true`.
    timer
        t-Reordering. Default: `"200 ms"`.
    sequence_bits
        Length of the sequence number: 12 or 18 (standard) or 16 (published testbed). Takes 12, 16 or 18. Default: `16`.
    """

    enabled: bool | None = None
    timer: ReorderingTimer | None = None
    sequence_bits: Literal[12, 16, 18] | None = None


@dataclass(frozen=True, kw_only=True)
class Bearer:
    """A split bearer: numbers packets, sends them over several links, puts them in order again.

    Attributes
    ----------
    links
        Names of the links, in the order of `shares`. Each at most once. Takes an array of 1 to 8 strings.
    batch_packets
        Packets in a batch; each batch is divided among the links by `shares`. Takes an integer from 1 to 65535 packets.
        Default: `100`.
    shares
        Weight of each link; without it, all are equal. One for each link, not all 0; none with `duplicate` or a
        splitter other than `batches`.
    mode
        Split or duplicate. Default: `"split"`.
    splitter
        How the link of a packet is chosen. Others than `batches` need `split`, and `feedback` of each link. Default: `{
        kind = "batches" }`.
    duplication
        Share of the packets that take all links, as with `duplicate`; the others are split. 0 with `duplicate` and with
        `flow_control`. Default: `0.0`.
    reordering
        Reordering at the receiving end. Default: `{ enabled = true, sequence_bits = 16, timer = "200 ms" }`.
    """

    links: tuple[str, ...]
    batch_packets: int | None = None
    shares: tuple[int, ...] | None = None
    mode: BearerMode | None = None
    splitter: Splitter | None = None
    duplication: Probability | None = None
    reordering: Reordering | None = None


#: When the memory of a datagram that was read is free again (`udp_rmem_release`, net/ipv4/udp.c).
#: - `at_once`: When it is read: Linux to 4.9, and nearly so from 5.5 on.
#: - `in_quarters`: When a quarter of the buffer has been read since the last return: Linux 4.15 to 5.4, between its
#:   commit 0d4a6608f68c and the revert of January 2020.
MemoryReturn: TypeAlias = Literal["at_once", "in_quarters"]


@dataclass(frozen=True, kw_only=True)
class Host:
    """A kind of host. The default costs nothing and never drops.

    Attributes
    ----------
    receive_buffer
        Socket receive buffer (`SO_RCVBUF` as the kernel counts it); unlimited without it. Takes a size of at least
        "1 B".
    truesize
        What the kernel charges for each datagram; without it, as Linux: the buffer of the packet rounded up to a power
        of two, and the socket-buffer structure. Takes a size of at least "1 B".
    memory_return
        When the memory of a datagram that was read is free again. Default: `"at_once"`.
    receive_datagram
        CPU time of the application for each datagram received. Default: `"0 ns"`.
    receive_call
        CPU time of each receiving system call. Default: `"0 ns"`.
    receive_batch
        Most datagrams in one receiving call (GRO, recvmmsg). Takes an integer of at least 1 datagram. Default: `1`.
    send_datagram
        CPU time for each datagram sent. Default: `"0 ns"`.
    send_call
        CPU time of each sending system call. Default: `"0 ns"`.
    send_batch
        Most datagrams in one sending call (GSO, sendmmsg). Takes an integer of at least 1 datagram. Default: `1`.
    page_object
        CPU time of the application for each object of a page that is complete, before it reads on. Default: `"0 ns"`.
    timer_slack
        How late user-space timers fire. Without `reorder` and `every`. Default: `{ deviation = "0 ns", distribution =
        "constant", mean = "0 ns", reorder = false }`.
    wake_up
        How long a process that waits takes to run after a datagram has arrived. Without `reorder` and `every`. Default:
        `{ deviation = "0 ns", distribution = "constant", mean = "0 ns", reorder = false }`.
    """

    receive_buffer: ByteCount | None = None
    truesize: ByteCount | None = None
    memory_return: MemoryReturn | None = None
    receive_datagram: Duration | None = None
    receive_call: Duration | None = None
    receive_batch: int | None = None
    send_datagram: Duration | None = None
    send_call: Duration | None = None
    send_batch: int | None = None
    page_object: Duration | None = None
    timer_slack: Duration | Delay | None = None
    wake_up: Duration | Delay | None = None


@dataclass(frozen=True, kw_only=True)
class Tap:
    """A point that records the packets passing it.

    Attributes
    ----------
    keep_packets
        Longest number of packets kept; later ones are counted only. Default: `1000000`.
    """

    keep_packets: int | None = None


#: How many connections a tunnel has.
#: - `connections`: One for each path: each has its own acknowledgements, RTT and failure.
#: - `multipath`: One with all paths (Multipath QUIC).
CarrierKind: TypeAlias = Literal["connections", "multipath"]


@dataclass(frozen=True, kw_only=True)
class DirectPipeline:
    """A packet leaves the queue when a path can take it immediately."""

    kind: Literal["direct"] = "direct"


#: When PQUIC sends a packet with datagrams.
#: - `full`: When no further datagram fits.
#: - `full_or_acknowledging`: When no further datagram fits, or an acknowledgement leaves on the path.
#: - `at_once`: At once.
LeaveRule: TypeAlias = Literal["full", "full_or_acknowledging", "at_once"]


@dataclass(frozen=True, kw_only=True)
class PquicPipeline:
    """That of PQUIC with the datagram plugin: see `tunnel/pquic.rs`.

    Attributes
    ----------
    leaves
        When a packet of the tunnel leaves. Default: `"full"`.
    """

    leaves: LeaveRule | None = None
    kind: Literal["pquic"] = "pquic"


#: How packets go from the queue to the paths.
Pipeline: TypeAlias = DirectPipeline | PquicPipeline


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """A tunnel: name it in the routes of flows, `down` through it from server to client, `up` the other way.

    A name with an end, such as `vpn.client`, says where packets enter: uploads have it in their route `down`.

    Attributes
    ----------
    stack
        Stack that carries the datagrams: `lab-quic` or `noq`.
    paths
        Routes of the paths between the ends. Each uses separate links and bearers. Takes an array of 1 to 8 tables.
    carrier
        One connection for each path, or one with several. Default: `"connections"`.
    pipeline
        How packets go from the queue to the paths. `pquic` needs the stack `lab-quic`. Default: `{ kind = "direct" }`.
    queue
        What waits for the paths, at each end. `drop_tail` without `time`. Default: `{ control_law = "inverse_sqrt",
        drop_batch = 64, ecn = true, flows = 1024, hash = "five_tuple", interval = "100 ms", kind = "fq_codel",
        least_backlog = "1514 B", memory = "32 MiB", memory_per_packet = "0 B", packets = 10240, quantum = "1514 B",
        restart = "last_series", target = "5 ms" }`.
    scheduler
        Which path the next packet takes. `redundant` needs `resequencing`. Default: `{ kind = "lowest_rtt" }`.
    mtu
        Longest IP packet that enters; longer ones are refused. At most 36 B less than `datagram_size`. Takes a size
        from "576 B" to "65000 B". Default: `"1400 B"`.
    resequencing
        Longest wait of packets that have come out of order for those before them; without it they leave as they come.
        Takes a duration above "0 s".
    windows
        Congestion windows of the paths that never change, with `congestion_control = "fixed"`. One above 0 for each
        path.
    server
        Options of the transport at the server: the end that packets `down` enter.
    client
        Options of the transport at the client, which opens the connections.
    """

    stack: str
    paths: tuple[PathRoutes, ...]
    carrier: CarrierKind | None = None
    pipeline: Pipeline | None = None
    queue: Queue | None = None
    scheduler: PathScheduler | None = None
    mtu: ByteCount | None = None
    resequencing: Duration | None = None
    windows: tuple[ByteCount, ...] | None = None
    server: EndpointConfig | None = None
    client: EndpointConfig | None = None


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """An operation and what it is exchanged for: one of `replace`, `before` and `after`.

    Attributes
    ----------
    operation
        An option of the endpoint, such as `quic.acknowledgement`, or a computation, such as
        `compute.congestion_window`.
    replace
        What takes its place: a value of the option; for a computation, the name of a function.
    before
        Function that is called before the computation, with its inputs.
    after
        Function that is called after the computation, with its inputs and result, which it may change.
    """

    operation: str
    replace: object = None
    before: str | None = None
    after: str | None = None


#: Ends of a flow that a plugin changes.
#: - `both`: Sender and receiver.
#: - `sender`: The sender alone.
#: - `receiver`: The receiver alone.
PluginEnds: TypeAlias = Literal["both", "sender", "receiver"]


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A bundle of exchanges.

    Attributes
    ----------
    exchanges
        What is exchanged for what. Takes an array of one or more tables.
    description
        What it changes, in a sentence. Default: `""`.
    ends
        Ends of the flow that it changes. Default: `"both"`.
    """

    exchanges: tuple[Exchange, ...]
    description: str | None = None
    ends: PluginEnds | None = None


#: Which way packets travel: `down` from sender to receiver.
#: - `down`: From the sender to the receiver.
#: - `up`: From the receiver to the sender.
WireDirection: TypeAlias = Literal["down", "up"]


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A connection of an output to an input: `"element.port"`, for example `"dc.ingress.1"`.

    Attributes
    ----------
    from_
        Output: element and port.
    to
        Input: element and port.
    flow
        Only packets of this flow take the wire; without it, all.
    direction
        Which way the packets of `flow` travel. `up` needs a `flow`. Default: `"down"`.
    """

    from_: str = field(metadata={"name": "from"})
    to: str
    flow: str | None = None
    direction: WireDirection | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a run records beside its summary. Everything is off by default.

    Attributes
    ----------
    series_interval
        Step of the time series; none without it. At most 10 million samples in `duration`. Takes a duration above
        "0 s".
    packets
        Every packet at every element. Default: `false`.
    acks
        Every acknowledgement that arrives at an endpoint: when, and how much it newly acknowledges. Default: `false`.
    sojourns
        How long each packet has waited in the queues of tunnels. Default: `false`.
    requests
        When each request of a page was sent and answered. Default: `false`.
    qlog
        qlog of each QUIC endpoint. Default: `false`.
    pcapng
        Capture of each endpoint's packets, with TLS secrets. Default: `false`.
    """

    series_interval: Duration | None = None
    packets: bool | None = None
    acks: bool | None = None
    sojourns: bool | None = None
    requests: bool | None = None
    qlog: bool | None = None
    pcapng: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ScenarioFields:
    """One network with its flows.

    Attributes
    ----------
    version
        Version of this format: 1. Takes 1.
    name
        A short name; results carry it. Takes a non-empty string.
    flows
        Flows by name. Takes a table of one or more entries.
    description
        What it is about, in a sentence or two. Default: `""`.
    duration
        When the run ends at the latest, in network time. Takes a duration above "0 s". Default: `"60 min"`.
    until
        What ends the run before that. Default: `"workloads_done"`.
    links
        Links by name.
    bearers
        Split bearers by name.
    hosts
        Kinds of host by name; each endpoint that names one has a separate host.
    taps
        Taps by name: they record the packets that pass; name them in a route like a link.
    tunnels
        Tunnels by name; name them in a route like a bearer.
    plugins
        Plugins by name; flows name them, or built-in ones.
    wires
        Wires stated by hand; where there are any, routes of flows must be empty.
    record
        What to record in addition to the summary. Default: `{ acks = false, packets = false, pcapng = false, qlog =
        false, requests = false, sojourns = false }`.
    """

    version: int = 1
    name: str
    flows: dict[str, Flow]
    description: str | None = None
    duration: Duration | None = None
    until: Until | None = None
    links: dict[str, Link] = field(default_factory=dict)
    bearers: dict[str, Bearer] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    taps: dict[str, Tap] = field(default_factory=dict)
    tunnels: dict[str, Tunnel] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    wires: tuple[Wire, ...] | None = None
    record: Record | None = None
