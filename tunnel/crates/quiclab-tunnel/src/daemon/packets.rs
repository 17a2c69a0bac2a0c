//! Packets between the device, the queues of sessions, the endpoint and the sockets.

use super::{Daemon, DaemonError};
use bytes::BytesMut;
use quiclab_core::{Time, ip};

/// Maximum number of packets of the device in one turn; a single read may return about fifty.
const MAX_PACKETS_PER_TURN: usize = 256;

impl Daemon {
    /// Performs one turn: packets of these slots and of the device, events, and the send pass of each session.
    pub(super) fn move_packets(&mut self, now: Time, slots: &[usize], device: bool) {
        for slot in slots {
            let endpoint = &mut self.endpoint;
            self.sockets.receive(now, *slot, |packet| endpoint.receive(now, packet));
        }
        if device {
            while self.inbox.len() < MAX_PACKETS_PER_TURN {
                let inbox = &mut self.inbox;
                match self.tun.read(|packet| inbox.push(packet)) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        self.end = Some(Err(DaemonError::DeviceGone(error)));
                        return;
                    }
                }
            }
            let mut inbox = std::mem::take(&mut self.inbox);
            for packet in inbox.drain(..) {
                self.enqueue(now, packet);
            }
            self.inbox = inbox;
        }
        if self.endpoint.next_wake().is_some_and(|wake| wake <= now) {
            self.endpoint.wake(now);
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.event(now, event);
        }
        #[cfg(feature = "connect-ip")]
        self.follow_offer(now);
        for session in self.sessions.values_mut() {
            session.run(now, &mut self.endpoint, &mut self.tun);
        }
        #[cfg(feature = "connect-ip")]
        if self.endpoint.connect_ip().is_some() {
            self.end_narrow_sessions(now);
        }
        // received packets first: the machine processes them while others are sent
        self.tun.flush();
        self.transmit(now);
    }

    /// Sends all datagrams of the endpoint.
    pub(super) fn transmit(&mut self, now: Time) {
        while let Some(outgoing) = self.endpoint.transmit(now) {
            self.sockets.send(&outgoing);
        }
        self.sockets.flush();
    }

    /// Puts a packet of this machine into the queue of its session.
    fn enqueue(&mut self, now: Time, packet: BytesMut) {
        if self.is_between_clients(&packet) {
            self.isolated += 1;
            return;
        }
        let session = match (&self.uplinks, ip::parse(&packet)) {
            // router solicitations and similar packets of the kernel itself
            (_, Ok(header)) if header.destination.is_multicast() => None,
            (Some((_, session)), Ok(_)) => Some(*session),
            (None, Ok(header)) => {
                self.clients.as_ref().and_then(|clients| clients.session_of(header.destination))
            }
            (_, Err(_)) => None,
        };
        let Self { sessions, parked, .. } = self;
        let found = session.and_then(|id| match parked.get_mut(&id) {
            Some((_, session)) => Some(session),
            None => sessions.get_mut(&id),
        });
        match found {
            Some(session) => session.enqueue(now, packet, &mut self.tun),
            None => self.homeless += 1,
        }
    }

    /// Whether clients are isolated, and this is a packet between two of them that this machine has forwarded. A session
    /// accepts only packets with its own sources.
    fn is_between_clients(&self, packet: &[u8]) -> bool {
        let isolated = self.config.server.as_ref().is_some_and(|server| server.isolate_clients);
        let (true, Some(clients), Ok(header)) = (isolated, &self.clients, ip::parse(packet)) else {
            return false;
        };
        let ends = [header.source, header.destination].map(|address| clients.session_of(address));
        matches!(ends, [Some(from), Some(to)] if from != to)
    }
}
