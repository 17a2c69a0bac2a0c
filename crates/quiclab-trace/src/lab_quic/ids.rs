//! Connection IDs of a connection (RFC 9000 section 5.1).

use super::Sender;
use super::random::Random;
use std::collections::BTreeMap;

/// Length of a client's first Destination Connection ID: "at least 8 bytes in length" (RFC 9000 section 7.2).
pub(super) const ORIGINAL_ID: usize = 8;
/// The longest connection ID (RFC 9000 section 17.2).
const ID_BYTES_MAX: usize = 20;

pub(super) type ConnectionId = [u8; ID_BYTES_MAX];

/// Connection IDs, truncated to the lengths of the model.
pub(super) struct Ids {
    random: Random,
    /// Connection IDs by the endpoint that chose them, path ID and sequence number.
    chosen: BTreeMap<(Sender, u8, u64), ConnectionId>,
    original: ConnectionId,
}

impl Ids {
    pub(super) fn new(random: Random) -> Self {
        let original = random.bytes("original connection ID");
        Self { random, chosen: BTreeMap::new(), original }
    }

    /// Connection ID that an endpoint chose for a path, with this sequence number.
    pub(super) fn chosen(&mut self, by: Sender, path: u8, sequence: u64) -> ConnectionId {
        let random = &self.random;
        let derive = || random.bytes(&format!("{by:?} connection ID {path} {sequence}"));
        *self.chosen.entry((by, path, sequence)).or_insert_with(derive)
    }

    /// Connection ID of the handshake.
    pub(super) fn first(&mut self, by: Sender) -> ConnectionId {
        self.chosen(by, 0, 0)
    }

    /// Original Destination Connection ID of a client, with [`ORIGINAL_ID`] bytes.
    pub(super) fn original(&self) -> ConnectionId {
        self.original
    }
}
