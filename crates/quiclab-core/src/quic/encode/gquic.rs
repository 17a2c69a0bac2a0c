//! Google QUIC 37 (version tag `Q037`): public header and frames.
//!
//! After Chromium's `quic_framer.cc` of 2017 (`AppendPacketHeader`, `ComputeFrameLength`,
//! `AppendTypeByte`, `AppendAckFrameAndTypeByte`, branches for versions before 38 and 40) and the "QUIC
//! wire layout specification". Integers are little-endian before version 39.
//!
//! | frame of the model | on the wire |
//! | --- | --- |
//! | CRYPTO | STREAM of stream 1 |
//! | STREAM of the n-th stream | stream 2n + 5 of a client (3 is for headers), 2n + 2 of a server |
//! | MAX_DATA, MAX_STREAM_DATA | WINDOW_UPDATE; of stream 0 for the connection |
//! | DATA_BLOCKED, STREAM_DATA_BLOCKED | BLOCKED, likewise |
//! | RESET_STREAM | RST_STREAM |
//! | PADDING | a type of 0 and zeros up to the end of the packet |
//! | PING, ACK, CONNECTION_CLOSE, STOP_WAITING | themselves |
//! | every other | there is none: a bug if sent |
//!
//! | packet | header |
//! | --- | --- |
//! | `Initial`, `ZeroRtt`: of a client that has received nothing from the server | with version |
//! | `Handshake`, `OneRtt` | without |
//!
//! Differences: an ACK frame has no receive timestamps (Chromium of that time adds 5 B for the first packet
//! and 3 B for each further one since the last ACK); packets with the server hello lack the diversification
//! nonce (32 B); gaps beyond 255 are omitted, as in Chromium.

use super::zeros;
use crate::quic::model::{AckFrame, PacketFormat, PacketSpace, QuicFrame, QuicPacket};
use crate::time::Duration;

/// Maximum length of a packet number in bytes.
pub(super) const MAX_NUMBER_LENGTH: usize = 6;
const TAG: [u8; 4] = *b"Q037";
/// Maximum number of ACK blocks after the first: their number has one byte.
const MAX_BLOCKS: u64 = 255;
/// Largest gap that a block can express.
const MAX_GAP: u64 = 255;
const CRYPTO_STREAM: u64 = 1;

fn has_version(space: PacketSpace) -> bool {
    matches!(space, PacketSpace::Initial | PacketSpace::ZeroRtt)
}

pub(super) fn header_length(format: &PacketFormat, space: PacketSpace) -> usize {
    let version = if has_version(space) { TAG.len() } else { 0 };
    1 + usize::from(format.destination_id) + version + usize::from(format.number_length)
}

pub(super) fn encode_header(packet: &QuicPacket, out: &mut Vec<u8>) {
    let format = &packet.format;
    let version = has_version(packet.space);
    // a client marks its connection ID with a second bit, for servers older than version 33
    let id = match (format.destination_id, version) {
        (0, _) => 0,
        (_, true) => 0x0c,
        (_, false) => 0x08,
    };
    out.push(number_flags(usize::from(format.number_length)) << 4 | id | u8::from(version));
    zeros(out, usize::from(format.destination_id));
    if version {
        out.extend_from_slice(&TAG);
    }
    little_endian(out, packet.number, usize::from(format.number_length));
}

/// Appends the `length` low bytes of `value`.
fn little_endian(out: &mut Vec<u8>, value: u64, length: usize) {
    out.extend_from_slice(&value.to_le_bytes()[..length]);
}

/// Minimum length of a packet number in bytes (`GetMinPacketNumberLength`).
fn number_length(number: u64) -> usize {
    match number {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x1_0000_0000 => 4,
        _ => MAX_NUMBER_LENGTH,
    }
}

/// Two bits that encode the length of a packet number.
fn number_flags(length: usize) -> u8 {
    match length {
        1 => 0,
        2 => 1,
        4 => 2,
        MAX_NUMBER_LENGTH => 3,
        _ => unreachable!("a packet number of gQUIC has 1, 2, 4 or 6 bytes"),
    }
}

/// Number of bytes that `value` needs, at least one.
fn bytes(value: u64) -> usize {
    (64 - value.leading_zeros() as usize).div_ceil(8).max(1)
}

/// Stream ID of gQUIC for one of version 1, whose low bits are initiator and direction.
fn stream(id: u64) -> u64 {
    if id & 1 == 0 { 2 * (id >> 2) + 5 } else { 2 * (id >> 2) + 2 }
}

/// Length of an offset in bytes: 0 or 2 to 8.
fn offset_length(offset: u64) -> usize {
    if offset == 0 { 0 } else { bytes(offset).max(2) }
}

fn stream_length(id: u64, offset: u64, length: u16, last: bool) -> usize {
    1 + bytes(id) + offset_length(offset) + if last { 0 } else { 2 } + usize::from(length)
}

pub(super) fn frame_length(frame: &QuicFrame, number_length: usize) -> usize {
    match frame {
        QuicFrame::Padding { length } => usize::from(*length),
        QuicFrame::Ping => 1,
        QuicFrame::Ack(ack) => ack_length(ack),
        QuicFrame::Crypto { offset, length, .. } => stream_length(CRYPTO_STREAM, *offset, *length, false),
        QuicFrame::Stream { stream_id, offset, length, last, .. } => {
            stream_length(stream(*stream_id), *offset, *length, *last)
        }
        QuicFrame::ResetStream { .. } => 1 + 4 + 8 + 4,
        QuicFrame::MaxData { .. } | QuicFrame::MaxStreamData { .. } => 1 + 4 + 8,
        QuicFrame::DataBlocked { .. } | QuicFrame::StreamDataBlocked { .. } => 1 + 4,
        QuicFrame::ConnectionClose { .. } => 1 + 4 + 2,
        QuicFrame::StopWaiting { .. } => 1 + number_length,
        frame => no_such_frame(frame),
    }
}

/// Frames added by version 1: in gQUIC streams are limited once and for all in the handshake, which ends with
/// the server hello; a client chooses the only connection ID; one RST_STREAM ends both directions.
fn no_such_frame(frame: &QuicFrame) -> ! {
    unreachable!("gQUIC 37 has no counterpart of {frame:?}")
}

pub(super) fn encode_frame(frame: &QuicFrame, packet: &QuicPacket, out: &mut Vec<u8>) {
    match *frame {
        QuicFrame::Padding { length } => zeros(out, usize::from(length)),
        QuicFrame::Ping => out.push(0x07),
        QuicFrame::Ack(ref ack) => encode_ack(ack, out),
        QuicFrame::Crypto { offset, length, .. } => {
            encode_stream(out, CRYPTO_STREAM, offset, length, false, false);
        }
        QuicFrame::Stream { stream_id, offset, length, fin, last, .. } => {
            encode_stream(out, stream(stream_id), offset, length, fin, last);
        }
        QuicFrame::ResetStream { stream_id, error_code, final_size } => {
            out.push(0x01);
            little_endian(out, stream(stream_id), 4);
            little_endian(out, final_size, 8);
            little_endian(out, error_code, 4);
        }
        QuicFrame::MaxData { maximum } => encode_window(out, 0, maximum),
        QuicFrame::MaxStreamData { stream_id, maximum } => encode_window(out, stream(stream_id), maximum),
        QuicFrame::DataBlocked { .. } => encode_blocked(out, 0),
        QuicFrame::StreamDataBlocked { stream_id, .. } => encode_blocked(out, stream(stream_id)),
        QuicFrame::ConnectionClose { error_code, .. } => {
            out.push(0x02);
            little_endian(out, error_code, 4);
            zeros(out, 2); // length of the reason
        }
        QuicFrame::StopWaiting { least } => {
            out.push(0x06);
            little_endian(out, packet.number - least, usize::from(packet.format.number_length));
        }
        ref frame => no_such_frame(frame),
    }
}

/// Type `1fdooossB`: FIN, data length present, length of the offset, length of the stream ID.
fn encode_stream(out: &mut Vec<u8>, id: u64, offset: u64, length: u16, fin: bool, last: bool) {
    let offset_bits = offset_length(offset).saturating_sub(1) as u8;
    let id_bits = bytes(id) as u8 - 1;
    out.push(0x80 | u8::from(fin) << 6 | u8::from(!last) << 5 | offset_bits << 2 | id_bits);
    little_endian(out, id, bytes(id));
    little_endian(out, offset, offset_length(offset));
    if !last {
        little_endian(out, u64::from(length), 2);
    }
    zeros(out, usize::from(length));
}

fn encode_window(out: &mut Vec<u8>, stream: u64, maximum: u64) {
    out.push(0x04);
    little_endian(out, stream, 4);
    little_endian(out, maximum, 8);
}

fn encode_blocked(out: &mut Vec<u8>, stream: u64) {
    out.push(0x05);
    little_endian(out, stream, 4);
}

/// Length in bytes of an ACK frame with `blocks` blocks after the first, the longest of `longest` packets.
fn sized_ack(largest: u64, blocks: u64, longest: u64) -> usize {
    let block = number_length(longest);
    // type, largest, delay, number of blocks, first block, gap and length of each, number of timestamps
    let count = usize::from(blocks > 0);
    1 + number_length(largest) + 2 + count + block + blocks as usize * (1 + block) + 1
}

/// Number of packets missing before each range after the first, and number of packets in it.
fn further_ranges(ack: &AckFrame) -> impl Iterator<Item = (u64, u64)> {
    ack.ranges
        .windows(2)
        .map(|pair| (pair[0].start() - pair[1].end() - 1, pair[1].end() - pair[1].start() + 1))
}

/// Number of packets in the first range.
fn first_range(ack: &AckFrame) -> u64 {
    ack.ranges[0].end() - ack.ranges[0].start() + 1
}

/// Number of blocks after the first and of packets in the longest; a long gap takes blocks of no packets.
fn blocks(ack: &AckFrame) -> (u64, u64) {
    let (count, longest) = further_ranges(ack)
        .fold((0, first_range(ack)), |(count, longest), (gap, length)| {
            (count + gap.div_ceil(MAX_GAP), longest.max(length))
        });
    (count.min(MAX_BLOCKS), longest)
}

pub(super) fn ack_length(ack: &AckFrame) -> usize {
    let (count, longest) = blocks(ack);
    sized_ack(*ack.ranges[0].end(), count, longest)
}

pub(super) fn ack_fit(ack: &AckFrame, room: usize) -> usize {
    let largest = *ack.ranges[0].end();
    let (mut count, mut longest) = (0, first_range(ack));
    if sized_ack(largest, count, longest) > room {
        return 0;
    }
    let mut fitting = 1;
    for (gap, length) in further_ranges(ack) {
        count += gap.div_ceil(MAX_GAP);
        longest = longest.max(length);
        if count > MAX_BLOCKS || sized_ack(largest, count, longest) > room {
            break;
        }
        fitting += 1;
    }
    fitting
}

/// Type `01ntllmmB`: more than one block, lengths of the largest number and of a block.
fn encode_ack(ack: &AckFrame, out: &mut Vec<u8>) {
    let largest = *ack.ranges[0].end();
    let (count, longest) = blocks(ack);
    let (largest_length, block_length) = (number_length(largest), number_length(longest));
    let lengths = number_flags(largest_length) << 2 | number_flags(block_length);
    out.push(0x40 | u8::from(count > 0) << 5 | lengths);
    little_endian(out, largest, largest_length);
    little_endian(out, u64::from(float16(ack.delay)), 2);
    if count > 0 {
        out.push(count as u8);
    }
    little_endian(out, first_range(ack), block_length);
    let mut left = count;
    for (mut gap, length) in further_ranges(ack) {
        while gap > MAX_GAP && left > 0 {
            out.push(MAX_GAP as u8);
            zeros(out, block_length);
            gap -= MAX_GAP;
            left -= 1;
        }
        if left == 0 {
            break;
        }
        out.push(gap as u8);
        little_endian(out, length, block_length);
        left -= 1;
    }
    out.push(0); // timestamps
}

/// Microseconds as a float of 5 bits of exponent and 11 of mantissa with an implicit highest bit
/// (`QuicDataWriter::WriteUFloat16`).
fn float16(delay: Duration) -> u16 {
    const MANTISSA: u32 = 11;
    let value = delay.as_nanos() / 1000;
    let exponent = (64 - value.leading_zeros()).saturating_sub(MANTISSA + 1);
    if exponent > 30 {
        return u16::MAX;
    }
    // the highest bit of the mantissa is not stored and carries into the exponent
    ((value >> exponent) + (u64::from(exponent) << MANTISSA)) as u16
}
