//! What is known of a connection, and what its datagrams say.
//!
//! Secrets come by the random of the ClientHello. Where that was not captured, each of a few secrets is tried on the
//! first packets, with any length of connection IDs: authentication says which is right. Bounded in all by
//! [`super::secrets::TrialDecryptionBudget`].

use super::super::Problems;
use super::super::key_log::{ClientRandom, Secret};
use super::header::{CONNECTION_ID_BYTES_MAX, Kind, Long, Version, is_long, long};
use super::initial::{ClientHelloPrefix, InitialKeys};
use super::keys::Suite;
use super::ladder::KeyPhases;
use super::payload::Found;
use super::secrets::SecretStore;

/// Destinations of Initial packets of which keys are made, in a connection.
const INITIAL_KEYS_MAX: u8 = 16;
/// Packets of a connection without handshake on which secrets are tried.
const PACKETS_TRIED_MAX: u8 = 8;
/// Bit n: connection IDs of n bytes.
const ANY_LENGTH: u32 = (1 << (CONNECTION_ID_BYTES_MAX + 1)) - 1;

/// Whether a datagram says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Opened {
    /// What there is of application data has been read, or some of it.
    Readable,
    /// There is application data, and none of it could be read; or there are no secrets.
    Opaque,
}

/// Why nothing of a connection was decrypted.
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
    /// Keys that have opened a packet, and the length of the connection ID in it.
    Known(Box<KeyPhases>, u32),
}

/// A connection. Two values of a kind are by direction: forward, backward.
pub(in super::super) struct Connection {
    version: Option<Version>,
    /// What the client first called the server; empty until one of its Initial packets was opened.
    original: Vec<u8>,
    initial: Option<InitialKeys>,
    /// Destination of the last Initial packet of which keys were made, and of how many.
    destination: Vec<u8>,
    destinations: u8,
    hello: ClientHelloPrefix,
    random: Option<ClientRandom>,
    /// Whether the client is the end that sends backward.
    client: Option<usize>,
    /// Lengths that destination connection IDs of short headers may have, as bits.
    lengths: [u32; 2],
    ways: [DirectionKeys; 2],
    early: DirectionKeys,
    largest: [Option<u64>; 2],
    tried: u8,
    opened: u64,
    closed: u64,
    cut: u64,
}

/// What is used by all connections: memory, and what is counted.
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
            original: Vec::new(),
            initial: None,
            destination: Vec::new(),
            destinations: 0,
            hello: ClientHelloPrefix::new(),
            random: None,
            client: None,
            lengths: [0; 2],
            ways: [DirectionKeys::Unknown, DirectionKeys::Unknown],
            early: DirectionKeys::Unknown,
            largest: [None; 2],
            tried: 0,
            opened: 0,
            closed: 0,
            cut: 0,
        }
    }

    /// The original destination connection ID in hexadecimal digits, or nothing.
    pub(in super::super) fn name(&self) -> String {
        self.original.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads a datagram, of which `payload` was captured.
    pub(in super::super) fn datagram(
        &mut self,
        backward: bool,
        payload: &[u8],
        whole: bool,
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
                let Some(long) = long(rest) else { break };
                rest = &rest[long.packet.len()..];
                self.version = Some(long.version);
                self.lengths[1 - way] |= 1 << long.source.len();
                match long.kind {
                    Kind::Initial => self.initial(way, &long, tools),
                    Kind::ZeroRtt => {
                        application += 1;
                        opened += u64::from(self.zero_rtt(way, &long, tools));
                    }
                    Kind::Handshake | Kind::Retry => {}
                }
            } else {
                // some stacks fill datagrams up behind the last packet
                if rest.len() < payload.len() && rest.iter().all(|&byte| byte == 0) {
                    break;
                }
                application += 1;
                opened += u64::from(self.short(way, rest, tools));
                break;
            }
        }
        tools.found.settle();
        self.lengths[1 - way] |= tools.found.id_lengths;
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

    /// Why nothing was decrypted, if that is so.
    pub(in super::super) fn undecrypted(&self, secrets: &SecretStore<'_>) -> Option<Undecrypted> {
        if self.opened > 0 || self.closed + self.cut == 0 {
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

    /// Takes what an Initial packet of the client has of its hello.
    fn initial(&mut self, way: usize, long: &Long<'_>, tools: &mut Tools<'_, '_>) {
        if self.client == Some(1 - way) {
            return;
        }
        if self.random.is_none()
            && self.initial.as_ref().is_some_and(|keys| keys.read(long, &mut self.hello, tools.scratch))
        {
            self.random = self.hello.random();
            return;
        }
        // the first packet; the first after a Retry; or a new connection, since ports may be used again
        if self.destination == long.destination || self.destinations == INITIAL_KEYS_MAX {
            return;
        }
        long.destination.clone_into(&mut self.destination);
        self.destinations += 1;
        let keys = InitialKeys::new(long.version, long.destination);
        let mut hello = ClientHelloPrefix::new();
        if !keys.read(long, &mut hello, tools.scratch) {
            return;
        }
        if self.random.is_some() {
            tools.problems.count("QUIC connection between the ports of one before it");
            let (opened, closed, cut) = (self.opened, self.closed, self.cut);
            *self = Self { opened, closed, cut, version: Some(long.version), ..Self::new() };
            self.lengths[1 - way] = 1 << long.source.len();
            long.destination.clone_into(&mut self.destination);
        }
        if self.original.is_empty() {
            long.destination.clone_into(&mut self.original);
        }
        self.client = Some(way);
        self.initial = Some(keys);
        self.random = hello.random();
        self.hello = hello;
    }

    fn secret(&self, secrets: &SecretStore<'_>, way: usize) -> Option<Secret> {
        let found = secrets.get(self.random.as_ref()?)?;
        if self.client? == way { found.client } else { found.server }
    }

    fn zero_rtt(&mut self, way: usize, long: &Long<'_>, tools: &mut Tools<'_, '_>) -> bool {
        if let (DirectionKeys::Unknown, Some(random)) = (&self.early, &self.random)
            && let Some(secret) = tools.secrets.get(random).and_then(|secrets| secrets.early)
        {
            self.early = DirectionKeys::candidates(long.version, &secret);
        }
        let length = long.number as u32;
        let opened = self.early.open(long.packet, long.number, length, self.largest[way], tools);
        self.note(way, opened, tools)
    }

    fn short(&mut self, way: usize, packet: &[u8], tools: &mut Tools<'_, '_>) -> bool {
        let version = self.version.unwrap_or(Version::One);
        if let (DirectionKeys::Unknown, Some(secret)) = (&self.ways[way], self.secret(tools.secrets, way)) {
            self.ways[way] = DirectionKeys::candidates(version, &secret);
        }
        let mut opened = None;
        if let DirectionKeys::Known(_, length) = self.ways[way] {
            opened = self.ways[way].open(packet, 1 + length as usize, length, self.largest[way], tools);
        }
        let lengths = if self.lengths[way] == 0 { ANY_LENGTH } else { self.lengths[way] };
        for length in (0..=CONNECTION_ID_BYTES_MAX as u32).filter(|length| lengths & 1 << length != 0) {
            if opened.is_some() {
                break;
            }
            opened = self.ways[way].open(packet, 1 + length as usize, length, self.largest[way], tools);
        }
        if opened.is_none() && self.random.is_none() && tools.secrets.few() && self.tried < PACKETS_TRIED_MAX
        {
            self.tried += 1;
            opened = self.try_all(way, lengths, packet, tools);
        }
        if let (Some(_), DirectionKeys::Known(_, length)) = (opened, &self.ways[way]) {
            self.lengths[way] |= 1 << length;
        }
        self.note(way, opened, tools)
    }

    /// Tries each secret that there is.
    fn try_all(&mut self, way: usize, lengths: u32, packet: &[u8], tools: &mut Tools<'_, '_>) -> Option<u64> {
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
                        let opened = candidates.open(packet, 1 + length as usize, length, None, tools);
                        if opened.is_some() {
                            self.ways[way] = candidates;
                            (self.random, self.client, self.version) =
                                (Some(random), Some(client), Some(version));
                            return opened;
                        }
                    }
                }
            }
        }
        None
    }

    /// Reads the frames of a packet that was opened: its number; its payload is all of the scratch memory.
    fn note(&mut self, way: usize, opened: Option<u64>, tools: &mut Tools<'_, '_>) -> bool {
        if let Some(number) = opened {
            self.largest[way] = self.largest[way].max(Some(number));
            tools.found.packet(number, tools.scratch, tools.problems);
        }
        opened.is_some()
    }
}

impl DirectionKeys {
    fn candidates(version: Version, secret: &Secret) -> Self {
        Self::Candidates(
            Suite::of(secret).iter().map(|&suite| KeyPhases::new(version, suite, secret)).collect(),
        )
    }

    /// Opens a packet whose number begins `at`; then its payload is in the scratch memory, and the keys are known.
    fn open(
        &mut self,
        packet: &[u8],
        at: usize,
        length: u32,
        largest: Option<u64>,
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
