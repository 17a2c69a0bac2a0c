//! Connections of a capture, and the assignment of packets to them.
//!
//! A connection is an index, which the sink knows. Between two ends there is one connection at a time
//! ([`Place`]), but the same ends may have another one later (TCP: `sequence.rs`), and a connection may use other
//! addresses later (QUIC): the code of a protocol reports both by [`Flows::open`] and [`Flows::join`].

use super::copies::Habits;
use super::ip::{Datagram, End};
use super::quic::Connection;
use super::sequence::Sequences;
use super::{Flow, Protocol, Sink};
use std::collections::HashMap;

/// Maximum number of connections that are tracked; packets of further ones are counted.
pub const FLOWS_MAX: usize = 10_000;
/// Number of address pairs from which on a connection cannot add another one: about 4 MB.
const PLACES_MAX: usize = 1 << 15;

/// Addresses and ports of a packet, independent of its direction: the lesser end first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    ends: [End; 2],
    tcp: bool,
    six: bool,
}

impl Tuple {
    /// Tuple of a packet, and whether its lesser end sent it.
    pub(super) fn of(datagram: &Datagram<'_>) -> (Self, bool) {
        let &Datagram { tcp, six, source, destination, .. } = datagram;
        let lesser = source <= destination;
        let ends = if lesser { [source, destination] } else { [destination, source] };
        (Self { ends, tcp, six }, lesser)
    }
}

/// The connection between two ends, and which of the two is its first end.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) index: usize,
    /// Whether the lesser end is the first of the connection.
    pub(super) lesser_first: bool,
    /// Whether the connection has ended and the one after it is not tracked: packets whose numbers or IDs do not
    /// distinguish the two belong to neither.
    pub(super) closed: bool,
}

impl Place {
    pub(super) fn new(index: usize, lesser_first: bool) -> Self {
        Self { index, lesser_first, closed: false }
    }
}

/// A connection.
pub(super) struct State {
    pub(super) flow: Flow,
    pub(super) quic: Option<Box<Connection>>,
    /// Number of packets on which secrets were tried.
    pub(super) tried: u8,
    /// Packet numbering of its ends; by direction, the lesser end last.
    pub(super) habits: Habits,
    /// Previous connection between the same ports.
    pub(super) former: Option<Place>,
    pub(super) sequences: Sequences,
}

/// The connections of a capture.
#[derive(Default)]
pub(super) struct Flows {
    /// Used for lookups only, never iterated: its order, which differs between runs, has no effect. Addresses in a
    /// capture are untrusted, so the hash is the standard library's, which cannot be made to collide.
    places: HashMap<Tuple, Place>,
    /// Place of the previous packet.
    last: Option<(Tuple, Place)>,
    pub(super) states: Vec<State>,
}

impl Flows {
    /// Current connection between the ends of a packet.
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

    /// Whether one of the ends of a packet was an end of the connection when it began.
    pub(super) fn is_near(&self, index: usize, datagram: &Datagram<'_>) -> bool {
        let ends = [datagram.source, datagram.destination].map(|end| end.socket(datagram.six));
        self.states[index].flow.ends.is_some_and(|known| known.iter().any(|end| ends.contains(end)))
    }

    /// Opens a connection that begins with this packet; `None` if there are too many: then the one between its ends
    /// is closed.
    pub(super) fn open(&mut self, datagram: &Datagram<'_>, sink: &mut dyn Sink) -> Option<Place> {
        let (tuple, lesser_first) = Tuple::of(datagram);
        if self.states.len() == FLOWS_MAX {
            if let Some(place) = self.places.get_mut(&tuple) {
                place.closed = true;
                self.last = Some((tuple, *place));
            }
            return None;
        }
        let &Datagram { tcp, six, source, destination, .. } = datagram;
        let flow = Flow {
            protocol: if tcp { Protocol::Tcp } else { Protocol::Udp },
            ends: Some([source.socket(six), destination.socket(six)]),
            name: String::new(),
        };
        let place = Place::new(self.states.len(), lesser_first);
        sink.flow(place.index, &flow);
        self.states.push(State {
            flow,
            quic: None,
            tried: 0,
            habits: Habits::default(),
            former: None,
            sequences: Sequences::default(),
        });
        self.insert(tuple, place);
        Some(place)
    }

    /// Assigns future packets between these ends to a connection; `false` if the maximum number of ends is reached.
    pub(super) fn join(&mut self, tuple: Tuple, place: Place) -> bool {
        let remembered = self.places.len() < PLACES_MAX || self.places.contains_key(&tuple);
        if remembered {
            self.insert(tuple, place);
        }
        remembered
    }

    fn insert(&mut self, tuple: Tuple, place: Place) {
        self.places.insert(tuple, place);
        self.last = Some((tuple, place));
    }
}
