//! The send pass of the tunnel: a packet leaves the queue when a path can take it immediately.

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
        while !self.is_empty() {
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
                if let Some(cargo) = self.freight.copy(&item.packet, number, self.numbered())
                    && carrier.send(now, path, cargo).is_ok()
                {
                    self.count_sent(now, path, item.packet.size);
                    flush(now, carrier, out);
                }
            }
        }
    }
}
