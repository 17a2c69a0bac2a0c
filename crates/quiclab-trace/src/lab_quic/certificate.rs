//! A certificate chain of exact length, in the form of RFC 8446 section 4.4.2 and RFC 5280. Keys and signatures are random
//! bytes: the certificates authenticate nothing, and a comment in them says so.

use super::random::Random;

/// Entries of the modelled chain: length 3 and, without extensions, 2.
const ENTRY: usize = 3 + 2;
/// The shortest certificate that is written.
const SHORTEST: usize = 248;
/// Lengths of serial numbers, which compensate for total lengths that a longer length field skips.
const SERIAL_BYTES: std::ops::RangeInclusive<usize> = 8..=16;
/// Bytes by which the length fields around the text can grow, at most: seven of them, by up to three bytes.
const LENGTH_FIELDS: usize = 7 * 3;
const TEXT: &[u8] = b"modelled by lab-quic: as long as a certificate, and none. ";

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const IA5_STRING: u8 = 0x16;
const UTC_TIME: u8 = 0x17;
/// Version and extensions of a TBSCertificate.
const EXPLICIT_0: u8 = 0xa0;
const EXPLICIT_3: u8 = 0xa3;

/// `id-Ed25519` (RFC 8410).
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// `id-at-commonName`.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// `netscape-comment`, 2.16.840.1.113730.1.13: text.
const COMMENT: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x86, 0xf8, 0x42, 0x01, 0x0d];

/// The body of a Certificate message of `length` bytes: two certificates, one if it is short, and none if it is too short
/// for that. `certificate_request_context` takes the remaining bytes. `None`: too short even for that.
pub(super) fn chain(length: usize, random: &Random) -> Option<Vec<u8>> {
    // context 1, length of the list 3
    let list = length.checked_sub(1 + 3)?;
    let mut entries = Vec::new();
    if let Some(both) = list.checked_sub(2 * ENTRY).filter(|both| *both >= 2 * SHORTEST) {
        for (bytes, name) in [(both - both / 2, "server"), (both / 2, "issuer")] {
            entry(&mut entries, &nearest(bytes, random, name)?);
        }
    } else if let Some(one) = list.checked_sub(ENTRY).filter(|one| *one >= SHORTEST) {
        entry(&mut entries, &nearest(one, random, "server")?);
    }
    let context = list - entries.len();
    let mut out = vec![u8::try_from(context).ok()?];
    random.append(&mut out, "context", context);
    out.extend_from_slice(&(entries.len() as u32).to_be_bytes()[1..]);
    out.extend(entries);
    Some(out)
}

fn entry(out: &mut Vec<u8>, certificate: &[u8]) {
    out.extend_from_slice(&(certificate.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(certificate);
    out.extend_from_slice(&[0, 0]);
}

/// A certificate of `length` bytes, or of one less: no DER has 259 bytes, for example, because 256 bytes of content take a
/// length field of three bytes, and 255 one of two.
fn nearest(length: usize, random: &Random, name: &str) -> Option<Vec<u8>> {
    certificate(length, random, name).or_else(|| certificate(length - 1, random, name))
}

/// A certificate of `length` bytes.
fn certificate(length: usize, random: &Random, name: &str) -> Option<Vec<u8>> {
    SERIAL_BYTES.into_iter().find_map(|serial| {
        let most = length.checked_sub(encode(serial, 0, random, name).len())?;
        // a longer text needs longer length fields around it
        let mut texts = most.saturating_sub(LENGTH_FIELDS)..=most;
        texts.find_map(|text| Some(encode(serial, text, random, name)).filter(|it| it.len() == length))
    })
}

fn encode(serial: usize, text: usize, random: &Random, name: &str) -> Vec<u8> {
    let algorithm = der(SEQUENCE, &der(OBJECT_IDENTIFIER, ED25519));
    let common_name = [der(OBJECT_IDENTIFIER, COMMON_NAME), der(UTF8_STRING, name.as_bytes())].concat();
    let subject = der(SEQUENCE, &der(SET, &der(SEQUENCE, &common_name)));
    let validity = [der(UTC_TIME, b"000101000000Z"), der(UTC_TIME, b"490101000000Z")].concat();
    let key = bits(&random.bytes::<32>(&format!("{name} key")));
    let comment: Vec<u8> = TEXT.iter().copied().cycle().take(text).collect();
    let comment = der(OCTET_STRING, &der(IA5_STRING, &comment));
    let extensions = der(SEQUENCE, &der(SEQUENCE, &[der(OBJECT_IDENTIFIER, COMMENT), comment].concat()));
    let mut number = vec![0x01]; // positive
    random.append(&mut number, &format!("{name} serial"), serial - 1);
    let fields = [
        der(EXPLICIT_0, &der(INTEGER, &[2])),
        der(INTEGER, &number),
        algorithm.clone(),
        subject.clone(),
        der(SEQUENCE, &validity),
        subject,
        der(SEQUENCE, &[algorithm.clone(), key].concat()),
        der(EXPLICIT_3, &extensions),
    ];
    let mut signature = Vec::new();
    random.append(&mut signature, &format!("{name} signature"), 64);
    der(SEQUENCE, &[der(SEQUENCE, &fields.concat()), algorithm, bits(&signature)].concat())
}

/// A bit string of whole bytes.
fn bits(bytes: &[u8]) -> Vec<u8> {
    der(BIT_STRING, &[&[0], bytes].concat())
}

/// Tag, length, value (X.690 section 8.1).
fn der(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = value.len() as u32;
    let mut out = vec![tag];
    match length {
        0..0x80 => out.push(length as u8),
        _ => {
            let bytes = &length.to_be_bytes()[length.leading_zeros() as usize / 8..];
            out.push(0x80 | bytes.len() as u8);
            out.extend_from_slice(bytes);
        }
    }
    out.extend_from_slice(value);
    out
}

#[cfg(test)]
mod tests {
    use super::super::ConnectionKey;
    use super::*;

    /// The length fields of X.690 skip some total lengths: the serial number compensates for that.
    #[test]
    fn every_length_of_a_chain_is_exact() {
        let random = Random::new(1, ConnectionKey { flow: 0, origin: 0 });
        assert!(encode(16, 0, &random, "server").len() < SHORTEST);
        let most = 1 + 3 + 2 * ENTRY + (1 << 16); // `certificate` of 64 KiB
        for length in (4..2200).chain(65_900..66_700).filter(|length| *length <= most) {
            let chain = chain(length, &random);
            assert_eq!(chain.map(|chain| chain.len()), Some(length), "{length}");
        }
        assert_eq!(chain(3, &random), None);
    }
}
