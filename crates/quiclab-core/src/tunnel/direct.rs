//! The send pass of the tunnel: a packet leaves the queue when a path can send it immediately.

use super::payload::moved;
use super::{Emitted, Tunnel, TunnelEcn, flush};
use crate::ip::Ecn;
use crate::scheduler::PathState;
use crate::time::Time;
use crate::tunnel::Carrier;

/// Result of the retransmission of a packet.
enum Again {
    Sent,
    /// The packet does not fit this path, but fits another one.
    TooLong,
    /// The path has no room.
    NoRoom,
    /// The packet fits no path.
    GivenUp,
}

impl Tunnel {
    /// Sends packets of the queue while there are any, and paths that accept them.
    pub(super) fn send_directly(&mut self, now: Time, carrier: &mut dyn Carrier, out: &mut Emitted) {
        // paths that have refused a packet although they had room, because of the pacer or the kernel
        let mut closed = 0;
        // datagrams passed to the carrier that have not left, all for `last_path`
        let mut unsent = 0;
        let mut last_path = usize::MAX;
        // paths that the packet to be retransmitted does not fit, and whether it waits for another one
        let (mut too_small, mut repairs_wait) = (0, false);
        loop {
            let repairs = !repairs_wait && self.repair.as_mut().is_some_and(|repair| repair.sent.is_due(now));
            if !repairs && self.is_empty() {
                break;
            }
            if unsent >= self.config.batch {
                flush(now, carrier, out);
                unsent = 0;
            }
            let states = Self::states(now, carrier, closed | if repairs { too_small } else { 0 });
            let backlog = self.backlog().bytes;
            let Some(path) = self.scheduler.select(now, backlog, &states) else {
                if repairs && too_small != 0 {
                    repairs_wait = true;
                    continue;
                }
                break;
            };
            if path != last_path && unsent > 0 {
                // before another path gets a datagram; the state of all paths may change
                flush(now, carrier, out);
                unsent = 0;
                continue;
            }
            last_path = path;
            if repairs {
                match self.send_again(now, carrier, path) {
                    Again::Sent => (unsent, too_small) = (unsent + 1, 0),
                    Again::TooLong => too_small |= 1 << path,
                    Again::NoRoom => closed |= 1 << path,
                    Again::GivenUp => too_small = 0,
                }
                continue;
            }
            let Some(item) = self.take_next(now, out) else { break };
            if item.packet.size.bytes() > self.largest(carrier, path) {
                self.refuse(item.packet, out);
                continue;
            }
            if self.config.ecn == TunnelEcn::Propagated {
                carrier.set_capable(item.packet.ecn != Ecn::NotEct);
            }
            if self.scheduler.copies() {
                self.copy(now, carrier, path, &item, &states, out);
            }
            match self.load(now, carrier, path, item) {
                None => unsent += 1,
                Some(item) => {
                    self.next = Some(item);
                    closed |= 1 << path;
                }
            }
        }
        flush(now, carrier, out);
    }

    /// Retransmits the packet that is due on `path`.
    fn send_again(&mut self, now: Time, carrier: &mut dyn Carrier, path: usize) -> Again {
        let Some(repair) = &mut self.repair else { return Again::NoRoom };
        let Some(packet) = repair.sent.next_due() else { return Again::NoRoom };
        let fits = |path: usize| {
            carrier.largest_datagram(path).is_some_and(|largest| packet.payload.length() <= largest.into())
        };
        if !fits(path) {
            let none = !(0..carrier.paths()).any(|path| carrier.state(now, path).usable && fits(path));
            if none {
                repair.sent.give_up();
            }
            return if none { Again::GivenUp } else { Again::TooLong };
        }
        let payload = moved(packet.payload, repair.sent.place(path));
        if self.config.ecn == TunnelEcn::Propagated {
            carrier.set_capable(packet.capable);
        }
        if carrier.send(now, path, payload).is_err() {
            return Again::NoRoom;
        }
        repair.sent.repaired(path);
        self.count_sent(now, path, packet.size);
        Again::Sent
    }

    /// Sends copies of `item` on all other open paths; a lost copy has no consequences.
    fn copy(
        &mut self,
        now: Time,
        carrier: &mut dyn Carrier,
        first: usize,
        item: &super::QueuedPacket,
        states: &[PathState],
        out: &mut Emitted,
    ) {
        for (path, state) in states.iter().enumerate() {
            if path != first && state.is_open() && item.packet.size.bytes() <= self.largest(carrier, path) {
                let tag = self.tag(now, path, item);
                let cargo = self.freight.copy(&item.packet, self.sent, self.numbering(), tag);
                if carrier.send(now, path, cargo).is_ok() {
                    self.repair.iter_mut().for_each(|repair| _ = repair.sent.left(path));
                    self.count_sent(now, path, item.packet.size);
                    flush(now, carrier, out);
                }
            }
        }
    }
}
