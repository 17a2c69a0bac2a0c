//! Messages between the ends after QUIC has proved their identities: the client's addresses inside.
//!
//! One control message of the session is one of these, in network byte order:
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | version of the protocol: 2 |
//! | 1 | kind: 1 hello (client), 2 assignment, 3 refusal (server) |
//! | | hello: 1 byte of flags: 1 requests IPv4, 2 requests IPv6 (at least one of them), 4 numbers its packets |
//! | | assignment: 2 bytes MTU, 1 byte number of addresses (1 or 2), 2 bytes number of routes (at most 256), then for each address: 1 byte family (4, 6), the address, 1 byte prefix length, the server's address; for each route: 1 byte family, 1 byte prefix length, the first address |
//! | | refusal: 1 byte length of the text (at most 200), the text in UTF-8 |
//!
//! It fails closed: another version, another kind, any value out of range and any missing or extra byte make a message an
//! error, and an error ends the session.

use quiclab_core::ip::{IpPrefix, SMALLEST_IPV6_MTU};
use std::net::{IpAddr, Ipv4Addr};
use thiserror::Error;

/// Version of the messages.
pub const VERSION: u8 = 2;
const HELLO: u8 = 1;
const ASSIGNMENT: u8 = 2;
const REFUSAL: u8 = 3;
/// Maximum number of routes in an assignment.
pub const MAX_ROUTES: usize = 256;
/// Longest text of a refusal in bytes.
pub const MAX_TEXT_LENGTH: usize = 200;
/// Text of a refusal that lasts until a configuration changes.
pub const NUMBERS_DIFFER: &str = "`resequencing` is `0 s` at one end only";

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The client's first message: its requests.
    Hello {
        /// Whether it requests an IPv4 address.
        ipv4: bool,
        /// Whether it requests an IPv6 address.
        ipv6: bool,
        /// Whether packets have numbers, so that the peer can restore their order.
        numbered: bool,
    },
    /// The server's answer.
    Assignment(Assignment),
    /// The server's answer if there is no address.
    Refusal(String),
}

/// Configuration of a client inside the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Largest packet inside the tunnel.
    pub mtu: u16,
    /// Its addresses, one per family.
    pub addresses: Vec<Assigned>,
    /// Destinations that the server forwards to.
    pub routes: Vec<IpPrefix>,
}

/// An assigned address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// Address of the client.
    pub address: IpAddr,
    /// Network of the address.
    pub network: IpPrefix,
    /// Address of the server in the same network; `None` with CONNECT-IP, which does not transmit it.
    pub server: Option<IpAddr>,
}

/// Error of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The peer uses another version.
    #[error("version {0} of the tunnel's protocol is not known; this end speaks {VERSION}")]
    Version(u8),
    /// The message is too short.
    #[error("a message is truncated")]
    Short,
    /// The message has extra bytes.
    #[error("a message has more bytes than it says")]
    Long,
    /// A field has a value that is not allowed.
    #[error("a message has a wrong {0}")]
    Value(&'static str),
}

/// Reads a message.
///
/// # Errors
/// If the bytes are not exactly one message.
pub fn parse(bytes: &[u8]) -> Result<Message, ProtocolError> {
    let mut reader = Reader(bytes);
    match reader.byte()? {
        VERSION => {}
        other => return Err(ProtocolError::Version(other)),
    }
    let message = match reader.byte()? {
        HELLO => {
            let flags = reader.byte()?;
            if flags > 7 || flags & 3 == 0 {
                return Err(ProtocolError::Value("set of families"));
            }
            Message::Hello { ipv4: flags & 1 != 0, ipv6: flags & 2 != 0, numbered: flags & 4 != 0 }
        }
        ASSIGNMENT => Message::Assignment(reader.assignment()?),
        REFUSAL => {
            let length = usize::from(reader.byte()?);
            if length > MAX_TEXT_LENGTH {
                return Err(ProtocolError::Value("length of a text"));
            }
            let text = std::str::from_utf8(reader.take(length)?).map_err(|_| ProtocolError::Value("text"))?;
            if text.chars().any(char::is_control) {
                return Err(ProtocolError::Value("text"));
            }
            Message::Refusal(text.to_owned())
        }
        _ => return Err(ProtocolError::Value("kind")),
    };
    if reader.0.is_empty() { Ok(message) } else { Err(ProtocolError::Long) }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ProtocolError::Short)?;
        self.0 = rest;
        Ok(taken)
    }
    fn byte(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.take(1)?[0])
    }
    fn short(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }
    fn family(&mut self) -> Result<bool, ProtocolError> {
        match self.byte()? {
            4 => Ok(true),
            6 => Ok(false),
            _ => Err(ProtocolError::Value("family")),
        }
    }
    fn address(&mut self, four: bool) -> Result<IpAddr, ProtocolError> {
        if four {
            let octets: [u8; 4] = self.take(4)?.try_into().expect("four bytes");
            return Ok(octets.into());
        }
        let octets: [u8; 16] = self.take(16)?.try_into().expect("sixteen bytes");
        Ok(octets.into())
    }
    fn length(&mut self, four: bool) -> Result<u8, ProtocolError> {
        let length = self.byte()?;
        if length > if four { 32 } else { 128 } {
            return Err(ProtocolError::Value("prefix length"));
        }
        Ok(length)
    }

    fn assignment(&mut self) -> Result<Assignment, ProtocolError> {
        let mtu = self.short()?;
        let (addresses, routes) = (usize::from(self.byte()?), usize::from(self.short()?));
        if !(1..=2).contains(&addresses) {
            return Err(ProtocolError::Value("number of addresses"));
        }
        if routes > MAX_ROUTES {
            return Err(ProtocolError::Value("number of routes"));
        }
        let addresses: Vec<Assigned> = (0..addresses).map(|_| self.assigned()).collect::<Result<_, _>>()?;
        let routes = (0..routes).map(|_| self.route()).collect::<Result<_, _>>()?;
        let four = addresses.iter().filter(|assigned| assigned.address.is_ipv4()).count();
        let six = addresses.len() - four;
        if four > 1 || six > 1 {
            return Err(ProtocolError::Value("number of addresses of a family"));
        }
        if mtu < if six == 1 { SMALLEST_IPV6_MTU } else { 576 } {
            return Err(ProtocolError::Value("MTU"));
        }
        Ok(Assignment { mtu, addresses, routes })
    }

    fn assigned(&mut self) -> Result<Assigned, ProtocolError> {
        let four = self.family()?;
        let address = self.address(four)?;
        let length = self.length(four)?;
        let server = self.address(four)?;
        // the limits of pools: a wider network would include addresses outside the tunnel
        if !(if four { 8..=30 } else { 16..=126 }).contains(&length) {
            return Err(ProtocolError::Value("prefix length"));
        }
        let network = IpPrefix::around(address, length);
        if !is_host(address) || !is_host(server) || address == server || !network.contains(server) {
            return Err(ProtocolError::Value("address"));
        }
        Ok(Assigned { address, network, server: Some(server) })
    }

    fn route(&mut self) -> Result<IpPrefix, ProtocolError> {
        let four = self.family()?;
        let length = self.length(four)?;
        let first = self.address(four)?;
        let route = IpPrefix::around(first, length);
        if route.network() != first || first.is_multicast() {
            return Err(ProtocolError::Value("route"));
        }
        Ok(route)
    }
}

/// Whether a host may have the address inside a tunnel.
#[must_use]
pub fn is_host(address: IpAddr) -> bool {
    !address.is_unspecified() && !address.is_multicast() && !address.is_loopback()
}

impl Message {
    /// Encodes the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        match self {
            Self::Hello { ipv4, ipv6, numbered } => {
                out.extend([HELLO, u8::from(*ipv4) | u8::from(*ipv6) << 1 | u8::from(*numbered) << 2]);
            }
            Self::Assignment(assignment) => {
                out.push(ASSIGNMENT);
                out.extend(assignment.mtu.to_be_bytes());
                out.push(assignment.addresses.len() as u8);
                out.extend((assignment.routes.len() as u16).to_be_bytes());
                for assigned in &assignment.addresses {
                    family(&mut out, assigned.address);
                    octets(&mut out, assigned.address);
                    out.push(assigned.network.length());
                    // without a server address, one that every client rejects
                    octets(&mut out, assigned.server.unwrap_or(Ipv4Addr::UNSPECIFIED.into()));
                }
                for route in &assignment.routes {
                    family(&mut out, route.network());
                    out.push(route.length());
                    octets(&mut out, route.network());
                }
            }
            Self::Refusal(text) => {
                let end = (0..=MAX_TEXT_LENGTH.min(text.len()))
                    .rev()
                    .find(|end| text.is_char_boundary(*end))
                    .unwrap_or(0);
                out.extend([REFUSAL, end as u8]);
                out.extend(&text.as_bytes()[..end]);
            }
        }
        out
    }
}

fn family(out: &mut Vec<u8>, address: IpAddr) {
    out.push(if address.is_ipv4() { 4 } else { 6 });
}

fn octets(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.extend(address.octets()),
        IpAddr::V6(address) => out.extend(address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assignment() -> Message {
        let assigned = |address: &str, network: &str, server: &str| Assigned {
            address: address.parse().unwrap(),
            network: network.parse().unwrap(),
            server: Some(server.parse().unwrap()),
        };
        Message::Assignment(Assignment {
            mtu: 1400,
            addresses: vec![
                assigned("10.77.0.2", "10.77.0.0/24", "10.77.0.1"),
                assigned("fd77::2", "fd77::/64", "fd77::1"),
            ],
            routes: vec!["192.168.0.0/16".parse().unwrap(), "::/0".parse().unwrap()],
        })
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        for message in [
            Message::Hello { ipv4: true, ipv6: false, numbered: true },
            Message::Hello { ipv4: true, ipv6: true, numbered: false },
            assignment(),
            Message::Refusal("the pool is used up".to_owned()),
        ] {
            assert_eq!(parse(&message.encode()), Ok(message));
        }
        // by hand: version 2, assignment, MTU 1400 = 0x578, one address, no route
        let bytes = [VERSION, 2, 5, 0x78, 1, 0, 0, 4, 10, 77, 0, 2, 24, 10, 77, 0, 1];
        let Ok(Message::Assignment(read)) = parse(&bytes) else { panic!("it is an assignment") };
        assert_eq!((read.mtu, read.addresses.len(), read.routes.len()), (1400, 1, 0));
        assert_eq!(read.addresses[0].network.to_string(), "10.77.0.0/24");
    }

    #[test]
    fn anything_else_is_an_error() {
        let whole = assignment().encode();
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), Err(ProtocolError::Short), "{length}");
        }
        let mut long = whole.clone();
        long.push(0);
        assert_eq!(parse(&long), Err(ProtocolError::Long));
        assert_eq!(parse(&[1, 1, 1]), Err(ProtocolError::Version(1)));
        assert_eq!(parse(&[VERSION, 9, 1]), Err(ProtocolError::Value("kind")));
        assert_eq!(parse(&[VERSION, 1, 0]), Err(ProtocolError::Value("set of families")));
        assert_eq!(parse(&[VERSION, 1, 8]), Err(ProtocolError::Value("set of families")));
        assert_eq!(parse(&[VERSION, 3, 1, 0xff]), Err(ProtocolError::Value("text")));
        assert_eq!(parse(&[VERSION, 3, 1, b'\n']), Err(ProtocolError::Value("text")), "it goes to a log");
        let wrong = |at: usize, value: u8| {
            let mut bytes = [VERSION, 2, 5, 0x78, 1, 0, 0, 4, 10, 77, 0, 2, 24, 10, 77, 0, 1];
            bytes[at] = value;
            parse(&bytes)
        };
        assert_eq!(wrong(2, 0), Err(ProtocolError::Value("MTU")), "120 bytes");
        assert_eq!(wrong(4, 3), Err(ProtocolError::Value("number of addresses")));
        assert_eq!(wrong(5, 2), Err(ProtocolError::Value("number of routes")));
        assert_eq!(wrong(7, 5), Err(ProtocolError::Value("family")));
        assert_eq!(wrong(8, 224), Err(ProtocolError::Value("address")), "multicast");
        for length in [0, 7, 31, 32] {
            assert_eq!(wrong(12, length), Err(ProtocolError::Value("prefix length")), "{length}");
        }
        assert_eq!(wrong(12, 33), Err(ProtocolError::Value("prefix length")));
        assert_eq!(wrong(16, 2), Err(ProtocolError::Value("address")), "the server's is the client's");
        assert_eq!(wrong(15, 9), Err(ProtocolError::Value("address")), "the server is elsewhere");
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(mut bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            if let Some(first) = bytes.first_mut() {
                *first = 1;
            }
            if let Ok(message) = parse(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
