//! Payload of workloads on streams: zeros, shared by all writes without copying.

use bytes::Bytes;

static ZEROS: [u8; MAX_WRITE] = [0; MAX_WRITE];
/// Maximum size of a write in bytes. Stacks search their queue of writes, so writes must not be small.
pub const MAX_WRITE: usize = 65_536;
/// Minimum number of writes that fill a send window: quinn frees a write as a whole, and with a single one in
/// the window would stop until all of it is acknowledged.
const WRITES_PER_WINDOW: u64 = 16;
/// Minimum size of a write in bytes: a smaller one would not fill a datagram.
const MIN_WRITE: u64 = 2_048;

/// Next write of a body with `left` remaining bytes; at most `most` bytes.
pub(crate) fn zeros(left: u64, most: usize) -> Bytes {
    let length = usize::try_from(left).unwrap_or(usize::MAX).min(most).min(ZEROS.len());
    Bytes::from_static(&ZEROS[..length])
}

/// Size of a write in bytes with this send window.
pub(crate) fn write_size(send_window: u64) -> usize {
    let size = (send_window / WRITES_PER_WINDOW).clamp(MIN_WRITE, MAX_WRITE as u64);
    usize::try_from(size).expect("it is at most MAX_WRITE")
}
