//! The message by which a link reports to the sending end of a bearer: it stands for the frame DL DATA DELIVERY
//! STATUS of 3GPP TS 38.425 (section 5.5.2.2). `link/feedback.rs` lists how the two differ.

use crate::counters::Count;
use crate::time::Time;
use crate::units::ByteCount;

/// The state of a link at one instant. Counts are those of bearer packets since the start of the run; bytes
/// include the PDCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// When this was so.
    pub measured: Time,
    /// Serialised.
    pub transmitted: Count,
    /// Arrived at the end of the link.
    pub delivered: Count,
    /// Dropped: by loss, for want of room, or because the trace has ended.
    pub lost: Count,
    /// Waiting and in service.
    pub buffered: ByteCount,
    /// How much may be buffered.
    pub desired_buffer: ByteCount,
}
