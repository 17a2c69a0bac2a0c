//! Counts the allocations of a test program, and generates files without holding them in memory.
#![allow(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the allocated bytes and their maximum.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MAX_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes every call unchanged to the system's allocator
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MAX_BYTES.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as for the caller
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as for the caller
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Result of `work`, and the maximum number of bytes that it allocated in addition to those before.
pub fn most_held<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Ordering::Relaxed);
    MAX_BYTES.store(before, Ordering::Relaxed);
    let result = work();
    (result, MAX_BYTES.load(Ordering::Relaxed) - before)
}

/// Approximate number of bytes of a record of [`Generated`].
pub const RECORD_BYTES: u64 = 270;

/// Records of a file of `QLOG_MB` megabytes, or `otherwise`.
pub fn records(otherwise: u64) -> u64 {
    std::env::var("QLOG_MB").map_or(otherwise, |text| text.parse().unwrap()) * 1_000_000 / RECORD_BYTES
}

/// A generated log of some number of packets, one every 0.37 ms, every 50th of which is lost; it is not held
/// in memory.
pub struct Generated {
    records: u64,
    record: u64,
    contained: bool,
    any: bool,
    pending: Vec<u8>,
}

impl Generated {
    pub fn new(records: u64, contained: bool) -> Self {
        let header: &[u8] = if contained {
            b"{\"qlog_version\":\"0.3\",\"traces\":[{\"vantage_point\":{\"type\":\"server\"},\"events\":["
        } else {
            b"\x1e{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n"
        };
        Self { records, record: 0, contained, any: false, pending: header.to_vec() }
    }

    fn event(&mut self, json: &str) {
        let comma = if self.any { "," } else { "" };
        self.pending.extend_from_slice(if self.contained { comma } else { "\x1e" }.as_bytes());
        self.pending.extend_from_slice(json.as_bytes());
        self.any = true;
    }
}

impl Read for Generated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.pending.len() < out.len() && self.record < self.records {
            let (number, time) = (self.record, self.record as f64 * 0.37);
            self.event(&format!(
                "{{\"time\":{time},\"name\":\"transport:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\
                 \"packet_number\":{number},\"dcid\":\"c0ffee0011223344\"}},\"raw\":{{\"length\":1280,\"payload_length\":1253}},\
                 \"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":{},\"offset\":{},\"length\":1200,\"fin\":false}}]}}}}",
                number % 40 * 4,
                number / 40 * 1200,
            ));
            if number % 50 == 0 {
                self.event(&format!(
                    "{{\"time\":{time},\"name\":\"recovery:packet_lost\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\
                     \"packet_number\":{number}}}}}}}"
                ));
            }
            self.record += 1;
            if self.record == self.records && self.contained {
                self.pending.extend_from_slice(b"]}]}");
            }
        }
        let count = out.len().min(self.pending.len());
        out[..count].copy_from_slice(&self.pending[..count]);
        self.pending.drain(..count);
        Ok(count)
    }
}
