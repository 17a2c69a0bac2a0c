//! Content of the frames of a datagram: acknowledged ranges, whether it elicits an ACK, new connection IDs.

use super::super::{AckRange, Content, PacketNumber, Problems};
use super::extension::{Extension, extension};
use super::ids::{ConnectionId, NewId};
use quiclab_core::quic::{Ack, Cursor, Frame, Frames};
use std::collections::BTreeSet;

/// Maximum number of types of unknown frames that a note lists.
const TYPES_TOLD_MAX: usize = 8;
/// Maximum number of connection IDs that are taken from one datagram.
const NEW_IDS_MAX: usize = 64;
const MALFORMED: &str = "QUIC frame not well formed";

/// Content of the packets of a datagram. Its memory is reused for the next.
#[derive(Debug, Default)]
pub(in super::super) struct Found {
    pub(in super::super) numbers: Vec<PacketNumber>,
    pub(in super::super) ranges: Vec<AckRange>,
    pub(in super::super) has_ack: bool,
    pub(in super::super) eliciting: bool,
    /// Connection IDs learned from the datagram, with their owners.
    pub(in super::super) ids: Vec<NewId>,
    /// Types of unknown frames, of all datagrams.
    pub(in super::super) unknown: BTreeSet<u64>,
}

impl Found {
    pub(in super::super) fn clear(&mut self) {
        self.numbers.clear();
        self.ranges.clear();
        self.ids.clear();
        (self.has_ack, self.eliciting) = (false, false);
    }

    /// Content of the datagram.
    pub(in super::super) fn content(&self) -> Content<'_> {
        Content::Quic {
            numbers: &self.numbers,
            acknowledged: self.has_ack.then_some(&self.ranges),
            ack_eliciting: self.eliciting,
        }
    }

    /// Adds a connection ID of the sender of the datagram, or of its receiver.
    pub(in super::super) fn id(&mut self, id: &[u8], of_sender: bool, path: u32, sequence: u64) {
        if let Some(id) = ConnectionId::new(id).filter(|_| self.ids.len() < NEW_IDS_MAX) {
            self.ids.push(NewId { id, of_sender, path, sequence });
        }
    }

    /// Bit n: the sender has issued a connection ID of n bytes.
    pub(in super::super) fn sender_lengths(&self) -> u32 {
        self.ids.iter().filter(|new| new.of_sender).fold(0, |bits, new| bits | 1 << new.id.length())
    }

    /// Reads a packet of application data.
    pub(in super::super) fn packet(
        &mut self,
        path: u32,
        number: u64,
        payload: &[u8],
        problems: &mut Problems,
    ) {
        self.numbers.push(PacketNumber { path, number });
        self.frames(payload, problems, true);
    }

    /// Reads an Initial or Handshake packet.
    pub(in super::super) fn handshake(&mut self, payload: &[u8], problems: &mut Problems) {
        self.frames(payload, problems, false);
    }

    fn frames(&mut self, mut payload: &[u8], problems: &mut Problems, application: bool) {
        loop {
            let mut frames = Frames::new(payload);
            let Some(unknown) = frames.find_map(|frame| self.frame(frame.ok(), problems, application)) else {
                return;
            };
            let mut cursor = Cursor::new(unknown);
            match extension(&mut cursor) {
                Some(Extension::Ack { path, ack, rest }) => {
                    self.ack(path, &ack, problems, application);
                    if !rest {
                        return self.unknown(unknown, problems);
                    }
                }
                Some(Extension::NewId { path, sequence, id }) => self.new_id(path, id, sequence, problems),
                Some(Extension::Other { eliciting }) => self.eliciting |= eliciting,
                None => {
                    self.eliciting = true;
                    return self.unknown(unknown, problems);
                }
            }
            payload = cursor.rest();
        }
    }

    /// Reads a frame; returns the rest of the packet from the first frame that belongs neither to RFC 9000 nor to
    /// an extension of quiclab's endpoints.
    fn frame<'a>(
        &mut self,
        frame: Option<Frame<'a>>,
        problems: &mut Problems,
        application: bool,
    ) -> Option<&'a [u8]> {
        match frame {
            Some(Frame::Padding { .. } | Frame::ConnectionClose { .. }) => {}
            Some(Frame::Ack(ack)) => self.ack(0, &ack, problems, application),
            Some(Frame::PathAck { path_id, ack }) => self.ack(path_id, &ack, problems, application),
            Some(Frame::NewConnectionId { connection_id, sequence_number, .. }) => {
                self.new_id(0, connection_id, sequence_number, problems);
            }
            Some(Frame::PathNewConnectionId { connection_id, path_id, sequence_number, .. }) => {
                self.new_id(path_id, connection_id, sequence_number, problems);
            }
            Some(Frame::Unknown { rest, .. }) => return Some(rest),
            Some(_) => self.eliciting = true,
            None => {
                self.eliciting = true;
                problems.count(MALFORMED);
            }
        }
        None
    }

    fn ack(&mut self, path: u64, ack: &Ack<'_>, problems: &mut Problems, application: bool) {
        if application && let Some(path) = path_id(path, problems) {
            self.has_ack = true;
            self.ranges.extend(ack.ranges().map(|numbers| AckRange { path, numbers }));
        }
    }

    /// Adds a connection ID that the sender issues for a path.
    fn new_id(&mut self, path: u64, id: &[u8], sequence: u64, problems: &mut Problems) {
        self.eliciting = true;
        if let Some(path) = path_id(path, problems) {
            self.id(id, true, path, sequence);
        }
    }

    fn unknown(&mut self, packet: &[u8], problems: &mut Problems) {
        problems.count("QUIC frame not known");
        if let Some(frame_type) = Cursor::new(packet).varint().filter(|_| self.unknown.len() < TYPES_TOLD_MAX)
        {
            self.unknown.insert(frame_type);
        }
    }

    /// Note that lists the types of unknown frames, if there were any.
    pub(in super::super) fn unknown_note(&self) -> Option<String> {
        let types: Vec<String> = self.unknown.iter().map(|frame_type| format!("{frame_type:#x}")).collect();
        let more = if types.len() == TYPES_TOLD_MAX { " and perhaps more" } else { "" };
        (!types.is_empty()).then(|| {
            format!(
                "QUIC frames of types {}{more} are not known here: what follows one in its packet is not read",
                types.join(", ")
            )
        })
    }

    /// Sorts the ranges as [`Content::Quic`] specifies.
    pub(in super::super) fn settle(&mut self) {
        self.ranges.sort_unstable_by_key(|range| (range.path, *range.numbers.start()));
    }
}

/// Path ID of a frame; `None`, and a counted problem, above "2^32-1, the maximum allowed value for the path
/// ID" (draft-ietf-quic-multipath-21 section 2.1).
fn path_id(number: u64, problems: &mut Problems) -> Option<u32> {
    let path = u32::try_from(number).ok();
    if path.is_none() {
        problems.count(MALFORMED);
    }
    path
}
