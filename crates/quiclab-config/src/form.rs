//! Forms of strings: addresses, and strings of certain characters.

use crate::bounds::{Count, Limits, count};
use quiclab_core::ip::{IpPrefix, PrefixError};
use serde_json::{Map, Value as Json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The form of a string: `format` or `pattern` of its schema.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// Any string of at least this length.
    Any {
        min: usize,
    },
    /// A number of characters of these classes.
    Characters {
        classes: Vec<(char, char)>,
        min: usize,
        max: usize,
    },
    Ip,
    Ipv4,
    Ipv6,
    /// An address and a port.
    SocketAddress,
    /// Address to listen on: with a port other than 0.
    ListenAddress,
    /// Address of a peer: no port 0, no unspecified address.
    RemoteAddress,
    /// A range of addresses; the limits are those of the prefix length.
    IpRange,
    Ipv4Range,
    Ipv6Range,
}

/// Mismatch of a string with its form: the reason, if the form alone does not state it, and a suggestion.
#[derive(Debug, Default)]
pub(crate) struct Mismatch {
    pub(crate) reason: Option<&'static str>,
    pub(crate) suggestion: Option<String>,
}

impl Form {
    pub(crate) fn of(schema: &Map<String, Json>) -> Self {
        if let Some(pattern) = schema.get("pattern").and_then(Json::as_str) {
            return Self::characters(pattern)
                .unwrap_or_else(|| panic!("the pattern `{pattern}` is of the form `^[a-z0-9]{{1,15}}$`"));
        }
        match schema.get("format").and_then(Json::as_str) {
            None => Self::Any { min: count(schema, "minLength", 0) },
            Some("ip") => Self::Ip,
            Some("ipv4") => Self::Ipv4,
            Some("ipv6") => Self::Ipv6,
            Some("socket-address") => Self::SocketAddress,
            Some("listen-address") => Self::ListenAddress,
            Some("remote-address") => Self::RemoteAddress,
            Some("ip-range") => Self::IpRange,
            Some("ipv4-range") => Self::Ipv4Range,
            Some("ipv6-range") => Self::Ipv6Range,
            Some(other) => panic!("unknown format `{other}`"),
        }
    }

    /// Reads `^[CLASS]{MIN,MAX}$`, a class being characters and ranges of them.
    fn characters(pattern: &str) -> Option<Self> {
        let (class, count) = pattern.strip_prefix("^[")?.strip_suffix("}$")?.split_once("]{")?;
        let (min, max) = count.split_once(',').unwrap_or((count, count));
        let (min, max) = (min.parse().ok()?, max.parse().ok()?);
        let mut characters = class.chars().peekable();
        let mut classes = Vec::new();
        while let Some(first) = characters.next() {
            let ranges = characters.peek() == Some(&'-') && characters.clone().nth(1).is_some();
            let last = if ranges { characters.nth(1)? } else { first };
            classes.push((first, last));
        }
        Some(Self::Characters { classes, min, max })
    }

    pub(crate) fn expected(&self, limits: &Limits, count: Count) -> String {
        let such_as = |noun: &str, rest: &str| format!("{}{rest}", count.of(noun));
        let range = |noun: &str, example: &str| {
            let noun = count.of(noun);
            let bound = |limit: &Option<Json>| limit.as_ref().and_then(Json::as_u64);
            match (bound(&limits.min), bound(&limits.max)) {
                (Some(min), Some(max)) => format!("{noun} from /{min} to /{max}, such as \"{example}\""),
                _ => format!("{noun} such as \"{example}\""),
            }
        };
        match self {
            Self::Any { min: 0 } => count.of("a string"),
            Self::Any { .. } => count.of("a non-empty string"),
            Self::Characters { classes, min, max } => {
                let number = if min == max { min.to_string() } else { format!("{min} to {max}") };
                match count {
                    Count::One => format!("{number} {}", nouns(classes)),
                    Count::Many => format!("strings of {number} {}", nouns(classes)),
                }
            }
            Self::Ip => such_as("an IP address", " such as \"192.0.2.1\" or \"2001:db8::1\""),
            Self::Ipv4 => such_as("an IPv4 address", " such as \"192.0.2.1\""),
            Self::Ipv6 => such_as("an IPv6 address", " such as \"2001:db8::1\""),
            Self::SocketAddress => {
                such_as("an IP address", " with a port, such as \"192.0.2.1:4433\" or \"[2001:db8::1]:4433\"")
            }
            Self::ListenAddress => such_as(
                "an IP address",
                " with a port from 1 to 65535, such as \"0.0.0.0:4433\" or \"[::]:4433\"",
            ),
            Self::RemoteAddress => such_as(
                "an IP address",
                " with a port from 1 to 65535, such as \"192.0.2.1:4433\" or \"[2001:db8::1]:4433\"",
            ),
            Self::IpRange => such_as("an address range", " such as \"10.77.0.0/24\" or \"fd77::/64\""),
            Self::Ipv4Range => range("an IPv4 address range", "10.77.0.0/24"),
            Self::Ipv6Range => range("an IPv6 address range", "fd77::/64"),
        }
    }

    pub(crate) fn check(&self, text: &str, limits: &Limits) -> Result<(), Mismatch> {
        let address = || text.parse::<SocketAddr>().ok();
        let is_name = || {
            let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
            let port = port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit());
            let host_of_names =
                host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
            port && host_of_names && host.bytes().any(|byte| byte.is_ascii_alphabetic())
        };
        let holds = match self {
            Self::Any { min } => text.trim().len() >= *min,
            Self::Characters { classes, min, max } => {
                let known = |c: char| classes.iter().any(|(first, last)| (*first..=*last).contains(&c));
                (*min..=*max).contains(&text.chars().count()) && text.chars().all(known)
            }
            Self::Ip => text.parse::<IpAddr>().is_ok(),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::SocketAddress => address().is_some(),
            Self::ListenAddress => address().is_some_and(|address| address.port() > 0),
            Self::RemoteAddress => {
                address().is_some_and(|address| address.port() > 0 && !address.ip().is_unspecified())
            }
            Self::IpRange | Self::Ipv4Range | Self::Ipv6Range => return self.check_range(text, limits),
        };
        let takes_address = matches!(
            self,
            Self::Ip
                | Self::Ipv4
                | Self::Ipv6
                | Self::SocketAddress
                | Self::ListenAddress
                | Self::RemoteAddress
        );
        match holds {
            true => Ok(()),
            false if takes_address && is_name() => {
                Err(Mismatch { reason: Some("host names are not resolved"), suggestion: None })
            }
            false => Err(Mismatch::default()),
        }
    }

    fn check_range(&self, text: &str, limits: &Limits) -> Result<(), Mismatch> {
        let range = text.parse::<IpPrefix>().map_err(|error| match error {
            PrefixError::Host { meant, .. } => Mismatch {
                reason: Some("bits after the prefix are set"),
                suggestion: Some(meant.to_string()),
            },
            PrefixError::Length { .. } => {
                Mismatch { reason: Some("the prefix is longer than an address"), suggestion: None }
            }
            PrefixError::Form(_) => Mismatch::default(),
        })?;
        let family = match self {
            Self::Ipv4Range => range.is_ipv4(),
            Self::Ipv6Range => !range.is_ipv4(),
            _ => true,
        };
        let compare = |limit: &Json| Some(u64::from(range.length()).cmp(&limit.as_u64()?));
        if family && limits.hold(compare) { Ok(()) } else { Err(Mismatch::default()) }
    }

    /// Whether a field of this form accepts fewer values than any string.
    pub(crate) const fn is_limited(&self) -> bool {
        !matches!(self, Self::Any { min: 0 })
    }

    /// A string of this form; `number` is below 200.
    pub(crate) fn example(&self, number: u64, limits: &Limits) -> String {
        let length = limits.max.as_ref().and_then(Json::as_u64);
        match self {
            Self::Any { .. } => format!("name{number}"),
            Self::Characters { classes, min, max } => {
                let (first, last) = classes[number as usize % classes.len()];
                [first, last].iter().cycle().take((*min).max(3).min(*max)).collect()
            }
            Self::Ip | Self::Ipv4 => format!("192.0.2.{number}"),
            Self::Ipv6 => format!("2001:db8::{number}"),
            Self::SocketAddress | Self::ListenAddress | Self::RemoteAddress => {
                format!("192.0.2.{number}:{}", 4000 + number)
            }
            Self::IpRange | Self::Ipv4Range => {
                IpPrefix::around([10, number as u8, 0, 0].into(), length.unwrap_or(24) as u8).to_string()
            }
            Self::Ipv6Range => {
                let address = Ipv6Addr::new(0xfd77, number as u16, 0, 0, 0, 0, 0, 0);
                IpPrefix::around(address.into(), length.unwrap_or(64) as u8).to_string()
            }
        }
    }
}

/// The characters of classes, such as "letters, digits, `-` or `_`".
fn nouns(classes: &[(char, char)]) -> String {
    let mut rest = classes.to_vec();
    let mut take = |class: &[(char, char)]| {
        let found = class.iter().all(|range| rest.contains(range));
        rest.retain(|range| !(found && class.contains(range)));
        found
    };
    let mut nouns: Vec<String> = [
        ("hexadecimal digits", &[('0', '9'), ('a', 'f'), ('A', 'F')][..]),
        ("letters", &[('a', 'z'), ('A', 'Z')]),
        ("digits", &[('0', '9')]),
    ]
    .into_iter()
    .filter(|(_, class)| take(class))
    .map(|(noun, _)| noun.to_owned())
    .collect();
    nouns.extend(rest.iter().map(|(first, last)| {
        if first == last { format!("`{first}`") } else { format!("`{first}` to `{last}`") }
    }));
    match nouns.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => nouns.concat(),
    }
}
