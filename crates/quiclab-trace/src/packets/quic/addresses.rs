//! Addresses and ports that the endpoints of a connection have used: they change when a client migrates or its NAT binding
//! expires (RFC 9000 section 9), and Multipath QUIC uses several at once.

use std::net::SocketAddr;

/// Maximum number of addresses of an endpoint that a note lists.
const TOLD_MAX: usize = 4;

/// Addresses of the endpoint that sent first, and of its peer.
#[derive(Debug, Default)]
pub(in super::super) struct Addresses {
    ends: [Addressed; 2],
    /// Whether packets of a path other than the first were decrypted.
    pub(in super::super) paths: bool,
}

#[derive(Debug, Default)]
struct Addressed {
    last: Option<SocketAddr>,
    /// Addresses in the order in which they were first seen.
    seen: Vec<SocketAddr>,
    changes: u64,
}

impl Addresses {
    /// Records a packet of the connection from `source` to `destination`.
    pub(in super::super) fn see(&mut self, backward: bool, source: SocketAddr, destination: SocketAddr) {
        let ends = if backward { [destination, source] } else { [source, destination] };
        for (end, address) in self.ends.iter_mut().zip(ends) {
            if end.last == Some(address) {
                continue;
            }
            end.changes += u64::from(end.last.is_some());
            end.last = Some(address);
            if end.seen.len() <= TOLD_MAX && !end.seen.contains(&address) {
                end.seen.push(address);
            }
        }
    }

    /// Note on a connection with the name `name`, if it has used several addresses.
    pub(in super::super) fn note(&self, name: &str) -> Option<String> {
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        let several = self.ends.iter().filter(|end| end.seen.len() > 1);
        let told: Vec<String> = several
            .map(|end| {
                let more = if end.seen.len() > TOLD_MAX { " and more" } else { "" };
                let told: Vec<String> = end.seen.iter().take(TOLD_MAX).map(SocketAddr::to_string).collect();
                format!("{}{more}", told.join(", then "))
            })
            .collect();
        let why = if self.paths { "uses several paths" } else { "changes an address or port" };
        (!told.is_empty()).then(|| {
            format!("QUIC connection{name} {why} and is one flow, by its connection IDs: {}", told.join("; "))
        })
    }
}
