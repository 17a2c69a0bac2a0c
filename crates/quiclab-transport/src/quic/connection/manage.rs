//! Path management: paths are opened, ranked and closed with the frames of draft-ietf-quic-multipath-21.
//!
//! | | draft | here |
//! | --- | --- | --- |
//! | who opens a path | the client (section 3) | the client, as in its plan, when both ends have issued connection IDs |
//! | validation | each end validates the other's address; three times the bytes received before (section 3.1) | the same; given up after three times the larger PTO of the first path and of a new one (RFC 9000 section 8.2.4) |
//! | status | a preference (section 3.3) | followed: a backup path is used only if no available one works |
//! | a path that does not respond | an end that moves to a backup path "is RECOMMENDED to update its own path state signaling" (section 3.3) | PATH_STATUS_BACKUP, and PATH_STATUS_AVAILABLE when it responds again |
//! | the last path | CONNECTION_CLOSE, or a new path (section 3.4) | CONNECTION_CLOSE |
//! | PATH_ACK | on any path (section 5.5) | as set by `multipath.acknowledgements`; of abandoned paths at once, on another |
//! | key update, migration, several tuples of a path | yes | not modelled |

use super::send::MIN_ROOM;
use super::{Connection, INTERNAL_ERROR, SpaceId, State};
use crate::options::{AckPath, PathAction, PathPlan, PathStatus, PlannedPath};
use crate::quic::managed::{APPLICATION_ABANDON_PATH, Management, Notice, PATH_UNSTABLE_OR_POOR, Stage};
use quiclab_core::{Duration, Role, Time};

/// Number of PTOs in RFC 9000 section 8.2.4, and in section 3.4 of the draft.
pub(super) const PTOS: u64 = 3;

impl Connection {
    /// Starts path management at the end of the handshake, if both ends support it.
    pub(super) fn begin_management(&mut self, now: Time) -> bool {
        let Some((options, peer_max)) = self.config.multipath.zip(self.peer.max_path_id) else {
            return false;
        };
        let first = self.config.fixed.new_connection_ids;
        // only clients open paths, and follow a plan
        let plan = match self.role {
            Role::Client => std::mem::take(&mut self.path_plan),
            Role::Server => PathPlan::default(),
        };
        self.management = Some(Box::new(Management::new(options, plan, peer_max, first)));
        self.paths[0].managed.active = now;
        true
    }

    /// Whether packets may be sent on `path`.
    pub(super) fn is_sendable(&self, path: usize) -> bool {
        self.management.is_none() || self.paths[path].managed.is_sendable()
    }

    /// First path in use, for frames that belong to no path.
    pub(super) fn first_path(&self) -> usize {
        if self.management.is_none() {
            return 0;
        }
        self.paths.iter().position(|path| path.managed.is_in_use()).unwrap_or(0)
    }

    /// Path that carries acknowledgements of packets of `path`; `None`: they cannot be sent now.
    pub(super) fn path_of_acks(&self, path: usize) -> Option<usize> {
        let Some(management) = &self.management else { return Some(path) };
        let managed = &self.paths[path].managed;
        if matches!(managed.stage, Stage::Unused | Stage::Closed) {
            return None;
        }
        let sends = managed.is_sendable() && !self.is_limited(path);
        let stays = sends && management.options.acknowledgements != Some(AckPath::LowestRtt);
        if stays || sends && !self.paths[path].usable {
            return Some(path);
        }
        let works = |other: &usize| self.paths[*other].usable && self.paths[*other].managed.is_sendable();
        let rank = |other: &usize| (self.paths[*other].pto.count(), self.paths[*other].rtt.smoothed());
        (0..self.paths.len()).filter(works).min_by_key(rank)
    }

    /// Probe timeout of a path, without backoff.
    pub(super) fn pto_of(&self, path: usize) -> Duration {
        self.paths[path].rtt.pto_base() + self.peer_max_ack_delay()
    }

    /// Time at which the validation of a path that began at `since` is abandoned: "three times the larger of
    /// the current PTO or the PTO for the new path" (RFC 9000 section 8.2.4).
    fn validation_deadline(&self, path: usize, since: Time) -> Time {
        since + self.pto_of(path).max(self.pto_of(self.first_path())) * PTOS
    }

    /// Time at which the idle timeout of a path expires; `None`: never, or it is the last.
    fn path_idle_deadline(&self, path: usize) -> Option<Time> {
        let timeout = self.management.as_ref()?.options.idle_timeout?;
        let this = &self.paths[path].managed;
        let other = |other: usize| other != path && self.paths[other].usable;
        let is_last = !(0..self.paths.len()).any(other);
        (this.stage == Stage::Open && !is_last).then(|| this.active + timeout.max(self.pto_of(path) * PTOS))
    }

    /// Time of the next PING that keeps a path alive.
    fn keep_alive_deadline(&self, path: usize) -> Option<Time> {
        let interval = self.management.as_ref()?.options.keep_alive?;
        let this = &self.paths[path];
        let waits = this.managed.stage == Stage::Open && this.space.sent.last_ack_eliciting().is_none();
        waits.then(|| this.managed.active + interval)
    }

    /// Time at which [`Connection::manage`] must be called without an arrival.
    pub(super) fn management_deadline(&self, now: Time) -> Option<Time> {
        let management = self.management.as_ref()?;
        let change = management.plan.changes.get(management.done).filter(|_| self.progress.is_confirmed());
        let change = change.map(|change| Time::ZERO + change.at);
        let of_path = |path: usize| {
            let stage = match self.paths[path].managed.stage {
                // a path whose time is reached waits for connection IDs, or for a limit
                Stage::Unused if self.role == Role::Client => {
                    Some(management.plan.path(path).opens).filter(|opens| *opens > now)
                }
                Stage::Validating { since } => Some(self.validation_deadline(path, since)),
                Stage::Abandoned { until } => Some(until),
                Stage::Unused | Stage::Open | Stage::Closed => None,
            };
            let idle = self.path_idle_deadline(path);
            [stage, idle, self.keep_alive_deadline(path)].into_iter().flatten().min()
        };
        (0..self.paths.len()).filter_map(of_path).chain(change).min()
    }

    /// Performs the due actions of the plan and of the timers of the paths.
    pub(in crate::quic) fn manage(&mut self, now: Time) {
        if self.management.is_none() || self.state != State::Open {
            return;
        }
        for path in 0..self.paths.len() {
            match self.paths[path].managed.stage {
                Stage::Unused if self.role == Role::Client => self.open_path(now, path),
                Stage::Validating { since } if self.validation_deadline(path, since) <= now => {
                    self.abandon(now, path, PATH_UNSTABLE_OR_POOR);
                }
                Stage::Abandoned { until } if until <= now => self.close_path(path),
                _ => {}
            }
            if self.path_idle_deadline(path).is_some_and(|deadline| deadline <= now) {
                self.abandon(now, path, PATH_UNSTABLE_OR_POOR);
            }
            if self.keep_alive_deadline(path).is_some_and(|deadline| deadline <= now) {
                let space = &mut self.paths[path].space;
                space.probes = space.probes.max(1);
            }
        }
        while let Some(change) = self.due_change(now) {
            let path = usize::from(change.path);
            match change.action {
                PathAction::Available => self.set_status(path, PathStatus::Available),
                PathAction::Backup => self.set_status(path, PathStatus::Backup),
                PathAction::Abandon => self.abandon(now, path, APPLICATION_ABANDON_PATH),
            }
        }
    }

    /// Takes the next change of the plan that is due.
    fn due_change(&mut self, now: Time) -> Option<crate::options::PathChange> {
        let confirmed = self.progress.is_confirmed() && self.state == State::Open;
        let management = self.management.as_mut()?;
        let change = *management.plan.changes.get(management.done)?;
        (confirmed && Time::ZERO + change.at <= now).then(|| {
            management.done += 1;
            change
        })
    }

    /// Opens a path of the client when its time is reached, or reports the obstacle to the peer.
    fn open_path(&mut self, now: Time, path: usize) {
        let Some(management) = &mut self.management else { return };
        let planned = management.plan.path(path);
        if planned.opens > now {
            return;
        }
        if path as u32 > management.peer_max {
            if management.blocked != Some(management.peer_max) {
                (management.blocked, management.blocked_notice) = (Some(management.peer_max), Notice::Queued);
            }
            return;
        }
        let managed = &mut self.paths[path].managed;
        if !managed.peer_id {
            // they are sent with HANDSHAKE_DONE
            if self.progress.is_confirmed() {
                managed.blocked_notice.ask();
            }
            return;
        }
        if !management.has_issued(path) {
            return;
        }
        management.opened += 1;
        self.begin_path(now, path);
        if planned.status == PathStatus::Backup {
            self.set_status(path, PathStatus::Backup);
        }
    }

    /// Starts the exchange of packets on a path, with its validation.
    fn begin_path(&mut self, now: Time, path: usize) {
        let managed = &mut self.paths[path].managed;
        (managed.stage, managed.active) = (Stage::Validating { since: now }, now);
        self.challenge(path);
    }

    /// Queues the validation of the peer's address on `path`.
    pub(super) fn challenge(&mut self, path: usize) {
        if self.is_kept(path) {
            self.path_validation.challenge(path);
        }
    }

    /// Queues the response to a PATH_CHALLENGE on `path`, which is sent there.
    pub(super) fn respond(&mut self, path: usize) {
        if self.is_kept(path) {
            self.path_validation.respond(path);
        }
    }

    /// Whether frames may be queued for `path`, as it is not abandoned.
    fn is_kept(&self, path: usize) -> bool {
        self.management.is_none() || self.paths[path].managed.is_in_use()
    }

    /// Sets and announces whether this end prefers `path` as available or backup.
    fn set_status(&mut self, path: usize, status: PathStatus) {
        let managed = &mut self.paths[path].managed;
        if matches!(managed.stage, Stage::Abandoned { .. } | Stage::Closed) {
            return;
        }
        if let (Stage::Unused, Some(management)) = (managed.stage, &mut self.management) {
            // it is announced when the path opens
            let planned = &mut management.plan.paths;
            planned.resize(planned.len().max(path + 1), PlannedPath::default());
            planned[path].status = status;
            return;
        }
        managed.status = status;
        managed.announce();
    }

    /// Handles a datagram of `size` bytes received on `path`; returns whether its packets are to be read.
    pub(super) fn on_path_received(&mut self, now: Time, path: usize, size: u64) -> bool {
        let Some(management) = &mut self.management else { return true };
        let managed = &mut self.paths[path].managed;
        match (managed.stage, self.role) {
            (Stage::Closed, _) | (Stage::Unused, Role::Client) => return false,
            (Stage::Unused, Role::Server) => {
                management.opened += 1;
                if !managed.peer_id {
                    managed.blocked_notice.ask();
                }
                self.begin_path(now, path);
            }
            _ => {}
        }
        let managed = &mut self.paths[path].managed;
        managed.received_bytes += size;
        (managed.active, managed.sent_since_received) = (now, false);
        true
    }

    /// Handles a datagram of `size` bytes sent on `path`.
    pub(super) fn on_path_sent(&mut self, now: Time, path: usize, size: u64, ack_eliciting: bool) {
        let managed = &mut self.paths[path].managed;
        managed.sent_bytes += size;
        if ack_eliciting && !managed.sent_since_received {
            (managed.sent_since_received, managed.active) = (true, now);
        }
    }

    /// Handles the acknowledgement, on any path, of packets of `path`.
    pub(super) fn on_path_acknowledged(&mut self, now: Time, path: usize) {
        let managed = &mut self.paths[path].managed;
        (managed.active, managed.sent_since_received) = (now, false);
    }

    /// Maximum bytes of a datagram on `path` before the client's address there is validated.
    pub(super) fn amplification_room_of(&self, path: usize) -> usize {
        let factor = u64::from(self.config.quic.amplification_factor);
        let managed = &self.paths[path].managed;
        match managed.stage {
            Stage::Validating { .. } if self.role == Role::Server && factor > 0 => {
                (factor * managed.received_bytes).saturating_sub(managed.sent_bytes) as usize
            }
            _ => usize::MAX,
        }
    }

    /// Whether the limit on bytes to an address that is not validated blocks `path`.
    pub(super) fn is_limited(&self, path: usize) -> bool {
        self.management.is_some() && self.amplification_room_of(path) < MIN_ROOM
    }

    /// Handles PATH_RESPONSE: the peer's address on `path` is validated.
    pub(super) fn on_path_validated(&mut self, path: usize) {
        let managed = &mut self.paths[path].managed;
        if matches!(managed.stage, Stage::Validating { .. }) {
            managed.stage = Stage::Open;
        }
    }

    /// Avoids an available path that does not respond, so that a backup path replaces it, and asks the peer
    /// to avoid it, too.
    pub(super) fn avoid(&mut self, path: usize) {
        let replaced = self.paths.iter().any(|other| other.usable && other.managed.is_backup());
        let managed = &mut self.paths[path].managed;
        if self.management.is_some() && replaced && !managed.is_backup() && !managed.avoided {
            managed.avoided = true;
            managed.announce();
        }
    }

    /// Ends the avoidance of a path that responds again.
    pub(super) fn trust(&mut self, path: usize) {
        let managed = &mut self.paths[path].managed;
        if std::mem::take(&mut managed.avoided) {
            managed.announce();
        }
    }

    /// Abandons a path: nothing is sent on it any more, and its data in flight are sent on others. Without
    /// another path the connection ends.
    pub(super) fn abandon(&mut self, now: Time, path: usize, code: u64) {
        let managed = &self.paths[path].managed;
        if matches!(managed.stage, Stage::Abandoned { .. } | Stage::Closed) {
            return;
        }
        let in_use = |other: &usize| *other != path && self.paths[*other].managed.is_in_use();
        if !(0..self.paths.len()).any(|other| in_use(&other)) {
            let reason = || format!("the last path, {path}, was abandoned at {now}");
            self.closure.fail_with(INTERNAL_ERROR, reason);
            self.state = State::Closing { pending: true, received: 0 };
            return;
        }
        if managed.is_in_use() {
            self.leave_path(path, true);
        }
        let until = now + self.pto_of(path) * PTOS;
        self.path_validation.abandon(path);
        let this = &mut self.paths[path];
        (this.usable, this.space.probes) = (false, 0);
        let managed = &mut this.managed;
        managed.stage = Stage::Abandoned { until };
        (managed.abandon_notice, managed.abandon_code) = (Notice::Queued, code);
        (managed.status_notice, managed.blocked_notice) = (Notice::None, Notice::None);
        // "SHOULD promptly send PATH_ACK frames for all unacknowledged packets" (section 3.4.3)
        if this.space.received.is_pending() {
            this.space.received.ask_due(now);
        }
        if let Some(management) = &mut self.management {
            management.abandoned += 1;
        }
    }

    /// Deletes the state of an abandoned path: "packets sent over the path and not yet acknowledged MUST be
    /// considered lost" (section 3.4.3), and have been sent again. Its path ID is not reused.
    fn close_path(&mut self, path: usize) {
        let this = &mut self.paths[path];
        this.managed.stage = Stage::Closed;
        this.in_flight -= this.space.sent.discard();
        let Some(management) = &mut self.management else { return };
        if management.own_max < u8::MAX.into() {
            management.own_max += 1;
            management.max_notice = Notice::Queued;
            management.issue();
        }
    }

    /// Number of paths opened, and abandoned; `None` without management.
    pub(in crate::quic) fn path_counts(&self) -> Option<(u64, u64)> {
        self.management.as_ref().map(|management| (management.opened, management.abandoned))
    }

    /// Spaces whose acknowledgements are sent in packets of `carrier`.
    pub(super) fn acknowledged_spaces(&self, carrier: SpaceId) -> impl Iterator<Item = SpaceId> + use<> {
        let mut spaces = smallvec::SmallVec::<[SpaceId; 2]>::new();
        match carrier {
            SpaceId::Path(carrier) if self.management.is_some() => {
                let carried = |path: &usize| self.path_of_acks(*path) == Some(carrier);
                spaces.extend((0..self.paths.len()).filter(carried).map(SpaceId::Path));
            }
            other => spaces.push(other),
        }
        spaces.into_iter()
    }
}
