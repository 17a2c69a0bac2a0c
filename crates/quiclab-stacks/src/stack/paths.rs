//! Paths of a noq connection: the actions of an application on noq that open, rank and close them.
//!
//! | | |
//! | --- | --- |
//! | addresses | a client has one on each path, a server one for all; they are not those of the packets, which noq never sees |
//! | opening | when the handshake is confirmed and its time is reached; while there are no connection IDs, again after 50 ms |
//! | a change of a path that is not open yet | it is opened with that status, or abandoned as soon as it is open |
//! | a status | that of the client; the server follows it, as noq leaves to its application ([`PathEvent::RemoteStatus`]) |
//! | path IDs | noq counts them; so a path that cannot be opened keeps those after it closed |

use crate::library::Parts;
use crate::options::std_duration;
use crate::time::Clock;
use noq_proto::{
    Connection, Event, FourTuple, PathError, PathEvent, PathId, PathStatus, Transmit, TransportConfig,
};
use quiclab_core::{Role, Time};
use quiclab_transport::options::{Multipath, PathAction, PathChange, PathPlan, PathStatus as Status};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// Time until the next attempt while the peer has issued no connection IDs for another path.
const WITHOUT_IDS: Duration = Duration::from_millis(50);
/// Error code APPLICATION_ABANDON_PATH (draft-ietf-quic-multipath-21 section 4.2.1).
const ABANDONED: u32 = 0x3e;

/// Paths of a noq connection; see the module documentation.
pub(super) struct Paths {
    role: Role,
    remote: SocketAddr,
    count: usize,
    plan: PathPlan,
    clock: Clock,
    /// Whether the handshake is confirmed.
    confirmed: bool,
    /// Next path to be opened, and the earliest time; `None`: not before a path is discarded.
    next: usize,
    retry_at: Option<Instant>,
    /// Number of changes that are done.
    done: usize,
    /// Paths to be abandoned that do not exist yet.
    abandoned: Vec<u8>,
    /// Statuses announced by the client for paths that do not exist yet.
    announced: Vec<(PathId, PathStatus)>,
}

/// Address of a client on a path other than the first.
fn client(path: u8) -> IpAddr {
    Ipv4Addr::new(10, 64, path, 1).into()
}

const fn status(status: Status) -> PathStatus {
    match status {
        Status::Available => PathStatus::Available,
        Status::Backup => PathStatus::Backup,
    }
}

impl Paths {
    pub(super) fn new(parts: &Parts) -> Self {
        let clock = Clock::new();
        Self {
            role: parts.role,
            remote: parts.remote,
            count: parts.paths,
            plan: parts.path_plan.clone(),
            clock,
            confirmed: false,
            next: 1,
            retry_at: Some(clock.instant(Time::ZERO)),
            done: 0,
            abandoned: Vec::new(),
            announced: Vec::new(),
        }
    }

    pub(super) fn configure(config: &mut TransportConfig, multipath: &Multipath) {
        config
            .max_concurrent_multipath_paths(multipath.initial_max_path_id + 1)
            .default_path_max_idle_timeout(multipath.idle_timeout.map(std_duration))
            .default_path_keep_alive_interval(multipath.keep_alive.map(std_duration));
    }

    /// Addresses of a path to the server or the client `remote`.
    pub(super) fn tuple(&self, remote: SocketAddr, path: u8) -> FourTuple {
        match (path, self.role) {
            (0, _) => FourTuple::from_remote(remote),
            (path, Role::Client) => FourTuple::new(remote, Some(client(path))),
            (path, Role::Server) => FourTuple::from_remote(SocketAddr::new(client(path), remote.port())),
        }
    }

    /// Path of a datagram to be sent.
    pub(super) fn of(&self, transmit: &Transmit) -> u8 {
        let is_it = |path: &u8| match self.role {
            Role::Client => transmit.src_ip == Some(client(*path)),
            Role::Server => transmit.destination.ip() == client(*path),
        };
        (1..self.count as u8).find(is_it).unwrap_or(0)
    }

    pub(super) fn on_event(&mut self, connection: &mut Connection, event: &Event) {
        match event {
            Event::HandshakeConfirmed => self.confirmed = true,
            Event::Path(PathEvent::RemoteStatus { id, status, .. })
                if self.role == Role::Server && connection.set_path_status(*id, *status).is_err() =>
            {
                self.announced.push((*id, *status));
            }
            Event::Path(PathEvent::Established { id, .. }) if self.role == Role::Server => {
                for (_, status) in self.announced.extract_if(.., |(announced, _)| announced == id) {
                    // the path exists now
                    let _ = connection.set_path_status(*id, status);
                }
            }
            Event::Path(PathEvent::Discarded { .. }) => {
                self.retry_at.get_or_insert(self.clock.instant(Time::ZERO));
            }
            _ => {}
        }
    }

    /// Performs the actions of the client's plan that are due.
    pub(super) fn manage(&mut self, connection: &mut Connection, now: Instant) {
        while self.opening().is_some_and(|opens| opens <= now) {
            let planned = self.plan.path(self.next);
            let tuple = self.tuple(self.remote, self.next as u8);
            match connection.open_path(tuple, PathStatus::Available, now) {
                Ok(id) => {
                    let path = self.next as u8;
                    self.next += 1;
                    if self.abandoned.contains(&path) {
                        let _ = connection.close_path(now, id, ABANDONED.into());
                        continue;
                    }
                    // noq reports only changes to the peer
                    let _ = connection.set_path_status(id, status(planned.status));
                }
                Err(PathError::RemoteCidsExhausted) => self.retry_at = Some(now + WITHOUT_IDS),
                Err(_) => self.retry_at = None,
            }
        }
        while self.change_due().is_some_and(|due| due <= now) {
            let change = self.plan.changes[self.done];
            self.done += 1;
            if usize::from(change.path) >= self.next {
                self.keep(change);
                continue;
            }
            let path = PathId::from(u32::from(change.path));
            // they fail if the path is abandoned, and noq keeps the last one
            match change.action {
                PathAction::Available => drop(connection.set_path_status(path, PathStatus::Available)),
                PathAction::Backup => drop(connection.set_path_status(path, PathStatus::Backup)),
                PathAction::Abandon => drop(connection.close_path(now, path, ABANDONED.into())),
            }
        }
    }

    /// Keeps a change of a path that does not exist yet.
    fn keep(&mut self, change: PathChange) {
        let status = match change.action {
            PathAction::Available => Status::Available,
            PathAction::Backup => Status::Backup,
            PathAction::Abandon => return self.abandoned.push(change.path),
        };
        if let Some(planned) = self.plan.paths.get_mut(usize::from(change.path)) {
            planned.status = status;
        }
    }

    /// Time at which the client opens its next path.
    fn opening(&self) -> Option<Instant> {
        let opens = self.clock.instant(self.plan.path(self.next).opens);
        let may = self.role == Role::Client && self.confirmed && self.next < self.count;
        self.retry_at.filter(|_| may).map(|retry_at| retry_at.max(opens))
    }

    fn change_due(&self) -> Option<Instant> {
        let change =
            self.plan.changes.get(self.done).filter(|_| self.role == Role::Client && self.confirmed)?;
        Some(self.clock.instant(Time::ZERO + change.at))
    }

    /// Time at which [`Paths::manage`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.opening(), self.change_due()].into_iter().flatten().min()
    }
}
