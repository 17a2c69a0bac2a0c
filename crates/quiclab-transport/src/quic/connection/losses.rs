//! Losses: packets declared lost, frames sent again, congestion (RFC 9002 sections 6.1 and 7, appendix A.10).

use super::control_frames::ControlFrames;
use super::{Connection, SpaceId, space_in};
use crate::congestion::LostPacket;
use crate::quic::config::TimeoutLosses;
use crate::quic::crypto::CryptoStream;
use crate::quic::managed::Stage;
use crate::quic::path::Path;
use crate::quic::sent::{Content, SentFrame};
use crate::quic::space::Space;
use crate::quic::stream::Streams;
use crate::recovery::persistent::persistent_duration;
use crate::recovery::threshold::Lost;
use quiclab_core::{PacketSpace, Time};
use smallvec::SmallVec;

/// Packets to declare lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Losing {
    /// Those that the thresholds select (RFC 9002 section 6.1).
    Detected,
    /// Those with CRYPTO frames.
    Crypto,
    /// The oldest ack-eliciting one.
    Oldest,
}

/// Result of loss detection.
#[derive(Debug, Default)]
struct Losses {
    packets: u64,
    /// Bytes of those that counted as in flight.
    in_flight: u64,
    bytes: u64,
    /// Send time of the newest of them that counts for congestion control (`quic.datagram_back_off`).
    newest: Option<Time>,
    persistent: bool,
}

impl Losses {
    /// Adds a lost packet; `counts`: whether it counts for congestion control.
    fn add(&mut self, lost: &Lost, counts: bool) {
        self.packets += 1;
        self.bytes += lost.packet.bytes;
        if lost.packet.bytes > 0 {
            self.in_flight += 1;
            if counts {
                self.newest = self.newest.max(Some(lost.packet.time));
            }
        }
    }
}

/// Owners of frames, which retransmit lost ones.
struct Owners<'a> {
    crypto: &'a mut CryptoStream,
    streams: &'a mut Streams,
    control: &'a mut ControlFrames,
    lost: LostFrames,
}

/// Lost frames that the connection itself retransmits.
#[derive(Debug, Default)]
struct LostFrames {
    has_challenge: bool,
    management: SmallVec<[SentFrame; 2]>,
}

impl Owners<'_> {
    fn on_lost(&mut self, frame: &SentFrame) {
        match frame {
            SentFrame::Crypto { offset, length } => {
                self.crypto.on_lost(*offset..*offset + u64::from(*length));
            }
            SentFrame::PathChallenge => self.lost.has_challenge = true,
            SentFrame::Ack { .. } | SentFrame::Datagram { .. } | SentFrame::PathResponse => {}
            frame if frame.is_of_management() => self.lost.management.push(*frame),
            frame if self.control.on_lost(frame) => {}
            stream => self.streams.on_lost(stream),
        }
    }
}

impl Connection {
    /// Declares packets of a space lost, and reduces the window; returns the bytes lost.
    pub(super) fn detect_lost(&mut self, now: Time, id: SpaceId) -> u64 {
        self.declare_lost(now, id, Losing::Detected)
    }

    /// Declares packets of a space lost; returns the bytes lost.
    pub(super) fn declare_lost(&mut self, now: Time, id: SpaceId, losing: Losing) -> u64 {
        let expired = losing != Losing::Detected
            && self.config.fixed.timeout_losses != TimeoutLosses::CryptoWithCongestion;
        let (losses, lost) = self.find_lost(now, id, losing, expired);
        if losses.packets == 0 {
            return 0;
        }
        let path = &mut self.paths[id.path()];
        let is_unanswered = lost.has_challenge && !path.usable;
        let (space, number) = match id {
            SpaceId::Initial => (PacketSpace::Initial, 0),
            SpaceId::Handshake => (PacketSpace::Handshake, 0),
            SpaceId::Path(path) => (PacketSpace::OneRtt, path as u32),
        };
        self.observation.observe_lost(now, space, number);
        if losses.in_flight > 0 {
            path.on_lost(losses.in_flight, losses.bytes);
            if let Some(newest) = losses.newest.filter(|_| !expired) {
                let persistent = losses.persistent && self.config.quic.persistent_congestion;
                path.on_congestion(now, newest, persistent);
            }
            if !expired {
                path.update_pacer(now, &mut self.operations);
            }
        }
        if is_unanswered {
            self.challenge(id.path());
        }
        for frame in lost.management {
            self.on_management_lost(&frame);
        }
        losses.bytes
    }

    /// Removes lost packets from a space, and returns their frames to their owners. `expired`: they are sent again
    /// and are no sign of congestion.
    fn find_lost(&mut self, now: Time, id: SpaceId, losing: Losing, expired: bool) -> (Losses, LostFrames) {
        let level = self.crypto_level(id);
        let max_ack_delay = self.peer_max_ack_delay();
        let datagrams_back_off = self.config.quic.datagram_back_off;
        let Self { paths, handshake_spaces, streams, crypto, control, observation, .. } = self;
        let Path { space, controller, rtt, rate, managed, left_up_to, .. } = &mut paths[id.path()];
        let (conservative, first_sample) = (rtt.conservative(), rtt.first_sample());
        let duration = persistent_duration(rtt, max_ack_delay);
        let (total_delivered, total_lost) = (rate.delivered(), rate.lost());
        let mut losses = Losses::default();
        let lost = LostFrames::default();
        let Some(space) = space_in(id, handshake_spaces, space) else { return (losses, lost) };
        let Space { sent, persistent, .. } = space;
        let mut owners = Owners { crypto: &mut crypto[level as usize], streams, control, lost };
        // frames in flight on an abandoned path have been sent again
        let resent = if matches!(managed.stage, Stage::Abandoned { .. }) { *left_up_to } else { 0 };
        let each = |lost: &Lost, content: &Content| {
            let (packet, position) = (&lost.packet, lost.packet.position);
            let counts = datagrams_back_off || !SentFrame::are_datagrams_alone(content);
            losses.add(lost, counts);
            if packet.bytes > 0 && !expired {
                controller.on_packet_lost(&LostPacket {
                    now,
                    bytes: packet.bytes,
                    position,
                    end: position + 1,
                    state: packet.state,
                    total_delivered,
                    total_lost: total_lost + losses.bytes,
                });
            }
            observation.add_lost(lost.number);
            let eliciting = packet.ack_eliciting && counts;
            if expired {
                persistent.end();
            } else {
                losses.persistent |=
                    persistent.on_lost(packet.time, eliciting, lost.follows, first_sample, duration);
            }
            if position >= resent {
                content.iter().for_each(|frame| owners.on_lost(frame));
            }
        };
        match losing {
            Losing::Detected => sent.detect_lost(now, conservative, each),
            Losing::Crypto => {
                let is_crypto = |frame: &SentFrame| matches!(frame, SentFrame::Crypto { .. });
                sent.lose(usize::MAX, |_, content| content.iter().any(is_crypto), each);
            }
            Losing::Oldest => sent.lose(1, |packet, _| packet.ack_eliciting, each),
        }
        (losses, owners.lost)
    }

    /// Sends frames in flight on a path that may have failed, or is abandoned, again on the others; their
    /// packets remain in flight here.
    pub(super) fn leave_path(&mut self, path: usize, given_up: bool) {
        let level = self.crypto_level(SpaceId::Path(path));
        let Self { paths, streams, crypto, control, .. } = self;
        let path = &mut paths[path];
        // unless the path is in use, another carries the crypto stream; validation belongs to the path
        let stays = path.usable && !given_up;
        let lost = LostFrames::default();
        let mut owners = Owners { crypto: &mut crypto[level as usize], streams, control, lost };
        for (packet, content) in path.space.sent.outstanding() {
            let is_left = packet.position < path.left_up_to;
            for frame in content {
                let is_crypto = matches!(frame, SentFrame::Crypto { .. });
                // crypto data have remained on a path that was left before
                if is_crypto && given_up || !(is_left || is_crypto && stays) {
                    owners.on_lost(frame);
                }
            }
        }
        let lost = owners.lost;
        path.left_up_to = path.sent_packets;
        for frame in lost.management {
            self.on_management_lost(&frame);
        }
    }
}
