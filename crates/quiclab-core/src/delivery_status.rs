//! Report of a link to the sending end of a bearer: it models the frame DL DATA DELIVERY STATUS of 3GPP TS
//! 38.425 (section 5.5.2.2). `link/feedback.rs` lists the differences.

use crate::counters::Count;
use crate::time::Time;
use crate::units::ByteCount;

/// The state of a link at one instant. Counts are those of bearer packets since the start of the run; bytes
/// include the PDCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// Time of the measurement.
    pub measured: Time,
    /// Packets and bytes that were serialised.
    pub transmitted: Count,
    /// Packets and bytes that arrived at the end of the link.
    pub delivered: Count,
    /// Packets and bytes that were dropped: by loss, a full queue, or the end of the trace.
    pub lost: Count,
    /// Bytes waiting and in service.
    pub buffered: ByteCount,
    /// Desired buffer size.
    pub desired_buffer: ByteCount,
}
