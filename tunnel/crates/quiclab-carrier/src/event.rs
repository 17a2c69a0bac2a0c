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

/// What happened. Bounded: an application that does not ask loses the oldest `Refused` first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelEvent {
    /// Datagrams and control messages can be sent. A client's session opens again, with the same number, when
    /// it was connected again; a server's has a new number each time.
    SessionOpened {
        /// Which.
        session: SessionId,
        /// Who is at the other end.
        peer: PublicKey,
    },
    /// A control message has arrived.
    Control {
        /// On which session.
        session: SessionId,
        /// The message.
        message: Bytes,
    },
    /// A capsule has arrived, on a session of CONNECT-IP.
    #[cfg(feature = "connect-ip")]
    Capsule {
        /// On which session.
        session: SessionId,
        /// The capsule.
        capsule: Capsule,
    },
    /// A path carries data.
    PathUp {
        /// Of which session.
        session: SessionId,
        /// Its number.
        path: usize,
    },
    /// A path carries nothing: it does not answer, or was removed. It is tried until it does.
    PathDown {
        /// Of which session.
        session: SessionId,
        /// Its number.
        path: usize,
    },
    /// The session is over.
    SessionClosed {
        /// Which.
        session: SessionId,
        /// Why.
        reason: CloseReason,
    },
    /// A connection was rejected; at most a few per second are reported.
    Refused {
        /// From where.
        from: SocketAddr,
        /// Why.
        reason: RefusalReason,
    },
}

/// Why a connection was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    /// By this end, which does not know the key that the other has offered, not necessarily its own; `None`: it is not an Ed25519 key.
    #[error("{}", .0.map_or("it has no Ed25519 key".to_owned(), |key| format!("its key is not known: {key}")))]
    UnknownKey(Option<PublicKey>),
    /// By the other end, which does not know the key of this one.
    #[error("it does not know the key of this end")]
    OwnKeyUnknown,
    /// Anything else, by either end.
    #[error("{0}")]
    Other(String),
}

/// Counts of what hosts without a session have sent to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strangers {
    /// Connections that are not bound to a session now.
    pub half_open: u64,
    /// Retry packets sent.
    pub retries: u64,
    /// Initial packets that got no answer, because their prefix or all prefixes have too many connections that are not bound.
    pub ignored: u64,
    /// Datagrams not sent, because an address that is not validated would have got more than it has sent.
    pub withheld: u64,
    /// Datagrams with a long header that is not of QUIC version 1.
    pub junk: u64,
}

/// Why a session is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// This end closed it. A client does not connect again.
    #[error("this end has closed it")]
    Local,
    /// The other end closed it. A client connects again, after a while.
    #[error("the other end has closed it: {0}")]
    Remote(String),
    /// Nothing was heard on any path for the idle timeout. A client connects again.
    #[error("nothing was heard on any path for the idle timeout")]
    Idle,
    /// The other end does not know it any more: it was restarted. A client connects again.
    #[error("the other end was restarted and does not know it")]
    Reset,
    /// The other end connected anew. Only at a server.
    #[error("its client has connected again")]
    Replaced,
    /// The server has a session of another client that is the same peer. A client connects again after the longest wait.
    #[error("another client of the same peer has connected: each machine needs a peer and a key of its own")]
    Displaced,
}

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// One UDP datagram, or several for segmentation offload, one after the other in the payload. The tuple
    /// says from where to where; the source address is unspecified where the system may choose.
    pub packet: Packet,
    /// Bytes of each UDP datagram in the payload (UDP_SEGMENT), of which the last may be shorter; `None` if
    /// there is one.
    pub segment: Option<u16>,
    /// It may be longer than the path carries, to find out: it must not be fragmented, nor be handed to the kernel together
    /// with others, which would be refused together.
    pub mtu_probe: bool,
}

/// Why a request to an endpoint is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TunnelEndpointError {
    /// A value of the configuration.
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
    /// Too much waits to be sent; the other end does not read.
    #[error(
        "{waiting} bytes of control messages are queued, at most {} can be",
        super::wire::CONTROL_BACKLOG
    )]
    Backlog {
        /// Bytes that wait.
        waiting: usize,
    },
}
