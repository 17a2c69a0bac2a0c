//! Two endpoints and the paths between them.

use crate::case::{Case, PATIENT};
use crate::checks::Checks;
use crate::options::{CLIENT, SERVER};
use quiclab_core::{
    Duration, Endpoint, EndpointIdentity, FiveTuple, FlowId, Outputs, Packet, Payload, Port, Protocol,
    RandomStream, Role, Time,
};
use quiclab_transport::stack::build;
use quiclab_transport::{EndpointRequest, STACKS};
use std::collections::BTreeMap;

/// Maximum duration of a case: all timeouts of both ends are shorter.
const PATIENCE: Duration = Duration::from_secs(200 * 3600);
/// Maximum number of calls at one instant: a flight of the maximum window has fewer packets. Datagrams that
/// do not wait for the window are added.
const CALLS_AT_ONCE: u64 = 5_000;
/// Maximum number of consecutive calls at one instant without a visible change: an expired probe timeout
/// needs at most this number of doublings to be in the future.
const IDLE_CALLS: u32 = 40;

/// Two endpoints, the server first, and packets in transit between them.
pub(crate) struct World<'a> {
    case: &'a Case,
    now: Time,
    ends: [Box<dyn Endpoint>; 2],
    random: RandomStream,
    /// Packets by time and number, with their destination and their path.
    travelling: BTreeMap<(Time, u64), (usize, Port, Box<Packet>)>,
    sent: u64,
    checks: [Checks; 2],
    /// Time of the last arrival at each end.
    arrived: [Time; 2],
    /// Time at which the failure of an end was detected, and the time since the last arrival.
    failed: [Option<(Time, Duration)>; 2],
    /// Number of wakes without a packet sent, in total and since time last advanced or an event occurred.
    silent_wakes: [u64; 2],
    idle_calls: u32,
    out: Outputs,
    trace: bool,
}

impl<'a> World<'a> {
    pub(crate) fn new(case: &'a Case) -> Self {
        let address = |last: u8, port: u16| std::net::SocketAddr::from(([10, 0, 0, last], port));
        let tuple = FiveTuple::new(Protocol::Udp, address(1, 443), address(2, 50_000));
        let end = |end: usize, role, name: &str, tuple| {
            let paths = case.paths.len();
            let identity = EndpointIdentity { name: name.into(), flow: FlowId(0), role, tuple, paths };
            let config = &case.ends[end];
            let request = EndpointRequest::new(identity, config, &case.workload, Time::ZERO, case.number);
            build(STACKS, request)
                .unwrap_or_else(|error| panic!("case {} is refused: {error}\n{case:#?}", case.number))
        };
        let ends = [
            end(SERVER, Role::Server, "flow.sender", tuple),
            end(CLIENT, Role::Client, "flow.receiver", tuple.reverse()),
        ];
        Self {
            case,
            now: Time::ZERO,
            ends,
            random: RandomStream::new(case.number, "path"),
            travelling: BTreeMap::new(),
            sent: 0,
            checks: [SERVER, CLIENT].map(|end| Checks::new(case, end)),
            arrived: [Time::ZERO; 2],
            failed: [None; 2],
            silent_wakes: [0; 2],
            idle_calls: 0,
            out: Outputs::default(),
            trace: std::env::var("QUICLAB_TRACE").is_ok(),
        }
    }

    /// Runs until no event is left; returns whether the client received all data.
    pub(crate) fn run(&mut self) -> Result<bool, String> {
        let mut calls_now = 0_u64;
        loop {
            let arrival = self.travelling.first_key_value().map(|((time, _), _)| *time);
            let timers = [SERVER, CLIENT].map(|end| self.ends[end].next_wake());
            let Some(next) = [arrival, timers[0], timers[1]].into_iter().flatten().min() else {
                return self.judge();
            };
            if next > self.now {
                (calls_now, self.idle_calls) = (0, 0);
                self.now = next;
            }
            calls_now += 1;
            if calls_now > CALLS_AT_ONCE + 4 * self.case.events() {
                return Err(format!("time stands still at {}", self.now));
            }
            if self.now > Time::ZERO + PATIENCE {
                return Err("the connection does not end".into());
            }
            self.step(arrival == Some(next), usize::from(timers[SERVER] != Some(next)))?;
        }
    }

    /// Delivers the next packet, or expires the timer of an end.
    fn step(&mut self, arrives: bool, timer: usize) -> Result<(), String> {
        if arrives {
            let (_, (end, port, packet)) = self.travelling.pop_first().expect("looked at");
            self.arrived[end] = self.now;
            self.idle_calls = 0;
            self.checks[end].arrive(&packet);
            self.ends[end].receive(self.now, port, packet, &mut self.out);
            return self.after(end);
        }
        if self.ends[timer].next_wake().is_some_and(|wake| wake < self.now) {
            self.idle_calls += 1;
        }
        self.ends[timer].wake(self.now, &mut self.out);
        if self.out.packets.is_empty() {
            self.idle_calls += 1;
            self.silent_wakes[timer] += 1;
            if self.idle_calls > IDLE_CALLS {
                return Err(format!("end {timer} does nothing but ask to be woken, at {}", self.now));
            }
        } else {
            self.idle_calls = 0;
        }
        self.after(timer)
    }

    /// Sends the packets of an end after a call.
    fn after(&mut self, end: usize) -> Result<(), String> {
        let at = |problem: String, now: Time| format!("end {end} at {now}: {problem}");
        if self.ends[end].counters().balance() != (0, 0) {
            return Err(at("its counters do not balance".into(), self.now));
        }
        if self.ends[end].progress().failed && self.failed[end].is_none() {
            self.failed[end] = Some((self.now, self.now.since(self.arrived[end])));
        }
        let packets = std::mem::take(&mut self.out.packets);
        if self.trace {
            self.print(end, &packets);
        }
        for (port, packet) in &packets {
            self.checks[end].send(*port, packet).map_err(|problem| at(problem, self.now))?;
        }
        self.checks[end].state(self.now, &mut *self.ends[end]).map_err(|problem| at(problem, self.now))?;
        for (port, packet) in packets {
            let path = usize::from(port.0);
            if self.case.deaths[path].is_some_and(|death| death <= self.now) {
                continue;
            }
            for arrival in self.case.paths[path].arrivals(self.now, &mut self.random) {
                self.sent += 1;
                let mut copy = packet.clone();
                if self.random.uniform() < self.case.shuffles {
                    reverse(&mut copy);
                }
                self.travelling.insert((arrival, self.sent), (1 - end, port, copy));
            }
        }
        Ok(())
    }

    fn print(&mut self, end: usize, packets: &[(Port, Box<Packet>)]) {
        let mut metrics = quiclab_core::Metrics::default();
        self.ends[end].sample(self.now, &mut metrics);
        let of = |name| metrics.get(name);
        println!(
            "{} end {end}: window {:?}, in flight {:?}, timeouts {:?}, wake {:?}",
            self.now,
            of("cwnd_bytes"),
            of("in_flight_bytes"),
            of("timeouts"),
            self.ends[end].next_wake(),
        );
        for (port, packet) in packets {
            let Payload::Quic(datagram) = &packet.payload else { continue };
            for packet in &datagram.packets {
                let frames: Vec<_> = packet.frames.iter().map(|frame| format!("{frame:?}")).collect();
                let frames: Vec<_> = frames.iter().map(|frame| &frame[..frame.len().min(100)]).collect();
                println!("    path {} {:?} {}: {frames:?}", port.0, packet.space, packet.number);
            }
        }
    }

    /// Checks the end of the run; returns whether the client received all data.
    fn judge(&mut self) -> Result<bool, String> {
        for end in [SERVER, CLIENT] {
            self.check_failure(end)?;
            let calls = self.checks[end].packets();
            if self.silent_wakes[end] > 500 + 4 * calls + self.case.events() {
                let wakes = self.silent_wakes[end];
                return Err(format!("end {end} was woken {wakes} times for nothing, with {calls} packets"));
            }
        }
        let progress = self.ends[CLIENT].progress();
        if progress.failed && self.must_finish() {
            return Err(format!(
                "the client failed on the paths that live: {:?}",
                self.ends[CLIENT].failure()
            ));
        }
        if progress.failed {
            return Ok(false);
        }
        let size = self.case.size();
        if progress.finished.is_none() || size.is_some_and(|size| size != progress.delivered_bytes) {
            return Err(format!("the client ended with {progress:?}, expected are {size:?} bytes"));
        }
        Ok(true)
    }

    /// Whether the client must receive all data: no end gives up within any relevant time, and no path ends;
    /// or there is another path, and the handshake, which is on the first path, is complete.
    fn must_finish(&mut self) -> bool {
        if self.case.idle_timeout() < PATIENT {
            return false;
        }
        if self.case.deaths.iter().all(Option::is_none) {
            return true;
        }
        let mut dead =
            self.case.deaths.iter().enumerate().filter_map(|(path, death)| Some((path, (*death)?)));
        let Some((path, death)) = dead.next().filter(|_| self.case.paths.len() > 1) else { return false };
        // with management another path is open some time after the handshake, if the limits allow it
        if path == 0 && self.case.ends.iter().any(|end| end.multipath.is_some()) {
            return false;
        }
        path > 0
            || self.ends.iter_mut().all(|end| completed(self.now, &mut **end).is_some_and(|at| at < death))
    }

    /// Checks that an end has failed only if nothing was received for its idle timeout, or if its peer has
    /// failed.
    fn check_failure(&self, end: usize) -> Result<(), String> {
        let Some((at, waited)) = self.failed[end] else { return Ok(()) };
        let reason = self.ends[end].failure().unwrap_or_default();
        let given_up = "nothing was received for the idle timeout: given up at ";
        let right = match reason {
            reason if reason.starts_with(given_up) => waited >= self.case.idle_timeout(),
            // the client waits for datagrams for a time and then closes; the server, connected later,
            // continues
            "closed by the client before the last datagram was sent" => true,
            // the end of a response of a given duration does not wait for acknowledgements
            "closed by the client before its request was complete" => self.case.size().is_none(),
            _ => false,
        };
        if right {
            Ok(())
        } else {
            Err(format!("end {end} failed at {at}, {waited} after the last packet: {reason}"))
        }
    }
}

/// Time at which the handshake was complete at an end.
fn completed(now: Time, end: &mut dyn Endpoint) -> Option<Time> {
    let mut metrics = quiclab_core::Metrics::default();
    end.statistics(now, &mut metrics);
    let at = metrics.get("handshake_complete_ms")?;
    Some(Time::ZERO + Duration::from_nanos_f64(at * 1e6))
}

/// Reverses the order of the packets of a datagram.
fn reverse(packet: &mut Packet) {
    if let Payload::Quic(datagram) = &mut packet.payload {
        datagram.packets.reverse();
    }
}
