//! The pipeline of PQUIC with the datagram plugin, as the tunnel thesis describes it (section 3.3) and its code has
//! it: picoquic with protocol plugins, and a VPN on top.
//!
//! | | thesis and code | here |
//! | --- | --- | --- |
//! | queues of the plugin | one for congestion-controlled frames, one for others | the queue discipline is the first; the VPN has no others |
//! | choice of the path | before frames are pulled | the same |
//! | pulling | into the connection's queue of reserved frames; as many bytes as the window of the path has room for, only while none are reserved that would fill a packet | the same |
//! | deficit round robin over plugins | two passes | one plugin: no effect |
//! | a packet leaves | when it is full | by [`LeaveRule`] |
//! | FQ-CoDel | a queue of the plugin | the queue discipline, with its published variant |
//!
//! A packet is full when the next frame does not fit, or nothing that carries an IP packet would. What has been
//! reserved waits behind the queue: no discipline sees it any more.

use super::waiting::QueuedPacket;
use super::{Carrier, Emitted, Tunnel, flush};
use crate::time::Time;
use crate::tunnel::LeaveRule;
use crate::units::ByteCount;
use std::collections::VecDeque;

/// Frame type and length of a DATAGRAM frame.
const FRAME_HEADER: u64 = 3;
/// The shortest frame: an IPv4 header alone.
const MIN_FRAME: u64 = FRAME_HEADER + 20;

/// The connection's queue of reserved frames.
pub(super) struct Pquic {
    leaves: LeaveRule,
    reserved: VecDeque<QueuedPacket>,
}

/// What a packet would hold.
struct PacketContents {
    frames: usize,
    full: bool,
}

impl Pquic {
    pub(super) fn new(leaves: LeaveRule) -> Self {
        Self { leaves, reserved: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reserved.is_empty()
    }

    pub(super) fn sizes(&self) -> impl Iterator<Item = ByteCount> {
        self.reserved.iter().map(|item| item.packet.size)
    }

    /// One packet after the other, each on the path that the scheduler chooses for it.
    pub(super) fn send(
        &mut self,
        tunnel: &mut Tunnel,
        now: Time,
        carrier: &mut dyn Carrier,
        out: &mut Emitted,
    ) {
        let mut closed = 0;
        loop {
            let states = Tunnel::states(now, carrier, closed);
            let waiting: ByteCount = self.sizes().fold(tunnel.queue.waiting().bytes, |sum, size| sum + size);
            let Some(path) = tunnel.scheduler.select(now, waiting, &states) else { return };
            // the room of a packet: a datagram of the largest size and its frame header
            let room = tunnel.largest(carrier, path) + FRAME_HEADER;
            let window = states[path].window.bytes().saturating_sub(states[path].in_flight.bytes());
            if self.reserved.front().is_some_and(|item| item.packet.size.bytes() + FRAME_HEADER > room) {
                let item = self.reserved.pop_front().expect("it was looked at");
                tunnel.refuse(item.packet, out);
                continue;
            }
            let mut fill = self.fill(room);
            if !fill.full {
                self.pull(tunnel, now, window.max(room), out);
                fill = self.fill(room);
                if fill.frames == 0 && !self.reserved.is_empty() {
                    continue; // the first one does not fit: it is refused above
                }
            }
            let acknowledges =
                self.leaves == LeaveRule::FullOrAcknowledging && carrier.acknowledges(now, path);
            let leaves = fill.full || self.leaves == LeaveRule::AtOnce || acknowledges;
            if fill.frames == 0 || !leaves {
                return;
            }
            for _ in 0..fill.frames {
                let item = self.reserved.pop_front().expect("it was counted");
                if let Some(item) = tunnel.load(now, carrier, path, item) {
                    self.reserved.push_front(item);
                    closed |= 1 << path;
                    break;
                }
            }
            flush(now, carrier, out);
        }
    }

    /// Moves frames from the queue to those that are reserved, up to `bytes` of them.
    fn pull(&mut self, tunnel: &mut Tunnel, now: Time, bytes: u64, out: &mut Emitted) {
        let mut reserved: u64 = self.sizes().map(|size| size.bytes() + FRAME_HEADER).sum();
        while reserved < bytes {
            let Some(item) = tunnel.take_next(now, out) else { return };
            reserved += item.packet.size.bytes() + FRAME_HEADER;
            self.reserved.push_back(item);
        }
    }

    /// What a packet with `room` for frames would hold.
    fn fill(&self, room: u64) -> PacketContents {
        let mut left = room;
        for (frames, size) in self.sizes().enumerate() {
            let frame = size.bytes() + FRAME_HEADER;
            if frame > left {
                return PacketContents { frames, full: frames > 0 };
            }
            left -= frame;
        }
        PacketContents { frames: self.reserved.len(), full: left < MIN_FRAME && !self.reserved.is_empty() }
    }
}
