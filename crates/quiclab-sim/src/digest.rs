//! Digest of a run: a 128-bit hash (XXH3) over every departure and arrival, always on.

use crate::packet_log::{Event, Record};
use xxhash_rust::xxh3::Xxh3;

/// Bytes hashed for a record.
const RECORD_BYTES: usize = 32;
/// Number of records hashed together.
const PENDING: usize = 64;

/// See the module documentation.
pub(crate) struct Digest {
    hash: Box<Xxh3>,
    /// Records not yet hashed: hashing many together is several times cheaper.
    pending: Box<[[u8; RECORD_BYTES]; PENDING]>,
    records: u64,
}

impl Digest {
    pub(crate) fn new() -> Self {
        let pending = Box::new([[0; RECORD_BYTES]; PENDING]);
        Self { hash: Box::new(Xxh3::new()), pending, records: 0 }
    }

    /// Adds a departure or an arrival: time, element, port, kind, size, flow and number of the packet.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        let bytes = &mut self.pending[(self.records % PENDING as u64) as usize];
        bytes[0..8].copy_from_slice(&record.time.as_nanos().to_le_bytes());
        bytes[8..16].copy_from_slice(&record.size_bytes.to_le_bytes());
        bytes[16..20].copy_from_slice(&record.element.to_le_bytes());
        bytes[20..24].copy_from_slice(&record.flow.to_le_bytes());
        bytes[24..26].copy_from_slice(&record.port.to_le_bytes());
        bytes[26] = record.event as u8;
        bytes[27] = record.direction;
        bytes[28..32].copy_from_slice(&(record.packet as u32).to_le_bytes());
        self.records += 1;
        if self.records.is_multiple_of(PENDING as u64) {
            self.hash_pending();
        }
    }

    #[cold]
    fn hash_pending(&mut self) {
        self.hash.update(self.pending.as_flattened());
    }

    /// The digest as 32 hexadecimal digits.
    pub(crate) fn hex(&self) -> String {
        let mut hash = self.hash.clone();
        hash.update(self.pending[..(self.records % PENDING as u64) as usize].as_flattened());
        format!("{:032x}", hash.digest128())
    }
}

const _: () = assert!(Event::Arrival as u8 != Event::Departure as u8, "kinds must differ in the digest");
