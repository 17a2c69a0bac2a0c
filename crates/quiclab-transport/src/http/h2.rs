//! HTTP/2 on a byte stream (RFC 9113): values of a client, and construction of a page over it. Those of a
//! server are with the options ([`Http2Options`]).
//!
//! | | deployed programs | here |
//! | --- | --- | --- |
//! | HPACK's table, CONTINUATION, padding, PING, push | yes | none: sections have given lengths |
//! | records of TLS | Apache after a second's pause: small ones again (`H2TLSCoolDownSecs`) | small ones at the beginning only |
//! | frames of the client | one write and one record for each (`SpdySession::DoWriteLoop`) | the same; the first three are one |
//! | GOAWAY before closing | some | none: the client closes the connection |

mod client;
mod frames;
mod server;
#[cfg(test)]
mod tests;

use super::PageEnds;
use crate::error::Error;
use crate::options::{Http2Options, Http2Values};
use crate::profile::{OptionRow, Value, table, value};
use crate::workload::Application;
use client::Client;
use quiclab_core::{ByteCount, Problem, Role};
use server::Server;

/// Initial window of the protocol in bytes (RFC 9113 section 6.9.2).
pub(super) const INITIAL_WINDOW: u64 = 65_535;
/// Size of a small record in bytes.
pub(super) const SMALL_RECORD: u64 = 1300;
/// Values of a browser that differ from those of a server.
const CLIENT: &[Value<Http2Values>] = &[
    value!(
        stream_window = ByteCount::from_bytes(6 << 20),
        "kSpdyStreamMaxRecvWindowSize (Chromium net/http/http_network_session.cc)"
    ),
    value!(
        connection_window = ByteCount::from_bytes(15 << 20),
        "kSpdySessionMaxRecvWindowSize (Chromium net/http/http_network_session.cc)"
    ),
    value!(
        max_streams = 1000,
        "kSpdyMaxConcurrentPushedStreams, sent up to Chromium 116, for pushes: no effect"
    ),
    value!(warm_up = ByteCount::ZERO, "a client sends requests only"),
];

/// Complete values of one end.
pub(super) fn values(role: Role, options: Option<&Http2Options>) -> Http2Values {
    let mut values = Http2Values::DEFAULTS;
    if role == Role::Client {
        CLIENT.iter().for_each(|value| (value.set)(&mut values));
    }
    if let Some(options) = options {
        values.take(options);
    }
    values
}

/// Options with the defaults of both ends, for the catalogue.
pub(crate) fn rows() -> impl Iterator<Item = OptionRow> {
    let [server, client] = [Role::Server, Role::Client].map(|role| {
        let rows: Vec<_> = table("http2.", Http2Values::FIELDS, &values(role, None), |_| None).collect();
        rows.into_iter()
    });
    server.zip(client).map(|(server, client)| {
        let name = server.field.as_deref().and_then(|field| field.strip_prefix("http2."));
        let own = CLIENT.iter().find(|value| Some(value.key) == name);
        OptionRow {
            value: match own {
                Some(_) => format!("server {}, client {}", server.value, client.value),
                None => server.value,
            },
            source: match own {
                Some(value) => String::leak(format!("{}; {}", server.source, value.source)),
                None => server.source,
            },
            ..server
        }
    })
}

/// Builds one side of a page on a byte stream, for the connection to one of its servers.
///
/// # Errors
/// If an option is not allowed or has no effect.
pub(crate) fn build(
    role: Role,
    ends: &PageEnds,
    origin: usize,
    options: Option<&Http2Options>,
) -> Result<Box<dyn Application>, Error> {
    let values = values(role, options);
    Ok(match role {
        Role::Client => {
            if let Some(size) = options.and_then(|options| options.frame_size) {
                return Err(Problem::conflict("http2.frame_size", format!("\"{size}\""), "no value")
                    .because("the client of a page sends no DATA frames"));
            }
            Box::new(Client::new(ends.browser(origin), values))
        }
        Role::Server => Box::new(Server::new(ends.server(origin), values)),
    })
}

/// Stream of a request (RFC 9113 section 5.1.1: the client's are odd).
pub(super) fn stream_of(request: usize) -> u32 {
    u32::try_from(2 * request + 1).expect("a page has fewer objects")
}

/// Request of a stream.
pub(super) const fn request_of(stream: u32) -> usize {
    (stream / 2) as usize
}
