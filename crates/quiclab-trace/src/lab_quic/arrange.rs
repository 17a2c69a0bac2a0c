//! Connection IDs of another length than in the model, in a datagram of the same length.
//!
//! The model counts the bytes of the peer's connection ID, and those of its own ID before it knows the peer's
//! parameters. Padding compensates for the difference.

use super::connection::Connection;
use super::{Sender, Unwritten};
use quiclab_core::quic::{QuicDatagram, QuicFrame};
use std::borrow::Cow;

/// `datagram` with Destination Connection IDs of the length that they have in the connection.
pub(super) fn datagram<'a>(
    connection: &Connection,
    sender: Sender,
    datagram: &'a QuicDatagram,
) -> Result<Cow<'a, QuicDatagram>, Unwritten> {
    let is_exact = |packet| connection.destination_length(sender, packet) == packet.format.destination_id;
    if datagram.packets.iter().all(is_exact) {
        return Ok(Cow::Borrowed(datagram));
    }
    let wanted = datagram.length();
    let mut arranged = datagram.clone();
    for packet in &mut arranged.packets {
        packet.format.destination_id = connection.destination_length(sender, packet);
    }
    let length = arranged.length();
    if let Some(missing) = wanted.checked_sub(length) {
        // at the front: the last frame may extend to the end of the packet
        arranged.packets[0].frames.insert(0, QuicFrame::Padding { length: missing as u16 });
    } else {
        let excess = (length - wanted) as u16;
        let frames = arranged.packets.iter_mut().flat_map(|packet| &mut packet.frames);
        let mut padding = frames.filter_map(|frame| match frame {
            QuicFrame::Padding { length } if *length >= excess => Some(length),
            _ => None,
        });
        *padding.next().ok_or(Unwritten::ConnectionId)? -= excess;
    }
    // a Length field may have become longer or shorter
    if arranged.length() == wanted { Ok(Cow::Owned(arranged)) } else { Err(Unwritten::ConnectionId) }
}
