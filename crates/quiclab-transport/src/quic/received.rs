//! What has arrived in a packet number space, and when to acknowledge it (RFC 9000 section 13.2).

use crate::acknowledgement::AckPolicy;
use quiclab_core::quic::AckFrame;
use quiclab_core::{Duration, Time};

/// Packets that arrived in one space.
pub(crate) struct Received {
    policy: Box<dyn AckPolicy>,
}

impl Received {
    /// Nothing has arrived; at most `most_ranges` ranges are kept, the newest ones.
    pub(crate) fn new(_policy: Box<dyn AckPolicy>, _most_ranges: u32) -> Self {
        todo!()
    }

    /// Whether packet `number` has arrived before, or is too old to tell: it must be ignored (RFC 9000
    /// section 12.3).
    pub(crate) fn is_duplicate(&self, _number: u64) -> bool {
        todo!()
    }

    /// Packet `number`, not a duplicate, has arrived; `srtt` as this end knows it.
    pub(crate) fn on_packet(
        &mut self,
        _now: Time,
        _number: u64,
        _ack_eliciting: bool,
        _ce: bool,
        _srtt: Option<Duration>,
    ) {
        todo!()
    }

    /// The policy, for ACK_FREQUENCY and IMMEDIATE_ACK.
    pub(crate) fn policy(&mut self) -> &mut dyn AckPolicy {
        self.policy.as_mut()
    }

    /// When an acknowledgement must leave; not after now: at once; `None`: none is due.
    pub(crate) fn due(&self) -> Option<Time> {
        self.policy.due()
    }

    /// Whether an ack-eliciting packet has not been acknowledged: an acknowledgement may ride with a packet
    /// that is sent anyway.
    pub(crate) fn is_pending(&self) -> bool {
        self.policy.due().is_some()
    }

    /// The frame that acknowledges everything, with as many ranges as fit into `room` bytes; `None`:
    /// nothing has arrived, or it does not fit. The caller tells [`Received::on_ack_sent`] when it has left.
    pub(crate) fn ack_frame(&self, _now: Time, _room: usize) -> Option<AckFrame> {
        todo!()
    }

    /// An acknowledgement has left.
    pub(crate) fn on_ack_sent(&mut self, now: Time) {
        self.policy.on_ack_sent(now);
    }

    /// The peer has received an acknowledgement of everything up to `largest`: what it said need not be
    /// said again (RFC 9000 section 13.2.4).
    pub(crate) fn forget_up_to(&mut self, _largest: u64) {
        todo!()
    }
}
