//! The send pass of the tunnel: a packet leaves the queue when a path can take it immediately.

use super::payload::moved;
use super::{Emitted, Tunnel, TunnelEcn, flush};
use crate::ip::Ecn;
use crate::scheduler::PathState;
use crate::time::Time;
use crate::tunnel::Carrier;

impl Tunnel {
    /// Sends packets of the queue while there are any, and paths that take them.
    pub(super) fn send_directly(&mut self, now: Time, carrier: &mut dyn Carrier, out: &mut Emitted) {
        // paths that have refused a packet although they had room: the pacer, or the kernel
        let mut closed = 0;
        // datagrams that the carrier has and that have not left, all for `last_path`
        let mut unsent = 0;
        let mut last_path = usize::MAX;
        loop {
            let repairs = self.repair.as_mut().is_some_and(|repair| repair.sent.is_due(now));
            if !repairs && self.is_empty() {
                break;
            }
            if unsent >= self.config.batch {
                flush(now, carrier, out);
                unsent = 0;
            }
            let states = Self::states(now, carrier, closed);
            let backlog = self.backlog().bytes;
            let Some(path) = self.scheduler.select(now, backlog, &states) else { break };
            if path != last_path && unsent > 0 {
                // before another path gets anything; then all paths may look different
                flush(now, carrier, out);
                unsent = 0;
                continue;
            }
            last_path = path;
            if repairs {
                match self.send_again(now, carrier, path) {
                    true => unsent += 1,
                    false => closed |= 1 << path,
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

    /// Sends the packet that is due again on `path`. Returns whether the path takes it.
    fn send_again(&mut self, now: Time, carrier: &mut dyn Carrier, path: usize) -> bool {
        let largest = carrier.largest_datagram(path).map_or(0, usize::from);
        let Some(repair) = &mut self.repair else { return false };
        let Some(packet) = repair.sent.next_due() else { return false };
        let payload = moved(packet.payload, repair.sent.place(path));
        if self.config.ecn == TunnelEcn::Propagated {
            carrier.set_capable(packet.capable);
        }
        if payload.length() > largest || carrier.send(now, path, payload).is_err() {
            return false;
        }
        repair.sent.repaired(path);
        self.count_sent(now, path, packet.size);
        true
    }

    /// Sends copies of `item` on all other open paths; one that is lost costs nothing.
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
                let number = self.sent;
                if let Some(cargo) = self.freight.copy(&item.packet, number, self.numbering())
                    && carrier.send(now, path, cargo).is_ok()
                {
                    self.count_sent(now, path, item.packet.size);
                    flush(now, carrier, out);
                }
            }
        }
    }
}
