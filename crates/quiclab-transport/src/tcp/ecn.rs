//! Explicit congestion notification of TCP: negotiation in the handshake, ECN-capable packets, and echo of CE
//! marks (RFC 3168 section 6.1; Linux include/net/tcp_ecn.h, `tcp_data_ecn_check`, `tcp_ecn_send`).
//!
//! | | RFC 3168 | Linux | here |
//! | --- | --- | --- | --- |
//! | echo | ECE until CWR arrives (section 6.1.3) | the same; Dctcp: ECE of each acknowledgement is that of its data (RFC 8257 section 3.2) | as Linux |
//! | ECN-capable | new data | the same; with Dctcp all packets, SYN included | as Linux |
//! | a lost SYN that requested ECN | retransmitted without (section 6.1.1.1, RFC 8311) | the same (`tcp_ecn_fallback`) | as Linux |
//! | a SYN that is ECN-capable | not ECN | accepted if the congestion control needs ECN | as Linux |
//! | a reduction for marks that an undo would revert | | the window remains that of the reduction | it becomes that of the controller |
//! | a packet that is not ECN-capable among others | | probably a retransmission: two quick acknowledgements | as Linux |
//!
//! The other feedback, that of RFC 9768, is in `accecn`; its negotiation, which falls back to this one, is here.

use super::accecn;
use crate::options::TcpEcn;
use quiclab_core::{Ecn, Flags};

/// Number of quick acknowledgements after a mark: the sender's window may be small
/// (`tcp_enter_quickack_mode(sk, 2)`).
pub(super) const QUICK_ACKS: u32 = 2;

/// ACE field of a SYN that requests ECN of RFC 3168 (CWR and ECE), and of the SYN-ACK that agrees to it
/// (ECE).
const CLASSIC_SYN: u8 = 0b011;
const CLASSIC_SYN_ACK: u8 = 0b001;

impl TcpEcn {
    /// Flags of a SYN that requests ECN (RFC 3168 section 6.1.1, RFC 9768 section 3.1.1) after `lost` losses
    /// of it.
    pub(super) fn request(self, lost: u32) -> Flags {
        match self {
            Self::Accurate if lost <= 1 => Flags::of_ace(0b111),
            Self::Classic | Self::Dctcp if lost == 0 => Flags::of_ace(CLASSIC_SYN),
            _ => Flags::NONE,
        }
    }

    /// Mode that a server accepts for a SYN with these flags, received with the ECN field `field`.
    pub(super) fn accept(self, flags: Flags, field: Ecn) -> Self {
        match (self, flags.ace()) {
            // RFC 9768 section 3.1.3: all others are as (1,1,1)
            (Self::Accurate, ace) if ace != 0 && ace != CLASSIC_SYN => Self::Accurate,
            (Self::Accurate, _) => Self::Classic.accept(flags, field),
            _ => {
                let asked = flags.has(Flags::ECE.with(Flags::CWR));
                let believed = self == Self::Dctcp || field == Ecn::NotEct;
                if asked && believed { self } else { Self::Off }
            }
        }
    }

    /// Flags of the SYN-ACK for the accepted mode; the SYN had the ECN field `field`.
    pub(super) fn answer(self, field: Ecn) -> Flags {
        match self {
            Self::Off => Flags::NONE,
            Self::Classic | Self::Dctcp => Flags::of_ace(CLASSIC_SYN_ACK),
            Self::Accurate => accecn::reflect(field),
        }
    }

    /// Mode of a client after a SYN-ACK with these flags (RFC 9768 table 2).
    pub(super) fn settle(self, flags: Flags) -> Self {
        match (self, flags.ace()) {
            (Self::Accurate, 0b000 | 0b111) => Self::Off,
            (Self::Accurate, CLASSIC_SYN_ACK) => Self::Classic,
            (Self::Accurate, _) => Self::Accurate,
            _ if flags.has(Flags::ECE) && !flags.has(Flags::CWR) => self,
            _ => Self::Off,
        }
    }

    pub(crate) const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether acknowledgements echo marks (ECE, CWR) instead of counting them.
    pub(crate) const fn echoes(self) -> bool {
        matches!(self, Self::Classic | Self::Dctcp)
    }

    /// ECN field of new data.
    pub(crate) fn field(self) -> Ecn {
        if self.is_on() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// ECN field of other packets of an open connection: pure acknowledgement, retransmission.
    pub(crate) const fn field_without_new_data(self) -> Ecn {
        if matches!(self, Self::Dctcp | Self::Accurate) { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// ECN field of SYN and SYN-ACK; `needed`: the congestion control needs ECN (`tcp_ca_needs_ecn`).
    pub(super) const fn field_of_handshake(self, needed: bool) -> Ecn {
        if matches!(self, Self::Dctcp) || needed && matches!(self, Self::Accurate) {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }
}

/// Acknowledgements required by a segment with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// Whether quick acknowledgements are required.
    pub(super) quick: bool,
    /// Whether an immediate acknowledgement is required.
    pub(super) now: bool,
    /// Acknowledgement to be sent before it, with the previous state: next position expected, and ECE.
    pub(super) before: Option<PriorAck>,
}

/// Acknowledgement of a part of the received data, with the echo of that part (RFC 8257 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PriorAck {
    pub(super) acknowledgement: u64,
    pub(super) echo: bool,
}

/// Echo of the receiving half.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    ecn: TcpEcn,
    /// Whether acknowledgements carry ECE (`TCP_ECN_DEMAND_CWR`).
    on: bool,
    /// Whether ECN-capable packets have arrived (`TCP_ECN_SEEN`).
    seen: bool,
    /// Whether the last segment with data had a mark, and the next position expected after it (Dctcp).
    marked: bool,
    prior_next: u64,
}

impl Echo {
    /// Makes the echo of a connection, whose first data have the position 1.
    pub(super) fn new(ecn: TcpEcn) -> Self {
        Self { ecn, prior_next: 1, ..Self::default() }
    }

    /// Whether an acknowledgement sent now carries ECE.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Handles a segment with CWR: the sender has reduced its window. Returns whether to acknowledge it at
    /// once.
    pub(super) fn on_cwr(&mut self) -> bool {
        let was_told = self.ecn.echoes();
        if was_told {
            self.on = false;
        }
        was_told
    }

    /// Handles a segment with data in a packet with the ECN field `field`; `next` is expected after it, and
    /// an acknowledgement is pending if `delayed`.
    pub(super) fn on_data(&mut self, field: Ecn, next: u64, delayed: bool) -> Demand {
        let mut demand = Demand::default();
        if !self.ecn.is_on() {
            return demand;
        }
        if field == Ecn::NotEct {
            demand.quick = self.seen;
            return demand;
        }
        self.seen = true;
        if self.ecn == TcpEcn::Accurate {
            return demand;
        }
        if self.ecn == TcpEcn::Dctcp {
            let marked = field == Ecn::Ce;
            if marked != self.marked {
                let before = PriorAck { acknowledgement: self.prior_next, echo: self.marked };
                demand = Demand { quick: false, now: true, before: delayed.then_some(before) };
            }
            (self.marked, self.prior_next, self.on) = (marked, next, marked);
        } else if field == Ecn::Ce && !self.on {
            self.on = true;
            demand.quick = true;
        }
        demand
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TcpEcn::{Accurate, Classic, Dctcp, Off};

    #[test]
    fn both_ends_must_want_it() {
        for (client, server, agreed) in
            [(Classic, Classic, true), (Classic, Off, false), (Off, Classic, false), (Off, Off, false)]
        {
            let server = server.accept(client.request(0), client.field_of_handshake(false));
            let client = client.settle(server.answer(Ecn::NotEct));
            assert_eq!((client.is_on(), server.is_on()), (agreed, agreed));
        }
        // a SYN that was lost may have been lost for its flags
        assert_eq!(Classic.request(1), Flags::NONE);
        // an ECN-capable SYN is accepted only if all packets are ECN-capable
        let syn = Dctcp.request(0);
        assert!(!Classic.accept(syn, Ecn::Ect0).is_on());
        assert!(Dctcp.accept(syn, Ecn::Ect0).is_on());
    }

    /// RFC 9768 table 2: both ends use the best mode that both support, regardless of the ECN field of the
    /// SYN.
    #[test]
    fn the_best_feedback_of_both_ends_is_agreed_to() {
        for (client, server, agreed) in [
            (Accurate, Accurate, Accurate),
            (Accurate, Classic, Classic),
            (Classic, Accurate, Classic),
            (Accurate, Off, Off),
            (Off, Accurate, Off),
        ] {
            let server = server.accept(client.request(0), Ecn::NotEct);
            let client = client.settle(server.answer(Ecn::NotEct));
            assert_eq!((client, server), (agreed, agreed));
        }
        for field in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(Accurate.settle(Accurate.answer(field)), Accurate);
        }
    }

    /// RFC 9768 table 2 and section 3.1.3: a broken server, and combinations that are reserved.
    #[test]
    fn every_combination_of_flags_has_its_meaning() {
        let settled: Vec<_> = (0..8).map(|ace| Accurate.settle(Flags::of_ace(ace))).collect();
        assert_eq!(settled, [Off, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, Off]);
        let accepted: Vec<_> = (0..8).map(|ace| Accurate.accept(Flags::of_ace(ace), Ecn::NotEct)).collect();
        assert_eq!(accepted, [Off, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate]);
        // section 3.1.4.1: once more, then without
        assert_eq!([0, 1, 2].map(|lost| Accurate.request(lost).ace()), [7, 7, 0]);
    }

    #[test]
    fn ece_is_repeated_until_cwr() {
        let mut echo = Echo::new(Classic);
        assert_eq!(echo.on_data(Ecn::Ect0, 1001, false), Demand::default());
        assert!(!echo.is_on());
        assert!(echo.on_data(Ecn::Ce, 2001, false).quick);
        assert!(!echo.on_data(Ecn::Ce, 3001, false).quick, "it is on already");
        assert_eq!(echo.on_data(Ecn::Ect0, 4001, true), Demand::default());
        assert!(echo.is_on());
        assert!(echo.on_cwr());
        assert!(!echo.is_on());
    }

    #[test]
    fn dctcp_acknowledges_each_run_of_marks_with_its_own_echo() {
        let mut echo = Echo::new(Dctcp);
        assert_eq!(echo.on_data(Ecn::Ect0, 1001, false), Demand::default());
        let before = PriorAck { acknowledgement: 1001, echo: false };
        let demand = echo.on_data(Ecn::Ce, 2001, true);
        assert_eq!(demand, Demand { quick: false, now: true, before: Some(before) });
        assert!(echo.is_on());
        assert_eq!(echo.on_data(Ecn::Ce, 3001, true), Demand::default());
        let demand = echo.on_data(Ecn::Ect0, 4001, false);
        assert_eq!(demand, Demand { quick: false, now: true, before: None });
        assert!(!echo.is_on());
    }

    #[test]
    fn a_packet_that_is_not_capable_among_others_is_taken_for_a_retransmission() {
        let mut echo = Echo::new(Classic);
        assert_eq!(echo.on_data(Ecn::NotEct, 1001, false), Demand::default());
        echo.on_data(Ecn::Ect0, 2001, false);
        assert!(echo.on_data(Ecn::NotEct, 3001, false).quick);
    }
}
