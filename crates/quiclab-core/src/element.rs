//! The element: the interface of everything that packets pass through.
//!
//! An element is a pure state machine. Its input is arriving packets and the current time; its output is
//! packets at its output ports and the next instant at which it must be woken.

use crate::counters::Counters;
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::time::Time;
use std::any::Any;

/// Number of an input or an output of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

/// A state machine that packets pass through: see the module documentation. `Any` is for
/// [`Topology::get_mut`](crate::Topology::get_mut).
pub trait Element: Send + Any {
    /// `packet` arrives at input `port`.
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs);

    /// The deadline given by [`Element::next_wake`] is due.
    fn wake(&mut self, now: Time, out: &mut Outputs);

    /// Next time at which the element must be woken; `None` while it waits for packets only. A driver calls
    /// this after each `receive` and `wake`, so it must be cheap.
    fn next_wake(&self) -> Option<Time>;

    /// Totals so far; [`Counters::balance`] holds after each call.
    fn counters(&self) -> Counters;

    /// Values over the whole run for the result, such as the longest queue. May complete work that was due
    /// before `now`, as [`Element::sample`] may.
    fn statistics(&mut self, _now: Time, _out: &mut Metrics) {}

    /// Values at this moment for time series, such as the queue length.
    fn sample(&mut self, _now: Time, _out: &mut Metrics) {}

    /// The element that this one contains, such as the process on a host.
    fn inside(&mut self) -> Option<&mut dyn Element> {
        None
    }
}

/// Declares [`DropReason`]: one reason and its name in results per line.
macro_rules! drop_reasons {
    ($($(#[$documentation:meta])* $reason:ident = $name:literal,)+) => {
        /// Reason for which an element discards a packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DropReason {
            $($(#[$documentation])* $reason,)+
        }

        impl DropReason {
            /// All reasons, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$reason),+];

            /// Name in results.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$reason => $name),+ }
            }
        }
    };
}

drop_reasons! {
    /// The queue was full.
    QueueFull = "queue_full",
    /// Random or listed loss of a link.
    Loss = "loss",
    /// A copy that had already arrived, or a packet whose turn was over (PDCP).
    DuplicateOrLate = "duplicate_or_late",
    /// The socket receive buffer was full.
    ReceiveBufferFull = "receive_buffer_full",
    /// The link serves nothing any more: its trace has ended.
    LinkEnded = "link_ended",
    /// Larger than the MTU of the link, or than its token bucket: it could never leave.
    TooLarge = "too_large",
    /// CoDel: the queue has been too long for too long.
    Codel = "codel",
    /// PIE: the packets before it have waited too long.
    Pie = "pie",
    /// DualPI2: packets have waited too long, and this one is not ECN-capable, or the queue is overloaded.
    Dualpi2 = "dualpi2",
    /// RED: the average backlog is above the lower threshold, and this packet was drawn.
    Red = "red",
    /// RED: the average backlog has reached the upper threshold.
    RedForced = "red_forced",
    /// COBALT: the packets of its flow have waited too long, or the flow does not answer to that.
    Cobalt = "cobalt",
    /// A later acknowledgement of its connection says what this one does, and more.
    AckFiltered = "ack_filtered",
    /// The packet does not conform to the policer of the link.
    Policed = "policed",
    /// The link was down, and packets that it transmits then are lost.
    LinkDown = "link_down",
    /// As many packets were in the delay of the link as may be.
    DelayFull = "delay_full",
}

/// Output of an element in one call; the driver drains and reuses it.
#[derive(Debug, Default)]
pub struct Outputs {
    /// Packets in the order of emission with their output port.
    pub packets: Vec<(Port, Box<Packet>)>,
    /// Discarded packets, kept only if [`Outputs::record_drops`] is set.
    pub drops: Vec<(DropReason, Box<Packet>)>,
    /// Whether `drops` are read.
    pub record_drops: bool,
}

impl Outputs {
    /// Emits `packet` at output `port`. A packet that is created here is boxed once, for its entire lifetime.
    #[inline]
    pub fn send(&mut self, port: Port, packet: impl Into<Box<Packet>>) {
        self.packets.push((port, packet.into()));
    }

    /// Discards `packet`. The element also counts it.
    pub fn discard(&mut self, reason: DropReason, packet: Box<Packet>) {
        if self.record_drops {
            self.drops.push((reason, packet));
        }
    }
}
