//! On and off: the client requests a burst, waits for all of it and for a think time, and requests the next,
//! on one connection.
//!
//! An on period is as long as the network needs for the burst; think times are exponentially distributed,
//! without the heavy tail of Barford and Crovella, "Generating Representative Web Workloads for Network and
//! Server Performance Evaluation" (SIGMETRICS 1998). After `duration` no further burst is requested; the
//! current one is completed.

use super::request_response::RESPONSES;
use super::{Application, Command, Outcome, Samples};
use quiclab_core::{ByteCount, Duration, Metrics, RandomStream, Time};

/// Client, which requests bursts.
pub(super) struct Client {
    request: u64,
    burst: u64,
    /// Mean of the think times.
    think_time: Duration,
    /// Time after which no burst is requested.
    end: Time,
    random: RandomStream,
    /// Missing bytes of the current burst; 0: during a think time.
    expected: u64,
    /// Time at which the current burst was requested.
    asked: Time,
    /// End of the think time; `None` while a burst is awaited.
    resume: Option<Time>,
    times: Samples,
    outcome: Outcome,
}

impl Client {
    pub(super) fn new(
        (request, burst): (ByteCount, ByteCount),
        think_time: Duration,
        end: Time,
        random: RandomStream,
    ) -> Self {
        Self {
            request: request.bytes(),
            burst: burst.bytes(),
            think_time,
            end,
            random,
            expected: 0,
            asked: Time::ZERO,
            resume: None,
            times: Samples::default(),
            outcome: Outcome::default(),
        }
    }

    /// Requests the next burst, or ends.
    fn ask(&mut self, now: Time) -> Command {
        self.resume = None;
        if now >= self.end {
            self.outcome.finish(now);
            return Command::Close;
        }
        self.asked = now;
        self.expected = self.burst;
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
        if self.expected == 0 {
            self.times.add(now.since(self.asked));
            let think = exponential(self.think_time, &mut self.random);
            self.resume = Some((now + think).min(self.end.max(now)));
        }
        Command::Wait
    }

    fn peer_closed(&mut self, _now: Time) -> Command {
        self.failed("closed by the server".to_owned());
        Command::Close
    }

    fn failed(&mut self, reason: String) {
        self.resume = None;
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.resume
    }

    fn wake(&mut self, now: Time) -> Command {
        if self.resume.is_none_or(|resume| resume > now) { Command::Wait } else { self.ask(now) }
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        out.count(&RESPONSES.responses, self.times.count());
        self.times.report(&RESPONSES.response_time_ms, out);
    }
}

/// Draws a time from the exponential distribution with this mean.
fn exponential(mean: Duration, random: &mut RandomStream) -> Duration {
    Duration::from_nanos((mean.as_nanos() as f64 * -libm::log(1.0 - random.uniform())) as u64)
}

/// Server, which responds.
pub(super) struct Server {
    request: u64,
    burst: u64,
    /// Missing bytes of the current request.
    expected: u64,
    outcome: Outcome,
}

impl Server {
    pub(super) fn new(request: ByteCount, burst: ByteCount) -> Self {
        let (request, burst) = (request.bytes(), burst.bytes());
        Self { request, burst, expected: request, outcome: Outcome::default() }
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
        self.expected = self.request;
        Command::Send(self.burst)
    }

    fn peer_closed(&mut self, now: Time) -> Command {
        self.outcome.finish(now);
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

    const REQUEST: ByteCount = ByteCount::from_bytes(10);
    const BURST: ByteCount = ByteCount::from_bytes(100);

    fn client(end_ms: u64) -> Client {
        let random = RandomStream::new(1, "workload");
        Client::new((REQUEST, BURST), Duration::from_millis(50), ms(end_ms), random)
    }

    #[test]
    fn a_client_thinks_between_bursts_and_asks_for_none_after_its_time() {
        let mut client = client(200);
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

    /// The mean of an exponential distribution; of 4000 draws its standard error is 1.6 %.
    #[test]
    fn think_times_have_their_mean() {
        let mut client = client(u64::MAX / 2_000_000);
        let mut now = ms(0);
        let mut thought = Duration::ZERO;
        client.connected(now);
        for _ in 0..4000 {
            client.received(now, 100);
            let resume = client.deadline().expect("it thinks");
            thought += resume.since(now);
            now = resume;
            client.wake(now);
        }
        let mean = thought.as_ms_f64() / 4000.0;
        assert!((mean / 50.0 - 1.0).abs() < 0.05, "{mean} ms");
    }

    #[test]
    fn a_server_answers_until_the_client_closes() {
        let mut server = Server::new(REQUEST, BURST);
        for at in [1, 2, 3] {
            assert_eq!(server.received(ms(at), 10), Command::Send(100));
        }
        assert_eq!(server.peer_closed(ms(4)), Command::Close);
        assert_eq!(server.outcome.progress.finished, Some(ms(4)));
    }
}
