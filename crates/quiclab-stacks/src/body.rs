//! What workloads send on streams: zeros, of which every write takes a part without copying.

use bytes::Bytes;

static ZEROS: [u8; MAX_WRITE] = [0; MAX_WRITE];
/// Bytes of one write at most. Stacks search their queue of writes, so these must not be small.
pub const MAX_WRITE: usize = 65_536;
/// A send window is filled by at least this many writes: quinn frees a write as a whole, and with
/// a single one in the window would have to stop until all of it is acknowledged.
const WRITES_PER_WINDOW: u64 = 16;
/// Below this many bytes a write would not fill a datagram.
const MIN_WRITE: u64 = 2_048;

/// The next write of a body of which `left` bytes are missing; `most` at most.
pub(crate) fn zeros(left: u64, most: usize) -> Bytes {
    let length = usize::try_from(left).unwrap_or(usize::MAX).min(most).min(ZEROS.len());
    Bytes::from_static(&ZEROS[..length])
}

/// Bytes of one write with this send window.
pub(crate) fn write_size(send_window: u64) -> usize {
    let size = (send_window / WRITES_PER_WINDOW).clamp(MIN_WRITE, MAX_WRITE as u64);
    usize::try_from(size).expect("it is at most MAX_WRITE")
}
