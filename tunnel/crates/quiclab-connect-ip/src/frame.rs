//! Types of frames (RFC 9114 section 7.2).

pub(super) const DATA: u64 = 0;
pub(super) const HEADERS: u64 = 1;
pub(super) const CANCEL_PUSH: u64 = 3;
pub(super) const SETTINGS: u64 = 4;
pub(super) const PUSH_PROMISE: u64 = 5;
pub(super) const GOAWAY: u64 = 7;
pub(super) const MAX_PUSH_ID: u64 = 13;
/// Frames of HTTP/2 that HTTP/3 does not have (section 7.2.8).
pub(super) const OF_HTTP2: [u64; 4] = [2, 6, 8, 9];
