//! Driver of all stacks: an [`Endpoint`] made from a [`Stack`] and an application.
//!
//! Each call from the simulation passes on a datagram or the due timers, lets the application act, and sends
//! until the stack has nothing to send at this time. Datagrams are sent one by one, never as a batch for
//! segmentation offload.
//!
//! Timers are those of tokio, on which both stacks run: [`tokio_wakes`]. Datagrams that arrive at the same instant are read
//! together, as by `recvmmsg`, before the stack sends.

#[cfg(test)]
mod tests;

use crate::library::Stack;
use crate::observation::SharedObservation;
use crate::on_streams::OnStreams;
use crate::seeded;
use crate::time::Clock;
use bytes::{Bytes, BytesMut};
use quiclab_core::{
    ByteCount, Counters, Duration, Ecn, Element, Endpoint, EndpointIdentity, Metrics, NIC, Nic, Outputs,
    Packet, PageClient, Payload, Port, Progress, RandomStream, RecoveryState, Role, Time,
};

quiclab_core::metrics! {
    /// Acknowledgements and losses of a real stack.
    pub static REAL_STACK: RealStackMetrics = Flow, "endpoint, quinn and noq" {
        /// Bytes declared lost.
        lost_bytes: Counter, End;
        /// ACK frames sent.
        ack_frames_sent: Counter, End;
        /// ACK frames received.
        ack_frames_received: Counter, End;
    }
}

/// Time by which a deadline is postponed that is still due after it was handled, so that a stack that
/// requests the same instant again does not stop network time.
const MIN_TIMER_STEP: Duration = Duration::from_micros(1);
/// Resolution of tokio's timers, and of `epoll_wait`.
const TICK: u64 = 1_000_000;
/// Maximum number of consecutive wakes without a datagram or an event; beyond it the connection fails. It
/// lasts 0.1 s, four times the delay of acknowledgements.
const MAX_RETRIES: u32 = 100_000;

/// Millisecond tick at which a timer of tokio has expired (`TimeSource::deadline_to_tick`).
fn tick_of(deadline: Time) -> Time {
    Time::from_nanos(deadline.as_nanos().div_ceil(TICK).saturating_mul(TICK))
}

/// Time at which tokio fires a timer that is set at `now`. The thread sleeps for whole milliseconds until
/// that tick (`Selector::select` of mio rounds up, as the resolution of `epoll_wait` is a millisecond), so
/// the timer is up to two milliseconds late.
fn tokio_wakes(now: Time, deadline: Time) -> Time {
    let sleep = tick_of(deadline).since(now).as_nanos().div_ceil(TICK).saturating_mul(TICK);
    Time::from_nanos(now.as_nanos().saturating_add(sleep))
}

/// Endpoint of a flow.
pub(crate) struct QuicEndpoint<S: Stack> {
    stack: S,
    application: OnStreams<S::Stream>,
    clock: Clock,
    /// Time at which the client connects; `None` afterwards, and for servers.
    start: Option<Time>,
    /// Random stream of TLS; `None` only while it is lent.
    tls_random: Option<RandomStream>,
    observation: Option<SharedObservation>,
    nic: Nic,
    /// Datagram that is being written.
    datagram: Vec<u8>,
    /// Time at which the stack's timer expires.
    expires: Option<Time>,
    wake: Option<Time>,
    /// Number of consecutive times that the stack's deadline was already due, since its last datagram or
    /// event.
    retries: u32,
}

impl<S: Stack> QuicEndpoint<S> {
    pub(crate) fn new(
        identity: &EndpointIdentity,
        stack: S,
        application: OnStreams<S::Stream>,
        start: Time,
        tls_random: RandomStream,
        observation: Option<SharedObservation>,
    ) -> Self {
        let start = (identity.role == Role::Client).then_some(start);
        Self {
            stack,
            application,
            clock: Clock::new(),
            start,
            tls_random: Some(tls_random),
            observation,
            nic: Nic::new(identity, identity.tuple),
            datagram: Vec::new(),
            expires: None,
            wake: start,
            retries: 0,
        }
    }

    /// Calls the stack, with random numbers for TLS as long as it may need them.
    fn call<R>(&mut self, call: impl FnOnce(&mut S) -> R) -> R {
        if self.stack.is_handshaking() {
            seeded::with_stream(&mut self.tls_random, || call(&mut self.stack))
        } else {
            call(&mut self.stack)
        }
    }

    fn begin(&self, now: Time) {
        if let Some(observation) = &self.observation {
            observation.lock().begin(now);
        }
    }

    /// Runs the application, sends all datagrams that can be sent now, and sets the next deadline; one that
    /// is already due becomes `retry`, up to [`MAX_RETRIES`] times.
    fn advance(&mut self, now: Time, retry: Time, out: &mut Outputs) {
        let instant = self.clock.instant(now);
        let mut event = self.call(Stack::poll);
        loop {
            while let Some(happened) = event {
                self.retries = 0;
                self.application.handle(happened, now, instant, &mut self.stack);
                event = self.call(Stack::poll);
            }
            let sent = self.nic.counters().sent.packets;
            while let Some((ecn, path)) = {
                self.datagram.clear();
                self.stack.transmit(instant, &mut self.datagram)
            } {
                self.send(now, path, ecn, out);
            }
            // sending may have caused events; without it there are none
            event = if self.nic.counters().sent.packets > sent { self.call(Stack::poll) } else { None };
            if event.is_none() {
                break;
            }
        }
        if let Some(observation) = &self.observation {
            observation.lock().end(self.stack.snapshot().recovery, self.stack.is_handshaking());
        }
        let stack = self.stack.deadline().map(|deadline| self.clock.deadline(deadline));
        if stack.is_none_or(|deadline| deadline > now) {
            self.retries = 0;
        } else {
            self.retries += 1;
            if self.is_stuck() {
                return self.give_up(now);
            }
        }
        self.expires = stack.map(|deadline| if deadline > now { tick_of(deadline) } else { retry });
        let fires = stack.map(|deadline| if deadline > now { tokio_wakes(now, deadline) } else { retry });
        self.wake = [fires, self.start, self.application.deadline()].into_iter().flatten().min();
    }

    const fn is_stuck(&self) -> bool {
        self.retries == MAX_RETRIES
    }

    /// Fails the connection: the stack is not called again.
    fn give_up(&mut self, now: Time) {
        let (name, times) = (S::NAME, MAX_RETRIES);
        self.application.fail(format!(
            "{name} is stuck at {now}: {times} times in a row it wanted to be woken at once and did nothing"
        ));
        self.wake = None;
    }

    fn send(&mut self, now: Time, path: u8, ecn: Ecn, out: &mut Outputs) {
        self.retries = 0;
        let size = ByteCount::from_bytes(self.datagram.len() as u64);
        let payload = Payload::Bytes(take(&mut self.datagram));
        self.nic.send(now, Port(path.into()), size, ecn, payload, out);
    }
}

/// Takes the content of `datagram`. A full one is moved together with its allocation; a small one is copied
/// into an allocation of its size, and the large one is reused.
fn take(datagram: &mut Vec<u8>) -> BytesMut {
    if datagram.len() == datagram.capacity() {
        BytesMut::from(Bytes::from(std::mem::take(datagram)))
    } else {
        BytesMut::from(datagram.as_slice())
    }
}

impl<S: Stack> Element for QuicEndpoint<S> {
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        self.nic.receive(&packet);
        let Payload::Bytes(payload) = packet.payload else {
            return; // misrouted background traffic
        };
        if self.is_stuck() {
            return;
        }
        self.begin(now);
        let instant = self.clock.instant(now);
        let mut answer = std::mem::take(&mut self.datagram);
        answer.clear();
        let path = port.0 as u8;
        let answered = self.call(|stack| stack.receive(instant, path, packet.ecn, payload, &mut answer));
        self.datagram = answer;
        if answered {
            self.send(now, path, Ecn::NotEct, out);
        }
        self.wake = Some(now); // after all datagrams of this instant have been read
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.begin(now);
        let instant = self.clock.instant(now);
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            self.application.start(now);
            self.call(|stack| stack.connect(instant));
        }
        let expired = self.expires.is_some_and(|expires| expires <= now);
        if expired {
            self.call(|stack| stack.wake(instant));
        }
        self.application.wake(now, instant, &mut self.stack);
        self.advance(now, if expired { now + MIN_TIMER_STEP } else { now }, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        let snapshot = self.stack.snapshot();
        report(&snapshot, out);
        out.count(&REAL_STACK.lost_bytes, snapshot.lost_bytes);
        out.count(&REAL_STACK.ack_frames_sent, snapshot.ack_frames_sent);
        out.count(&REAL_STACK.ack_frames_received, snapshot.ack_frames_received);
        self.application.application().statistics(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        report(&self.stack.snapshot(), out);
        self.application.application().sample(out);
    }
}

/// Reports the values that have a time series.
fn report(snapshot: &crate::library::Snapshot, out: &mut Metrics) {
    snapshot.recovery.report(out);
    out.count(&NIC.packets_sent, snapshot.packets_sent);
    out.count(&NIC.packets_received, snapshot.datagrams_received);
}

impl<S: Stack> Endpoint for QuicEndpoint<S> {
    fn progress(&self) -> Progress {
        self.application.outcome().progress
    }

    fn failure(&self) -> Option<&str> {
        self.application.outcome().failure.as_deref()
    }

    fn recovery(&mut self) -> Option<RecoveryState> {
        Some(self.stack.snapshot().recovery)
    }

    fn page_client(&self) -> Option<&dyn PageClient> {
        self.application.page_client()
    }
}
