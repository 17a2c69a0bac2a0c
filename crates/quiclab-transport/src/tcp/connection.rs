//! A TCP connection (RFC 9293 section 3.10): its states and timers, and what the application asks of it.
//!
//! | module | |
//! | --- | --- |
//! | `receive` | segments that arrive, in each state |
//! | `send` | segments that leave |
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

mod receive;
mod send;

use super::accecn;
use super::config::Config;
use super::handshake::{Agreed, Expiry, Offer, Retransmission};
use super::metrics::FinalState;
use super::receiver::Receiver;
use super::sender::{AckOutcome, Sender, Snapshot};
use quiclab_core::{Ecn, RandomStream, Role, SavedTcpMetrics, Segment, Time};

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
}
