//! Packets of lab-quic as a real endpoint would have sent them: with connection IDs, handshake messages and protection.
//!
//! lab-quic has no keys: its packets are frames as values, data are lengths. Here they become the bytes of RFC 9000 and
//! RFC 9001, with the length that the network saw, and their secrets become lines of a key log. Everything that the model
//! leaves open is derived from the seed of the run and the connection, so both ends write the same bytes for the same
//! packet.
//!
//! | file | content |
//! | --- | --- |
//! | `random.rs` | bytes derived from seed and connection: secrets, connection IDs, random values of TLS |
//! | `ids.rs` | connection IDs |
//! | `message.rs`, `hello.rs`, `flight.rs`, `certificate.rs`, `parameters.rs` | messages of TLS 1.3, with the lengths of the model |
//! | `connection.rs` | keys and messages of a connection |
//! | `arrange.rs` | connection IDs of another length than the model's, at the expense of padding |
//! | `protect.rs` | from a packet as values to protected bytes |
//!
//! | modelled | written |
//! | --- | --- |
//! | stream data, datagrams | zeros |
//! | cipher suite | `TLS_AES_256_GCM_SHA384`: the length of the modelled Finished |
//! | signatures, Finished, tickets, PSK binder, certificates | of the right form and length, without a valid signature |
//! | ALPN | "lq": so that no dissector interprets the zeros as HTTP |
//! | first Destination Connection ID of a client | 8 bytes; all packets before the first one from the server have it: 0-RTT, and Initial packets without ACK frame |
//!
//! A packet that cannot be written completely ends after its UDP header, and a comment gives the reason
//! ([`Unwritten`]).

mod arrange;
mod certificate;
mod connection;
mod flight;
mod hello;
mod ids;
mod message;
mod parameters;
mod protect;
mod random;
#[cfg(test)]
mod tests;

use connection::Connection;
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket};
use quiclab_core::{Packet, PacketSpace};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Reason for which the bytes of a datagram are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unwritten {
    /// Its protection is not implemented.
    Gquic,
    /// The connection ID of the server, or the client's choice in its place, is longer than in the model, and
    /// nothing in the datagram is padding.
    ConnectionId,
    /// Header protection needs four bytes of packet number and frames (RFC 9001 section 5.4.2).
    TooShort,
    /// A reader of this capture would reconstruct another packet number.
    Number,
    /// The length of a handshake message is not that of its fields.
    Message,
}

impl Unwritten {
    fn reason(self) -> &'static str {
        match self {
            Self::Gquic => "Google QUIC 37 is not protected here",
            Self::ConnectionId => {
                "a connection ID is longer than modelled, and there is no padding that it could replace"
            }
            Self::TooShort => "too short for header protection (RFC 9001 section 5.4.2)",
            Self::Number => "the packet number could not be restored from its last bytes",
            Self::Message => "a handshake message is too short for its fields",
        }
    }
}

/// Sender of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sender {
    Client,
    Server,
}

/// Identity of a connection, from the ids of its packets: flow and origin, without the role
/// ([`quiclab_core::EndpointIdentity::first_packet_id`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ConnectionKey {
    flow: u32,
    origin: u8,
}

/// Bits of a packet's id: flow, role, connection of a page with several origins, counter.
fn identity(id: u64) -> (ConnectionKey, Sender) {
    let key = ConnectionKey { flow: (id >> 41) as u32, origin: (id >> 32) as u8 };
    (key, if id >> 40 & 1 == 0 { Sender::Client } else { Sender::Server })
}

/// A written datagram of lab-quic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written<'a> {
    /// The UDP payload; `None`: it cannot be written.
    pub(crate) payload: Option<&'a [u8]>,
    /// Note about it for readers.
    pub(crate) comment: Option<String>,
    /// Lines of a key log, given with the first datagram that needs them.
    pub(crate) secrets: Vec<String>,
}

/// The connections of one capture.
#[derive(Default)]
pub(crate) struct LabQuic {
    seed: u64,
    connections: BTreeMap<ConnectionKey, Connection>,
    payload: Vec<u8>,
}

impl LabQuic {
    /// Creates an empty set; `seed` is the seed of the run.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Writes the bytes of `datagram`, the content of `packet`.
    pub(crate) fn write(&mut self, packet: &Packet, datagram: &QuicDatagram) -> Written<'_> {
        let (key, sender) = identity(packet.id);
        let connection = self.connections.entry(key).or_insert_with(|| Connection::new(self.seed, key));
        self.payload.clear();
        let protected = protect::datagram(connection, sender, datagram, &mut self.payload);
        let secrets = connection.take_secrets();
        match protected {
            Ok(()) => Written { payload: Some(&self.payload), comment: caution(datagram), secrets },
            Err(reason) => Written { payload: None, comment: Some(comment(datagram, reason)), secrets },
        }
    }
}

/// Content of a datagram that a dissector of RFC 9000 and RFC 9001 cannot read.
fn caution(datagram: &QuicDatagram) -> Option<String> {
    let multipath = |packet: &QuicPacket| packet.path > 0 || packet.frames.iter().any(is_multipath);
    let packet = datagram.packets.iter().find(|packet| multipath(packet))?;
    let path = packet.path;
    Some(match path {
        0 => "frames of Multipath QUIC (draft-ietf-quic-multipath-21)".to_owned(),
        _ => format!(
            "Multipath QUIC (draft-ietf-quic-multipath-21): path ID {path} is part of the nonce, packet number {}",
            packet.number
        ),
    })
}

fn is_multipath(frame: &QuicFrame) -> bool {
    match frame {
        QuicFrame::Ack(ack) => ack.path.is_some(),
        QuicFrame::PathAbandon { .. }
        | QuicFrame::PathStatus { .. }
        | QuicFrame::PathNewConnectionId { .. }
        | QuicFrame::MaxPathId { .. }
        | QuicFrame::PathsBlocked { .. }
        | QuicFrame::PathCidsBlocked { .. } => true,
        _ => false,
    }
}

/// Comment in place of the bytes of a datagram: `modelled by lab-quic, bytes not written: REASON; 1-RTT packet 7:
/// Ping`.
fn comment(datagram: &QuicDatagram, reason: Unwritten) -> String {
    let mut text = format!("modelled by lab-quic, bytes not written: {}", reason.reason());
    for packet in &datagram.packets {
        let space = match packet.space {
            PacketSpace::Initial => "Initial",
            PacketSpace::Handshake => "Handshake",
            PacketSpace::ZeroRtt => "0-RTT",
            PacketSpace::OneRtt => "1-RTT",
        };
        let names: Vec<String> = packet.frames.iter().map(frame_name).collect();
        write!(text, "; {space} packet {}: {}", packet.number, names.join(", "))
            .expect("a string takes everything");
    }
    text
}

/// Name of a frame in the model.
fn frame_name(frame: &QuicFrame) -> String {
    let mut name = format!("{frame:?}");
    name.truncate(name.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(name.len()));
    name
}
