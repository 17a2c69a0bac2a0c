//! Options of TLS.

use quiclab_core::{ByteCount, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS above TCP, as flights of exact size with their round trips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Protocol version. QUIC needs 1.3.
    pub version: TlsVersion,
    /// The session is resumed: no certificate; with TLS 1.2 a round trip less.
    #[serde(default)]
    pub resumption: bool,
    /// Length of the server's certificate chain.
    #[serde(default = "default_certificate")]
    #[schemars(transform = limits::at_most("64 KiB"))]
    pub certificate: ByteCount,
    /// Handling of data in the client's first flight (0-RTT, RFC 8446 section 2.3; default: there are none).
    /// Needs `resumption`; QUIC only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_data: Option<EarlyData>,
}

fn default_certificate() -> ByteCount {
    ByteCount::from_bytes(3000)
}

/// Handling of 0-RTT data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyData {
    /// The server accepts them.
    Accepted,
    /// The server rejects them: the client sends them again after the handshake.
    Rejected,
}

/// Version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    /// RFC 5246: two round trips, one if resumed.
    #[serde(rename = "1.2")]
    Tls12,
    /// RFC 8446: one round trip.
    #[serde(rename = "1.3")]
    Tls13,
}
