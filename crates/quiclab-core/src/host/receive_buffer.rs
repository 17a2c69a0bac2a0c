//! Receive buffer of a UDP socket, accounted as Linux does (`__udp_enqueue_schedule_skb`,
//! net/ipv4/udp.c): a datagram is dropped if the memory charged before it exceeds the limit, so the
//! buffer may end above its limit by one datagram.
//!
//! | | Linux | here |
//! | --- | --- | --- |
//! | charge (truesize) | structure and buffer as the driver allocated them | 256 B and the next power of two of headroom, frame and `skb_shared_info` (Ethernet drivers that allocate a linear buffer), or a configured constant |
//! | half full or more | a buffer with room to spare is shrunk (`skb_condense`) | not modelled: linear buffers keep their size |
//! | given back (`udp_rmem_release`) | 4.15 to 5.4: in steps of a quarter of the limit; before 4.10 when read; otherwise in steps while the reader's own queue has more, else when read | [`MemoryReturn`]: when read, or in steps |

use crate::host::MemoryReturn;
use crate::packet::Packet;
use crate::units::ByteCount;
use std::collections::VecDeque;

/// `struct sk_buff`: 232 bytes, in a slab of cache lines.
const SK_BUFF: u64 = 256;
/// NET_SKB_PAD, left free in front of the frame.
const HEADROOM: u64 = 64;
/// Ethernet header.
const ETHERNET: u64 = 14;
/// `struct skb_shared_info` behind the frame.
const SHARED_INFO: u64 = 320;

/// Memory that Linux charges for a received IP packet of this size.
pub(super) fn linux_truesize(ip_packet: ByteCount) -> ByteCount {
    let buffer = HEADROOM + ETHERNET + ip_packet.bytes() + SHARED_INFO;
    ByteCount::from_bytes(SK_BUFF + buffer.next_power_of_two())
}

/// Datagrams that the kernel has received and the application has not read.
#[derive(Debug)]
pub(super) struct ReceiveBuffer {
    /// `SO_RCVBUF` as the kernel counts it.
    limit: ByteCount,
    /// Charge of every datagram; `None`: as Linux.
    truesize: Option<ByteCount>,
    memory_return: MemoryReturn,
    datagrams: VecDeque<Box<Packet>>,
    /// Charge of the datagrams that wait, and of those that were read and are not released yet.
    charged: ByteCount,
    /// Charge of the datagrams that were read and are not released yet (`forward_deficit`).
    read: ByteCount,
    /// Maximum memory charged, and maximum number of datagrams, at one time.
    longest_bytes: ByteCount,
    longest_packets: u64,
}

impl ReceiveBuffer {
    /// Creates a buffer of `limit`; unlimited without it.
    pub(super) fn new(
        limit: Option<ByteCount>,
        truesize: Option<ByteCount>,
        memory_return: MemoryReturn,
    ) -> Self {
        Self {
            limit: limit.unwrap_or(ByteCount::MAX),
            truesize,
            memory_return,
            datagrams: VecDeque::new(),
            charged: ByteCount::ZERO,
            read: ByteCount::ZERO,
            longest_bytes: ByteCount::ZERO,
            longest_packets: 0,
        }
    }

    /// Whether the next datagram must be dropped.
    pub(super) fn is_full(&self) -> bool {
        self.charged > self.limit
    }

    /// Stores a datagram; the caller has checked that the buffer is not full.
    pub(super) fn push(&mut self, datagram: Box<Packet>) {
        debug_assert!(!self.is_full(), "a full buffer takes nothing");
        self.charged += self.truesize(&datagram);
        self.datagrams.push_back(datagram);
        self.longest_bytes = self.longest_bytes.max(self.charged);
        self.longest_packets = self.longest_packets.max(self.datagrams.len() as u64);
    }

    /// Reads the oldest datagram.
    pub(super) fn pop(&mut self) -> Option<Box<Packet>> {
        let datagram = self.datagrams.pop_front()?;
        self.read += self.truesize(&datagram);
        let due = match self.memory_return {
            MemoryReturn::AtOnce => true,
            MemoryReturn::InQuarters => self.read.bytes() >= self.limit.bytes() / 4,
        };
        if due {
            self.charged -= std::mem::take(&mut self.read);
        }
        Some(datagram)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Memory charged at this moment.
    pub(super) const fn charged(&self) -> ByteCount {
        self.charged
    }

    /// Maximum memory charged at one time.
    pub(super) const fn longest_bytes(&self) -> ByteCount {
        self.longest_bytes
    }

    /// Maximum number of datagrams at one time.
    pub(super) const fn longest_packets(&self) -> u64 {
        self.longest_packets
    }

    fn truesize(&self, datagram: &Packet) -> ByteCount {
        self.truesize.unwrap_or_else(|| linux_truesize(datagram.wire_size()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: u64) -> ByteCount {
        ByteCount::from_bytes(bytes)
    }

    fn datagram(size: u64) -> Box<Packet> {
        Box::new(Packet { size: bytes(size), ..Packet::default() })
    }

    /// 1310 + 14 + 64 + 320 = 1708, in 2048 bytes, and 256 for the structure.
    #[test]
    fn truesize_by_hand() {
        assert_eq!(linux_truesize(bytes(1310)), bytes(2304));
        assert_eq!(linux_truesize(bytes(1500)), bytes(2304));
        assert_eq!(linux_truesize(bytes(1650)), bytes(2304)); // 2048 exactly
        assert_eq!(linux_truesize(bytes(1651)), bytes(4352));
        assert_eq!(linux_truesize(bytes(60)), bytes(768));
    }

    /// Number of datagrams of `size`, of `count`, that are stored.
    fn fill(buffer: &mut ReceiveBuffer, count: u64, size: u64) -> u64 {
        let mut accepted = 0;
        for _ in 0..count {
            if !buffer.is_full() {
                buffer.push(datagram(size));
                accepted += 1;
            }
        }
        accepted
    }

    /// 92 datagrams of 2304 B are 211968 B, within 212992 B, so a 93rd is accepted, but no 94th.
    #[test]
    fn the_default_buffer_of_linux_takes_93_full_datagrams() {
        let mut buffer = ReceiveBuffer::new(Some(bytes(212_992)), None, MemoryReturn::AtOnce);
        assert_eq!(fill(&mut buffer, 260, 1310), 93);
        assert_eq!(buffer.charged(), bytes(93 * 2304));
        // one is read: 211968 B are within the limit again, and 2304 B more exceed it
        assert!(buffer.pop().is_some());
        assert_eq!(fill(&mut buffer, 5, 700), 1);
        while buffer.pop().is_some() {}
        assert_eq!(buffer.charged(), ByteCount::ZERO);
        assert_eq!((buffer.longest_bytes(), buffer.longest_packets()), (bytes(93 * 2304), 93));
    }

    /// "Always allow at least a packet": nothing is charged before the first.
    #[test]
    fn even_the_smallest_buffer_takes_one_datagram() {
        assert_eq!(
            fill(&mut ReceiveBuffer::new(Some(ByteCount::ZERO), None, MemoryReturn::AtOnce), 3, 1310),
            1
        );
    }

    #[test]
    fn a_configured_truesize_replaces_the_formula() {
        let mut buffer = ReceiveBuffer::new(Some(bytes(10_000)), Some(bytes(1000)), MemoryReturn::AtOnce);
        assert_eq!(fill(&mut buffer, 20, 1310), 11);
    }

    /// A quarter of 212992 B is 53248 B: 23 datagrams of 2304 B are less, 24 are not.
    #[test]
    fn memory_returns_in_quarters_even_when_nothing_waits() {
        let mut buffer = ReceiveBuffer::new(Some(bytes(212_992)), None, MemoryReturn::InQuarters);
        assert_eq!(fill(&mut buffer, 23, 1310), 23);
        while buffer.pop().is_some() {}
        // nothing waits, and the memory of all 23 is still charged: 70 more fit instead of 93
        assert_eq!(buffer.charged(), bytes(23 * 2304));
        assert_eq!(fill(&mut buffer, 260, 1310), 70);
        assert!(buffer.pop().is_some());
        assert_eq!(buffer.charged(), bytes(69 * 2304));
        assert_eq!(fill(&mut buffer, 260, 1310), 24);
    }
}
