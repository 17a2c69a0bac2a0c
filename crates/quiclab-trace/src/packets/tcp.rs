//! TCP headers: their use of sequence space (RFC 9293 section 3.1), and their number of SACK blocks (RFC 2018).

use super::Content;
use super::sequence::Numbers;
use quiclab_core::ip::TCP_HEADER;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Numbers of a header, of which at least 16 bytes are present.
pub(super) fn numbers(header: &[u8], payload_bytes: usize) -> Numbers {
    let word = |at: usize| u32::from_be_bytes(*header[at..].first_chunk().expect("16 bytes are there"));
    let flags = header[13];
    let length = payload_bytes as u32 + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    Numbers { sequence: word(4), acknowledgement: word(8), length, flags }
}

/// Reads a header, of which at least 16 bytes are present. The second value: whether options are complete.
pub(super) fn segment(header: &[u8], payload_bytes: usize) -> (Content<'static>, bool) {
    let Numbers { sequence, acknowledgement, length, flags } = numbers(header, payload_bytes);
    let whole = header.len() >= usize::from(header[12] >> 4) * 4;
    let content = Content::Segment {
        sequence,
        acknowledgement: (flags & ACK != 0).then_some(acknowledgement),
        length,
        control: flags & (SYN | FIN | RST) != 0,
        window: u16::from_be_bytes([header[14], header[15]]),
        sack_blocks: sack_blocks(header.get(TCP_HEADER..).unwrap_or_default()),
    };
    (content, whole)
}

fn sack_blocks(mut options: &[u8]) -> u8 {
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [5, length, ..] if length >= 10 => return (length - 2) / 8,
            // the end of the options, or one without a length
            [0, ..] | [_, 0 | 1, ..] | [] | [_] => return 0,
            [_, length, ..] => options = options.get(usize::from(length)..).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sack_blocks;

    #[test]
    fn blocks_of_a_sack_option() {
        // NOP, NOP, timestamps, NOP, NOP, SACK of two blocks, as Linux writes them
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 18];
        options.extend([7; 16]);
        assert_eq!(sack_blocks(&options), 2);
        for wrong in
            [&[][..], &[0, 5, 10], &[5], &[5, 0], &[5, 9], &[8, 1, 5, 10], &[8, 255, 5, 10], &[1; 40]]
        {
            assert_eq!(sack_blocks(wrong), 0, "{wrong:?}");
        }
    }
}
