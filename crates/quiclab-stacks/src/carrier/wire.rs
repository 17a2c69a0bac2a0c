//! What the ends of a session say to each other inside QUIC.

/// Longest control message in bytes.
pub const LONGEST_CONTROL: usize = 65_536;
/// Most bytes of control messages that wait to be sent.
pub const CONTROL_BACKLOG: usize = 1 << 20;
