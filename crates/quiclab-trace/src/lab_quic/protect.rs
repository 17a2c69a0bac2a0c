//! Conversion of packets as values to protected bytes (RFC 9001 section 5).

use super::connection::Connection;
use super::{Sender, Unwritten, arrange};
use crate::packets::quic::keys::SAMPLE_OFFSET;
use quiclab_core::PacketSpace;
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket, Wire};

/// Offset of the Destination Connection ID in a long header, after first byte, version and length.
const LONG_ID_AT: usize = 1 + 4 + 1;
/// Offset of the Destination Connection ID in a short header.
const SHORT_ID_AT: usize = 1;
/// ID and token at the end of NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID.
const NEW_ID: usize = 8;
const RESET_TOKEN: usize = 16;

/// Appends the UDP payload of a datagram.
///
/// # Errors
/// If a packet of the datagram cannot be written; `out` then contains a part of it.
pub(super) fn datagram(
    connection: &mut Connection,
    sender: Sender,
    datagram: &QuicDatagram,
    out: &mut Vec<u8>,
) -> Result<(), Unwritten> {
    if datagram.packets.iter().any(|packet| packet.format.wire != Wire::V1) {
        return Err(Unwritten::Gquic);
    }
    connection.learn(sender, datagram);
    let arranged = arrange::datagram(connection, sender, datagram)?;
    for packet in &arranged.packets {
        append(connection, sender, packet, out)?;
    }
    for packet in &arranged.packets {
        connection.on_written(sender, packet);
    }
    Ok(())
}

fn append(
    connection: &mut Connection,
    sender: Sender,
    packet: &QuicPacket,
    out: &mut Vec<u8>,
) -> Result<(), Unwritten> {
    let number_length = usize::from(packet.format.number_length);
    if number_length + packet.payload_length() < SAMPLE_OFFSET {
        return Err(Unwritten::TooShort);
    }
    if !connection.is_restored(sender, packet) {
        return Err(Unwritten::Number);
    }
    let start = out.len();
    packet.encode_header(out);
    let header_length = out.len() - start;
    put_ids(connection, sender, packet, &mut out[start..]);
    packet.encode_payload(out);
    put_content(connection, sender, packet, &mut out[start + header_length..])?;
    let keys = connection.keys(sender, packet.space);
    let (header, payload) = out[start..].split_at_mut(header_length);
    let tag = keys.packet.seal(header, packet.path.into(), packet.number, payload);
    out.extend_from_slice(&tag);
    keys.header.protect(&mut out[start..], header_length - number_length, number_length);
    Ok(())
}

/// Writes connection IDs in place of zeros.
fn put_ids(connection: &mut Connection, sender: Sender, packet: &QuicPacket, header: &mut [u8]) {
    let length = usize::from(packet.format.destination_id);
    let destination = connection.destination(sender, packet);
    let at = if packet.space == PacketSpace::OneRtt { SHORT_ID_AT } else { LONG_ID_AT };
    header[at..at + length].copy_from_slice(&destination[..length]);
    if packet.space != PacketSpace::OneRtt {
        let (at, length) = (at + length + 1, usize::from(packet.format.source_id));
        header[at..at + length].copy_from_slice(&connection.ids.first(sender)[..length]);
    }
}

/// Writes the content of frames in place of zeros: handshake messages and connection IDs. Data remain zeros.
fn put_content(
    connection: &mut Connection,
    sender: Sender,
    packet: &QuicPacket,
    payload: &mut [u8],
) -> Result<(), Unwritten> {
    let mut end = 0;
    for frame in &packet.frames {
        end += frame.length(packet.format.wire);
        let (path, sequence) = match frame {
            QuicFrame::Crypto { offset, length, parameters } => {
                let parameters = parameters.as_deref().ok_or(Unwritten::Message)?;
                let message = connection.message(sender, packet.space, parameters)?;
                let (from, length) = (*offset as usize, usize::from(*length));
                let data = message.get(from..from + length).ok_or(Unwritten::Message)?;
                payload[end - length..end].copy_from_slice(data);
                continue;
            }
            QuicFrame::NewConnectionId { sequence_number } => (0, *sequence_number),
            QuicFrame::PathNewConnectionId { path, sequence_number } => (*path, *sequence_number),
            _ => continue,
        };
        let id = connection.ids.chosen(sender, path, sequence);
        let token: [u8; RESET_TOKEN] =
            connection.random.bytes(&format!("{sender:?} reset token {path} {sequence}"));
        payload[end - RESET_TOKEN - NEW_ID..end - RESET_TOKEN].copy_from_slice(&id[..NEW_ID]);
        payload[end - RESET_TOKEN..end].copy_from_slice(&token);
    }
    Ok(())
}
