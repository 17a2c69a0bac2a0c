//! Walks the frames of a decrypted packet (RFC 9000 section 19) as far as loss tracking needs it:
//! acknowledged ranges, whether the packet is ack-eliciting, and HANDSHAKE_DONE.
//!
//! Beside RFC 9000: DATAGRAM (RFC 9221), and ACK_FREQUENCY and IMMEDIATE_ACK as both stacks number
//! them (draft-ietf-quic-ack-frequency-04).

use std::ops::RangeInclusive;

/// The payload is not a sequence of known, complete frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What a packet holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Holds a frame other than ACK, PADDING and CONNECTION_CLOSE (RFC 9002 section 2).
    pub(crate) ack_eliciting: bool,
    /// Holds HANDSHAKE_DONE.
    pub(crate) handshake_done: bool,
}

/// Walks `payload`; `acknowledged` is called with each range of each ACK frame, descending.
pub(crate) fn walk(
    payload: &[u8],
    mut acknowledged: impl FnMut(RangeInclusive<u64>),
) -> Result<Summary, Malformed> {
    let mut reader = Reader { bytes: payload };
    let mut summary = Summary::default();
    while !reader.bytes.is_empty() {
        let kind = reader.varint()?;
        summary.ack_eliciting |= !matches!(kind, 0x00 | 0x02 | 0x03 | 0x1c | 0x1d);
        match kind {
            // PADDING, PING, IMMEDIATE_ACK
            0x00 | 0x01 | 0x1f => {}
            0x1e => summary.handshake_done = true,
            0x02 | 0x03 => reader.ack(kind == 0x03, &mut acknowledged)?,
            // RESET_STREAM; STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
            0x04 => reader.varints(3)?,
            0x05 | 0x11 | 0x15 => reader.varints(2)?,
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => reader.varints(1)?,
            // CRYPTO
            0x06 => {
                reader.varints(1)?;
                reader.sized()?;
            }
            // NEW_TOKEN, DATAGRAM with a length
            0x07 | 0x31 => reader.sized()?,
            // STREAM: bit 2 offset, bit 1 length, bit 0 FIN
            0x08..=0x0f => {
                reader.varints(1 + usize::from(kind & 4 != 0))?;
                if kind & 2 != 0 { reader.sized()? } else { reader.rest() }
            }
            0x30 => reader.rest(),
            // NEW_CONNECTION_ID: sequence, retire prior to, connection ID, reset token
            0x18 => {
                reader.varints(2)?;
                let length = reader.skip(1)?[0];
                reader.skip(usize::from(length) + 16)?;
            }
            // PATH_CHALLENGE, PATH_RESPONSE
            0x1a | 0x1b => drop(reader.skip(8)?),
            // CONNECTION_CLOSE: error, frame type (transport errors only), reason
            0x1c | 0x1d => {
                reader.varints(1 + usize::from(kind == 0x1c))?;
                reader.sized()?;
            }
            // ACK_FREQUENCY: sequence, threshold, max_ack_delay, reordering threshold
            0xaf => reader.varints(4)?,
            _ => return Err(Malformed),
        }
    }
    Ok(summary)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn skip(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (skipped, rest) = self.bytes.split_at_checked(length).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(skipped)
    }

    fn rest(&mut self) {
        self.bytes = &[];
    }

    /// A variable-length integer (RFC 9000 section 16).
    fn varint(&mut self) -> Result<u64, Malformed> {
        let first = *self.bytes.first().ok_or(Malformed)?;
        let bytes = self.skip(1 << (first >> 6))?;
        Ok(bytes[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
    }

    fn varints(&mut self, count: usize) -> Result<(), Malformed> {
        (0..count).try_for_each(|_| self.varint().map(drop))
    }

    /// A length and as many bytes.
    fn sized(&mut self) -> Result<(), Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        self.skip(length).map(drop)
    }

    /// ACK without its type (RFC 9000 section 19.3).
    fn ack(
        &mut self,
        ecn: bool,
        acknowledged: &mut impl FnMut(RangeInclusive<u64>),
    ) -> Result<(), Malformed> {
        let largest = self.varint()?;
        self.varint()?; // delay
        let ranges = self.varint()?;
        let mut smallest = largest.checked_sub(self.varint()?).ok_or(Malformed)?;
        acknowledged(smallest..=largest);
        for _ in 0..ranges {
            // "The value of the Gap field [...] is one lower than the number of unacknowledged packets"
            let largest =
                self.varint().ok().and_then(|gap| smallest.checked_sub(gap + 2)).ok_or(Malformed)?;
            smallest = largest.checked_sub(self.varint()?).ok_or(Malformed)?;
            acknowledged(smallest..=largest);
        }
        self.varints(if ecn { 3 } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(payload: &[u8]) -> Result<(Summary, Vec<RangeInclusive<u64>>), Malformed> {
        let mut ranges = Vec::new();
        walk(payload, |range| ranges.push(range)).map(|summary| (summary, ranges))
    }

    #[test]
    fn acknowledged_ranges_by_hand() {
        // largest 100 (two bytes), delay 5, one more range, first range 10: 90..=100;
        // gap 3, length 4: the next largest is 90 - 3 - 2 = 85, so 81..=85; then ECN counts
        let ack = [0x03, 0x40, 100, 5, 1, 10, 3, 4, 1, 2, 0];
        let (summary, found) = ranges(&ack).unwrap();
        assert_eq!(found, [90..=100, 81..=85]);
        assert_eq!(summary, Summary::default());
        assert_eq!(ranges(&ack[..ack.len() - 1]), Err(Malformed));
        assert_eq!(ranges(&[0x02, 5, 0, 0, 6]), Err(Malformed), "a range below zero");
    }

    #[test]
    fn every_frame_is_skipped_to_its_end() {
        let cases: &[&[u8]] = &[
            &[0x01],
            &[0x04, 1, 2, 3],
            &[0x05, 1, 2],
            &[0x06, 0, 2, 0xff, 0xff],
            &[0x07, 1, 0xff],
            &[0x0e, 1, 0x40, 0x80, 1, 0xff],
            &[0x0b, 1, 0],
            &[0x10, 1],
            &[0x11, 1, 2],
            &[0x12, 1],
            &[0x18, 1, 0, 2, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
            &[0x1a, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x31, 1, 0xff],
            &[0x40, 0xaf, 1, 2, 3, 4],
            &[0x1f],
        ];
        for case in cases {
            // HANDSHAKE_DONE after it is seen only if the frame ends where it should
            let mut payload = case.to_vec();
            payload.push(0x1e);
            let summary = walk(&payload, |_| ()).unwrap();
            assert_eq!(summary, Summary { ack_eliciting: true, handshake_done: true }, "{case:x?}");
            if case.len() > 1 {
                assert_eq!(walk(&case[..case.len() - 1], |_| ()), Err(Malformed), "{case:x?}");
            }
        }
        for case in [&[0x1c, 0, 0, 1, b'x'][..], &[0x1d, 0, 0], &[0, 0, 0]] {
            assert_eq!(walk(case, |_| ()), Ok(Summary::default()), "{case:x?}");
        }
        assert_eq!(walk(&[0x20], |_| ()), Err(Malformed));
    }
}
