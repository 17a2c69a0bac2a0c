//! Differences between two statuses of a tunnel.

use crate::status::{PathStatus, SessionStatus, Status};

/// Activity of a session since an earlier status; values are `None` without one, or after a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SessionRates {
    /// Bits of inner packets sent per second, over all paths.
    pub(super) sent: Option<f64>,
    /// Bits of inner packets received per second, over all paths.
    pub(super) received: Option<f64>,
    /// Mean time in the queue of packets that have left it, in ms; also `None` if none has.
    pub(super) wait_ms: Option<f64>,
    /// Packets per second that the queue has dropped.
    pub(super) dropped: Option<f64>,
    /// Packets per second that were retransmitted.
    pub(super) repaired: Option<f64>,
}

/// Bits per second of a path: sent, received.
pub(super) type PathRates = [Option<f64>; 2];

/// An earlier status with a later one of the same tunnel.
pub(super) struct Between<'a> {
    before: Option<&'a Status>,
    seconds: f64,
}

impl<'a> Between<'a> {
    pub(super) fn new(before: Option<&'a Status>, now: &Status) -> Self {
        let seconds = before.map_or(0.0, |before| now.uptime_seconds - before.uptime_seconds);
        // not greater: the program has restarted
        Self { before: before.filter(|_| seconds > 0.0), seconds }
    }

    /// The rate of a counter; `None` if it has restarted.
    fn rate(&self, before: f64, now: f64) -> Option<f64> {
        (now >= before).then(|| (now - before) / self.seconds)
    }

    fn session(&self, now: &SessionStatus) -> Option<&'a SessionStatus> {
        self.before?.sessions.iter().find(|before| before.session == now.session)
    }

    pub(super) fn of_path(&self, session: &SessionStatus, now: &PathStatus) -> PathRates {
        let Some(before) = self
            .session(session)
            .and_then(|before| before.paths.iter().find(|before| before.path == now.path))
        else {
            return [None; 2];
        };
        [(before.sent_bytes, now.sent_bytes), (before.received_bytes, now.received_bytes)]
            .map(|(before, now)| self.rate(before as f64 * 8.0, now as f64 * 8.0))
    }

    pub(super) fn of_session(&self, now: &SessionStatus) -> SessionRates {
        let Some(before) = self.session(now) else { return SessionRates::default() };
        let paths: Vec<_> = now.paths.iter().map(|path| self.of_path(now, path)).collect();
        let sum = |which: usize| {
            let known: Vec<f64> = paths.iter().filter_map(|rates| rates[which]).collect();
            (!known.is_empty()).then(|| known.iter().sum())
        };
        let value = |name: &str| {
            let value = |of: &SessionStatus| of.values.get(name).copied();
            self.rate(value(before)?, value(now)?)
        };
        let sent = now.queue_sent_packets.checked_sub(before.queue_sent_packets).filter(|sent| *sent > 0);
        let waited = now.queue_sojourn_seconds - before.queue_sojourn_seconds;
        SessionRates {
            sent: sum(0),
            received: sum(1),
            wait_ms: sent.map(|sent| waited.max(0.0) * 1e3 / sent as f64),
            dropped: value("dropped_packets"),
            repaired: value("repaired_packets"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::example;

    #[test]
    fn rates_are_differences_over_the_uptime() {
        let before = example();
        let mut now = before.clone();
        now.uptime_seconds += 2.0;
        let session = &mut now.sessions[1];
        session.paths[0].sent_bytes += 1_000_000;
        session.paths[1].sent_bytes += 250_000;
        session.paths[0].received_bytes += 1000;
        session.queue_sent_packets += 100;
        session.queue_sojourn_seconds += 0.5;
        session.values.insert("repaired_packets".to_owned(), 27.0);
        let between = Between::new(Some(&before), &now);
        let session = &now.sessions[1];
        assert_eq!(between.of_path(session, &session.paths[0]), [Some(4e6), Some(4000.0)]);
        let rates = between.of_session(session);
        assert_eq!((rates.sent, rates.received), (Some(5e6), Some(4000.0)));
        assert_eq!((rates.wait_ms, rates.repaired), (Some(5.0), Some(10.0)));
        assert_eq!(rates.dropped, Some(0.0));
    }

    #[test]
    fn what_began_anew_has_no_rate() {
        let before = example();
        let mut now = before.clone();
        now.uptime_seconds += 1.0;
        now.sessions[1].paths[0].sent_bytes = 5;
        let between = Between::new(Some(&before), &now);
        assert_eq!(between.of_path(&now.sessions[1], &now.sessions[1].paths[0]), [None, Some(0.0)]);
        now.sessions[1].session = 3;
        assert_eq!(between.of_session(&now.sessions[1]), SessionRates::default(), "another session");
        now.uptime_seconds = 1.0;
        let of = |now: &Status| Between::new(Some(&before), now).of_session(&now.sessions[0]);
        assert_eq!(of(&now), SessionRates::default(), "another start of the program");
        assert_eq!(Between::new(None, &now).of_session(&now.sessions[0]), SessionRates::default());
    }
}
