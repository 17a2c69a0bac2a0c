//! State of an end for a path, and for all paths, managed with the frames of draft-ietf-quic-multipath-21.
//!
//! | | draft | here |
//! | --- | --- | --- |
//! | connection IDs | at least one for each path ID up to both limits (section 3.2.1) | one, and for path ID 0 those of the profile; never changed, so none is retired |
//! | limit on path IDs | raised at will (section 4.6) | by one for each path that is closed |
//! | a path that is abandoned | known for three PTO after the peer's PATH_ABANDON (section 3.4) | the same, and from its own frame on |

use crate::options::{Multipath, PathPlan, PathStatus};
use quiclab_core::Time;
use smallvec::SmallVec;

/// APPLICATION_ABANDON_PATH (section 4.2.1).
pub(super) const APPLICATION_ABANDON_PATH: u64 = 0x3e;
/// PATH_UNSTABLE_OR_POOR (section 4.2.1).
pub(super) const PATH_UNSTABLE_OR_POOR: u64 = 0x3e76;

/// State of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has carried no packet, and its path ID can be used.
    Unused,
    /// Packets have been exchanged; this end validates the peer's address since then.
    Validating { since: Time },
    /// It is validated.
    Open,
    /// PATH_ABANDON is sent or to be sent: nothing is sent on it, received packets are acknowledged on other
    /// paths until then.
    Abandoned { until: Time },
    /// Its state is deleted.
    Closed,
}

/// State of a frame that is sent once, and again if it is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Notice {
    /// Not needed.
    #[default]
    None,
    Queued,
    Sent,
}

impl Notice {
    /// Requests the frame, unless it has been sent.
    pub(super) fn ask(&mut self) {
        if *self == Self::None {
            *self = Self::Queued;
        }
    }
}

/// State of a path at an end besides its packets.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    pub(super) stage: Stage,
    /// Whether the peer has issued a connection ID for it.
    pub(super) peer_id: bool,
    /// Preference of this end.
    pub(super) status: PathStatus,
    /// Whether this end has asked the peer to avoid the path because it does not respond.
    pub(super) avoided: bool,
    /// Frame with the last status.
    pub(super) status_notice: Notice,
    /// Path Status Sequence Number of the last status; `None`: no status was announced.
    pub(super) status_sequence: Option<u64>,
    /// Last preference of the peer with its sequence number.
    pub(super) peer_status: Option<(u64, PathStatus)>,
    pub(super) abandon_notice: Notice,
    /// Error code of this end's PATH_ABANDON.
    pub(super) abandon_code: u64,
    /// Frame PATH_CIDS_BLOCKED.
    pub(super) blocked_notice: Notice,
    /// Bytes of UDP payload, for the anti-amplification limit before the peer's address is validated.
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    /// Time of the last packet received or acknowledged, or of the first ack-eliciting packet sent after it.
    pub(super) active: Time,
    pub(super) sent_since_received: bool,
}

impl Managed {
    /// Makes the path of this number before the handshake: the first is in use.
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

    /// Whether packets may be sent on it: it is in use, and the peer has issued a connection ID for it.
    pub(super) fn is_sendable(&self) -> bool {
        self.is_in_use() && self.peer_id
    }

    /// Whether it is neither unused nor abandoned.
    pub(super) fn is_in_use(&self) -> bool {
        matches!(self.stage, Stage::Validating { .. } | Stage::Open)
    }

    /// Whether it is used only if no available path works, as one of both ends prefers.
    pub(super) fn is_backup(&self) -> bool {
        let peer = self.peer_status.map(|(_, status)| status);
        self.status == PathStatus::Backup || peer == Some(PathStatus::Backup)
    }

    /// Status that this end announces.
    pub(super) fn announced(&self) -> PathStatus {
        if self.avoided { PathStatus::Backup } else { self.status }
    }

    /// Queues the announcement of a changed status.
    pub(super) fn announce(&mut self) {
        self.status_sequence = Some(self.status_sequence.map_or(0, |last| last + 1));
        self.status_notice = Notice::Queued;
    }

    /// Whether a frame about the path waits.
    pub(super) fn wants(&self) -> bool {
        [self.status_notice, self.abandon_notice, self.blocked_notice].contains(&Notice::Queued)
    }
}

/// State of all paths at an end.
#[derive(Clone, Debug)]
pub(super) struct Management {
    pub(super) options: Multipath,
    pub(super) plan: PathPlan,
    /// Number of `plan.changes` that are done.
    pub(super) done: usize,
    /// Largest path ID that the peer may use, and that this end may use.
    pub(super) own_max: u32,
    pub(super) peer_max: u32,
    /// Frame MAX_PATH_ID.
    pub(super) max_notice: Notice,
    /// Limit at which this end was blocked, for PATHS_BLOCKED.
    pub(super) blocked: Option<u32>,
    pub(super) blocked_notice: Notice,
    /// Path ID and sequence number of the connection IDs that are still to be issued.
    pub(super) new_ids: SmallVec<[(u8, u64); 8]>,
    /// Largest path ID for which connection IDs have been queued.
    pub(super) issued: u32,
    /// Number of connection IDs of path ID 0 besides that of the handshake.
    pub(super) first_path_ids: u64,
    /// Number of paths opened, and abandoned; the first counts as opened.
    pub(super) opened: u64,
    pub(super) abandoned: u64,
}

impl Management {
    /// Makes the state with the limits `options.initial_max_path_id` of this end and `peer_max` of the peer;
    /// `first_path_ids` connection IDs are issued in addition for path ID 0.
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

    /// Whether this end has sent a connection ID for `path` to its peer.
    pub(super) fn has_issued(&self, path: usize) -> bool {
        path as u32 <= self.issued && self.new_ids.iter().all(|(queued, _)| usize::from(*queued) != path)
    }

    /// Next sequence number of connection IDs for `path`.
    pub(super) fn next_sequence(&self, path: u8) -> u64 {
        match path {
            0 => 1 + self.first_path_ids,
            path => u64::from(u32::from(path) <= self.issued),
        }
    }

    /// Whether a frame waits that does not belong to a path in use.
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
        // an end that avoids a path announces it; its own preference does not change
        path.avoided = true;
        assert_eq!((path.announced(), path.is_backup()), (PathStatus::Backup, false));
    }
}
