//! A frame, its layers, and the information collected from its headers.

/// Reason for which a packet is skipped, in words for [`super::Problems`].
pub(super) type Problem = &'static str;
pub(super) const CUT: Problem = "packet truncated within its headers";
pub(super) const NOT_IP: Problem = "frame of another protocol than IP";
/// Maximum number of labels in an MPLS stack.
pub(super) const LABELS_MAX: usize = 16;

/// A frame in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Nanoseconds on the clock of the capture.
    pub(super) at: i64,
    /// Bytes on the link, with the checksum of the frame if `fcs_bytes` is not 0.
    pub(super) original: u32,
    pub(super) fcs_bytes: u8,
    pub(super) link: u16,
    /// Number of the interface, if the file has one.
    pub(super) interface: u32,
    /// Captured bytes.
    pub(super) data: &'a [u8],
}

/// Kind of header at a position in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Destination, source, type or length.
    Ethernet,
    /// Protocol of an EtherType.
    Ethertype(u16),
    /// IEEE 802.2, with SNAP.
    Llc,
    /// Address and control if present, protocol (RFC 1661, RFC 1662).
    Ppp,
    /// Address, control, EtherType (RFC 1547 section 4.3.1); PPP if the address is that of RFC 1662.
    Hdlc,
    /// Labels (RFC 3032).
    Mpls,
    /// IP, of any version.
    Ip,
}

/// Encapsulations that are named in notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Pbb,
    Mpls,
    PseudoWire,
    Pppoe,
    IpInIp,
    Gre,
    Erspan,
    EtherIp,
    Vxlan,
    VxlanGpe,
    Geneve,
    GtpU,
    L2tp,
    Lisp,
    Tzsp,
    Teredo,
}

impl Kind {
    pub(super) const ALL: [(Self, &'static str); 16] = [
        (Self::Pbb, "a provider backbone (IEEE 802.1ah)"),
        (Self::Mpls, "MPLS"),
        (Self::PseudoWire, "Ethernet pseudo-wires"),
        (Self::Pppoe, "PPPoE"),
        (Self::IpInIp, "IP in IP"),
        (Self::Gre, "GRE"),
        (Self::Erspan, "ERSPAN"),
        (Self::EtherIp, "EtherIP"),
        (Self::Vxlan, "VXLAN"),
        (Self::VxlanGpe, "VXLAN-GPE"),
        (Self::Geneve, "GENEVE"),
        (Self::GtpU, "GTP-U"),
        (Self::L2tp, "L2TP"),
        (Self::Lisp, "LISP"),
        (Self::Tzsp, "TZSP"),
        (Self::Teredo, "Teredo"),
    ];
}

/// Rest of a frame from a position on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'a> {
    /// Captured bytes.
    pub(super) bytes: &'a [u8],
    /// Bytes on the wire.
    pub(super) length: usize,
}

impl<'a> Rest<'a> {
    pub(super) fn byte(self, at: usize) -> Result<u8, Problem> {
        self.bytes.get(at).copied().ok_or(CUT)
    }

    pub(super) fn half(self, at: usize) -> Result<u16, Problem> {
        self.bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]])).ok_or(CUT)
    }

    pub(super) fn skip(self, count: usize) -> Result<Self, Problem> {
        let bytes = self.bytes.get(count..).ok_or(CUT)?;
        Ok(Self { bytes, length: self.length.saturating_sub(count) })
    }
}

/// Information collected from the headers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trail {
    /// Bits of [`Kind`].
    kinds: u32,
    /// Hash of the place of observation: interface, addresses and tags of the link, tunnels; no fields that differ from
    /// packet to packet.
    pub(super) place: u64,
    /// Bytes of the outermost IP packet.
    pub(super) network_bytes: usize,
    /// Bytes by which the length of the frame is shorter than that of IP.
    pub(super) missing: usize,
}

impl Trail {
    /// Trail of a frame that was observed at an interface.
    pub(super) fn of(frame: &Frame<'_>) -> Self {
        let mut trail = Self { place: 0xcbf2_9ce4_8422_2325, ..Self::default() };
        trail.saw(&frame.interface.to_be_bytes());
        trail.saw(&frame.link.to_be_bytes());
        trail
    }

    pub(super) fn through(&mut self, kind: Kind) {
        self.kinds |= 1 << kind as u32;
        self.saw(&[kind as u8]);
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.kinds & 1 << kind as u32 != 0
    }

    /// Adds bytes that distinguish places. The hash is not secret: a collision of two places costs an undetected copy.
    pub(super) fn saw(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.place = (self.place ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3); // FNV-1a
        }
    }
}

/// Whether frames with this EtherType can contain IP.
pub(super) fn is_carried(ethertype: u16) -> bool {
    matches!(
        ethertype,
        0x0800 | 0x86dd | 0x8100 | 0x88a8 | 0x9100 | 0x8847 | 0x8848 | 0x8864 | 0x88e7 | 0x0806
    )
}
