//! Workloads: data that a flow transfers.

use quiclab_core::link::Delay;
use quiclab_core::{ByteCount, DataRate, Duration, defaults, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};

/// Workload of the flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantNames)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "snake_case")]
pub enum Workload {
    /// The client sends one request; the server responds with `size` bytes, or for `duration`.
    Download {
        /// Amount that the server sends. Either this or `duration`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least("1 B"))]
        size: Option<ByteCount>,
        /// Time for which the server sends, from the start of the client. Either this or `size`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 s"))]
        duration: Option<Duration>,
        /// Length of the client's request.
        #[serde(default = "default_request")]
        #[schemars(transform = limits::at_least("1 B"))]
        request: ByteCount,
    },
    /// The client sends a request, waits for the whole response, pauses, and sends the next request.
    RequestResponse {
        /// Number of requests.
        #[schemars(transform = limits::at_least(1))]
        count: u32,
        /// Length of each request.
        #[serde(default = "default_request")]
        #[schemars(transform = limits::at_least("1 B"))]
        request: ByteCount,
        /// Length of each response.
        #[schemars(transform = limits::at_least("1 B"))]
        response: ByteCount,
        /// Pause between a response and the next request.
        #[serde(default)]
        pause: Duration,
    },
    /// The client asks for a burst, waits for all of it, thinks for an exponentially distributed time, and asks again.
    OnOff {
        /// Length of each burst.
        #[schemars(transform = limits::at_least("1 B"))]
        burst: ByteCount,
        /// Mean of the think times.
        think_time: Duration,
        /// Length of each request.
        #[serde(default = "default_request")]
        #[schemars(transform = limits::at_least("1 B"))]
        request: ByteCount,
        /// Time after which no burst is asked for, from the start of the flow.
        #[schemars(transform = limits::above("0 s"))]
        duration: Duration,
    },
    /// The sender sends datagrams at a constant rate, whether they arrive or not.
    Datagrams {
        /// Rate of the payload during periods of sending.
        #[schemars(transform = limits::above("0 bit/s"))]
        rate: DataRate,
        /// Payload of each datagram.
        #[schemars(transform = limits::between("1 B", "65507 B"))]
        size: ByteCount,
        /// Time for which the sender sends, from the start of the flow.
        #[schemars(transform = limits::above("0 s"))]
        duration: Duration,
        /// Length of a period of sending (default: the whole time). Together with `off`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 s"))]
        on: Option<Duration>,
        /// Length of the pause after each period of sending. Together with `on`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 s"))]
        off: Option<Duration>,
    },
    /// The client loads a page: HTML first, then the objects that it names, or resources that depend on each
    /// other, over HTTP/3 on QUIC or HTTP/2 on TCP.
    Page {
        /// Length of the HTML.
        #[schemars(transform = limits::at_least("1 B"))]
        html: ByteCount,
        /// Objects that the HTML names, in its order.
        #[serde(default)]
        objects: Vec<PageObjects>,
        /// Resources of the page in addition to the HTML, each with the resources that lead to its request; instead of
        /// `objects`. Resource 0 is the HTML, those of this list follow, from 1.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        resources: Vec<PageResource>,
        /// Time that the server needs for the HTML, from the end of the request to the first byte of the response.
        #[serde(default)]
        html_think_time: Duration,
        /// Time that the server needs for each object, likewise.
        #[serde(default)]
        think_time: Duration,
        /// Time of the browser outside the network, from the last byte of the HTML to the first request for an object;
        /// drawn once. Without `reorder` and `every`.
        #[serde(default)]
        browser_time: Delay,
        /// CPU time of the browser's page for each request for an object that it issues, one after the other.
        #[serde(default)]
        issue_time: Duration,
        /// CPU time of the browser's network process for each of them. The first leaves when it is prepared, another when
        /// all those are that were issued before it was. Over QUIC, a host reads no packets meanwhile.
        #[serde(default)]
        request_time: Duration,
        /// CPU time of the browser for each object that is complete, one after the other; the page is loaded when all
        /// have been handled.
        #[serde(default)]
        object_time: Duration,
        /// Order in which the server sends the objects.
        #[serde(default)]
        priorities: Priorities,
        /// Length of the header section of each request, compressed.
        #[serde(default = "default_header_section")]
        #[schemars(transform = limits::between("1 B", "256 KiB"))]
        request: ByteCount,
        /// Length of the header section of each response, compressed.
        #[serde(default = "default_header_section")]
        #[schemars(transform = limits::between("1 B", "256 KiB"))]
        response: ByteCount,
    },
    /// The receiver sends probes, which the sender returns.
    Ping {
        /// Payload of each probe.
        #[serde(default = "default_ping")]
        #[schemars(transform = limits::between("1 B", "65507 B"))]
        size: ByteCount,
        /// Number of probes.
        #[schemars(transform = limits::at_least(1))]
        count: u32,
        /// Time from one probe to the next.
        #[serde(default = "default_ping_interval")]
        #[schemars(transform = limits::above("0 s"))]
        interval: Duration,
        /// Above IP; `icmp` on lab-udp only.
        #[serde(default)]
        protocol: PingProtocol,
    },
    /// The sender sends video frames over RTP, at the rate that SCReAM sets (RFC 8298, or version 2).
    Media {
        /// Rate at the start, RTP headers included. From `min_rate` to `max_rate`.
        #[serde(default = "default_start_rate")]
        start_rate: DataRate,
        /// Minimum rate.
        #[serde(default = "default_min_rate")]
        #[schemars(transform = limits::above("0 bit/s"))]
        min_rate: DataRate,
        /// Maximum rate.
        max_rate: DataRate,
        /// Frames per second.
        #[serde(default = "default_frame_rate")]
        #[schemars(transform = limits::between(1, 1000))]
        frame_rate: u32,
        /// Maximum size of an RTP packet, its header included.
        #[serde(default = "default_rtp")]
        #[schemars(transform = limits::between("100 B", "1472 B"))]
        packet_size: ByteCount,
        /// Congestion control.
        #[serde(default)]
        control: MediaControl,
        /// Target queueing delay without competing flows, QDELAY_TARGET_LO (default: "100 ms" with `scream`, "60 ms" with
        /// `scream-v2`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 s"))]
        target_delay: Option<Duration>,
        /// Maximum growth of the rate in a second, RAMP_UP_SPEED of `scream` (default: "200 kbit/s").
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 bit/s"))]
        ramp_up_speed: Option<DataRate>,
        /// Packets are ECN-capable, and marks count as congestion.
        #[serde(default)]
        ecn: bool,
        /// Packets are ECN-capable for L4S: they have ECT(1), and `scream-v2` follows the share of marks. Instead of `ecn`.
        #[serde(default)]
        l4s: bool,
        /// Time for which the sender sends, from the start of the flow.
        #[schemars(transform = limits::above("0 s"))]
        duration: Duration,
    },
    /// The sender sends the frames of a live video: each on a stream or in datagrams of QUIC, or one after the other on
    /// TCP. The congestion control of the transport is the only one.
    Live {
        /// Mean rate of the frames; of a source that adapts, the rate at the start.
        #[schemars(transform = limits::above("0 bit/s"))]
        rate: DataRate,
        /// Minimum rate of a source that follows the rate at which the transport sends, less what waits. Together with
        /// `max_rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 bit/s"))]
        min_rate: Option<DataRate>,
        /// Maximum rate of a source that follows the rate at which the transport sends. Together with `min_rate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 bit/s"))]
        max_rate: Option<DataRate>,
        /// Frames per second (default: RFC 8593 section 5).
        #[serde(default = "default_live_frame_rate")]
        #[schemars(transform = limits::between(1, 1000))]
        frame_rate: u32,
        /// Time from one key frame to the next, rounded to whole frames (default: assumed).
        #[serde(default = "default_key_frame_interval")]
        #[schemars(transform = limits::above("0 s"))]
        key_frame_interval: Duration,
        /// Size of a key frame, in sizes of another frame (default: assumed).
        #[serde(default = "default_key_frame_ratio")]
        #[schemars(transform = limits::between(1, 100))]
        key_frame_ratio: u32,
        /// Random variation of the sizes: scale of a Laplace distribution around the mean, which is cut at twice the
        /// mean, in per cent of the mean (default: SCALE_B of RFC 8593 section 5).
        #[serde(default = "default_size_variation")]
        #[schemars(transform = limits::at_most(100))]
        size_variation_percent: u32,
        /// Time from the capture of a frame to its last byte at the receiver, above which it is late.
        #[schemars(transform = limits::above("0 s"))]
        deadline: Duration,
        /// The sender gives up frames at their deadline: it resets their streams; on TCP, it leaves out those of which
        /// nothing has been written. Not with `delivery = "datagrams"`.
        #[serde(default)]
        drop_late: bool,
        /// How frames are sent over QUIC.
        #[serde(default)]
        delivery: LiveDelivery,
        /// Maximum payload of a datagram, where frames are sent in datagrams.
        #[serde(default = "default_live_packet")]
        #[schemars(transform = limits::between("100 B", "65507 B"))]
        packet_size: ByteCount,
        /// Time for which frames are captured, from the moment at which the sender is connected.
        #[schemars(transform = limits::above("0 s"))]
        duration: Duration,
    },
}

/// How the frames of a live video are sent over QUIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveDelivery {
    /// A unidirectional stream for each frame, older frames first where the stack sends streams by priority.
    #[default]
    Streams,
    /// DATAGRAM frames (RFC 9221), which are not sent again.
    Datagrams,
}

/// Congestion control of media over RTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MediaControl {
    /// SCReAM (RFC 8298).
    #[default]
    Scream,
    /// Version 2 of SCReAM (draft-ietf-ccwg-rfc8298bis-screamv2-01).
    #[serde(rename = "scream-v2")]
    ScreamV2,
}

/// Protocol of the probes above IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PingProtocol {
    /// UDP.
    #[default]
    Udp,
    /// Echo and echo reply of ICMP (RFC 792).
    Icmp,
}

defaults! {
    default_start_rate: DataRate = DataRate::from_mbps(1);
    default_min_rate: DataRate = DataRate::from_bits_per_second(100_000);
    default_frame_rate: u32 = 25;
    default_rtp: ByteCount = ByteCount::from_bytes(1200);
    default_live_frame_rate: u32 = 30;
    default_key_frame_interval: Duration = Duration::from_secs(2);
    default_key_frame_ratio: u32 = 5;
    default_size_variation: u32 = 15;
    default_live_packet: ByteCount = ByteCount::from_bytes(1100);
}

impl Workload {
    /// Number of bytes delivered to the receiver in total; `None` if not known in advance.
    #[must_use]
    pub fn size(&self) -> Option<ByteCount> {
        match self {
            Self::Download { size, .. } => *size,
            Self::RequestResponse { count, response, .. } => {
                Some(ByteCount::from_bytes(u64::from(*count).saturating_mul(response.bytes())))
            }
            Self::Ping { size, count, .. } => {
                Some(ByteCount::from_bytes(u64::from(*count).saturating_mul(size.bytes())))
            }
            Self::Page { html, objects, resources, .. } => {
                let sizes =
                    objects.iter().map(|group| group.size.bytes().saturating_mul(u64::from(group.count)));
                let sizes = sizes.chain(resources.iter().map(|resource| resource.size.bytes()));
                Some(ByteCount::from_bytes(sizes.fold(html.bytes(), u64::saturating_add)))
            }
            Self::OnOff { .. } | Self::Datagrams { .. } | Self::Media { .. } | Self::Live { .. } => None,
        }
    }

    /// Names of all kinds, as in scenarios.
    pub const KINDS: &'static [&'static str] = Self::VARIANTS;

    /// Kinds that run on a byte stream.
    pub const ON_BYTES: &'static [&'static str] = &["download", "request_response", "on_off", "page", "live"];

    /// Kinds that run on the streams and datagrams of QUIC.
    pub const ON_STREAMS: &'static [&'static str] =
        &["download", "request_response", "on_off", "page", "datagrams", "ping", "live"];

    /// Name of the kind, as in scenarios.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.into()
    }
}

/// A group of equal objects of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageObjects {
    /// Number of objects.
    #[schemars(transform = limits::at_least(1))]
    pub count: u32,
    /// Length of each.
    #[schemars(transform = limits::at_least("1 B"))]
    pub size: ByteCount,
    /// Kind of the objects: a browser's priorities depend on it.
    #[serde(default)]
    pub kind: ObjectKind,
}

/// A resource of a page, requested because of other resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageResource {
    /// Length of the body.
    #[schemars(transform = limits::at_least("1 B"))]
    pub size: ByteCount,
    /// Kind of the resource: a browser's priorities depend on it.
    #[serde(default)]
    pub kind: ObjectKind,
    /// Indices of the resources that must be complete before the browser requests it. Of resources before it.
    #[serde(default = "default_after")]
    #[schemars(transform = limits::not_empty())]
    pub after: Vec<u32>,
    /// Time from their completion to the request: the time that the browser needs to parse and to execute them.
    #[serde(default)]
    pub delay: Duration,
    /// Server that has it. Each has its own connection, opened when it is first needed; 0 has the HTML.
    #[serde(default)]
    #[schemars(transform = limits::at_most(MAX_ORIGINS - 1))]
    pub origin: u32,
    /// Time from the end of the request to the first byte of the response (default: `think_time` of the page).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<Duration>,
    /// Length of the header section of the request, compressed (default: `request` of the page).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 B", "256 KiB"))]
    pub request: Option<ByteCount>,
    /// Length of the header section of the response, compressed (default: `response` of the page).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 B", "256 KiB"))]
    pub response: Option<ByteCount>,
}

/// Default: the HTML.
fn default_after() -> Vec<u32> {
    vec![0]
}

/// Maximum number of servers of a page: packets of their connections are numbered separately.
pub const MAX_ORIGINS: u32 = 256;

/// Kind of an object of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// An image.
    #[default]
    Image,
    /// A style sheet.
    Style,
    /// A script.
    Script,
    /// A font.
    Font,
}

/// Order in which a server sends requested objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priorities {
    /// As browsers request.
    #[default]
    Browser,
    /// All objects in turn.
    RoundRobin,
}

defaults! {
    default_header_section: ByteCount = ByteCount::from_bytes(100);
    default_request: ByteCount = ByteCount::from_bytes(100);
    /// Default payload of `ping`.
    default_ping: ByteCount = ByteCount::from_bytes(56);
    default_ping_interval: Duration = Duration::from_secs(1);
}
