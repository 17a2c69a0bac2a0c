//! IP packets that are valid, or nearly, generated from a few random values.

use bolero::TypeGenerator;

/// A packet of TCP, UDP, ICMP or another protocol, in IPv4 or IPv6, with options and extension headers.
#[derive(Clone, Debug, TypeGenerator)]
pub struct Made {
    pub six: bool,
    pub protocol: u8,
    /// Flags and offset of a fragment.
    place: u16,
    fragmented: bool,
    identification: u16,
    ports: (u16, u16),
    pub flags: u8,
    /// Options of IPv4, or extension headers of IPv6.
    options: u8,
    pub mss: Option<(u8, u16)>,
    pub data: u16,
}

const PROTOCOLS: [u8; 6] = [6, 6, 17, 1, 58, 47];

impl Made {
    pub fn number(&self) -> u8 {
        PROTOCOLS[usize::from(self.protocol) % PROTOCOLS.len()]
    }

    /// Bytes of the packet, with correct lengths and, in TCP, a correct checksum.
    pub fn bytes(&self) -> Vec<u8> {
        let mut above = Vec::new();
        above.extend(self.ports.0.to_be_bytes());
        above.extend(self.ports.1.to_be_bytes());
        if self.number() == 6 {
            let mut options = Vec::new();
            if let Some((padding, mss)) = self.mss {
                options.resize(usize::from(padding % 9), 1);
                options.extend([2, 4]);
                options.extend(mss.to_be_bytes());
                options.resize(options.len().next_multiple_of(4), 0);
            }
            above.extend([1, 2, 3, 4, 0, 0, 0, 0]);
            above.extend([(5 + options.len() as u8 / 4) << 4, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
            above.extend(options);
        }
        above.extend((0..self.data % 3000).map(|index| (index % 251) as u8));
        let mut packet = if self.six { self.six() } else { self.four(above.len()) };
        let begin = packet.len();
        if self.six {
            let length = (begin - 40 + above.len()) as u16;
            packet[4..6].copy_from_slice(&length.to_be_bytes());
        }
        packet.extend(above);
        if self.number() == 6 {
            let sum = !folded(pseudo(&packet, 6, packet.len() - begin) + words(&packet[begin..]));
            packet[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    fn four(&self, above: usize) -> Vec<u8> {
        let options = usize::from(self.options % 11);
        let place = if self.fragmented { self.place } else { self.place & 0x4000 };
        let mut packet = vec![0x45 + options as u8, 0];
        packet.extend(((20 + options * 4 + above) as u16).to_be_bytes());
        packet.extend(self.identification.to_be_bytes());
        packet.extend(place.to_be_bytes());
        packet.extend([64, self.number(), 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.resize(20 + options * 4, 1);
        packet
    }

    fn six(&self) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, self.number(), 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        // destination options, then a fragment
        if self.options % 3 == 1 {
            let next = std::mem::replace(&mut packet[6], 60);
            packet.extend([next, 0, 1, 4, 0, 0, 0, 0]);
        }
        if self.fragmented {
            let at = if packet.len() == 40 { 6 } else { 40 };
            let next = std::mem::replace(&mut packet[at], 44);
            packet.extend([next, 0]);
            packet.extend(self.place.to_be_bytes());
            packet.extend([0, 0]);
            packet.extend(self.identification.to_be_bytes());
        }
        packet
    }
}

/// Sum of 16-bit words, implemented a second time: RFC 1071 section 1.
pub fn words(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

/// Ones' complement sum; 0xffff if the sum includes the checksum, and it is correct.
pub fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Sum of the pseudo-header of a packet without options that change its destination.
pub fn pseudo(packet: &[u8], protocol: u8, length: usize) -> u32 {
    let addresses = if packet[0] >> 4 == 4 { 12..20 } else { 8..40 };
    words(&packet[addresses]) + u32::from(protocol) + length as u32
}
