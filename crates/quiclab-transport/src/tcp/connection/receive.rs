//! Segments received by a connection in each of its states (RFC 9293 section 3.10.7).

use super::{Connection, Control, Halves, State};
use crate::congestion::{self, Flavour, Settings};
use crate::options::{CongestionControl, Pacing, TcpEcn, TcpValues};
use crate::pacing;
use crate::tcp::accecn;
use crate::tcp::config::{Config, INITIAL_SEGMENTS, header};
use crate::tcp::handshake::{Agreed, Offer, Retransmission};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{self, Sender};
use quiclab_core::{Duration, Ecn, Flags, Segment, Time};

/// Minimum time between ACKs for old duplicates without data (Linux `tcp_invalid_ratelimit`).
const DUPLICATE_ACK_INTERVAL: Duration = Duration::from_millis(500);

impl Connection {
    /// Handles a segment received in a packet with the ECN field `field`.
    pub(in crate::tcp) fn receive(&mut self, now: Time, segment: &Segment, field: Ecn) {
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.receive_listen(now, segment, field),
            State::SynSent => self.receive_syn_sent(now, segment, field),
            State::SynReceived => self.receive_syn_received(now, segment, field),
            State::Open => self.receive_open(now, segment, field),
        }
    }

    /// Rejects a segment without a connection: "An incoming segment not containing a RST causes a RST to be
    /// sent in response" (RFC 9293 section 3.10.7.1).
    fn refuse(&mut self, segment: &Segment) {
        if !segment.flags.has(Flags::RST) && segment.flags.has(Flags::ACK) {
            self.control = Some(Control::Refuse(segment.acknowledgement));
        }
    }

    fn receive_listen(&mut self, now: Time, segment: &Segment, field: Ecn) {
        if !segment.flags.has(Flags::SYN) || segment.flags.has(Flags::ACK) {
            return self.refuse(segment);
        }
        self.take_offer(segment, self.config.tcp.ecn.accept(segment.flags, field));
        self.accecn = (self.agreed.ecn == TcpEcn::Accurate)
            .then(|| accecn::Handshake::new(self.field_of_handshake(), field));
        self.state = State::SynReceived;
        self.handshake = Some(Retransmission::of_syn_ack(&self.config, now));
        self.control = Some(Control::SynAck);
    }

    fn take_offer(&mut self, segment: &Segment, ecn: TcpEcn) {
        self.offer = Offer::of_peer(segment.options.as_deref());
        self.agreed = Agreed::new(&self.config.tcp, self.offer, ecn);
        self.syn_timestamp = segment.timestamp;
    }

    fn receive_syn_sent(&mut self, now: Time, segment: &Segment, field: Ecn) {
        let acceptable = segment.flags.has(Flags::ACK) && segment.acknowledgement == 1;
        if segment.flags.has(Flags::RST) {
            if acceptable {
                self.closed_by_peer = true;
                self.close();
            }
        } else if acceptable && segment.flags.has(Flags::SYN) {
            self.take_offer(segment, self.config.tcp.ecn.settle(segment.flags));
            self.accecn = (self.agreed.ecn == TcpEcn::Accurate)
                .then(|| accecn::Handshake::of_client(self.field_of_handshake(), segment, field));
            self.open(now, segment, Ecn::NotEct, false);
            self.control = Some(Control::AckOfSynAck);
        }
    }

    fn receive_syn_received(&mut self, now: Time, segment: &Segment, field: Ecn) {
        if segment.flags.has(Flags::RST) {
            // back to LISTEN (RFC 9293 section 3.10.7.4)
            self.state = State::Listen;
            self.handshake = None;
        } else if segment.flags.has(Flags::SYN) {
            // the SYN-ACK was lost
            self.handshake.iter_mut().for_each(|handshake| handshake.repeat(now));
            self.accecn.iter_mut().for_each(|accecn| accecn.on_syn_again(segment, field));
            self.control = Some(Control::SynAck);
        } else if segment.flags.has(Flags::ACK) && segment.acknowledgement == 1 {
            let marked = self.accecn.as_mut().is_some_and(|accecn| accecn.on_opened(segment));
            self.open(now, segment, field, marked);
            if segment.end() > segment.sequence {
                self.receive_open(now, segment, field);
            }
        }
    }

    /// Opens the connection by `segment`, which completes the handshake; `marked`: whether it reports a mark
    /// on the SYN-ACK.
    fn open(&mut self, now: Time, segment: &Segment, field: Ecn, marked: bool) {
        let handshake = self.handshake.take().expect("a handshake is under way");
        // the option takes its room in each segment; segments of the peer are not known to have it
        let full = self.agreed.payload;
        if self.accecn.is_some_and(|accecn| accecn.has_option()) {
            self.agreed.payload -= accecn::OPTION_BYTES;
        }
        let Agreed { payload, sack, timestamps, window_scaling, ecn } = self.agreed;
        let config = &self.config;
        let fixed = config.congestion_control == CongestionControl::Fixed;
        let echo = timestamps.then_some(segment.timestamp_echo);
        let rtt = handshake.rtt(now, echo);
        let initial_window = if handshake.starts_with_one_segment(echo) && !fixed {
            payload
        } else {
            config.initial_window.map_or(INITIAL_SEGMENTS * payload, |window| window.bytes())
        };
        let settings = Settings {
            control: config.congestion_control,
            initial_window,
            mss: payload,
            emulated_connections: config.emulated_connections,
            newreno_beta: 0.5,
            constants: config.constants(),
            handshake_rtt: rtt,
            equal_rtt_renews: config.fixed.equal_rtt_renews,
            kernel_hz: config.tcp.kernel_hz,
            slow_start_exit: config.slow_start_exit,
            saved_path: config.saved_path,
            max_jump: config.max_jump.map(|most| most.bytes()),
            ecn_beta: config.ecn_beta,
            paced: config.pacing != Pacing::None,
            flavour: Flavour::LinuxTcp,
        };
        let random = self.random.take().expect("a connection opens once");
        let controller = congestion::build(&settings, random);
        let pacer =
            pacing::build_for_bursts(&config.pacing, config.fixed.departure_times, header(timestamps));
        let trusted = self.accecn.filter(|accecn| accecn.is_trusted());
        let feedback = trusted.map(|accecn| accecn::Feedback::new(marked, accecn.has_option()));
        let window = u64::from(segment.window);
        let agreed = sender::Agreed { payload, sack, timestamps, window, rtt, ecn, feedback };
        let mut sender = Sender::new(config, agreed, now, controller, pacer);
        sender.load_metrics(now, &self.known);
        let tcp = TcpValues { window_scaling, ecn, ..config.tcp.clone() };
        let config = Config { tcp, ..config.clone() };
        let mut receiver = Receiver::new(&config, full, sack, timestamps).opened(now, self.offered);
        let counts = self.accecn.map(|accecn| accecn.counts(self.state == State::SynSent));
        // data that open the connection arrive a second time, and are counted then
        let has_data = segment.end() > segment.sequence;
        counts.filter(|_| !has_data).into_iter().for_each(|counts| receiver.count_marks(counts));
        receiver.on_segment(now, segment, field, None);
        counts.filter(|_| has_data).into_iter().for_each(|counts| receiver.count_marks(counts));
        self.halves = Some(Halves { sender, receiver });
        self.state = State::Open;
    }

    fn receive_open(&mut self, now: Time, segment: &Segment, field: Ecn) {
        let halves = self.halves.as_mut().expect("an open connection has its halves");
        if segment.flags.has(Flags::RST) {
            return self.receive_reset(now, segment);
        }
        if segment.flags.has(Flags::SYN) {
            // a SYN in a synchronised state: challenge ACK (RFC 5961 section 4.2); the ACK of a SYN-ACK was
            // lost if it is the peer's own
            self.accecn.iter_mut().for_each(|accecn| accecn.on_late(field));
            return self.answer_duplicate(now, Control::AckOfSynAck);
        }
        if halves.receiver.is_too_old(segment) {
            return halves.receiver.on_too_old(now, segment);
        }
        if segment.flags.has(Flags::ACK) {
            let outcome = halves.sender.on_ack(now, segment);
            self.acknowledgement = (!outcome.ignored).then_some(outcome);
        }
        halves.receiver.on_segment(now, segment, field, halves.sender.srtt());
        self.readable |= segment.end() > segment.sequence;
    }

    /// Acknowledges a duplicate: "An acknowledgment should be sent in reply" to an unacceptable segment (RFC
    /// 9293 section 3.10.7.4), but not to each one without data, or two ends could respond to each other
    /// indefinitely.
    fn answer_duplicate(&mut self, now: Time, answer: Control) {
        if self.last_duplicate.is_none_or(|last| now.since(last) >= DUPLICATE_ACK_INTERVAL) {
            self.last_duplicate = Some(now);
            self.control = Some(answer);
        }
    }

    fn receive_reset(&mut self, now: Time, segment: &Segment) {
        let halves = self.halves.as_ref().expect("an open connection has its halves");
        if segment.sequence == halves.receiver.next_expected() {
            self.closed_by_peer = true;
            self.close();
        } else {
            self.answer_duplicate(now, Control::Ack);
        }
    }
}
