//! ACK frames: what was delivered and lost, RTT samples, congestion (RFC 9002 sections 5 to 7, appendix A.7).
//!
//! | order | RFC 9002 A.7 | here |
//! | --- | --- | --- |
//! | 1 | RTT sample | the same |
//! | 2 | detect losses, reduce the window | the same |
//! | 3 | packets acknowledged, window grows | the same; what grows are bytes sent after the recovery period began |
//! | 4 | PTO backoff is reset | the same |

use super::{Connection, SpaceId};
use crate::congestion::PathView;
use crate::operations::Operation;
use crate::quic::crypto::CryptoStream;
use crate::quic::handshake::Level;
use crate::quic::path::{Delivered, Path};
use crate::quic::sent::{Content, SentFrame};
use crate::quic::space::Space;
use crate::quic::stream::Streams;
use crate::recovery::persistent::persistent_duration;
use crate::recovery::threshold::{Acked, Lost};
use quiclab_core::quic::AckFrame;
use quiclab_core::{Duration, PacketSpace, Time, TransportEvent};
use smallvec::SmallVec;

/// A packet declared lost is known for so many PTO: its acknowledgement shows that the loss was spurious.
const FORGOTTEN_AFTER_PTOS: u64 = 3;

/// What a detection of losses found.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    packets: u64,
    bytes: u64,
    /// When the newest lost packet in flight was sent.
    newest: Option<Time>,
    persistent: bool,
}

/// Frames without data that are to be sent again.
#[derive(Clone, Copy, Debug, Default)]
struct Again {
    handshake_done: bool,
    connection_ids: u8,
    frequency: Option<u64>,
    challenge: bool,
}

impl Again {
    /// A packet with `frame` is lost, or given up; `crypto` is the stream of its level.
    fn add(&mut self, frame: &SentFrame, crypto: &mut CryptoStream, streams: &mut Streams) {
        match frame {
            SentFrame::Crypto { offset, length } => crypto.on_lost(*offset..*offset + u64::from(*length)),
            SentFrame::HandshakeDone => self.handshake_done = true,
            SentFrame::NewConnectionId => self.connection_ids += 1,
            SentFrame::AckFrequency { sequence } => self.frequency = Some(*sequence),
            SentFrame::PathChallenge => self.challenge = true,
            // "an endpoint MUST NOT send more than one PATH_RESPONSE" for a challenge (RFC 9000 section 8.2.2)
            SentFrame::Ack { .. } | SentFrame::Datagram { .. } | SentFrame::PathResponse => {}
            stream => streams.on_lost(stream),
        }
    }
}

impl Connection {
    pub(super) fn on_ack(&mut self, now: Time, id: SpaceId, ack: &AckFrame) {
        let id = match id {
            SpaceId::Path(_) if usize::from(ack.path) < self.paths.len() => {
                SpaceId::Path(usize::from(ack.path))
            }
            other => other,
        };
        self.ack_frames_received += 1;
        let (path_index, level) = (id.path(), self.crypto_level(id));
        let delay = self.ack_delay(id, ack);
        let max_delay = self.confirmed.then(|| self.peer_max_ack_delay());
        // split the borrow: the space is in its path, or beside the paths
        let Self { paths, handshake_spaces, streams, crypto, .. } = self;
        let path = &mut paths[path_index];
        let prior_in_flight = path.in_flight;
        let (mut delivered, mut spurious) = (Delivered::default(), 0);
        let (mut acks_of_acks, mut challenged) = (None, false);
        let conservative = path.rtt.conservative();
        let recovery_start = path.recovery_start();
        let rate = &mut path.rate;
        let space: &mut Space = match id {
            SpaceId::Initial => handshake_spaces[0].as_mut().expect("the packet has a space"),
            SpaceId::Handshake => handshake_spaces[1].as_mut().expect("the packet has a space"),
            SpaceId::Path(_) => &mut path.space,
        };
        let each = |acked: &Acked, content: &Content| {
            let packet = &acked.packet;
            if acked.spurious {
                spurious += 1;
            } else if packet.bytes > 0 {
                delivered.outstanding_bytes += packet.bytes;
            }
            if packet.bytes > 0 && !acked.spurious {
                delivered.bytes += packet.bytes;
                delivered.packets += 1;
                if recovery_start.is_none_or(|start| packet.time > start) {
                    delivered.growing_bytes += packet.bytes;
                    delivered.growing_packets += 1;
                }
                rate.on_delivered(now, &packet.state, packet.bytes, packet.time, packet.position);
                delivered.newest = delivered.newest.max(Some((packet.time, packet.position)));
            }
            for frame in content {
                match frame {
                    SentFrame::Crypto { offset, length } => {
                        crypto[level as usize].on_acked(*offset..*offset + u64::from(*length));
                    }
                    SentFrame::Ack { path, largest } => {
                        acks_of_acks = acks_of_acks.max(Some((*path, *largest)))
                    }
                    SentFrame::PathChallenge => challenged = true,
                    other => streams.on_acked(other),
                }
            }
        };
        let summary = match space.sent.on_ack(now, ack.ranges.iter().cloned(), conservative, each) {
            Ok(summary) => summary,
            Err(error) => return self.violate(error),
        };
        self.unanswered = self.unanswered.or(challenged.then_some(path_index));
        path.in_flight -= delivered.outstanding_bytes;
        path.spurious_losses += spurious;
        if let Some((acked_path, largest)) = acks_of_acks {
            match id {
                SpaceId::Path(_) => paths[usize::from(acked_path)].space.received.forget_up_to(largest),
                _ => space.received.forget_up_to(largest),
            }
        }
        if let Some(observer) = &mut self.observer {
            let event = TransportEvent::AckReceived { packets: delivered.packets, bytes: delivered.bytes };
            observer.observe(now, &event);
        }
        if summary.packets == 0 {
            return;
        }
        self.couple(path_index);
        let has_sample = self.sample_rtt(now, path_index, summary.rtt_sample_of, delay, max_delay);
        let validate = self.config.window_validation;
        if self.config.fixed.growth_before_losses {
            let path = &mut self.paths[path_index];
            path.on_delivered(now, &delivered, prior_in_flight, 0, has_sample, validate);
            self.detect_lost(now, id);
        } else {
            let lost = self.detect_lost(now, id);
            let path = &mut self.paths[path_index];
            if path.recovery_start() != recovery_start {
                (delivered.growing_bytes, delivered.growing_packets) = (0, 0);
            }
            path.on_delivered(now, &delivered, prior_in_flight, lost, has_sample, validate);
        }
        let peer_validated = self.peer_has_validated(id);
        let path = &mut self.paths[path_index];
        path.pto.on_ack(peer_validated);
        let old = path.rtt.pto_base() * FORGOTTEN_AFTER_PTOS;
        if let Some(space) = self.space(id) {
            space.sent.forget_lost(Time::ZERO + now.since(Time::ZERO).saturating_sub(old));
        }
        let path = &mut self.paths[path_index];
        path.update_pacer(now, &mut self.operations);
    }

    /// The controller of a path learns of its siblings: of those that work, the others would hold it back.
    fn couple(&mut self, own: usize) {
        if self.paths.len() > 1 {
            let mut views: SmallVec<[PathView; 8]> = SmallVec::new();
            let mut position = 0;
            for (index, path) in self.paths.iter().enumerate() {
                if index == own {
                    position = views.len();
                }
                if index == own || path.is_alive() {
                    views.push(path.view());
                }
            }
            self.paths[own].controller.on_paths(&views, position);
        }
    }

    /// The delay that the peer states; that of Initial packets is ignored (RFC 9002 section 5.3).
    fn ack_delay(&self, id: SpaceId, ack: &AckFrame) -> Duration {
        if matches!(id, SpaceId::Path(_)) { ack.delay } else { Duration::ZERO }
    }

    /// Takes an RTT sample of a packet sent at `sent`; whether there was one.
    fn sample_rtt(
        &mut self,
        now: Time,
        path: usize,
        sent: Option<Time>,
        delay: Duration,
        max_delay: Option<Duration>,
    ) -> bool {
        let Some(sent) = sent else { return false };
        let path = &mut self.paths[path];
        let sample = now.since(sent);
        let inputs = || [("rtt_ms", sample.as_ms_f64()), ("ack_delay_ms", delay.as_ms_f64())];
        let sample = if self.operations.has(Operation::RttSample) {
            let ms = self.operations.run(Operation::RttSample, inputs, || sample.as_ms_f64());
            Duration::from_nanos_f64(ms * 1e6)
        } else {
            sample
        };
        path.rtt.on_sample(now, sample, delay, max_delay);
        true
    }

    /// Declares lost what is lost now in a space, and reduces the window for it; returns the bytes lost.
    pub(super) fn detect_lost(&mut self, now: Time, id: SpaceId) -> u64 {
        let level = self.crypto_level(id);
        let path_index = id.path();
        let max_ack_delay = self.peer_max_ack_delay();
        let persistent_allowed = self.config.persistent_congestion;
        let Self { paths, handshake_spaces, streams, crypto, lost_numbers, .. } = self;
        let path = &mut paths[path_index];
        let (conservative, first_sample) = (path.rtt.conservative(), path.rtt.first_sample());
        let duration = persistent_duration(&path.rtt, max_ack_delay);
        let space: &mut Space = match id {
            SpaceId::Initial => match handshake_spaces[0].as_mut() {
                Some(space) => space,
                None => return 0,
            },
            SpaceId::Handshake => match handshake_spaces[1].as_mut() {
                Some(space) => space,
                None => return 0,
            },
            SpaceId::Path(_) => &mut path.space,
        };
        let Space { sent, persistent, .. } = space;
        if self.operations.has(Operation::PacketThreshold) {
            let native = sent.packet_threshold() as f64;
            let inputs = || [("packet_threshold", native), ("rtt_ms", conservative.as_ms_f64())];
            let wanted = self.operations.run(Operation::PacketThreshold, inputs, || native);
            sent.set_packet_threshold(wanted as u64);
        }
        let mut losses = Losses::default();
        let mut again = Again::default();
        lost_numbers.clear();
        sent.detect_lost(now, conservative, |lost: &Lost, content: &Content| {
            losses.packets += 1;
            losses.bytes += lost.packet.bytes;
            lost_numbers.push(lost.number);
            if lost.packet.bytes > 0 {
                losses.newest = losses.newest.max(Some(lost.packet.time));
            }
            losses.persistent |= persistent.on_lost(
                lost.packet.time,
                lost.packet.ack_eliciting,
                lost.follows,
                first_sample,
                duration,
            );
            for frame in content {
                again.add(frame, &mut crypto[level as usize], streams);
            }
        });
        if losses.packets == 0 {
            return 0;
        }
        self.send_again(path_index, &again);
        if let Some(observer) = &mut self.observer {
            let space = match id {
                SpaceId::Initial => PacketSpace::Initial,
                SpaceId::Handshake => PacketSpace::Handshake,
                SpaceId::Path(_) => PacketSpace::OneRtt,
            };
            observer.observe(now, &TransportEvent::PacketsLost { space, numbers: &self.lost_numbers });
        }
        if let Some(newest) = losses.newest {
            let persistent = losses.persistent && persistent_allowed;
            let path = &mut self.paths[path_index];
            path.on_lost(now, losses.packets, losses.bytes, newest, persistent);
            path.update_pacer(now, &mut self.operations);
        }
        losses.bytes
    }

    /// Control frames that are lost are sent again.
    fn send_again(&mut self, path: usize, again: &Again) {
        self.handshake_done_pending |= again.handshake_done;
        self.new_connection_ids += again.connection_ids;
        self.ack_frequency_pending = self.ack_frequency_pending.or(again.frequency);
        if again.challenge {
            self.challenge_again(path);
        }
    }

    /// A path that is not validated yet is challenged again.
    pub(super) fn challenge_again(&mut self, path: usize) {
        if !self.paths[path].usable && !self.path_challenges.contains(&path) {
            self.path_challenges.push(path);
        }
    }

    /// A probe timeout has expired on a path. If another one works, what is in flight on this one is sent again
    /// there, and true is returned. Nothing counts as lost: that is for acknowledgements to say.
    pub(super) fn leave_path(&mut self, path: usize) -> bool {
        if self.role == quiclab_core::Role::Client && path > 0 {
            self.challenge_again(path);
        }
        if !self.paths.iter().any(Path::is_alive) {
            return false;
        }
        let mut again = Again::default();
        let Self { paths, streams, crypto, .. } = self;
        for frame in paths[path].space.sent.outstanding().flat_map(|(_, content)| content) {
            again.add(frame, &mut crypto[Level::Application as usize], streams);
        }
        again.challenge = false;
        self.send_again(path, &again);
        true
    }

    /// Whether the peer is known to have validated this end's address: a server always, a client with the
    /// first acknowledgement of a Handshake or 1-RTT packet (RFC 9002 appendix A.6).
    pub(super) fn peer_has_validated(&self, acked: SpaceId) -> bool {
        self.role == quiclab_core::Role::Server
            || acked != SpaceId::Initial
            || self.confirmed
            || self.handshake_spaces[1].as_ref().is_some_and(|space| space.sent.largest_acked().is_some())
    }
}
