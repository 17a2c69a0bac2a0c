//! Readers and writers of traces: events of a run in the formats of established tools.
//!
//! - [`qlog`]: events of a QUIC transport, for qlog tools; export to qlog 0.3 for qvis.
//! - [`inspect`]: summary of a qlog file of any stack, as a JSON document.
//! - [`packets`]: packets of any capture or qlog file, one after the other; [`pacing`]: how they are spaced and acknowledged.
//! - [`pcapng`]: packets at vantage points, with the TLS secrets, for Wireshark; [`capture`]: one per
//!   endpoint.
//!
//! Virtual time starts at [`EPOCH_UNIX_SECONDS`] in every format that needs calendar time, so that the qlog
//! file and the capture of a run align.

pub mod capture;
pub mod inspect;
mod ip;
mod lab_quic;
mod magic;
pub mod pacing;
pub mod packets;
pub mod pcapng;
pub mod qlog;
mod tcp;

/// Calendar time of virtual time zero: 2000-01-01T00:00:00Z, in seconds since 1970.
///
/// It is the same for every run, because equal runs must produce equal bytes.
pub const EPOCH_UNIX_SECONDS: u64 = 946_684_800;
