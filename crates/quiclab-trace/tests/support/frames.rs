//! Captures built byte by byte: a second implementation of the documents that the reader follows.

pub const ETHERNET: u16 = 1;

/// TCP from port 1000 to 2000 with a window of 0x1234.
pub fn tcp(sequence: u32, acknowledgement: u32, flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x03, 0xe8, 0x07, 0xd0];
    segment.extend(sequence.to_be_bytes());
    segment.extend(acknowledgement.to_be_bytes());
    segment.extend([(5 + options.len() as u8 / 4) << 4, flags, 0x12, 0x34, 0, 0, 0, 0]);
    [&segment, options, payload].concat()
}

/// UDP from port 1000 to 2000.
pub fn udp(payload: &[u8]) -> Vec<u8> {
    [&[0x03, 0xe8, 0x07, 0xd0][..], &(payload.len() as u16 + 8).to_be_bytes(), &[0, 0], payload].concat()
}

/// IPv4 from 10.0.0.1 to 10.0.0.2.
pub fn ipv4(above: &[u8], protocol: u8) -> Vec<u8> {
    let length = (20 + above.len() as u16).to_be_bytes();
    let header = [0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header, above].concat()
}

/// IPv6 from fd00::1 to fd00::2 with extension headers of 8 bytes each.
pub fn ipv6(above: &[u8], protocol: u8, extensions: &[u8]) -> Vec<u8> {
    let length = (8 * extensions.len() + above.len()) as u16;
    let first = extensions.first().copied().unwrap_or(protocol);
    let mut packet = [&[0x60, 0, 0, 0][..], &length.to_be_bytes(), &[first, 64]].concat();
    for last in [1, 2] {
        packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    for index in 0..extensions.len() {
        packet.extend([extensions.get(index + 1).copied().unwrap_or(protocol), 0, 0, 0, 0, 0, 0, 0]);
    }
    [&packet, above].concat()
}

fn ethertype(ip: &[u8]) -> [u8; 2] {
    if ip[0] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xdd] }
}

pub fn ethernet(ip: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ethertype(ip), ip].concat()
}

pub fn tagged(ip: &[u8], tags: &[u16]) -> Vec<u8> {
    let tags: Vec<u8> = tags.iter().flat_map(|tag| [(tag >> 8) as u8, *tag as u8, 0, 5]).collect();
    [&[2; 12][..], &tags, &ethertype(ip), ip].concat()
}

pub fn arp() -> Vec<u8> {
    [&[2; 12][..], &[0x08, 0x06], &[0; 28]].concat()
}

/// Linux cooked capture: packet type, ARPHRD, address length, address, protocol.
pub fn cooked(ip: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 1, 0, 6, 1, 1, 1, 1, 1, 1, 0, 0][..], &ethertype(ip), ip].concat()
}

/// Its second version: protocol, reserved, interface, ARPHRD, packet type, address length, address.
pub fn cooked2(ip: &[u8]) -> Vec<u8> {
    [&ethertype(ip)[..], &[0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 1, 1, 1, 1, 1, 0, 0], ip].concat()
}

/// Address family, as on FreeBSD.
pub fn loopback(ip: &[u8], big_endian: bool) -> Vec<u8> {
    let family: u32 = if ip[0] >> 4 == 4 { 2 } else { 28 };
    let family = if big_endian { family.to_be_bytes() } else { family.to_le_bytes() };
    [&family[..], ip].concat()
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    pub big_endian: bool,
    pub nanoseconds: bool,
}

impl Layout {
    pub const ALL: [Self; 4] = [
        Self { big_endian: false, nanoseconds: false },
        Self { big_endian: false, nanoseconds: true },
        Self { big_endian: true, nanoseconds: false },
        Self { big_endian: true, nanoseconds: true },
    ];
}

/// A pcap file; frame n (from 1) is at n seconds and n units.
pub fn pcap(layout: Layout, link: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let word = |value: u32| if layout.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let magic = if layout.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let versions = if layout.big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut file = [word(magic), versions, word(0), word(0), word(65535), word(link.into())].concat();
    for (number, frame) in (1..).zip(frames) {
        let length = frame.len() as u32;
        file.extend([word(number), word(number), word(length), word(length)].concat());
        file.extend(frame);
    }
    file
}

/// A pcap file in the modified format: eight more bytes in each record.
pub fn modified(big_endian: bool, link: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let layout = Layout { big_endian, nanoseconds: false };
    let mut file = pcap(layout, link, &[]);
    file[..4].copy_from_slice(&if big_endian {
        0xa1b2_cd34_u32.to_be_bytes()
    } else {
        0xa1b2_cd34_u32.to_le_bytes()
    });
    for frame in frames {
        let record = pcap(layout, link, std::slice::from_ref(frame));
        file.extend([&record[24..40], &[0; 8], frame].concat());
    }
    file
}

/// A pcapng file of one section.
pub struct Pcapng {
    big_endian: bool,
    pub bytes: Vec<u8>,
}

impl Pcapng {
    pub fn new(big_endian: bool) -> Self {
        let mut file = Self { big_endian, bytes: Vec::new() };
        let versions = if big_endian { [0, 1, 0, 0] } else { [1, 0, 0, 0] };
        file.block(0x0a0d_0d0a, &[&file.word(0x1a2b_3c4d)[..], &versions, &[0xff; 8]].concat());
        file
    }

    fn word(&self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn half(&self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub fn block(&mut self, kind: u32, body: &[u8]) {
        let length = self.word(body.len().next_multiple_of(4) as u32 + 12);
        let padding = &[0; 3][..body.len().next_multiple_of(4) - body.len()];
        self.bytes.extend([&self.word(kind)[..], &length, body, padding, &length].concat());
    }

    pub fn interface(&mut self, link: u16, options: &[(u16, Vec<u8>)]) {
        let mut body = [&self.half(link)[..], &[0; 6]].concat();
        for (code, value) in options {
            body.extend(self.half(*code));
            body.extend(self.half(value.len() as u16));
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body);
    }

    pub fn packet(&mut self, interface: u32, units: u64, captured: &[u8], original: usize) {
        let words = [interface, (units >> 32) as u32, units as u32, captured.len() as u32, original as u32];
        let front = words.map(|value| self.word(value)).concat();
        self.block(6, &[&front, captured].concat());
    }

    pub fn simple(&mut self, frame: &[u8]) {
        self.block(3, &[&self.word(frame.len() as u32), frame].concat());
    }
}

/// The secrets of a little-endian pcapng file, and the file without them.
pub fn without_secrets(file: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut secrets, mut rest, mut at) = (Vec::new(), Vec::new(), 0);
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    while at < file.len() {
        let end = at + word(at + 4);
        if word(at) == 10 {
            secrets.extend(&file[at + 16..at + 16 + word(at + 12)]);
        } else {
            rest.extend(&file[at..end]);
        }
        at = end;
    }
    (secrets, rest)
}
