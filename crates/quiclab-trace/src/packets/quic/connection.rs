//! State of a connection, and the content of its datagrams.
//!
//! Secrets are found by the random of the ClientHello. If that was not captured, each of a few secrets is tried on the
//! first packets, with any length of connection IDs: authentication shows which is right. [`TrialDecryptionBudget`] limits
//! the total of all attempts after the first one for a packet.

use super::super::Problems;
use super::super::key_log::{ClientRandom, Secret};
use super::addresses::Addresses;
use super::header::{CONNECTION_ID_BYTES_MAX, Invariant, Kind, Long, Version, is_long, long};
use super::ids::Owner;
use super::initial::{ClientHelloPrefix, InitialKeys};
use super::keys::Suite;
use super::ladder::KeyPhases;
use super::payload::Found;
use super::secrets::{SecretStore, TrialDecryptionBudget};

/// Maximum number of destinations of Initial packets from which keys are derived, per connection.
const INITIAL_KEYS_MAX: u8 = 16;
/// Maximum number of packets of a connection without handshake on which secrets are tried.
const PACKETS_TRIED_MAX: u8 = 8;
/// Maximum number of paths of a connection whose packet numbers are tracked.
const PATHS_MAX: usize = 256;
/// Number of path IDs that are tried if the connection ID of a packet was issued before the capture began.
const PATHS_TRIED: u32 = 8;
/// Bit n: connection IDs of n bytes.
const ANY_LENGTH: u32 = (1 << (CONNECTION_ID_BYTES_MAX + 1)) - 1;

/// Result of reading a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Opened {
    /// Its application data, if any, have been read at least in part.
    Readable,
    /// It has application data, none of which could be read; or there are no secrets.
    Opaque,
}

/// Reason for which nothing of a connection was decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Undecrypted {
    NoSecrets,
    OtherConnections,
    NoHandshake,
    Cut,
    WrongSecrets,
}

/// Keys of one direction.
enum DirectionKeys {
    /// No secret so far.
    Unknown,
    /// A secret, which fits several cipher suites.
    Candidates(Vec<KeyPhases>),
    /// Keys that have decrypted a packet, and the length of the connection ID in it.
    Known(Box<KeyPhases>, u32),
}

/// Largest packet number of each path, in the order in which paths were used.
#[derive(Default)]
struct Largest(Vec<(u32, u64)>);

impl Largest {
    fn of(&self, path: u32) -> Option<u64> {
        self.0.iter().find(|(known, _)| *known == path).map(|(_, number)| *number)
    }

    fn add(&mut self, path: u32, number: u64) {
        if let Some((_, largest)) = self.0.iter_mut().find(|(known, _)| *known == path) {
            *largest = number.max(*largest);
        } else if self.0.len() < PATHS_MAX {
            self.0.push((path, number));
        }
    }
}

/// A connection. Pairs of values are by direction: forward, backward.
pub(in super::super) struct Connection {
    version: Option<Version>,
    /// Version of its long headers, if it is not recognised.
    pub(in super::super) unread_version: Option<u32>,
    /// Original Destination Connection ID; empty until an Initial packet of the client was decrypted.
    original: Vec<u8>,
    initial: Option<InitialKeys>,
    /// Destination of the last Initial packet from which keys were derived, and their number.
    destination: Vec<u8>,
    destinations: u8,
    hello: ClientHelloPrefix,
    random: Option<ClientRandom>,
    /// Direction of the client's packets, 1 if backward; `None` before its first decrypted Initial packet.
    client: Option<usize>,
    /// Whether the server has answered with more than Retry or Version Negotiation.
    answered: bool,
    /// Lengths that destination connection IDs of short headers may have, as bits.
    lengths: [u32; 2],
    /// Whether paths are identified by the sequence numbers of their connection IDs
    /// (draft-ietf-quic-multipath up to -06).
    paths_by_sequence: bool,
    ways: [DirectionKeys; 2],
    handshake: [DirectionKeys; 2],
    early: DirectionKeys,
    largest: [Largest; 2],
    pub(in super::super) addresses: Addresses,
    tried: u8,
    opened: u64,
    closed: u64,
    cut: u64,
}

/// Resources that all connections share: memory and counters.
pub(in super::super) struct Tools<'t, 'k> {
    pub(in super::super) secrets: &'t mut SecretStore<'k>,
    pub(in super::super) found: &'t mut Found,
    pub(in super::super) scratch: &'t mut Vec<u8>,
    pub(in super::super) problems: &'t mut Problems,
}

impl Connection {
    pub(in super::super) fn new() -> Self {
        Self {
            version: None,
            unread_version: None,
            original: Vec::new(),
            initial: None,
            destination: Vec::new(),
            destinations: 0,
            hello: ClientHelloPrefix::new(),
            random: None,
            client: None,
            answered: false,
            lengths: [0; 2],
            paths_by_sequence: false,
            ways: [DirectionKeys::Unknown, DirectionKeys::Unknown],
            handshake: [DirectionKeys::Unknown, DirectionKeys::Unknown],
            early: DirectionKeys::Unknown,
            largest: Default::default(),
            addresses: Addresses::default(),
            tried: 0,
            opened: 0,
            closed: 0,
            cut: 0,
        }
    }

    /// Original Destination Connection ID in hexadecimal digits, or empty.
    pub(in super::super) fn name(&self) -> String {
        self.original.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a packet belongs to this connection although it would begin a connection if its client chose the
    /// destination, which is none of the IDs of this one. After a Retry or Version Negotiation the client begins again,
    /// usually with the same hello.
    pub(in super::super) fn continues(
        &self,
        long: &Long<'_>,
        budget: &mut TrialDecryptionBudget,
        scratch: &mut Vec<u8>,
    ) -> bool {
        if long.kind != Kind::Initial {
            return long.kind != Kind::ZeroRtt || !self.answered;
        }
        let Some(hello) = begins(long, budget, scratch) else { return true };
        let first_flight = !self.answered && (long.token || self.version != Some(long.version));
        match (hello.random(), &self.random) {
            (Some(new), Some(random)) => new == *random || first_flight,
            _ => first_flight,
        }
    }

    /// Reads a datagram, of which `payload` was captured; `owner` is that of its connection ID, if issued.
    pub(in super::super) fn datagram(
        &mut self,
        backward: bool,
        payload: &[u8],
        whole: bool,
        owner: Option<Owner>,
        tools: &mut Tools<'_, '_>,
    ) -> Opened {
        tools.found.clear();
        let way = usize::from(backward);
        if !whole {
            self.cut += 1;
            tools.problems.count("QUIC datagram truncated by the snap length");
            return Opened::Opaque;
        }
        let (mut application, mut opened) = (0_u64, 0_u64);
        let mut rest = payload;
        while let Some(&first) = rest.first() {
            if is_long(first) {
                // version negotiation, other versions, or no packet at all
                let Some(long) = long(rest) else {
                    self.other(way, rest, tools);
                    break;
                };
                rest = &rest[long.packet.len()..];
                self.unread_version = None;
                tools.found.id(long.source, true, 0, 0);
                self.lengths[1 - way] |= 1 << long.source.len();
                match long.kind {
                    Kind::Initial => self.initial(way, &long, tools),
                    Kind::ZeroRtt => {
                        application += 1;
                        opened += u64::from(self.zero_rtt(way, &long, tools));
                    }
                    Kind::Handshake => self.handshake(way, &long, tools),
                    Kind::Retry => {}
                }
                self.version = Some(long.version);
            } else {
                // some stacks pad datagrams after the last packet
                if rest.len() < payload.len() && rest.iter().all(|&byte| byte == 0) {
                    break;
                }
                application += 1;
                opened += u64::from(self.short(way, rest, owner, tools));
                break;
            }
        }
        tools.found.settle();
        self.lengths[1 - way] |= tools.found.sender_lengths();
        self.opened += opened;
        self.closed += application - opened;
        for _ in opened..application {
            tools.problems.count("QUIC packet not decrypted");
        }
        if opened > 0 || application == 0 && self.has_secrets(tools.secrets) {
            Opened::Readable
        } else {
            Opened::Opaque
        }
    }

    /// Reason for which nothing was decrypted; `None` if something was.
    pub(in super::super) fn undecrypted(&self, secrets: &SecretStore<'_>) -> Option<Undecrypted> {
        if self.opened > 0 || self.closed + self.cut == 0 || self.unread_version.is_some() {
            return None;
        }
        Some(match self.random {
            _ if secrets.connections() == 0 => Undecrypted::NoSecrets,
            _ if self.closed == 0 => Undecrypted::Cut,
            None => Undecrypted::NoHandshake,
            Some(random) if secrets.get(&random).is_none() => Undecrypted::OtherConnections,
            Some(_) => Undecrypted::WrongSecrets,
        })
    }

    fn has_secrets(&self, secrets: &SecretStore<'_>) -> bool {
        self.opened > 0 || self.random.is_some_and(|random| secrets.get(&random).is_some())
    }

    /// Records a long header of an unknown version, or a Version Negotiation packet.
    fn other(&mut self, way: usize, packet: &[u8], tools: &mut Tools<'_, '_>) {
        let Some(header) = Invariant::of(packet) else { return };
        if header.version == 0 {
            return;
        }
        tools.found.id(header.source, true, 0, 0);
        tools.found.eliciting = true;
        self.lengths[1 - way] |= 1 << header.source.len();
        if self.version.is_none() && Version::of(header.version).is_none() {
            self.unread_version = Some(header.version);
            tools.found.id(header.destination, false, 0, 0);
        }
    }

    /// Reads the part of the ClientHello in an Initial packet of the client.
    fn initial(&mut self, way: usize, long: &Long<'_>, tools: &mut Tools<'_, '_>) {
        if let Some(keys) = &mut self.initial {
            keys.change(long.version, &mut tools.secrets.initial_budget);
        }
        let of_server = self.client == Some(1 - way);
        let mut opened = self.initial.as_ref().is_some_and(|keys| keys.open(of_server, long, tools.scratch));
        if of_server {
            self.answered = true;
            return tools.handshake(opened);
        }
        // the first packet; or the first after a Retry
        if !opened && self.destination != long.destination && self.destinations < INITIAL_KEYS_MAX {
            long.destination.clone_into(&mut self.destination);
            self.destinations += 1;
            let keys = InitialKeys::new(long.version, long.destination);
            opened = keys.open(false, long, tools.scratch);
            if opened {
                if self.original.is_empty() {
                    long.destination.clone_into(&mut self.original);
                }
                tools.found.id(long.destination, false, 0, 0);
                self.client = Some(way);
                self.initial = Some(keys);
                self.hello = ClientHelloPrefix::new();
            }
        }
        if opened {
            self.hello.read(tools.scratch);
            self.random = self.random.or(self.hello.random());
        }
        tools.handshake(opened);
    }

    fn secrets(&self, secrets: &SecretStore<'_>, way: usize) -> Option<[Option<Secret>; 2]> {
        let found = secrets.get(self.random.as_ref()?)?;
        let client = self.client? == way;
        Some(if client {
            [found.client, found.client_handshake]
        } else {
            [found.server, found.server_handshake]
        })
    }

    fn handshake(&mut self, way: usize, long: &Long<'_>, tools: &mut Tools<'_, '_>) {
        self.answered |= self.client == Some(1 - way);
        if let (DirectionKeys::Unknown, Some([_, Some(secret)])) =
            (&self.handshake[way], self.secrets(tools.secrets, way))
        {
            self.handshake[way] = DirectionKeys::candidates(long.version, &secret);
        }
        let opened = self.handshake[way].open(long.packet, long.number, 0, (0, None), tools);
        tools.handshake(opened.is_some());
    }

    fn zero_rtt(&mut self, way: usize, long: &Long<'_>, tools: &mut Tools<'_, '_>) -> bool {
        if let (DirectionKeys::Unknown, Some(random)) = (&self.early, &self.random)
            && let Some(secret) = tools.secrets.get(random).and_then(|secrets| secrets.early)
        {
            self.early = DirectionKeys::candidates(long.version, &secret);
        }
        let length = long.number as u32;
        let opened = self.early.open(long.packet, long.number, length, (0, self.largest[way].of(0)), tools);
        self.note(way, 0, opened, tools)
    }

    fn short(&mut self, way: usize, packet: &[u8], owner: Option<Owner>, tools: &mut Tools<'_, '_>) -> bool {
        if self.unread_version.is_some() {
            return false;
        }
        let mut opened = self.short_with_keys(way, packet, owner, tools);
        if opened.is_none() && self.random.is_none() && tools.secrets.few() && self.tried < PACKETS_TRIED_MAX
        {
            self.tried += 1;
            opened = self.try_all(way, packet, tools);
        }
        if let (Some((path, _)), DirectionKeys::Known(_, length)) = (opened, &self.ways[way]) {
            self.lengths[way] |= 1 << length;
            // an ID that was issued before the capture began, or in a packet that was not captured
            if owner.is_none()
                && let Some(id) = packet.get(1..1 + *length as usize)
            {
                tools.found.id(id, false, path, 0);
            }
        }
        let (path, number) = opened.unzip();
        self.note(way, path.unwrap_or(0), number, tools)
    }

    /// Whether packets of the connection were decrypted.
    pub(in super::super) fn is_opened(&self) -> bool {
        self.opened > 0
    }

    /// Whether a packet with a short header, at addresses that no connection has used, goes backward in this one; `None` if
    /// its keys do not decrypt it, or may no longer be tried.
    pub(in super::super) fn direction(&mut self, packet: &[u8], tools: &mut Tools<'_, '_>) -> Option<bool> {
        [false, true].into_iter().find(|&backward| {
            tools.secrets.budget.spend(packet.len())
                && self.short_with_keys(usize::from(backward), packet, None, tools).is_some()
        })
    }

    /// Lengths that the connection ID of a packet may have, as bits.
    fn lengths(&self, way: usize) -> u32 {
        if self.lengths[way] == 0 { ANY_LENGTH } else { self.lengths[way] }
    }

    /// Path and number of a packet that the keys of its direction decrypt.
    fn short_with_keys(
        &mut self,
        way: usize,
        packet: &[u8],
        owner: Option<Owner>,
        tools: &mut Tools<'_, '_>,
    ) -> Option<(u32, u64)> {
        if let (DirectionKeys::Unknown, Some([Some(secret), _])) =
            (&self.ways[way], self.secrets(tools.secrets, way))
        {
            self.ways[way] = DirectionKeys::candidates(self.version.unwrap_or(Version::One), &secret);
        }
        let lengths = self.lengths(way);
        let known = match self.ways[way] {
            DirectionKeys::Unknown => return None,
            DirectionKeys::Known(_, length) => Some(length),
            DirectionKeys::Candidates(_) => None,
        };
        // lengths and paths, the most likely first
        let told = owner.map(|owner| (u32::from(owner.length), owner.path));
        let by_sequence = owner
            .filter(|owner| owner.path == 0 && owner.sequence > 0)
            .and_then(|owner| Some((u32::from(owner.length), u32::try_from(owner.sequence).ok()?)));
        let of_owner = if self.paths_by_sequence { [by_sequence, told] } else { [told, by_sequence] };
        let others = (0..=CONNECTION_ID_BYTES_MAX as u32).filter(|length| lengths & 1 << length != 0);
        let others = others.filter(|length| Some(*length) != known);
        let first_path = known.into_iter().chain(others).map(|length| (length, 0));
        // another path, whose ID is not known
        let only = known.or_else(|| lengths.is_power_of_two().then(|| lengths.trailing_zeros()));
        let paths = only.filter(|_| owner.is_none()).into_iter();
        let paths = paths.flat_map(|length| (1..=PATHS_TRIED).map(move |path| (length, path)));
        let first_path = first_path.filter(|attempt| Some(*attempt) != told);
        let mut attempts = of_owner.into_iter().flatten().chain(first_path).chain(paths);
        let mut further = false;
        let opened = attempts.find_map(|(length, path)| {
            if std::mem::replace(&mut further, true) && !tools.secrets.budget.spend(packet.len()) {
                return None;
            }
            let largest = (path, self.largest[way].of(path));
            let number = self.ways[way].open(packet, 1 + length as usize, length, largest, tools)?;
            Some((path, number))
        });
        let other_path = |(path, _): (u32, u64)| path > 0 && told.is_some_and(|(_, told)| told != path);
        self.paths_by_sequence |= opened.is_some_and(other_path);
        opened
    }

    /// Tries every available secret.
    fn try_all(&mut self, way: usize, packet: &[u8], tools: &mut Tools<'_, '_>) -> Option<(u32, u64)> {
        let lengths = self.lengths(way);
        let versions = match self.version {
            Some(version) => &[version][..],
            None => &[Version::One, Version::Two],
        };
        for index in 0..tools.secrets.connections() {
            let (random, secrets) = tools.secrets.at(index)?;
            for (client, secret) in [(way, secrets.client), (1 - way, secrets.server)] {
                let Some(secret) = secret else { continue };
                for &version in versions {
                    if !tools.secrets.budget.derive() {
                        return None;
                    }
                    let mut candidates = DirectionKeys::candidates(version, &secret);
                    for length in (0..=CONNECTION_ID_BYTES_MAX as u32).filter(|n| lengths & 1 << n != 0) {
                        let opened = candidates.open(packet, 1 + length as usize, length, (0, None), tools);
                        if let Some(number) = opened {
                            self.ways[way] = candidates;
                            (self.random, self.client, self.version) =
                                (Some(random), Some(client), Some(version));
                            return Some((0, number));
                        }
                    }
                }
            }
        }
        None
    }

    /// Reads the frames of a decrypted packet with the number `opened`, whose payload is the scratch buffer.
    fn note(&mut self, way: usize, path: u32, opened: Option<u64>, tools: &mut Tools<'_, '_>) -> bool {
        if let Some(number) = opened {
            self.largest[way].add(path, number);
            tools.found.packet(path, number, tools.scratch, tools.problems);
        }
        opened.is_some()
    }
}

/// Part of the ClientHello in an Initial packet, if its client chose the destination, which determines its
/// keys.
pub(in super::super) fn begins(
    long: &Long<'_>,
    budget: &mut TrialDecryptionBudget,
    scratch: &mut Vec<u8>,
) -> Option<ClientHelloPrefix> {
    if !budget.derive() {
        return None;
    }
    let keys = InitialKeys::new(long.version, long.destination);
    keys.open(false, long, scratch).then(|| {
        let mut hello = ClientHelloPrefix::new();
        hello.read(scratch);
        hello
    })
}

impl Tools<'_, '_> {
    /// Reads the frames of an Initial or Handshake packet, which are in the scratch buffer if it was decrypted; an
    /// unreadable one may be ack-eliciting.
    fn handshake(&mut self, opened: bool) {
        if opened {
            self.found.handshake(self.scratch, self.problems);
        } else {
            self.found.eliciting = true;
        }
    }
}

impl DirectionKeys {
    fn candidates(version: Version, secret: &Secret) -> Self {
        Self::Candidates(
            Suite::of(secret).iter().map(|&suite| KeyPhases::new(version, suite, secret)).collect(),
        )
    }

    /// Decrypts a packet whose number begins at `at`; then its payload is in the scratch buffer, and the keys are
    /// known. `largest` is the path and its largest number.
    fn open(
        &mut self,
        packet: &[u8],
        at: usize,
        length: u32,
        largest: (u32, Option<u64>),
        tools: &mut Tools<'_, '_>,
    ) -> Option<u64> {
        let (budget, scratch) = (&mut tools.secrets.budget, &mut *tools.scratch);
        match self {
            Self::Unknown => None,
            Self::Known(ladder, known) => {
                let number = ladder.open(packet, at, largest, budget, scratch)?;
                *known = length;
                Some(number)
            }
            Self::Candidates(candidates) => {
                let found = candidates.iter_mut().enumerate().find_map(|(index, ladder)| {
                    ladder.open(packet, at, largest, budget, scratch).map(|number| (index, number))
                });
                let (index, number) = found?;
                *self = Self::Known(Box::new(candidates.swap_remove(index)), length);
                Some(number)
            }
        }
    }
}
