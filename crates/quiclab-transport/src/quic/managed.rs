//! What an end knows of a path, and of all paths, that are managed with the frames of draft-ietf-quic-multipath-21.
//!
//! | | draft | here |
//! | --- | --- | --- |
//! | connection IDs | one at least for each path ID up to both limits (section 3.2.1) | one, and for path ID 0 those of the profile; never changed, so none is retired |
//! | limit on path IDs | raised at will (section 4.6) | by one for each path that is closed |
//! | a path that is abandoned | known for three PTO after the peer's PATH_ABANDON (section 3.4) | the same, and from the own frame on |

use crate::options::{Multipath, PathPlan, PathStatus};
use quiclab_core::Time;
use smallvec::SmallVec;

/// APPLICATION_ABANDON_PATH (section 4.2.1).
pub(super) const APPLICATION_ABANDON_PATH: u64 = 0x3e;
/// PATH_UNSTABLE_OR_POOR (section 4.2.1).
pub(super) const PATH_UNSTABLE_OR_POOR: u64 = 0x3e76;

/// Life of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has carried nothing, and its path ID can be used.
    Unused,
    /// Packets have been exchanged; this end validates the peer's address since then.
    Validating { since: Time },
    /// It is validated.
    Open,
    /// PATH_ABANDON is sent or to be sent: nothing is sent on it, what arrives is acknowledged elsewhere until then.
    Abandoned { until: Time },
    /// Nothing of it is known any more.
    Closed,
}

/// A frame that is sent once, and again if it is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Notice {
    /// There is no reason for it.
    #[default]
    None,
    Queued,
    Sent,
}

impl Notice {
    /// There is a reason: it is sent unless it has been.
    pub(super) fn ask(&mut self) {
        if *self == Self::None {
            *self = Self::Queued;
        }
    }
}

/// What an end knows of a path besides its packets.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    pub(super) stage: Stage,
    /// The peer has issued a connection ID for it.
    pub(super) peer_id: bool,
    /// This end's preference.
    pub(super) status: PathStatus,
    /// This end has told the peer to avoid the path, because it does not answer.
    pub(super) avoided: bool,
    /// The frame with the last status.
    pub(super) status_notice: Notice,
    /// Path Status Sequence Number of the last status; `None`: no status was ever to be sent.
    pub(super) status_sequence: Option<u64>,
    /// The peer's last preference with its sequence number.
    pub(super) peer_status: Option<(u64, PathStatus)>,
    pub(super) abandon_notice: Notice,
    /// Error code of this end's PATH_ABANDON.
    pub(super) abandon_code: u64,
    /// PATH_CIDS_BLOCKED.
    pub(super) blocked_notice: Notice,
    /// Bytes of UDP payload, for the anti-amplification limit before the peer's address is validated.
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    /// When something was received or acknowledged, or the first ack-eliciting packet after it sent.
    pub(super) active: Time,
    pub(super) sent_since_received: bool,
}

impl Managed {
    /// The path of this number before the handshake: the first is in use.
    pub(super) fn new(number: usize) -> Self {
        Self {
            stage: if number == 0 { Stage::Open } else { Stage::Unused },
            peer_id: number == 0,
            status: PathStatus::Available,
            avoided: false,
            status_notice: Notice::None,
            status_sequence: None,
            peer_status: None,
            abandon_notice: Notice::None,
            abandon_code: 0,
            blocked_notice: Notice::None,
            received_bytes: 0,
            sent_bytes: 0,
            active: Time::ZERO,
            sent_since_received: false,
        }
    }

    /// Packets may be sent on it: it is in use, and the peer has issued a connection ID for it.
    pub(super) fn is_sendable(&self) -> bool {
        self.is_in_use() && self.peer_id
    }

    /// It is neither unused nor given up.
    pub(super) fn is_in_use(&self) -> bool {
        matches!(self.stage, Stage::Validating { .. } | Stage::Open)
    }

    /// It is used only if no available path works: one of both ends wants it so.
    pub(super) fn is_backup(&self) -> bool {
        let peer = self.peer_status.map(|(_, status)| status);
        self.status == PathStatus::Backup || peer == Some(PathStatus::Backup)
    }

    /// The status that this end announces.
    pub(super) fn announced(&self) -> PathStatus {
        if self.avoided { PathStatus::Backup } else { self.status }
    }

    /// The announced status has changed.
    pub(super) fn announce(&mut self) {
        self.status_sequence = Some(self.status_sequence.map_or(0, |last| last + 1));
        self.status_notice = Notice::Queued;
    }

    /// Something on the path waits to be told.
    pub(super) fn wants(&self) -> bool {
        [self.status_notice, self.abandon_notice, self.blocked_notice].contains(&Notice::Queued)
    }
}

/// What an end knows of all its paths.
#[derive(Clone, Debug)]
pub(super) struct Management {
    pub(super) options: Multipath,
    pub(super) plan: PathPlan,
    /// How many of `plan.changes` are done.
    pub(super) done: usize,
    /// Largest path ID that the peer may use, and that this end may use.
    pub(super) own_max: u32,
    pub(super) peer_max: u32,
    /// MAX_PATH_ID.
    pub(super) max_notice: Notice,
    /// PATHS_BLOCKED with the limit at which this end was blocked.
    pub(super) blocked: Option<u32>,
    pub(super) blocked_notice: Notice,
    /// Path ID and sequence number of the connection IDs that are still to be issued.
    pub(super) new_ids: SmallVec<[(u8, u64); 8]>,
    /// Largest path ID for which connection IDs have been queued.
    pub(super) issued: u32,
    /// Connection IDs of path ID 0 besides that of the handshake.
    pub(super) first_path_ids: u64,
    /// Paths that were opened, and given up; the first counts as opened.
    pub(super) opened: u64,
    pub(super) abandoned: u64,
}

impl Management {
    /// Both ends have `options.initial_max_path_id`, the peer `peer_max`; `first_path_ids` are issued in addition for path
    /// ID 0.
    pub(super) fn new(options: Multipath, plan: PathPlan, peer_max: u32, first_path_ids: u8) -> Self {
        let own_max = options.initial_max_path_id;
        let mut this = Self {
            options,
            plan,
            done: 0,
            own_max,
            peer_max,
            max_notice: Notice::None,
            blocked: None,
            blocked_notice: Notice::None,
            new_ids: SmallVec::new(),
            issued: 0,
            first_path_ids: first_path_ids.into(),
            opened: 1,
            abandoned: 0,
        };
        this.issue();
        let first = (1..=u64::from(first_path_ids)).map(|sequence| (0, sequence));
        this.new_ids.extend(first);
        this
    }

    /// Queues a connection ID for each path ID that both limits allow now (section 3.2.1: "at least one Connection ID for
    /// each unused path ID").
    pub(super) fn issue(&mut self) {
        let most = self.own_max.min(self.peer_max).min(u8::MAX.into());
        for path in self.issued + 1..=most {
            self.new_ids.push((path as u8, 0));
        }
        self.issued = self.issued.max(most);
    }

    /// This end has sent a connection ID for `path` to its peer, as far as it knows.
    pub(super) fn has_issued(&self, path: usize) -> bool {
        path as u32 <= self.issued && self.new_ids.iter().all(|(queued, _)| usize::from(*queued) != path)
    }

    /// The next sequence number of connection IDs for `path`.
    pub(super) fn next_sequence(&self, path: u8) -> u64 {
        match path {
            0 => 1 + self.first_path_ids,
            path => u64::from(u32::from(path) <= self.issued),
        }
    }

    /// Something waits that does not belong to a path in use.
    pub(super) fn wants(&self) -> bool {
        !self.new_ids.is_empty() || [self.max_notice, self.blocked_notice].contains(&Notice::Queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn management(own: u32, peer: u32) -> Management {
        let options = Multipath {
            initial_max_path_id: own,
            acknowledgements: None,
            idle_timeout: None,
            keep_alive: None,
        };
        Management::new(options, PathPlan::default(), peer, 1)
    }

    /// Section 3.2.1: "up to the minimum of the peer's and the local maximum path ID limits", without discontinuity.
    #[test]
    fn connection_ids_are_issued_up_to_the_smaller_limit() {
        for (own, peer, paths) in [(3, 2, vec![1, 2, 0]), (1, 7, vec![1, 0]), (0, 7, vec![0])] {
            let management = management(own, peer);
            let issued: Vec<u8> = management.new_ids.iter().map(|(path, _)| *path).collect();
            assert_eq!(issued, paths, "{own} and {peer}");
        }
    }

    #[test]
    fn a_higher_limit_issues_what_it_adds_and_a_lower_one_nothing() {
        let mut management = management(3, 2);
        management.new_ids.clear();
        management.peer_max = 5;
        management.issue();
        assert_eq!(management.new_ids[..], [(3, 0)]);
        assert!(management.has_issued(2) && !management.has_issued(3) && !management.has_issued(4));
        (management.peer_max, management.new_ids) = (1, SmallVec::new());
        management.issue();
        assert!(management.new_ids.is_empty() && management.has_issued(3));
        assert_eq!([0, 3, 4].map(|path| management.next_sequence(path)), [2, 1, 0]);
    }

    #[test]
    fn either_end_makes_a_path_a_backup_and_each_announcement_has_a_number_of_its_own() {
        let mut path = Managed::new(1);
        assert!(!path.is_backup());
        path.peer_status = Some((0, PathStatus::Backup));
        assert!(path.is_backup());
        path.peer_status = Some((1, PathStatus::Available));
        path.status = PathStatus::Backup;
        path.announce();
        assert!(path.is_backup());
        assert_eq!((path.status_sequence, path.announced()), (Some(0), PathStatus::Backup));
        path.status = PathStatus::Available;
        path.announce();
        assert_eq!((path.status_sequence, path.is_backup()), (Some(1), false));
        // an end that avoids a path says so; its own preference stays
        path.avoided = true;
        assert_eq!((path.announced(), path.is_backup()), (PathStatus::Backup, false));
    }
}
