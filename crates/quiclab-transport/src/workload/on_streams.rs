//! Workload of messages on the streams of QUIC: each request on a separate bidirectional stream, the response
//! on the same one.
//!
//! | message | on a byte stream | on streams |
//! | --- | --- | --- |
//! | of the client | follows the previous one | a new stream, and its end (FIN) |
//! | of the server | follows the previous one | the stream of the request, and its end |
//! | aborted by the server | RST | RESET_STREAM: data in the send buffer must not follow |
//! | the client closes, or aborts | FIN or RST | CONNECTION_CLOSE |
//!
//! This corresponds to HTTP/3 without its frames (RFC 9114 section 4.1). A client that may not open a stream
//! yet sends its message as soon as one is allowed.

use super::{Application, Command, Outcome, StreamApplication, StreamId, Streams};
use quiclab_core::{Metrics, Role, Time};

/// Workload of messages on streams; see the module documentation.
pub(super) struct OnStreams {
    role: Role,
    application: Box<dyn Application>,
    /// Stream of the current message and its response.
    stream: Option<StreamId>,
    /// Length of a message of the client that waits until a stream may be opened.
    waiting: Option<u64>,
    /// Whether the connection is closed, or this end has closed it.
    over: bool,
}

impl OnStreams {
    pub(super) fn new(role: Role, application: Box<dyn Application>) -> Self {
        Self { role, application, stream: None, waiting: None, over: false }
    }

    fn obey(&mut self, command: Command, streams: &mut dyn Streams) {
        match (command, self.role) {
            (Command::Wait, _) => {}
            (Command::Send(bytes), Role::Client) => {
                self.waiting = Some(bytes);
                self.ask(streams);
            }
            (Command::Send(bytes), Role::Server) => {
                let stream = self.stream.expect("a server answers what it has received");
                send(stream, bytes, streams);
            }
            (Command::Abort, Role::Server) => {
                if let Some(stream) = self.stream {
                    streams.reset(stream);
                }
            }
            (Command::Close | Command::Abort, _) => {
                self.over = true;
                streams.close();
            }
        }
    }

    /// Sends the waiting message, if there is one and a stream for it.
    fn ask(&mut self, streams: &mut dyn Streams) {
        if self.waiting.is_none() || self.over {
            return;
        }
        if let Some(stream) = streams.open(true) {
            self.stream = Some(stream);
            send(stream, self.waiting.take().expect("looked at"), streams);
        }
    }
}

fn send(stream: StreamId, bytes: u64, streams: &mut dyn Streams) {
    streams.write(stream, bytes);
    if bytes != u64::MAX {
        streams.finish(stream);
    }
}

impl StreamApplication for OnStreams {
    fn start(&mut self, now: Time) {
        self.application.start(now);
    }

    fn connected(&mut self, now: Time, streams: &mut dyn Streams) {
        let command = self.application.connected(now);
        self.obey(command, streams);
    }

    fn received(&mut self, now: Time, stream: StreamId, bytes: u64, _end: bool, streams: &mut dyn Streams) {
        if self.over {
            return;
        }
        match self.role {
            Role::Server => self.stream = Some(stream),
            Role::Client if self.stream != Some(stream) => return,
            Role::Client => {}
        }
        let bytes = bytes.min(self.application.expected());
        if bytes > 0 {
            let command = self.application.received(now, bytes);
            self.obey(command, streams);
        }
    }

    fn reset_by_peer(&mut self, now: Time, stream: StreamId, streams: &mut dyn Streams) {
        if self.over || self.stream != Some(stream) {
            return;
        }
        self.application.peer_aborted(now);
        if self.role == Role::Client {
            self.obey(Command::Close, streams);
        }
    }

    fn acknowledged(&mut self, now: Time, stream: StreamId) {
        if self.role == Role::Server && self.stream == Some(stream) {
            self.application.acknowledged(now);
        }
    }

    fn available(&mut self, _now: Time, streams: &mut dyn Streams) {
        self.ask(streams);
    }

    fn closed_by_peer(&mut self, now: Time) {
        if !self.over {
            self.over = true;
            self.application.peer_closed(now);
        }
    }

    fn failed(&mut self, reason: String) {
        self.over = true;
        self.application.failed(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.application.deadline().filter(|_| !self.over)
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            let command = self.application.wake(now);
            self.obey(command, streams);
        }
    }

    fn outcome(&self) -> &Outcome {
        self.application.outcome()
    }

    fn statistics(&self, out: &mut Metrics) {
        self.application.statistics(out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::build_on_streams;
    use super::super::testing::{Call, Recorder};
    use super::*;
    use crate::options::Workload;
    use crate::testing::ms;
    use quiclab_core::{ByteCount, Duration, RandomStream};

    fn ends(workload: &Workload) -> [Box<dyn StreamApplication>; 2] {
        [Role::Client, Role::Server].map(|role| {
            build_on_streams(role, workload, ms(0), RandomStream::new(1, "workload"))
                .expect("a good workload")
        })
    }

    const KB: Option<ByteCount> = Some(ByteCount::from_bytes(1000));
    const REQUEST: ByteCount = ByteCount::from_bytes(100);
    const FIRST: StreamId = StreamId(0);

    #[test]
    fn a_download_is_one_stream() {
        let [mut client, mut server] =
            ends(&Workload::Download { size: KB, duration: None, request: REQUEST });
        let mut streams = Recorder::new(Role::Client);
        client.start(ms(0));
        client.connected(ms(10), &mut streams);
        assert_eq!(streams.take(), [Call::Open(FIRST), Call::Write(FIRST, 100), Call::Finish(FIRST)]);
        server.connected(ms(15), &mut streams);
        server.received(ms(20), FIRST, 60, false, &mut streams);
        assert_eq!(streams.take(), []);
        server.received(ms(21), FIRST, 40, true, &mut streams);
        assert_eq!(streams.take(), [Call::Write(FIRST, 1000), Call::Finish(FIRST)]);
        client.received(ms(30), FIRST, 999, false, &mut streams);
        assert_eq!((streams.take(), client.outcome().progress.finished), (vec![], None));
        client.received(ms(31), FIRST, 1, true, &mut streams);
        assert_eq!((streams.take(), client.outcome().progress.finished), (vec![Call::Close], Some(ms(31))));
        server.acknowledged(ms(40), FIRST);
        assert_eq!(server.outcome().progress.finished, Some(ms(40)));
        server.closed_by_peer(ms(41));
        assert!(!server.outcome().progress.failed);
    }

    #[test]
    fn a_download_of_a_given_duration_ends_by_a_reset_of_the_stream() {
        let duration = Some(Duration::from_millis(500));
        let [mut client, mut server] = ends(&Workload::Download { size: None, duration, request: REQUEST });
        let mut streams = Recorder::new(Role::Client);
        client.connected(ms(10), &mut streams);
        server.received(ms(20), FIRST, 100, true, &mut streams);
        streams.take();
        server.wake(ms(499), &mut streams);
        assert_eq!((server.deadline(), streams.take()), (Some(ms(500)), vec![]));
        server.wake(ms(500), &mut streams);
        assert_eq!((server.deadline(), streams.take()), (None, vec![Call::Reset(FIRST)]));
        client.received(ms(30), FIRST, 7000, false, &mut streams);
        client.reset_by_peer(ms(510), FIRST, &mut streams);
        let progress = client.outcome().progress;
        assert_eq!((progress.finished, progress.delivered_bytes), (Some(ms(510)), 7000));
        assert_eq!((streams.take(), client.deadline()), (vec![Call::Close], None));
    }

    #[test]
    fn each_request_has_its_stream_and_waits_for_one() {
        let (request, response) = (REQUEST, ByteCount::from_bytes(500));
        let workload =
            Workload::RequestResponse { count: 3, request, response, pause: Duration::from_millis(5) };
        let [mut client, mut server] = ends(&workload);
        let mut streams = Recorder::new(Role::Client);
        streams.limit = 1;
        client.connected(ms(0), &mut streams);
        server.received(ms(1), FIRST, 100, true, &mut streams);
        let asked = [Call::Open(FIRST), Call::Write(FIRST, 100), Call::Finish(FIRST)];
        assert_eq!(streams.take(), [&asked[..], &[Call::Write(FIRST, 500), Call::Finish(FIRST)]].concat());
        client.received(ms(2), FIRST, 500, true, &mut streams);
        assert_eq!(client.deadline(), Some(ms(7)));
        client.wake(ms(7), &mut streams);
        assert_eq!(streams.take(), [], "the limit is one");
        streams.limit = 3;
        client.available(ms(8), &mut streams);
        client.available(ms(8), &mut streams);
        let second = StreamId(4);
        assert_eq!(streams.take(), [Call::Open(second), Call::Write(second, 100), Call::Finish(second)]);
    }

    #[test]
    fn a_server_that_closes_early_is_a_failure() {
        let [mut client, _] = ends(&Workload::Download { size: KB, duration: None, request: REQUEST });
        client.connected(ms(0), &mut Recorder::new(Role::Client));
        client.closed_by_peer(ms(5));
        assert_eq!(client.outcome().failure.as_deref(), Some("closed by the server"));
    }
}
