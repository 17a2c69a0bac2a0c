//! Segments sent by a connection: those of its halves, and those without data that precede them.

use super::{Connection, Control, Departure, State};
use crate::tcp::config::UNSCALED_WINDOW;
use crate::tcp::ecn::PriorAck;
use crate::tcp::handshake::{Agreed, Offer, syn_window};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{Transmission, timestamp};
use quiclab_core::{Ecn, Flags, SackBlocks, Segment, SegmentOptions, Time};

impl Connection {
    /// Removes due bursts from the queue of the host. Returns whether others waited for that.
    pub(in crate::tcp) fn leave_host(&mut self, now: Time) -> bool {
        self.halves.as_mut().is_some_and(|halves| halves.sender.leave_host(now))
    }

    /// Sends segments while the application writes ([`Sender::push`]).
    pub(in crate::tcp) fn push(&mut self, now: Time, one: bool) -> Option<Departure> {
        let transmission = self.halves.as_mut()?.sender.push(now, one)?;
        Some(self.transmission(now, &transmission))
    }

    /// Takes the next segment to send now; call it until it returns `None`.
    pub(in crate::tcp) fn next_segment(&mut self, now: Time) -> Option<Departure> {
        if let Some(control) = self.control.take() {
            return Some(self.control_segment(now, control));
        }
        if self.state != State::Open {
            return None;
        }
        let halves = self.halves.as_mut()?;
        if let Some(prior) = halves.receiver.take_prior_ack() {
            return Some(self.prior_ack(now, prior));
        }
        let due = halves.receiver.ack_due().is_some_and(|due| due <= now);
        if due && let Some(blocks) = halves.receiver.sack_blocks() {
            return Some(self.pure_ack(now, blocks));
        }
        match halves.sender.transmit(now) {
            Some(transmission) => Some(self.transmission(now, &transmission)),
            None if due => Some(self.pure_ack(now, SackBlocks::default())),
            None => None,
        }
    }

    /// ECN field of a packet with the field `ecn`: ECN-capable packets have the codepoint of the congestion
    /// control.
    pub(in crate::tcp) fn codepoint(&self, ecn: Ecn) -> Ecn {
        let capable = self.accecn.is_none_or(|accecn| accecn.is_capable());
        match ecn {
            Ecn::Ect0 if capable => self.config.congestion_control.family().codepoint(),
            Ecn::Ect0 => Ecn::NotEct,
            _ => ecn,
        }
    }

    /// ECN field of the SYN or SYN-ACK of this end.
    pub(super) fn field_of_handshake(&self) -> Ecn {
        let family = self.config.congestion_control.family();
        match self.config.tcp.ecn.field_of_handshake(family.counts_marks()) {
            Ecn::Ect0 => family.codepoint(),
            field => field,
        }
    }

    fn control_segment(&mut self, now: Time, control: Control) -> Departure {
        let mut ecn = Ecn::NotEct;
        let mut segment = Segment {
            sequence: 0,
            acknowledgement: 0,
            window: 0,
            timestamp: timestamp(now),
            timestamp_echo: 0,
            length: 0,
            flags: Flags::SYN,
            retransmission: self.handshake.is_some_and(|handshake| handshake.is_retransmitted()),
            options: None,
        };
        match control {
            Control::Syn => {
                segment.window = syn_window(&self.config.tcp, self.config.tcp.mss.bytes());
                self.offered = segment.window;
                segment.options = Some(Box::new(Offer::new(&self.config.tcp).options(false)));
                let lost = self.handshake.map_or(0, |handshake| handshake.timeouts());
                segment.flags = segment.flags.with(self.config.tcp.ecn.request(lost));
                ecn = self.field_of_handshake();
            }
            Control::SynAck => {
                segment.flags = Flags::SYN.with(Flags::ACK);
                segment.acknowledgement = 1;
                segment.window = syn_window(&self.config.tcp, self.agreed.payload);
                self.offered = segment.window;
                segment.timestamp_echo = if self.agreed.timestamps { self.syn_timestamp } else { 0 };
                let answer = Offer::new(&self.config.tcp).answer(self.offer);
                let with_option = self.accecn.is_some() && !segment.retransmission;
                segment.options = Some(Box::new(answer.options(with_option)));
                segment.flags = segment.flags.with(self.answer_of_ecn());
                let capable = self.accecn.is_none_or(|accecn| accecn.is_capable());
                ecn =
                    if self.agreed.ecn.is_on() && capable { self.field_of_handshake() } else { Ecn::NotEct };
            }
            Control::Refuse(sequence) => {
                // "<SEQ=SEG.ACK><CTL=RST>" (RFC 9293 section 3.10.7.1)
                segment.flags = Flags::RST;
                segment.sequence = sequence;
            }
            Control::Reset(sequence) => {
                let next = self.halves.as_ref().map_or(0, |halves| halves.receiver.next_expected());
                segment.flags = Flags::RST.with(Flags::ACK);
                (segment.sequence, segment.acknowledgement) = (sequence, next);
            }
            Control::Ack | Control::AckOfSynAck => {
                let halves = self.halves.as_mut().expect("only an open connection acknowledges");
                let blocks = halves.receiver.sack_blocks();
                let mut departure = self.pure_ack(now, blocks.unwrap_or_default());
                if let Some(accecn) = self.accecn.filter(|_| control == Control::AckOfSynAck) {
                    departure.segment.flags = Flags::ACK.with(accecn.reflection());
                }
                return departure;
            }
        }
        Departure { leaves: now, ecn, segment }
    }

    /// ECN flags of a SYN-ACK: none with AccECN if the previous one was lost, too (RFC 9768 section
    /// 3.2.3.2.2).
    fn answer_of_ecn(&mut self) -> Flags {
        let lost = self.handshake.map_or(0, |handshake| handshake.timeouts());
        match &mut self.accecn {
            Some(accecn) if lost <= 1 => accecn.reflection(),
            Some(accecn) => {
                accecn.on_syn_ack_without_ecn();
                Flags::NONE
            }
            None => self.agreed.ecn.answer(Ecn::NotEct),
        }
    }

    fn pure_ack(&mut self, now: Time, blocks: SackBlocks) -> Departure {
        let sequence = self.halves.as_ref().map_or(0, |halves| halves.sender.next_position());
        let transmission = Transmission::pure_ack(sequence, self.agreed.ecn, now);
        self.segment_with(now, &transmission, blocks)
    }

    /// Makes an acknowledgement of a part of the received data; the delayed one remains due
    /// (`__tcp_send_ack`).
    fn prior_ack(&mut self, now: Time, prior: PriorAck) -> Departure {
        let halves = self.halves.as_mut().expect("only an open connection acknowledges");
        let mut departure = Departure {
            leaves: now,
            ecn: self.agreed.ecn.field_without_new_data(),
            segment: Segment {
                sequence: halves.sender.next_position(),
                acknowledgement: prior.acknowledgement,
                window: announced(self.agreed, &mut halves.receiver),
                timestamp: timestamp(now),
                timestamp_echo: halves.receiver.timestamp_to_echo().unwrap_or(0),
                flags: Flags::ACK,
                ..Segment::default()
            },
        };
        if prior.echo {
            departure.segment.flags = Flags::ACK.with(Flags::ECE);
        }
        departure
    }

    fn transmission(&mut self, now: Time, transmission: &Transmission) -> Departure {
        self.segment_with(now, transmission, SackBlocks::default())
    }

    /// Makes the segment of `transmission`, with the SACK blocks `blocks`.
    fn segment_with(&mut self, now: Time, transmission: &Transmission, blocks: SackBlocks) -> Departure {
        let has_option = self.accecn.is_some_and(|accecn| accecn.has_option());
        let Transmission { sequence, length, fin, push, retransmission, departure, .. } = *transmission;
        let receiver = &mut self.halves.as_mut().expect("only an open connection sends").receiver;
        let window = announced(self.agreed, receiver);
        let mut flags = Flags::ACK;
        // Linux: a FIN without data has no PSH (`tcp_send_fin`)
        if push && length > 0 {
            flags = flags.with(Flags::PSH);
        }
        if fin {
            flags = flags.with(Flags::FIN);
        }
        if receiver.echoes_mark() {
            flags = flags.with(Flags::ECE);
        }
        if transmission.window_reduced {
            flags = flags.with(Flags::CWR);
        }
        flags = flags.with(receiver.tell_marks());
        let options = match receiver.accecn_option(has_option, blocks) {
            Some((option, sack)) => Some(SegmentOptions::AccEcn { option, sack, records: Vec::new() }),
            None => (!blocks.as_slice().is_empty()).then_some(SegmentOptions::Sack(blocks)),
        };
        let acknowledgement = receiver.next_expected();
        let timestamp_echo = receiver.timestamp_to_echo().unwrap_or(0);
        let pure = length == 0 && !fin;
        receiver.on_ack_sent(now, pure);
        if !pure && !retransmission {
            receiver.on_data_sent(now);
        }
        let segment = Segment {
            sequence,
            acknowledgement,
            window,
            timestamp: timestamp(departure),
            timestamp_echo,
            length,
            flags,
            retransmission,
            options: options.map(Box::new),
        };
        Departure { leaves: transmission.leaves, ecn: transmission.ecn, segment }
    }
}

/// Window that a segment announces.
fn announced(agreed: Agreed, receiver: &mut Receiver) -> u32 {
    let window = receiver.window();
    if agreed.window_scaling { window } else { window.min(UNSCALED_WINDOW as u32) }
}
