//! Ranges of addresses: `10.77.0.0/24`, `fd77::/64` (RFC 4632 section 3.1, RFC 4291 section 2.3).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// All addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpPrefix {
    /// The first address.
    network: IpAddr,
    length: u8,
}

/// Reason why a string is not a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrefixError {
    /// The string is not `ADDRESS/LENGTH`.
    #[error("expected an address range such as `10.77.0.0/24` or `fd77::/64`, got `{0}`")]
    Form(String),
    /// The length is larger than that of an address.
    #[error("expected a prefix of at most /{longest}, got `{text}`")]
    Length {
        /// The string.
        text: String,
        /// Bits of an address.
        longest: u8,
    },
    /// Bits behind the prefix are set: possibly a host was meant.
    #[error("expected `{meant}`, got `{text}`; bits after the prefix are set")]
    Host {
        /// The string.
        text: String,
        /// The range that contains it.
        meant: IpPrefix,
    },
}

impl IpPrefix {
    /// The range of `length` bits around `address`.
    ///
    /// # Panics
    /// If an address has fewer bits.
    #[must_use]
    pub fn around(address: IpAddr, length: u8) -> Self {
        assert!(length <= bits(address), "a prefix is not longer than an address");
        let network = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        };
        Self { network, length }
    }
    /// The range of a single address.
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self { network: address, length: bits(address) }
    }
    /// The first address.
    #[must_use]
    pub const fn network(self) -> IpAddr {
        self.network
    }
    /// Length of the prefix in bits.
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }
    /// Whether it is a range of IPv4.
    #[must_use]
    pub const fn is_ipv4(self) -> bool {
        self.network.is_ipv4()
    }
    /// Whether `address` is in the range.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        self.network.is_ipv4() == address.is_ipv4() && Self::around(address, self.length) == self
    }
    /// Whether the ranges have an address in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let (wider, narrower) = if self.length <= other.length { (self, other) } else { (other, self) };
        wider.contains(narrower.network)
    }
    /// The address at offset `index` from the first; `None` if the range has fewer.
    #[must_use]
    pub fn nth(self, index: u64) -> Option<IpAddr> {
        let host_bits = u32::from(bits(self.network) - self.length);
        if host_bits < 64 && index >> host_bits != 0 {
            return None;
        }
        Some(match self.network {
            IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits() | u32::try_from(index).ok()?).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits() | u128::from(index)).into(),
        })
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl FromStr for IpPrefix {
    type Err = PrefixError;
    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let form = || PrefixError::Form(text.to_owned());
        let (address, length) = text.trim().split_once('/').ok_or_else(form)?;
        let address: IpAddr = address.parse().map_err(|_| form())?;
        let digits = (1..=3).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
        let length: u16 = if digits { length.parse().map_err(|_| form())? } else { return Err(form()) };
        let longest = bits(address);
        let length = u8::try_from(length)
            .ok()
            .filter(|length| *length <= longest)
            .ok_or_else(|| PrefixError::Length { text: text.to_owned(), longest })?;
        let meant = Self::around(address, length);
        if meant.network == address {
            Ok(meant)
        } else {
            Err(PrefixError::Host { text: text.to_owned(), meant })
        }
    }
}

impl Display for IpPrefix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.length)
    }
}

impl JsonSchema for IpPrefix {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "IpPrefix".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "ip-range" })
    }
}

impl Serialize for IpPrefix {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IpPrefix {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
