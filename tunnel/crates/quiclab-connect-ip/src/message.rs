//! The request for a tunnel and its response: extended CONNECT (RFC 9220) with the protocol `connect-ip` (RFC 9484 section 4).
//!
//! | | |
//! | --- | --- |
//! | malformed messages (RFC 9114 sections 4.1.2 to 4.3) | an error |
//! | a request for anything other than a tunnel to all destinations | a status: 400, 404, 405 or 501 |
//! | `capsule-protocol` | sent, not required: a server identifies the protocol by `:protocol` (RFC 9297 section 3.4) |

use super::error::{Http3Error, MESSAGE};
use super::qpack::{self, Field};
use bytes::BytesMut;

const PROTOCOL: &str = "connect-ip";
/// Fields that concern a connection of HTTP/1.1 (RFC 9114 section 4.2).
const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// A tunnel of a server, which a client requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host, and port unless it is 443, of a client's request; a server accepts any.
    pub authority: String,
    /// Path and query: the template of the server, with `*` for both of its variables.
    pub path: String,
}

/// Status code of a response.
pub(super) type Status = u16;

/// The request of a client, as a field section.
pub(super) fn request(target: &Target) -> BytesMut {
    qpack::encode(&[
        (":method", "CONNECT"),
        (":protocol", PROTOCOL),
        (":scheme", "https"),
        (":authority", &target.authority),
        (":path", &target.path),
        ("capsule-protocol", "?1"),
    ])
}

/// The response of a server, as a field section.
pub(super) fn response(status: Status) -> BytesMut {
    let text = status.to_string();
    let capsules = (200..300).contains(&status).then_some(("capsule-protocol", "?1"));
    let fields: Vec<_> = [(":status", text.as_str())].into_iter().chain(capsules).collect();
    qpack::encode(&fields)
}

/// Reads a request at a server with `path`: `Ok` if it requests the tunnel, else the status of the refusal.
pub(super) fn read_request(section: &[u8], path: &str) -> Result<Result<(), Status>, Http3Error> {
    let fields = read(section, &[":method", ":protocol", ":scheme", ":authority", ":path"])?;
    let method = pseudo(&fields, ":method").ok_or(MESSAGE)?;
    let protocol = pseudo(&fields, ":protocol");
    if method != "CONNECT" {
        // RFC 9220 section 3: only CONNECT has a protocol
        let whole = pseudo(&fields, ":scheme").is_some() && pseudo(&fields, ":path").is_some();
        return if protocol.is_none() && whole {
            Ok(Err(if same_path(&fields, path) { 405 } else { 404 }))
        } else {
            Err(MESSAGE)
        };
    }
    let Some(protocol) = protocol else {
        // the classic CONNECT has no path (RFC 9114 section 4.4)
        let none = pseudo(&fields, ":scheme").is_none() && pseudo(&fields, ":path").is_none();
        return if none { Ok(Err(501)) } else { Err(MESSAGE) };
    };
    let authority = pseudo(&fields, ":authority").filter(|authority| !authority.is_empty());
    let (Some(scheme), Some(_), Some(_)) = (pseudo(&fields, ":scheme"), pseudo(&fields, ":path"), authority)
    else {
        return Err(MESSAGE);
    };
    Ok(if protocol != PROTOCOL {
        Err(501)
    } else if scheme != "https" {
        Err(400)
    } else if !same_path(&fields, path) {
        Err(404)
    } else {
        Ok(())
    })
}

/// Reads a response.
pub(super) fn read_response(section: &[u8]) -> Result<Status, Http3Error> {
    let fields = read(section, &[":status"])?;
    let status = pseudo(&fields, ":status").ok_or(MESSAGE)?;
    let digits = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    status.parse().ok().filter(|status| digits && (100..600).contains(status)).ok_or(MESSAGE)
}

/// Whether the path is `path`: clients may write `*` literally, or as `%2A` (RFC 6570 section 3.2.1).
fn same_path(fields: &[Field], path: &str) -> bool {
    let plain = |text: &str| text.replace("%2A", "*").replace("%2a", "*");
    pseudo(fields, ":path").is_some_and(|asked| plain(asked) == plain(path))
}

fn pseudo<'a>(fields: &'a [Field], name: &str) -> Option<&'a str> {
    let (_, value) = fields.iter().find(|(of, _)| of == name.as_bytes())?;
    std::str::from_utf8(value).ok()
}

/// The fields of a message with these pseudo-header fields, each at most once and before all others.
fn read(section: &[u8], allowed: &[&str]) -> Result<Vec<Field>, Http3Error> {
    let fields = qpack::decode(section)?;
    let mut regular = false;
    for (index, (name, value)) in fields.iter().enumerate() {
        let is_pseudo = name.first() == Some(&b':');
        regular |= !is_pseudo;
        let known = allowed.iter().any(|of| of.as_bytes() == name);
        let again = fields[..index].iter().any(|(other, _)| other == name);
        let trailers = name == b"te" && value != b"trailers";
        let of_connections = OF_CONNECTIONS.iter().any(|of| of.as_bytes() == name);
        let valid = if is_pseudo {
            !regular && known && !again && std::str::from_utf8(value).is_ok()
        } else {
            !name.is_empty() && name.iter().all(|byte| is_name(*byte)) && !of_connections && !trailers
        };
        if !valid || !is_value(value) {
            return Err(MESSAGE);
        }
    }
    Ok(fields)
}

/// Characters of names (RFC 9110 section 5.6.2), without capital letters (RFC 9114 section 4.2).
fn is_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// RFC 9110 section 5.5: neither NUL nor line breaks, and no white space around it.
fn is_value(value: &[u8]) -> bool {
    let space = |byte: Option<&u8>| byte.is_some_and(|byte| b" \t".contains(byte));
    !value.iter().any(|byte| b"\0\r\n".contains(byte)) && !space(value.first()) && !space(value.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/.well-known/masque/ip/*/*/";

    fn target() -> Target {
        Target { authority: "vpn.example".to_owned(), path: PATH.to_owned() }
    }

    fn with(change: &[(&str, &str)]) -> Result<Result<(), Status>, Http3Error> {
        let mut fields = vec![
            (":method", "CONNECT"),
            (":protocol", "connect-ip"),
            (":scheme", "https"),
            (":authority", "vpn.example"),
            (":path", PATH),
        ];
        for (name, value) in change {
            match fields.iter_mut().find(|field| field.0 == *name) {
                Some(field) if value.is_empty() => field.0 = "",
                Some(field) => field.1 = value,
                None => fields.push((name, value)),
            }
        }
        fields.retain(|field| !field.0.is_empty());
        read_request(&qpack::encode(&fields), PATH)
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        assert_eq!(read_request(&request(&target()), PATH), Ok(Ok(())));
        assert_eq!(with(&[(":path", "/.well-known/masque/ip/%2A/%2a/")]), Ok(Ok(())));
        assert_eq!(with(&[("authorization", "Bearer x"), ("te", "trailers")]), Ok(Ok(())));
        for status in [200, 404, 503] {
            assert_eq!(read_response(&response(status)), Ok(status));
        }
    }

    #[test]
    fn other_requests_get_a_status() {
        assert_eq!(with(&[(":protocol", "connect-udp")]), Ok(Err(501)));
        assert_eq!(
            with(&[(":path", "/.well-known/masque/ip/192.0.2.0%2F24/*/")]),
            Ok(Err(404)),
            "one network"
        );
        assert_eq!(with(&[(":scheme", "http")]), Ok(Err(400)));
        assert_eq!(with(&[(":method", "GET"), (":protocol", "")]), Ok(Err(405)));
        assert_eq!(with(&[(":method", "GET"), (":protocol", ""), (":path", "/")]), Ok(Err(404)));
        assert_eq!(
            with(&[(":protocol", ""), (":scheme", ""), (":path", "")]),
            Ok(Err(501)),
            "CONNECT for TCP"
        );
    }

    #[test]
    fn malformed_messages_are_errors() {
        for change in [
            &[(":method", "GET")][..],
            &[(":method", "")],
            &[(":protocol", "")],
            &[(":authority", "")],
            &[(":path", "")],
            &[(":status", "200")],
            &[("Capital", "x")],
            &[("connection", "close")],
            &[("te", "gzip")],
            &[("name", "line\r\nbreak")],
            &[("name", " space")],
            &[("name", "x"), (":late", "x")],
        ] {
            assert_eq!(with(change), Err(MESSAGE), "{change:?}");
        }
        let twice = qpack::encode(&[(":status", "200"), (":status", "200")]);
        assert_eq!(read_response(&twice), Err(MESSAGE));
        for status in ["20", "0200", "+20", "999", ""] {
            assert_eq!(read_response(&qpack::encode(&[(":status", status)])), Err(MESSAGE), "{status}");
        }
        assert_eq!(read_response(&qpack::encode(&[])), Err(MESSAGE));
    }
}
