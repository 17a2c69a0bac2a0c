//! A TCP connection: states, acknowledgements, timestamps, and who is told of a segment (RFC 9293
//! section 3.10, RFC 7323).
//!
//! The states from ESTABLISHED on are one here ([`State::Open`]): which of them it is follows from the two
//! halves, each of which knows whether its FIN was sent, acknowledged, received.
//!
//! | | RFC 9293 | Linux | here |
//! | --- | --- | --- | --- |
//! | TIME-WAIT | 2 MSL | 60 s | no timer; a retransmitted FIN is acknowledged as long as the run lasts |
//! | simultaneous open | yes | yes | no: roles are given |
//! | SACK with data | room permitting | shortens the payload | an ACK with SACK blocks that is due is sent alone |
//! | giving up | at least 100 s | `tcp_retries2` 15, silently | after 15, with an RST |
//! | old duplicates | ACK | ACK, for pure ACKs one in 500 ms | as Linux |
//! | RST not at the left edge | | challenge ACK (RFC 5961 section 3.2) | as Linux |
//! | initial window after lost SYNs | one segment | one segment, for the start only | for restarts after idling, too |

use super::accecn;
use super::config::{Config, INITIAL_SEGMENTS, UNSCALED_WINDOW, header};
use super::ecn::PriorAck;
use super::handshake::{Agreed, Expiry, Offer, Retransmission, syn_window};
use super::metrics::FinalState;
use super::receiver::Receiver;
use super::sender::{self, AckOutcome, Sender, Snapshot, Transmission, timestamp};
use crate::congestion::{Flavour, Settings};
use crate::options::{CongestionControl, Pacing, TcpEcn, TcpValues};
use crate::{congestion, pacing};
use quiclab_core::{
    Duration, Ecn, Flags, RandomStream, Role, SackBlocks, SavedTcpMetrics, Segment, SegmentOptions, Time,
};

/// One ACK for old duplicates without data in this time (Linux `tcp_invalid_ratelimit`).
const DUPLICATE_ACK_INTERVAL: Duration = Duration::from_millis(500);
/// Timeouts in a row that a connection survives (Linux `tcp_retries2`).
const MAX_RETRIES: u32 = 15;

/// State of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A client before it connects, and both ends after an abort.
    Closed,
    Listen,
    SynSent,
    SynReceived,
    /// ESTABLISHED and all states after it.
    Open,
}

/// A segment without data that is to be sent before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Syn,
    SynAck,
    Ack,
    /// Acknowledges a SYN-ACK.
    AckOfSynAck,
    /// Aborts the connection; the sequence number.
    Reset(u64),
    /// Answers a segment of no connection; the sequence number.
    Refuse(u64),
}

/// A segment to send now.
#[derive(Debug)]
pub(super) struct Departure {
    /// When it leaves the host.
    pub(super) leaves: Time,
    /// ECN field of its packet.
    pub(super) ecn: Ecn,
    pub(super) segment: Segment,
}

/// Both halves of an open connection.
struct Halves {
    sender: Sender,
    receiver: Receiver,
}

/// One end of a connection.
pub(super) struct Connection {
    config: Config,
    /// What is known of the peer before the connection.
    known: SavedTcpMetrics,
    state: State,
    /// Random numbers of the congestion control; `None` once it has them.
    random: Option<RandomStream>,
    /// `None` outside the handshake.
    handshake: Option<Retransmission>,
    /// TSval of the peer's SYN, to be echoed by the SYN-ACK.
    syn_timestamp: u32,
    /// The peer's SYN offered these.
    offer: Offer,
    agreed: Agreed,
    /// What the handshake has shown; `None` where AccECN is not in use.
    accecn: Option<accecn::Handshake>,
    /// Receive window in SYN or SYN-ACK.
    offered: u32,
    halves: Option<Halves>,
    control: Option<Control>,
    /// When an old duplicate was acknowledged; `None`: never.
    last_duplicate: Option<Time>,
    /// What the acknowledgement that arrived last did; taken by [`Connection::take_acknowledgement`].
    acknowledgement: Option<AckOutcome>,
    /// Something arrived that the application has not looked at.
    readable: bool,
    closed_by_peer: bool,
    failure: Option<String>,
}

impl Connection {
    pub(super) fn new(config: Config, role: Role, random: RandomStream) -> Self {
        let state = if role == Role::Server { State::Listen } else { State::Closed };
        Self {
            offer: Offer::new(&config.tcp),
            config,
            known: SavedTcpMetrics::default(),
            state,
            random: Some(random),
            handshake: None,
            syn_timestamp: 0,
            agreed: Agreed::default(),
            accecn: None,
            offered: 0,
            halves: None,
            control: None,
            last_duplicate: None,
            acknowledgement: None,
            readable: false,
            closed_by_peer: false,
            failure: None,
        }
    }

    /// What is known of the peer before the connection.
    pub(super) fn load_metrics(&mut self, known: SavedTcpMetrics) {
        self.known = known;
    }

    /// The state in which closing the connection now would leave it; `None` if it was not opened, or was aborted.
    pub(super) fn ended(&self) -> Option<FinalState> {
        let open = self.halves.as_ref().filter(|_| self.state == State::Open);
        open.map(|halves| halves.sender.ended())
    }

    /// Payload of a full segment in bytes; 0 before the peer has offered one.
    pub(super) fn payload(&self) -> u64 {
        self.agreed.payload
    }

    /// The client connects.
    pub(super) fn connect(&mut self, now: Time) {
        self.state = State::SynSent;
        let config = &self.config;
        self.handshake = Some(Retransmission::of_syn(config, now));
        self.control = Some(Control::Syn);
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// The peer has sent RST.
    pub(super) fn is_aborted_by_peer(&self) -> bool {
        self.closed_by_peer
    }

    /// Why the connection failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The peer's FIN and everything before it has been read.
    pub(super) fn is_finished_by_peer(&self) -> bool {
        self.halves.as_ref().is_some_and(|halves| halves.receiver.is_finished())
    }

    /// Everything written, and FIN if there is one, is acknowledged.
    pub(super) fn is_all_acknowledged(&self) -> bool {
        self.halves.as_ref().is_some_and(|halves| halves.sender.is_all_acknowledged())
    }

    /// Bytes that the application reads now.
    pub(super) fn read(&mut self, now: Time) -> u64 {
        match &mut self.halves {
            Some(halves) if std::mem::take(&mut self.readable) => halves.receiver.read(now),
            _ => 0,
        }
    }

    /// Whether the application may write now.
    pub(super) fn is_writable(&mut self) -> bool {
        self.halves.as_mut().is_some_and(|halves| halves.sender.is_writable())
    }
    /// Where the application writes; `None` before the connection is open.
    pub(super) fn writer(&mut self) -> Option<&mut Sender> {
        self.halves.as_mut().map(|halves| &mut halves.sender)
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.halves.as_mut().expect("nothing is written before the connection is open").sender.write(bytes);
    }

    /// The application has written everything.
    pub(super) fn finish(&mut self) {
        if let Some(halves) = &mut self.halves {
            halves.sender.finish();
        }
    }

    /// The application ends the connection at once (RFC 9293 section 3.10.5).
    pub(super) fn abort(&mut self) {
        let next = self.halves.as_ref().map_or(0, |halves| halves.sender.next_position());
        self.control = Some(Control::Reset(next));
        self.close();
    }

    /// Bytes written and not sent yet.
    pub(super) fn unsent(&self) -> u64 {
        self.halves.as_ref().map_or(0, |halves| halves.sender.unsent())
    }

    /// State for results; `None` before the connection is open.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let snapshot = self.halves.as_ref()?.sender.snapshot();
        // data of a closed connection is no longer relevant
        let over = self.state != State::Open;
        Some(if over { Snapshot { in_flight_bytes: 0, ..snapshot } } else { snapshot })
    }

    /// What the segment just received acknowledged; `None` if nothing that counts.
    pub(super) fn take_acknowledgement(&mut self) -> Option<AckOutcome> {
        self.acknowledgement.take()
    }

    /// Length of the TCP header of a segment of this connection, in bytes.
    pub(super) fn header_bytes(&self, segment: &Segment) -> u64 {
        segment.header_bytes(self.agreed.timestamps)
    }

    /// Nothing is sent any more; the halves stay for their results.
    fn close(&mut self) {
        self.state = State::Closed;
        self.handshake = None;
    }

    fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
        self.close();
    }

    // segments that arrive

    /// A segment arrived in a packet with the ECN field `field`.
    pub(super) fn receive(&mut self, now: Time, segment: &Segment, field: Ecn) {
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.receive_listen(now, segment, field),
            State::SynSent => self.receive_syn_sent(now, segment, field),
            State::SynReceived => self.receive_syn_received(now, segment, field),
            State::Open => self.receive_open(now, segment, field),
        }
    }

    /// Without a connection: "An incoming segment not containing a RST causes a RST to be sent in
    /// response" (RFC 9293 section 3.10.7.1).
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

    /// ECN field of a packet with the field `ecn`: what is ECN-capable has the codepoint that its congestion control uses.
    pub(super) fn codepoint(&self, ecn: Ecn) -> Ecn {
        let capable = self.accecn.is_none_or(|accecn| accecn.is_capable());
        match ecn {
            Ecn::Ect0 if capable => self.config.congestion_control.family().codepoint(),
            Ecn::Ect0 => Ecn::NotEct,
            _ => ecn,
        }
    }

    /// ECN field of the SYN or SYN-ACK of this end.
    fn field_of_handshake(&self) -> Ecn {
        let family = self.config.congestion_control.family();
        match self.config.tcp.ecn.field_of_handshake(family.counts_marks()) {
            Ecn::Ect0 => family.codepoint(),
            field => field,
        }
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

    /// The handshake is done by `segment`, which tells of a mark on the SYN-ACK if `marked`.
    fn open(&mut self, now: Time, segment: &Segment, field: Ecn, marked: bool) {
        let handshake = self.handshake.take().expect("a handshake is under way");
        // the option takes its room in each segment; what the peer sends is not known to have it
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

    /// "An acknowledgment should be sent in reply" to what is not acceptable (RFC 9293 section 3.10.7.4);
    /// not to each segment without data, or two ends could answer each other indefinitely.
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

    // time

    /// When [`Connection::on_timer`] wants to be called.
    pub(super) fn next_timer(&self, now: Time) -> Option<Time> {
        match (self.state, &self.halves) {
            (State::Open, Some(halves)) => {
                [halves.sender.next_timer(now), halves.receiver.ack_due()].into_iter().flatten().min()
            }
            _ => self.handshake.map(|handshake| handshake.deadline()),
        }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if let Some(handshake) = &mut self.handshake {
            match (handshake.expire(now), self.state) {
                (Expiry::NotDue, _) => {}
                (Expiry::Again, State::SynSent) => self.control = Some(Control::Syn),
                (Expiry::Again, _) => self.control = Some(Control::SynAck),
                (Expiry::GiveUp, State::SynSent) => {
                    self.fail(format!("no answer to SYN by {now}: the connection was given up"));
                }
                (Expiry::GiveUp, _) => {
                    self.handshake = None;
                    self.state = State::Listen; // Linux drops the request and goes on listening
                }
            }
        }
        if self.state != State::Open {
            return;
        }
        let Some(halves) = &mut self.halves else { return };
        if halves.sender.on_timer(now) && halves.sender.retries() > MAX_RETRIES {
            self.abort();
            self.fail(format!("no acknowledgement after {MAX_RETRIES} retransmissions by {now}"));
        }
    }

    // segments that leave

    /// Bursts that are due have left the queue of the host. Returns whether others waited for that.
    pub(super) fn leave_host(&mut self, now: Time) -> bool {
        self.halves.as_mut().is_some_and(|halves| halves.sender.leave_host(now))
    }

    /// What leaves while the application writes ([`Sender::push`]).
    pub(super) fn push(&mut self, now: Time, one: bool) -> Option<Departure> {
        let transmission = self.halves.as_mut()?.sender.push(now, one)?;
        Some(self.transmission(now, &transmission))
    }

    /// The next segment to send now; call it until it returns `None`.
    pub(super) fn next_segment(&mut self, now: Time) -> Option<Departure> {
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

    /// What a SYN-ACK says of ECN: with AccECN nothing any more if the one before was lost, too (RFC 9768 section 3.2.3.2.2).
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

    /// An acknowledgement of a part of what has arrived; the delayed one stays due (`__tcp_send_ack`).
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

    /// What `transmission` asks for, as a segment that acknowledges with `blocks`.
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

/// The window that a segment announces.
fn announced(agreed: Agreed, receiver: &mut Receiver) -> u32 {
    let window = receiver.window();
    if agreed.window_scaling { window } else { window.min(UNSCALED_WINDOW as u32) }
}
