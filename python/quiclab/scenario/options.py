"""The options of scenario files as dataclasses.

Made from the JSON schema of the engine by `python tools/scenario_reference.py --write`; change the Rust types instead.
`None` means that an option is not given: the engine fills in its default. Defaults are shown as in TOML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = [
    "AboveMtu",
    "AckAsRequested",
    "AckEvery",
    "AckFilter",
    "AckFrequency",
    "AckPath",
    "AckRttFraction",
    "AckTimer",
    "Acknowledgement",
    "AdaptiveTimer",
    "Aggregation",
    "Arrivals",
    "AtDelivered",
    "AtState",
    "AtTime",
    "Batches",
    "BbrConstants",
    "Bearer",
    "BearerMode",
    "Blest",
    "ByteCount",
    "Cake",
    "CarrierKind",
    "Cause",
    "CheapestFirst",
    "Codel",
    "CodelRestart",
    "ConditionRow",
    "Conditions",
    "CongestionControl",
    "ControlLaw",
    "Controller",
    "CubicConstants",
    "DataRate",
    "Datagrams",
    "Delay",
    "Delivered",
    "DirectPipeline",
    "Distribution",
    "Download",
    "DropTail",
    "Dualpi2",
    "Duration",
    "EarliestArrival",
    "EarlyData",
    "Ecf",
    "EcnField",
    "EcnRewrite",
    "Empirical",
    "EndpointConfig",
    "Even",
    "Event",
    "Exchange",
    "Exponential",
    "Feedback",
    "File",
    "Flow",
    "FlowControl",
    "FlowHash",
    "FlowPath",
    "FqCodel",
    "FqPacing",
    "FqPie",
    "Framing",
    "FramingKind",
    "Function",
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
    "Live",
    "LiveDelivery",
    "LogNormal",
    "Loss",
    "LowLatency",
    "LowestRtt",
    "Media",
    "MediaControl",
    "MemoryReturn",
    "Multipath",
    "NewRenoConstants",
    "NoPacing",
    "ObjectKind",
    "OnOff",
    "Pacing",
    "Page",
    "PageObjects",
    "PageResource",
    "Pareto",
    "PathAction",
    "PathChange",
    "PathRoutes",
    "PathScheduler",
    "PathStatus",
    "Pie",
    "Ping",
    "PingProtocol",
    "Pipeline",
    "Plugin",
    "PluginEnds",
    "Poisson",
    "Policer",
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
    "RateAt",
    "RateReduction",
    "Record",
    "Red",
    "Redundant",
    "Regular",
    "Reordering",
    "ReorderingTimer",
    "RequestResponse",
    "Retransmission",
    "RoundRobin",
    "RttVariation",
    "SavedPath",
    "ScenarioFields",
    "SecondQueue",
    "ShapedRate",
    "Sizes",
    "SlowStartExit",
    "Splitter",
    "StreamScheduler",
    "StrictRoundRobin",
    "Tap",
    "TcpEcn",
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
    "TunnelEcn",
    "Until",
    "WeightedRoundRobin",
    "WhileDown",
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
    """The client sends one request; the server responds with `size` bytes, or for `duration`.

    Attributes
    ----------
    size
        Amount that the server sends. Either this or `duration`. Takes a size of at least "1 B".
    duration
        Time for which the server sends, from the start of the client. Either this or `size`. Takes a duration above
        "0 s".
    request
        Length of the client's request. Takes a size of at least "1 B". Default: `"100 B"`.
    """

    size: ByteCount | None = None
    duration: Duration | None = None
    request: ByteCount | None = None
    kind: Literal["download"] = "download"


@dataclass(frozen=True, kw_only=True)
class RequestResponse:
    """The client sends a request, waits for the whole response, pauses, and sends the next request.

    Attributes
    ----------
    count
        Number of requests. Takes an integer of at least 1.
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


@dataclass(frozen=True, kw_only=True)
class OnOff:
    """The client asks for a burst, waits for all of it, thinks for an exponentially distributed time, and asks again.

    Attributes
    ----------
    burst
        Length of each burst. Takes a size of at least "1 B".
    think_time
        Mean of the think times.
    duration
        Time after which no burst is asked for, from the start of the flow. Takes a duration above "0 s".
    request
        Length of each request. Takes a size of at least "1 B". Default: `"100 B"`.
    """

    burst: ByteCount
    think_time: Duration
    duration: Duration
    request: ByteCount | None = None
    kind: Literal["on_off"] = "on_off"


#: A rate, such as "20 Mbit/s".
DataRate: TypeAlias = str


@dataclass(frozen=True, kw_only=True)
class Datagrams:
    """The sender sends datagrams at a constant rate, whether they arrive or not.

    Attributes
    ----------
    rate
        Rate of the payload during periods of sending. Takes a rate above "0 bit/s".
    size
        Payload of each datagram. Takes a size from "1 B" to "65507 B".
    duration
        Time for which the sender sends, from the start of the flow. Takes a duration above "0 s".
    on
        Length of a period of sending (default: the whole time). Together with `off`. Takes a duration above "0 s".
    off
        Length of the pause after each period of sending. Together with `on`. Takes a duration above "0 s".
    """

    rate: DataRate
    size: ByteCount
    duration: Duration
    on: Duration | None = None
    off: Duration | None = None
    kind: Literal["datagrams"] = "datagrams"


#: Kind of an object of a page.
#: - `image`: An image.
#: - `style`: A style sheet.
#: - `script`: A script.
#: - `font`: A font.
ObjectKind: TypeAlias = Literal["image", "style", "script", "font"]


@dataclass(frozen=True, kw_only=True)
class PageObjects:
    """A group of equal objects of a page.

    Attributes
    ----------
    count
        Number of objects. Takes an integer of at least 1.
    size
        Length of each. Takes a size of at least "1 B".
    kind
        Kind of the objects: a browser's priorities depend on it. Default: `"image"`.
    """

    count: int
    size: ByteCount
    kind: ObjectKind | None = None


@dataclass(frozen=True, kw_only=True)
class PageResource:
    """A resource of a page, requested because of other resources.

    Attributes
    ----------
    size
        Length of the body. Takes a size of at least "1 B".
    kind
        Kind of the resource: a browser's priorities depend on it. Default: `"image"`.
    after
        Indices of the resources that must be complete before the browser requests it. Of resources before it. Takes an
        array of one or more integers of at least 0. Default: `[0]`.
    delay
        Time from their completion to the request: the time that the browser needs to parse and to execute them.
        Default: `"0 ns"`.
    origin
        Server that has it. Each has its own connection, opened when it is first needed; 0 has the HTML. Takes an
        integer from 0 to 255. Default: `0`.
    think_time
        Time from the end of the request to the first byte of the response (default: `think_time` of the page).
    request
        Length of the header section of the request, compressed (default: `request` of the page). Takes a size from
        "1 B" to "256 KiB".
    response
        Length of the header section of the response, compressed (default: `response` of the page). Takes a size from
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
#: - `wifi`: Jitter of Wi-Fi with collisions, which is added to the mean (draft-huitema-ccwg-c4-test-04,
#:   "Handling of High Jitter Environments").
Distribution: TypeAlias = Literal["constant", "normal", "uniform", "pareto", "wifi"]


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Propagation delay.

    Attributes
    ----------
    mean
        Mean; written short as `"10 ms"` if it is constant.
    deviation
        Standard deviation (uniform: half of the width; wifi: average jitter, as its source calls it). Above 0 with a
        `distribution`, 0 without. Default: `"0 ns"`.
    distribution
        Distribution, truncated at 0. Default: `"constant"`.
    reorder
        Whether packets may overtake each other within the link. Needs a `distribution`, `conditions` or
        `retransmission`. Default: `false`.
    every
        Time for which a drawn delay holds (default: each packet draws its own). Needs a `distribution`. Takes a
        duration of at least "10 us".
    first
        Time of the first change (default: drawn between 0 and `every`). Needs `every`.
    steps
        Number of equal steps, spread over `every`, in which a delay changes; the first change is immediate. 1 without
        `every`. Takes an integer from 1 to 1000.
    limit_packets
        Maximum number of packets in the delay at one time, as the `limit` of netem; those above it are dropped
        (default: none is). Takes an integer of at least 1 packet.
    """

    mean: Duration
    deviation: Duration | None = None
    distribution: Distribution | None = None
    reorder: bool | None = None
    every: Duration | None = None
    first: Duration | None = None
    steps: int | None = None
    limit_packets: int | None = None


#: Order in which a server sends requested objects.
#: - `browser`: As browsers request.
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
        Objects that the HTML names, in its order.
    resources
        Resources of the page in addition to the HTML, each with the resources that lead to its request; instead of
        `objects`. Resource 0 is the HTML, those of this list follow, from 1.
    html_think_time
        Time that the server needs for the HTML, from the end of the request to the first byte of the response. Default:
        `"0 ns"`.
    think_time
        Time that the server needs for each object, likewise. Default: `"0 ns"`.
    browser_time
        Time of the browser outside the network, from the last byte of the HTML to the first request for an object;
        drawn once. Without `reorder` and `every`. Default: `{ deviation = "0 ns", distribution = "constant", mean =
        "0 ns", reorder = false }`.
    issue_time
        CPU time of the browser's page for each request for an object that it issues, one after the other. Default:
        `"0 ns"`.
    request_time
        CPU time of the browser's network process for each of them. The first leaves when it is prepared, another when
        all those are that were issued before it was. Over QUIC, a host reads no packets meanwhile. Default: `"0 ns"`.
    object_time
        CPU time of the browser for each object that is complete, one after the other; the page is loaded when all have
        been handled. Default: `"0 ns"`.
    priorities
        Order in which the server sends the objects. Default: `"browser"`.
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
    issue_time: Duration | None = None
    request_time: Duration | None = None
    object_time: Duration | None = None
    priorities: Priorities | None = None
    request: ByteCount | None = None
    response: ByteCount | None = None
    kind: Literal["page"] = "page"


#: Protocol of the probes above IP.
#: - `udp`: UDP.
#: - `icmp`: Echo and echo reply of ICMP (RFC 792).
PingProtocol: TypeAlias = Literal["udp", "icmp"]


@dataclass(frozen=True, kw_only=True)
class Ping:
    """The receiver sends probes, which the sender returns.

    Attributes
    ----------
    count
        Number of objects. Takes an integer of at least 1.
    size
        Payload of each probe. Takes a size from "1 B" to "65507 B". Default: `"56 B"`.
    interval
        Time from one probe to the next. Takes a duration above "0 s". Default: `"1 s"`.
    protocol
        Above IP; `icmp` on lab-udp only. Default: `"udp"`.
    """

    count: int
    size: ByteCount | None = None
    interval: Duration | None = None
    protocol: PingProtocol | None = None
    kind: Literal["ping"] = "ping"


#: Congestion control of media over RTP.
#: - `scream`: SCReAM (RFC 8298).
#: - `scream-v2`: Version 2 of SCReAM (draft-ietf-ccwg-rfc8298bis-screamv2-01).
MediaControl: TypeAlias = Literal["scream", "scream-v2"]


@dataclass(frozen=True, kw_only=True)
class Media:
    """The sender sends video frames over RTP, at the rate that SCReAM sets (RFC 8298, or version 2).

    Attributes
    ----------
    max_rate
        Maximum rate.
    duration
        Time for which the sender sends, from the start of the flow. Takes a duration above "0 s".
    start_rate
        Rate at the start, RTP headers included. From `min_rate` to `max_rate`. Default: `"1 Mbit/s"`.
    min_rate
        Minimum rate. Takes a rate above "0 bit/s". Default: `"100 kbit/s"`.
    frame_rate
        Frames per second. Takes an integer from 1 to 1000. Default: `25`.
    packet_size
        Maximum size of an RTP packet, its header included. Takes a size from "100 B" to "1472 B". Default: `"1200 B"`.
    control
        Congestion control. Default: `"scream"`.
    target_delay
        Target queueing delay without competing flows, QDELAY_TARGET_LO (default: "100 ms" with `scream`, "60 ms" with
        `scream-v2`). Takes a duration above "0 s".
    ramp_up_speed
        Maximum growth of the rate in a second, RAMP_UP_SPEED of `scream` (default: "200 kbit/s"). Takes a rate above
        "0 bit/s".
    ecn
        Packets are ECN-capable, and marks count as congestion. Default: `false`.
    l4s
        Packets are ECN-capable for L4S: they have ECT(1), and `scream-v2` follows the share of marks. Instead of `ecn`.
        Default: `false`.
    """

    max_rate: DataRate
    duration: Duration
    start_rate: DataRate | None = None
    min_rate: DataRate | None = None
    frame_rate: int | None = None
    packet_size: ByteCount | None = None
    control: MediaControl | None = None
    target_delay: Duration | None = None
    ramp_up_speed: DataRate | None = None
    ecn: bool | None = None
    l4s: bool | None = None
    kind: Literal["media"] = "media"


#: How the frames of a live video are sent over QUIC.
#: - `streams`: A unidirectional stream for each frame, older frames first where the stack sends streams by priority.
#: - `datagrams`: DATAGRAM frames (RFC 9221), which are not sent again.
LiveDelivery: TypeAlias = Literal["streams", "datagrams"]


@dataclass(frozen=True, kw_only=True)
class Live:
    """The sender sends the frames of a live video.

    Each on a stream or in datagrams of QUIC, or one after the other on TCP. The congestion control of the transport is
    the only one.

    Attributes
    ----------
    rate
        Mean rate of the frames; of a source that adapts, the rate at the start. Takes a rate above "0 bit/s".
    deadline
        Time from the capture of a frame to its last byte at the receiver, above which it is late. Takes a duration
        above "0 s".
    duration
        Time for which frames are captured, from the moment at which the sender is connected. Takes a duration above
        "0 s".
    min_rate
        Minimum rate of a source that follows the rate at which the transport sends, less what waits. Together with
        `max_rate`. Takes a rate above "0 bit/s".
    max_rate
        Maximum rate of a source that follows the rate at which the transport sends. Together with `min_rate`. Takes a
        rate above "0 bit/s".
    frame_rate
        Frames per second (default: RFC 8593 section 5). Takes an integer from 1 to 1000. Default: `30`.
    key_frame_interval
        Time from one key frame to the next, rounded to whole frames (default: assumed). Takes a duration above "0 s".
        Default: `"2 s"`.
    key_frame_ratio
        Size of a key frame, in sizes of another frame (default: assumed). Takes an integer from 1 to 100. Default: `5`.
    size_variation_percent
        Random variation of the sizes: scale of a Laplace distribution around the mean, which is cut at twice the mean,
        in per cent of the mean (default: SCALE_B of RFC 8593 section 5). Takes an integer from 0 to 100. Default: `15`.
    drop_late
        The sender gives up frames at their deadline: it resets their streams; on TCP, it leaves out those of which
        nothing has been written. Not with `delivery = "datagrams"`. Default: `false`.
    delivery
        How frames are sent over QUIC. Default: `"streams"`.
    packet_size
        Maximum payload of a datagram, where frames are sent in datagrams. Takes a size from "100 B" to "65507 B".
        Default: `"1100 B"`.
    """

    rate: DataRate
    deadline: Duration
    duration: Duration
    min_rate: DataRate | None = None
    max_rate: DataRate | None = None
    frame_rate: int | None = None
    key_frame_interval: Duration | None = None
    key_frame_ratio: int | None = None
    size_variation_percent: int | None = None
    drop_late: bool | None = None
    delivery: LiveDelivery | None = None
    packet_size: ByteCount | None = None
    kind: Literal["live"] = "live"


#: Workload of the flow.
Workload: TypeAlias = Download | RequestResponse | OnOff | Datagrams | Page | Ping | Media | Live


#: Congestion control of a sender.
#: - `newreno`: NewReno (RFC 9002 section 7, RFC 6582); Linux calls it reno.
#: - `cubic`: CUBIC (RFC 9438).
#: - `bbr-linux`: BBR version 1 as in Linux 5.15 and later.
#: - `bbr-chromium`: BBR version 1 as in Chromium's QUIC.
#: - `bbr-v3`: BBR version 3 (draft-ietf-ccwg-bbr-06).
#: - `bbr-picoquic`: BBR version 1 as in picoquic.
#: - `dctcp`: DCTCP (RFC 8257): the reduction follows the share of packets with marks.
#: - `prague`: Prague (draft-briscoe-iccrg-prague-congestion-control-04): scalable, for queues with L4S (RFC 9330).
#: - `c4`: C4 (draft-huitema-ccwg-c4-spec): a rate, and the largest RTT without a queue of its own.
#: - `fixed`: A constant window of the size `initial_window`.
#: - `lia`: Coupled over several paths: linked increases (RFC 6356).
#: - `olia`: Coupled over several paths: opportunistic linked increases.
#: - `balia`: Coupled over several paths: balanced linked adaptation.
CongestionControl: TypeAlias = Literal[
    "newreno",
    "cubic",
    "bbr-linux",
    "bbr-chromium",
    "bbr-v3",
    "bbr-picoquic",
    "dctcp",
    "prague",
    "c4",
    "fixed",
    "lia",
    "olia",
    "balia",
]


@dataclass(frozen=True, kw_only=True)
class AckFrequency:
    """ACK policy that a sender requests of its peer (draft-ietf-quic-ack-frequency).

    Attributes
    ----------
    ack_eliciting_threshold
        Number of ack-eliciting packets that the peer may receive without acknowledging immediately.
    max_ack_delay
        Maximum time that the peer may wait (default: its own max_ack_delay). Takes a duration from "1 ms" to
        "16.383 s".
    reordering_threshold
        Reordering, in packets, that the peer ignores before it acknowledges immediately. Default: `2`.
    """

    ack_eliciting_threshold: int
    max_ack_delay: Duration | None = None
    reordering_threshold: int | None = None


#: Path on which acknowledgements are sent (draft-ietf-quic-multipath-21 section 5.5).
#: - `same`: That of the packets, unless it is abandoned.
#: - `lowest_rtt`: That with the lowest smoothed RTT among those that work.
AckPath: TypeAlias = Literal["same", "lowest_rtt"]


@dataclass(frozen=True, kw_only=True)
class Multipath:
    """Management of paths with the frames of draft-ietf-quic-multipath-21, by ends that both have it.

    Attributes
    ----------
    initial_max_path_id
        Largest path ID that the peer may use at first (`initial_max_path_id`). Abandoned paths raise the limit by one
        each (MAX_PATH_ID). Takes an integer from 0 to 254. Default: `7`.
    acknowledgements
        Path on which acknowledgements of the packets of a path are sent (default: `same`). noq sends all on its first
        path that is available.
    idle_timeout
        This end abandons a path of which nothing was received or acknowledged for this time, or for three probe
        timeouts, if they are longer (default: never). The last path stays. Takes a duration from "1 ms" to "1440 min".
    keep_alive
        This end sends PING on a path of which nothing was received or acknowledged for this time, nor anything sent
        that asks for an acknowledgement (default: never). Less than `idle_timeout`. Takes a duration from "1 ms" to
        "1440 min".
    """

    initial_max_path_id: int | None = None
    acknowledgements: AckPath | None = None
    idle_timeout: Duration | None = None
    keep_alive: Duration | None = None


#: Implementation of the congestion control that a real stack uses.
#: - `stack`: The stack's own.
#: - `quiclab`: That of quiclab's transports, behind the stack's interface.
Controller: TypeAlias = Literal["stack", "quiclab"]


#: Algorithm of the start: what ends slow start before a loss, or takes its place.
#: - `none`: Nothing.
#: - `hystart-linux`: HyStart as in Linux: ACK train and delay.
#: - `hystart-chromium`: HyStart as in Chromium: delay only, from a window of 16 packets on.
#: - `hystart-plus-plus`: HyStart++ (RFC 9406).
#: - `aioquic`: aioquic's: five RTT samples a quarter above the smallest.
#: - `picoquic`: picoquic's: seven RTT samples a quarter above the smallest, seven times.
#: - `search`: SEARCH (draft-chung-ccwg-search-09): delivery falls behind what was sent; the window becomes what the
#:   path holds. Only with `newreno` and `cubic`.
#: - `rapid-start`: Rapid Start (draft-kazuho-ccwg-rapid-start-02): threefold growth until a queue builds up; at the
#:   first loss the window converges to what is delivered. Only with `newreno` and `cubic`.
#: - `careful-resume`: Careful Resume (RFC 9959): half the window of an earlier connection, `saved_path`, paced over an
#:   RTT and then validated. Only with `newreno` and `cubic`, and with pacing.
#: - `jump-start`: Jump Start as in quicly: `max_jump` bytes at once, paced over the first RTT, without history. Only
#:   with `newreno` and `cubic`, and with pacing.
SlowStartExit: TypeAlias = Literal[
    "none",
    "hystart-linux",
    "hystart-chromium",
    "hystart-plus-plus",
    "aioquic",
    "picoquic",
    "search",
    "rapid-start",
    "careful-resume",
    "jump-start",
]


@dataclass(frozen=True, kw_only=True)
class SavedPath:
    """What an earlier connection on the same path has found (RFC 9959 section 3.1).

    Attributes
    ----------
    window
        Bytes that it had in flight in a round trip, `saved_cwnd`. Takes a size of at least "1 B".
    rtt
        Its smallest RTT, `saved_rtt`. Takes a duration above "0 s".
    """

    window: ByteCount
    rtt: Duration


@dataclass(frozen=True, kw_only=True)
class NewRenoConstants:
    """Constants of NewReno (RFC 9002 section 7.3).

    Attributes
    ----------
    beta
        Part of the window that a loss leaves, `kLossReductionFactor` (default: 0.5; Chromium and quic-go: 0.7). Takes a
        number from 0.1 to 0.99.
    slow_start_beta
        The same of a loss in slow start (default: `beta`). Takes a number from 0.1 to 0.99.
    """

    beta: float | None = None
    slow_start_beta: float | None = None


@dataclass(frozen=True, kw_only=True)
class CubicConstants:
    """Constants of CUBIC (RFC 9438).

    Attributes
    ----------
    beta
        Part of the window that a loss leaves, `beta_cubic` of section 4.6 (default: 0.7). Takes a number from 0.1 to
        0.99.
    slow_start_beta
        The same of a loss in slow start (default: `beta`). Takes a number from 0.1 to 0.99.
    c
        C of section 4.1 in packets per second cubed (default: 0.4). Takes a number from 0.01 to 10.
    fast_convergence
        A reduction below the last maximum lowers the next one, section 4.7 (default: true).
    """

    beta: float | None = None
    slow_start_beta: float | None = None
    c: float | None = None
    fast_convergence: bool | None = None


@dataclass(frozen=True, kw_only=True)
class BbrConstants:
    """Constants of BBR (draft-ietf-ccwg-bbr-06).

    Attributes
    ----------
    startup_pacing_gain
        `BBR.StartupPacingGain` (default: version 1 2/ln 2, version 3 2.77). Takes a number from 1 to 10.
    startup_cwnd_gain
        Window in Startup and Drain, in bandwidth-delay products (default: `bbr-linux` and `bbr-picoquic` 2/ln 2, others
        2). Takes a number from 1 to 10.
    drain_pacing_gain
        `BBR.DrainPacingGain` (default: version 1 ln 2 / 2, version 3 0.5). Takes a number from 0.01 to 0.99.
    probe_bw_cwnd_gain
        Window in ProbeBW, in bandwidth-delay products; in ProbeBW_UP of version 3 it stays 2.25 (default: 2). Takes a
        number from 1 to 10.
    probe_up_pacing_gain
        Pacing gain of ProbeBW_UP (default: 1.25). Takes a number from 1.01 to 10.
    probe_down_pacing_gain
        Pacing gain of ProbeBW_DOWN (default: version 1 0.75, version 3 0.9). Takes a number from 0.01 to 0.99.
    probe_rtt_interval
        `BBR.ProbeRTTInterval`: a smallest RTT that is as old is measured again (default: version 1 10 s, version 3 5
        s). Takes a duration from "10 ms" to "60 min".
    probe_rtt_duration
        `BBR.ProbeRTTDuration` (default: 200 ms). Takes a duration of at most "1 min".
    probe_rtt_cwnd_gain
        `BBR.ProbeRTTCwndGain` of `bbr-v3` (default: 0.5); version 1 keeps four packets. Takes a number from 0 to 1.
    """

    startup_pacing_gain: float | None = None
    startup_cwnd_gain: float | None = None
    drain_pacing_gain: float | None = None
    probe_bw_cwnd_gain: float | None = None
    probe_up_pacing_gain: float | None = None
    probe_down_pacing_gain: float | None = None
    probe_rtt_interval: Duration | None = None
    probe_rtt_duration: Duration | None = None
    probe_rtt_cwnd_gain: float | None = None


@dataclass(frozen=True, kw_only=True)
class NoPacing:
    """No pacing: packets leave as soon as the window allows."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True)
class LeakyBucket:
    """A bucket that fills at `factor` · cwnd / srtt and holds `burst_packets`.

    Attributes
    ----------
    factor
        Rate as a multiple of cwnd / srtt (RFC 9002 section 7.7: 1.25). Takes a number from 0.01 to 10. Default: `1.25`.
    slow_start_factor
        The same in slow start (default: `factor`; Chromium: 2). Takes a number from 0.01 to 10.
    burst_packets
        Packets that may leave in one burst after a pause. Takes an integer of at least 1 packet. Default: `10`.
    burst_share
        Further limit of a burst, as a share of the window, but at least two packets (aioquic: a quarter). Takes a
        number from 0.001 to 1.
    burst_time
        A burst may be what the rate sends in this time, if that is more (quinn: 1.6 ms). Takes a duration above "0 s",
        at most "1 s".
    idle_burst_packets
        Packets that may leave in one burst at the start, and when no packet has left for a round trip, if that is more
        (Chromium: 10). Takes an integer of at least 1 packet.
    wait_for_full_burst
        Once the burst is used up, the timer waits until a whole one may leave (quinn); a packet still leaves when
        something else, such as an acknowledgement, wakes the sender and there is room for it. The bucket is filled when
        it has too little for a packet, and not before, so that two bursts may leave at once.
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
    """One packet every srtt / (`factor` · cwnd in packets), without any burst.

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
        Minimum wait. Takes a duration above "0 s", at most "1 s". Default: `"1 ms"`.
    """

    factor: float | None = None
    burst_packets: int | None = None
    quantum: Duration | None = None
    kind: Literal["quantum"] = "quantum"


@dataclass(frozen=True, kw_only=True)
class TimeBucket:
    """A bucket of time that fills with the clock.

    Any content pays for a packet, so that packets leave at up to twice the rate (aioquic).

    Attributes
    ----------
    factor
        Rate as a multiple of cwnd / srtt. Takes a number from 0.01 to 10. Default: `1.0`.
    burst_packets
        Packets that may leave in one burst after a pause. Takes an integer of at least 1 packet. Default: `16`.
    burst_share
        Further limit of a burst, as a share of the window, but at least two packets. Takes a number from 0.001 to 1.
        Default: `0.25`.
    """

    factor: float | None = None
    burst_packets: int | None = None
    burst_share: float | None = None
    kind: Literal["time_bucket"] = "time_bucket"


@dataclass(frozen=True, kw_only=True)
class LinuxPacing:
    """Linux TCP's internal pacing.

    2 · cwnd / srtt in slow start, 1.2 · cwnd / srtt after it, or what the congestion control asks for; each release is
    worth about a millisecond, two segments at least. Of profiles before 4.20 a timer paces, which counts headers of TCP
    and makes nothing good.

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

    Each packet has its own departure time. Of profiles before 4.20 fq itself spaces packets, by their frames and its
    quantum of two.

    Attributes
    ----------
    max_rate
        `SO_MAX_PACING_RATE`, or `maxrate` of the queueing discipline. Takes a rate above "0 bit/s".
    """

    max_rate: DataRate | None = None
    kind: Literal["fq"] = "fq"


#: Pacing of a sender.
Pacing: TypeAlias = NoPacing | LeakyBucket | Even | Quantum | TimeBucket | LinuxPacing | FqPacing


#: Algorithm with which TCP detects losses.
#: - `duplicate_acks`: SACK and a count of duplicates (RFC 6675).
#: - `duplicate_acks_and_rack`: Both: a count of duplicates, and RACK (Linux 4.15).
#: - `rack`: RACK (RFC 8985; Linux since 4.18).
TcpLossDetection: TypeAlias = Literal["duplicate_acks", "duplicate_acks_and_rack", "rack"]


#: Reduction of TCP's window during recovery.
#: - `none`: Immediately, to the new threshold.
#: - `prr`: PRR of RFC 6937, as Linux before 5.11 has it.
#: - `prr_safe_ack`: PRR of RFC 9937, as Linux since 5.11 has it.
RateReduction: TypeAlias = Literal["none", "prr", "prr_safe_ack"]


#: How TCP uses explicit congestion notification, and what it returns of the marks.
#: - `off`: Not at all.
#: - `classic`: New data are ECN-capable; acknowledgements echo a mark until the sender has reduced its window (RFC
#:   3168).
#: - `dctcp`: All packets are ECN-capable; acknowledgements say of all data whether they had marks (RFC 8257).
#: - `accurate`: All packets are ECN-capable; acknowledgements count packets and bytes with marks (AccECN, RFC 9768).
#:   Beside an end with `classic` it is that.
TcpEcn: TypeAlias = Literal["off", "classic", "dctcp", "accurate"]


#: Saved metrics of a destination when a connection to it begins.
#: - `none`: None: the connection is the first.
#: - `warm_start`: Metrics that Linux saves at the end of the same connection in a warm-up run, of which nothing else is
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
        Maximum receive buffer that autotuning reaches (`tcp_rmem`, third value). Takes a size from "4 KiB" to
        "1048560 KiB".
    max_send_buffer
        Maximum send buffer that autotuning reaches (`tcp_wmem`, third value). Takes a size from "4 KiB" to
        "1048560 KiB".
    min_rto
        Minimum retransmission timeout (`rto_min`). Takes a duration from "1 ms" to "2 min".
    reordering
        Segments of reordering assumed at the start (`tcp_reordering`). At most `max_reordering`. Takes an integer of at
        least 3 segments.
    max_reordering
        Maximum reordering to which the sender adapts (`tcp_max_reordering`). Takes an integer of at least 3 segments.
    loss_detection
        Algorithm of loss detection.
    tail_loss_probe
        Tail loss probes (RFC 8985 section 7).
    frto
        F-RTO: detection of spurious timeouts (RFC 5682).
    undo
        Reductions of the window are undone when they prove spurious (Eifel, DSACK).
    rate_reduction
        Reduction of the window during recovery.
    min_delayed_ack
        Minimum wait of a delayed acknowledgement. At most `max_delayed_ack`. Takes a duration above "0 s", at most
        "2 min".
    max_delayed_ack
        Maximum wait of a delayed acknowledgement. Takes a duration above "0 s", at most "2 min".
    quick_acks
        Number of segments acknowledged one by one at the start and after pauses.
    compressed_acks
        Maximum number of duplicate acknowledgements that are merged into one (`tcp_comp_sack_nr`); 0: none.
    compressed_ack_delay
        Maximum wait of merged acknowledgements (`tcp_comp_sack_delay_ns`). Takes a duration of at most "2 min".
    acknowledge_reads
        An application that has read everything up to the end of a write has it acknowledged at once
        (`tcp_cleanup_rbuf`); otherwise a segment alone waits for its delayed acknowledgement, as where the receiver is
        not Linux (RFC 5681 section 4.2).
    nagle
        A segment that is not full waits while a smaller one is not acknowledged (Nagle's algorithm, RFC 9293 section
        3.7.4; without the option TCP_NODELAY).
    write_size
        Maximum number of bytes that the application writes at once: a longer request or response is several writes.
        Takes a size of at least "1 B".
    restart_after_idle
        The window shrinks when nothing was sent for an RTO (`tcp_slow_start_after_idle`).
    gso_segments
        Maximum number of segments that leave as one burst, as with segmentation offload; 1: single segments. Bursts
        hold what the sender's rate brings in a millisecond, two segments at least and 64 KiB at most. Takes an integer
        from 1 to 65535 segments.
    initial_rto
        Retransmission timeout before the first RTT sample, such as that of a SYN (RFC 6298 section 2); that of data is
        at least 3 s where the handshake gave none (section 5.7). Takes a duration from "1 ms" to "2 min".
    kernel_hz
        Ticks of the kernel per second (`CONFIG_HZ`): its timers end at ticks, and CUBIC counts time in them. Takes an
        integer from 100 to 1000 Hz.
    ecn
        Explicit congestion notification, if both ends agree to it.
    metrics
        Metrics of the destination that earlier connections left in the kernel of this end (`tcp_no_metrics_save`).
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
    acknowledge_reads: bool | None = None
    nagle: bool | None = None
    write_size: ByteCount | None = None
    restart_after_idle: bool | None = None
    gso_segments: int | None = None
    initial_rto: Duration | None = None
    kernel_hz: int | None = None
    ecn: TcpEcn | None = None
    metrics: TcpMetrics | None = None


#: Wire format and handshake of QUIC.
#: - `v1`: RFC 9000 with TLS 1.3 (RFC 9001).
#: - `gquic-37`: Google QUIC 37 with QUIC Crypto.
QuicVersion: TypeAlias = Literal["v1", "gquic-37"]


@dataclass(frozen=True, kw_only=True)
class AckEvery:
    """After a number of packets or a delay, and immediately when packets are missing (RFC 9000 section 13.2).

    Attributes
    ----------
    packets
        Number of ack-eliciting packets that trigger an acknowledgement. Takes an integer of at least 1. Default: `2`.
    delay
        Maximum delay. Takes a duration of at most "16.383 s". Default: `"25 ms"`.
    """

    packets: int | None = None
    delay: Duration | None = None
    kind: Literal["every"] = "every"


@dataclass(frozen=True, kw_only=True)
class AckTimer:
    """After a delay only, regardless of the number of packets (aioquic).

    Attributes
    ----------
    delay
        Delay of an acknowledgement. Takes a duration of at most "16.383 s".
    """

    delay: Duration
    kind: Literal["timer"] = "timer"


@dataclass(frozen=True, kw_only=True)
class AckRttFraction:
    """After a fraction of the RTT, or a number of packets: decimation (Chromium).

    Attributes
    ----------
    fraction
        Fraction of the smoothed RTT. Takes a number from 0.001 to 1. Default: `0.25`.
    packets
        Number of ack-eliciting packets that trigger an acknowledgement. Takes an integer of at least 1. Default: `10`.
    delay
        Maximum delay. Takes a duration of at most "16.383 s". Default: `"25 ms"`.
    from_packet
        Packet number from which this applies; before it, every second packet is acknowledged. Default: `100`.
    """

    fraction: float | None = None
    packets: int | None = None
    delay: Duration | None = None
    from_packet: int | None = None
    kind: Literal["rtt_fraction"] = "rtt_fraction"


@dataclass(frozen=True, kw_only=True)
class AckAsRequested:
    """As the peer requests with ACK_FREQUENCY frames; before the first request, as `every` second packet.

    Attributes
    ----------
    delay
        Maximum delay before the first request of the peer. Takes a duration of at most "16.383 s". Default: `"25 ms"`.
    """

    delay: Duration | None = None
    kind: Literal["as_requested"] = "as_requested"


#: ACK policy of a receiver.
Acknowledgement: TypeAlias = AckEvery | AckTimer | AckRttFraction | AckAsRequested


#: Quantity whose mean is the RTT variation.
#: - `rfc9002`: |smoothed - adjusted sample| (RFC 9002 section 5.3).
#: - `from_min_rtt`: |smallest - sample| (aioquic): a standing queue makes it large.
#: - `quarter_min_rtt`: As `rfc9002`, of samples from which the peer's delay is always subtracted, and at least a
#:   quarter of the smallest RTT where that is below 610 ms (picoquic).
RttVariation: TypeAlias = Literal["rfc9002", "from_min_rtt", "quarter_min_rtt"]


#: Growth of receive windows.
#: - `fixed`: They do not grow; the limit is updated when an eighth of the window has been read (quinn).
#: - `double_when_half_used`: They double whenever half of a window has been used (aioquic).
#: - `double_within_two_rtts`: They double when half of a window is used within two round trips (Chromium, quic-go).
QuicFlowControl: TypeAlias = Literal["fixed", "double_when_half_used", "double_within_two_rtts"]


#: Algorithm that chooses the stream that sends next.
#: - `fifo`: The oldest stream with data to send, until it has none left.
#: - `round_robin`: One packet of each stream in turn.
#: - `priority`: The most urgent stream; among equals, incremental streams in turn, others one after the other (RFC
#:   9218).
#: - `priority_in_batches`: The most urgent stream; among equals each in turn, 16 000 B at a time (google/quiche,
#:   `QuicWriteBlockedList`).
StreamScheduler: TypeAlias = Literal["fifo", "round_robin", "priority", "priority_in_batches"]


@dataclass(frozen=True, kw_only=True)
class RoundRobin:
    """Each path in turn that has room."""

    kind: Literal["round_robin"] = "round_robin"


@dataclass(frozen=True, kw_only=True)
class StrictRoundRobin:
    """Each path in turn; if it has no room, packets wait for it."""

    kind: Literal["strict_round_robin"] = "strict_round_robin"


@dataclass(frozen=True, kw_only=True)
class WeightedRoundRobin:
    """Bytes in the ratio of given weights, over the paths that have room.

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
        With more in flight on all paths, the slowest may have only half as much in flight (default: no path is
        penalised). Takes a size of at least "1 B".
    """

    penalise_above: ByteCount | None = None
    kind: Literal["lowest_rtt"] = "lowest_rtt"


@dataclass(frozen=True, kw_only=True)
class CheapestFirst:
    """The cheapest path that has room.

    Attributes
    ----------
    order
        Indices of the paths, from 0, the cheapest first; unlisted paths follow. Each at most once.
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
        Factor on the amount that the fastest path could send meanwhile. Takes a number above 0, at most 100. Default:
        `1.2`.
    send_window
        Maximum in flight on all paths (default: what they deliver in the longest RTT). Takes a size of at least "1 B".
    """

    scaling: float | None = None
    send_window: ByteCount | None = None
    kind: Literal["blest"] = "blest"


@dataclass(frozen=True, kw_only=True)
class Ecf:
    """The fastest path, or a slower one if the whole backlog completes earlier with it (ECF).

    Attributes
    ----------
    hysteresis
        Share by which the slower path must complete earlier after a decision to wait. Takes a number from 0 to 1.
        Default: `0.25`.
    """

    hysteresis: float | None = None
    kind: Literal["ecf"] = "ecf"


@dataclass(frozen=True, kw_only=True)
class EarliestArrival:
    """The path on which the packet is expected to arrive first.

    Attributes
    ----------
    hysteresis
        Share of the delay by which another path must be earlier than the last path used. Takes a number from 0 to 1.
        Default: `0.125`.
    patience
        Maximum time that the backlog may need to leave an earlier path that packets wait for. Takes a duration of at
        most "1 s". Default: `"2.5 ms"`.
    """

    hysteresis: float | None = None
    patience: Duration | None = None
    kind: Literal["earliest_arrival"] = "earliest_arrival"


#: Kinds with a short form: those that need no field.
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
        Length of packet numbers, if it is fixed; otherwise the shortest that the peer can expand. Takes a size from
        "1 B" to "4 B".
    acknowledgement
        ACK policy of this end.
    ack_ranges
        Maximum number of ranges of packet numbers that this end stores for acknowledgements. Takes an integer of at
        least 1.
    max_ack_delay
        Maximum delay of an acknowledgement that this end announces (RFC 9000 section 18.2). At least the delay of
        `acknowledgement`. Takes a duration of at most "16.383 s".
    adaptive_packet_threshold
        The packet threshold grows with the reordering that was mistaken for loss.
    adaptive_time_threshold
        The time threshold widens when it was too narrow.
    rtt_variation
        Quantity whose mean is the RTT variation.
    persistent_congestion
        The window collapses when everything sent over a long time is lost (RFC 9002 section 7.6).
    probe_packets
        Packets sent when a probe timeout expires: 1 or 2 (RFC 9002 section 6.2.4). Takes an integer from 1 to 2
        packets.
    window_validation
        A window that is not used does not grow (RFC 9002 section 7.8).
    rate_limited_increase
        A window that is not used grows all the same as long as it is below twice what was in flight at most since its
        last reduction, in congestion avoidance up to a packet more than that (draft-ietf-ccwg-ratelimited-increase-03).
        Instead of `window_validation`; without effect on BBR and `fixed`.
    max_window
        Maximum congestion window, if it is limited. At least `initial_window`. Takes a size from "1 B" to
        "4611686018427387903 B".
    pacing_before_rtt
        Packets are also paced before the first RTT sample, as if the RTT were `initial_rtt`.
    max_streams
        Maximum number of bidirectional streams that the peer may have open at one time. Takes an integer from 1 to
        1152921504606847000.
    flow_control
        Growth of the receive windows of streams and connection.
    max_stream_receive_window
        Maximum receive window of a stream that growth reaches. At least `stream_receive_window`. Takes a size from
        "1 B" to "4611686018427387903 B".
    max_connection_receive_window
        Maximum receive window of the connection that growth reaches. At least `connection_receive_window`. Takes a size
        from "1 B" to "4611686018427387903 B".
    stream_scheduler
        Algorithm that chooses the stream that sends next.
    initial_datagrams
        Datagrams of a client's first flight. Those after the first carry PING and padding in an Initial packet: each
        lets a server whose certificates are long send more before the client's address is validated. Takes an integer
        from 1 to 10 datagrams.
    amplification_factor
        Bytes that a server may send for each byte received before the client's address is validated (RFC 9000 section
        8.1: 3); 0: no limit.
    datagram_congestion_control
        DATAGRAM frames wait for the congestion window (RFC 9221 section 5.4).
    datagram_back_off
        Lost packets reduce the window although they carry DATAGRAM frames alone. In PQUIC they do not: what it need not
        send again is no sign of congestion, and with DATAGRAM frames alone the window of NewReno and CUBIC only grows.
    idle_timeout
        The connection ends when nothing was received for this time (RFC 9000 section 10.1). Takes a duration from
        "1 ms" to "1440 min".
    ecn
        Packets are ECN-capable, where the path and the peer pass the validation (RFC 9000 section 13.4). Marks on what
        arrives are always reported.
    path_scheduler
        Path scheduler of connections with several paths.
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
    rate_limited_increase: bool | None = None
    max_window: ByteCount | None = None
    pacing_before_rtt: bool | None = None
    max_streams: int | None = None
    flow_control: QuicFlowControl | None = None
    max_stream_receive_window: ByteCount | None = None
    max_connection_receive_window: ByteCount | None = None
    stream_scheduler: StreamScheduler | None = None
    initial_datagrams: int | None = None
    amplification_factor: int | None = None
    datagram_congestion_control: bool | None = None
    datagram_back_off: bool | None = None
    idle_timeout: Duration | None = None
    ecn: bool | None = None
    path_scheduler: PathScheduler | None = None


@dataclass(frozen=True, kw_only=True)
class Http2Options:
    """Options of an end of HTTP/2 (RFC 9113); unset fields have the values of the deployed programs.

    Attributes
    ----------
    stream_window
        Receive window that this end offers for each stream. Takes a size from "1 B" to "2147483647 B".
    connection_window
        Receive window that this end offers for the connection; it cannot be smaller than its initial value (RFC 9113
        section 6.9.2). Takes a size from "65535 B" to "2147483647 B".
    max_streams
        Maximum number of streams that the peer may have open at one time. Takes an integer of at least 1.
    frame_size
        Maximum payload of a DATA frame that this end sends; a larger one would need SETTINGS_MAX_FRAME_SIZE (RFC 9113
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


#: Handling of 0-RTT data.
#: - `accepted`: The server accepts them.
#: - `rejected`: The server rejects them: the client sends them again after the handshake.
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
        Handling of data in the client's first flight (0-RTT, RFC 8446 section 2.3; default: there are none). Needs
        `resumption`; QUIC only.
    """

    version: TlsVersion
    resumption: bool | None = None
    certificate: ByteCount | None = None
    early_data: EarlyData | None = None


@dataclass(frozen=True, kw_only=True)
class EndpointConfig:
    """Stack and options of one end. Unset options have the default of the stack.

    Attributes
    ----------
    stack
        Name of the stack: see `quiclab stack list`.
    profile
        A named parameter set of the stack. See `quiclab stack show`.
    host
        Host template: a name in `hosts` (default: a host that costs nothing).
    congestion_control
        Congestion control.
    datagram_size
        Maximum UDP payload sent; path MTU discovery is off. Takes a size from "1200 B" to "65507 B".
    initial_window
        Initial congestion window. lab-quic, lab-tcp: one datagram or segment to 1 GiB; quinn, noq: more than a
        datagram, below 4 GiB; aioquic: ten datagrams. Takes a size of at least "1 B".
    stream_receive_window
        Flow-control window offered for each stream. Takes a size of at least "1 B".
    connection_receive_window
        Flow-control window offered for the connection. Takes a size of at least "1 B".
    send_window
        Maximum number of bytes of stream data sent and not acknowledged. Takes a size of at least "1 B".
    packet_threshold
        Maximum reordering, in packets, before a packet is declared lost (RFC 9002 section 6.1.1). Takes an integer of
        at least 3 packets.
    time_threshold
        Maximum reordering, as a multiple of the RTT, before a packet is declared lost (RFC 9002 section 6.1.2). Takes a
        number from 1 to 1000 round-trip times.
    initial_rtt
        RTT assumed before the first sample (RFC 9002 section 6.2.2). Takes a duration from "1 us" to "30 s".
    ack_frequency
        ACK policy that this end requests of its peer (QUIC ACK Frequency extension).
    multipath
        Frames that open, rank and close paths (Multipath QUIC).
    controller
        Implementation of the congestion control that a real stack uses (default: its own, if it has the selected one).
    emulated_connections
        Number of connections that CUBIC or NewReno emulates, N of Chromium. 1 without `newreno` or `cubic`. Takes an
        integer of at least 1.
    slow_start_exit
        Algorithm of the start: what ends slow start before a loss, or takes its place. `none` without `newreno` or
        `cubic`.
    saved_path
        What an earlier connection has found on the path, with which `careful-resume` (RFC 9959 section 3.1) and `c4`
        begin.
    max_jump
        Largest window to jump to: of `careful-resume` (RFC 9959 section 3.3; default: half of the saved one), and the
        window of `jump-start`. Takes a size of at least "1 B".
    ecn_beta
        Part of the window that NewReno and CUBIC keep when packets are marked (ABE, RFC 8511, which recommends 0.8 for
        NewReno and 0.85 for CUBIC; default: as when packets are lost). Needs ECN. Takes a number from 0.5 to 0.99.
    newreno
        Constants of `newreno`.
    cubic
        Constants of `cubic`.
    bbr
        Constants of `bbr-linux`, `bbr-chromium`, `bbr-picoquic` and `bbr-v3`.
    pacing
        Pacing of packets. Not `none` with BBR.
    tcp
        Options of TCP.
    quic
        Options of QUIC.
    http2
        Options of HTTP/2, which a page over TCP uses.
    tls
        TLS above TCP (default: none), or of QUIC (default: that of the profile).
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
    multipath: Multipath | None = None
    controller: Controller | None = None
    emulated_connections: int | None = None
    slow_start_exit: SlowStartExit | None = None
    saved_path: SavedPath | None = None
    max_jump: ByteCount | None = None
    ecn_beta: float | None = None
    newreno: NewRenoConstants | None = None
    cubic: CubicConstants | None = None
    bbr: BbrConstants | None = None
    pacing: Pacing | None = None
    tcp: TcpOptions | None = None
    quic: QuicOptions | None = None
    http2: Http2Options | None = None
    tls: Tls | None = None


#: Preference for a path (draft-ietf-quic-multipath-21 section 3.3).
#: - `available`: The path scheduler may choose it.
#: - `backup`: It is used only if no available path works.
PathStatus: TypeAlias = Literal["available", "backup"]


@dataclass(frozen=True, kw_only=True)
class FlowPath:
    """A further path of a flow.

    The client opens it, with `multipath` at both ends; without, it is there after the handshake.

    Attributes
    ----------
    down
        Links, bearers and taps from sender to receiver, in order.
    up
        Links, bearers and taps from receiver to sender, in order.
    status
        Status with which the client opens it. `backup` needs `multipath` at both ends.
    start
        When the client opens it, from the start of the run, but not before the end of the handshake. Not before the
        paths that are listed before it. Above 0 s it needs `multipath` at both ends.
    """

    down: tuple[str, ...]
    up: tuple[str, ...]
    status: PathStatus | None = None
    start: Duration | None = None


#: What a client does to a path.
#: - `available`: Tells the peer that it is available (PATH_STATUS_AVAILABLE).
#: - `backup`: Tells the peer that it is a backup (PATH_STATUS_BACKUP).
#: - `abandon`: Closes it (PATH_ABANDON).
PathAction: TypeAlias = Literal["available", "backup", "abandon"]


@dataclass(frozen=True, kw_only=True)
class PathChange:
    """Something that a client does to a path at a time.

    Attributes
    ----------
    at
        When, from the start of the run.
    path
        Number of the path: 0 is that of `down` and `up`, 1 the first of `paths`. It is the path ID. Takes an integer
        from 0 to 255.
    action
        What the client does.
    """

    at: Duration
    path: int
    action: PathAction


@dataclass(frozen=True, kw_only=True)
class Exponential:
    """Exponential.

    Attributes
    ----------
    mean
        Mean. Takes a size of at least "1 B".
    """

    mean: ByteCount
    kind: Literal["exponential"] = "exponential"


@dataclass(frozen=True, kw_only=True)
class LogNormal:
    """Log-normal: the logarithm is normal.

    Attributes
    ----------
    median
        Median. Takes a size of at least "1 B".
    deviation
        Standard deviation of the natural logarithm. Takes a number above 0, at most 10.
    """

    median: ByteCount
    deviation: float
    kind: Literal["log_normal"] = "log_normal"


@dataclass(frozen=True, kw_only=True)
class Pareto:
    """Pareto between two bounds.

    Attributes
    ----------
    minimum
        Minimum. Takes a size of at least "1 B".
    maximum
        Maximum. Above `minimum`. Takes a size of at least "1 B".
    shape
        Shape: the smaller, the heavier the tail. Takes a number above 0, at most 10.
    """

    minimum: ByteCount
    maximum: ByteCount
    shape: float
    kind: Literal["pareto"] = "pareto"


#: A probability, such as "0.1 %".
Probability: TypeAlias = float | str


@dataclass(frozen=True, kw_only=True)
class Empirical:
    """A measured distribution, linear between its points; below the first point, its size.

    Attributes
    ----------
    sizes
        Sizes, ascending. Takes an array of one or more sizes such as "64 KiB".
    probabilities
        Part of the connections that are at most as large as each size. Ascending, the last one 1; as many as `sizes`.
        Takes an array of one or more probabilities from 0 to 1, such as 0.001 or "0.1 %".
    """

    sizes: tuple[ByteCount, ...]
    probabilities: tuple[Probability, ...]
    kind: Literal["empirical"] = "empirical"


#: Distribution of sizes, drawn for each connection independently.
Sizes: TypeAlias = Exponential | LogNormal | Pareto | Empirical


@dataclass(frozen=True, kw_only=True)
class Poisson:
    """A Poisson process.

    Attributes
    ----------
    interval
        Mean time between two arrivals. Takes a duration of at least "1 us".
    duration
        Time in which connections arrive, from the start of the flow. At most a million intervals. Takes a duration
        above "0 s".
    sizes
        Distribution of the sizes of the downloads (default: `size` of the workload).
    """

    interval: Duration
    duration: Duration
    sizes: Sizes | None = None
    kind: Literal["poisson"] = "poisson"


@dataclass(frozen=True, kw_only=True)
class Regular:
    """Arrivals at a constant rate.

    Attributes
    ----------
    interval
        Time between two arrivals. Takes a duration of at least "1 us".
    duration
        Time in which connections arrive, from the start of the flow. At most a million intervals. Takes a duration
        above "0 s".
    sizes
        Distribution of the sizes of the downloads (default: `size` of the workload).
    """

    interval: Duration
    duration: Duration
    sizes: Sizes | None = None
    kind: Literal["regular"] = "regular"


@dataclass(frozen=True, kw_only=True)
class File:
    """Arrivals and sizes from a file.

    Attributes
    ----------
    file
        Path, relative to the scenario file. Lines `time,size` with a header naming the units: `time_s` or `time_ms`,
        `size_bytes`. Times are from the start of the flow, ascending; sizes are those of the downloads. At most a
        million lines. Takes a non-empty string.
    """

    file: str
    kind: Literal["file"] = "file"


#: Connections that arrive over time, each with the workload of the flow and an end of its own at both sides.
Arrivals: TypeAlias = Poisson | Regular | File


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A transfer between two endpoints.

    Attributes
    ----------
    workload
        Workload of the flow.
    count
        Number of equal flows (default: one, with this name). They have this name with a number from 1 on, such as `a1`
        and `a2`, and random numbers of their own. Events, wires and results name each of them. Not in the kernel lane.
        Takes an integer from 0 to 1000 flows.
    stack
        Stack of both ends, if they do not name one.
    sender
        The end that sends the data: the server of a download.
    receiver
        The end that receives the data: the client of a download.
    sender_machine
        Name of the machine of the sender: senders of flows with the same one have the same IP address, which queues
        with host isolation look at (default: an address of its own). Takes a non-empty string.
    receiver_machine
        The same of the receiver. Takes a non-empty string.
    down
        Links, bearers and taps from sender to receiver, in order. Not empty, nothing twice; empty with `[[wires]]`.
    up
        Links, bearers and taps from receiver to sender, in order. Not empty, nothing twice; empty with `[[wires]]`.
    paths
        Paths in addition to `down` and `up`, which are the first (Multipath QUIC). They may share links. Takes an array
        of 0 to 7 tables.
    path_changes
        What the client does to its paths over time. Needs `multipath` at both ends; a path is left at every time.
    abandon_when_down
        The client abandons a path when a link that its routes name goes down for the first time since the path's start
        (`up = false` of its `conditions`; not of events, nor inside a bearer), as a device whose driver reports it.
        Otherwise it notices only that nothing is acknowledged. Needs `multipath` at both ends.
    plugins
        Plugins of the flow: names in `plugins`, or of built-in plugins. Each at most once.
    start
        Start of the client. A flow whose start is not before the end of the run never starts, which is a warning.
        Default: `"0 ns"`.
    arrivals
        Connections that arrive over time, from `start` on (default: one connection, at `start`). With a `download` of a
        size, without `paths` and `plugins`, on stacks that are compiled into quiclab.
    """

    workload: Workload
    count: int | None = None
    stack: str | None = None
    sender: EndpointConfig | None = None
    receiver: EndpointConfig | None = None
    sender_machine: str | None = None
    receiver_machine: str | None = None
    down: tuple[str, ...] | None = None
    up: tuple[str, ...] | None = None
    paths: tuple[FlowPath, ...] | None = None
    path_changes: tuple[PathChange, ...] | None = None
    abandon_when_down: bool | None = None
    plugins: tuple[str, ...] | None = None
    start: Duration | None = None
    arrivals: Arrivals | None = None


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """All flows together have delivered this amount to their applications.

    Attributes
    ----------
    delivered
        Takes a size of at least "1 B".
    """

    delivered: ByteCount


#: Condition that ends a run before its duration has elapsed.
#: - `workloads_done`: All workloads are done.
#: - `duration_over`: None: the run lasts for `duration`.
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
#: - `mahimahi`: One number per line: the millisecond of an opportunity to deliver 1504 bytes.
TraceFormat: TypeAlias = Literal["csv", "mahimahi"]


#: Behaviour after the last entry of a trace.
#: - `loop`: The trace starts again; the period is the time of the last entry.
#: - `hold`: The last rate holds (CSV only).
#: - `stop`: The link delivers nothing after it.
TraceEnd: TypeAlias = Literal["loop", "hold", "stop"]


#: Time whose rate a packet has, where the rate of a link changes.
#: - `dequeue`: The time of its serialisation: a change of the rate is effective at once, also for packets that wait.
#: - `enqueue`: The time of its arrival, as in netem: packets that wait keep their departure times when the rate changes
#:   or the trace ends.
RateAt: TypeAlias = Literal["dequeue", "enqueue"]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Rate over time, or delivery times, read from a file.

    Attributes
    ----------
    file
        Path, relative to the scenario file. Takes a non-empty string.
    format
        Format of the file. Default: `"csv"`.
    at_end
        Behaviour after the last entry. Not `hold` with `mahimahi`. Default: `"loop"`.
    rate_at
        Time whose rate a packet has (default: `dequeue`). Not `enqueue` with `mahimahi`, with a queue other than
        `drop_tail`, or with rates of 0.
    """

    file: str
    format: TraceFormat | None = None
    at_end: TraceEnd | None = None
    rate_at: RateAt | None = None
    kind: Literal["trace"] = "trace"


#: A rate that is not constant.
ShapedRate: TypeAlias = TokenBucket | Trace


#: Rate at which a link serialises.
Rate: TypeAlias = DataRate | ShapedRate


#: Cells or blocks of a link layer.
#: - `none`: None: a packet is sent as it is.
#: - `atm`: Whole cells of ATM: 53 bytes for every 48, or a part of them (ADSL).
#: - `ptm`: 64b/65b encoding: one byte for every 64, or a part of them (VDSL2).
FramingKind: TypeAlias = Literal["none", "atm", "ptm"]


@dataclass(frozen=True, kw_only=True)
class Framing:
    """Framing of the link layer, as CAKE and tc-stab calculate it.

    Attributes
    ----------
    kind
        Cells or blocks in which packets are sent. Default: `"none"`.
    overhead_bytes
        Bytes that the link layer adds to each packet before the framing, in addition to `overhead_per_packet`;
        negative, if it takes some away. Takes an integer from -64 to 256 bytes. Default: `0`.
    mpu
        Minimum size of a packet with its overhead, before the framing (mpu of tc-stab). Takes a size of at most
        "256 B". Default: `"0 B"`.
    """

    kind: FramingKind | None = None
    overhead_bytes: int | None = None
    mpu: ByteCount | None = None


#: What becomes of an IP packet that is larger than the MTU of a link.
#: - `drop`: It is dropped without a message to the sender: a black hole, as where ICMP is filtered.
#: - `fragment`: It is cut into IPv4 fragments, whatever its DF bit says; the end of the link has it whole.
AboveMtu: TypeAlias = Literal["drop", "fragment"]


#: ECN field of the IP header (RFC 3168 section 5).
#: - `not_ect`: Not ECN-capable.
#: - `ect1`: ECN-capable, code point 01.
#: - `ect0`: ECN-capable, code point 10.
#: - `ce`: Congestion experienced.
EcnField: TypeAlias = Literal["not_ect", "ect1", "ect0", "ce"]


@dataclass(frozen=True, kw_only=True)
class EcnRewrite:
    """A change of the ECN field.

    Attributes
    ----------
    to
        Field that they get.
    from_
        Field of the packets that are changed (default: any).
    """

    to: EcnField
    from_: EcnField | None = field(default=None, metadata={"name": "from"})


@dataclass(frozen=True, kw_only=True)
class Policer:
    """A policer with one rate, as `act_police` of Linux: packets that do not conform are dropped at once.

    None waits.

    Attributes
    ----------
    rate
        Rate of tokens, at which the conforming packets pass in the long run. Takes a rate above "0 bit/s".
    burst
        Depth of the bucket, which is full at the begin: so many bytes pass at once after a pause. At least the largest
        packet, with the overhead of the link. Takes a size of at least "1 B".
    """

    rate: DataRate
    burst: ByteCount


#: Whether acknowledgements of TCP that a later one replaces are dropped from the queue (RFC 3449 section 5.2.1).
#: - `off`: No.
#: - `conservative`: If two of a connection wait that the arriving one replaces: one remains.
#: - `aggressive`: Also if a single one waits.
AckFilter: TypeAlias = Literal["off", "conservative", "aggressive"]


@dataclass(frozen=True, kw_only=True)
class DropTail:
    """First in, first out; a packet that would exceed a limit is dropped. All given limits apply.

    Attributes
    ----------
    packets
        Maximum number of packets, the packet in service included. Takes an integer of at least 1.
    bytes
        Maximum number of bytes (with the link's overhead), the packet in service included. Takes a size of at least
        "1 B".
    waiting_bytes
        Maximum number of bytes that wait when a packet arrives, without itself and the packet in service: whatever its
        size, it fits while no more wait (Dummynet). Takes a size of at least "1 B".
    time
        Maximum time that the backlog (with the new packet) needs at the present rate. Takes a duration above "0 s".
    ack_filter
        Filter of TCP acknowledgements.
    """

    packets: int | None = None
    bytes: ByteCount | None = None
    waiting_bytes: ByteCount | None = None
    time: Duration | None = None
    ack_filter: AckFilter | None = None
    kind: Literal["drop_tail"] = "drop_tail"


@dataclass(frozen=True, kw_only=True)
class HeadDrop:
    """First in, first out; packets that have waited longest are dropped until the new packet fits.

    All given limits apply.

    Attributes
    ----------
    packets
        Maximum number of packets that wait. Takes an integer of at least 1.
    bytes
        Maximum number of bytes that wait. Takes a size of at least "1 B".
    """

    packets: int | None = None
    bytes: ByteCount | None = None
    kind: Literal["head_drop"] = "head_drop"


#: Time of CoDel's next drop, after `count` drops.
#: - `inverse_sqrt`: `interval` / sqrt(count), in Linux' fixed-point numbers (RFC 8289 section 5.5).
#: - `inverse_count`: `interval` / count: the published tunnel.
ControlLaw: TypeAlias = Literal["inverse_sqrt", "inverse_count"]


#: Count with which CoDel begins a new series of drops.
#: - `last_series`: Count that the last series has added, if it ended within 16 intervals, else 1 (RFC 8289 section
#:   5.5).
#: - `minus_two`: Two less than before, at least 1, if the packet has waited less than one interval, else 1: the
#:   published tunnel.
CodelRestart: TypeAlias = Literal["last_series", "minus_two"]


@dataclass(frozen=True, kw_only=True)
class Codel:
    """Controlled delay (CoDel, RFC 8289) as Linux' `codel`: one queue, dropped from or marked at its head.

    Attributes
    ----------
    packets
        Maximum number of packets that wait; packets that would exceed it are dropped on arrival. Takes an integer of at
        least 1. Default: `1000`.
    target
        Acceptable standing queue delay. Below `interval`. Default: `"5 ms"`.
    interval
        Time during which every packet must have waited longer than `target` before the first drop. Takes a duration
        above "0 s". Default: `"100 ms"`.
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `false`.
    ce_threshold
        ECN-capable packets that have waited longer are marked immediately (default: none).
    least_backlog
        Backlog up to which nothing is dropped; `0 B`: no such exception. Default: `"1514 B"`.
    control_law
        Time of the next drop. Default: `"inverse_sqrt"`.
    restart
        Count of drops with which a new series begins. Default: `"last_series"`.
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


#: Fields of a packet that the hash of FQ-CoDel covers.
#: - `five_tuple`: Addresses, protocol and ports (ICMP: type, code and identifier; fragments: identification).
#: - `field_sum`: The sum of protocol, addresses and ports, 0 for ICMP: the published tunnel.
FlowHash: TypeAlias = Literal["five_tuple", "field_sum"]


@dataclass(frozen=True, kw_only=True)
class FqCodel:
    """A CoDel queue for each flow, served in turn (FQ-CoDel, RFC 8290) as Linux' `fq_codel`.

    Attributes
    ----------
    packets
        Maximum number of packets that wait in all queues. Takes an integer of at least 1. Default: `10240`.
    memory
        Maximum memory of all queues: the bytes of packets, and `memory_per_packet` for each. Takes a size of at least
        "1 B". Default: `"32 MiB"`.
    memory_per_packet
        Memory of a packet in addition to its bytes (Linux counts the whole buffer). Default: `"0 B"`.
    drop_batch
        Maximum number of packets dropped in one batch from the longest queue when a limit is exceeded, but not more
        than half of its bytes. Takes an integer of at least 1 packet. Default: `64`.
    flows
        Number of queues that flows are hashed to. Takes an integer from 1 to 65536 queues. Default: `1024`.
    hash
        Fields of a packet that the hash covers. Default: `"five_tuple"`.
    quantum
        Bytes that a queue may send in its turn. Takes a size from "256 B" to "1 MiB". Default: `"1514 B"`.
    target
        As for `codel`. Below `interval`. Default: `"5 ms"`.
    interval
        As for `codel`. Takes a duration above "0 s". Default: `"100 ms"`.
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `true`.
    ce_threshold
        As for `codel`.
    least_backlog
        Backlog of all queues up to which nothing is dropped; `0 B`: no such exception. Default: `"1514 B"`.
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


@dataclass(frozen=True, kw_only=True)
class Pie:
    """Proportional integral controller, enhanced (PIE, RFC 8033) as Linux' `pie`.

    One queue, dropped from or marked on arrival.

    Attributes
    ----------
    packets
        Maximum number of packets that wait; packets that would exceed it are dropped on arrival. Takes an integer of at
        least 1. Default: `1000`.
    target
        Target waiting time of the controller. Takes a duration above "0 s". Default: `"15 ms"`.
    update_interval
        Time between two updates of the drop probability. Linux rounds it up to jiffies, and its timer takes one more.
        Takes a duration of at least "1 ms". Default: `"15 ms"`.
    alpha
        Increase of the probability at an update for each second of waiting time above `target`. Linux' unit: 2 is
        0.125. Takes an integer from 0 to 32 sixteenths. Default: `2`.
    beta
        Increase of the probability for each second by which the waiting time has grown since the last update. Takes an
        integer from 0 to 32 sixteenths. Default: `20`.
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `false`.
    ecn_drop_threshold
        Probability above which ECN-capable packets are also dropped (`mark_ecnth`). Default: `0.1`.
    byte_mode
        Whether the probability is proportional to the size of a packet, up to `mtu`. Default: `false`.
    burst_allowance
        Time with departures during which nothing is dropped or marked after the queue was short. Default: `"150 ms"`.
    rate_estimator
        Whether the waiting time is the backlog divided by an estimate of the departure rate (Linux'
        `dq_rate_estimator`); otherwise it is that of the packet served last. Default: `false`.
    mtu
        Size of the largest packet, its header included; while less than two of them wait, nothing is dropped or marked.
        Takes a size from "1 B" to "1 MiB". Default: `"1514 B"`.
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


#: Packets that go to the low-latency queue.
#: - `l4s`: ECT(1) and CE (RFC 9331).
#: - `any_ect`: All that are ECN-capable: for DCTCP, which sends ECT(0).
LowLatency: TypeAlias = Literal["l4s", "any_ect"]


@dataclass(frozen=True, kw_only=True)
class Dualpi2:
    """Dual-queue coupled AQM (DualPI2, RFC 9332) as Linux' `dualpi2`.

    A low-latency queue for scalable congestion controls (L4S), and a classic queue for all others.

    Attributes
    ----------
    packets
        Maximum number of packets that wait in both queues; packets that would exceed it are dropped on arrival. Takes
        an integer of at least 1. Default: `10000`.
    target
        Target waiting time of the controller. Takes a duration from "1 us" to "1 s". Default: `"15 ms"`.
    update_interval
        Time between two updates of the probability. Takes a duration from "1 ms" to "1 s". Default: `"16 ms"`.
    alpha
        Increase of the probability at an update for each second of waiting time above `target`. Linux' unit: 41 is
        0.16. Takes an integer from 1 to 8388607 256ths. Default: `41`.
    beta
        Increase of the probability for each second by which the waiting time has grown since the last update. Takes an
        integer from 1 to 8388607 256ths. Default: `819`.
    coupling_factor
        Probability of a mark in the low-latency queue as a multiple of the controller's; that of a drop or mark in the
        classic queue is the controller's squared. Takes an integer from 1 to 255. Default: `2`.
    step_threshold
        Packets of the low-latency queue that have waited longer are marked. Takes a duration from "0 s" to "4 s".
        Default: `"1 ms"`.
    classic_protection
        Share of the rate that the classic queue has at least. Takes an integer from 0 to 100 percent. Default: `10`.
    low_latency
        Packets of the low-latency queue. Default: `"l4s"`.
    mtu
        Size of the largest packet, its header included; while less than two of them wait, the controller drops or marks
        nothing. Takes a size from "1 B" to "1 MiB". Default: `"1514 B"`.
    """

    packets: int | None = None
    target: Duration | None = None
    update_interval: Duration | None = None
    alpha: int | None = None
    beta: int | None = None
    coupling_factor: int | None = None
    step_threshold: Duration | None = None
    classic_protection: int | None = None
    low_latency: LowLatency | None = None
    mtu: ByteCount | None = None
    kind: Literal["dualpi2"] = "dualpi2"


@dataclass(frozen=True, kw_only=True)
class Red:
    """Random early detection (RED, Floyd and Jacobson 1993) as Linux' `red`.

    One queue, dropped from or marked on arrival.

    Attributes
    ----------
    bytes
        Maximum number of bytes that wait; packets that would exceed it are dropped on arrival. Takes a size from "1 B"
        to "1 GiB". Default: `"400 kB"`.
    min_threshold
        Average backlog up to which nothing is dropped or marked. At most `max_threshold`. Takes a size of at least
        "1 B". Default: `"30 kB"`.
    max_threshold
        Average backlog from which on everything is dropped or marked. Below 2 GiB x 2^-`weight_exponent`. With equal
        thresholds and `weight_exponent = 0` it is the step of DCTCP (RFC 8257 section 3.1). Takes a size of at least
        "1 B". Default: `"90 kB"`.
    max_probability
        Probability just below `max_threshold`, from which it decreases linearly to 0 at `min_threshold`. Takes a
        probability above 0, at most 1, such as 0.001 or "0.1 %". Default: `0.02`.
    weight_exponent
        At an arrival, the backlog has the weight 2^-`weight_exponent` in the average (Linux' `Wlog`); 0: the average is
        the backlog. Takes an integer from 0 to 30. Default: `5`.
    packet_time
        Time of a typical packet on the link: so many are taken to have met an empty queue during an idle time (default:
        the average stays during it, as below `tbf` of Linux). Only for links. Takes a duration from "1 us" to "1 s".
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `false`.
    hard_drop
        Whether ECN-capable packets are dropped from `max_threshold` on. Needs `ecn`. Default: `false`.
    no_drop
        Whether packets that are not ECN-capable pass where others are marked. Needs `ecn`. Default: `false`.
    adaptive
        Whether `max_probability` is adapted each 500 ms, between 1 % and 50 %, to keep the average between 40 % and 60
        % of the way from `min_threshold` to `max_threshold` (adaptive RED). Default: `false`.
    """

    bytes: ByteCount | None = None
    min_threshold: ByteCount | None = None
    max_threshold: ByteCount | None = None
    max_probability: Probability | None = None
    weight_exponent: int | None = None
    packet_time: Duration | None = None
    ecn: bool | None = None
    hard_drop: bool | None = None
    no_drop: bool | None = None
    adaptive: bool | None = None
    kind: Literal["red"] = "red"


@dataclass(frozen=True, kw_only=True)
class FqPie:
    """A PIE queue for each flow, served in turn (FQ-PIE) as Linux' `fq_pie`.

    Attributes
    ----------
    packets
        Maximum number of packets that wait in all queues; packets that would exceed it are dropped on arrival. Takes an
        integer of at least 1. Default: `10240`.
    flows
        Number of queues that flows are hashed to. Takes an integer from 1 to 65536 queues. Default: `1024`.
    quantum
        Bytes that a queue may send in its turn. Takes a size from "256 B" to "1 MiB". Default: `"1514 B"`.
    target
        As for `pie`. Takes a duration above "0 s". Default: `"15 ms"`.
    update_interval
        As for `pie`. Takes a duration of at least "1 ms". Default: `"15 ms"`.
    alpha
        As for `pie`. Takes an integer from 0 to 32 sixteenths. Default: `2`.
    beta
        As for `pie`. Takes an integer from 0 to 32 sixteenths. Default: `20`.
    ecn
        Whether ECN-capable packets are marked instead of dropped. Default: `false`.
    ecn_drop_threshold
        Probability above which ECN-capable packets are also dropped (`ecn_prob`). Default: `0.1`.
    byte_mode
        As for `pie`. Default: `false`.
    rate_estimator
        As for `pie`. Default: `false`.
    mtu
        As for `pie`, of the packets of a queue. Takes a size from "1 B" to "1 MiB". Default: `"1514 B"`.
    """

    packets: int | None = None
    flows: int | None = None
    quantum: ByteCount | None = None
    target: Duration | None = None
    update_interval: Duration | None = None
    alpha: int | None = None
    beta: int | None = None
    ecn: bool | None = None
    ecn_drop_threshold: Probability | None = None
    byte_mode: bool | None = None
    rate_estimator: bool | None = None
    mtu: ByteCount | None = None
    kind: Literal["fq_pie"] = "fq_pie"


@dataclass(frozen=True, kw_only=True)
class Cake:
    """Fair queueing of flows and hosts with COBALT as Linux' `cake besteffort`; its shaper is the rate of the link.

    Attributes
    ----------
    target
        Acceptable standing queue delay; at least 1.5 of the largest packets at the rate of the link are. Below
        `interval`. Default: `"5 ms"`.
    interval
        Time during which packets must have waited longer than `target` before signals become regular (`rtt`). Takes a
        duration above "0 s". Default: `"100 ms"`.
    memory
        Maximum number of bytes that wait in all queues; above it, heads of the longest queue are dropped. Takes a size
        of at least "1514 B". Default: `"4 MiB"`.
    host_isolation
        Whether hosts share the link, and flows the part of their host; otherwise flows share it (`flows`). Default:
        `true`.
    ack_filter
        Filter of TCP acknowledgements. Default: `"off"`.
    """

    target: Duration | None = None
    interval: Duration | None = None
    memory: ByteCount | None = None
    host_isolation: bool | None = None
    ack_filter: AckFilter | None = None
    kind: Literal["cake"] = "cake"


#: Queue discipline: order of service, and which packets are dropped or marked.
Queue: TypeAlias = DropTail | HeadDrop | Codel | FqCodel | Pie | Dualpi2 | Red | FqPie | Cake


@dataclass(frozen=True, kw_only=True)
class Independent:
    """Each packet with the same probability; written short as `"0.1 %"`.

    Attributes
    ----------
    probability
        Loss probability of each packet.
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
    """Exactly the listed packets, counted from 0 in the order of arrival at the link.

    Attributes
    ----------
    packets
        Indices of the packets.
    """

    packets: tuple[int, ...]
    kind: Literal["listed"] = "listed"


#: Loss of a link.
Loss: TypeAlias = Probability | Independent | GilbertElliott | Listed


@dataclass(frozen=True, kw_only=True)
class ConditionRow:
    """Conditions from a time on.

    A value that is not given is that of the row before, in the first row that of the link.

    Attributes
    ----------
    at
        Time from the start of the run; 0 in the first row, then ascending.
    rate
        Rate of serialisation. Needs a constant `rate` of the link.
    delay
        Mean of the one-way delay. Not with `every` of the delay.
    deviation
        Deviation of the delay. Needs a `distribution` of the delay. Not with `every` of the delay.
    loss
        Loss probability of each packet. Needs a link whose `loss` is independent or not set.
    up
        Whether the link is up. With `while_down` "hold" it needs a constant `rate` of the link.
    """

    at: Duration
    rate: DataRate | None = None
    delay: Duration | None = None
    deviation: Duration | None = None
    loss: Probability | None = None
    up: bool | None = None


#: Behaviour of a link while it is down.
#: - `hold`: Nothing is transmitted; packets wait in the queue.
#: - `lose`: Packets are transmitted and lost: those whose serialisation ends while the link is down.
WhileDown: TypeAlias = Literal["hold", "lose"]


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Conditions of a link over time, from a file or from rows.

    Attributes
    ----------
    file
        Path of a CSV file, relative to the scenario file: a header with `time_s` or `time_ms` and at least one of
        `rate_bps`, `rate_kbps` or `rate_mbps`, `delay_us` or `delay_ms` (one way), `deviation_us` or `deviation_ms`,
        `loss_share` or `loss_percent`, and `up` (0 or 1); then one line for each time. An empty value is that of the
        line before. Not with `rows`. Takes a non-empty string.
    rows
        The same in the scenario. Not with `file`.
    at_end
        Behaviour after the last row: `loop` starts again, with the time of the last row as the period; `hold` keeps the
        last values. Takes "loop" or "hold". Default: `"loop"`.
    while_down
        Behaviour while the link is down. Default: `"hold"`.
    """

    file: str | None = None
    rows: tuple[ConditionRow, ...] | None = None
    at_end: TraceEnd | None = None
    while_down: WhileDown | None = None


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """Transmission of several packets at once.

    Attributes
    ----------
    interval
        Time from one transmission to the next; the first one is at a time that is drawn. Takes a duration of at least
        "10 us".
    """

    interval: Duration


@dataclass(frozen=True, kw_only=True)
class Retransmission:
    """Failed transmissions and their repetition by the link.

    Attributes
    ----------
    failure
        Probability that a transmission fails. Takes a probability from 0 to 0.9, such as 0.001 or "0.1 %".
    delay
        Time from a transmission that fails to the next one. Takes a duration above "0 s".
    transmissions
        Transmissions of a packet at most, the first one included. Takes an integer from 1 to 32. Default: `5`.
    recovery
        Time after the last of them after which the packet is sent anew, with as many transmissions, until one succeeds
        (default: the packet is lost). Takes a duration above "0 s".
    """

    failure: Probability
    delay: Duration
    transmissions: int | None = None
    recovery: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A packet that a link holds back after its delay.

    Attributes
    ----------
    packet
        Index of the packet, counted from 0 in the order of arrival at the link, lost packets included. Each packet at
        most once.
    by
        Time for which it is held. Takes a duration above "0 s".
    behind
        Number of packets that overtake it; it is released directly after the last of them, if that is earlier. Takes an
        integer of at least 1.
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
        Delay of a report on its path to the bearer. Default: `"1 ms"`.
    desired_buffer
        Desired buffer size, as the time in which the link sends it at its present rate. Takes a duration above "0 s".
        Default: `"15 ms"`.
    """

    interval: Duration | None = None
    delay: Duration | None = None
    desired_buffer: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Link:
    """A one-way link: loss, then queue, then serialisation at the rate, then aggregation, retransmission and delay.

    Attributes
    ----------
    rate
        Rate of serialisation (default: serialisation takes no time). Takes a rate above "0 bit/s", or a table with
        `kind`.
    overhead_per_packet
        Bytes that serialisation adds to each packet (Ethernet header: 14 B). Needs a `rate`. Default: `"0 B"`.
    framing
        Framing of the link layer, such as that of ATM on ADSL (default: none). It determines how many bytes a packet
        has on the wire, for serialisation, token bucket, policer and queue. Needs a `rate`.
    mtu
        Largest IP packet that the link carries (default: any). Takes a size of at least "68 B".
    above_mtu
        What becomes of a larger one. Not `fragment` without `mtu`.
    ecn_rewrites
        Changes of the ECN field on the way to the link, such as those of a router that clears it: the first that
        applies to a packet is made.
    policer
        Policer at the begin of the link, before loss and queue (default: none).
    queue
        Queue of packets that wait for serialisation. Needs a `rate`. Default: `{ kind = "drop_tail", packets = 1000 }`.
    loss
        Loss before the queue.
    delay
        Propagation delay after serialisation. Default: `{ deviation = "0 ns", distribution = "constant", mean = "0 ns",
        reorder = false }`.
    conditions
        Rate, delay, loss and outages over time, from a file or from rows (default: they do not change).
    aggregation
        Transmission of several packets at once (default: each leaves when it has been serialised).
    retransmission
        Failed transmissions and their repetition by the link (default: none fails).
    holds
        Packets that are held back at the end of the link, so that others overtake them.
    feedback
        Reports to the bearer that sends over the link (default: none). Needs a `rate`, and a link of exactly one
        bearer.
    """

    rate: Rate | None = None
    overhead_per_packet: ByteCount | None = None
    framing: Framing | None = None
    mtu: ByteCount | None = None
    above_mtu: AboveMtu | None = None
    ecn_rewrites: tuple[EcnRewrite, ...] | None = None
    policer: Policer | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    delay: Duration | Delay | None = None
    conditions: Conditions | None = None
    aggregation: Aggregation | None = None
    retransmission: Retransmission | None = None
    holds: tuple[Hold, ...] | None = None
    feedback: Feedback | None = None


#: Mode of a bearer.
#: - `split`: Each packet takes one link.
#: - `duplicate`: Each packet takes all links, with the same number.
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
        Rate that each link is assumed to have before it is measured. Takes a rate above "0 bit/s". Default:
        `"10 Mbit/s"`.
    smoothing
        Time over which rates are averaged. Takes a duration above "0 s", at most "60 min". Default: `"100 ms"`.
    floor
        Minimum share of a link, so that a slow link is measured again. At most 1 divided by the number of links. Takes
        a probability above 0, at most 1, such as 0.001 or "0.1 %". Default: `0.05`.
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
        Rate that each link is assumed to have before it is measured. Takes a rate above "0 bit/s". Default:
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
    """A queue at the sending end; a link receives no more than it desires (3GPP TS 38.425 section 5.4.2).

    Attributes
    ----------
    queue_packets
        Maximum number of packets in the queue of the sending end. Takes an integer of at least 1 packet. Default:
        `1000`.
    start_buffer
        Desired buffer size that each link is assumed to have before its first report. Takes a size of at least "1 B".
        Default: `"16 KiB"`.
    poll_interval
        A link that has not reported for this long what it received gets one packet more than it desires, which makes it
        report. Should be longer than the `interval` of its `feedback`. Takes a duration of at least "1 ms". Default:
        `"100 ms"`.
    """

    queue_packets: int | None = None
    start_buffer: ByteCount | None = None
    poll_interval: Duration | None = None
    kind: Literal["flow_control"] = "flow_control"


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function written in Python chooses the link of each packet.

    Attributes
    ----------
    function
        `module:function`, with a module in the folder of the scenario or installed. It is called with a dictionary for
        each packet, and returns the index of a link.
    start_rate
        Rate that each link is assumed to have before it is measured. Takes a rate above "0 bit/s". Default:
        `"10 Mbit/s"`.
    smoothing
        Time over which rates and delays are averaged, of links with `feedback`. Takes a duration above "0 s", at most
        "60 min". Default: `"100 ms"`.
    """

    function: str
    start_rate: DataRate | None = None
    smoothing: Duration | None = None
    kind: Literal["function"] = "function"


#: Algorithm with which a bearer chooses the link of a packet.
Splitter: TypeAlias = Batches | Proportional | LeastExpectedArrival | FlowControl | Function


@dataclass(frozen=True, kw_only=True)
class AdaptiveTimer:
    """It follows the skew of the links: the time for which gaps stay open that are finally filled.

    Attributes
    ----------
    least
        Minimum value. At most `most`. Default: `"5 ms"`.
    most
        Maximum value; also the value of the first `window`, and of the first window after silence. Takes a duration
        above "0 s", at most "60 min". Default: `"200 ms"`.
    window
        Time over which the longest gap is determined. Takes a duration above "0 s", at most "60 min". Default: `"2 s"`.
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


#: Time to wait for the packets of a gap.
ReorderingTimer: TypeAlias = Duration | TimerRule


@dataclass(frozen=True, kw_only=True)
class Reordering:
    """PDCP reordering (3GPP TS 38.323 section 5.2.2.2).

    Attributes
    ----------
    enabled
        Whether packets are delivered in order; if not, the number is stripped and they pass immediately. Default:
        `true`.
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
    """A split bearer: numbers packets, distributes them over several links, and delivers them in order.

    Attributes
    ----------
    links
        Names of the links, in the order of `shares`. Each at most once. Takes an array of 1 to 8 strings.
    batch_packets
        Packets in a batch; each batch is divided among the links by `shares`. Takes an integer from 1 to 65535 packets.
        Default: `100`.
    shares
        Weight of each link (default: all equal). One for each link, not all 0; none with `duplicate` or a splitter
        other than `batches`.
    mode
        Split or duplicate. Default: `"split"`.
    splitter
        Algorithm that chooses the link of a packet. All but `batches` need `split`; all but `batches` and `function`
        need `feedback` of each link. Default: `{ kind = "batches" }`.
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


#: Time at which the memory of a datagram that was read is released (`udp_rmem_release`, net/ipv4/udp.c).
#: - `at_once`: When it is read: Linux up to 4.9; approximately also from 5.5 on.
#: - `in_quarters`: When a quarter of the buffer has been read since the last return: Linux 4.15 to 5.4, between its
#:   commit 0d4a6608f68c and the revert of January 2020.
MemoryReturn: TypeAlias = Literal["at_once", "in_quarters"]


@dataclass(frozen=True, kw_only=True)
class Host:
    """A host template. The default costs nothing and never drops.

    Attributes
    ----------
    receive_buffer
        Socket receive buffer (`SO_RCVBUF` as the kernel counts it; default: unlimited). Takes a size of at least "1 B".
    truesize
        Memory that the kernel charges for each datagram (default, as Linux: the buffer of the packet rounded up to a
        power of two, and the socket-buffer structure). Takes a size of at least "1 B".
    memory_return
        Time at which the memory of a datagram that was read is released. Default: `"at_once"`.
    receive_datagram
        CPU time of the application for each datagram received. Default: `"0 ns"`.
    receive_call
        CPU time of each receiving system call. Default: `"0 ns"`.
    receive_batch
        Maximum number of datagrams in one receiving call (GRO, recvmmsg). Takes an integer of at least 1 datagram.
        Default: `1`.
    send_datagram
        CPU time for each datagram sent. Default: `"0 ns"`.
    send_call
        CPU time of each sending system call. Default: `"0 ns"`.
    send_batch
        Maximum number of datagrams in one sending call (GSO, sendmmsg). Takes an integer of at least 1 datagram.
        Default: `1`.
    timer_slack
        Lateness of user-space timers. Without `reorder` and `every`. Default: `{ deviation = "0 ns", distribution =
        "constant", mean = "0 ns", reorder = false }`.
    wake_up
        Time until a waiting process runs after a datagram has arrived. Without `reorder` and `every`. Default: `{
        deviation = "0 ns", distribution = "constant", mean = "0 ns", reorder = false }`.
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
    timer_slack: Duration | Delay | None = None
    wake_up: Duration | Delay | None = None


@dataclass(frozen=True, kw_only=True)
class Tap:
    """A point that records the packets passing it.

    Attributes
    ----------
    keep_packets
        Maximum number of recorded packets; later packets are only counted. Default: `1000000`.
    """

    keep_packets: int | None = None


@dataclass(frozen=True, kw_only=True)
class PathRoutes:
    """Routes of a path of a tunnel.

    Attributes
    ----------
    down
        Links, bearers and taps from sender to receiver, in order.
    up
        Links, bearers and taps from receiver to sender, in order.
    """

    down: tuple[str, ...]
    up: tuple[str, ...]


#: Connections of a tunnel.
#: - `connections`: One connection for each path: each has its own acknowledgements, RTT and failure.
#: - `multipath`: One connection with all paths (Multipath QUIC).
CarrierKind: TypeAlias = Literal["connections", "multipath"]


@dataclass(frozen=True, kw_only=True)
class DirectPipeline:
    """A packet leaves the queue when a path can take it immediately."""

    kind: Literal["direct"] = "direct"


#: Condition on which PQUIC sends a packet with datagrams.
#: - `full`: When no further datagram fits.
#: - `full_or_acknowledging`: When no further datagram fits, or an acknowledgement leaves on the path.
#: - `at_once`: Immediately.
LeaveRule: TypeAlias = Literal["full", "full_or_acknowledging", "at_once"]


#: Packets whose DATAGRAM frames leave whatever the window says, from the second queue of PQUIC's datagram plugin.
#: - `icmp`: Those of ICMP.
#: - `all`: All, as the public plugin without its build flag `DATAGRAM_CONGESTION_CONTROLLED`.
SecondQueue: TypeAlias = Literal["icmp", "all"]


@dataclass(frozen=True, kw_only=True)
class PquicPipeline:
    """That of PQUIC with the datagram plugin: see `tunnel/pquic.rs`.

    Attributes
    ----------
    leaves
        Condition on which a packet of the tunnel leaves. Default: `"full"`.
    second_queue
        Packets that go to the second queue of the datagram plugin, that of frames without congestion control (default:
        none).
    """

    leaves: LeaveRule | None = None
    second_queue: SecondQueue | None = None
    kind: Literal["pquic"] = "pquic"


#: Transfer of packets from the queue to the paths.
Pipeline: TypeAlias = DirectPipeline | PquicPipeline


#: ECN field of what goes through a tunnel, and of the packets of its carrier.
#: - `separate`: They have nothing to do with each other: packets leave with the field that they entered with.
#: - `propagated`: A packet of the carrier is ECN-capable if all that it carries is, and its marks are passed on (RFC
#:   6040). They also reduce the carrier's window.
TunnelEcn: TypeAlias = Literal["separate", "propagated"]


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """A tunnel: name it in the routes of flows, `down` through it from server to client, `up` in reverse.

    A name with an end, such as `vpn.client`, states where packets enter: uploads have it in their route `down`.

    Attributes
    ----------
    stack
        Stack that carries the datagrams: `lab-quic` or `noq`.
    paths
        Routes of the paths between the ends. Each uses separate links and bearers. Takes an array of 1 to 8 tables.
    carrier
        One connection for each path, or one with all paths. Default: `"connections"`.
    pipeline
        Transfer of packets from the queue to the paths. `pquic` needs the stack `lab-quic`. Default: `{ kind = "direct"
        }`.
    ecn
        ECN fields inside and outside. `propagated` needs the stack `lab-quic` with `quic.ecn = true` at both ends, and
        the pipeline `direct`. Default: `"separate"`.
    queue
        Queue of packets that wait for the paths, at each end. `drop_tail` without `time`. Default: `{ control_law =
        "inverse_sqrt", drop_batch = 64, ecn = true, flows = 1024, hash = "five_tuple", interval = "100 ms", kind =
        "fq_codel", least_backlog = "1514 B", memory = "32 MiB", memory_per_packet = "0 B", packets = 10240, quantum =
        "1514 B", restart = "last_series", target = "5 ms" }`.
    scheduler
        Path scheduler. `redundant` needs `resequencing`. Default: `{ kind = "lowest_rtt" }`.
    mtu
        Maximum size of an IP packet that enters; larger packets are rejected. At most 36 B less than `datagram_size`,
        and than the largest of `datagram_sizes`. Takes a size from "576 B" to "65000 B". Default: `"1400 B"`.
    resequencing
        Maximum wait of packets that arrived out of order for those before them (default: no resequencing, packets leave
        in order of arrival). Takes a duration above "0 s".
    repair
        Whether packets that a path has lost are sent again while the other end waits for them, and packets of sparse
        flows are delivered without waiting. Needs `resequencing` and the pipeline `direct`, and not the scheduler
        `redundant`. Default: `false`.
    windows
        Congestion windows of the paths that never change, with `congestion_control = "fixed"`. One above 0 for each
        path.
    datagram_sizes
        Maximum UDP payload of each path, where their MTUs differ (default: `datagram_size` of each end on all paths).
        One for each path, from 1200 B to `datagram_size`. Needs the stack `lab-quic`.
    server
        Options of the transport at the server: the end that packets `down` enter.
    client
        Options of the transport at the client, which opens the connections.
    """

    stack: str
    paths: tuple[PathRoutes, ...]
    carrier: CarrierKind | None = None
    pipeline: Pipeline | None = None
    ecn: TunnelEcn | None = None
    queue: Queue | None = None
    scheduler: PathScheduler | None = None
    mtu: ByteCount | None = None
    resequencing: Duration | None = None
    repair: bool | None = None
    windows: tuple[ByteCount, ...] | None = None
    datagram_sizes: tuple[ByteCount, ...] | None = None
    server: EndpointConfig | None = None
    client: EndpointConfig | None = None


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """An operation and its replacement: one of `replace`, `before` and `after`.

    Attributes
    ----------
    operation
        An option of the endpoint, such as `quic.acknowledgement`, or a computation, such as
        `compute.congestion_window`.
    replace
        Replacement: a value of the option; for a computation, the name of a function.
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
#: - `sender`: Only the sender.
#: - `receiver`: Only the receiver.
PluginEnds: TypeAlias = Literal["both", "sender", "receiver"]


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A named list of replacements.

    Attributes
    ----------
    exchanges
        Replacements. Takes an array of one or more tables.
    description
        Effect, in one sentence. Default: `""`.
    ends
        Ends of the flow that it changes. Default: `"both"`.
    """

    exchanges: tuple[Exchange, ...]
    description: str | None = None
    ends: PluginEnds | None = None


#: Direction of packets: `down` from sender to receiver.
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
        Flow whose packets take the wire (default: all flows).
    direction
        Direction of the packets of `flow`. `up` needs a `flow`. Default: `"down"`.
    """

    from_: str = field(metadata={"name": "from"})
    to: str
    flow: str | None = None
    direction: WireDirection | None = None


@dataclass(frozen=True, kw_only=True)
class AtTime:
    """A time.

    Attributes
    ----------
    at
        Time from the start of the run.
    """

    at: Duration
    kind: Literal["time"] = "time"


@dataclass(frozen=True, kw_only=True)
class AtState:
    """The sender of a flow enters a state; with several paths, that of the first one.

    Attributes
    ----------
    flow
        Flow. Without `arrivals`, and not a page with `resources`.
    state
        State that it reports: a phase of its congestion control, as in time series, or `recovery` when a recovery
        period of the transport begins. Takes a non-empty string.
    occurrence
        Number of the entry that is the cause, counted from 1 (default: each one). The state in which a flow starts is
        not entered. Takes an integer of at least 1.
    """

    flow: str
    state: str
    occurrence: int | None = None
    kind: Literal["state"] = "state"


@dataclass(frozen=True, kw_only=True)
class AtDelivered:
    """A flow has delivered a size to its application.

    Attributes
    ----------
    flow
        Flow.
    size
        Size. Takes a size of at least "1 B".
    """

    flow: str
    size: ByteCount
    kind: Literal["delivered"] = "delivered"


#: Cause of an event.
Cause: TypeAlias = AtTime | AtState | AtDelivered


@dataclass(frozen=True, kw_only=True)
class Event:
    """A change of links that a cause brings about; not in the warm-up run before a warm start.

    Attributes
    ----------
    when
        Cause.
    links
        Links that change. Takes an array of one or more strings.
    rate
        New rate. Needs a constant `rate` of the links, and `conditions` that set neither rate nor outages. Not with
        `rate_factor`. Takes a rate above "0 bit/s".
    rate_factor
        Factor by which the rate changes: 0.9 for 10 % less. Needs what `rate` needs. Takes a number above 0, at most
        1000.
    delay
        New mean of the one-way delay. Not with `added_delay`, or with `every` of the delay.
    added_delay
        Time that is added to the mean of the one-way delay. Not with `every` of the delay. Takes a duration above
        "0 s".
    loss
        New loss probability of each packet; 1 is a black hole. Needs links whose `loss` is independent or not set.
    up
        Whether the links are up: while down, nothing is transmitted, and packets wait. Needs what `rate` needs.
    duration
        Time after which the change ends (default: never). Takes a duration above "0 s".
    """

    when: Cause
    links: tuple[str, ...]
    rate: DataRate | None = None
    rate_factor: float | None = None
    delay: Duration | None = None
    added_delay: Duration | None = None
    loss: Probability | None = None
    up: bool | None = None
    duration: Duration | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """Recordings of a run in addition to its summary. All are off by default.

    Attributes
    ----------
    series_interval
        Step of the time series (default: no series). At most 10 million samples in `duration`. Takes a duration above
        "0 s".
    packets
        Every packet at every element. Default: `false`.
    acks
        Every acknowledgement that arrives at an endpoint: its time, and how much it newly acknowledges. Default:
        `false`.
    sojourns
        Sojourn time of each packet in the queues of tunnels. Default: `false`.
    requests
        Times at which each request of a page was sent and answered. Default: `false`.
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
        A short name; results contain it. Takes a non-empty string.
    flows
        Flows by name. Takes a table of one or more entries.
    description
        Description, in a sentence or two. Default: `""`.
    network
        File of a network, whose links are added to `links`: a named path such as `paths/wifi-bad`, or a file that ends
        with `.toml`, relative to that of the scenario. A field of a link that is given here is not taken from it. A
        resolved scenario has the links in place of `network`. Takes a non-empty string.
    duration
        Maximum duration of the run, in network time. Takes a duration above "0 s". Default: `"60 min"`.
    until
        Condition that ends the run before `duration`. Default: `"workloads_done"`.
    links
        Links by name.
    bearers
        Split bearers by name.
    hosts
        Host templates by name; each endpoint that names one gets its own host.
    taps
        Taps by name: they record the packets that pass; name them in a route like a link.
    tunnels
        Tunnels by name; name them in a route like a bearer.
    plugins
        Plugins by name; flows name them, or built-in ones.
    wires
        Wires that are set explicitly; with any of them, routes of flows must be empty.
    events
        Changes of links during the run, at a time or in answer to what a flow does.
    record
        What to record in addition to the summary. Default: `{ acks = false, packets = false, pcapng = false, qlog =
        false, requests = false, sojourns = false }`.
    """

    version: int = 1
    name: str
    flows: dict[str, Flow]
    description: str | None = None
    network: str | None = None
    duration: Duration | None = None
    until: Until | None = None
    links: dict[str, Link] = field(default_factory=dict)
    bearers: dict[str, Bearer] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    taps: dict[str, Tap] = field(default_factory=dict)
    tunnels: dict[str, Tunnel] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    wires: tuple[Wire, ...] | None = None
    events: tuple[Event, ...] | None = None
    record: Record | None = None
