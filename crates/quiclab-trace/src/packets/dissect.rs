//! Flows of a capture: the connection and content of each frame, counts and notes.

use super::copies::{Class, Copies};
use super::flows::{Flows, Place, Tuple};
use super::ip::Datagram;
use super::layer::{Frame, Kind, Problem, Trail};
use super::quic::{Opened, Undecrypted};
use super::udp::Udp;
use super::{Content, KeyLog, ObservedPacket, Protocol, Reading, Sink, layers, link, tcp, tunnel};
use std::collections::BTreeMap;

/// Maximum number of link types that are named in notes.
const LINK_TYPES_NAMED_MAX: usize = 16;
const NOTES_MAX: usize = 64;
const BEYOND: Problem = "packet of a flow beyond the first 10000";

/// Passes packets to a sink, frame by frame.
pub(super) struct Dissector<'s> {
    sink: &'s mut dyn Sink,
    reading: Reading,
    flows: Flows,
    udp: Udp<'s>,
    links: Vec<u16>,
    copies: Copies,
    /// Frames of each encapsulation; UDP packets with a port of a tunnel, by tunnel; frames with too short a length.
    inside: [u64; Kind::ALL.len()],
    unread: BTreeMap<(u16, &'static str), u64>,
    shortened: u64,
    /// Number of connections between ports that earlier ones had used.
    again: u64,
}

impl<'s> Dissector<'s> {
    /// Creates a dissector with the given `keys` and the secrets `embedded` in the capture, as known before
    /// its first packet.
    pub(super) fn new(keys: &'s KeyLog, embedded: KeyLog, sink: &'s mut dyn Sink) -> Self {
        Self {
            sink,
            reading: Reading::default(),
            flows: Flows::default(),
            udp: Udp::new(keys, embedded),
            links: Vec::new(),
            copies: Copies::default(),
            inside: [0; Kind::ALL.len()],
            unread: BTreeMap::new(),
            shortened: 0,
            again: 0,
        }
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.reading.problems.count(problem);
    }

    /// Counts an unreadable frame.
    pub(super) fn unreadable(&mut self, problem: Problem) {
        self.reading.frames += 1;
        self.problem(problem);
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        if self.reading.notes.len() < NOTES_MAX {
            self.reading.notes.push(note.into());
        }
    }

    /// Adds lines of a key log in the capture.
    pub(super) fn secrets(&mut self, lines: &[u8]) {
        if !self.udp.secrets.add(lines) {
            self.problem("secrets block beyond 64 MiB of secrets");
        }
    }

    /// Processes the next frame of the file.
    pub(super) fn frame(&mut self, frame: &Frame<'_>) {
        self.reading.frames += 1;
        if !self.links.contains(&frame.link) && self.links.len() < LINK_TYPES_NAMED_MAX {
            self.new_link(frame.link);
        }
        let original = frame.original.saturating_sub(u32::from(frame.fcs_bytes));
        match layers::innermost(frame, original as usize) {
            Ok((datagram, trail)) => self.datagram(frame.at, original, &datagram, &trail),
            Err(problem) => self.problem(problem),
        }
    }

    fn new_link(&mut self, link: u16) {
        self.links.push(link);
        if let Some(said) = link::note(link)
            && !self.reading.notes.contains(&said)
        {
            self.note(said);
        }
    }

    fn datagram(&mut self, at: i64, original: u32, datagram: &Datagram<'_>, trail: &Trail) {
        for (index, (kind, _)) in Kind::ALL.into_iter().enumerate() {
            self.inside[index] += u64::from(trail.has(kind));
        }
        self.shortened += u64::from(trail.missing > 0);
        let (tuple, lesser) = Tuple::of(datagram);
        let present = if datagram.tcp {
            self.place(tuple, datagram).map(|place| (place, lesser != place.lesser_first))
        } else {
            let place = self.udp.place(datagram, &mut self.flows, self.sink);
            place.map(|(index, backward)| (Place::new(index, lesser != backward), backward))
        };
        let Some((place, mut backward)) = present else { return self.problem(BEYOND) };
        // before the check for another TCP connection: a late copy still belongs to the former one
        if self.is_copy(at, place.index, lesser, datagram, trail) {
            return;
        }
        let mut index = place.index;
        if datagram.tcp {
            let Some(place) = self.connection(place, lesser, datagram) else { return self.problem(BEYOND) };
            (index, backward) = (place.index, lesser != place.lesser_first);
        }
        let frame_bytes = original.saturating_add(trail.missing as u32);
        let content = if datagram.tcp {
            let (content, whole) = tcp::segment(datagram.header, datagram.payload_bytes);
            if !whole {
                self.reading.problems.count("TCP options truncated by the snap length");
            }
            content
        } else {
            if let Some(unread) = tunnel::unread(datagram) {
                *self.unread.entry(unread).or_default() += 1;
            }
            let problems = &mut self.reading.problems;
            match self.udp.read((index, backward), datagram, &mut self.flows, problems, self.sink) {
                Opened::Opaque => Content::Opaque,
                Opened::Readable => self.udp.found.content(),
            }
        };
        let (payload_bytes, packet_bytes) = (datagram.payload_bytes as u32, trail.network_bytes as u32);
        let seen = ObservedPacket { at, backward, frame_bytes, packet_bytes, payload_bytes, content };
        self.sink.packet(index, &seen);
    }

    /// Whether a frame is a copy of a packet in an earlier frame.
    fn is_copy(
        &mut self,
        at: i64,
        index: usize,
        lesser: bool,
        datagram: &Datagram<'_>,
        trail: &Trail,
    ) -> bool {
        let state = &mut self.flows.states[index];
        let class = if datagram.tcp {
            if tcp::numbers(datagram.header, datagram.payload_bytes).length > 0 {
                Class::Data
            } else {
                Class::Other
            }
        } else if state.flow.protocol == Protocol::Quic {
            Class::Quic
        } else {
            Class::Other
        };
        self.copies.is_copy(at, trail.place, (datagram, lesser), class, &mut state.habits)
    }

    /// Current connection between the endpoints of a packet, which may begin with it.
    fn place(&mut self, tuple: Tuple, datagram: &Datagram<'_>) -> Option<Place> {
        match self.flows.find(tuple) {
            Some(place) => Some(place),
            None => self.flows.open(datagram, self.sink),
        }
    }

    /// Connection that a segment belongs to: the `present` one between its endpoints, the one before, or a new one; `None`
    /// if the maximum number is reached.
    fn connection(&mut self, present: Place, lesser: bool, datagram: &Datagram<'_>) -> Option<Place> {
        let numbers = tcp::numbers(datagram.header, datagram.payload_bytes);
        let way = |place: Place| usize::from(lesser != place.lesser_first);
        if present.closed && !self.flows.states[present.index].sequences.continues(way(present), numbers) {
            return None;
        }
        let is_of = |flows: &Flows, place: Place| {
            !flows.states[place.index].sequences.ends_before(way(place), numbers)
        };
        let former = self.flows.states[present.index].former;
        let place = match former {
            _ if is_of(&self.flows, present) => present,
            Some(former) if is_of(&self.flows, former) => former,
            _ => {
                let place = self.flows.open(datagram, self.sink)?;
                let habits = self.flows.states[present.index].habits.clone();
                let state = &mut self.flows.states[place.index];
                (state.former, state.habits) = (Some(present), habits);
                self.again += 1;
                place
            }
        };
        self.flows.states[place.index].sequences.note(way(place), numbers);
        Some(place)
    }

    /// Adds the notes for the user and returns the result.
    pub(super) fn finish(mut self) -> Reading {
        for _ in 0..self.udp.secrets.unknown_lines() {
            self.problem("line of secrets in the capture that is not of a key log");
        }
        self.note_frames();
        let quic = self.flows.states.iter().filter_map(|state| state.quic.as_deref());
        let mut reasons: BTreeMap<Undecrypted, u64> = BTreeMap::new();
        for reason in quic.clone().filter_map(|connection| connection.undecrypted(&self.udp.secrets)) {
            *reasons.entry(reason).or_default() += 1;
        }
        let (all, known) = (quic.count(), self.udp.secrets.connections());
        for (reason, count) in reasons {
            let why = match reason {
                Undecrypted::NoSecrets => {
                    "there are no secrets, neither in a key log that was given nor in the capture (SSLKEYLOGFILE of \
                     an end makes a key log)"
                        .to_owned()
                }
                Undecrypted::OtherConnections => {
                    format!("the key log has secrets of {known} connections, but not of these")
                }
                Undecrypted::NoHandshake => format!(
                    "the first packet of the client was not captured, and of the {known} connections of the key log \
                     none fits, or they are too many to try"
                ),
                Undecrypted::Cut => "the snap length of the capture cuts its packets".to_owned(),
                Undecrypted::WrongSecrets => "the secrets that the key log has of it open no packet".to_owned(),
            };
            self.note(format!("{count} of {all} QUIC connections cannot be decrypted: {why}"));
        }
        for note in self.udp.notes(&self.flows, &mut self.reading.problems) {
            self.note(note);
        }
        self.reading
    }

    /// Adds notes on frames whose counts differ from the file, and on encapsulations.
    fn note_frames(&mut self) {
        let (copies, frames) = (self.copies.frames, self.reading.frames);
        self.reading.copies = copies;
        if copies > 0 {
            self.note(format!(
                "{copies} of {frames} frames are copies: they show a packet once more, with the same IP identification and \
                 bytes (captured at several interfaces, on both sides of a bridge or router, or by a mirror port). Each \
                 packet counts once, at its first frame"
            ));
        }
        if self.shortened > 0 {
            self.note(format!(
                "{} of {frames} frames are stated to be shorter than the IP packets in them: what wrote the file has lost \
                 their lengths. Sizes are those of IP",
                self.shortened
            ));
        }
        for (number, (_, name)) in self.inside.into_iter().zip(Kind::ALL) {
            if number > 0 {
                self.note(format!(
                    "{number} of {frames} frames have their packets inside {name}: flows are those inside, and sizes of \
                     frames count the headers around them"
                ));
            }
        }
        for ((port, name), number) in std::mem::take(&mut self.unread) {
            self.note(format!(
                "{number} packets of UDP port {port} are of {name}, as far as the port tells: what they carry is not \
                 read, and their flow is that of the tunnel"
            ));
        }
        if self.again > 0 {
            self.note(format!(
                "ports were used again: {} TCP connections between the ports of one before them are flows of their own",
                self.again
            ));
        }
    }
}
