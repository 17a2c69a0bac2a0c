//! The tunnel: any IP packet in datagrams over several paths.

mod carrier;

pub use carrier::{Cargo, Carrier};
