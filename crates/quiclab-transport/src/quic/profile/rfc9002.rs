//! The RFCs of QUIC without changes: RFC 9000, 9001 and 9002, with NewReno. Values that they leave open are
//! chosen so that they do not determine results, and marked. These are the defaults of all values.

use super::*;

profile! {
    /// Default profile.
    RFC9002: "rfc9002",
        "Plain values of RFC 9000 and RFC 9002 with NewReno; what they leave open does not limit";
}
