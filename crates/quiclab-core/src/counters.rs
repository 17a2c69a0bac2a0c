//! Counts of packets and bytes.

use crate::units::ByteCount;
use std::ops::AddAssign;

/// Packets and bytes (IP length).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their IP lengths in bytes.
    pub bytes: u64,
}

impl Count {
    /// Adds a packet of `size`.
    pub fn add(&mut self, size: ByteCount) {
        self.packets += 1;
        self.bytes += size.bytes();
    }
    /// Subtracts a packet of `size`.
    pub fn remove(&mut self, size: ByteCount) {
        self.packets -= 1;
        self.bytes -= size.bytes();
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// Where the packets of an element went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Counters {
    /// Arrived at an input.
    pub received: Count,
    /// Created in the element: packets of an endpoint, duplicates of a duplicating bearer, reports of a link.
    pub created: Count,
    /// Left at an output.
    pub sent: Count,
    /// Discarded in the element.
    pub dropped: Count,
    /// Consumed by the element: read by an endpoint; reports at the sending end of a bearer.
    pub consumed: Count,
    /// Inside the element at the end.
    pub held: Count,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.created += other.created;
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.consumed += other.consumed;
        self.held += other.held;
    }
}

impl Counters {
    /// Packets and bytes that entered or were created, minus those that left, were dropped, consumed or are
    /// held: (0, 0) unless an element miscounts.
    #[must_use]
    pub fn balance(&self) -> (i128, i128) {
        let difference = |of: fn(&Count) -> u64| {
            let sum = |counts: &[Count]| counts.iter().map(|count| i128::from(of(count))).sum::<i128>();
            sum(&[self.received, self.created]) - sum(&[self.sent, self.dropped, self.consumed, self.held])
        };
        (difference(|count| count.packets), difference(|count| count.bytes))
    }
}
