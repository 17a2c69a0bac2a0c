//! The timers of an endpoint: those of connections and those of a client's sessions.

use super::connection::ConnectionKey;
use super::event::SessionId;
use super::tunnel_endpoint::{Due, TunnelEndpoint};
use quiclab_core::{Duration, Time};
use std::collections::BTreeSet;

/// A deadline that is due again immediately is postponed by this time: virtual time advances.
const MIN_TIMER_STEP: Duration = Duration::from_micros(1);

impl TunnelEndpoint {
    /// Handles the timers that are due.
    pub fn wake(&mut self, now: Time) {
        self.set_now(now);
        while let Some((_, due)) = self.timers.first().copied().filter(|(time, _)| *time <= now) {
            self.timers.pop_first();
            match due {
                Due::Session(id) => {
                    if let Some(session) = self.sessions.get_mut(&id) {
                        session.timer = None;
                    }
                    self.maintain(now, id);
                }
                Due::TunnelConnection(key) => {
                    let Some(conn) = self.connections.get_mut(&key) else { continue };
                    conn.timer = None;
                    conn.flush(now);
                    conn.timeout(now, &mut self.tls);
                    if conn.attempt_ends().is_some_and(|end| end <= now) {
                        if conn.over {
                            self.destroy(key);
                        } else {
                            self.give_up(now, key);
                        }
                    }
                    self.handle_events(now, key);
                }
            }
        }
    }

    /// Time at which [`TunnelEndpoint::wake`] must be called.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Sets the timer of a connection.
    pub(super) fn schedule(&mut self, now: Time, key: ConnectionKey) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let session = conn.session.and_then(|id| self.sessions.get(&id));
        let backlogged = session.is_some_and(|session| session.backlogged);
        let unread = conn.http3.as_ref().is_some_and(|http3| http3.is_unread() && !conn.over).then_some(now);
        let limit = conn.attempt_ends().into_iter().chain(unread).min();
        let deadline = conn.deadline(now, backlogged, limit).map(|time| time.max(now + MIN_TIMER_STEP));
        set_timer(&mut self.timers, &mut conn.timer, deadline, Due::TunnelConnection(key));
    }

    /// Sets the timer of a client's session.
    pub(super) fn schedule_session(&mut self, now: Time, id: SessionId, deadline: Option<Time>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let deadline = deadline.map(|time| time.max(now + MIN_TIMER_STEP));
        set_timer(&mut self.timers, &mut session.timer, deadline, Due::Session(id));
    }
}

/// Moves the entry `due` from `timer` to `deadline`.
fn set_timer(timers: &mut BTreeSet<(Time, Due)>, timer: &mut Option<Time>, deadline: Option<Time>, due: Due) {
    if *timer != deadline {
        if let Some(time) = *timer {
            timers.remove(&(time, due));
        }
        if let Some(time) = deadline {
            timers.insert((time, due));
        }
        *timer = deadline;
    }
}
