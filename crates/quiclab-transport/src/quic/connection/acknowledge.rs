//! ACK frames: what was delivered and lost, RTT samples, congestion (RFC 9002 sections 5 to 7, appendix A.7).
//!
//! | order | RFC 9002 A.7 | here |
//! | --- | --- | --- |
//! | 1 | RTT sample | the same |
//! | 2 | detect losses, reduce the window | the same |
//! | 3 | packets acknowledged, window grows | the same; what grows are bytes sent after the recovery period began |
//! | 4 | PTO backoff is reset | the same |

use super::{Connection, SpaceId};
use crate::congestion::{LostPacket, PathView};
use crate::operations::Operation;
use crate::quic::managed::Stage;
use crate::quic::path::{Delivered, Path, ms_or_0, now_ms};
use crate::quic::sent::{Content, SentFrame};
use crate::quic::space::Space;
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
    /// Those of them that counted as in flight.
    in_flight: u64,
    bytes: u64,
    /// When the newest of them was sent that congestion control is to know of (`quic.datagram_back_off`).
    newest: Option<Time>,
    persistent: bool,
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
        let (path_index, level) = (id.path(), self.crypto_level(id));
        let delay = self.ack_delay(id, ack);
        let max_delay = self.confirmed.then(|| self.peer_max_ack_delay());
        // split the borrow: the space is in its path, or beside the paths
        let Self { config, paths, handshake_spaces, streams, crypto, .. } = self;
        let path = &mut paths[path_index];
        let prior_in_flight = path.in_flight;
        let (mut delivered, mut spurious, mut challenged) = (Delivered::default(), 0, false);
        let mut acks_of_acks = SmallVec::<[(u8, u64); 2]>::new();
        let mut capable = 0;
        let conservative = path.rtt.conservative();
        let recovery_start = path.recovery_start();
        let ignore_late_acks = config.fixed.ignore_late_acks;
        let mut forgotten_largest = false;
        let rate = &mut path.rate;
        let space: &mut Space = match id {
            SpaceId::Initial => handshake_spaces[0].as_mut().expect("the packet has a space"),
            SpaceId::Handshake => handshake_spaces[1].as_mut().expect("the packet has a space"),
            SpaceId::Path(_) => &mut path.space,
        };
        let each = |acked: &Acked, content: &Content| {
            let packet = &acked.packet;
            capable += u64::from(packet.ecn_capable);
            // packets that do not count as in flight are not counted as lost, either
            spurious += u64::from(acked.spurious && packet.bytes > 0);
            if acked.spurious && ignore_late_acks {
                forgotten_largest |= ack.ranges.first().is_some_and(|range| acked.number == *range.end());
                return;
            }
            if !acked.spurious {
                delivered.outstanding_bytes += packet.bytes;
            }
            if packet.bytes > 0 && !acked.spurious {
                delivered.bytes += packet.bytes;
                delivered.packets += 1;
                if recovery_start.is_none_or(|start| packet.time > start) {
                    delivered.bytes_after_recovery += packet.bytes;
                    delivered.packets_after_recovery += 1;
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
                        match acks_of_acks.iter_mut().find(|(known, _)| known == path) {
                            Some((_, known)) => *known = (*known).max(*largest),
                            None => acks_of_acks.push((*path, *largest)),
                        }
                    }
                    SentFrame::PathChallenge => challenged = true,
                    other => streams.on_acked(other),
                }
            }
        };
        let largest = space.sent.largest_acked();
        let mut summary = match space.sent.on_ack(now, ack.ranges.iter().cloned(), conservative, each) {
            Ok(summary) => summary,
            Err(error) => return self.violate(error),
        };
        if ignore_late_acks {
            summary.packets -= summary.spurious;
            summary.rtt_sample_of = summary.rtt_sample_of.filter(|_| !forgotten_largest);
        }
        let raised =
            ack.ranges.first().is_some_and(|range| largest.is_none_or(|before| *range.end() > before));
        let marked = if raised { path.ecn.on_ack(capable, &mut space.ecn, ack.ecn) } else { 0 };
        path.in_flight -= delivered.outstanding_bytes;
        path.spurious_losses += spurious;
        let unanswered = challenged && !path.usable;
        match id {
            SpaceId::Path(_) => {
                for (path, largest) in acks_of_acks {
                    paths[usize::from(path)].space.received.forget_up_to(largest);
                }
            }
            _ => acks_of_acks.iter().for_each(|(_, largest)| space.received.forget_up_to(*largest)),
        }
        if unanswered {
            // the answer, which is sent just once (RFC 9000 section 13.3), may be lost
            self.challenge(path_index);
        }
        if let Some(observer) = &mut self.observer {
            let event = TransportEvent::AckReceived {
                packets: delivered.packets,
                covered: delivered.packets,
                bytes: delivered.bytes,
            };
            observer.observe(now, &event);
        }
        if summary.packets == 0 {
            return;
        }
        self.couple(path_index);
        self.on_path_acknowledged(now, path_index);
        self.paths[path_index].on_acknowledged_on(arrived_on);
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

    /// The controller of a path learns of its siblings.
    fn couple(&mut self, own: usize) {
        if self.paths.len() > 1 {
            // those that were never used, and those that are given up, take no part
            let counts = |path: &Path| self.management.is_none() || path.managed.is_in_use();
            let in_use = |(number, path): &(usize, &Path)| *number == own || counts(path);
            let views: SmallVec<[PathView; 4]> =
                self.paths.iter().enumerate().filter(in_use).map(|(_, path)| path.view()).collect();
            let before = self.paths[..own].iter().filter(|path| counts(path)).count();
            self.paths[own].controller.on_paths(&views, before);
        }
    }

    /// The delay that the peer states; that of Initial packets is ignored (RFC 9002 section 5.3).
    fn ack_delay(&self, id: SpaceId, ack: &AckFrame) -> Duration {
        if matches!(id, SpaceId::Path(_)) { ack.delay } else { Duration::ZERO }
    }

    /// Takes an RTT sample of a packet sent at `sent`, and returns it as congestion control sees it.
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

    /// The packet threshold of a plugin holds until the next acknowledgement.
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

    /// Declares lost what is lost now in a space, and reduces the window for it; returns the bytes lost.
    pub(super) fn detect_lost(&mut self, now: Time, id: SpaceId) -> u64 {
        self.declare_lost(now, id, false)
    }

    /// The same; with `crypto_packets` it is what carries CRYPTO frames, and nothing else.
    pub(super) fn declare_lost(&mut self, now: Time, id: SpaceId, crypto_packets: bool) -> u64 {
        let level = self.crypto_level(id);
        let path_index = id.path();
        let max_ack_delay = self.peer_max_ack_delay();
        let persistent_allowed = self.config.quic.persistent_congestion;
        let datagrams_back_off = self.config.quic.datagram_back_off;
        let Self { paths, handshake_spaces, streams, crypto, lost_numbers, .. } = self;
        let path = &mut paths[path_index];
        let (conservative, first_sample) = (path.rtt.conservative(), path.rtt.first_sample());
        let duration = persistent_duration(&path.rtt, max_ack_delay);
        let (total_delivered, total_lost) = (path.rate.delivered(), path.rate.lost());
        let controller = &mut path.controller;
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
        let mut losses = Losses::default();
        let mut handshake_done = false;
        let (mut frequency, mut connection_ids) = (None, 0);
        lost_numbers.clear();
        let mut challenges = false;
        let mut management = SmallVec::<[SentFrame; 2]>::new();
        // of an abandoned path, what was in flight then has been sent again
        let resent = if matches!(path.managed.stage, Stage::Abandoned { .. }) { path.left_up_to } else { 0 };
        let each = |lost: &Lost, content: &Content| {
            losses.packets += 1;
            losses.bytes += lost.packet.bytes;
            if lost.packet.bytes > 0 {
                let position = lost.packet.position;
                controller.on_packet_lost(&LostPacket {
                    now,
                    bytes: lost.packet.bytes,
                    position,
                    end: position + 1,
                    state: lost.packet.state,
                    total_delivered,
                    total_lost: total_lost + losses.bytes,
                });
            }
            lost_numbers.push(lost.number);
            let counts = datagrams_back_off || !SentFrame::are_datagrams_alone(content);
            if lost.packet.bytes > 0 {
                losses.in_flight += 1;
                if counts {
                    losses.newest = losses.newest.max(Some(lost.packet.time));
                }
            }
            losses.persistent |= persistent.on_lost(
                lost.packet.time,
                lost.packet.ack_eliciting && counts,
                lost.follows,
                first_sample,
                duration,
            );
            if lost.packet.position < resent {
                return;
            }
            for frame in content {
                match frame {
                    SentFrame::Crypto { offset, length } => {
                        crypto[level as usize].on_lost(*offset..*offset + u64::from(*length));
                    }
                    SentFrame::HandshakeDone => handshake_done = true,
                    SentFrame::NewConnectionId => connection_ids += 1,
                    SentFrame::AckFrequency { sequence } => frequency = Some(*sequence),
                    SentFrame::PathChallenge => challenges = true,
                    SentFrame::Ack { .. } | SentFrame::Datagram { .. } | SentFrame::PathResponse => {}
                    frame if frame.is_of_management() => management.push(*frame),
                    stream => streams.on_lost(stream),
                }
            }
        };
        if crypto_packets {
            let is_crypto = |frame: &SentFrame| matches!(frame, SentFrame::Crypto { .. });
            sent.lose(|content| content.iter().any(is_crypto), each);
        } else {
            sent.detect_lost(now, conservative, each);
        }
        if losses.packets == 0 {
            return 0;
        }
        self.handshake_done_pending |= handshake_done;
        self.new_connection_ids += connection_ids;
        self.ack_frequency_pending = self.ack_frequency_pending.or(frequency);
        let unanswered = challenges && !path.usable;
        if let Some(observer) = &mut self.observer {
            let (space, path) = match id {
                SpaceId::Initial => (PacketSpace::Initial, 0),
                SpaceId::Handshake => (PacketSpace::Handshake, 0),
                SpaceId::Path(path) => (PacketSpace::OneRtt, path as u32),
            };
            observer.observe(now, &TransportEvent::PacketsLost { space, path, numbers: &self.lost_numbers });
        }
        if losses.in_flight > 0 {
            path.on_lost(losses.in_flight, losses.bytes);
            if let Some(newest) = losses.newest {
                path.on_congestion(now, newest, losses.persistent && persistent_allowed);
            }
            path.update_pacer(now, &mut self.operations);
        }
        if unanswered {
            self.challenge(path_index);
        }
        for frame in management {
            self.on_management_lost(&frame);
        }
        losses.bytes
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
