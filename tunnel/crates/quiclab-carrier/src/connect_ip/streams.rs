//! Streams of a noq connection that HTTP/3 uses.

use bytes::{Bytes, BytesMut};
use noq_proto::{Connection, Dir, ReadError, StreamId, VarInt};
use quiclab_connect_ip::budget::{BYTES_PER_TURN, Budget};
use quiclab_connect_ip::error::{self, Http3Error};
use quiclab_connect_ip::http3::Http3;
use quiclab_core::tunnel::TunnelPayload;
use quiclab_core::{PacketMemory, Time};

/// State of HTTP/3 on a connection.
#[derive(Debug)]
pub(crate) struct Http3Streams {
    pub(crate) machine: Http3,
    budget: Budget,
    /// Whether more bytes have arrived than were read in the last turn.
    pub(crate) unread: bool,
    /// Time of the last turn, and the bytes that it may still read: all events of a turn have the same time.
    turn: (Time, usize),
    /// This end's control stream, and the bytes still to be written there.
    control: Option<StreamId>,
    control_outbox: BytesMut,
    /// Unidirectional streams of the peer.
    pub(crate) readable: Vec<StreamId>,
    /// At a client: whether the server is ready, and the request not sent.
    pub(crate) ready: bool,
    /// Header of a packet in a datagram; empty while there is no tunnel.
    pub(crate) header: Bytes,
}

impl Http3Streams {
    pub(crate) fn new(machine: Http3) -> Self {
        let control_outbox = machine.control();
        Self {
            machine,
            budget: Budget::default(),
            unread: false,
            turn: (Time::ZERO, BYTES_PER_TURN),
            control: None,
            control_outbox,
            readable: Vec::new(),
            ready: false,
            header: Bytes::new(),
        }
    }

    /// The datagram that carries `cargo`; `None` if `cargo` is not bytes, or there is no tunnel.
    pub(crate) fn encode(&self, cargo: &TunnelPayload, memory: &mut PacketMemory) -> Option<Bytes> {
        let TunnelPayload::Bytes(packet) = cargo else { return None };
        if self.header.is_empty() {
            return None;
        }
        Some(memory.join(&self.header, packet).freeze())
    }

    /// Bytes of a datagram in addition to the packet.
    pub(crate) fn overhead(&self) -> usize {
        self.header.len()
    }

    /// The packet in a datagram.
    ///
    /// # Errors
    /// If the connection must end: the code and the reason.
    pub(crate) fn packet(&self, datagram: &Bytes) -> Result<Option<Bytes>, (u32, &'static str)> {
        self.machine.packet(datagram).map_err(|error| (error.code, error.reason))
    }

    /// Whether more bytes have arrived than were read in the last turn.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread
    }

    /// Code of a closure without an error, in place of one of the tunnel's own protocol.
    pub(crate) fn no_error(&self) -> u32 {
        error::NO_ERROR
    }

    /// Bytes that may still be read in this turn.
    pub(crate) fn room(&self, now: Time) -> usize {
        if self.turn.0 == now { self.turn.1 } else { BYTES_PER_TURN }
    }

    /// Sets the bytes that may still be read in this turn.
    pub(crate) fn leave_room(&mut self, now: Time, room: usize) {
        self.turn = (now, room);
    }

    /// Counts received items without a packet, and `rejected` requests.
    ///
    /// # Errors
    /// If the count is a flood.
    pub(crate) fn charge(&mut self, now: Time, rejected: u64) -> Result<(), Http3Error> {
        let records = self.machine.take_idle() + rejected;
        self.budget.take(now, records).then_some(()).ok_or(error::FLOOD)
    }

    /// Opens this end's control stream, and writes the remaining bytes there.
    pub(crate) fn write_control(&mut self, quic: &mut Connection, dirty: &mut bool) {
        if self.control.is_none() {
            self.control = quic.streams().open(Dir::Uni);
        }
        let Some(control) = self.control else { return };
        while !self.control_outbox.is_empty() {
            match quic.send_stream(control).write(&self.control_outbox) {
                Ok(0) | Err(_) => return,
                Ok(written) => {
                    let _ = self.control_outbox.split_to(written);
                    *dirty = true;
                }
            }
        }
    }
}

/// Reads the received bytes of a stream, at most `room`; returns whether more may follow.
pub(crate) fn read<E>(
    quic: &mut Connection,
    stream: StreamId,
    room: &mut usize,
    dirty: &mut bool,
    mut each: impl FnMut(&[u8], bool) -> Result<(), E>,
) -> Result<bool, E> {
    let mut receive = quic.recv_stream(stream);
    let Ok(mut chunks) = receive.read(true) else { return Ok(false) };
    let mut some = false;
    let open = loop {
        if *room == 0 {
            break Ok(true);
        }
        match chunks.next(*room) {
            Ok(Some(chunk)) => {
                some = true;
                *room -= chunk.bytes.len();
                if let Err(error) = each(&chunk.bytes, false) {
                    break Err(error);
                }
            }
            // a stream that was reset has no more data either
            Ok(None) | Err(ReadError::Reset(_)) => break each(&[], true).map(|()| false),
            Err(ReadError::Blocked) => break Ok(true),
        }
    };
    *dirty |= chunks.finalize().should_transmit() && some;
    open
}

/// The identifier of a stream as a number.
pub(crate) fn number(stream: StreamId) -> u64 {
    VarInt::from(stream).into_inner()
}

/// Rejects a request of the peer.
pub(crate) fn reject(quic: &mut Connection, stream: StreamId, dirty: &mut bool) {
    let _ = quic.send_stream(stream).reset(error::REQUEST_REJECTED.into());
    let _ = quic.recv_stream(stream).stop(error::REQUEST_REJECTED.into());
    *dirty = true;
}
