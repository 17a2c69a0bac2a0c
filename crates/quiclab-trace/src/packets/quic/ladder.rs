//! Keys of one direction of a connection across its key updates (RFC 9001 section 6).

use super::super::key_log::Secret;
use super::header::Version;
use super::keys::{HeaderKey, PacketKey, Suite, Unmasked, updated};
use super::secrets::TrialDecryptionBudget;

/// The key phase of a short header.
const KEY_PHASE: u8 = 0x04;
/// Number of packet numbers that are tried if the expected one does not decrypt a packet.
const WINDOWS: u64 = 64;

/// Keys before, in and after the current key phase.
pub(super) struct KeyPhases {
    version: Version,
    suite: Suite,
    header: HeaderKey,
    previous: Option<PacketKey>,
    current: PacketKey,
    next: Option<PacketKey>,
    /// Secret of `next` if it exists, else of `current`.
    secret: Secret,
    phase: bool,
}

impl KeyPhases {
    pub(super) fn new(version: Version, suite: Suite, secret: &Secret) -> Self {
        Self {
            version,
            suite,
            header: HeaderKey::new(version, suite, secret),
            previous: None,
            current: PacketKey::new(version, suite, secret),
            next: None,
            secret: *secret,
            phase: false,
        }
    }

    /// Decrypts a packet whose packet number begins at `at`, and returns its number; then `scratch` is its payload. `largest`
    /// is its path and the largest number on it.
    pub(super) fn open(
        &mut self,
        packet: &[u8],
        at: usize,
        largest: (u32, Option<u64>),
        budget: &mut TrialDecryptionBudget,
        scratch: &mut Vec<u8>,
    ) -> Option<u64> {
        let unmasked = self.header.unmask(packet, at)?;
        let long = unmasked.first & 0x80 != 0;
        let turned = !long && (unmasked.first & KEY_PHASE != 0) != self.phase;
        if !turned {
            return try_key(&self.current, packet, &unmasked, largest, budget, scratch);
        }
        if self.next.is_none() {
            self.secret = updated(self.version, &self.secret);
            self.next = Some(PacketKey::new(self.version, self.suite, &self.secret));
        }
        let next = self.next.as_ref().expect("made above");
        let mut number = try_key(next, packet, &unmasked, largest, budget, scratch);
        if number.is_some() {
            self.previous = self.next.take().map(|next| std::mem::replace(&mut self.current, next));
            self.phase = !self.phase;
        } else if let Some(previous) = &self.previous {
            // a packet from before the update, which arrived after it
            number = try_key(previous, packet, &unmasked, largest, budget, scratch);
        }
        number
    }
}

/// Number with which `key` decrypts the packet: the expected one, or one after a gap of the capture.
fn try_key(
    key: &PacketKey,
    packet: &[u8],
    unmasked: &Unmasked,
    (path, largest): (u32, Option<u64>),
    budget: &mut TrialDecryptionBudget,
    scratch: &mut Vec<u8>,
) -> Option<u64> {
    let expected = unmasked.expanded(largest);
    let numbers = (0..WINDOWS).map(|step| expected + step * unmasked.window());
    let mut possible =
        numbers.take_while(|&number| number < 1 << 62 && (number == expected || budget.spend(packet.len())));
    let number = possible.find(|&number| key.open(packet, unmasked, (path, number), scratch))?;
    // the decrypted bytes are longer than the header: they include a sample, and the tag has been removed
    scratch.drain(..unmasked.end());
    Some(number)
}
