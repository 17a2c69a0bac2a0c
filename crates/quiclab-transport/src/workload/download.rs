//! Download on a byte stream: the client sends one request, the server responds.
//!
//! | end | actions |
//! | --- | --- |
//! | client | sends the request once connected, reads and discards the response, closes as soon as the response is complete |
//! | server | reads the request to its end, then writes the response as fast as there is room |
//!
//! A response of a given duration is ended by an abort that long after the client's start: data in the send
//! buffer must not follow. The data that the client has read in order by then count. If the abort does not
//! reach the client within [`GRACE`], the client ends the transfer itself.
//!
//! A run is done when the client's progress is finished. That of the server is finished when all its data are
//! acknowledged or the client has closed the connection, whichever is first.

use super::{Application, Command, Outcome};
use quiclab_core::{Duration, Metrics, Time};

quiclab_core::metrics! {
    /// Download.
    pub static DOWNLOAD: DownloadMetrics = Flow, "client of `download`" {
        /// From the start of the client to the first byte of the response.
        first_byte_ms: Time, End;
    }
}

/// Time for which a client waits for the end of a response of a given duration: longer than any relevant RTT
/// or timeout.
const GRACE: Duration = Duration::from_secs(10);

/// Client, which sends the request.
pub(super) struct Client {
    request: u64,
    /// Missing bytes of the response; `u64::MAX`: no limit.
    expected: u64,
    /// Time at which a response of a given duration must have ended.
    until: Option<Time>,
    connected: bool,
    /// Time from the start to the first byte of the response; `None`: none has been read.
    first_byte: Option<Duration>,
    outcome: Outcome,
}

impl Client {
    /// Makes a client that requests `answer` bytes, `u64::MAX` without a limit, or the data until `end`.
    pub(super) fn new(request: u64, answer: u64, end: Option<Time>) -> Self {
        Self {
            request,
            expected: answer,
            until: end.map(|end| end + GRACE),
            connected: false,
            first_byte: None,
            outcome: Outcome::default(),
        }
    }
}

impl Application for Client {
    fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    fn connected(&mut self, _now: Time) -> Command {
        self.connected = true;
        Command::Send(self.request)
    }

    fn expected(&self) -> u64 {
        self.expected
    }

    fn received(&mut self, now: Time, bytes: u64) -> Command {
        let progress = &mut self.outcome.progress;
        progress.delivered_bytes += bytes;
        let waited = progress.started.map(|started| now.since(started));
        self.first_byte = self.first_byte.or(waited);
        if self.expected == u64::MAX {
            return Command::Wait;
        }
        self.expected -= bytes;
        if self.expected > 0 {
            return Command::Wait;
        }
        self.outcome.finish(now);
        Command::Close
    }

    fn peer_closed(&mut self, _now: Time) -> Command {
        self.outcome.fail("closed by the server".to_owned());
        Command::Close
    }

    fn peer_aborted(&mut self, now: Time) {
        if self.until.is_some() && self.connected {
            self.outcome.finish(now);
        } else {
            self.outcome.fail("reset by the server".to_owned());
        }
    }

    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.until.filter(|_| self.connected && self.outcome.progress.finished.is_none())
    }

    fn wake(&mut self, now: Time) -> Command {
        if self.deadline().is_none_or(|until| until > now) {
            return Command::Wait;
        }
        self.outcome.finish(now);
        Command::Abort
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        if let Some(first_byte) = self.first_byte {
            out.set(&DOWNLOAD.first_byte_ms, first_byte.as_ms_f64());
        }
    }
}

/// Server, which responds.
pub(super) struct Server {
    /// Missing bytes of the request.
    expected: u64,
    /// Length of the response; `u64::MAX`: without end.
    answer: u64,
    /// Time at which it stops writing; `None` if the response has a length.
    until: Option<Time>,
    writing: bool,
    outcome: Outcome,
}

impl Server {
    /// Makes the server of [`Client::new`].
    pub(super) fn new(request: u64, answer: u64, until: Option<Time>) -> Self {
        Self { expected: request, answer, until, writing: false, outcome: Outcome::default() }
    }
}

impl Application for Server {
    fn expected(&self) -> u64 {
        self.expected
    }

    fn received(&mut self, now: Time, bytes: u64) -> Command {
        self.outcome.progress.read(now, bytes);
        self.expected -= bytes;
        if self.expected > 0 {
            return Command::Wait;
        }
        self.writing = true;
        if self.deadline().is_some_and(|until| until <= now) {
            return self.wake(now);
        }
        Command::Send(self.answer)
    }

    fn acknowledged(&mut self, now: Time) {
        if self.writing && self.until.is_none() {
            self.writing = false;
            self.outcome.finish(now);
        }
    }

    fn peer_closed(&mut self, now: Time) -> Command {
        let early = "closed by the client before its request was complete";
        self.outcome.closed_by_client(now, self.expected == 0, early);
        Command::Close
    }

    fn failed(&mut self, reason: String) {
        self.writing = false;
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.until.filter(|_| self.writing)
    }

    fn wake(&mut self, now: Time) -> Command {
        if self.deadline().is_none_or(|until| until > now) {
            return Command::Wait;
        }
        self.writing = false;
        self.outcome.finish(now);
        Command::Abort
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    #[test]
    fn an_answer_of_a_given_size_ends_when_its_last_byte_is_read() {
        let mut client = Client::new(100, 1000, None);
        client.start(ms(0));
        assert_eq!(client.connected(ms(10)), Command::Send(100));
        let mut before = Metrics::default();
        client.statistics(&mut before);
        assert_eq!(before, []);
        assert_eq!((client.received(ms(20), 999), client.expected()), (Command::Wait, 1));
        assert_eq!(client.outcome.progress.finished, None);
        assert_eq!(client.received(ms(30), 1), Command::Close);
        let progress = client.outcome.progress;
        assert_eq!((progress.started, progress.finished), (Some(ms(0)), Some(ms(30))));
        assert_eq!((progress.delivered_bytes, progress.failed), (1000, false));
        let mut out = Metrics::default();
        client.statistics(&mut out);
        // 20 - 0
        assert_eq!(out, [("first_byte_ms", 20.0)]);
    }

    #[test]
    fn an_answer_of_a_given_duration_ends_by_an_abort() {
        let mut server = Server::new(100, u64::MAX, Some(ms(500)));
        assert_eq!(server.deadline(), None, "nothing to end before the request");
        assert_eq!(server.received(ms(20), 100), Command::Send(u64::MAX));
        assert_eq!(server.deadline(), Some(ms(500)));
        assert_eq!((server.wake(ms(499)), server.wake(ms(500))), (Command::Wait, Command::Abort));
        assert_eq!((server.deadline(), server.outcome.progress.finished), (None, Some(ms(500))));

        let mut client = Client::new(100, u64::MAX, Some(ms(500)));
        client.connected(ms(10));
        client.received(ms(20), 7000);
        client.peer_aborted(ms(510));
        assert_eq!(
            (client.outcome.progress.finished, client.outcome.progress.failed),
            (Some(ms(510)), false)
        );
    }

    #[test]
    fn a_client_whose_abort_is_lost_ends_by_itself() {
        let mut client = Client::new(100, u64::MAX, Some(ms(500)));
        assert_eq!(client.deadline(), None, "not before it is connected: the handshake fails by itself");
        client.connected(ms(10));
        let end = ms(500) + GRACE;
        assert_eq!((client.deadline(), client.wake(end)), (Some(end), Command::Abort));
        assert_eq!(client.outcome.progress.finished, Some(end));
    }

    #[test]
    fn an_end_before_the_answer_is_complete_is_a_failure() {
        for closes in [true, false] {
            let mut client = Client::new(1000, 1000, None);
            client.connected(ms(10));
            client.received(ms(20), 500);
            if closes {
                client.peer_closed(ms(40));
            } else {
                client.peer_aborted(ms(40));
            }
            assert!(client.outcome.progress.failed);
            assert!(client.outcome.failure.as_deref().unwrap().ends_with("by the server"));
        }
    }
}
