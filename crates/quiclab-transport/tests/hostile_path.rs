//! Whole connections over a path that loses, duplicates, reorders, delays and stalls, with random
//! options: everything arrives once and in order, the peer's window is never exceeded, time never
//! stands still, a timer runs while data is outstanding, and connections end.
//!
//! A case is one number. A failure prints the command that replays it; `QUICLAB_CASES=n` runs more.

use quiclab_core::scenario::{
    CongestionControl, EndpointConfig, Pacing, RateReduction, SlowStartExit, TcpLossDetection, TcpOptions,
    Tls, TlsVersion, Workload,
};
use quiclab_core::{
    ByteCount, Duration, Endpoint, EndpointIdentity, FiveTuple, Flags, FlowId, Outputs, Packet, Payload,
    Port, Protocol, RandomStream, Role, Segment, Time,
};
use std::collections::BTreeMap;

const CASES: u64 = 400;
/// No case needs longer: 30 % loss on both ways with an RTO of up to 120 s.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);

#[test]
fn connections_over_hostile_paths_deliver_everything_once() {
    let case = std::env::var("QUICLAB_CASE").ok().map(|case| case.parse().expect("QUICLAB_CASE is a number"));
    let cases = std::env::var("QUICLAB_CASES").map_or(CASES, |cases| cases.parse().expect("a number"));
    let range = case.map_or(0..cases, |case: u64| case..case + 1);
    for case in range {
        if let Err(problem) = Case::new(case).run() {
            panic!(
                "case {case}: {problem}\nreplay: QUICLAB_CASE={case} cargo test -p quiclab-transport --test hostile_path"
            );
        }
    }
}

/// The hardest demand, by itself: 30 % loss each way, all congestion controls.
#[test]
fn no_connection_dies_under_thirty_percent_loss() {
    for control in [
        CongestionControl::Newreno,
        CongestionControl::Cubic,
        CongestionControl::BbrLinux,
        CongestionControl::BbrChromium,
        CongestionControl::BbrPicoquic,
    ] {
        for seed in 0..5 {
            let mut case = Case::new(seed);
            case.path = Path { loss: 0.3, ..Path::plain() };
            case.size = 300_000;
            case.server = EndpointConfig { congestion_control: Some(control), ..Case::plain_config() };
            case.client = Case::plain_config();
            case.run().unwrap_or_else(|problem| panic!("{control:?}, seed {seed}: {problem}"));
        }
    }
}

/// What the path does to packets.
#[derive(Clone, Copy, Debug)]
struct Path {
    loss: f64,
    duplication: f64,
    delay: Duration,
    /// Longest additional delay of a packet; reorders.
    jitter: Duration,
    /// Time from the start of one stall to that of the next, and its length; nothing arrives meanwhile.
    stalls: Option<(Duration, Duration)>,
}

impl Path {
    fn plain() -> Self {
        Self {
            loss: 0.0,
            duplication: 0.0,
            delay: Duration::from_millis(20),
            jitter: Duration::ZERO,
            stalls: None,
        }
    }

    fn draw(random: &mut RandomStream) -> Self {
        let mut maybe = |probability: f64, most: f64| {
            if random.uniform() < probability { random.uniform() * most } else { 0.0 }
        };
        let millis = |value: f64| Duration::from_nanos_f64(value * 1e6);
        let stalled = maybe(0.2, 3000.0);
        Self {
            loss: maybe(0.7, 0.3),
            duplication: maybe(0.5, 0.2),
            delay: millis(1.0 + maybe(1.0, 150.0)),
            jitter: millis(maybe(0.6, 80.0)),
            stalls: (stalled > 0.0).then(|| (millis(2.0 * stalled + 500.0), millis(stalled))),
        }
    }
}

struct Case {
    number: u64,
    path: Path,
    size: u64,
    server: EndpointConfig,
    client: EndpointConfig,
}

impl Case {
    fn plain_config() -> EndpointConfig {
        EndpointConfig { stack: Some("lab-tcp".into()), ..EndpointConfig::default() }
    }

    fn new(number: u64) -> Self {
        let mut random = RandomStream::new(number, "case");
        let path = Path::draw(&mut random);
        // up to a few hundred segments; fewer where each one takes long
        let size = 1 + (random.uniform() * if path.loss > 0.15 { 100_000.0 } else { 600_000.0 }) as u64;
        let tls = pick(&mut random, &[None, None, Some(TlsVersion::Tls12), Some(TlsVersion::Tls13)]);
        let mut end = || {
            let config = Self::config(&mut random);
            let tls = tls.map(|version| Tls {
                version,
                resumption: false,
                certificate: ByteCount::from_bytes(2000),
            });
            EndpointConfig { tls, ..config }
        };
        let (server, client) = (end(), end());
        Self { number, path, size, server, client }
    }

    fn config(random: &mut RandomStream) -> EndpointConfig {
        use CongestionControl::{BbrChromium, BbrLinux, BbrPicoquic, Cubic, Newreno};
        let control = pick(random, &[Newreno, Cubic, Cubic, BbrLinux, BbrChromium, BbrPicoquic]);
        let bbr = !matches!(control, Newreno | Cubic);
        let exit =
            pick(random, &[SlowStartExit::None, SlowStartExit::HystartLinux, SlowStartExit::HystartPlusPlus]);
        let pacing =
            pick(random, &[Pacing::None, Pacing::Linux { max_rate: None }, Pacing::Fq { max_rate: None }]);
        let buffer = pick(random, &[8_192, 16_384, 131_072]);
        let flag = |random: &mut RandomStream| Some(random.uniform() < 0.8);
        let sack = random.uniform() < 0.8;
        let detections =
            [TcpLossDetection::Rack, TcpLossDetection::DuplicateAcks, TcpLossDetection::DuplicateAcksAndRack];
        let detection = pick(random, &detections);
        EndpointConfig {
            congestion_control: Some(control),
            slow_start_exit: (!bbr).then_some(exit),
            pacing: (!bbr).then_some(pacing),
            tcp: Some(TcpOptions {
                mss: Some(ByteCount::from_bytes(pick(random, &[536, 1460, 1460, 1280]))),
                timestamps: flag(random),
                sack: Some(sack),
                dsack: flag(random).filter(|_| sack),
                tail_loss_probe: flag(random).filter(|_| sack),
                frto: flag(random),
                undo: flag(random),
                restart_after_idle: flag(random),
                receive_buffer: Some(ByteCount::from_bytes(buffer)),
                max_receive_buffer: Some(ByteCount::from_bytes(pick(random, &[buffer, 6_291_456]))),
                loss_detection: Some(detection).filter(|_| sack),
                rate_reduction: Some(pick(
                    random,
                    &[RateReduction::PrrSafeAck, RateReduction::Prr, RateReduction::None],
                )),
                compressed_acks: Some(pick(random, &[0, 44])),
                gso_segments: Some(pick(random, &[1, 1, 16])),
                ..TcpOptions::default()
            }),
            ..Self::plain_config()
        }
    }

    fn run(&self) -> Result<(), String> {
        let mut world = World::new(self);
        world.run()?;
        let progress = world.ends[1].progress();
        if progress.failed {
            return Err(format!("the client failed: {:?}; {self:?}", world.ends[1].failure()));
        }
        if progress.delivered_bytes != self.size || progress.finished.is_none() {
            return Err(format!("{progress:?} of {} bytes; {self:?}", self.size));
        }
        Ok(())
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {} bytes, server {:?}, client {:?}", self.path, self.size, self.server, self.client)
    }
}

fn pick<T: Copy>(random: &mut RandomStream, choices: &[T]) -> T {
    choices[(random.bits() % choices.len() as u64) as usize]
}

/// Two endpoints, the server first, and what is on its way between them.
struct World {
    now: Time,
    ends: [Box<dyn Endpoint>; 2],
    path: Path,
    random: RandomStream,
    /// Packets by time and number, with the end they go to.
    travelling: BTreeMap<(Time, u64), (usize, Packet)>,
    sent: u64,
    /// For each end as sender of data: what its peer's announcements that reached it allow (exclusive).
    allowed: [u64; 2],
    out: Outputs,
}

impl World {
    fn new(case: &Case) -> Self {
        let address = |last: u8, port: u16| std::net::SocketAddr::from(([10, 0, 0, last], port));
        let tuple = FiveTuple::new(Protocol::Tcp, address(1, 443), address(2, 50_000));
        let workload = Workload::Download {
            size: Some(ByteCount::from_bytes(case.size)),
            duration: None,
            request: ByteCount::from_bytes(100),
        };
        let end = |role, name: &str, config: &EndpointConfig, tuple| {
            let identity = EndpointIdentity { name: name.into(), flow: FlowId(0), role, tuple };
            quiclab_transport::build(identity, config, &workload, Time::ZERO, case.number, None)
                .unwrap_or_else(|error| panic!("case {} is refused: {error}; {case:?}", case.number))
        };
        Self {
            now: Time::ZERO,
            ends: [
                end(Role::Server, "flow.sender", &case.server, tuple),
                end(Role::Client, "flow.receiver", &case.client, tuple.reverse()),
            ],
            path: case.path,
            random: RandomStream::new(case.number, "path"),
            travelling: BTreeMap::new(),
            sent: 0,
            allowed: [0; 2],
            out: Outputs::default(),
        }
    }

    /// Runs until nothing is left to happen.
    fn run(&mut self) -> Result<(), String> {
        let mut calls_now = 0;
        loop {
            let arrival = self.travelling.first_key_value().map(|((time, _), _)| *time);
            let timers = [0, 1].map(|end| self.ends[end].next_wake());
            let Some(next) = [arrival, timers[0], timers[1]].into_iter().flatten().min() else {
                return Ok(());
            };
            if next > self.now {
                calls_now = 0;
                self.now = next;
            }
            calls_now += 1;
            if calls_now > 10_000 {
                return Err(format!("time stands still at {}", self.now));
            }
            if self.now > Time::ZERO + PATIENCE {
                return Err("the connection does not end".into());
            }
            if arrival == Some(next) {
                let (_, (end, packet)) = self.travelling.pop_first().expect("looked at");
                self.note_arrival(end, &packet);
                self.ends[end].receive(self.now, Port(0), packet, &mut self.out);
                self.send(end)?;
            } else {
                let end = usize::from(timers[0] != Some(next));
                self.ends[end].wake(self.now, &mut self.out);
                self.send(end)?;
            }
        }
    }

    /// The end learns how far it may send.
    fn note_arrival(&mut self, end: usize, packet: &Packet) {
        let segment = segment(packet);
        if segment.flags.has(Flags::ACK) {
            let edge = segment.acknowledgement + u64::from(segment.window);
            self.allowed[end] = self.allowed[end].max(edge);
        }
    }

    fn send(&mut self, end: usize) -> Result<(), String> {
        for (_, packet) in std::mem::take(&mut self.out.packets) {
            self.check(end, &packet)?;
            let copies = 1 + u32::from(self.random.uniform() < self.path.duplication);
            for _ in 0..copies {
                if self.random.uniform() < self.path.loss {
                    continue;
                }
                let jitter = self.path.jitter.as_nanos() as f64 * self.random.uniform();
                let arrival = self.now + self.path.delay + Duration::from_nanos_f64(jitter);
                self.sent += 1;
                self.travelling.insert((self.after_stall(arrival), self.sent), (1 - end, packet.clone()));
            }
        }
        Ok(())
    }

    /// What arrives during a stall arrives at its end.
    fn after_stall(&self, arrival: Time) -> Time {
        let Some((period, length)) = self.path.stalls else { return arrival };
        let into = arrival.as_nanos() % period.as_nanos();
        if into < length.as_nanos() {
            Time::from_nanos(arrival.as_nanos() - into + length.as_nanos())
        } else {
            arrival
        }
    }

    /// Sizes are exact, and data stays within the peer's window (RFC 9293 section 3.8.6).
    fn check(&self, end: usize, packet: &Packet) -> Result<(), String> {
        let segment = segment(packet);
        let timestamps =
            [false, true].map(|with| 20 + segment.header_bytes(with) + u64::from(segment.length));
        if !timestamps.contains(&packet.size.bytes()) {
            return Err(format!("a packet of {} with {segment:?}", packet.size));
        }
        let data_end = segment.sequence + u64::from(segment.length);
        if segment.length > 0 && data_end > self.allowed[end] {
            return Err(format!("end {end} exceeds the window {}: {segment:?}", self.allowed[end]));
        }
        Ok(())
    }
}

fn segment(packet: &Packet) -> &Segment {
    match &packet.payload {
        Payload::Segment(segment) => segment,
        other => panic!("lab-tcp sends segments, not {other:?}"),
    }
}
