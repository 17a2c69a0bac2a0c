//! Rules that no end of a connection may violate, checked from outside.
//!
//! | checked for each datagram sent | RFC |
//! | --- | --- |
//! | it is not longer than the maximum, and its length is that of its bytes | |
//! | Initial packets of clients are in datagrams of 1200 bytes | RFC 9000 section 14.1 |
//! | packet numbers of a space count up by one | section 12.3 |
//! | packets acknowledged have arrived | section 13.1 |
//! | before the client's address is validated, no more than the factor times the bytes received | section 8.1 |
//! | in flight are at most the window and a datagram, except for probes | RFC 9002 sections 7, 7.5 |

use crate::case::Case;
use crate::options::SERVER;
use quiclab_core::quic::{AckFrame, QuicDatagram, QuicFrame, QuicPacket};
use quiclab_core::{Element, Endpoint, Metrics, Packet, PacketSpace, Payload, Port, Time};
use quiclab_transport::options::QuicVersion;
use std::collections::BTreeMap;

const IP_AND_UDP: u64 = 28;

/// Packet number spaces: Initial, Handshake, application data of each path.
type Space = (u8, u8);

/// Received numbers as ranges: first number, and last number plus one.
#[derive(Default)]
struct Numbers(BTreeMap<u64, u64>);

impl Numbers {
    fn add(&mut self, number: u64) {
        if self.has(number, number) {
            return;
        }
        let (mut start, mut end) = (number, number + 1);
        if let Some((&first, &after)) = self.0.range(..number).next_back()
            && after == number
        {
            start = first;
        }
        if let Some(after) = self.0.remove(&end) {
            end = after;
        }
        self.0.insert(start, end);
    }

    /// Whether all of `first` to `last` have arrived.
    fn has(&self, first: u64, last: u64) -> bool {
        self.0.range(..=first).next_back().is_some_and(|(_, after)| last < *after)
    }
}

/// State of an end for the checks.
pub(crate) struct Checks {
    end: usize,
    version: QuicVersion,
    datagram: u64,
    amplification: u64,
    pads: bool,
    arrived: BTreeMap<Space, Numbers>,
    /// Next number of each space.
    next: BTreeMap<Space, u64>,
    validated: bool,
    received_bytes: u64,
    sent_bytes: u64,
    received_packets: u64,
    sent_packets: u64,
    /// Whether only data and acknowledgements were sent on path 0 since the last check of the state.
    only_data: bool,
    in_flight: u64,
    timeouts: u64,
    /// Bytes that probes may still send beyond the window.
    probes: u64,
    header: Vec<u8>,
    payload: Vec<u8>,
}

impl Checks {
    pub(crate) fn new(case: &Case, end: usize) -> Self {
        let config = &case.ends[end];
        let quic = config.quic.as_ref().expect("every end has options");
        Self {
            end,
            version: case.version,
            datagram: config.datagram_size.expect("every end has one").bytes(),
            // without the option it is that of the profile: 3 or none
            amplification: u64::from(quic.amplification_factor.unwrap_or(0)),
            pads: config.profile.as_deref().is_some_and(|profile| !profile.starts_with("aioquic")),
            arrived: BTreeMap::new(),
            next: BTreeMap::new(),
            // gQUIC has no such limit
            validated: end != SERVER || case.version == QuicVersion::Gquic37,
            received_bytes: 0,
            sent_bytes: 0,
            received_packets: 0,
            sent_packets: 0,
            only_data: true,
            in_flight: 0,
            timeouts: 0,
            probes: 0,
            header: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Number of packets that the end has sent and received.
    pub(crate) fn packets(&self) -> u64 {
        self.sent_packets + self.received_packets
    }

    /// Checks a received datagram.
    pub(crate) fn arrive(&mut self, packet: &Packet) {
        self.received_packets += 1;
        self.received_bytes += packet.size.bytes() - IP_AND_UDP;
        for packet in &quic(packet).packets {
            let space = self.space(packet);
            self.arrived.entry(space).or_default().add(packet.number);
            self.validated |= packet.space == PacketSpace::Handshake;
        }
    }

    fn space(&self, packet: &QuicPacket) -> Space {
        match packet.space {
            _ if self.version == QuicVersion::Gquic37 => (0, 0),
            PacketSpace::Initial => (0, 0),
            PacketSpace::Handshake => (1, 0),
            PacketSpace::ZeroRtt | PacketSpace::OneRtt => (2, packet.path),
        }
    }

    /// Checks a sent datagram.
    pub(crate) fn send(&mut self, port: Port, packet: &Packet) -> Result<(), String> {
        let datagram = quic(packet);
        let length = datagram.length() as u64;
        self.sent_packets += 1;
        self.sent_bytes += length;
        if length + IP_AND_UDP != packet.size.bytes() || length > self.datagram {
            return Err(format!("a packet of {} with {length} B of QUIC: {datagram:?}", packet.size));
        }
        let most = self.amplification * self.received_bytes;
        if !self.validated && self.amplification > 0 && self.sent_bytes > most {
            return Err(format!("{} B for {} B received", self.sent_bytes, self.received_bytes));
        }
        self.check_padding(datagram, length)?;
        for packet in &datagram.packets {
            self.check_packet(port, packet)?;
        }
        Ok(())
    }

    fn check_padding(&self, datagram: &QuicDatagram, length: u64) -> Result<(), String> {
        let initial = |packet: &QuicPacket| {
            packet.space == PacketSpace::Initial
                && (self.end != SERVER || self.pads && packet.is_ack_eliciting())
        };
        let must = self.version == QuicVersion::V1 && datagram.packets.iter().any(initial);
        if must && length < 1200 {
            Err(format!("{length} B with an Initial packet: {datagram:?}"))
        } else {
            Ok(())
        }
    }

    fn check_packet(&mut self, port: Port, packet: &QuicPacket) -> Result<(), String> {
        let space = self.space(packet);
        let next = self.next.entry(space).or_default();
        if packet.number != *next || u16::from(packet.path) != port.0 {
            return Err(format!(
                "packet {} instead of {next}, path {}, output {port:?}",
                packet.number, packet.path
            ));
        }
        *next += 1;
        let (header, payload) = (&mut self.header, &mut self.payload);
        header.clear();
        payload.clear();
        packet.encode_header(header);
        packet.encode_payload(payload);
        let bytes = header.len() + payload.len() + packet.format.wire.tag_length();
        if bytes != packet.length() {
            return Err(format!("{bytes} B on the wire, not {}: {packet:?}", packet.length()));
        }
        self.only_data &= port.0 != 0 || packet.space == PacketSpace::OneRtt;
        for frame in &packet.frames {
            if let QuicFrame::Ack(ack) = frame {
                self.check_ack(space, ack)?;
            }
        }
        Ok(())
    }

    fn check_ack(&self, space: Space, ack: &AckFrame) -> Result<(), String> {
        let space = if space.0 == 2 { (2, ack.path.unwrap_or(0)) } else { space };
        let arrived = self.arrived.get(&space);
        let known = |first: u64, last: u64| arrived.is_some_and(|numbers| numbers.has(first, last));
        if ack.ranges.is_empty() || !ack.ranges.iter().all(|range| known(*range.start(), *range.end())) {
            return Err(format!("what has not arrived is acknowledged: {ack:?}"));
        }
        Ok(())
    }

    /// Checks the state after a call of the end: its window, and the bytes in flight on the first path.
    pub(crate) fn state(&mut self, now: Time, end: &mut dyn Endpoint) -> Result<(), String> {
        let mut metrics = Metrics::default();
        Element::sample(end, now, &mut metrics);
        let of = |name| metrics.get(name).map(|value| value as u64);
        let (Some(window), Some(in_flight)) = (of("cwnd_bytes"), of("in_flight_bytes")) else {
            return Ok(());
        };
        let timeouts = of("timeouts").unwrap_or(0);
        self.probes += (timeouts - self.timeouts) * 2 * self.datagram;
        let allowed = window.max(self.in_flight) + self.datagram;
        let beyond = in_flight.saturating_sub(allowed);
        let only_data = std::mem::replace(&mut self.only_data, true);
        (self.in_flight, self.timeouts) = (in_flight, timeouts);
        if only_data && beyond > self.probes {
            return Err(format!(
                "{in_flight} B in flight, allowed are {allowed} and {} for probes",
                self.probes
            ));
        }
        self.probes = self.probes.saturating_sub(beyond);
        Ok(())
    }
}

fn quic(packet: &Packet) -> &QuicDatagram {
    match &packet.payload {
        Payload::Quic(datagram) => datagram,
        other => panic!("lab-quic sends datagrams of QUIC, not {other:?}"),
    }
}
