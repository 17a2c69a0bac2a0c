//! Memory pool for the bytes of packets, which avoids an allocation per packet.
//!
//! Packets are copied into blocks, one after the other, and a block is reused when all its packets are freed.
//! Allocators are slow if each packet has its own allocation, in particular that of musl, which returns memory of that
//! size to the kernel and requests it again.
//!
//! | | |
//! | --- | --- |
//! | packets that leave immediately | one block, reused repeatedly |
//! | packets that wait in a queue | as many blocks as needed; at most [`MAX_FULL_BLOCKS`] are kept for later, and one less after [`SPARE_TURNS`] blocks during which none was needed |
//! | an owner that has had few packets | small blocks: each new one is twice as long as the previous one, from [`FIRST_BLOCK`] to [`LAST_BLOCK`] |
//! | packets of less than [`SMALL`] bytes | separate allocations: a few of them in a queue must not keep a block each |

use bytes::BytesMut;
use std::collections::VecDeque;

/// Bytes of the first block.
const FIRST_BLOCK: usize = 1 << 12;
/// Maximum length of a block: 45 packets of the usual size.
const LAST_BLOCK: usize = 1 << 16;
/// Maximum number of full blocks that are kept: 4 MiB, which arrive in 30 ms at 1 Gbit/s.
const MAX_FULL_BLOCKS: usize = 64;
/// Reuses of one block, 3000 packets, during which no other was needed, until one is freed: a queue that grows again
/// soon finds its blocks.
const SPARE_TURNS: usize = 64;
/// Packets below this number of bytes get their own allocation.
const SMALL: usize = 512;

/// Memory pool for the bytes of packets.
#[derive(Debug, Default)]
pub struct PacketMemory {
    /// Remainder of the present block.
    block: BytesMut,
    /// Length of that block, 0 before the first.
    length: usize,
    /// Blocks without room, the oldest first.
    full: VecDeque<BytesMut>,
    /// Number of consecutive reuses of the present block.
    turns: usize,
}

impl PacketMemory {
    /// Returns a copy of these bytes.
    pub fn copy(&mut self, bytes: &[u8]) -> BytesMut {
        self.join(&[], bytes)
    }

    /// Returns a copy of `header` followed by a copy of `bytes`.
    pub fn join(&mut self, header: &[u8], bytes: &[u8]) -> BytesMut {
        let length = header.len() + bytes.len();
        let mut out = self.room(length);
        out.extend_from_slice(header);
        out.extend_from_slice(bytes);
        if self.is_own(length) {
            return out;
        }
        let packet = out.split();
        self.block = out;
        packet
    }

    /// Whether a packet of `length` bytes gets its own allocation.
    fn is_own(&self, length: usize) -> bool {
        !(SMALL..=LAST_BLOCK).contains(&length)
    }

    /// Returns room for `length` bytes: the present block, or an allocation of its own.
    fn room(&mut self, length: usize) -> BytesMut {
        if self.is_own(length) {
            return BytesMut::with_capacity(length);
        }
        let mut block = std::mem::take(&mut self.block);
        if block.capacity() >= length {
            return block;
        }
        if self.length >= length && block.try_reclaim(self.length) {
            self.turns += 1;
            if self.turns == SPARE_TURNS {
                self.full.pop_back();
                self.turns = 0;
            }
            return block;
        }
        self.turns = 0;
        if self.length == LAST_BLOCK && self.full.len() < MAX_FULL_BLOCKS {
            self.full.push_back(block);
        }
        // usually the oldest; a packet that waits for long keeps only its own block
        let free = self.full.iter_mut().position(|block| block.try_reclaim(LAST_BLOCK));
        if let Some(block) = free.and_then(|index| self.full.remove(index)) {
            return block;
        }
        self.length = (2 * self.length).max(length.next_power_of_two()).clamp(FIRST_BLOCK, LAST_BLOCK);
        BytesMut::with_capacity(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address of a packet.
    fn place(packet: &BytesMut) -> *const u8 {
        packet.as_ptr()
    }

    #[test]
    fn packets_are_what_they_were_copied_from() {
        let mut memory = PacketMemory::default();
        let mut kept = Vec::new();
        for number in 0..1000_usize {
            let bytes: Vec<u8> = (0..(number * 97) % 2000).map(|at| (number + at) as u8).collect();
            let joined = memory.join(&[7, 8], &bytes);
            assert_eq!((&joined[..2], &joined[2..]), (&[7, 8][..], &bytes[..]));
            let packet = memory.copy(&bytes);
            kept.push((packet, bytes));
            // some are freed early, in another order than they arrived
            if number % 3 == 2 {
                kept.swap_remove(number / 3);
            }
            assert!(kept.iter().all(|(packet, bytes)| packet[..] == bytes[..]));
        }
        let long = vec![9; LAST_BLOCK + 1];
        assert_eq!(memory.copy(&long), long);
    }

    #[test]
    fn packets_that_leave_at_once_share_one_block() {
        let mut memory = PacketMemory::default();
        let bytes = [1; 1400];
        // up to the maximum block length
        (0..100).for_each(|_| drop(memory.copy(&bytes)));
        let first = (0..).map(|_| place(&memory.copy(&bytes))).take(LAST_BLOCK / 1400).collect::<Vec<_>>();
        for _ in 0..100 {
            assert!((0..10).map(|_| memory.copy(&bytes)).all(|packet| first.contains(&place(&packet))));
        }
        assert!(memory.full.is_empty());
    }

    #[test]
    fn blocks_of_a_queue_are_used_again_and_given_up_when_nothing_waits() {
        let mut memory = PacketMemory::default();
        let bytes = [1; 1400];
        let mut queue: VecDeque<_> = (0..450).map(|_| memory.copy(&bytes)).collect();
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..10_000 {
            queue.push_back(memory.copy(&bytes));
            queue.pop_front();
            places.extend(queue.back().map(place));
        }
        // ten blocks of 46 packets wait; one more is being filled, and one emptied
        assert!(places.len() <= 13 * (LAST_BLOCK / 1400), "{}", places.len());
        assert!((10..=12).contains(&memory.full.len()), "{}", memory.full.len());
        queue.clear();
        let kept = memory.full.len();
        (0..SPARE_TURNS * (LAST_BLOCK / 1400) / 2).for_each(|_| drop(memory.copy(&bytes)));
        assert_eq!(memory.full.len(), kept, "the queue may come back");
        (0..13 * SPARE_TURNS * (LAST_BLOCK / 1400)).for_each(|_| drop(memory.copy(&bytes)));
        assert!(memory.full.is_empty(), "{}", memory.full.len());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut memory = PacketMemory::default();
        let bytes = [1; 1400];
        let queue: Vec<_> = (0..100 * (LAST_BLOCK / 1400)).map(|_| memory.copy(&bytes)).collect();
        assert_eq!(memory.full.len(), MAX_FULL_BLOCKS);
        drop(queue);
    }

    #[test]
    fn small_packets_keep_no_block() {
        let mut memory = PacketMemory::default();
        drop(memory.copy(&[1; SMALL - 1]));
        assert_eq!(memory.length, 0);
        drop(memory.copy(&[1; SMALL]));
        assert_eq!(memory.length, FIRST_BLOCK);
    }
}
