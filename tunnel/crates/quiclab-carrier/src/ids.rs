//! Connection IDs that an endpoint recognises as its own, also after a restart.
//!
//! Four random bytes, and four bytes of their HMAC under a key derived from the identity of the end. A packet
//! with a short header that belongs to no connection is answered with a stateless reset (RFC 9000 section
//! 10.3) if its ID is one of these, and otherwise ignored. QUIC-LB has IDs with a meaning for servers as well
//! (draft-ietf-quic-load-balancers).

use noq_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::time::Duration;

const NONCE: usize = 4;
const LENGTH: usize = quiclab_stacks::library::ID_LENGTH;

/// Generator of such IDs.
pub(crate) struct OwnIds(hmac::Key);

impl OwnIds {
    pub(crate) fn new(identity: &hmac::Key) -> Self {
        let key = hmac::sign(identity, b"quiclab tunnel: connection IDs");
        Self(hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()))
    }

    /// Whether `bytes` begin with an ID of this end.
    pub(crate) fn issued(&self, bytes: &[u8]) -> bool {
        let nonce = bytes.first_chunk().copied();
        bytes.get(..LENGTH).zip(nonce).is_some_and(|(id, nonce)| &self.of_nonce(nonce)[..] == id)
    }

    fn of_nonce(&self, nonce: [u8; NONCE]) -> ConnectionId {
        let mut id = [0; LENGTH];
        id[..NONCE].copy_from_slice(&nonce);
        id[NONCE..].copy_from_slice(&hmac::sign(&self.0, &nonce).as_ref()[..LENGTH - NONCE]);
        ConnectionId::new(&id)
    }
}

impl ConnectionIdGenerator for OwnIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut nonce = [0; NONCE];
        SystemRandom::new().fill(&mut nonce).expect("the system has random numbers");
        self.of_nonce(nonce)
    }

    fn validate(&self, id: ConnectionId) -> Result<(), InvalidCid> {
        if id.len() == LENGTH && self.issued(&id) { Ok(()) } else { Err(InvalidCid) }
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_known_after_a_restart_and_others_are_not() {
        let ids = |key: &[u8]| OwnIds::new(&hmac::Key::new(hmac::HMAC_SHA256, key));
        let mut before = ids(b"one");
        let issued: Vec<_> = (0..100).map(|_| before.generate_cid()).collect();
        assert!(issued.iter().all(|id| ids(b"one").validate(*id).is_ok()));
        assert!(issued.iter().all(|id| ids(b"other").validate(*id).is_err()));
        let mut changed = issued[0].to_vec();
        changed[7] ^= 1;
        assert!(before.validate(ConnectionId::new(&changed)).is_err());
        assert!(before.validate(ConnectionId::new(&issued[0][..7])).is_err());
        let different: std::collections::BTreeSet<_> = issued.iter().map(|id| id.to_vec()).collect();
        assert!(different.len() > 98, "2^-32 for each pair");
    }
}
