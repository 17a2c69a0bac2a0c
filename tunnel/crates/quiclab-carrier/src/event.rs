//! Events and datagrams of a [`TunnelEndpoint`](super::TunnelEndpoint).

use super::keys::PublicKey;
use bytes::Bytes;
#[cfg(feature = "connect-ip")]
use quiclab_connect_ip::capsule::Capsule;
use quiclab_core::{Packet, Problem};
use std::net::SocketAddr;

/// A session of an endpoint; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// Event of an endpoint. Events are bounded: an application that does not poll loses the oldest `Refused`
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelEvent {
    /// Datagrams and control messages can be sent. A client's session opens again, with the same number, when
    /// it has reconnected; a server's has a new number each time.
    SessionOpened {
        /// Number of the session.
        session: SessionId,
        /// Key of the peer.
        peer: PublicKey,
    },
    /// A control message has arrived.
    Control {
        /// Number of the session.
        session: SessionId,
        /// The message.
        message: Bytes,
    },
    /// A capsule has arrived on a session of CONNECT-IP.
    #[cfg(feature = "connect-ip")]
    Capsule {
        /// Number of the session.
        session: SessionId,
        /// The capsule.
        capsule: Capsule,
    },
    /// A path has begun to carry data.
    PathUp {
        /// Number of the session.
        session: SessionId,
        /// Number of the path.
        path: usize,
    },
    /// A path no longer carries data: it does not answer, or was removed. The endpoint retries until it
    /// answers.
    PathDown {
        /// Number of the session.
        session: SessionId,
        /// Number of the path.
        path: usize,
    },
    /// The session has ended.
    SessionClosed {
        /// Number of the session.
        session: SessionId,
        /// Reason.
        reason: CloseReason,
    },
    /// A connection was rejected; at most a few per second are reported.
    Refused {
        /// Address of its sender.
        from: SocketAddr,
        /// Reason.
        reason: RefusalReason,
    },
}

/// Reason for which a connection was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    /// By this end, which does not know the key that the peer has offered, not necessarily the peer's own; `None`: it is not an
    /// Ed25519 key.
    #[error("{}", .0.map_or("it has no Ed25519 key".to_owned(), |key| format!("its key is not known: {key}")))]
    UnknownKey(Option<PublicKey>),
    /// By the peer, which does not know the key of this end.
    #[error("it does not know the key of this end")]
    OwnKeyUnknown,
    /// Any other reason, by either end.
    #[error("{0}")]
    Other(String),
}

/// Counters of packets from hosts without a session at a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strangers {
    /// Connections that are currently not bound to a session.
    pub half_open: u64,
    /// Retry packets sent.
    pub retries: u64,
    /// Initial packets that got no answer, because their prefix or all prefixes have too many unbound connections.
    pub ignored: u64,
    /// Datagrams not sent, because an unvalidated address would have received more than it has sent.
    pub withheld: u64,
    /// Datagrams with a long header that is not of QUIC version 1.
    pub junk: u64,
}

/// Reason for which a session has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// This end closed it. A client does not reconnect.
    #[error("this end has closed it")]
    Local,
    /// The peer closed it. A client reconnects after a delay.
    #[error("the other end has closed it: {0}")]
    Remote(String),
    /// No packet arrived on any path for the idle timeout. A client reconnects.
    #[error("nothing was heard on any path for the idle timeout")]
    Idle,
    /// The peer no longer knows it: it was restarted. A client reconnects.
    #[error("the other end was restarted and does not know it")]
    Reset,
    /// The peer has reconnected. Only at a server.
    #[error("its client has connected again")]
    Replaced,
    /// The server has a session of another client that is the same peer. A client reconnects after the maximum delay.
    #[error("another client of the same peer has connected: each machine needs a peer and a key of its own")]
    Displaced,
}

/// Datagrams to be sent.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// One UDP datagram, or several for segmentation offload, one after the other in the payload. The tuple
    /// has source and destination; the source address is unspecified if the system may choose it.
    pub packet: Packet,
    /// Bytes of each UDP datagram in the payload (UDP_SEGMENT), of which the last may be shorter; `None` if
    /// there is one.
    pub segment: Option<u16>,
    /// Whether it is a probe that may be longer than the path carries: it must not be fragmented, nor be passed to the
    /// kernel together with others, which would be refused with it.
    pub mtu_probe: bool,
}

/// Error of a request to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TunnelEndpointError {
    /// A value of the configuration is not allowed.
    #[error("{0}")]
    Config(Problem),
    /// Only clients connect.
    #[error("a server does not connect")]
    NotAClient,
    /// A path cannot be used.
    #[error("path from {local} to {remote}: {reason}")]
    Path {
        /// Its local address.
        local: SocketAddr,
        /// Its remote address.
        remote: SocketAddr,
        /// The error.
        reason: &'static str,
    },
    /// There is no such session.
    #[error("no session {}", .0.0)]
    NoSession(SessionId),
    /// There is no such path.
    #[error("session {} has no path {path}", .session.0)]
    NoPath {
        /// The session.
        session: SessionId,
        /// The path.
        path: usize,
    },
    /// The session is not open.
    #[error("session {} is not open", .0.0)]
    NotOpen(SessionId),
    /// A control message is too long.
    #[error(
        "expected a control message of at most {} bytes, got {length} bytes",
        super::wire::MAX_CONTROL_BYTES
    )]
    TooLong {
        /// Its bytes.
        length: usize,
    },
    /// Too many bytes wait to be sent; the peer does not read.
    #[error(
        "{waiting} bytes of control messages are queued, at most {} can be",
        super::wire::CONTROL_BACKLOG
    )]
    Backlog {
        /// Number of waiting bytes.
        waiting: usize,
    },
}
