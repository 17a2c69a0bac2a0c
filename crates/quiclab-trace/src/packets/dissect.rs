//! Flows of a capture: what each frame belongs to, what it says, what is counted and noted.

use super::flows::{Flows, Place, Tuple};
use super::ip::{self, Datagram, Problem};
use super::link::SkipReason;
use super::quic::{Opened, Udp, Undecrypted};
use super::{Content, KeyLog, ObservedPacket, Reading, Sink, link, tcp};
use std::collections::BTreeMap;

/// Link types that are named in notes.
const LINK_TYPES_NAMED_MAX: usize = 16;
const NOTES_MAX: usize = 64;

/// A frame as it is in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Nanoseconds on the clock of the capture.
    pub(super) at: i64,
    /// Bytes on the link, with the checksum of the frame if `fcs_bytes` is not 0.
    pub(super) original: u32,
    pub(super) fcs_bytes: u8,
    pub(super) link: u16,
    /// What was captured of it.
    pub(super) data: &'a [u8],
}

/// Gives packets to a sink, frame by frame.
pub(super) struct Dissector<'s> {
    sink: &'s mut dyn Sink,
    reading: Reading,
    flows: Flows,
    udp: Udp<'s>,
    links: Vec<u16>,
}

impl<'s> Dissector<'s> {
    /// `keys` were given; `embedded` are those of the capture itself that are known before its first packet.
    pub(super) fn new(keys: &'s KeyLog, embedded: KeyLog, sink: &'s mut dyn Sink) -> Self {
        Self {
            sink,
            reading: Reading::default(),
            flows: Flows::default(),
            udp: Udp::new(keys, embedded),
            links: Vec::new(),
        }
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.reading.problems.count(problem);
    }

    /// A frame of which nothing can be said.
    pub(super) fn unreadable(&mut self, problem: Problem) {
        self.reading.frames += 1;
        self.problem(problem);
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        if self.reading.notes.len() < NOTES_MAX {
            self.reading.notes.push(note.into());
        }
    }

    /// Lines of a key log in the capture.
    pub(super) fn secrets(&mut self, lines: &[u8]) {
        if !self.udp.secrets.add(lines) {
            self.problem("secrets block beyond 64 MiB of secrets");
        }
    }

    /// The next frame of the file.
    pub(super) fn frame(&mut self, frame: &Frame<'_>) {
        self.reading.frames += 1;
        if !self.links.contains(&frame.link) && self.links.len() < LINK_TYPES_NAMED_MAX {
            self.new_link(frame.link);
        }
        let original = frame.original.saturating_sub(u32::from(frame.fcs_bytes));
        let datagram = link::network(frame.link, frame.data).and_then(|at| {
            let packet = frame.data.get(at..).ok_or(SkipReason::Cut)?;
            Ok((packet, (original as usize).saturating_sub(at)))
        });
        let datagram =
            datagram.map_err(Problem::from).and_then(|(packet, original)| ip::datagram(packet, original));
        match datagram {
            Ok(datagram) => self.datagram(frame.at, original, &datagram),
            Err(problem) => self.problem(problem),
        }
    }

    fn new_link(&mut self, link: u16) {
        self.links.push(link);
        if let Some(link_type_note) = link::link_type_note(link) {
            if !self.reading.notes.iter().any(|note| note == link_type_note) {
                self.note(link_type_note);
            }
        } else if link != link::ETHERNET {
            self.note(format!(
                "frames of link type {link} are not read; read are Ethernet, Linux cooked capture (SLL, SLL2), raw IP, \
                 BSD loopback"
            ));
        }
    }

    fn datagram(&mut self, at: i64, frame_bytes: u32, datagram: &Datagram<'_>) {
        let Some((index, backward)) = self.place(datagram) else {
            return self.problem("packet of a flow beyond the first 10000");
        };
        let content = if datagram.tcp {
            let (content, whole) = tcp::segment(datagram.header, datagram.payload_bytes);
            if !whole {
                self.reading.problems.count("TCP options truncated by the snap length");
            }
            content
        } else {
            let problems = &mut self.reading.problems;
            match self.udp.read((index, backward), datagram, &mut self.flows, problems, self.sink) {
                Opened::Opaque => Content::Opaque,
                Opened::Readable => self.udp.found.content(),
            }
        };
        let payload_bytes = datagram.payload_bytes as u32;
        self.sink.packet(index, &ObservedPacket { at, backward, frame_bytes, payload_bytes, content });
    }

    /// The connection of a packet, and whether the packet goes backward in it.
    fn place(&mut self, datagram: &Datagram<'_>) -> Option<(usize, bool)> {
        if !datagram.tcp {
            return self.udp.place(datagram, &mut self.flows, self.sink);
        }
        let (tuple, lesser) = Tuple::of(datagram);
        let Place { index, lesser_first } = match self.flows.find(tuple) {
            Some(place) => place,
            None => self.flows.open(datagram, self.sink)?,
        };
        Some((index, lesser != lesser_first))
    }

    /// Says what a user should know, and gives the result back.
    pub(super) fn finish(mut self) -> Reading {
        for _ in 0..self.udp.secrets.unknown_lines() {
            self.problem("line of secrets in the capture that is not of a key log");
        }
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
}
