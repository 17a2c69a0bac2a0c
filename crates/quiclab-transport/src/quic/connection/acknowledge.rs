//! ACK frames: packets delivered and lost, RTT samples, congestion (RFC 9002 sections 5 to 7, appendix A.7).
//!
//! | order | RFC 9002 A.7 | here |
//! | --- | --- | --- |
//! | 1 | RTT sample | the same |
//! | 2 | detect losses, reduce the window | the same |
//! | 3 | packets acknowledged, window grows | the same; only bytes sent after the start of the recovery period count |
//! | 4 | PTO backoff is reset | the same |

use super::{Connection, SpaceId, space_in};
use crate::congestion::PathView;
use crate::operations::Operation;
use crate::quic::crypto::CryptoStream;
use crate::quic::managed::Stage;
use crate::quic::path::{Delivered, Path, ms_or_0, now_ms};
use crate::quic::sent::{Content, SentFrame};
use crate::quic::stream::Streams;
use crate::recovery::delivery_rate::DeliveryRate;
use crate::recovery::threshold::{AckSummary, Acked, UnsentPacketAcked};
use quiclab_core::quic::AckFrame;
use quiclab_core::{Duration, Time, TransportEvent};
use smallvec::SmallVec;

/// Number of PTOs for which a packet declared lost is kept: its acknowledgement shows that the loss was
/// spurious.
const FORGOTTEN_AFTER_PTOS: u64 = 3;

/// Results of an ACK frame.
struct Processed {
    delivered: Delivered,
    summary: AckSummary,
    /// Number of packets with marks that it reports.
    marked: u64,
    /// State of the path before it.
    prior_in_flight: u64,
    recovery_start: Option<Time>,
}

/// Newly acknowledged packets, and the owners of their frames.
struct Acknowledging<'a> {
    now: Time,
    /// Largest number that the frame acknowledges.
    largest: Option<u64>,
    ignores_late: bool,
    recovery_start: Option<Time>,
    rate: &'a mut DeliveryRate,
    crypto: &'a mut CryptoStream,
    streams: &'a mut Streams,
    delivered: Delivered,
    spurious: u64,
    /// Number of packets that were ECN-capable.
    capable: u64,
    is_challenge_acked: bool,
    /// Acknowledgements of this end that have arrived: path, and the largest number.
    acks_of_acks: SmallVec<[(u8, u64); 2]>,
    /// Whether the largest packet was declared lost and its acknowledgement is ignored.
    is_largest_late: bool,
}

impl Acknowledging<'_> {
    fn on_packet(&mut self, acked: &Acked, content: &Content) {
        let (packet, delivered) = (&acked.packet, &mut self.delivered);
        self.capable += u64::from(packet.ecn_capable);
        // packets that do not count as in flight are not counted as lost, either
        self.spurious += u64::from(acked.spurious && packet.bytes > 0);
        if acked.spurious && self.ignores_late {
            self.is_largest_late |= self.largest == Some(acked.number);
            return;
        }
        if !acked.spurious {
            delivered.outstanding_bytes += packet.bytes;
        }
        if packet.bytes > 0 && !acked.spurious {
            delivered.bytes += packet.bytes;
            delivered.packets += 1;
            if self.recovery_start.is_none_or(|start| packet.time > start) {
                delivered.bytes_after_recovery += packet.bytes;
                delivered.packets_after_recovery += 1;
            }
            self.rate.on_delivered(self.now, &packet.state, packet.bytes, packet.time, packet.position);
            delivered.newest = delivered.newest.max(Some((packet.time, packet.position)));
        }
        content.iter().for_each(|frame| self.on_frame(frame));
    }

    fn on_frame(&mut self, frame: &SentFrame) {
        match frame {
            SentFrame::Crypto { offset, length } => {
                self.crypto.on_acked(*offset..*offset + u64::from(*length));
            }
            SentFrame::Ack { path, largest } => {
                match self.acks_of_acks.iter_mut().find(|(known, _)| known == path) {
                    Some((_, known)) => *known = (*known).max(*largest),
                    None => self.acks_of_acks.push((*path, *largest)),
                }
            }
            SentFrame::PathChallenge => self.is_challenge_acked = true,
            other => self.streams.on_acked(other),
        }
    }
}

impl Connection {
    pub(super) fn on_ack(&mut self, now: Time, id: SpaceId, ack: &AckFrame) {
        let arrived_on = id.path();
        let id = match id {
            // an ACK frame is of path ID 0 (draft-ietf-quic-multipath-21 section 2.3)
            SpaceId::Path(_) => SpaceId::Path(usize::from(ack.path.unwrap_or(0))),
            other => other,
        };
        if id.path() >= self.paths.len() {
            return self.violate(format_args!("path {} is acknowledged, and there is none", id.path()));
        }
        if self.paths[id.path()].managed.stage == Stage::Closed {
            return;
        }
        self.ack_frames_received += 1;
        let work = match self.process_ack(now, id, ack) {
            Ok(work) => work,
            Err(error) => return self.violate(error),
        };
        let Delivered { packets, bytes, .. } = work.delivered;
        self.observation.observe(now, &TransportEvent::AckReceived { packets, covered: packets, bytes });
        if work.summary.packets > 0 {
            self.couple(id.path());
            self.on_path_acknowledged(now, id.path());
            self.paths[id.path()].on_acknowledged_on(arrived_on);
            self.react_to_ack(now, id, self.ack_delay(id, ack), work);
        }
    }

    /// Removes newly acknowledged packets from a space, and notifies the owners of their frames.
    fn process_ack(
        &mut self,
        now: Time,
        id: SpaceId,
        ack: &AckFrame,
    ) -> Result<Processed, UnsentPacketAcked> {
        let level = self.crypto_level(id);
        let ignores_late = self.config.fixed.ignore_late_acks;
        let Self { paths, handshake_spaces, streams, crypto, .. } = self;
        let path = &mut paths[id.path()];
        let (prior_in_flight, recovery_start) = (path.in_flight, path.recovery_start());
        let conservative = path.rtt.conservative();
        let space = space_in(id, handshake_spaces, &mut path.space).expect("the packet has a space");
        let largest = ack.ranges.first().map(|range| *range.end());
        let mut acknowledging = Acknowledging {
            now,
            largest,
            ignores_late,
            recovery_start,
            rate: &mut path.rate,
            crypto: &mut crypto[level as usize],
            streams,
            delivered: Delivered::default(),
            spurious: 0,
            capable: 0,
            is_challenge_acked: false,
            acks_of_acks: SmallVec::new(),
            is_largest_late: false,
        };
        let before = space.sent.largest_acked();
        let each = |acked: &Acked, content: &Content| acknowledging.on_packet(acked, content);
        let mut summary = space.sent.on_ack(now, ack.ranges.iter().cloned(), conservative, each)?;
        let Acknowledging { delivered, spurious, capable, acks_of_acks, .. } = acknowledging;
        let is_challenge_acked = acknowledging.is_challenge_acked;
        if ignores_late {
            summary.packets -= summary.spurious;
            summary.rtt_sample_of = summary.rtt_sample_of.filter(|_| !acknowledging.is_largest_late);
        }
        let raised = largest.is_some_and(|largest| before.is_none_or(|before| largest > before));
        let marked = if raised { path.ecn.on_ack(capable, &mut space.ecn, ack.ecn) } else { 0 };
        path.in_flight -= delivered.outstanding_bytes;
        path.spurious_losses += spurious;
        let is_unanswered = is_challenge_acked && !path.usable;
        match id {
            SpaceId::Path(_) => {
                for (path, largest) in acks_of_acks {
                    paths[usize::from(path)].space.received.forget_up_to(largest);
                }
            }
            _ => acks_of_acks.iter().for_each(|(_, largest)| space.received.forget_up_to(*largest)),
        }
        if is_unanswered {
            // the response, which is sent just once (RFC 9000 section 13.3), may be lost
            self.challenge(id.path());
        }
        Ok(Processed { delivered, summary, marked, prior_in_flight, recovery_start })
    }

    /// Updates RTT, losses, window and timers after an acknowledgement.
    fn react_to_ack(&mut self, now: Time, id: SpaceId, delay: Duration, work: Processed) {
        let Processed { mut delivered, summary, marked, prior_in_flight, recovery_start } = work;
        let path_index = id.path();
        let max_delay = self.progress.is_confirmed().then(|| self.peer_max_ack_delay());
        let sample = self.sample_rtt(now, path_index, summary.rtt_sample_of, delay, max_delay);
        if self.operations.has(Operation::PacketThreshold) {
            self.ask_packet_threshold(now, id);
        }
        if self.paths[path_index].ecn.marked().is_some() {
            self.paths[path_index].on_marks(now, &delivered, marked);
        }
        let validate = self.config.quic.window_validation;
        if self.config.fixed.growth_before_losses {
            let path = &mut self.paths[path_index];
            path.on_delivered(now, &delivered, prior_in_flight, 0, sample, validate);
            self.detect_lost(now, id);
        } else {
            let lost = self.detect_lost(now, id);
            let path = &mut self.paths[path_index];
            if path.recovery_start() != recovery_start {
                (delivered.bytes_after_recovery, delivered.packets_after_recovery) = (0, 0);
            }
            path.on_delivered(now, &delivered, prior_in_flight, lost, sample, validate);
        }
        let peer_validated = self.peer_has_validated(id);
        let path = &mut self.paths[path_index];
        path.pto.on_ack(peer_validated);
        let answers = path.pto.count() == 0;
        let old = path.rtt.pto_base() * FORGOTTEN_AFTER_PTOS;
        if let Some(space) = self.space(id) {
            space.acked = now;
            space.sent.forget_lost(Time::ZERO + now.since(Time::ZERO).saturating_sub(old));
        }
        if answers {
            self.trust(path_index);
        }
        let path = &mut self.paths[path_index];
        path.update_pacer(now, &mut self.operations);
    }

    /// Passes the state of all paths to the controller of a path.
    fn couple(&mut self, own: usize) {
        if self.paths.len() > 1 {
            // paths that were never used or are abandoned are excluded
            let counts = |path: &Path| self.management.is_none() || path.managed.is_in_use();
            let in_use = |(number, path): &(usize, &Path)| *number == own || counts(path);
            let views: SmallVec<[PathView; 4]> =
                self.paths.iter().enumerate().filter(in_use).map(|(_, path)| path.view()).collect();
            let before = self.paths[..own].iter().filter(|path| counts(path)).count();
            self.paths[own].controller.on_paths(&views, before);
        }
    }

    /// Acknowledgement delay that the peer reports; that of Initial packets is ignored (RFC 9002 section
    /// 5.3).
    fn ack_delay(&self, id: SpaceId, ack: &AckFrame) -> Duration {
        if matches!(id, SpaceId::Path(_)) { ack.delay } else { Duration::ZERO }
    }

    /// Takes an RTT sample of a packet sent at `sent`, and returns the sample for congestion control.
    fn sample_rtt(
        &mut self,
        now: Time,
        path: usize,
        sent: Option<Time>,
        delay: Duration,
        max_delay: Option<Duration>,
    ) -> Option<Duration> {
        let sent = sent?;
        let (number, path) = (path, &mut self.paths[path]);
        let mut sample = now.since(sent);
        if self.operations.has(Operation::RttSample) {
            let native = sample.as_ms_f64();
            let inputs = || {
                [
                    ("now_ms", now_ms(now)),
                    ("path", number as f64),
                    ("latest_rtt_ms", native),
                    ("ack_delay_ms", delay.as_ms_f64()),
                    ("srtt_ms", ms_or_0(path.rtt.smoothed())),
                    ("min_rtt_ms", ms_or_0(path.rtt.min())),
                ]
            };
            let wanted = self.operations.run(Operation::RttSample, inputs, || native);
            sample = Duration::from_nanos_f64(wanted * 1e6);
        }
        path.rtt.on_sample(now, sample, delay, max_delay)
    }

    /// Sets the packet threshold of a plugin, which applies until the next acknowledgement.
    #[cold]
    fn ask_packet_threshold(&mut self, now: Time, id: SpaceId) {
        let (number, losses) = (id.path(), self.paths[id.path()].spurious_losses);
        let Some(space) = self.space_ref(id) else { return };
        let (native, largest) = (space.sent.packet_threshold() as f64, space.sent.largest_acked());
        let inputs = || {
            [
                ("now_ms", now_ms(now)),
                ("path", number as f64),
                ("packet_threshold", native),
                ("largest_acked", largest.unwrap_or(0) as f64),
                ("spurious_losses", losses as f64),
            ]
        };
        let wanted = self.operations.run(Operation::PacketThreshold, inputs, || native);
        if let Some(space) = self.space(id) {
            space.sent.ask_packet_threshold(wanted as u64);
        }
    }

    /// Whether the peer is known to have validated this end's address: always for a server, for a client from
    /// the first acknowledgement of a Handshake or 1-RTT packet (RFC 9002 appendix A.6).
    pub(super) fn peer_has_validated(&self, acked: SpaceId) -> bool {
        self.role == quiclab_core::Role::Server
            || acked != SpaceId::Initial
            || self.progress.is_confirmed()
            || self.handshake_spaces[1].as_ref().is_some_and(|space| space.sent.largest_acked().is_some())
    }
}
