//! Events of a connection, for its observer.

use quiclab_core::quic::QuicPacket;
use quiclab_core::{PacketSpace, Time, TransportEvent, TransportObserver};

/// Observer with buffers of bytes and packet numbers.
pub(super) struct Observation {
    observer: Option<Box<dyn TransportObserver>>,
    header: Vec<u8>,
    payload: Vec<u8>,
    lost: Vec<u64>,
}

impl Observation {
    /// Makes the observation; without an observer events are discarded.
    pub(super) const fn new(observer: Option<Box<dyn TransportObserver>>) -> Self {
        Self { observer, header: Vec::new(), payload: Vec::new(), lost: Vec::new() }
    }

    /// Whether an observer is attached.
    pub(super) const fn is_attached(&self) -> bool {
        self.observer.is_some()
    }

    /// Passes an event to the observer.
    pub(super) fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        if let Some(observer) = &mut self.observer {
            observer.observe(now, event);
        }
    }

    /// Passes a packet that is sent or received to the observer.
    pub(super) fn observe_packet(&mut self, now: Time, packet: &QuicPacket, sent: bool) {
        let Some(observer) = &mut self.observer else { return };
        self.header.clear();
        self.payload.clear();
        packet.encode_header(&mut self.header);
        packet.encode_payload(&mut self.payload);
        let (space, path, number) = (packet.space, packet.path.into(), packet.number);
        let (header, payload) = (&self.header[..], &self.payload[..]);
        let event = if sent {
            TransportEvent::PacketSent { space, path, number, header, payload }
        } else {
            TransportEvent::PacketReceived { space, path, number, header, payload }
        };
        observer.observe(now, &event);
    }

    /// Adds the number of a lost packet.
    pub(super) fn add_lost(&mut self, number: u64) {
        if self.observer.is_some() {
            self.lost.push(number);
        }
    }

    /// Passes the added packets to the observer.
    pub(super) fn observe_lost(&mut self, now: Time, space: PacketSpace, path: u32) {
        if let Some(observer) = &mut self.observer {
            observer.observe(now, &TransportEvent::PacketsLost { space, path, numbers: &self.lost });
        }
        self.lost.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    struct Losses(Arc<Mutex<Vec<Vec<u64>>>>);

    impl TransportObserver for Losses {
        fn observe(&mut self, _now: Time, event: &TransportEvent<'_>) {
            if let TransportEvent::PacketsLost { numbers, .. } = event {
                self.0.lock().expect("no other thread").push(numbers.to_vec());
            }
        }
    }

    #[test]
    fn each_detection_tells_of_its_own_losses() {
        let seen = Arc::default();
        let mut observation = Observation::new(Some(Box::new(Losses(Arc::clone(&seen)))));
        for numbers in [&[3, 4][..], &[7]] {
            numbers.iter().for_each(|number| observation.add_lost(*number));
            observation.observe_lost(Time::ZERO, PacketSpace::OneRtt, 0);
        }
        assert_eq!(*seen.lock().expect("no other thread"), [vec![3, 4], vec![7]]);
    }
}
