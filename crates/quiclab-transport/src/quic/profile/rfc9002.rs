//! The RFCs of QUIC as they are: RFC 9000, 9001 and 9002, with NewReno. What they leave open is set so that it
//! does not decide results, and marked. These are the defaults of all values.

use super::Profile;

/// The default.
pub(super) const RFC9002: Profile = Profile {
    name: "rfc9002",
    description: "Plain values of RFC 9000 and RFC 9002 with NewReno; what they leave open does not limit",
    base: None,
    values: &[],
};
