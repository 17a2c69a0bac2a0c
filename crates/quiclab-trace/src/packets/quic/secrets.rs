//! Where secrets come from: the key log that was given, and what the capture itself has; and how much may be tried.

use super::super::KeyLog;
use super::super::key_log::{ClientRandom, Secrets};

/// Connections of a key log up to which each is tried on packets of a connection whose handshake was not captured.
const CONNECTIONS_TRIED_MAX: usize = 16;
/// Bytes that may be decrypted in vain, in all of a kind: about a second.
const BYTES_TRIED_MAX: u64 = 1 << 29;
/// What making keys costs, in bytes that could be decrypted meanwhile.
const DERIVATION_BYTES: usize = 1 << 13;

/// What may still be spent on trying.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct TrialDecryptionBudget(u64);

impl TrialDecryptionBudget {
    /// Whether there was enough to try `bytes`.
    pub(in super::super) fn spend(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes as u64);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether there was enough to make keys.
    pub(in super::super) fn derive(&mut self) -> bool {
        self.spend(DERIVATION_BYTES)
    }
}

/// All secrets.
pub(in super::super) struct SecretStore<'k> {
    given: &'k KeyLog,
    embedded: KeyLog,
    /// For packets that secrets may open.
    pub(in super::super) budget: TrialDecryptionBudget,
    /// For Initial packets, which say whose they are without secrets: wrong secrets do not use it up.
    pub(in super::super) initial_budget: TrialDecryptionBudget,
}

impl<'k> SecretStore<'k> {
    /// Those that were given, and those of the capture that are known so far.
    pub(in super::super) fn new(given: &'k KeyLog, embedded: KeyLog) -> Self {
        let budget = TrialDecryptionBudget(BYTES_TRIED_MAX);
        Self { given, embedded, budget, initial_budget: budget }
    }

    /// Adds secrets of the capture; `false` if there are too many.
    pub(in super::super) fn add(&mut self, lines: &[u8]) -> bool {
        self.embedded.add(lines)
    }

    /// How many connections there are secrets of, in either place.
    pub(in super::super) fn connections(&self) -> usize {
        self.given.connections() + self.embedded.connections()
    }

    /// Lines of the capture's own secrets that are not of the format.
    pub(in super::super) fn unknown_lines(&self) -> u64 {
        self.embedded.unknown_lines()
    }

    /// Whether secrets are few enough to try each.
    pub(in super::super) fn few(&self) -> bool {
        (1..=CONNECTIONS_TRIED_MAX).contains(&self.connections())
    }

    pub(in super::super) fn get(&self, random: &ClientRandom) -> Option<Secrets> {
        let (a, b) = (self.embedded.get(random), self.given.get(random));
        let (a, b) = (a.or(b)?, b.or(a)?);
        Some(Secrets {
            client: a.client.or(b.client),
            server: a.server.or(b.server),
            early: a.early.or(b.early),
            client_handshake: a.client_handshake.or(b.client_handshake),
            server_handshake: a.server_handshake.or(b.server_handshake),
        })
    }

    /// One of few connections by its place.
    pub(in super::super) fn at(&self, index: usize) -> Option<(ClientRandom, Secrets)> {
        let both = self.embedded.iter().chain(self.given.iter());
        both.map(|(random, secrets)| (*random, *secrets)).nth(index)
    }
}
