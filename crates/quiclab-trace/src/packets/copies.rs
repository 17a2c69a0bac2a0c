//! Detection of frames that are copies of a packet in an earlier frame: from `-i any`, from bridges and routers
//! captured on both sides, from mirror ports that copy incoming and outgoing packets.
//!
//! Like `editcap -D`, this compares a frame with recent ones; unlike it, not all bytes, but only those that do not change
//! in transit: addresses, ports, protocol, length and identification of IP, and the first [`COMPARED_BYTES`] above it
//! without the checksum, which an offload may still have to compute. Link headers, tunnels, tags, TTL and ECN may differ:
//! if they do, the frames are from two *places*.
//!
//! | the same packet, within [`WINDOW_NS`] | is a copy, because |
//! | --- | --- |
//! | at another place, which has observed it less often than the place that observed it first | each transmission passes a place once |
//! | ..., without identification (see below) an ACK of TCP, a datagram that is not of QUIC | only if half of the identifiable packets were copied at another place, of those sent up to the last copied one: equal ones may take one link of a bundle each |
//! | ..., the same before any copy at another place | at a place that was never the first to show a packet: it is a second point of capture |
//! | ..., such a datagram between ends without identifiable packets | equal datagrams are fewer than captures at two places |
//! | at the same place, with an identification that differs between packets | a retransmitted packet has another one |
//! | at the same place, without (IPv6; 0, as in "atomic" packets of RFC 6864; constant), QUIC | no datagram is sent twice |
//! | ..., TCP with data, SYN or FIN, within [`SOON_NS`], no packet of the peer between them | too soon for a retransmission |
//! | ..., others | only if half of the identifiable packets were copied at their place: equal ACKs and datagrams are also sent |
//!
//! Memory: at most [`PACKETS_MAX`] packets are stored.

use super::ip::Datagram;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hasher;

/// Maximum time between a packet and its copy: longer than queues of routers.
const WINDOW_NS: u64 = 1_000_000_000;
/// Minimum time before a sender without feedback retransmits: Linux waits at least 2 ms with a tail loss
/// probe (`TCP_TIMEOUT_MIN`), and 200 ms with its timer.
const SOON_NS: u64 = 1_000_000;
/// Number of identifiable packets from which the copies between two endpoints are judged separately: with fewer,
/// copies may still be in transit, and the whole capture decides.
const SETTLED: u64 = 8;
const PACKETS_MAX: usize = 1 << 16;
const PLACES_KNOWN_MAX: usize = 1 << 10;
const COMPARED_BYTES: usize = 64;
/// Maximum number of places at which a packet is counted: host, container, bridge, card.
const PLACES_MAX: usize = 6;

/// Properties of the packets between two endpoints, by direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Habits {
    /// IP identification and contents of the previous packet.
    last: [Option<(u16, u64)>; 2],
    /// Whether packets with different contents had different identifications; `None` before there were two.
    identified: [Option<bool>; 2],
    /// Number of packets of each direction.
    sent: [u32; 2],
    evidence: Evidence,
}

/// Number of packets identifiable among copies, and of those copied at their own place and at another.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    packets: u64,
    copied: [u64; 2],
    /// Number of packets up to the last one that was copied at another place: those of later ones may be in
    /// transit.
    reach: u64,
}

impl Evidence {
    fn half_at_place(self) -> bool {
        self.copied[0] > 0 && self.copied[0] * 2 >= self.packets
    }

    fn half_elsewhere(self) -> bool {
        self.copied[1] > 0 && self.copied[1] * 2 >= self.reach
    }

    /// Records the copy of an identifiable packet with this number.
    fn note_copy(&mut self, elsewhere: bool, number: u64) {
        self.copied[usize::from(elsewhere)] += 1;
        if elsewhere {
            self.reach = self.reach.max(number);
        }
    }
}

/// An observed packet.
#[derive(Debug)]
struct Record {
    at: i64,
    /// Number of times it was sent, and observed at each place.
    sent: u8,
    places: [(u64, u8); PLACES_MAX],
    /// Whether it was copied since it was last sent: at a place that had observed it; at another.
    copied: [bool; 2],
    /// Number of packets of the peer when it was last sent.
    heard: u32,
    /// Its number among the identifiable packets, between its endpoints and in the capture.
    numbers: [u64; 2],
}

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// TCP that occupies sequence space.
    Data,
    /// A datagram of QUIC.
    Quic,
    /// An acknowledgement of TCP, a datagram of another protocol.
    Other,
}

/// Packets of the last second of a capture.
#[derive(Debug, Default)]
pub(super) struct Copies {
    recent: HashMap<u64, Record>,
    order: VecDeque<(u64, i64)>,
    evidence: Evidence,
    /// Places that were the first to show an identifiable packet, at most [`PLACES_KNOWN_MAX`].
    ahead: HashSet<u64>,
    /// Number of frames that were copies.
    pub(super) frames: u64,
}

impl Copies {
    /// Whether a frame observed at a `place` is a copy of a packet in an earlier frame.
    pub(super) fn is_copy(
        &mut self,
        at: i64,
        place: u64,
        (datagram, lesser): (&Datagram<'_>, bool),
        class: Class,
        habits: &mut Habits,
    ) -> bool {
        self.forget(at);
        let way = usize::from(lesser);
        let contents = contents(datagram);
        let id = datagram.identification;
        if let Some((last, same)) = habits.last[way]
            && same != contents
        {
            habits.identified[way] = Some(last != id);
        }
        habits.last[way] = Some((id, contents));
        let perhaps = id != 0 && habits.identified[way] != Some(false);
        let identified = perhaps && (habits.identified[way].is_some() || !datagram.tcp);
        let sure = identified || class != Class::Other;
        let heard = habits.sent[1 - way];
        let numbers = [habits.evidence.packets + 1, self.evidence.packets + 1];
        let key = contents ^ u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let copy = match self.recent.entry(key) {
            Entry::Vacant(vacant) => {
                let mut places = [(0, 0); PLACES_MAX];
                places[0] = (place, 1);
                vacant.insert(Record { at, sent: 1, places, copied: [false; 2], heard, numbers });
                self.order.push_back((key, at));
                if sure && self.ahead.len() < PLACES_KNOWN_MAX {
                    self.ahead.insert(place);
                }
                false
            }
            Entry::Occupied(mut occupied) => {
                let record = occupied.get_mut();
                let elsewhere = record.at_place(place).is_none_or(|seen| *seen < record.sent);
                let evidence =
                    if habits.evidence.packets >= SETTLED { habits.evidence } else { self.evidence };
                let copy = if elsewhere {
                    sure || perhaps
                        || evidence.half_elsewhere()
                        || evidence.reach == 0 && !self.ahead.contains(&place)
                        || !datagram.tcp && habits.evidence.packets == 0
                } else {
                    let soon = at.abs_diff(record.at) <= SOON_NS && record.heard == heard;
                    identified
                        || class == Class::Quic
                        || class == Class::Data && soon
                        || !record.copied[0] && evidence.half_at_place()
                };
                if elsewhere || !copy {
                    record.note(place);
                }
                if copy {
                    let kind = usize::from(elsewhere);
                    let before = std::mem::replace(&mut record.copied[kind], true);
                    if sure && !before {
                        habits.evidence.note_copy(elsewhere, record.numbers[0]);
                        self.evidence.note_copy(elsewhere, record.numbers[1]);
                    }
                } else {
                    record.sent = record.sent.saturating_add(1);
                    (record.at, record.copied, record.heard) = (at, [false; 2], heard);
                    record.numbers = numbers;
                    self.order.push_back((key, at));
                }
                copy
            }
        };
        if copy {
            self.frames += 1;
        } else {
            habits.sent[way] = habits.sent[way].wrapping_add(1);
            habits.evidence.packets += u64::from(sure);
            self.evidence.packets += u64::from(sure);
        }
        copy
    }

    /// Removes packets of which no copy can follow.
    fn forget(&mut self, now: i64) {
        while let Some(&(key, at)) = self.order.front()
            && (self.order.len() >= PACKETS_MAX || now.abs_diff(at) > WINDOW_NS)
        {
            self.order.pop_front();
            // a packet that was sent again has another entry
            if let Entry::Occupied(occupied) = self.recent.entry(key)
                && occupied.get().at == at
            {
                occupied.remove();
            }
        }
    }
}

impl Record {
    fn at_place(&self, place: u64) -> Option<&u8> {
        self.places.iter().find(|(known, seen)| *known == place && *seen > 0).map(|(_, seen)| seen)
    }

    fn note(&mut self, place: u64) {
        if let Some((known, seen)) =
            self.places.iter_mut().find(|(known, seen)| *known == place || *seen == 0)
        {
            *known = place;
            *seen = seen.saturating_add(1);
        }
    }
}

/// Hash of the fields of a packet that do not change in transit, without the IP identification.
fn contents(datagram: &Datagram<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(datagram.source.address());
    hash.write(datagram.destination.address());
    hash.write_usize(datagram.packet_bytes);
    hash.write_u8(u8::from(datagram.tcp));
    let header = datagram.header;
    // TCP: ports to window, then the urgent pointer and options. UDP: ports and length
    let (before, behind) = if datagram.tcp { (16, 18) } else { (6, 8) };
    hash.write(&header[..before.min(header.len())]);
    hash.write(header.get(behind..).unwrap_or_default());
    let room = COMPARED_BYTES.saturating_sub(header.len());
    hash.write(&datagram.payload[..datagram.payload.len().min(room)]);
    hash.finish()
}
