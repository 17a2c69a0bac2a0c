//! The VPN of quiclab: IP packets in datagrams of QUIC over several paths, with FQ-CoDel in front of them.
//!
//! docs/tunnel.md says how it is used. The tunnel itself (discipline, scheduler, sending) is pure and lives in
//! `quiclab-core`, QUIC in `quiclab-stacks`; this crate is what they need of a machine: configuration, keys, TUN device,
//! sockets, routes, a clock and a loop.

pub mod config;
pub mod keys;
pub mod pool;
pub mod protocol;
pub mod clock;
pub mod privileges;
pub mod system;
