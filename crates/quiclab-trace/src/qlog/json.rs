//! JSON values appended to a byte buffer, without intermediate trees or allocation.
//!
//! Field names and punctuation are appended by the callers as literals.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends the bytes of a literal or of text that is known to be valid JSON.
pub(super) fn raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// Appends a literal and an integer: `,"offset":` and 5.
///
/// All integers of QUIC fit (they are below 2^62), but those above 2^53 - 1 are not I-JSON: the draft permits
/// both, and tools expect a number.
pub(super) fn uint(out: &mut Vec<u8>, before: &str, value: u64) {
    raw(out, before);
    raw(out, itoa::Buffer::new().format(value));
}

/// Appends a literal and `value` / 10^`DIGITS` as an exact decimal without trailing zeros.
pub(super) fn decimal<const DIGITS: usize>(out: &mut Vec<u8>, before: &str, value: u64) {
    let scale = const { 10_u64.pow(DIGITS as u32) };
    uint(out, before, value / scale);
    let mut fraction = value % scale;
    if fraction == 0 {
        return;
    }
    let mut digits = [b'0'; DIGITS];
    let mut length = 0;
    for position in (0..DIGITS).rev() {
        digits[position] = b'0' + (fraction % 10) as u8;
        fraction /= 10;
        if length == 0 && digits[position] != b'0' {
            length = position + 1;
        }
    }
    out.push(b'.');
    out.extend_from_slice(&digits[..length]);
}

/// Appends a literal and `bytes` as a quoted hexstring.
pub(super) fn hex(out: &mut Vec<u8>, before: &str, bytes: &[u8]) {
    raw(out, before);
    out.push(b'"');
    hex_digits(out, bytes);
    out.push(b'"');
}

/// Appends two lowercase digits for each byte.
pub(super) fn hex_digits(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// Appends a literal and `text` as a quoted string (RFC 8259 section 7).
pub(super) fn string(out: &mut Vec<u8>, before: &str, text: &str) {
    raw(out, before);
    out.push(b'"');
    for character in text.bytes() {
        match character {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', character]),
            b'\n' => raw(out, "\\n"),
            0..=0x1f => {
                raw(out, "\\u00");
                hex_digits(out, &[character]);
            }
            _ => out.push(character),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_are_exact_and_short() {
        for (nanos, text) in [
            (0, "0"),
            (1, "0.000001"),
            (10, "0.00001"),
            (1_000_000, "1"),
            (1_500_000, "1.5"),
            (16_670_000, "16.67"),
            (180_000_000_001, "180000.000001"),
            (u64::MAX, "18446744073709.551615"),
        ] {
            assert_eq!(written(|out| decimal::<6>(out, "", nanos)), text);
        }
        assert_eq!(written(|out| decimal::<3>(out, "a:", 25)), "a:0.025");
    }

    #[test]
    fn hexstrings() {
        assert_eq!(written(|out| hex(out, "", &[0x00, 0x9f, 0xa0])), "\"009fa0\"");
        assert_eq!(written(|out| hex(out, "x", &[])), "x\"\"");
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in any::<String>()) {
            let json = written(|out| string(out, "", &text));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
