//! Connections of a capture, and to which of them a packet belongs.
//!
//! A connection is an index, which the sink knows. Between two ends there is one connection at a time ([`Place`]), but
//! the same ends may have another one later (TCP: `sequence.rs`), and a connection may have other ends later (QUIC): what
//! follows a protocol says so by [`Flows::open`] and [`Flows::join`].

use super::ip::{Datagram, End};
use super::quic::Connection;
use super::{Flow, Protocol, Sink};
use std::collections::HashMap;

/// Connections that are followed; packets of further ones are counted.
pub const FLOWS_MAX: usize = 10_000;

/// Addresses and ports of a packet, whichever of its ends sent it: the lesser end first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    ends: [End; 2],
    tcp: bool,
    six: bool,
}

impl Tuple {
    /// That of a packet, and whether its lesser end sent it.
    pub(super) fn of(datagram: &Datagram<'_>) -> (Self, bool) {
        let &Datagram { tcp, six, source, destination, .. } = datagram;
        let lesser = source <= destination;
        let ends = if lesser { [source, destination] } else { [destination, source] };
        (Self { ends, tcp, six }, lesser)
    }
}

/// The connection between two ends, and which of them is its first.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) index: usize,
    /// The lesser end is the first of the connection.
    pub(super) lesser_first: bool,
}

/// A connection.
pub(super) struct State {
    pub(super) flow: Flow,
    pub(super) quic: Option<Box<Connection>>,
    /// Packets on which secrets were tried.
    pub(super) tried: u8,
}

/// The connections of a capture.
#[derive(Default)]
pub(super) struct Flows {
    /// Looked up only, never walked over: its order, which differs between runs, shows nowhere. Addresses in a capture
    /// are untrusted, so the hash is the standard library's, which cannot be made to collide.
    places: HashMap<Tuple, Place>,
    /// That of the packet before.
    last: Option<(Tuple, Place)>,
    pub(super) states: Vec<State>,
}

impl Flows {
    /// The present connection between the ends of a packet.
    pub(super) fn find(&mut self, tuple: Tuple) -> Option<Place> {
        if let Some((last, place)) = self.last
            && last == tuple
        {
            return Some(place);
        }
        let place = *self.places.get(&tuple)?;
        self.last = Some((tuple, place));
        Some(place)
    }

    /// A connection begins with this packet; `None` if there are too many.
    pub(super) fn open(&mut self, datagram: &Datagram<'_>, sink: &mut dyn Sink) -> Option<Place> {
        if self.states.len() == FLOWS_MAX {
            return None;
        }
        let (tuple, lesser_first) = Tuple::of(datagram);
        let &Datagram { tcp, six, source, destination, .. } = datagram;
        let flow = Flow {
            protocol: if tcp { Protocol::Tcp } else { Protocol::Udp },
            ends: Some([source.socket(six), destination.socket(six)]),
            name: String::new(),
        };
        let place = Place { index: self.states.len(), lesser_first };
        sink.flow(place.index, &flow);
        self.states.push(State { flow, quic: None, tried: 0 });
        self.join(tuple, place);
        Some(place)
    }

    /// Packets between these ends belong to a connection from now on.
    pub(super) fn join(&mut self, tuple: Tuple, place: Place) {
        self.places.insert(tuple, place);
        self.last = Some((tuple, place));
    }
}
