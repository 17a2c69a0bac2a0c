//! The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B), which QPACK uses (RFC 9204 section 4.1.2): decoder only.
//!
//! The code is canonical: codes of one length are consecutive numbers in the order of their symbols, and the first of a length
//! follows the last of the length before. So the lengths determine the code.

/// Length of the code of each byte in bits.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
    8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7,
    15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24,
    23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23,
    23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26,
    26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20,
    21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26,
];
/// Length of the longest code; all of its bits are 1 at the end of a string (EOS).
const MAX_LENGTH: usize = 30;

/// Codes of one length.
#[derive(Clone, Copy)]
struct Codes {
    /// The first of them.
    first: u32,
    /// Position of its symbol in the order of codes.
    offset: u16,
    count: u16,
}

/// Codes by length, and symbols in the order of codes.
struct Table {
    codes: [Codes; MAX_LENGTH + 1],
    symbols: [u8; 256],
}

const TABLE: Table = table();

const fn table() -> Table {
    let none = Codes { first: 0, offset: 0, count: 0 };
    let mut table = Table { codes: [none; MAX_LENGTH + 1], symbols: [0; 256] };
    let (mut length, mut code, mut place) = (1, 0, 0);
    while length <= MAX_LENGTH {
        code <<= 1;
        table.codes[length].first = code;
        table.codes[length].offset = place as u16;
        let mut symbol = 0;
        while symbol < 256 {
            if LENGTHS[symbol] as usize == length {
                table.symbols[place] = symbol as u8;
                table.codes[length].count += 1;
                place += 1;
                code += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    table
}

/// Decodes `coded`; `None` if there are more than `most` bytes, or if the padding is not fewer than eight bits of 1 (RFC 7541
/// section 5.2: other padding, and EOS, are errors).
#[must_use]
pub fn decode(coded: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity((coded.len() * 8 / 5).min(most));
    let (mut code, mut length) = (0_u32, 0);
    for byte in coded {
        for shift in (0..8).rev() {
            (code, length) = (code << 1 | u32::from(byte >> shift & 1), length + 1);
            if length > MAX_LENGTH {
                return None;
            }
            let codes = TABLE.codes[length];
            let index = code.wrapping_sub(codes.first);
            if index < u32::from(codes.count) {
                if out.len() == most {
                    return None;
                }
                out.push(TABLE.symbols[usize::from(codes.offset) + index as usize]);
                (code, length) = (0, 0);
            }
        }
    }
    let is_padding = length < 8 && code == (1 << length) - 1;
    is_padding.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_7541_appendix_c() {
        let examples: [(&[u8], &str); 5] = [
            (&[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff], "www.example.com"),
            (&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], "no-cache"),
            (&[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf], "custom-value"),
            (&[0x64, 0x02], "302"),
            (&[0xae, 0xc3, 0x77, 0x1a, 0x4b], "private"),
        ];
        for (coded, text) in examples {
            assert_eq!(decode(coded, 100).as_deref(), Some(text.as_bytes()));
            assert_eq!(decode(coded, text.len() - 1), None, "longer than allowed");
        }
        assert_eq!(decode(&[], 0), Some(Vec::new()));
    }

    #[test]
    fn the_code_is_complete() {
        // Kraft: all codes with EOS fill the space, and the last of 30 bits is all ones
        let sum: u64 = LENGTHS.iter().map(|length| 1_u64 << (MAX_LENGTH - usize::from(*length))).sum();
        assert_eq!(sum + 1, 1 << MAX_LENGTH);
        let last = TABLE.codes[MAX_LENGTH];
        assert_eq!(last.first + u32::from(last.count), (1 << MAX_LENGTH) - 1);
    }

    #[test]
    fn padding_is_of_ones_and_short() {
        assert_eq!(decode(&[0x64, 0x02, 0xff], 100), None, "eight bits");
        assert_eq!(decode(&[0x1f], 9), Some(b"a".to_vec()));
        assert_eq!(decode(&[0x1e], 9), None, "a zero");
        assert_eq!(decode(&[0xff, 0xff, 0xff, 0xff], 9), None, "EOS");
    }
}
