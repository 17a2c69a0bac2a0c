//! The connection of a UDP datagram: by its connection IDs, else by its addresses and ports.
//!
//! | datagram | belongs to |
//! | --- | --- |
//! | its destination ID is known | the connection of that ID, under any addresses |
//! | Initial whose keys follow from its destination ID, which is not known | a new connection, unless a Retry or Version Negotiation explains it |
//! | its source ID is known (long headers) | the connection of that ID |
//! | keys of a connection with one of its ends decrypt it, if no connection had its addresses and ports (short headers) | that connection: IDs of paths that no frame has issued |
//! | any other | the connection that these addresses and ports had last |
//!
//! So reused ports have another connection, two connections may share ports at the same time, and a connection continues when a
//! client's address changes. If IDs are empty, or were issued in packets that cannot be decrypted, addresses and ports decide.
//! If the connection after the last one is not tracked, packets that only addresses and ports identify belong to neither.

use super::flows::{Flows, Place, Tuple};
use super::ip::Datagram;
use super::quic::{
    Connection, ConnectionIds, Found, Invariant, Opened, Owner, SecretStore, Tools, begins, is_long, long,
    version_name,
};
use super::{KeyLog, Problems, Protocol, Sink};
use std::collections::BTreeMap;

/// Maximum number of packets of a UDP flow without long headers on which secrets are tried.
const UDP_PACKETS_TRIED_MAX: u8 = 4;
/// Maximum number of connections whose keys are tried on packets at other addresses.
const KEYED_MAX: usize = 16;
/// Maximum number of versions that a note lists.
const VERSIONS_TOLD_MAX: usize = 8;

/// State of all UDP datagrams of a capture.
pub(super) struct Udp<'k> {
    pub(super) secrets: SecretStore<'k>,
    pub(super) found: Found,
    ids: ConnectionIds,
    scratch: Vec<u8>,
    /// Owner of the destination ID of the current datagram.
    owner: Option<Owner>,
    /// The first connections with decrypted packets.
    keyed: Vec<usize>,
    /// Versions offered in Version Negotiation packets, with the number of packets of each.
    offered: BTreeMap<u32, u64>,
    negotiations: u64,
    /// Number of packets of connections at addresses and ports that were not stored.
    beyond: u64,
}

impl<'k> Udp<'k> {
    pub(super) fn new(keys: &'k KeyLog, embedded: KeyLog) -> Self {
        Self {
            secrets: SecretStore::new(keys, embedded),
            found: Found::default(),
            ids: ConnectionIds::default(),
            scratch: Vec::new(),
            owner: None,
            keyed: Vec::new(),
            offered: BTreeMap::new(),
            negotiations: 0,
            beyond: 0,
        }
    }

    /// Connection of a datagram, which may be new, and whether the datagram goes backward in it; `None` if there are too
    /// many connections.
    pub(super) fn place(
        &mut self,
        datagram: &Datagram<'_>,
        flows: &mut Flows,
        sink: &mut dyn Sink,
    ) -> Option<(usize, bool)> {
        let (tuple, lesser) = Tuple::of(datagram);
        let last = flows.find(tuple);
        let open = |flows: &mut Flows, sink: &mut dyn Sink| Some((flows.open(datagram, sink)?.index, false));
        let mut found = self.found_by_id(datagram, last.map(|place| place.index), flows);
        if found.is_none() && last.is_none() {
            found = self.found_by_keys(datagram, flows);
        }
        let Some((index, backward)) = found else {
            // addresses and ports decide
            self.owner = None;
            return match last {
                Some(place) if !self.is_new(datagram, place.index, flows) => {
                    (!place.closed).then_some((place.index, lesser != place.lesser_first))
                }
                _ => open(flows, sink),
            };
        };
        if self.owner.is_none() && self.is_new(datagram, index, flows) {
            return open(flows, sink);
        }
        // between the same addresses, these determine the direction, even if both ends have chosen the same
        // ID
        let backward = match last {
            Some(place) if place.index == index => lesser != place.lesser_first,
            _ => {
                let joined = flows.join(tuple, Place::new(index, lesser != backward));
                self.beyond += u64::from(!joined);
                backward
            }
        };
        Some((index, backward))
    }

    /// Connection that an ID of a datagram belongs to, and whether the datagram goes backward in it.
    fn found_by_id(
        &mut self,
        datagram: &Datagram<'_>,
        current: Option<usize>,
        flows: &Flows,
    ) -> Option<(usize, bool)> {
        self.owner = None;
        let payload = datagram.payload;
        let near = |index: usize| flows.is_near(index, datagram);
        if !is_long(*payload.first()?) {
            self.owner = self.ids.short(payload, current, near);
            return self.owner.map(|owner| (owner.flow, owner.of_first));
        }
        let header = Invariant::of(payload)?;
        self.owner = self.ids.long(header.destination, current, near);
        if let Some(owner) = self.owner {
            return Some((owner.flow, owner.of_first));
        }
        let sender = self.ids.long(header.source, current, near)?;
        Some((sender.flow, !sender.of_first))
    }

    /// Connection whose keys decrypt a datagram at unknown addresses and ports, and its direction.
    fn found_by_keys(&mut self, datagram: &Datagram<'_>, flows: &mut Flows) -> Option<(usize, bool)> {
        let payload = datagram.payload;
        if payload.len() != datagram.payload_bytes || is_long(*payload.first()?) || !self.secrets.few() {
            return None;
        }
        let mut tools = Tools {
            secrets: &mut self.secrets,
            found: &mut self.found,
            scratch: &mut self.scratch,
            problems: &mut Problems::default(),
        };
        self.keyed.iter().copied().find_map(|index| {
            if !flows.is_near(index, datagram) {
                return None;
            }
            let connection = flows.states[index].quic.as_mut()?;
            Some((index, connection.direction(payload, &mut tools)?))
        })
    }

    /// Whether a datagram without a known destination ID begins a connection other than that of a flow.
    fn is_new(&mut self, datagram: &Datagram<'_>, index: usize, flows: &Flows) -> bool {
        let payload = datagram.payload;
        let Some(header) = Invariant::of(payload) else { return false };
        let known = flows.states[index].quic.as_deref();
        let (budget, scratch) = (&mut self.secrets.initial_budget, &mut self.scratch);
        match (long(payload), known) {
            (Some(long), Some(connection)) => {
                !long.destination.is_empty() && !connection.continues(&long, budget, scratch)
            }
            // no known connection used these ports before
            (Some(long), None) => begins(&long, budget, scratch).is_some(),
            // of an unknown version: a client's packets have a known ID, or they are the first
            (None, Some(connection)) => {
                let unread = connection.unread_version.is_some() && header.version != 0;
                unread && !header.destination.is_empty() && header.is_quic(payload)
            }
            (None, None) => false,
        }
    }

    /// Reads a datagram of the connection that [`Udp::place`] returned.
    pub(super) fn read(
        &mut self,
        (index, backward): (usize, bool),
        datagram: &Datagram<'_>,
        flows: &mut Flows,
        problems: &mut Problems,
        sink: &mut dyn Sink,
    ) -> Opened {
        let state = &mut flows.states[index];
        let (payload, owner) = (datagram.payload, self.owner);
        let whole = payload.len() == datagram.payload_bytes;
        let header = Invariant::of(payload);
        self.negotiation(header.as_ref());
        let mut ignored = Problems::default();
        let mut tools = Tools {
            secrets: &mut self.secrets,
            found: &mut self.found,
            scratch: &mut self.scratch,
            problems,
        };
        let opened = if let Some(connection) = &mut state.quic {
            connection.datagram(backward, payload, whole, owner, &mut tools)
        } else if header.as_ref().is_some_and(|header| header.version != 0 && header.is_quic(payload)) {
            let connection = state.quic.insert(Box::new(Connection::new()));
            connection.datagram(backward, payload, whole, owner, &mut tools)
        } else {
            // a connection whose beginning was not captured: only keys can decide
            let try_secrets = whole && state.tried < UDP_PACKETS_TRIED_MAX && tools.secrets.few();
            let mut connection = Connection::new();
            tools.problems = &mut ignored;
            if !try_secrets
                || connection.datagram(backward, payload, whole, owner, &mut tools) == Opened::Opaque
            {
                state.tried = state.tried.saturating_add(u8::from(try_secrets));
                return Opened::Opaque;
            }
            state.quic = Some(Box::new(connection));
            Opened::Readable
        };
        let Some(connection) = &mut state.quic else { return opened };
        self.ids.add(index, backward, &self.found.ids);
        if self.keyed.len() < KEYED_MAX && connection.is_opened() && !self.keyed.contains(&index) {
            self.keyed.push(index);
        }
        let [source, destination] =
            [datagram.source, datagram.destination].map(|end| end.socket(datagram.six));
        connection.addresses.see(backward, source, destination);
        connection.addresses.paths |= self.found.numbers.iter().any(|number| number.path > 0);
        if state.flow.protocol == Protocol::Udp || state.flow.name.is_empty() {
            let name = connection.name();
            if state.flow.protocol == Protocol::Udp || !name.is_empty() {
                (state.flow.protocol, state.flow.name) = (Protocol::Quic, name);
                sink.better_known(index, &state.flow);
            }
        }
        opened
    }

    /// Counts the versions in a Version Negotiation packet.
    fn negotiation(&mut self, header: Option<&Invariant<'_>>) {
        let Some(versions) = header.filter(|header| header.version == 0).and_then(Invariant::negotiation)
        else {
            return;
        };
        self.negotiations += 1;
        for version in versions {
            if self.offered.len() < VERSIONS_TOLD_MAX || self.offered.contains_key(&version) {
                *self.offered.entry(version).or_default() += 1;
            }
        }
    }

    /// Notes for the user, and counts of packets and IDs that were not stored.
    pub(super) fn notes(&self, flows: &Flows, problems: &mut Problems) -> Vec<String> {
        let mut notes = Vec::new();
        let mut unread: BTreeMap<u32, u64> = BTreeMap::new();
        for state in &flows.states {
            let Some(connection) = &state.quic else { continue };
            notes.extend(connection.addresses.note(&state.flow.name));
            if let Some(version) = connection.unread_version {
                *unread.entry(version).or_default() += 1;
            }
        }
        for (version, count) in unread {
            let name = version_name(version);
            notes.push(format!(
                "{count} QUIC connections have long headers of version {name}, which is not decrypted: only sizes and times \
                 of their packets are known"
            ));
        }
        if self.negotiations > 0 {
            let names: Vec<String> = self.offered.keys().map(|version| version_name(*version)).collect();
            let (count, names) = (self.negotiations, names.join(", "));
            notes.push(format!(
                "{count} packets of QUIC Version Negotiation: the server offers versions {names}"
            ));
        }
        notes.extend(self.found.unknown_note());
        problems.add("QUIC connection ID beyond those that are remembered", self.ids.beyond);
        problems.add("QUIC packet at addresses beyond those that are remembered", self.beyond);
        notes
    }
}
