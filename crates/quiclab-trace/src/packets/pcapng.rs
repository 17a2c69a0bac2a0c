//! Blocks of pcapng files (draft-ietf-opsawg-pcapng): sections, interfaces, packets, secrets.
//!
//! | block | here |
//! | --- | --- |
//! | Section Header, Interface Description | `if_tsresol`, `if_tsoffset`, `if_fcslen`; other options are ignored |
//! | Enhanced Packet, (obsolete) Packet | read; options are ignored |
//! | Simple Packet | counted: it has no time |
//! | Decryption Secrets | TLS key logs; others are ignored |
//! | others | ignored |
//!
//! A block whose two lengths differ is counted and not used; reading continues after its first length. If no block
//! begins there, the file counts as truncated. (The crate pcap-file does not advance after an error, does not know
//! Decryption Secrets Blocks, and ends at an unknown option; see docs/decisions/0017-capture-readers.md.)

use super::KeyLog;
use super::dissect::Dissector;
use super::layer::Frame;
use super::window::{RECORD_BYTES_MAX, ReadStop, Stop, Window};
use crate::magic::SECTION_HEADER;
use std::io::Read;

const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;
/// "TLS Key Log".
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Length of the shortest Section Header, which is needed to identify a pcapng file.
pub(super) const HEADER_BYTES: usize = 28;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type and length in front of the body of a block.
const FRONT_BYTES: usize = 8;
/// Maximum number of interfaces, more than any section has.
const INTERFACES_MAX: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u16,
    fcs_bytes: u8,
    resolution: Resolution,
    /// Nanoseconds to add to each time stamp.
    offset: i128,
}

/// Length of a unit of time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// Number of nanoseconds.
    Nanoseconds(u64),
    /// Number of units per nanosecond.
    PerNanosecond(u128),
    /// 2^-n seconds.
    Halvings(u32),
}

impl Resolution {
    /// Resolution from `if_tsresol`: "If the Most Significant Bit is equal to zero, the remaining bits indicate the
    /// resolution of the timestamp as a negative power of 10 [...] If [it] is equal to one, [...] a negative power
    /// of 2".
    fn new(value: u8) -> Self {
        let power = u32::from(value & 0x7f);
        match value >> 7 {
            0 if power <= 9 => Self::Nanoseconds(10_u64.pow(9 - power)),
            0 => Self::PerNanosecond(10_u128.checked_pow(power - 9).unwrap_or(u128::MAX)),
            _ => Self::Halvings(power),
        }
    }

    fn nanoseconds(self, units: u64) -> i128 {
        match self {
            Self::Nanoseconds(each) => i128::from(units) * i128::from(each),
            Self::PerNanosecond(count) => (u128::from(units) / count) as i128,
            Self::Halvings(count) => ((u128::from(units) * 1_000_000_000) >> count) as i128,
        }
    }
}

/// State of the current section.
#[derive(Default)]
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

impl Section {
    fn half(&self, bytes: &[u8], at: usize) -> u16 {
        let half = *bytes[at..].first_chunk().expect("the caller has counted");
        if self.big_endian { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) }
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = *bytes[at..].first_chunk().expect("the caller has counted");
        if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    /// Begins a section if its first twelve bytes, `start`, specify a byte order.
    fn begin(&mut self, start: &[u8]) -> bool {
        self.interfaces.clear();
        let found = [false, true].into_iter().find(|&big_endian| {
            self.big_endian = big_endian;
            self.word(start, 8) == BYTE_ORDER_MAGIC
        });
        found.is_some()
    }
}

/// Reads blocks from a section header to the end of the file, or to where it is truncated.
pub(super) fn read<R: Read>(
    window: &mut Window<'_, R>,
    to: &mut Dissector<'_>,
) -> Result<Option<ReadStop>, Stop> {
    let mut section = Section::default();
    loop {
        let at = window.offset();
        let broken = |why| Ok(Some(ReadStop { at, why }));
        if !window.have(FRONT_BYTES + 4)? {
            return if window.held() == 0 { Ok(None) } else { broken("the file ends within a block") };
        }
        let front = window.bytes(0..FRONT_BYTES + 4);
        if section.word(front, 0) == SECTION_HEADER && !section.begin(front) {
            return broken("a section does not tell its byte order");
        }
        let (kind, length) = (section.word(front, 0), section.word(front, 4) as usize);
        if length < FRONT_BYTES + 4 || length % 4 != 0 {
            return broken("no block begins here");
        }
        if length > RECORD_BYTES_MAX {
            to.problem("block of more than 16 MiB");
            if !window.skip(length as u64)? {
                return broken("the file ends within a block");
            }
            continue;
        }
        if !window.have(length)? {
            return broken("the file ends within a block");
        }
        let block = window.bytes(0..length);
        if section.word(block, length - 4) as usize == length {
            section.block(kind, &block[FRONT_BYTES..length - 4], to);
        } else {
            to.problem("block whose lengths differ");
        }
        window.consume(length);
    }
}

/// Reads the secrets of a file, which begins at a section header, to its end or to where it is truncated. Malformed
/// blocks are counted when the packets are read.
pub(super) fn read_secrets<R: Read>(window: &mut Window<'_, R>) -> Result<KeyLog, Stop> {
    let (mut section, mut secrets) = (Section::default(), KeyLog::default());
    while window.have(FRONT_BYTES + 4)? {
        let front = window.bytes(0..FRONT_BYTES + 4);
        if section.word(front, 0) == SECTION_HEADER && !section.begin(front) {
            break;
        }
        let (kind, length) = (section.word(front, 0), section.word(front, 4) as usize);
        if length < FRONT_BYTES + 4 || length % 4 != 0 {
            break;
        }
        if kind == DECRYPTION_SECRETS && length <= RECORD_BYTES_MAX {
            if !window.have(length)? {
                break;
            }
            let block = window.bytes(0..length);
            if section.word(block, length - 4) as usize == length
                && let Some(Some(lines)) = section.key_log(&block[FRONT_BYTES..length - 4])
            {
                secrets.add(lines);
            }
        }
        if !window.skip(length as u64)? {
            break;
        }
    }
    Ok(secrets.without_counts())
}

impl Section {
    /// Lines of a Decryption Secrets Block with a TLS key log; the inner `None` if it is truncated.
    fn key_log<'b>(&self, body: &'b [u8]) -> Option<Option<&'b [u8]>> {
        let is_key_log = body.len() >= 8 && self.word(body, 0) == TLS_KEY_LOG;
        is_key_log.then(|| body[8..].get(..self.word(body, 4) as usize))
    }

    fn block(&mut self, kind: u32, body: &[u8], to: &mut Dissector<'_>) {
        match kind {
            INTERFACE_DESCRIPTION if self.interfaces.len() == INTERFACES_MAX => {
                to.problem("interface description not usable");
            }
            INTERFACE_DESCRIPTION if body.len() < 8 => {
                to.problem("interface description not usable");
                // later interfaces keep their numbers
                self.interfaces.push(Interface { link: u16::MAX, ..self.interface(&[0; 8]) });
            }
            INTERFACE_DESCRIPTION => self.interfaces.push(self.interface(body)),
            ENHANCED_PACKET if body.len() >= 20 => {
                let interface = self.word(body, 0) as usize;
                self.packet(interface, body, to);
            }
            // the interface has two bytes here, and dropped packets the other two
            PACKET if body.len() >= 20 => {
                let interface = usize::from(self.half(body, 0));
                self.packet(interface, body, to);
            }
            ENHANCED_PACKET | PACKET => to.unreadable("packet block too short"),
            SIMPLE_PACKET => to.unreadable("packet without a time"),
            DECRYPTION_SECRETS => match self.key_log(body) {
                Some(Some(lines)) => to.secrets(lines),
                Some(None) => to.problem("secrets block shorter than its secrets"),
                None => {}
            },
            _ => {}
        }
    }

    fn interface(&self, body: &[u8]) -> Interface {
        let mut interface = Interface {
            link: self.half(body, 0),
            fcs_bytes: 0,
            resolution: Resolution::Nanoseconds(1000),
            offset: 0,
        };
        let mut options = &body[8..];
        while options.len() >= 4 {
            let (code, length) = (self.half(options, 0), usize::from(self.half(options, 2)));
            let Some(value) = options[4..].get(..length) else { break };
            match (code, value) {
                (0, _) => break,
                (9, &[resolution]) => interface.resolution = Resolution::new(resolution),
                // files have both 4 and 32 for the 32 bits of Ethernet: the text says bits, its example bytes
                (13, &[bytes @ (2 | 4)]) => interface.fcs_bytes = bytes,
                (13, &[bits @ (16 | 32)]) => interface.fcs_bytes = bits / 8,
                (14, value) => {
                    if let Ok(value) = <[u8; 8]>::try_from(value) {
                        let seconds = if self.big_endian {
                            i64::from_be_bytes(value)
                        } else {
                            i64::from_le_bytes(value)
                        };
                        interface.offset = i128::from(seconds) * 1_000_000_000;
                    }
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        interface
    }

    fn packet(&self, number: usize, body: &[u8], to: &mut Dissector<'_>) {
        let (high, low) = (self.word(body, 4), self.word(body, 8));
        let (captured, original) = (self.word(body, 12) as usize, self.word(body, 16));
        let Some(interface) = self.interfaces.get(number) else {
            to.unreadable("packet of an interface that is not described");
            return;
        };
        let Some(data) = body[20..].get(..captured) else {
            to.unreadable("packet block too short");
            return;
        };
        let units = u64::from(high) << 32 | u64::from(low);
        let nanoseconds = interface.resolution.nanoseconds(units) + interface.offset;
        let Ok(at) = i64::try_from(nanoseconds) else {
            to.unreadable("time stamp after the year 2262");
            return;
        };
        to.frame(&Frame {
            at,
            original: original.max(captured as u32),
            fcs_bytes: interface.fcs_bytes,
            link: interface.link,
            interface: number as u32,
            data,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Resolution;

    #[test]
    fn units_of_time_stamps() {
        for (value, units, nanoseconds) in [
            (6, 1_500_000, 1_500_000_000),
            (9, 17, 17),
            (0, 3, 3_000_000_000),
            (12, 2_999, 2),
            (127, u64::MAX, 0),
            (0x80, 3, 3_000_000_000),
            // 2^-10 s: 512 of them are half a second
            (0x8a, 512, 500_000_000),
            (0xff, u64::MAX, 0),
        ] {
            assert_eq!(Resolution::new(value).nanoseconds(units), nanoseconds, "{value:#x}");
        }
    }
}
