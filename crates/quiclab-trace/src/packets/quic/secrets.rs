//! Sources of secrets: the given key log, and those in the capture; and limits of trial decryption.

use super::super::KeyLog;
use super::super::key_log::{ClientRandom, Secrets};

/// Maximum number of connections of a key log whose secrets are all tried on packets of a connection without
/// captured handshake.
const CONNECTIONS_TRIED_MAX: usize = 16;
/// Maximum total bytes of failed decryptions, of each kind: about a second.
const BYTES_TRIED_MAX: u64 = 1 << 29;
/// Cost of deriving keys, in bytes that could be decrypted in the same time.
const DERIVATION_BYTES: usize = 1 << 13;

/// Remaining budget of trial decryption.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct TrialDecryptionBudget(u64);

impl TrialDecryptionBudget {
    /// Spends the cost of `bytes`; false if it exceeds the budget.
    pub(in super::super) fn spend(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes as u64);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// Spends the cost of deriving keys; false if it exceeds the budget.
    pub(in super::super) fn derive(&mut self) -> bool {
        self.spend(DERIVATION_BYTES)
    }
}

/// All secrets.
pub(in super::super) struct SecretStore<'k> {
    given: &'k KeyLog,
    embedded: KeyLog,
    /// Budget for packets that secrets may decrypt.
    pub(in super::super) budget: TrialDecryptionBudget,
    /// Budget for Initial packets, whose keys need no secrets: wrong secrets do not exhaust it.
    pub(in super::super) initial_budget: TrialDecryptionBudget,
}

impl<'k> SecretStore<'k> {
    /// Creates a store of the given secrets and of those of the capture that are known so far.
    pub(in super::super) fn new(given: &'k KeyLog, embedded: KeyLog) -> Self {
        let budget = TrialDecryptionBudget(BYTES_TRIED_MAX);
        Self { given, embedded, budget, initial_budget: budget }
    }

    /// Adds secrets of the capture; `false` if there are too many.
    pub(in super::super) fn add(&mut self, lines: &[u8]) -> bool {
        self.embedded.add(lines)
    }

    /// Number of connections with secrets, in both sources.
    pub(in super::super) fn connections(&self) -> usize {
        self.given.connections() + self.embedded.connections()
    }

    /// Number of malformed lines in the capture's own secrets.
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

    /// Secrets of one of few connections by index.
    pub(in super::super) fn at(&self, index: usize) -> Option<(ClientRandom, Secrets)> {
        let both = self.embedded.iter().chain(self.given.iter());
        both.map(|(random, secrets)| (*random, *secrets)).nth(index)
    }
}
