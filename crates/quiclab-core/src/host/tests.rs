//! Tests of the host: cases by hand, then random hosts against invariants and a simple schedule.

use super::*;
use crate::link::{Delay, Distribution};
use crate::page::RequestTimes;
use crate::units::ByteCount;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// Events at a [`Probe`].
#[derive(Clone, Debug, Default, PartialEq)]
struct Log {
    /// Delivery time and number of each datagram.
    handed: Vec<(Time, u64)>,
    /// Each deadline, and the time at which it fired.
    fired: Vec<(Time, Time)>,
}

/// An endpoint that answers each datagram and each timer with `replies` packets.
struct Probe {
    replies: u64,
    /// End of its preparation of requests, after the first datagram.
    occupied: Time,
    /// Future deadlines, ascending; one is removed with each wake that is not early.
    deadlines: VecDeque<Time>,
    log: Arc<Mutex<Log>>,
    counters: Counters,
}

impl Probe {
    fn boxed(replies: u64, deadlines: &[Time]) -> (Box<Self>, Arc<Mutex<Log>>) {
        let log = Arc::new(Mutex::new(Log::default()));
        let deadlines = deadlines.iter().copied().collect();
        let probe = Self {
            replies,
            occupied: Time::ZERO,
            deadlines,
            log: Arc::clone(&log),
            counters: Counters::default(),
        };
        (Box::new(probe), log)
    }

    fn reply(&mut self, now: Time, out: &mut Outputs) {
        for _ in 0..self.replies {
            let id = self.counters.sent.packets;
            let packet = Packet { id, size: bytes(50 + id % 3), created: now, ..Packet::default() };
            self.counters.created.add(packet.size);
            self.counters.sent.add(packet.size);
            out.send(Port(0), packet);
        }
    }
}

impl Element for Probe {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, out: &mut Outputs) {
        self.counters.received.add(packet.size);
        self.counters.consumed.add(packet.size);
        self.log.lock().unwrap().handed.push((now, packet.id));
        self.reply(now, out);
    }
    fn wake(&mut self, now: Time, out: &mut Outputs) {
        if let Some(deadline) = self.next_wake().filter(|deadline| *deadline <= now) {
            self.deadlines.pop_front();
            self.log.lock().unwrap().fired.push((deadline, now));
            self.reply(now, out);
        }
    }
    fn next_wake(&self) -> Option<Time> {
        self.deadlines.front().copied()
    }
    fn counters(&self) -> Counters {
        self.counters
    }
    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&crate::nic::NIC.packets_sent, self.counters.sent.packets);
    }
    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&crate::nic::NIC.packets_sent, self.counters.sent.packets);
    }
}

impl Endpoint for Probe {
    fn progress(&self) -> Progress {
        Progress { delivered_bytes: self.counters.consumed.bytes, ..Progress::default() }
    }
    fn page_client(&self) -> Option<&dyn PageClient> {
        Some(self)
    }
}

impl PageClient for Probe {
    fn requests(&self) -> Vec<RequestTimes> {
        Vec::new()
    }

    fn reads_packets(&self) -> bool {
        self.occupied > Time::ZERO
    }

    fn occupied_until(&self) -> Time {
        if self.counters.received.packets > 0 { self.occupied } else { Time::ZERO }
    }
}

const fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}
fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}
fn at(micros: u64) -> Time {
    Time::ZERO + us(micros)
}
fn datagram(id: u64, size: u64) -> Packet {
    Packet { id, size: bytes(size), ..Packet::default() }
}
/// `count` datagrams of 1310 bytes, `every` microseconds apart, from 0 on.
fn burst(count: u64, every: u64) -> Vec<(Time, Packet)> {
    (0..count).map(|id| (at(id * every), datagram(id, 1310))).collect()
}

/// Output of a run of one element by itself.
#[derive(Debug, Default, PartialEq)]
struct Run {
    /// Packets that left: when, number, and when the endpoint made them.
    left: Vec<(Time, u64, Time)>,
    /// Ids of the datagrams dropped.
    dropped: Vec<u64>,
    /// Time of each call.
    calls: Vec<Time>,
}

/// Delivers `arrivals` and wakes `element` at its deadlines until nothing is left. Of an arrival and a
/// deadline at the same time, the deadline comes first if `wake_first`.
fn drive(element: &mut dyn Element, arrivals: &[(Time, Packet)], wake_first: bool) -> Run {
    let mut run = Run::default();
    let mut out = Outputs { record_drops: true, ..Outputs::default() };
    let mut arrivals = arrivals.iter().peekable();
    loop {
        let arrival = arrivals.peek().map_or(Time::MAX, |(time, _)| *time);
        let wake = element.next_wake().filter(|&wake| wake < arrival || wake_first && wake == arrival);
        let now;
        if let Some(wake) = wake {
            // a deadline may lie in the past when its cause was handled late
            now = wake.max(run.calls.last().copied().unwrap_or(Time::ZERO));
            element.wake(now, &mut out);
        } else if let Some((time, packet)) = arrivals.next() {
            now = *time;
            element.receive(now, Port(0), Box::new(packet.clone()), &mut out);
        } else {
            return run;
        }
        run.calls.push(now);
        assert!(run.calls.len() < 100_000, "the element never comes to rest");
        assert_eq!(element.counters().balance(), (0, 0));
        run.left.extend(out.packets.drain(..).map(|(_, packet)| (now, packet.id, packet.created)));
        run.dropped.extend(out.drops.drain(..).map(|(reason, packet)| {
            assert_eq!(reason, DropReason::ReceiveBufferFull);
            packet.id
        }));
    }
}

fn statistic(host: &mut Host, now: Time, name: &str) -> f64 {
    let mut metrics = Metrics::default();
    host.statistics(now, &mut metrics);
    metrics.get(name).expect("a known name")
}

/// A host that reads one datagram in 35 us from the default buffer of Linux, and its final state.
fn slow_reader(arrivals: &[(Time, Packet)]) -> (Host, Run, Log) {
    let config = crate::host::HostConfig {
        receive_buffer: Some(bytes(212_992)),
        receive_datagram: us(35),
        ..crate::host::HostConfig::default()
    };
    let (probe, log) = Probe::boxed(0, &[]);
    let mut host = Host::new(&config, 1, "client", probe);
    let run = drive(&mut host, arrivals, true);
    let log = log.lock().unwrap().clone();
    (host, run, log)
}

/// All at once: the CPU takes the first, 93 fill the buffer, 166 are dropped; 94 * 35 us of work.
#[test]
fn a_burst_of_260_at_one_instant_loses_166() {
    let (mut host, run, log) = slow_reader(&burst(260, 0));
    assert_eq!(run.dropped, (94..260).collect::<Vec<_>>());
    let read: Vec<_> = (0..94).map(|id| (at(35 * (id + 1)), id)).collect();
    assert_eq!(log.handed, read);
    let end = at(94 * 35);
    assert_eq!(statistic(&mut host, end, "receive_buffer_drops"), 166.0);
    assert_eq!(statistic(&mut host, end, "longest_receive_buffer_packets"), 93.0);
    assert_eq!(statistic(&mut host, end, "longest_receive_buffer_bytes"), 93.0 * 2304.0);
    assert_eq!(statistic(&mut host, end, "cpu_busy_ms"), 3.29);
}

/// One each microsecond (about the 10 Gbit/s of the testbed): until the last arrival at 259 us reads begin at
/// 0, 35, ... 245, that is 8 times; all freed slots are filled again, so 8 + 93 are accepted.
#[test]
fn a_burst_of_260_at_one_each_microsecond_loses_159() {
    let (_, run, log) = slow_reader(&burst(260, 1));
    assert_eq!((run.dropped.len(), log.handed.len()), (159, 101));
    // the buffer is full after arrival 95: 96 arrivals, of which 3 are read (at 0, 35 and 70)
    assert_eq!(run.dropped[..3], [96, 97, 98]);
}

#[test]
fn reads_come_in_batches() {
    let config = crate::host::HostConfig {
        receive_call: us(10),
        receive_datagram: us(1),
        receive_batch: 3,
        ..crate::host::HostConfig::default()
    };
    let (probe, log) = Probe::boxed(0, &[]);
    drive(&mut Host::new(&config, 1, "client", probe), &burst(5, 0), true);
    // the first finds the CPU free and is read alone: 11 us; three more: 13 us; the last: 11 us
    let expected = [(at(11), 0), (at(24), 1), (at(24), 2), (at(24), 3), (at(35), 4)];
    assert_eq!(log.lock().unwrap().handed, expected);
}

/// Two datagrams at 0; with the first the application has requests to prepare until 50, so that the second is read then.
#[test]
fn requests_are_prepared_before_the_next_read() {
    let (mut probe, log) = Probe::boxed(0, &[]);
    probe.occupied = at(50);
    let mut host = Host::new(&crate::host::HostConfig::default(), 3, "client", probe);
    drive(&mut host, &burst(2, 0), false);
    assert_eq!(log.lock().unwrap().handed, [(at(0), 0), (at(50), 1)]);
}

#[test]
fn sends_come_in_batches_before_the_next_read() {
    let config = crate::host::HostConfig {
        receive_datagram: us(5),
        send_call: us(10),
        send_datagram: us(1),
        send_batch: 4,
        ..crate::host::HostConfig::default()
    };
    let (probe, log) = Probe::boxed(6, &[]);
    let mut host = Host::new(&config, 1, "client", probe);
    let run = drive(&mut host, &burst(2, 0), true);
    // read until 5; four packets until 5 + 14 = 19, two until 19 + 12 = 31; then the second read
    assert_eq!(log.lock().unwrap().handed, [(at(5), 0), (at(36), 1)]);
    let times: Vec<Time> = run.left.iter().map(|(time, ..)| *time).collect();
    let expected = [19, 19, 19, 19, 31, 31, 50, 50, 50, 50, 62, 62].map(at);
    assert_eq!(times, expected);
    assert_eq!(run.left.iter().map(|(_, id, _)| *id).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    assert_eq!(statistic(&mut host, at(62), "cpu_busy_ms"), 0.062);
    assert_eq!(statistic(&mut host, at(62), "packets_sent"), 12.0);
}

#[test]
fn counts_and_samples_in_the_middle_of_the_work() {
    let config = crate::host::HostConfig {
        receive_datagram: us(10),
        send_datagram: us(10),
        ..crate::host::HostConfig::default()
    };
    let (probe, _) = Probe::boxed(2, &[]);
    let mut host = Host::new(&config, 1, "client", probe);
    let mut out = Outputs::default();
    for (now, packet) in burst(3, 0) {
        host.receive(now, Port(0), Box::new(packet), &mut out);
    }
    host.wake(at(10), &mut out);
    // one datagram is with the endpoint, two wait; two replies are in transit
    assert_eq!(host.counters().held.packets, 4);
    assert_eq!(host.counters().consumed.packets, 1);
    let mut sample = Metrics::default();
    host.sample(at(10), &mut sample);
    assert_eq!(sample, [("receive_buffer_bytes", 4608.0), ("packets_sent", 2.0)]);
    assert_eq!(statistic(&mut host, at(14), "cpu_busy_ms"), 0.014);
    assert_eq!(host.next_wake(), Some(at(20)));
    assert_eq!(host.progress().delivered_bytes, 1310);
    host.wake(at(20), &mut out);
    assert_eq!((out.packets.len(), host.counters().held.packets), (1, 3));
}

#[test]
fn a_timer_waits_for_the_cpu_and_comes_before_the_next_read() {
    let config = crate::host::HostConfig { receive_datagram: us(10), ..crate::host::HostConfig::default() };
    let (probe, log) = Probe::boxed(0, &[at(5), at(30)]);
    drive(&mut Host::new(&config, 1, "client", probe), &burst(2, 0), true);
    let log = log.lock().unwrap();
    assert_eq!(log.handed, [(at(10), 0), (at(20), 1)]);
    assert_eq!(log.fired, [(at(5), at(10)), (at(30), at(30))]);
}

/// The timer is due when the first read ends, and its packets take the CPU before the second read.
#[test]
fn packets_of_a_timer_delay_the_next_read() {
    let config = crate::host::HostConfig {
        receive_datagram: us(10),
        send_datagram: us(7),
        ..crate::host::HostConfig::default()
    };
    let (probe, log) = Probe::boxed(1, &[at(2)]);
    let run = drive(&mut Host::new(&config, 1, "client", probe), &burst(2, 0), true);
    // read until 10, reply until 17, timer at 17 and its packet until 24, read until 34, reply until 41
    assert_eq!(log.lock().unwrap().fired, [(at(2), at(17))]);
    assert_eq!(log.lock().unwrap().handed, [(at(10), 0), (at(34), 1)]);
    assert_eq!(run.left.iter().map(|(time, ..)| *time).collect::<Vec<_>>(), [at(17), at(24), at(41)]);
}

#[test]
fn slack_is_drawn_once_for_each_deadline() {
    let slack =
        Delay { mean: us(500), deviation: us(400), distribution: Distribution::Uniform, ..Delay::default() };
    let config = crate::host::HostConfig { timer_slack: slack.clone(), ..crate::host::HostConfig::default() };
    let deadlines = [at(1_000), at(10_000), at(20_000)];
    let (probe, log) = Probe::boxed(0, &deadlines);
    // datagrams in between do not change the deadline
    drive(&mut Host::new(&config, 7, "client", probe), &burst(30, 900), true);
    let mut model = crate::link::DelayModel::new(&slack, RandomStream::new(7, "client.host"));
    let expected = deadlines.map(|deadline| (deadline, deadline + model.draw(deadline)));
    assert_eq!(log.lock().unwrap().fired, expected);
    assert!(expected.iter().all(|(deadline, fired)| fired > deadline));
}

/// From 0 a wait of 1.5 ms is one of 2 ms; the datagram at 0.8 ms starts another, of 0.7 ms, hence 1 ms. From 1.8 ms the next
/// is of 8.2 ms, hence 9 ms.
#[test]
fn a_wait_is_rounded_up_from_the_moment_at_which_the_process_goes_to_sleep() {
    let config = crate::host::HostConfig { timer_resolution: us(1000), ..crate::host::HostConfig::default() };
    let (probe, log) = Probe::boxed(0, &[at(1_500), at(10_000)]);
    drive(&mut Host::new(&config, 1, "client", probe), &[(at(800), datagram(0, 1310))], true);
    assert_eq!(log.lock().unwrap().fired, [(at(1_500), at(1_800)), (at(10_000), at(10_800))]);
    let (probe, log) = Probe::boxed(0, &[at(1_500)]);
    drive(&mut Host::new(&config, 1, "client", probe), &[], true);
    assert_eq!(log.lock().unwrap().fired, [(at(1_500), at(2_000))]);
}

#[test]
fn a_process_that_waits_wakes_once_for_all_that_has_come() {
    let constant = |micros| Delay { mean: us(micros), ..Delay::default() };
    let config = crate::host::HostConfig {
        wake_up: constant(30),
        receive_call: us(10),
        ..crate::host::HostConfig::default()
    };
    let (probe, log) = Probe::boxed(0, &[at(1_000), at(2_010)]);
    // datagrams at 0, 20 and 40 us, the third while the second is read; the last finds it asleep again
    let mut arrivals = burst(3, 20);
    arrivals.extend(burst(4, 200).pop());
    arrivals.push((at(2_000), datagram(4, 1310)));
    drive(&mut Host::new(&config, 1, "client", probe), &arrivals, true);
    let log = log.lock().unwrap();
    assert_eq!(log.handed, [(at(40), 0), (at(50), 1), (at(60), 2), (at(640), 3), (at(2_020), 4)]);
    // a timer has a slack of its own, and wakes the process before the datagram of 2 ms would have
    assert_eq!(log.fired, [(at(1_000), at(1_000)), (at(2_010), at(2_010))]);
}

#[test]
fn an_endpoint_that_never_moves_its_deadline_cannot_hang_the_host() {
    struct Stuck(Probe, u32);
    impl Element for Stuck {
        fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
            self.0.receive(now, port, packet, out);
        }
        fn wake(&mut self, _now: Time, _out: &mut Outputs) {
            self.1 += 1;
            assert!(self.1 <= 2, "fired more than once in a call");
        }
        fn next_wake(&self) -> Option<Time> {
            Some(at(3))
        }
        fn counters(&self) -> Counters {
            self.0.counters()
        }
    }
    impl Endpoint for Stuck {
        fn progress(&self) -> Progress {
            Progress::default()
        }
    }
    let config = crate::host::HostConfig { receive_datagram: us(10), ..crate::host::HostConfig::default() };
    let (probe, log) = Probe::boxed(0, &[]);
    let mut host = Host::new(&config, 1, "client", Box::new(Stuck(*probe, 0)));
    let mut out = Outputs::default();
    host.wake(at(3), &mut out);
    assert_eq!(host.next_wake(), Some(at(3)));
    host.receive(at(3), Port(0), Box::new(datagram(0, 100)), &mut out);
    host.wake(at(13), &mut out);
    assert_eq!(log.lock().unwrap().handed, [(at(13), 0)]);
}

/// Required output of a host for arrivals in order, without timers, computed packet by packet. The CPU reads
/// as soon as it is free and a datagram waits, and sends the replies before it reads again.
fn schedule(
    config: &crate::host::HostConfig,
    replies: usize,
    arrivals: &[(Time, Packet)],
    wake_first: bool,
) -> (Log, Vec<Time>, Vec<u64>) {
    let (mut log, mut left, mut dropped) = (Log::default(), Vec::new(), Vec::new());
    let mut waiting: Vec<&Packet> = Vec::new();
    let mut free_at = None; // the CPU is free from then on; `None`: from the start
    let mut read = |waiting: &mut Vec<&Packet>, start: Time| {
        let batch = waiting.len().min(config.receive_batch as usize);
        let mut clock = start + config.receive_call + config.receive_datagram * batch as u64;
        log.handed.extend(waiting.drain(..batch).map(|packet| (clock, packet.id)));
        let mut packets = batch * replies;
        while packets > 0 {
            let call = packets.min(config.send_batch as usize);
            clock += config.send_call + config.send_datagram * call as u64;
            left.extend(std::iter::repeat_n(clock, call));
            packets -= call;
        }
        clock
    };
    for (time, packet) in arrivals {
        while let Some(start) = free_at.filter(|&at| at < *time || wake_first && at == *time)
            && !waiting.is_empty()
        {
            free_at = Some(read(&mut waiting, start));
        }
        let charged: u64 = waiting.iter().map(|_| config.truesize.unwrap().bytes()).sum();
        if charged > config.receive_buffer.unwrap().bytes() {
            dropped.push(packet.id);
            continue;
        }
        waiting.push(packet);
        if free_at.is_none_or(|at| at < *time || wake_first && at == *time) {
            free_at = Some(read(&mut waiting, *time));
        }
    }
    while !waiting.is_empty() {
        free_at = Some(read(&mut waiting, free_at.expect("somebody has read before")));
    }
    (log, left, dropped)
}

prop_compose! {
    fn any_config()(
        limit in 0u64..40_000, truesize in 1u64..3000,
        receive_datagram in 1u64..40, receive_call in 0u64..40, receive_batch in 1u32..8,
        send_datagram in 0u64..20, send_call in 0u64..20, send_batch in 1u32..5,
    ) -> crate::host::HostConfig {
        crate::host::HostConfig {
            receive_buffer: Some(bytes(limit)),
            memory_return: crate::host::MemoryReturn::AtOnce,
            truesize: Some(bytes(truesize)),
            receive_datagram: us(receive_datagram),
            receive_call: us(receive_call),
            receive_batch,
            send_datagram: us(send_datagram),
            send_call: us(send_call),
            send_batch,
            timer_resolution: Duration::ZERO,
            timer_slack: Delay::default(),
            wake_up: Delay::default(),
        }
    }
}

fn any_arrivals() -> impl Strategy<Value = Vec<(Time, Packet)>> {
    let pause = prop_oneof![3 => Just(0u64), 3 => 0u64..30, 1 => 0u64..2000];
    prop::collection::vec((pause, 40u64..1500), 1..120).prop_map(|steps| {
        let mut now = 0;
        let arrival = |(id, (pause, size))| {
            now += pause;
            (at(now), datagram(id, size))
        };
        (0u64..).zip(steps).map(arrival).collect()
    })
}

/// Deadlines at least a microsecond apart.
fn any_deadlines() -> impl Strategy<Value = Vec<Time>> {
    prop::collection::btree_set(0u64..5000, 0..20).prop_map(|set| set.into_iter().map(at).collect())
}

proptest! {
    #[test]
    fn follows_the_plain_schedule(
        config in any_config(), replies in 0u64..4, arrivals in any_arrivals(), wake_first in any::<bool>(),
    ) {
        let (probe, log) = Probe::boxed(replies, &[]);
        let run = drive(&mut Host::new(&config, 1, "client", probe), &arrivals, wake_first);
        let (expected, left, dropped) = schedule(&config, replies as usize, &arrivals, wake_first);
        prop_assert_eq!(&*log.lock().unwrap(), &expected);
        prop_assert_eq!(run.left.iter().map(|(time, ..)| *time).collect::<Vec<_>>(), left);
        prop_assert_eq!(run.dropped, dropped);
    }

    /// With timers and slack: everything in order, nothing early, and one CPU for all tasks.
    #[test]
    fn keeps_order_and_is_never_early(
        config in any_config(), slack_us in 0u64..300, wake_us in 0u64..200, replies in 0u64..4,
        arrivals in any_arrivals(), deadlines in any_deadlines(), wake_first in any::<bool>(),
    ) {
        let timer_slack = Delay {
            mean: us(slack_us), deviation: us(100), distribution: Distribution::Normal, ..Delay::default()
        };
        let wake_up = Delay {
            mean: us(wake_us), deviation: us(50), distribution: Distribution::Normal, ..Delay::default()
        };
        let config = crate::host::HostConfig { timer_slack, wake_up, ..config };
        let (probe, log) = Probe::boxed(replies, &deadlines);
        let mut host = Host::new(&config, 3, "client", probe);
        let run = drive(&mut host, &arrivals, wake_first);
        let log = log.lock().unwrap();
        let kept: Vec<u64> =
            arrivals.iter().map(|(_, packet)| packet.id).filter(|id| !run.dropped.contains(id)).collect();
        prop_assert_eq!(log.handed.iter().map(|(_, id)| *id).collect::<Vec<_>>(), kept);
        for (time, id) in &log.handed {
            let arrival = arrivals[*id as usize].0;
            prop_assert!(*time >= arrival + config.receive_call + config.receive_datagram);
        }
        prop_assert_eq!(log.fired.iter().map(|(deadline, _)| *deadline).collect::<Vec<_>>(), deadlines);
        prop_assert!(log.fired.iter().all(|(deadline, fired)| fired >= deadline));
        for (number, (time, id, created)) in run.left.iter().enumerate() {
            prop_assert_eq!(*id, number as u64);
            prop_assert!(*time >= *created + config.send_call + config.send_datagram);
        }
        prop_assert_eq!(run.left.len() as u64, replies * (log.handed.len() + log.fired.len()) as u64);
        prop_assert_eq!(host.counters().held, Count::default());
        // each datagram and packet costs its own time; calls can only add to it
        let end = *run.calls.last().expect("there are arrivals");
        let least = config.receive_datagram * log.handed.len() as u64
            + config.send_datagram * run.left.len() as u64;
        let busy = host.cpu_busy(end);
        prop_assert!(least <= busy && busy <= end.since(Time::ZERO));
    }

    /// A host without costs changes nothing, and neither does the general code path without costs.
    #[test]
    fn without_costs_it_is_not_there(
        replies in 0u64..4, arrivals in any_arrivals(), deadlines in any_deadlines(),
        wake_first in any::<bool>(), general in any::<bool>(),
    ) {
        let (mut probe, bare_log) = Probe::boxed(replies, &deadlines);
        let bare = drive(probe.as_mut(), &arrivals, wake_first);
        let (hosted, log) = Probe::boxed(replies, &deadlines);
        let mut host = Host::new(&crate::host::HostConfig::default(), 9, "client", hosted);
        prop_assert!(host.transparent);
        host.transparent = !general;
        let run = drive(&mut host, &arrivals, wake_first);
        prop_assert_eq!(run, bare);
        prop_assert_eq!(&*log.lock().unwrap(), &*bare_log.lock().unwrap());
        prop_assert_eq!(host.counters(), probe.counters());
        prop_assert_eq!(host.progress(), probe.progress());
    }
}
