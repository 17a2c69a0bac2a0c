//! The RFCs of QUIC as they are: RFC 9000, 9001 and 9002, with NewReno. What they leave open is set so that it
//! does not decide results, and marked. These are the defaults of all values.

use super::*;

profile! {
    /// The default.
    RFC9002: "rfc9002",
        "Plain values of RFC 9000 and RFC 9002 with NewReno; what they leave open does not limit";
}
