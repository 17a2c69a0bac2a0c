//! PATH_CHALLENGE and PATH_RESPONSE frames that are to be sent (RFC 9000 section 8.2).

use crate::quic::sent::SentFrame;
use quiclab_core::quic::QuicFrame;

/// Paths on which one of these frames is to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct PathValidation {
    challenges: Vec<usize>,
    responses: Vec<usize>,
}

impl PathValidation {
    /// Queues PATH_CHALLENGE on `path`.
    pub(super) fn challenge(&mut self, path: usize) {
        if !self.challenges.contains(&path) {
            self.challenges.push(path);
        }
    }

    /// Queues PATH_RESPONSE on `path`.
    pub(super) fn respond(&mut self, path: usize) {
        self.responses.push(path);
    }

    /// Handles the validation of the peer's address on `path`.
    pub(super) fn on_validated(&mut self, path: usize) {
        self.challenges.retain(|challenged| *challenged != path);
    }

    /// Removes the frames of `path`, which is abandoned.
    pub(super) fn abandon(&mut self, path: usize) {
        self.on_validated(path);
        self.responses.retain(|asked| *asked != path);
    }

    /// Whether a frame waits for some path.
    pub(super) fn is_waiting(&self) -> bool {
        !self.challenges.is_empty() || !self.responses.is_empty()
    }

    /// Whether a frame waits for `path`.
    pub(super) fn is_waiting_for(&self, path: usize) -> bool {
        self.challenges.contains(&path) || self.responses.contains(&path)
    }

    /// Takes PATH_CHALLENGE if it waits for `path`: it is sent now.
    pub(super) fn take_challenge(&mut self, path: usize) -> Option<(QuicFrame, SentFrame)> {
        take(&mut self.challenges, path).then_some((QuicFrame::PathChallenge, SentFrame::PathChallenge))
    }

    /// Takes PATH_RESPONSE if it waits for `path`: it is sent now.
    pub(super) fn take_response(&mut self, path: usize) -> Option<(QuicFrame, SentFrame)> {
        take(&mut self.responses, path).then_some((QuicFrame::PathResponse, SentFrame::PathResponse))
    }
}

fn take(list: &mut Vec<usize>, path: usize) -> bool {
    let waiting = list.iter().position(|wanted| *wanted == path);
    waiting.map(|index| list.remove(index)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_challenged_once_and_answers_each_challenge() {
        let mut validation = PathValidation::default();
        for _ in 0..2 {
            validation.challenge(1);
            validation.respond(1);
        }
        assert!(validation.is_waiting_for(1) && !validation.is_waiting_for(0));
        assert!(validation.take_challenge(0).is_none() && validation.take_challenge(1).is_some());
        assert!(validation.take_challenge(1).is_none());
        assert!(validation.take_response(1).is_some() && validation.take_response(1).is_some());
        assert!(!validation.is_waiting());
    }

    #[test]
    fn a_path_that_is_given_up_needs_neither() {
        let mut validation = PathValidation::default();
        validation.challenge(1);
        validation.respond(1);
        validation.on_validated(1);
        assert!(validation.is_waiting_for(1), "the peer waits for its response");
        validation.challenge(1);
        validation.respond(2);
        validation.abandon(1);
        assert!(!validation.is_waiting_for(1) && validation.is_waiting_for(2));
    }
}
