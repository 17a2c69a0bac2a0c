//! The streams of a connection of noq that HTTP/3 runs on.

use super::error::{self, Http3Error};
use super::http3::Http3;
use bytes::{Bytes, BytesMut};
use noq_proto::{Connection, Dir, ReadError, StreamId, VarInt};
use quiclab_core::tunnel::TunnelPayload;

/// What a connection has for HTTP/3.
#[derive(Debug)]
pub(crate) struct Http3Streams {
    pub(in crate::carrier) machine: Http3,
    /// This end's control stream, and what is still to be written there.
    control: Option<StreamId>,
    control_outbox: BytesMut,
    /// Unidirectional streams of the other end.
    pub(in crate::carrier) readable: Vec<StreamId>,
    /// At a client: the server is ready, and the request not sent.
    pub(in crate::carrier) ready: bool,
    /// What stands before a packet in a datagram; empty while there is no tunnel.
    pub(in crate::carrier) header: Bytes,
}

impl Http3Streams {
    pub(crate) fn new(machine: Http3) -> Self {
        let control_outbox = machine.control();
        Self {
            machine,
            control: None,
            control_outbox,
            readable: Vec::new(),
            ready: false,
            header: Bytes::new(),
        }
    }

    /// The datagram that carries `cargo`; `None` if it is not bytes, or there is no tunnel.
    pub(crate) fn encode(&self, cargo: &TunnelPayload) -> Option<Bytes> {
        let TunnelPayload::Bytes(packet) = cargo else { return None };
        if self.header.is_empty() {
            return None;
        }
        let mut datagram = BytesMut::with_capacity(self.header.len() + packet.len());
        datagram.extend_from_slice(&self.header);
        datagram.extend_from_slice(packet);
        Some(datagram.freeze())
    }

    /// Bytes of a datagram beside the packet.
    pub(crate) fn overhead(&self) -> usize {
        self.header.len()
    }

    /// The packet in a datagram.
    pub(crate) fn packet(&self, datagram: &Bytes) -> Result<Option<Bytes>, Http3Error> {
        self.machine.packet(datagram)
    }

    /// Opens this end's control stream, and writes what is left to be written there.
    pub(in crate::carrier) fn write_control(&mut self, quic: &mut Connection, dirty: &mut bool) {
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

/// Reads a stream as far as something has arrived; returns whether more may come.
pub(in crate::carrier) fn read<E>(
    quic: &mut Connection,
    stream: StreamId,
    dirty: &mut bool,
    mut each: impl FnMut(&[u8], bool) -> Result<(), E>,
) -> Result<bool, E> {
    let mut receive = quic.recv_stream(stream);
    let Ok(mut chunks) = receive.read(true) else { return Ok(false) };
    let mut some = false;
    let open = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => {
                some = true;
                if let Err(error) = each(&chunk.bytes, false) {
                    break Err(error);
                }
            }
            // a stream that was reset brings no more, either
            Ok(None) | Err(ReadError::Reset(_)) => break each(&[], true).map(|()| false),
            Err(ReadError::Blocked) => break Ok(true),
        }
    };
    *dirty |= chunks.finalize().should_transmit() && some;
    open
}

/// The identifier of a stream as a number.
pub(in crate::carrier) fn number(stream: StreamId) -> u64 {
    VarInt::from(stream).into_inner()
}

/// Rejects a request of the other end.
pub(in crate::carrier) fn reject(quic: &mut Connection, stream: StreamId, dirty: &mut bool) {
    let _ = quic.send_stream(stream).reset(error::REQUEST_REJECTED.into());
    let _ = quic.recv_stream(stream).stop(error::REQUEST_REJECTED.into());
    *dirty = true;
}
