//! Readers and writers of traces: what happened in a run, in the formats of the field's own tools.
//!
//! - [`qlog`]: what a QUIC transport did, for qlog tools; export to qlog 0.3 for qvis.
//! - [`inspect`]: what a qlog file of any stack holds, as a JSON document.
//! - [`packets`]: packets of any capture or qlog file, one after the other; [`pacing`]: how they are spaced and acknowledged.
//! - [`pcapng`]: packets at vantage points, with the TLS secrets, for Wireshark; [`capture`]: one file an endpoint.
//!
//! Virtual time starts at [`EPOCH_UNIX_SECONDS`] in every format that wants calendar time, so that
//! a qlog and a capture of one run line up.

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

/// Where virtual time zero lies in calendar time: 2000-01-01T00:00:00Z, in seconds since 1970.
///
/// It is the same for every run, because equal runs must give equal bytes.
pub const EPOCH_UNIX_SECONDS: u64 = 946_684_800;
