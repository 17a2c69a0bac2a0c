//! Accurate ECN (RFC 9768): counts of marks instead of an echo. This file has the handshake, for both
//! directions.
//!
//! ```text
//! received    received marks, and their feedback in acknowledgements
//! feedback    feedback in acknowledgements about marks of packets sent
//! ```
//!
//! Based on include/net/tcp_ecn.h and net/ipv4/tcp_input.c of Linux at commit 667539f6dce2, which completed
//! AccECN for 7.0; statements about 7.3 were observed in runs of it.
//!
//! | | RFC 9768 | Linux | here |
//! | --- | --- | --- | --- |
//! | a lost SYN | once more with AccECN, then without ECN (section 3.1.4.1) | the same | as Linux |
//! | a lost SYN-ACK | without the option, then without ECN (section 3.2.3.2.2) | the same | as Linux |
//! | ECN-capable packets | data; others by other documents | all but SYN and SYN-ACK; those, too, if the congestion control needs ECN | as Linux |
//! | mangled ECN field in the handshake | both ends compare; no longer capable (section 3.2.2.3) | the client compares only if the SYN-ACK had a mark | both always |
//! | ACE 0 in the last packet of the handshake | not capable, and feedback is ignored (section 3.2.2.1); data that open the connection may be checked (section 3.2.2.4) | not capable, data or not (`tcp_accecn_third_ack`) | as the RFC, data or not |
//! | ACE 0 in the first feedback after it | may be checked (section 3.2.2.4) | not checked | as Linux |
//! | marks after which an acknowledgement is sent at once | 2; 3 if no data wait for one: "MUST emit an ACK", also of pure acknowledgements (section 3.2.2.5.1) | the first of a run, and 6 (`TCP_ACCECN_ACE_MAX_DELTA`), of data: nothing schedules one for pure acknowledgements (`tcp_ack_snd_check`) | as Linux |
//! | a late SYN or SYN-ACK | a client responds to a SYN-ACK with the field of the last one (sections 3.1.5 and 3.2.2.1) | both ends respond so until data have arrived (`tcp_validate_incoming`), which counts no mark | both always; counts no mark |
//! | a SYN with a mark | the client reduces its window | nothing | as Linux |
//! | the option | recommended; may be sent sparingly | sysctl tcp_ecn_option 2: in each segment if it fits, if the peer sent one in the handshake | as Linux |
//! | fields of the option | | those that do not fit are omitted; a third SACK block makes room for one that changed | as Linux |
//! | data with SACK blocks | | | the blocks are sent in a separate acknowledgement |
//! | an option that was cleared, marks on all packets, packets with the option that are lost | tests (sections 3.2.3.2.4, 3.2.2.3, 3.2.3.2.2) | the first | none: no element changes options |

mod feedback;
mod received;

pub(super) use feedback::{Acknowledged, Feedback};
pub(super) use received::Received;

use quiclab_core::{AccEcnOption, Ecn, Flags, Segment, SegmentOptions};

/// Initial value of the counts of packets with marks (section 3.2.1).
const INITIAL: u64 = 5;
/// Maximum number of marks that one acknowledgement can report (`TCP_ACCECN_CEP_ACE_MASK`).
const MASK: u64 = 7;
/// Length of the option with all fields in bytes.
pub(super) const OPTION_BYTES: u64 = AccEcnOption::INITIAL.length(false);

/// Encodes the ECN field with which a SYN or SYN-ACK has arrived in AE, CWR and ECE (tables 2 and 3).
pub(super) fn reflect(field: Ecn) -> Flags {
    Flags::of_ace(match field {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// Decodes the ECN field encoded by [`reflect`]; `None`: reserved.
const fn reflected(ace: u8) -> Option<Ecn> {
    match ace {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Whether a packet sent with `sent` may arrive with `arrived` (section 3.2.2.3; `tcp_ect_transition_valid`).
fn is_valid(sent: Ecn, arrived: Ecn) -> bool {
    sent == arrived || !(sent == Ecn::NotEct || arrived == Ecn::NotEct || sent == Ecn::Ce)
}

/// State of one end of a connection with AccECN from its handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    /// ECN field with which this end sent its SYN or SYN-ACK, and that with which the peer's arrived last.
    sent: Ecn,
    arrived: Ecn,
    /// Whether packets may be ECN-capable.
    capable: bool,
    /// Whether the feedback of the peer is used.
    trusted: bool,
    /// Whether the peer has sent an AccECN option.
    option: bool,
}

impl Handshake {
    /// Makes the state after a SYN or SYN-ACK of the peer with the field `arrived`; this end has sent or
    /// sends its own with `sent`.
    pub(super) const fn new(sent: Ecn, arrived: Ecn) -> Self {
        Self { sent, arrived, capable: true, trusted: true, option: false }
    }

    /// Makes the state of a client: a SYN-ACK agrees to AccECN (table 2).
    pub(super) fn of_client(sent: Ecn, syn_ack: &Segment, arrived: Ecn) -> Self {
        let has_option = matches!(syn_ack.options.as_deref(), Some(SegmentOptions::Syn { accecn: true, .. }));
        let mut handshake = Self { option: has_option, ..Self::new(sent, arrived) };
        handshake.compare(syn_ack.flags.ace());
        handshake
    }

    /// Handles another SYN at the server.
    pub(super) fn on_syn_again(&mut self, syn: &Segment, arrived: Ecn) {
        self.on_late(arrived);
        // "MUST NOT set ECT [...] if it has received [...] a valid SYN with (0,0,0)" (section 3.1.5)
        self.capable &= syn.flags.ace() != 0;
    }

    /// Handles a late SYN or SYN-ACK at either end: "MUST feed back the IP-ECN field on the latest" (section
    /// 3.1.5).
    pub(super) fn on_late(&mut self, arrived: Ecn) {
        self.arrived = arrived;
    }

    /// Handles a SYN-ACK without ECN that the server sends.
    pub(super) fn on_syn_ack_without_ecn(&mut self) {
        self.capable = false;
    }

    /// Handles the segment that opens the connection at the server. Returns whether the SYN-ACK had a mark.
    pub(super) fn on_opened(&mut self, segment: &Segment) -> bool {
        self.option = segment.accecn().is_some();
        // counts begin at 5, and only a SYN-ACK may have added a mark: a client without AccECN, to which a
        // SYN-ACK without ECN was sent, or a field that was cleared (sections 3.2.2.1 and 3.2.2.4)
        let ace = segment.flags.ace();
        if ace == 0 {
            (self.capable, self.trusted) = (false, false);
        }
        // "a pure ACK with SYN=0 and no SACK blocks" (section 3.2.2.1)
        if segment.end() > segment.sequence || !segment.sack().is_empty() {
            return false;
        }
        self.compare(ace) && reflected(ace) == Some(Ecn::Ce)
    }

    /// Compares the field reported by the peer with the one sent. Returns whether it is valid.
    fn compare(&mut self, ace: u8) -> bool {
        let valid = reflected(ace).is_none_or(|arrived| is_valid(self.sent, arrived));
        self.capable &= valid;
        valid
    }

    /// Flags that report the field of the peer's SYN or SYN-ACK.
    pub(super) fn reflection(&self) -> Flags {
        reflect(self.arrived)
    }

    /// Counts of the receiving half. A mark on a SYN-ACK counts, one on a SYN does not (section 3.2.2.2).
    pub(super) fn counts(&self, of_client: bool) -> Received {
        Received::new(self.arrived, of_client && self.arrived == Ecn::Ce)
    }

    /// Whether packets may be ECN-capable.
    pub(super) const fn is_capable(&self) -> bool {
        self.capable
    }

    /// Whether the feedback of the peer is used.
    pub(super) const fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Whether segments carry the option (`saw_accecn_opt`).
    pub(super) const fn has_option(&self) -> bool {
        self.option
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ecn::{Ce, Ect0, Ect1, NotEct};

    const ALL: [Ecn; 4] = [NotEct, Ect1, Ect0, Ce];

    fn ack(ace: u8) -> Segment {
        Segment { sequence: 1, flags: Flags::ACK.with(Flags::of_ace(ace)), ..Segment::default() }
    }

    /// Table 2, first block, and table 3.
    #[test]
    fn the_handshake_tells_the_field() {
        assert_eq!(ALL.map(|field| reflect(field).ace()), [0b010, 0b011, 0b100, 0b110]);
        for field in ALL {
            assert_eq!(reflected(reflect(field).ace()), Some(field));
        }
        assert_eq!([0, 1, 5, 7].map(reflected), [None; 4]);
    }

    /// RFC 3168 section 18, repeated in RFC 9768 section 3.2.2.3.
    #[test]
    fn invalid_transitions_are_those_of_the_rfc() {
        let valid = |sent: Ecn| ALL.map(|arrived| is_valid(sent, arrived));
        assert_eq!(valid(NotEct), [true, false, false, false]);
        assert_eq!(valid(Ect1), [false, true, true, true]);
        assert_eq!(valid(Ect0), [false, true, true, true]);
        assert_eq!(valid(Ce), [false, false, false, true]);
    }

    /// Table 4: reaction of a server to the last packet of the handshake.
    #[test]
    fn the_server_judges_the_last_packet_of_the_handshake() {
        let judged = |sent, ace| {
            let mut handshake = Handshake::new(sent, NotEct);
            let marked = handshake.on_opened(&ack(ace));
            (handshake.is_capable(), handshake.is_trusted(), marked)
        };
        // Note 1: no marks are reported any more
        assert_eq!(judged(NotEct, 0b000), (false, false, false));
        for unused in [0b001, 0b101, 0b111] {
            assert_eq!(judged(NotEct, unused), (true, true, false), "{unused:03b}");
        }
        assert_eq!(judged(NotEct, 0b010), (true, true, false));
        // a packet that was not ECN-capable arrives as such: mangled, but marks are still reported
        assert_eq!(judged(NotEct, 0b100), (false, true, false));
        assert_eq!(judged(NotEct, 0b110), (false, true, false));
        assert_eq!(judged(Ect0, 0b110), (true, true, true));
        assert_eq!(judged(Ect1, 0b010), (false, true, false), "the field was cleared");
        // the ACE field of data is a count: 6 is a mark of a SYN-ACK, not a field that it arrived with, and none is 0
        let judged = |ace| {
            let mut handshake = Handshake::new(NotEct, NotEct);
            let marked = handshake.on_opened(&Segment { length: 100, ..ack(ace) });
            (handshake.is_capable(), handshake.is_trusted(), marked)
        };
        assert_eq!(judged(0b110), (true, true, false));
        assert_eq!(judged(0b000), (false, false, false));
    }

    #[test]
    fn the_client_compares_what_it_has_sent() {
        let syn_ack = |ace| Segment { flags: Flags::SYN.with(Flags::ACK).with(Flags::of_ace(ace)), ..ack(0) };
        let capable = |sent, ace| Handshake::of_client(sent, &syn_ack(ace), NotEct).is_capable();
        assert!(capable(NotEct, 0b010) && capable(Ect1, 0b011) && capable(Ect1, 0b110));
        assert!(!capable(NotEct, 0b100) && !capable(Ect0, 0b010));
        // section 3.1.3: reserved, as if the field had arrived unchanged
        assert!(capable(Ect0, 0b101));
    }

    /// Section 3.1.5: "MUST NOT set ECT on any packet for the rest of the connection".
    #[test]
    fn a_server_that_saw_or_sent_a_packet_without_ecn_is_not_capable() {
        let syn = |ace| Segment { flags: Flags::SYN.with(Flags::of_ace(ace)), ..Segment::default() };
        let mut handshake = Handshake::new(NotEct, NotEct);
        handshake.on_syn_again(&syn(0b111), Ect0);
        assert!(handshake.is_capable());
        assert_eq!(handshake.reflection().ace(), 0b100, "the latest SYN counts");
        handshake.on_syn_again(&syn(0b000), NotEct);
        assert!(!handshake.is_capable());
        let mut handshake = Handshake::new(NotEct, NotEct);
        handshake.on_syn_ack_without_ecn();
        assert!(!handshake.is_capable());
    }
}
