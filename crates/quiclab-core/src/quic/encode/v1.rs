//! QUIC version 1: headers (RFC 9000 section 17) and frames (section 19).
//!
//! Extensions: DATAGRAM (RFC 9221), ACK_FREQUENCY and IMMEDIATE_ACK (draft-ietf-quic-ack-frequency-11),
//! those of Multipath QUIC (draft-ietf-quic-multipath-21 section 4).
//!
//! | modelled | encoding |
//! | --- | --- |
//! | Length of a long header | two bytes, as quinn, quic-go and aioquic write it, if it fits |
//! | token of an Initial packet | empty |
//! | connection ID and reset token of NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID | 8 and 16 bytes |
//! | ACK Delay | in units of 8 us, the default exponent (section 18.2) |
//! | reason of CONNECTION_CLOSE | empty |
//! | DATAGRAM | with Length (type 0x31): it may be followed by another frame |

use super::{varint_length, write_varint as varint, zeros};
use crate::quic::model::{AckFrame, PacketFormat, PacketSpace, QuicFrame, QuicPacket, Wire};
use crate::time::Duration;

const VERSION: u32 = 1;
/// Tokens and IDs of NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID.
const CONNECTION_ID: usize = 8;
const RESET_TOKEN: usize = 16;

const ACK: u64 = 0x02;
/// draft-ietf-quic-multipath-21, section 4.1.
const PATH_ACK: u64 = 0x3e;
/// The same, section 4.4.
const PATH_NEW_CONNECTION_ID: u64 = 0x3e78;

/// Length in bytes of the Length field, which counts packet number, frames and tag (section 17.2).
fn length_length(format: &PacketFormat, payload: usize) -> usize {
    varint_length(length_field(format, payload)).max(2)
}

fn length_field(format: &PacketFormat, payload: usize) -> u64 {
    (usize::from(format.number_length) + payload + Wire::V1.tag_length()) as u64
}

pub(super) fn header_length(format: &PacketFormat, space: PacketSpace, payload: usize) -> usize {
    let number = usize::from(format.number_length);
    let destination = usize::from(format.destination_id);
    if space == PacketSpace::OneRtt {
        return 1 + destination + number;
    }
    let token = usize::from(space == PacketSpace::Initial); // an empty token: its length
    let ids = 1 + destination + 1 + usize::from(format.source_id);
    1 + 4 + ids + token + length_length(format, payload) + number
}

pub(super) fn encode_header(packet: &QuicPacket, out: &mut Vec<u8>) {
    let format = &packet.format;
    let number_bits = format.number_length - 1;
    let long = match packet.space {
        PacketSpace::Initial => Some(0x00),
        PacketSpace::ZeroRtt => Some(0x10),
        PacketSpace::Handshake => Some(0x20),
        PacketSpace::OneRtt => None,
    };
    if let Some(packet_type) = long {
        out.push(0xc0 | packet_type | number_bits); // header form, fixed bit
        out.extend_from_slice(&VERSION.to_be_bytes());
        for id in [format.destination_id, format.source_id] {
            out.push(id);
            zeros(out, usize::from(id));
        }
        if packet.space == PacketSpace::Initial {
            out.push(0);
        }
        let payload = packet.payload_length();
        let length = length_field(format, payload);
        match length_length(format, payload) {
            2 => out.extend_from_slice(&(0x4000 | length as u16).to_be_bytes()),
            _ => varint(out, length),
        }
    } else {
        out.push(0x40 | number_bits); // fixed bit; spin bit and key phase are zero
        zeros(out, usize::from(format.destination_id));
    }
    let number = packet.number.to_be_bytes();
    out.extend_from_slice(&number[8 - usize::from(format.number_length)..]);
}

/// Whole microseconds.
fn micros(duration: Duration) -> u64 {
    duration.as_nanos() / 1000
}

/// Fields of a frame that consists of a type and integers, as most do; `None` if it has other fields.
fn integers(frame: &QuicFrame) -> Option<(u64, [Option<u64>; 4])> {
    let one = |a| [Some(a), None, None, None];
    let two = |a, b| [Some(a), Some(b), None, None];
    let three = |a, b, c| [Some(a), Some(b), Some(c), None];
    Some(match *frame {
        QuicFrame::Ping => (0x01, [None; 4]),
        QuicFrame::ResetStream { stream_id, error_code, final_size } => {
            (0x04, three(stream_id, error_code, final_size))
        }
        QuicFrame::StopSending { stream_id, error_code } => (0x05, two(stream_id, error_code)),
        QuicFrame::MaxData { maximum } => (0x10, one(maximum)),
        QuicFrame::MaxStreamData { stream_id, maximum } => (0x11, two(stream_id, maximum)),
        QuicFrame::MaxStreams { bidirectional, maximum } => (0x13 - u64::from(bidirectional), one(maximum)),
        QuicFrame::DataBlocked { limit } => (0x14, one(limit)),
        QuicFrame::StreamDataBlocked { stream_id, limit } => (0x15, two(stream_id, limit)),
        QuicFrame::StreamsBlocked { bidirectional, limit } => (0x17 - u64::from(bidirectional), one(limit)),
        QuicFrame::RetireConnectionId { sequence_number } => (0x19, one(sequence_number)),
        // error code, frame type (of transport errors only), length of the reason
        QuicFrame::ConnectionClose { application: false, error_code } => (0x1c, three(error_code, 0, 0)),
        QuicFrame::ConnectionClose { application: true, error_code } => (0x1d, two(error_code, 0)),
        QuicFrame::HandshakeDone => (0x1e, [None; 4]),
        QuicFrame::ImmediateAck => (0x1f, [None; 4]),
        QuicFrame::PathAbandon { path, error_code } => (0x3e75, two(path.into(), error_code)),
        QuicFrame::PathStatus { path, backup, sequence_number } => {
            (0x3e77 - u64::from(backup), two(path.into(), sequence_number))
        }
        QuicFrame::MaxPathId { maximum } => (0x3e7a, one(maximum.into())),
        QuicFrame::PathsBlocked { maximum } => (0x3e7b, one(maximum.into())),
        QuicFrame::PathCidsBlocked { path, next_sequence_number } => {
            (0x3e7c, two(path.into(), next_sequence_number))
        }
        QuicFrame::AckFrequency {
            sequence_number,
            ack_eliciting_threshold,
            request_max_ack_delay,
            reordering_threshold,
        } => {
            let delay = micros(request_max_ack_delay);
            let [packets, reordering] = [ack_eliciting_threshold, reordering_threshold].map(u64::from);
            let rest = [packets, delay, reordering].map(Some);
            (0xaf, [Some(sequence_number), rest[0], rest[1], rest[2]])
        }
        _ => return None,
    })
}

pub(super) fn frame_length(frame: &QuicFrame) -> usize {
    match frame {
        QuicFrame::Stream { stream_id, offset, length, last, .. } => {
            let offset = if *offset == 0 { 0 } else { varint_length(*offset) };
            let field = if *last { 0 } else { varint_length(u64::from(*length)) };
            1 + varint_length(*stream_id) + offset + field + usize::from(*length)
        }
        QuicFrame::Ack(ack) => ack_length(ack),
        QuicFrame::Padding { length } => usize::from(*length),
        QuicFrame::Crypto { offset, length, .. } => {
            1 + varint_length(*offset) + varint_length(u64::from(*length)) + usize::from(*length)
        }
        QuicFrame::NewConnectionId { sequence_number } => {
            1 + varint_length(*sequence_number) + 1 + 1 + CONNECTION_ID + RESET_TOKEN
        }
        QuicFrame::PathNewConnectionId { path, sequence_number } => {
            let fields = [PATH_NEW_CONNECTION_ID, u64::from(*path), *sequence_number].map(varint_length);
            fields.iter().sum::<usize>() + 1 + 1 + CONNECTION_ID + RESET_TOKEN
        }
        QuicFrame::PathChallenge | QuicFrame::PathResponse => 1 + 8,
        QuicFrame::Datagram { length, .. } => 1 + varint_length(u64::from(*length)) + usize::from(*length),
        QuicFrame::StopWaiting { .. } => no_such_frame(),
        frame => {
            let (frame_type, fields) = integers(frame).expect("every other frame is above");
            varint_length(frame_type) + fields.into_iter().flatten().map(varint_length).sum::<usize>()
        }
    }
}

/// STOP_WAITING acknowledges acknowledgements in gQUIC; in version 1 the ACK of an ACK does.
fn no_such_frame() -> ! {
    unreachable!("QUIC version 1 has no STOP_WAITING frame")
}

pub(super) fn encode_frame(frame: &QuicFrame, out: &mut Vec<u8>) {
    match frame {
        QuicFrame::Stream { stream_id, offset, length, fin, last, .. } => {
            let bits = u8::from(*offset > 0) << 2 | u8::from(!*last) << 1 | u8::from(*fin);
            out.push(0x08 | bits);
            varint(out, *stream_id);
            if *offset > 0 {
                varint(out, *offset);
            }
            if !*last {
                varint(out, u64::from(*length));
            }
            zeros(out, usize::from(*length));
        }
        QuicFrame::Ack(ack) => encode_ack(ack, out),
        QuicFrame::Padding { length } => zeros(out, usize::from(*length)),
        QuicFrame::Crypto { offset, length, .. } => {
            out.push(0x06);
            varint(out, *offset);
            varint(out, u64::from(*length));
            zeros(out, usize::from(*length));
        }
        QuicFrame::NewConnectionId { sequence_number } => {
            out.push(0x18);
            encode_connection_id(*sequence_number, out);
        }
        QuicFrame::PathNewConnectionId { path, sequence_number } => {
            varint(out, PATH_NEW_CONNECTION_ID);
            varint(out, u64::from(*path));
            encode_connection_id(*sequence_number, out);
        }
        QuicFrame::PathChallenge | QuicFrame::PathResponse => {
            out.push(if *frame == QuicFrame::PathChallenge { 0x1a } else { 0x1b });
            zeros(out, 8);
        }
        QuicFrame::Datagram { length, .. } => {
            out.push(0x31);
            varint(out, u64::from(*length));
            zeros(out, usize::from(*length));
        }
        QuicFrame::StopWaiting { .. } => no_such_frame(),
        frame => {
            let (frame_type, fields) = integers(frame).expect("every other frame is above");
            varint(out, frame_type);
            fields.into_iter().flatten().for_each(|field| varint(out, field));
        }
    }
}

/// Encodes the fields common to NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID.
fn encode_connection_id(sequence_number: u64, out: &mut Vec<u8>) {
    varint(out, sequence_number);
    out.push(0); // Retire Prior To
    out.push(CONNECTION_ID as u8);
    zeros(out, CONNECTION_ID + RESET_TOKEN);
}

/// Fields of an ACK frame whose size does not depend on the number of ranges (section 19.3).
struct AckFields {
    frame_type: u64,
    /// Path ID, of PATH_ACK only.
    path: Option<u64>,
    largest: u64,
    /// ACK Delay as encoded.
    delay: u64,
    /// ECT(0), ECT(1), CE.
    ecn: Option<[u64; 3]>,
}

impl AckFields {
    fn new(ack: &AckFrame) -> Self {
        let largest = *ack.ranges[0].end();
        let path = ack.path.map(u64::from);
        let ecn = ack.ecn.map(|counts| [counts.ect0, counts.ect1, counts.ce]);
        let frame_type = if path.is_some() { PATH_ACK } else { ACK } + u64::from(ecn.is_some());
        Self { frame_type, path, largest, delay: micros(ack.delay) >> 3, ecn }
    }

    fn length(&self) -> usize {
        let always = [self.frame_type, self.largest, self.delay].map(varint_length).iter().sum::<usize>();
        let ecn = self.ecn.map_or(0, |counts| counts.map(varint_length).iter().sum());
        always + self.path.map_or(0, varint_length) + ecn
    }
}

/// First ACK Range.
fn first_range(ack: &AckFrame) -> u64 {
    ack.ranges[0].end() - ack.ranges[0].start()
}

/// Gap and ACK Range Length of the ranges after the first: "one less than the number of contiguous
/// unacknowledged packets", "contiguous acknowledged packets preceding the largest" (section 19.3.1).
fn further_ranges(ack: &AckFrame) -> impl Iterator<Item = (u64, u64)> {
    ack.ranges.windows(2).map(|pair| (pair[0].start() - pair[1].end() - 2, pair[1].end() - pair[1].start()))
}

pub(super) fn ack_length(ack: &AckFrame) -> usize {
    let ranges: usize =
        further_ranges(ack).map(|(gap, range)| varint_length(gap) + varint_length(range)).sum();
    let count = varint_length(ack.ranges.len() as u64 - 1);
    AckFields::new(ack).length() + count + varint_length(first_range(ack)) + ranges
}

pub(super) fn ack_fit(ack: &AckFrame, room: usize) -> usize {
    let mut length = AckFields::new(ack).length() + varint_length(first_range(ack));
    if length + 1 > room {
        return 0;
    }
    let mut fitting = 1;
    for (gap, range) in further_ranges(ack) {
        length += varint_length(gap) + varint_length(range);
        if length + varint_length(fitting as u64) > room {
            break;
        }
        fitting += 1;
    }
    fitting
}

fn encode_ack(ack: &AckFrame, out: &mut Vec<u8>) {
    let fields = AckFields::new(ack);
    varint(out, fields.frame_type);
    if let Some(path) = fields.path {
        varint(out, path);
    }
    varint(out, fields.largest);
    varint(out, fields.delay);
    varint(out, ack.ranges.len() as u64 - 1);
    varint(out, first_range(ack));
    for (gap, range) in further_ranges(ack) {
        varint(out, gap);
        varint(out, range);
    }
    fields.ecn.into_iter().flatten().for_each(|count| varint(out, count));
}
