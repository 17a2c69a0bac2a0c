//! Requests and responses on one connection: the client sends a request, waits for the whole response,
//! pauses, and sends the next.
//!
//! The response time of a request is the time from passing it to the transport to reading the last byte of
//! its response. The first request is passed once the connection is ready: its response time excludes the
//! handshake.

use super::{Application, Command, Outcome, Samples};
use quiclab_core::{ByteCount, Duration, Metrics, Time};

quiclab_core::metrics! {
    /// Responses.
    pub static RESPONSES: ResponsesMetrics = "client of `request_response` or `on_off`" {
        /// Complete responses.
        responses: Counter, End;
        /// From handing over a request to the last byte of its response; that of the first excludes the handshake.
        response_time_ms: Distribution, End;
    }
}

/// Client, which sends requests.
pub(super) struct Client {
    request: u64,
    response: u64,
    pause: Duration,
    /// Number of requests not yet sent.
    left: u32,
    /// Missing bytes of the current response; 0: none is awaited.
    expected: u64,
    /// Time at which the current request was sent.
    asked: Time,
    /// End of the pause; `None` outside a pause.
    resume: Option<Time>,
    times: Samples,
    outcome: Outcome,
}

impl Client {
    pub(super) fn new(count: u32, request: ByteCount, response: ByteCount, pause: Duration) -> Self {
        Self {
            request: request.bytes(),
            response: response.bytes(),
            pause,
            left: count,
            expected: 0,
            asked: Time::ZERO,
            resume: None,
            times: Samples::default(),
            outcome: Outcome::default(),
        }
    }

    fn ask(&mut self, now: Time) -> Command {
        self.left -= 1;
        self.asked = now;
        self.expected = self.response;
        Command::Send(self.request)
    }
}

impl Application for Client {
    fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    fn connected(&mut self, now: Time) -> Command {
        self.ask(now)
    }

    fn expected(&self) -> u64 {
        self.expected
    }

    fn received(&mut self, now: Time, bytes: u64) -> Command {
        self.outcome.progress.delivered_bytes += bytes;
        self.expected -= bytes;
        if self.expected > 0 {
            return Command::Wait;
        }
        self.times.add(now.since(self.asked));
        if self.left == 0 {
            self.outcome.finish(now);
            Command::Close
        } else if self.pause == Duration::ZERO {
            self.ask(now)
        } else {
            self.resume = Some(now + self.pause);
            Command::Wait
        }
    }

    fn peer_closed(&mut self, _now: Time) -> Command {
        self.resume = None;
        self.outcome.fail("closed by the server".to_owned());
        Command::Close
    }

    fn peer_aborted(&mut self, _now: Time) {
        self.resume = None;
        self.outcome.fail("reset by the server".to_owned());
    }

    fn failed(&mut self, reason: String) {
        self.resume = None;
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.resume
    }

    fn wake(&mut self, now: Time) -> Command {
        if self.resume.is_none_or(|resume| resume > now) {
            return Command::Wait;
        }
        self.resume = None;
        self.ask(now)
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        out.count(&RESPONSES.responses, self.times.count());
        self.times.report(&RESPONSES.response_time_ms, out);
    }
}

/// Server, which responds.
pub(super) struct Server {
    request: u64,
    response: u64,
    /// Missing bytes of the current request.
    expected: u64,
    /// Number of requests not yet complete.
    left: u32,
    outcome: Outcome,
}

impl Server {
    pub(super) fn new(count: u32, request: ByteCount, response: ByteCount) -> Self {
        let (request, response) = (request.bytes(), response.bytes());
        Self { request, response, expected: request, left: count, outcome: Outcome::default() }
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
        self.left -= 1;
        self.expected = if self.left == 0 { 0 } else { self.request };
        Command::Send(self.response)
    }

    fn acknowledged(&mut self, now: Time) {
        if self.left == 0 {
            self.outcome.finish(now);
        }
    }

    fn peer_closed(&mut self, now: Time) -> Command {
        self.outcome.closed_by_client(now, self.left == 0, "closed by the client before its last request");
        Command::Close
    }

    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
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
    fn a_client_asks_again_after_the_whole_response_and_the_pause() {
        let size = ByteCount::from_bytes;
        let mut client = Client::new(2, size(10), size(100), Duration::from_millis(5));
        client.start(ms(0));
        assert_eq!(client.connected(ms(20)), Command::Send(10));
        assert_eq!((client.received(ms(30), 99), client.deadline()), (Command::Wait, None));
        assert_eq!((client.received(ms(32), 1), client.deadline()), (Command::Wait, Some(ms(37))));
        assert_eq!((client.wake(ms(36)), client.wake(ms(37))), (Command::Wait, Command::Send(10)));
        assert_eq!(client.received(ms(57), 100), Command::Close);
        let progress = client.outcome.progress;
        assert_eq!((progress.finished, progress.delivered_bytes), (Some(ms(57)), 200));
        let mut metrics = Metrics::default();
        client.statistics(&mut metrics);
        // 32 - 20 and 57 - 37; nearest rank of 95 % of two values is the second
        let expected = [
            ("responses", 2.0),
            ("response_time_ms_mean", 16.0),
            ("response_time_ms_min", 12.0),
            ("response_time_ms_max", 20.0),
            ("response_time_ms_p50", 12.0),
            ("response_time_ms_p95", 20.0),
            ("response_time_ms_p99", 20.0),
        ];
        assert_eq!(metrics, expected);
    }

    #[test]
    fn a_server_answers_each_complete_request() {
        let size = ByteCount::from_bytes;
        let mut server = Server::new(2, size(10), size(100));
        assert_eq!(
            (server.received(ms(1), 9), server.received(ms(2), 1)),
            (Command::Wait, Command::Send(100))
        );
        server.acknowledged(ms(3));
        assert_eq!((server.outcome.progress.finished, server.expected()), (None, 10));
        assert_eq!((server.received(ms(4), 10), server.expected()), (Command::Send(100), 0));
        server.acknowledged(ms(5));
        assert_eq!(server.outcome.progress.finished, Some(ms(5)));
    }
}
