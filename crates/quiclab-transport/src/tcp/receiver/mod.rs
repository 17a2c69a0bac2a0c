//! The receiving half of a TCP connection: what has arrived, what the application has read, and when
//! and what to acknowledge.

use super::config::Config;
use quiclab_core::{Duration, SackBlocks, Segment, Time};

/// The receiving half.
pub(crate) struct Receiver {}

#[allow(unused_variables)]
impl Receiver {
    /// The receiver of a connection. `payload` is that of a full segment; the peer's stream begins at 1.
    pub(crate) fn new(config: &Config, payload: u64, sack: bool, timestamps: bool) -> Self {
        todo!()
    }
    /// A segment with data or FIN arrived (the caller has checked PAWS). `srtt` is that of the sending
    /// half, if it has one: it bounds the delayed acknowledgement.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment, srtt: Option<Duration>) {
        todo!()
    }
    /// The application reads all that is in order: how many bytes. Moves the window; the buffer grows
    /// with what is read in an RTT (dynamic right-sizing).
    pub(crate) fn read(&mut self, now: Time) -> u64 {
        todo!()
    }
    /// FIN has arrived and everything before it was read.
    pub(crate) fn is_finished(&self) -> bool {
        todo!()
    }
    /// When an acknowledgement must leave; not after now: at once; `None`: nothing to acknowledge.
    pub(crate) fn ack_due(&self) -> Option<Time> {
        todo!()
    }
    /// Next position expected: the acknowledgement number.
    pub(crate) fn next_expected(&self) -> u64 {
        todo!()
    }
    /// Window to announce now, in bytes; it never shrinks (RFC 9293 section 3.8.6).
    pub(crate) fn window(&mut self) -> u32 {
        todo!()
    }
    /// Blocks for a segment that leaves now: the DSACK block, if one is due, and the latest arrivals
    /// first; three at most with timestamps, four without.
    pub(crate) fn sack_blocks(&mut self) -> Option<SackBlocks> {
        todo!()
    }
    /// A segment that carries acknowledgement and window has left, a pure ACK or data (`pure` false).
    pub(crate) fn on_ack_sent(&mut self, now: Time, pure: bool) {
        todo!()
    }
    /// A segment of data left that was not a retransmission: the connection is interactive (pingpong) if
    /// it answers what has just arrived.
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        todo!()
    }
    /// TSval to echo (RFC 7323 section 4.3), `None` before the first.
    pub(crate) fn timestamp_to_echo(&self) -> Option<u32> {
        todo!()
    }
    /// Whether a segment's timestamp is older than the last one taken (PAWS, RFC 7323 section 5).
    pub(crate) fn is_too_old(&self, segment: &Segment) -> bool {
        todo!()
    }
}
