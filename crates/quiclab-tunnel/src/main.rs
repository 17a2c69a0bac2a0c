//! `quiclab-tunnel`: see docs/tunnel.md.
fn main() {}
