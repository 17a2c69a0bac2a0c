//! Sender with endless data, a FIFO link of fixed rate and a constant delay back: every packet is
//! acknowledged separately, in order. A packet dropped by a full buffer is reported lost with the next
//! acknowledgement after the one it would have had.

use crate::congestion::{Ack, CongestionEvent, Controller, LostPacket, Phase, RecoveryPhase};
use crate::recovery::delivery_rate::{DeliveryRate, SentState};
use quiclab_core::{ByteCount, DataRate, Duration, Time};
use std::collections::VecDeque;

pub(super) const MSS: u64 = 1250;

struct Packet {
    number: u64,
    sent: Time,
    acked: Time,
    state: SentState,
    dropped: bool,
}

/// State of the sender after an acknowledgement.
pub(super) struct Seen {
    pub(super) now: Time,
    pub(super) in_flight: u64,
    pub(super) window: u64,
    /// Rate of the link in byte/s.
    pub(super) rate: u64,
    pub(super) phase: Phase,
    pub(super) delivered: u64,
    pub(super) recovery: RecoveryPhase,
}

pub(super) struct Link {
    pub(super) rate: DataRate,
    /// RTT without queue and transmission.
    pub(super) delay: Duration,
    /// Size of the buffer in bytes; packets beyond it are dropped.
    pub(super) buffer: u64,
    /// Delay added to all acknowledgements from a time on.
    pub(super) detour: Option<(Time, Duration)>,
    pub(super) now: Time,
    free: Time,
    release: Time,
    flight: VecDeque<Packet>,
    next: u64,
    in_flight: u64,
    estimator: DeliveryRate,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
    recovery: RecoveryPhase,
    recovery_end: u64,
    /// Bytes declared lost since the last acknowledgement.
    lost_since_ack: u64,
}

impl Link {
    pub(super) fn new(mbps: u64, delay_ms: u64) -> Self {
        Self {
            rate: DataRate::from_mbps(mbps),
            delay: Duration::from_millis(delay_ms),
            buffer: u64::MAX,
            detour: None,
            now: Time::ZERO,
            free: Time::ZERO,
            release: Time::ZERO,
            flight: VecDeque::new(),
            next: 0,
            in_flight: 0,
            estimator: DeliveryRate::default(),
            srtt: None,
            min_rtt: None,
            recovery: RecoveryPhase::Open,
            recovery_end: 0,
            lost_since_ack: 0,
        }
    }

    /// Total bytes dropped by the buffer.
    pub(super) fn lost(&self) -> u64 {
        self.estimator.lost()
    }

    /// Rate of the link in byte/s.
    pub(super) fn capacity(&self) -> u64 {
        self.rate.bits_per_second() / 8
    }

    /// Minimum RTT: delay and one transmission.
    pub(super) fn base_rtt(&self) -> Duration {
        self.delay + self.rate.time_for(ByteCount::from_bytes(MSS))
    }

    /// Bandwidth x minimum RTT in bytes.
    pub(super) fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.base_rtt()).bytes()
    }

    /// Runs for `time`, and reports the state after every acknowledgement.
    pub(super) fn run(
        &mut self,
        controller: &mut dyn Controller,
        time: Duration,
        mut see: impl FnMut(&Seen),
    ) {
        let end = self.now + time;
        loop {
            let may_send = self.in_flight + MSS <= controller.window();
            let send = if may_send { self.release.max(self.now) } else { Time::MAX };
            let ack = self.flight.front().map_or(Time::MAX, |packet| packet.acked);
            let next = send.min(ack);
            assert!(next < Time::MAX, "a sender with nothing in flight must be able to send");
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if send < ack {
                self.send(controller);
            } else {
                self.receive(controller);
                see(&Seen {
                    now: self.now,
                    in_flight: self.in_flight,
                    window: controller.window(),
                    rate: controller.pacing_rate().map_or(0, DataRate::bits_per_second) / 8,
                    phase: controller.phase(),
                    delivered: self.estimator.delivered(),
                    recovery: self.recovery,
                });
            }
        }
    }

    fn send(&mut self, controller: &mut dyn Controller) {
        let size = ByteCount::from_bytes(MSS);
        let state = self.estimator.on_sent(self.now, self.in_flight, MSS);
        controller.on_sent(self.now, MSS, self.in_flight);
        if let Some(rate) = controller.pacing_rate() {
            self.release = self.release.max(self.now) + rate.time_for(size);
        }
        let waiting = self.rate.bytes_in(self.free.since(self.now)).bytes();
        let dropped = waiting.saturating_add(MSS) > self.buffer;
        if !dropped {
            self.free = self.free.max(self.now) + self.rate.time_for(size);
        }
        let extra = match self.detour {
            Some((from, extra)) if self.now >= from => extra,
            _ => Duration::ZERO,
        };
        let acked = self.free.max(self.now) + self.delay + extra;
        self.flight.push_back(Packet { number: self.next, sent: self.now, acked, state, dropped });
        self.next += 1;
        self.in_flight += MSS;
    }

    fn receive(&mut self, controller: &mut dyn Controller) {
        let packet = self.flight.pop_front().expect("an acknowledgement is due");
        if packet.dropped {
            self.in_flight -= MSS;
            self.estimator.on_lost(MSS);
            controller.on_packet_lost(&LostPacket {
                now: self.now,
                bytes: MSS,
                position: packet.number,
                end: packet.number + 1,
                state: packet.state,
                total_delivered: self.estimator.delivered(),
                total_lost: self.estimator.lost(),
            });
            self.pending_loss(controller, packet.number);
            return;
        }
        let prior_in_flight = self.in_flight;
        self.in_flight -= MSS;
        let rtt = self.now.since(packet.sent);
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        let position = packet.number + 1;
        self.estimator.on_delivered(self.now, &packet.state, MSS, packet.sent, position);
        if self.recovery != RecoveryPhase::Open && packet.number >= self.recovery_end {
            self.recovery = RecoveryPhase::Open;
            controller.on_recovery_end(self.now);
        }
        let lost_bytes = std::mem::take(&mut self.lost_since_ack);
        controller.on_ack(&Ack {
            now: self.now,
            acked_bytes: MSS,
            acked_packets: 1,
            lost_bytes,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            prior_in_flight: prior_in_flight + lost_bytes,
            in_flight: self.in_flight,
            departure: self.release,
            acked_position: position,
            next_position: self.next,
            phase: self.recovery,
            growth_limit: None,
            cwnd_limited: true,
            may_grow: true,
            rate: Some(self.estimator.sample(self.now, self.min_rtt, false)),
        });
    }

    fn pending_loss(&mut self, controller: &mut dyn Controller, number: u64) {
        self.lost_since_ack += MSS;
        if self.recovery == RecoveryPhase::Open && number >= self.recovery_end {
            self.recovery = RecoveryPhase::Recovery;
            self.recovery_end = self.next;
            controller.on_congestion(&CongestionEvent {
                now: self.now,
                in_flight: self.in_flight,
                next_position: self.next,
                ecn: false,
                persistent: false,
            });
        }
    }
}
