//! Frames about paths (draft-ietf-quic-multipath-21 section 4): their sending, retransmission and effect.
//!
//! | frame | sent again if lost |
//! | --- | --- |
//! | PATH_ABANDON, PATH_NEW_CONNECTION_ID | always |
//! | PATH_STATUS_BACKUP, PATH_STATUS_AVAILABLE | if it has the last status of the path |
//! | MAX_PATH_ID, PATHS_BLOCKED | if the limit is still the same |
//! | PATH_CIDS_BLOCKED | while there is no connection ID |
//!
//! All of them are sent on any path that carries data. PATH_RETIRE_CONNECTION_ID is never sent: connection
//! IDs do not change.

use super::Connection;
use super::assemble::Frames;
use super::manage::PTOS;
use crate::options::PathStatus;
use crate::quic::managed::{Notice, Stage};
use crate::quic::sent::SentFrame;
use quiclab_core::Time;
use quiclab_core::quic::QuicFrame;

/// Length in bytes of the longest frame: PATH_NEW_CONNECTION_ID with an ID of 8 bytes and a path ID of two.
const LONGEST_FRAME: usize = 32;

impl Connection {
    /// Whether a frame about paths waits.
    pub(super) fn wants_management(&self) -> bool {
        self.management
            .as_ref()
            .is_some_and(|it| it.wants() || self.paths.iter().any(|path| path.managed.wants()))
    }

    /// Adds the frames about paths that fit.
    pub(super) fn put_management(&mut self, frames: &mut Frames) {
        let Self { management: Some(management), paths, .. } = self else { return };
        for (number, path) in paths.iter_mut().enumerate() {
            let (managed, number) = (&mut path.managed, number as u8);
            if managed.abandon_notice == Notice::Queued && frames.left >= LONGEST_FRAME {
                managed.abandon_notice = Notice::Sent;
                let frame = QuicFrame::PathAbandon { path: number, error_code: managed.abandon_code };
                frames.push(frame, SentFrame::PathAbandon { path: number });
            }
            if let Some(sequence) = managed.status_sequence
                && managed.status_notice == Notice::Queued
                && frames.left >= LONGEST_FRAME
            {
                managed.status_notice = Notice::Sent;
                let backup = managed.announced() == PathStatus::Backup;
                let frame = QuicFrame::PathStatus { path: number, backup, sequence_number: sequence };
                frames.push(frame, SentFrame::PathStatus { path: number, sequence });
            }
            if managed.blocked_notice == Notice::Queued && frames.left >= LONGEST_FRAME {
                managed.blocked_notice = Notice::Sent;
                // none has been issued: the next has number 0
                let frame = QuicFrame::PathCidsBlocked { path: number, next_sequence_number: 0 };
                frames.push(frame, SentFrame::PathCidsBlocked { path: number });
            }
        }
        if management.max_notice == Notice::Queued && frames.left >= LONGEST_FRAME {
            management.max_notice = Notice::Sent;
            let maximum = management.own_max;
            frames.push(QuicFrame::MaxPathId { maximum }, SentFrame::MaxPathId { maximum });
        }
        if let Some(maximum) = management.blocked
            && management.blocked_notice == Notice::Queued
            && frames.left >= LONGEST_FRAME
        {
            management.blocked_notice = Notice::Sent;
            frames.push(QuicFrame::PathsBlocked { maximum }, SentFrame::PathsBlocked { maximum });
        }
        while let Some(&(path, sequence)) = management.new_ids.first() {
            if frames.left < LONGEST_FRAME {
                break;
            }
            management.new_ids.remove(0);
            let frame = QuicFrame::PathNewConnectionId { path, sequence_number: sequence };
            frames.push(frame, SentFrame::PathNewConnectionId { path, sequence });
        }
    }

    /// Handles the loss of a frame about paths, which is sent again if it is not outdated.
    pub(super) fn on_management_lost(&mut self, frame: &SentFrame) {
        let Self { management: Some(management), paths, .. } = self else { return };
        match *frame {
            SentFrame::PathAbandon { path } => {
                paths[usize::from(path)].managed.abandon_notice = Notice::Queued;
            }
            // "only if it contains the last status sent for that path" (section 4.3)
            SentFrame::PathStatus { path, sequence } => {
                let managed = &mut paths[usize::from(path)].managed;
                if managed.status_sequence == Some(sequence) && managed.status_notice == Notice::Sent {
                    managed.status_notice = Notice::Queued;
                }
            }
            SentFrame::PathNewConnectionId { path, sequence } => management.new_ids.push((path, sequence)),
            SentFrame::MaxPathId { maximum } if maximum == management.own_max => {
                management.max_notice = Notice::Queued;
            }
            SentFrame::PathsBlocked { maximum } if maximum == management.peer_max => {
                management.blocked_notice = Notice::Queued;
            }
            SentFrame::PathCidsBlocked { path } => {
                let managed = &mut paths[usize::from(path)].managed;
                if !managed.peer_id && managed.blocked_notice == Notice::Sent {
                    managed.blocked_notice = Notice::Queued;
                }
            }
            _ => {}
        }
    }

    /// Handles a received frame; returns whether it is about paths.
    pub(super) fn on_management_frame(&mut self, now: Time, frame: &QuicFrame) -> bool {
        let path = match *frame {
            QuicFrame::PathAbandon { path, .. }
            | QuicFrame::PathStatus { path, .. }
            | QuicFrame::PathNewConnectionId { path, .. }
            | QuicFrame::PathCidsBlocked { path, .. } => u32::from(path),
            QuicFrame::PathsBlocked { maximum } => maximum,
            QuicFrame::MaxPathId { .. } => 0,
            _ => return false,
        };
        let Some(management) = &mut self.management else {
            self.violate(format_args!(
                "without initial_max_path_id of both ends it is not allowed: {frame:?}"
            ));
            return true;
        };
        if path > management.own_max {
            let allowed = management.own_max;
            self.violate(format_args!("the path ID is above {allowed}, the limit: {frame:?}"));
            return true;
        }
        let known = (path as usize) < self.paths.len();
        match *frame {
            QuicFrame::MaxPathId { maximum } if maximum > management.peer_max => {
                management.peer_max = maximum;
                management.issue();
            }
            QuicFrame::PathCidsBlocked { path, next_sequence_number }
                if next_sequence_number > management.next_sequence(path) =>
            {
                self.violate(format_args!("no such connection ID was issued: {frame:?}"));
            }
            // an ID for a path that this end will not use
            _ if !known => {}
            QuicFrame::PathNewConnectionId { path, .. } => {
                let managed = &mut self.paths[usize::from(path)].managed;
                (managed.peer_id, managed.blocked_notice) = (true, Notice::None);
            }
            QuicFrame::PathStatus { path, backup, sequence_number } => {
                let managed = &mut self.paths[usize::from(path)].managed;
                if managed.peer_status.is_none_or(|(last, _)| sequence_number > last) {
                    let status = if backup { PathStatus::Backup } else { PathStatus::Available };
                    managed.peer_status = Some((sequence_number, status));
                }
            }
            QuicFrame::PathAbandon { path, .. } => self.on_path_abandoned(now, usize::from(path)),
            _ => {}
        }
        true
    }

    /// Handles the abandonment of a path by the peer: this end abandons it, too, and deletes it three PTOs
    /// later (section 3.4).
    fn on_path_abandoned(&mut self, now: Time, path: usize) {
        self.abandon(now, path, 0);
        let until = now + self.pto_of(path) * PTOS;
        if let Stage::Abandoned { until: known } = &mut self.paths[path].managed.stage {
            *known = until;
        }
    }
}
