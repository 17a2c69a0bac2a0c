//! Requests and responses on one connection: the client sends a request, waits for the whole response,
//! pauses, and sends the next.
//!
//! The response time of a request is the time from passing it to the transport to reading the last byte of
//! its response. The first request is passed once the connection is ready: its response time excludes the
//! handshake.

use super::on_off::ThinkTimes;
use super::{Application, Command, Outcome, Samples};
use quiclab_core::{ByteCount, Duration, Metrics, Time};

quiclab_core::metrics! {
    /// Responses.
    pub static RESPONSES: ResponsesMetrics = Flow, "client of `request_response` or `on_off`" {
        /// Complete responses.
        responses: Counter, End;
        /// From handing over a request to the last byte of its response; that of the first excludes the handshake.
        response_time_ms: Distribution, End;
    }
}

/// Sizes of a request and of its response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) request: ByteCount,
    pub(super) response: ByteCount,
}

/// Requests still to be sent, and their times.
pub(super) enum Requests {
    /// Number of requests left, with a pause between a response and the next request.
    Count { left: u32, pause: Duration },
    /// Requests after think times, until an end.
    Think(ThinkTimes),
}

impl Requests {
    /// Takes the next request; false if there is none.
    fn take(&mut self, now: Time) -> bool {
        match self {
            Self::Count { left, .. } => {
                *left -= 1;
                true
            }
            Self::Think(times) => !times.is_over(now),
        }
    }

    /// What follows a response that is complete at `now`.
    fn next(&mut self, now: Time) -> Next {
        match self {
            Self::Count { left: 0, .. } => Next::End,
            Self::Count { pause: Duration::ZERO, .. } => Next::Request,
            Self::Count { pause, .. } => Next::Wait(now + *pause),
            Self::Think(times) => Next::Wait(times.draw(now)),
        }
    }
}

/// Event after a response.
enum Next {
    Request,
    Wait(Time),
    End,
}

/// Client, which requests.
pub(super) struct Client {
    sizes: Sizes,
    requests: Requests,
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
    pub(super) fn new(sizes: Sizes, requests: Requests) -> Self {
        Self {
            sizes,
            requests,
            expected: 0,
            asked: Time::ZERO,
            resume: None,
            times: Samples::default(),
            outcome: Outcome::default(),
        }
    }

    /// Sends the next request, or ends.
    fn ask(&mut self, now: Time) -> Command {
        if !self.requests.take(now) {
            return self.end(now);
        }
        self.asked = now;
        self.expected = self.sizes.response.bytes();
        Command::Send(self.sizes.request.bytes())
    }

    fn end(&mut self, now: Time) -> Command {
        self.outcome.finish(now);
        Command::Close
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
        match self.requests.next(now) {
            Next::Request => self.ask(now),
            Next::Wait(until) => {
                self.resume = Some(until);
                Command::Wait
            }
            Next::End => self.end(now),
        }
    }

    fn peer_closed(&mut self, _now: Time) -> Command {
        self.failed("closed by the server".to_owned());
        Command::Close
    }

    fn peer_aborted(&mut self, _now: Time) {
        self.failed("reset by the server".to_owned());
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
    sizes: Sizes,
    /// Missing bytes of the current request.
    expected: u64,
    /// Requests not yet complete; `None`: as many as the client sends until it closes.
    left: Option<u32>,
    outcome: Outcome,
}

impl Server {
    pub(super) fn new(sizes: Sizes, left: Option<u32>) -> Self {
        Self { sizes, expected: sizes.request.bytes(), left, outcome: Outcome::default() }
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
        self.left = self.left.map(|left| left - 1);
        self.expected = if self.left == Some(0) { 0 } else { self.sizes.request.bytes() };
        Command::Send(self.sizes.response.bytes())
    }

    fn acknowledged(&mut self, now: Time) {
        if self.left == Some(0) {
            self.outcome.finish(now);
        }
    }

    fn peer_closed(&mut self, now: Time) -> Command {
        let is_complete = self.left.is_none_or(|left| left == 0);
        self.outcome.closed_by_client(now, is_complete, "closed by the client before its last request");
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
    use quiclab_core::RandomStream;

    const SIZES: Sizes = Sizes { request: ByteCount::from_bytes(10), response: ByteCount::from_bytes(100) };

    #[test]
    fn a_client_asks_again_after_the_whole_response_and_the_pause() {
        let mut client = Client::new(SIZES, Requests::Count { left: 2, pause: Duration::from_millis(5) });
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
        let mut server = Server::new(SIZES, Some(2));
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

    #[test]
    fn a_client_that_thinks_requests_nothing_after_its_time() {
        let times = ThinkTimes::new(Duration::from_millis(50), ms(200), RandomStream::new(1, "workload"));
        let mut client = Client::new(SIZES, Requests::Think(times));
        client.start(ms(0));
        assert_eq!(client.connected(ms(20)), Command::Send(10));
        assert_eq!((client.received(ms(30), 99), client.deadline()), (Command::Wait, None));
        assert_eq!(client.received(ms(31), 1), Command::Wait);
        let resume = client.deadline().expect("it thinks");
        assert!((ms(31)..ms(200)).contains(&resume));
        assert_eq!((client.wake(ms(31)), client.wake(resume)), (Command::Wait, Command::Send(10)));
        client.received(ms(230), 100);
        assert_eq!(client.deadline(), Some(ms(230)), "its time is over");
        assert_eq!(client.wake(ms(230)), Command::Close);
        let progress = client.outcome.progress;
        assert_eq!((progress.finished, progress.delivered_bytes), (Some(ms(230)), 200));
    }

    #[test]
    fn a_server_without_a_count_responds_until_the_client_closes() {
        let mut server = Server::new(SIZES, None);
        for at in [1, 2, 3] {
            assert_eq!(server.received(ms(at), 10), Command::Send(100));
        }
        assert_eq!(server.peer_closed(ms(4)), Command::Close);
        assert_eq!(server.outcome.progress.finished, Some(ms(4)));
    }
}
