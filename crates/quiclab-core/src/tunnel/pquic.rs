//! The pipeline of PQUIC with the datagram plugin, as the tunnel thesis describes it (section 3.3) and its code
//! implements it: picoquic with protocol plugins, and a VPN on top.
//!
//! | | thesis and code | here |
//! | --- | --- | --- |
//! | queues of the plugin | one for congestion-controlled frames, one for others | the queue discipline is the first; the second holds the packets of [`SecondQueue`], by default none |
//! | choice of the path | before frames are pulled; while all windows are full, the first path (`schedule_path_rr.c`) | the same |
//! | pulling | into the connection's queue of reserved frames; as many bytes as the window of the path has room for, only while none are reserved that would fill a packet | the same |
//! | deficit round robin over plugins (`picoquic_frame_fair_reserve`) | two passes: queues of congestion-controlled frames while the window has room, then the others | the same; with a single plugin, so there are no turns |
//! | reserved frames, while no window has room | leave (`scheduler_write_new_frames` does not check the window) | wait; frames of the second queue pass them |
//! | a packet counts as in flight | if one of its frames is congestion-controlled | the same |
//! | a packet leaves | when it is full | by [`LeaveRule`] |
//! | FQ-CoDel | polled before the two queues | the queue discipline, with its published variant |
//! | limit of the second queue | that of the send buffer, for both | the 10 MB of the author's public code, for itself |
//! | the first frame does not fit the path's MTU | not described; the public code sends nothing, and chooses the same path again | it waits for a path that it fits, and the others behind it; [`Pquic::statistics`] counts it |
//!
//! A packet is full when the next frame does not fit, or no further IP packet would. Reserved frames wait behind the
//! queue: no discipline can act on them any more.

use super::metrics::TUNNEL;
use super::waiting::QueuedPacket;
use super::{Carrier, Emitted, Tunnel, flush};
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::queue::{Backlog, Discipline, FlowKey, HeadDrop, QueueConfig};
use crate::random::RandomStream;
use crate::scheduler::PathState;
use crate::time::Time;
use crate::tunnel::{LeaveRule, SecondQueue};
use crate::units::ByteCount;
use std::collections::VecDeque;

/// Frame type and length of a DATAGRAM frame.
const FRAME_HEADER: u64 = 3;
/// Minimum length of a frame: an IPv4 header alone.
const MIN_FRAME: u64 = FRAME_HEADER + 20;
/// Limit of the second queue.
const SECOND_QUEUE: ByteCount = ByteCount::from_bytes(10_000_000);

/// The connection's queue of reserved frames, and the second queue of the plugin.
pub(super) struct Pquic {
    leaves: LeaveRule,
    reserved: VecDeque<QueuedPacket>,
    /// The second queue and its packets; `None`: all are congestion-controlled.
    second: Option<(SecondQueue, Discipline<QueuedPacket>)>,
    /// Whether the first reserved frame was found not to fit a path.
    first_waits: bool,
    /// Packets that had to wait for a path with a larger MTU than that of the chosen one.
    mtu_waits: u64,
    /// Packets that left without congestion control.
    uncontrolled: u64,
}

/// Content of a prospective packet.
struct PacketContents {
    frames: usize,
    full: bool,
}

impl Pquic {
    pub(super) fn new(leaves: LeaveRule, second: Option<SecondQueue>) -> Self {
        let fifo = QueueConfig::HeadDrop(HeadDrop { packets: None, bytes: Some(SECOND_QUEUE) });
        Self {
            leaves,
            reserved: VecDeque::new(),
            // it draws no random numbers
            second: second.map(|whose| (whose, Discipline::new(&fifo, RandomStream::new(0, "")))),
            first_waits: false,
            mtu_waits: 0,
            uncontrolled: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reserved.is_empty() && self.second_waiting().is_none_or(|waiting| waiting.packets == 0)
    }

    /// Sizes of reserved frames.
    pub(super) fn sizes(&self) -> impl Iterator<Item = ByteCount> {
        self.reserved.iter().map(|item| item.packet.size)
    }

    /// Backlog of the second queue; `None` without one.
    pub(super) fn second_waiting(&self) -> Option<Backlog> {
        self.second.as_ref().map(|(_, queue)| queue.waiting())
    }

    /// The second queue, if `packet` belongs there.
    pub(super) fn second_queue_of(&mut self, packet: &Packet) -> Option<&mut Discipline<QueuedPacket>> {
        if self.is_controlled(packet) { None } else { self.second.as_mut().map(|(_, queue)| queue) }
    }

    /// Whether the frame of `packet` waits for the window.
    fn is_controlled(&self, packet: &Packet) -> bool {
        match self.second {
            None => true,
            Some((SecondQueue::Icmp, _)) => !FlowKey::of_packet(packet).is_icmp(),
            Some((SecondQueue::All, _)) => false,
        }
    }

    /// Sends packets one after the other, each on the path that the scheduler selects for it.
    pub(super) fn send(
        &mut self,
        tunnel: &mut Tunnel,
        now: Time,
        carrier: &mut dyn Carrier,
        out: &mut Emitted,
    ) {
        // paths that have refused a packet, and those that are too small for the first reserved frame
        let (mut closed, mut small) = (0, 0);
        loop {
            let states = Tunnel::states(now, carrier, closed | small);
            let second = self.second_waiting().map_or(ByteCount::ZERO, |second| second.bytes);
            let waiting: ByteCount =
                self.sizes().fold(tunnel.queue.waiting().bytes + second, |sum, size| sum + size);
            let scheduled = tunnel.scheduler.select(now, waiting, &states);
            let chosen = scheduled.or_else(|| self.path_without_window(&states, closed | small));
            let Some(path) = chosen else { return };
            // capacity of a packet: a datagram of the maximum size and its frame header
            let room = tunnel.largest(carrier, path) + FRAME_HEADER;
            let count = |this: &Self| {
                if scheduled.is_some() { this.reserved.len() } else { this.uncontrolled_first() }
            };
            let too_long = |item: &QueuedPacket| item.packet.size.bytes() + FRAME_HEADER > room;
            if self.reserved.iter().take(count(self)).next().is_some_and(too_long) {
                if self.waits_for_mtu(tunnel, carrier, &states, out) {
                    small |= 1 << path;
                } else {
                    small = 0;
                }
                continue;
            }
            let mut fill = self.fill(room, count(self));
            if !fill.full {
                // without room in a window no frame is pulled that needs it
                let window = scheduled
                    .map(|path| states[path].window.bytes().saturating_sub(states[path].in_flight.bytes()));
                self.pull(tunnel, now, room, window, out);
                fill = self.fill(room, count(self));
                if fill.frames == 0 && count(self) > 0 {
                    continue; // the first one does not fit: see above
                }
            }
            let acknowledges =
                self.leaves == LeaveRule::FullOrAcknowledging && carrier.acknowledges(now, path);
            let leaves = fill.full || self.leaves == LeaveRule::AtOnce || acknowledges;
            if fill.frames == 0 || !leaves {
                return;
            }
            if !self.load(tunnel, now, carrier, path, fill.frames) {
                closed |= 1 << path;
            }
            (small, self.first_waits) = (0, false);
            flush(now, carrier, out);
        }
    }

    /// Number of reserved frames without congestion control before the first one with it.
    fn uncontrolled_first(&self) -> usize {
        self.reserved.iter().take_while(|item| !self.is_controlled(&item.packet)).count()
    }

    /// The first path that works, if there are frames that need no window.
    fn path_without_window(&self, states: &[PathState], closed: u64) -> Option<usize> {
        let waiting = self.second_waiting()?;
        if waiting.packets == 0 && self.uncontrolled_first() == 0 {
            return None;
        }
        (0..states.len().min(64)).find(|path| states[*path].usable && closed & (1 << path) == 0)
    }

    /// Handles a first reserved frame that does not fit the chosen path: returns whether it waits for another one. If
    /// no path accepts it, it is dropped.
    fn waits_for_mtu(
        &mut self,
        tunnel: &mut Tunnel,
        carrier: &dyn Carrier,
        states: &[PathState],
        out: &mut Emitted,
    ) -> bool {
        let item = self.reserved.front().expect("it was looked at");
        let takes = |path: usize| item.packet.size.bytes() <= tunnel.largest(carrier, path);
        if (0..states.len()).any(|path| states[path].usable && takes(path)) {
            self.mtu_waits += u64::from(!self.first_waits);
            self.first_waits = true;
            return true;
        }
        let item = self.reserved.pop_front().expect("it was looked at");
        tunnel.refuse(item.packet, out);
        self.first_waits = false;
        false
    }

    /// Passes the first `frames` to the carrier, for one packet on `path`; returns whether it accepted all.
    fn load(
        &mut self,
        tunnel: &mut Tunnel,
        now: Time,
        carrier: &mut dyn Carrier,
        path: usize,
        frames: usize,
    ) -> bool {
        let controlled = self.reserved.iter().take(frames).any(|item| self.is_controlled(&item.packet));
        for _ in 0..frames {
            let item = self.reserved.pop_front().expect("it was counted");
            let refused = tunnel.load_with(now, path, item, |cargo| {
                if controlled {
                    carrier.send(now, path, cargo)
                } else {
                    carrier.send_uncontrolled(now, path, cargo)
                }
            });
            if let Some(item) = refused {
                self.reserved.push_front(item);
                return false;
            }
            self.uncontrolled += u64::from(!controlled);
        }
        true
    }

    /// Reserves frames from the queues: as many as the `window` has room for, at least a packet; without a window a
    /// packet of those that need none, before those that wait for one.
    fn pull(&mut self, tunnel: &mut Tunnel, now: Time, room: u64, window: Option<u64>, out: &mut Emitted) {
        let (bytes, mut place) = match window {
            Some(window) => (window.max(room), self.reserved.len()),
            None => (room, self.uncontrolled_first()),
        };
        let before = self.sizes().take(place);
        let mut reserved: u64 = before.map(|size| size.bytes() + FRAME_HEADER).sum();
        while window.is_some() && reserved < bytes {
            let Some(item) = tunnel.take_next(now, out) else { break };
            reserved += item.packet.size.bytes() + FRAME_HEADER;
            self.reserved.push_back(item);
            place += 1;
        }
        let Some((_, second)) = &mut self.second else { return };
        while reserved < bytes {
            let Some(item) = second.dequeue(now, &mut |_, _| unreachable!("a FIFO drops at its limit only"))
            else {
                return;
            };
            reserved += item.packet.size.bytes() + FRAME_HEADER;
            self.reserved.insert(place, item);
            place += 1;
        }
    }

    /// Content of a packet with `room` for the first `count` frames.
    fn fill(&self, room: u64, count: usize) -> PacketContents {
        let mut left = room;
        for (frames, size) in self.sizes().take(count).enumerate() {
            let frame = size.bytes() + FRAME_HEADER;
            if frame > left {
                return PacketContents { frames, full: frames > 0 };
            }
            left -= frame;
        }
        PacketContents { frames: count, full: left < MIN_FRAME && count > 0 }
    }

    /// Values over the whole run that can differ from 0.
    pub(super) fn statistics(&self, out: &mut Metrics) {
        if self.second.is_some() {
            out.count(&TUNNEL.uncontrolled_packets, self.uncontrolled);
        }
        if self.mtu_waits > 0 {
            out.count(&TUNNEL.mtu_waits, self.mtu_waits);
        }
    }
}

#[cfg(test)]
#[path = "pquic_tests.rs"]
mod tests;
