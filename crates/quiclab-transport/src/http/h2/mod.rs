//! HTTP/2 on a byte stream (RFC 9113): what can be chosen, and how a page over it is built.
//!
//! | | default | source |
//! | --- | --- | --- |
//! | stream window of the client | 6 MiB | `kSpdyStreamMaxRecvWindowSize` (Chromium net/http/http_network_session.cc) |
//! | connection window of the client | 15 MiB | `kSpdySessionMaxRecvWindowSize`, the same |
//! | streams the client allows | 1000, for pushes: no effect | `kSpdyMaxConcurrentPushedStreams`, sent up to Chromium 116 |
//! | stream window of the server | 65535 | `H2WindowSize` (Apache httpd 2.4 mod_http2) |
//! | connection window of the server | 2^31 - 1 | `h2_session_start`, the same: "the connection window can only get in the way" |
//! | streams the server allows | 100 | `H2MaxSessionStreams`, the same |
//! | small records at the beginning | 1300 B each for 1 MiB | `H2TLSWarmUpSize`, `WRITE_SIZE_INITIAL` (Apache httpd 2.4 mod_http2, h2_c1_io.c): "records that fit into one TCP segment" |
//! | payload of a DATA frame | 16384 | SETTINGS_MAX_FRAME_SIZE where the peer says nothing (RFC 9113 section 6.5.2) |
//!
//! | | deployed programs | here |
//! | --- | --- | --- |
//! | HPACK's table, CONTINUATION, padding, PING, push | yes | none: sections have given lengths |
//! | records of TLS | Apache after a second's pause: small ones again (`H2TLSCoolDownSecs`) | small ones at the beginning only |
//! | frames of the client | one write, and record, each (`SpdySession::DoWriteLoop`) | the same; the first three are one |
//! | GOAWAY before closing | some | none: the client closes the connection |

mod client;
mod frames;
mod server;
#[cfg(test)]
mod tests;

use super::PageEnds;
use crate::error::Error;
use crate::options::Http2Options;
use crate::workload::Application;
use client::Client;
use quiclab_core::{ByteCount, Problem, Role};
use server::Server;

/// Window before anything is said (RFC 9113 section 6.9.2).
pub(super) const INITIAL_WINDOW: u64 = 65_535;
/// Largest window (RFC 9113 section 6.9.1).
const MAX_WINDOW: u64 = (1 << 31) - 1;
/// A small record.
pub(super) const SMALL_RECORD: u64 = 1300;
/// Largest payload that every peer takes (RFC 9113 section 4.2).
const MAX_FRAME_BYTES: u64 = 16_384;

/// The values of one end, complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) stream_window: u64,
    pub(super) connection_window: u64,
    pub(super) max_streams: u32,
    pub(super) frame_size: u64,
    /// Bytes that are written in records of [`SMALL_RECORD`], before longer ones.
    pub(super) warm_up: u64,
}

impl Values {
    pub(super) fn new(role: Role, options: Option<&Http2Options>) -> Self {
        let default = match role {
            Role::Client => Self {
                stream_window: 6 << 20,
                connection_window: 15 << 20,
                max_streams: 1000,
                frame_size: MAX_FRAME_BYTES,
                warm_up: 0,
            },
            Role::Server => Self {
                stream_window: INITIAL_WINDOW,
                connection_window: MAX_WINDOW,
                max_streams: 100,
                frame_size: MAX_FRAME_BYTES,
                warm_up: 1 << 20,
            },
        };
        let Some(options) = options else { return default };
        let bytes = |value: Option<ByteCount>, default| value.map_or(default, ByteCount::bytes);
        Self {
            stream_window: bytes(options.stream_window, default.stream_window),
            connection_window: bytes(options.connection_window, default.connection_window),
            max_streams: options.max_streams.unwrap_or(default.max_streams),
            frame_size: bytes(options.frame_size, default.frame_size),
            warm_up: bytes(options.warm_up, default.warm_up),
        }
    }
}

/// One side of a page on a byte stream, of the connection to one of its servers.
///
/// # Errors
/// If an option is not allowed or has no effect.
pub(crate) fn build(
    role: Role,
    ends: &PageEnds,
    origin: usize,
    options: Option<&Http2Options>,
) -> Result<Box<dyn Application>, Error> {
    let values = Values::new(role, options);
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

/// The stream of a request (RFC 9113 section 5.1.1: the client's are odd).
pub(super) fn stream_of(request: usize) -> u32 {
    u32::try_from(2 * request + 1).expect("a page has fewer objects")
}

/// The request of a stream.
pub(super) const fn request_of(stream: u32) -> usize {
    (stream / 2) as usize
}
