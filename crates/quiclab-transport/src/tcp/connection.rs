//! TCP connection (RFC 9293 section 3.10): its states and timers, and its interface to the application.
//!
//! | module | |
//! | --- | --- |
//! | `receive` | segments that arrive, in each state |
//! | `send` | segments that are sent |
//!
//! The states from ESTABLISHED on are one here ([`State::Open`]): the two halves distinguish them by whether
//! FIN was sent, acknowledged or received.
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

/// Maximum number of consecutive timeouts that a connection survives (Linux `tcp_retries2`).
const MAX_RETRIES: u32 = 15;

/// State of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Client before it connects, and both ends after an abort.
    Closed,
    Listen,
    SynSent,
    SynReceived,
    /// ESTABLISHED and all states after it.
    Open,
}

/// Segment without data that is to be sent before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Syn,
    SynAck,
    Ack,
    /// Acknowledges a SYN-ACK.
    AckOfSynAck,
    /// Aborts the connection; the sequence number.
    Reset(u64),
    /// Rejects a segment of no connection; the sequence number.
    Refuse(u64),
}

/// Segment to send now.
#[derive(Debug)]
pub(super) struct Departure {
    /// Time at which it leaves the host.
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

/// Endpoint of a connection.
pub(super) struct Connection {
    config: Config,
    /// Metrics of the peer saved before the connection.
    known: SavedTcpMetrics,
    state: State,
    /// Random stream of the congestion control; `None` once it is passed on.
    random: Option<RandomStream>,
    /// Retransmission of the handshake; `None` outside it.
    handshake: Option<Retransmission>,
    /// TSval of the peer's SYN, to be echoed by the SYN-ACK.
    syn_timestamp: u32,
    /// Options that the peer's SYN offered.
    offer: Offer,
    agreed: Agreed,
    /// State of AccECN from the handshake; `None` if it is not in use.
    accecn: Option<accecn::Handshake>,
    /// Receive window in SYN or SYN-ACK.
    offered: u32,
    halves: Option<Halves>,
    control: Option<Control>,
    /// Time at which an old duplicate was last acknowledged; `None`: never.
    last_duplicate: Option<Time>,
    /// Outcome of the last acknowledgement received; taken by [`Connection::take_acknowledgement`].
    acknowledgement: Option<AckOutcome>,
    /// Whether data have arrived that the application has not checked.
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

    /// Sets the metrics of the peer saved before the connection.
    pub(super) fn load_metrics(&mut self, known: SavedTcpMetrics) {
        self.known = known;
    }

    /// State in which the connection would end if it were closed now; `None` if it was not opened, or was
    /// aborted.
    pub(super) fn ended(&self) -> Option<FinalState> {
        let open = self.halves.as_ref().filter(|_| self.state == State::Open);
        open.map(|halves| halves.sender.ended())
    }

    /// Payload of a full segment in bytes; 0 before the peer has offered one.
    pub(super) fn payload(&self) -> u64 {
        self.agreed.payload
    }

    /// Starts the connection of the client.
    pub(super) fn connect(&mut self, now: Time) {
        self.state = State::SynSent;
        let config = &self.config;
        self.handshake = Some(Retransmission::of_syn(config, now));
        self.control = Some(Control::Syn);
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether the peer has sent RST.
    pub(super) fn is_aborted_by_peer(&self) -> bool {
        self.closed_by_peer
    }

    /// Reason why the connection failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Whether the peer's FIN and all data before it have been read.
    pub(super) fn is_finished_by_peer(&self) -> bool {
        self.halves.as_ref().is_some_and(|halves| halves.receiver.is_finished())
    }

    /// Whether all data written, and FIN if there is one, are acknowledged.
    pub(super) fn is_all_acknowledged(&self) -> bool {
        self.halves.as_ref().is_some_and(|halves| halves.sender.is_all_acknowledged())
    }

    /// Reads for the application; returns the number of bytes.
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

    /// Sending half for writes of the application; `None` before the connection is open.
    pub(super) fn writer(&mut self) -> Option<&mut Sender> {
        self.halves.as_mut().map(|halves| &mut halves.sender)
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.halves.as_mut().expect("nothing is written before the connection is open").sender.write(bytes);
    }

    /// Ends the sending half: the application has written all data.
    pub(super) fn finish(&mut self) {
        if let Some(halves) = &mut self.halves {
            halves.sender.finish();
        }
    }

    /// Aborts the connection (RFC 9293 section 3.10.5).
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
        // data of a closed connection are no longer relevant
        let over = self.state != State::Open;
        Some(if over { Snapshot { in_flight_bytes: 0, ..snapshot } } else { snapshot })
    }

    /// Takes the outcome of the acknowledgement just received; `None` if it had no effect.
    pub(super) fn take_acknowledgement(&mut self) -> Option<AckOutcome> {
        self.acknowledgement.take()
    }

    /// Length of the TCP header of a segment of this connection, in bytes.
    pub(super) fn header_bytes(&self, segment: &Segment) -> u64 {
        segment.header_bytes(self.agreed.timestamps)
    }

    /// Closes the connection: nothing is sent any more; the halves are kept for their results.
    fn close(&mut self) {
        self.state = State::Closed;
        self.handshake = None;
    }

    fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
        self.close();
    }

    /// Time at which [`Connection::on_timer`] must be called.
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
                    self.state = State::Listen; // Linux drops the request and continues to listen
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
