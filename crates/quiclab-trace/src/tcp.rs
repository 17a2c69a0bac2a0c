//! The TCP header of a modelled segment, for captures.
//!
//! After RFC 9293 section 3.1, RFC 7323 (window scale, timestamps), RFC 2018 (SACK) and RFC 9768 (AccECN). Options are in
//! the order and with the padding of Linux (`tcp_options_write` in net/ipv4/tcp_output.c), as
//! [`Segment::header_bytes`] counts them:
//!
//! | segment | options |
//! | --- | --- |
//! | SYN | MSS; SACK-permitted and timestamps in 12 bytes, or either after two NOPs; AccECN (SYN-ACK), NOP; NOP, window scale |
//! | other | NOP, NOP, timestamps; AccECN; SACK, with AccECN and NOPs as [`quiclab_core::AccEcnOption::length`] counts them |
//!
//! Differences from a segment on a network:
//!
//! | field | value |
//! | --- | --- |
//! | sequence and acknowledgement numbers | low 32 bits of positions: both initial sequence numbers are 0 |
//! | checksum | as if the payload, which is not in the capture, were zeros |
//! | urgent pointer | 0 |

use quiclab_core::{AccEcnOption, FiveTuple, Flags, Segment, SegmentOptions};
use std::collections::BTreeMap;

/// "The maximum size of the TCP header is 60 bytes": the data offset has four bits (RFC 9293 section 3.1).
const MAX_HEADER_BYTES: usize = 60;
/// "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP [...] MUST use 14"
/// (RFC 7323 section 2.3).
const MAX_SHIFT: u8 = 14;

const MAXIMUM_SEGMENT_SIZE: [u8; 2] = [2, 4];
const NOP: u8 = 1;
const WINDOW_SCALE: [u8; 2] = [3, 3];
const SACK_PERMITTED: [u8; 2] = [4, 2];
const SACK: u8 = 5;
const TIMESTAMPS: [u8; 2] = [8, 10];

/// Window scales announced by the SYNs of a capture, by direction.
#[derive(Debug, Default)]
pub(crate) struct WindowScales(BTreeMap<FiveTuple, Option<u8>>);

impl WindowScales {
    /// Stores the window scale of `segment` if it is a SYN.
    pub(crate) fn note(&mut self, tuple: FiveTuple, segment: &Segment) {
        if let Some(SegmentOptions::Syn { window_scale, .. }) = segment.options.as_deref() {
            self.0.insert(tuple, *window_scale);
        }
    }

    /// Shift of the windows in segments of `tuple` other than SYNs: from its SYN, or 0 if none was seen.
    ///
    /// Both ends "MUST send Window Scale options in their <SYN> segments to enable window scaling in either
    /// direction" (RFC 7323 section 2.2): a SYN of the peer without one disables it.
    fn shift(&self, tuple: FiveTuple) -> u8 {
        match (self.0.get(&tuple), self.0.get(&tuple.reverse())) {
            (_, Some(None)) | (None | Some(None), _) => 0,
            (Some(Some(shift)), _) => (*shift).min(MAX_SHIFT),
        }
    }
}

/// Length of the header of `segment`. `available`: bytes of the packet that are available for it, which
/// determine whether the connection has timestamps.
pub(crate) fn header_bytes(segment: &Segment, available: usize) -> usize {
    segment.header_bytes(timestamps(segment, available)) as usize
}

fn timestamps(segment: &Segment, available: usize) -> bool {
    available as u64 >= segment.header_bytes(true)
}

/// Appends the header of `segment` with checksum 0; `available` as for [`header_bytes`].
pub(crate) fn header(
    out: &mut Vec<u8>,
    tuple: FiveTuple,
    segment: &Segment,
    available: usize,
    scales: &WindowScales,
) {
    let start = out.len();
    let syn = segment.flags.has(Flags::SYN);
    // "The window field in a segment where the SYN bit is set [...] MUST NOT be scaled" (RFC 7323 section 2.2)
    let shift = if syn { 0 } else { scales.shift(tuple) };
    let window = u16::try_from(segment.window >> shift).unwrap_or(u16::MAX);
    // without ACK the field is not valid; Linux leaves 0 there
    let acknowledgement = if segment.flags.has(Flags::ACK) { segment.acknowledgement } else { 0 };
    out.extend_from_slice(&tuple.source().port().to_be_bytes());
    out.extend_from_slice(&tuple.destination().port().to_be_bytes());
    out.extend_from_slice(&low_bits(segment.sequence));
    out.extend_from_slice(&low_bits(acknowledgement));
    out.extend_from_slice(&segment.flags.header_bits().to_be_bytes());
    out.extend_from_slice(&window.to_be_bytes());
    out.extend_from_slice(&[0; 4]); // checksum, urgent pointer
    match segment.options.as_deref() {
        Some(&SegmentOptions::Syn { .. }) => syn_options(out, segment),
        _ => options(out, segment, timestamps(segment, available)),
    }
    let bytes = out.len() - start;
    debug_assert!(bytes <= MAX_HEADER_BYTES, "at most four SACK blocks, three with timestamps");
    debug_assert_eq!(bytes, header_bytes(segment, available));
    out[start + 12] |= ((bytes / 4) as u8) << 4; // data offset in words
}

fn syn_options(out: &mut Vec<u8>, segment: &Segment) {
    let Some(&SegmentOptions::Syn { mss, window_scale, sack, timestamps, accecn }) =
        segment.options.as_deref()
    else {
        return;
    };
    out.extend_from_slice(&MAXIMUM_SEGMENT_SIZE);
    out.extend_from_slice(&mss.to_be_bytes());
    if timestamps {
        out.extend_from_slice(if sack { &SACK_PERMITTED } else { &[NOP; 2] });
        stamps(out, segment);
    }
    if accecn {
        accurate_ecn(out, AccEcnOption::INITIAL);
        out.push(NOP);
    }
    if sack && !timestamps {
        out.extend_from_slice(&[NOP; 2]);
        out.extend_from_slice(&SACK_PERMITTED);
    }
    if let Some(shift) = window_scale {
        out.push(NOP);
        out.extend_from_slice(&WINDOW_SCALE);
        out.push(shift);
    }
}

/// Kind, length and 24 bits for each field (RFC 9768 section 3.2.3).
fn accurate_ecn(out: &mut Vec<u8>, option: AccEcnOption) {
    out.extend_from_slice(&[AccEcnOption::KIND, option.option_length()]);
    for counter in option.counters.iter().take(usize::from(option.fields)) {
        out.extend_from_slice(&counter.to_be_bytes()[1..]);
    }
}

fn options(out: &mut Vec<u8>, segment: &Segment, timestamps: bool) {
    if timestamps {
        out.extend_from_slice(&[NOP; 2]);
        stamps(out, segment);
    }
    let blocks = segment.sack();
    // bytes of the option beyond a word, which may take the place of NOPs of SACK
    let mut over = 0;
    if let Some(option) = segment.accecn() {
        accurate_ecn(out, option);
        over = usize::from(option.option_length() % 4);
        if over > 2 || blocks.is_empty() {
            out.resize(out.len() + (4 - over) % 4, NOP);
            over = 0;
        }
    }
    if !blocks.is_empty() {
        out.resize(out.len() + 2 - over, NOP);
        // kind, length and eight bytes per block (RFC 2018 section 3)
        out.extend_from_slice(&[SACK, 2 + 8 * blocks.len() as u8]);
        for &(left, right) in blocks {
            out.extend_from_slice(&low_bits(left));
            out.extend_from_slice(&low_bits(right));
        }
    }
}

/// TSval and TSecr (RFC 7323 section 3.2).
fn stamps(out: &mut Vec<u8>, segment: &Segment) {
    out.extend_from_slice(&TIMESTAMPS);
    out.extend_from_slice(&segment.timestamp.to_be_bytes());
    out.extend_from_slice(&segment.timestamp_echo.to_be_bytes());
}

/// A sequence number on the wire: a position modulo 2^32 (RFC 9293 section 3.4).
const fn low_bits(position: u64) -> [u8; 4] {
    (position as u32).to_be_bytes()
}
