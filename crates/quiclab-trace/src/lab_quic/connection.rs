//! Keys and handshake messages of a connection.

use super::ids::{ConnectionId, Ids, ORIGINAL_ID};
use super::random::Random;
use super::{ConnectionKey, Sender, Unwritten, flight, hello};
use crate::packets::key_log::Secret;
use crate::packets::quic::header::Version;
use crate::packets::quic::keys::{HeaderKey, PacketKey, Suite, Unmasked, initial_secrets};
use quiclab_core::PacketSpace;
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket, TransportParameters};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const SPACES: usize = 4;

/// Keys that protect the packets of one endpoint in one packet number space.
pub(super) struct Keys {
    pub(super) packet: PacketKey,
    pub(super) header: HeaderKey,
}

/// A message at an encryption level, and its length in the model.
type Message = (u64, Vec<u8>);

/// A connection of lab-quic.
pub(super) struct Connection {
    pub(super) random: Random,
    pub(super) ids: Ids,
    /// By packet space: those of the client and of the server.
    keys: [Option<[Keys; 2]>; SPACES],
    /// Lines of a key log, for keys derived since the last call of `take_secrets`.
    secrets: Vec<String>,
    messages: BTreeMap<(Sender, PacketSpace), Message>,
    /// Bytes of the server's connection ID, after a long header of the server.
    server_id: Option<u8>,
    /// Largest packet number written, by sender, packet number space, path.
    largest: BTreeMap<(Sender, PacketSpace, u8), u64>,
}

impl Connection {
    pub(super) fn new(seed: u64, key: ConnectionKey) -> Self {
        let random = Random::new(seed, key);
        Self {
            ids: Ids::new(random.clone()),
            random,
            keys: Default::default(),
            secrets: Vec::new(),
            messages: BTreeMap::new(),
            server_id: None,
            largest: BTreeMap::new(),
        }
    }

    /// Returns the lines of a key log that have not been returned yet.
    pub(super) fn take_secrets(&mut self) -> Vec<String> {
        std::mem::take(&mut self.secrets)
    }

    /// Learns the length of the server's connection ID.
    pub(super) fn learn(&mut self, sender: Sender, datagram: &QuicDatagram) {
        let long = datagram.packets.iter().find(|packet| packet.space != PacketSpace::OneRtt);
        if let (Sender::Server, Some(packet)) = (sender, long) {
            self.server_id = Some(packet.format.source_id);
        }
    }

    /// Length of the Destination Connection ID of a packet.
    pub(super) fn destination_length(&self, sender: Sender, packet: &QuicPacket) -> u8 {
        match sender {
            Sender::Client if is_before_answer(packet) => ORIGINAL_ID as u8,
            Sender::Client => self.server_id.unwrap_or(packet.format.destination_id),
            Sender::Server => packet.format.destination_id,
        }
    }

    /// The Destination Connection ID of a packet.
    pub(super) fn destination(&mut self, sender: Sender, packet: &QuicPacket) -> ConnectionId {
        match sender {
            Sender::Client if is_before_answer(packet) => self.ids.original(),
            Sender::Client => self.ids.chosen(Sender::Server, packet.path, 0),
            Sender::Server => self.ids.chosen(Sender::Client, packet.path, 0),
        }
    }

    /// The keys with which `sender` protects packets of a space.
    pub(super) fn keys(&mut self, sender: Sender, space: PacketSpace) -> &Keys {
        let Self { keys, random, ids, secrets, .. } = self;
        let both = keys[space as usize].get_or_insert_with(|| {
            if space == PacketSpace::Initial {
                let secrets = initial_secrets(Version::One, &ids.original()[..ORIGINAL_ID]);
                return secrets.map(|secret| derived(Suite::Aes128, &secret));
            }
            labels(space).map(|label| {
                let secret: [u8; 48] = random.bytes(label);
                let line =
                    format!("{label} {} {}", hex(&random.bytes::<32>(hello::CLIENT_RANDOM)), hex(&secret));
                if !secrets.contains(&line) {
                    secrets.push(line);
                }
                derived(Suite::Aes256, &Secret::Long(secret))
            })
        });
        &both[sender as usize]
    }

    /// Whether a reader of the written packets reconstructs the number of a packet (RFC 9000 appendix A.3).
    pub(super) fn is_restored(&self, sender: Sender, packet: &QuicPacket) -> bool {
        let length = usize::from(packet.format.number_length);
        let number = packet.number as u32 & u32::MAX >> (32 - 8 * length);
        let read = Unmasked { first: 0, at: 0, length, number };
        read.expanded(self.largest.get(&number_space(sender, packet)).copied()) == packet.number
    }

    /// Records that a packet was written.
    pub(super) fn on_written(&mut self, sender: Sender, packet: &QuicPacket) {
        let largest = self.largest.entry(number_space(sender, packet)).or_default();
        *largest = (*largest).max(packet.number);
    }

    /// The messages that `sender` sends at the encryption level of a packet space, with its parameters.
    pub(super) fn message(
        &mut self,
        sender: Sender,
        space: PacketSpace,
        of: &TransportParameters,
    ) -> Result<&[u8], Unwritten> {
        let Self { messages, random, ids, .. } = self;
        let length = of.message_end as usize;
        let known = messages.get(&(sender, space)).is_some_and(|(known, _)| *known == of.message_end);
        if !known {
            let made = match (sender, space) {
                (Sender::Client, PacketSpace::Initial) => hello::client(length, of, ids, random),
                (Sender::Server, PacketSpace::Initial) => hello::server(length, of.session, random),
                (Sender::Client, PacketSpace::Handshake) => flight::client(length, random),
                (Sender::Server, PacketSpace::Handshake) => flight::server(length, of, ids, random),
                (Sender::Server, PacketSpace::OneRtt) => flight::tickets(length, random),
                (Sender::Client, PacketSpace::OneRtt) | (_, PacketSpace::ZeroRtt) => None,
            };
            messages.insert((sender, space), (of.message_end, made.ok_or(Unwritten::Message)?));
        }
        Ok(&messages[&(sender, space)].1)
    }
}

/// Whether a client sent the packet before it received one from the server, as far as the packet shows.
fn is_before_answer(packet: &QuicPacket) -> bool {
    match packet.space {
        PacketSpace::ZeroRtt => true,
        PacketSpace::Initial => !packet.frames.iter().any(|frame| matches!(frame, QuicFrame::Ack(_))),
        PacketSpace::Handshake | PacketSpace::OneRtt => false,
    }
}

/// Packet number space by sender and path: 0-RTT and 1-RTT packets share numbers (RFC 9000 section 12.3).
fn number_space(sender: Sender, packet: &QuicPacket) -> (Sender, PacketSpace, u8) {
    let space = if packet.space == PacketSpace::ZeroRtt { PacketSpace::OneRtt } else { packet.space };
    (sender, space, packet.path)
}

/// Labels of the secrets in a key log (RFC 9850 section 2), of the client and of the server; 0-RTT has one.
fn labels(space: PacketSpace) -> [&'static str; 2] {
    match space {
        PacketSpace::ZeroRtt => ["CLIENT_EARLY_TRAFFIC_SECRET"; 2],
        PacketSpace::OneRtt => ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"],
        PacketSpace::Initial | PacketSpace::Handshake => {
            ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"]
        }
    }
}

fn derived(suite: Suite, secret: &Secret) -> Keys {
    Keys {
        packet: PacketKey::new(Version::One, suite, secret),
        header: HeaderKey::new(Version::One, suite, secret),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}
