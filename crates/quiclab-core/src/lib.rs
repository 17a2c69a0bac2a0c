//! Pure building blocks of quiclab: time, units, random streams, packets, elements.
//!
//! No function here reads a clock, spawns a thread, does I/O or draws unseeded numbers (traces are parsed
//! from text that the caller has read).

mod accecn;
pub mod bearer;
mod counters;
mod delivery_status;
mod element;
mod endpoint;
pub mod host;
mod http2;
pub mod ip;
pub mod limits;
pub mod link;
mod media;
mod metric;
mod metric_groups;
mod nic;
mod operation;
mod packet;
mod packet_memory;
mod page;
mod phase;
pub mod problem;
mod quantity;
pub mod queue;
pub mod quic;
mod random;
mod record;
mod recovery;
pub mod scheduler;
mod segment;
mod shorthand;
mod stack;
mod tap;
#[cfg(test)]
mod testing;
mod time;
mod topology;
pub mod tunnel;
mod units;
mod warm_start;

pub use accecn::{AccEcnOption, counter_difference};
pub use bearer::{BearerReceiver, BearerSender, MAX_LINKS};
pub use counters::{Count, Counters};
pub use delivery_status::DeliveryStatus;
pub use element::{DropReason, Element, Outputs, Port};
pub use endpoint::{
    Endpoint, EndpointIdentity, PacketObserver, Progress, Role, TransportEvent, TransportObserver,
};
pub use host::Host;
pub use http2::Http2Frame;
pub use ip::{Ecn, FiveTuple, Protocol};
pub use link::{Conditions, Link, LinkChange, LinkInputs, LinkState, Trace, TraceError, draw_delay};
pub use media::{MediaArrival, MediaFeedback, RtpPacket};
pub use metric::{Measured, Metric, MetricGroup, MetricKind, MetricOwner, Metrics, Recorded, STATISTICS};
pub use metric_groups::metric_groups;
pub use nic::{NIC, Nic};
pub use operation::{Anchor, OPERATIONS, Operation, OperationInfo};
pub use packet::{Direction, FlowId, Packet, Payload};
pub use packet_memory::PacketMemory;
pub use page::{PageClient, RequestTimes};
pub use phase::Phase;
pub use problem::{FieldPath, Problem, ProblemKind};
pub use quantity::QuantityError;
pub use quic::PacketSpace;
pub use random::RandomStream;
pub use record::{Contents, MediaFrame, Record};
pub use recovery::{RECOVERY, RecoveryState};
pub use segment::{Flags, SackBlocks, Segment, SegmentOptions};
pub use shorthand::no_field;
pub use stack::{MarkFeedback, OptionInfo, ProfileInfo, StackAbilities, StackInfo, StackProtocol};
pub use tap::{Tap, TapConfig, TapRecord, TapRecords};
pub use time::{Duration, Time};
pub use topology::{MAX_PATHS, Node, Selector, Target, Topology, WireError};
pub use units::{ByteCount, DataRate, Probability};
pub use warm_start::{SavedTcpMetrics, WarmStart};

/// The example of README.md, which is tested as it stands.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
