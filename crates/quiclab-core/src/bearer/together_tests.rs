//! Both ends of a bearer with real links between them, driven by a small loop: conservation in every element
//! after every call, order at the receiving end, and that the system comes to rest.

use super::{BearerReceiver, BearerSender};
use crate::bearer::{BearerConfig, BearerMode, Reordering, ReorderingTimer, Splitter, TimerRule};
use crate::element::{Element, Outputs, Port};
use crate::link::Link;
use crate::link::{Delay, Distribution, FeedbackConfig, Loss, Rate};
use crate::packet::Packet;
use crate::queue::{DropTail, QueueConfig};
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate, Probability};
use proptest::prelude::*;

/// Elements: the sending end, the links, the receiving end.
struct World {
    elements: Vec<Box<dyn Element>>,
    now: Time,
    delivered: Vec<u64>,
    drops: u64,
    events: u64,
}

impl World {
    fn new(bearer: &BearerConfig, links: &[crate::link::LinkConfig]) -> Self {
        let mut elements: Vec<Box<dyn Element>> = vec![Box::new(BearerSender::new(bearer, None))];
        for (index, link) in links.iter().enumerate() {
            elements.push(Box::new(Link::new(
                link,
                crate::LinkInputs::default(),
                7,
                &format!("link{index}"),
            )));
        }
        elements.push(Box::new(BearerReceiver::new(bearer)));
        Self { elements, now: Time::ZERO, delivered: Vec::new(), drops: 0, events: 0 }
    }

    /// Delivers `packet` to an element, and all packets that follow from it at this instant.
    fn receive(&mut self, element: usize, port: Port, packet: Box<Packet>) {
        self.call(element, |element, now, out| element.receive(now, port, packet, out));
    }

    fn call(&mut self, index: usize, call: impl FnOnce(&mut dyn Element, Time, &mut Outputs)) {
        let mut out = Outputs { record_drops: true, ..Outputs::default() };
        call(self.elements[index].as_mut(), self.now, &mut out);
        self.events += 1;
        assert_eq!(self.elements[index].counters().balance(), (0, 0), "element {index}");
        self.drops += out.drops.len() as u64;
        let receiver = self.elements.len() - 1;
        for (port, packet) in out.packets {
            match (index, port) {
                (0, Port(link)) => self.receive(1 + usize::from(link), Port(0), packet),
                (index, _) if index == receiver => self.delivered.push(packet.id),
                (link, Port(0)) => self.receive(receiver, Port(link as u16 - 1), packet),
                (link, _) => self.receive(0, Port(link as u16), packet),
            }
        }
    }

    fn next_wake(&self) -> Option<(Time, usize)> {
        (0..self.elements.len()).filter_map(|index| Some((self.elements[index].next_wake()?, index))).min()
    }

    /// Processes all events that are due by `limit`.
    fn run_until(&mut self, limit: Time) {
        while let Some((due, index)) = self.next_wake().filter(|(due, _)| *due <= limit) {
            self.now = self.now.max(due);
            self.call(index, |element, now, out| element.wake(now, out));
        }
        self.now = limit;
    }
}

fn splitter() -> impl Strategy<Value = Splitter> {
    let (start_rate, smoothing) = (DataRate::from_mbps(10), Duration::from_millis(100));
    prop_oneof![
        Just(Splitter::Batches),
        Just(Splitter::Proportional { start_rate, smoothing, floor: Probability::new(0.05).unwrap() }),
        Just(Splitter::LeastExpectedArrival {
            start_rate,
            smoothing,
            probe_interval: Duration::from_secs(1)
        }),
        (1u32..300, 100u64..50_000).prop_map(|(queue_packets, buffer)| Splitter::FlowControl {
            queue_packets,
            start_buffer: ByteCount::from_bytes(buffer),
            poll_interval: Duration::from_millis(100),
        }),
    ]
}

fn timer() -> impl Strategy<Value = ReorderingTimer> {
    prop_oneof![
        prop::sample::select(vec![0u64, 5, 200])
            .prop_map(|ms| ReorderingTimer::Fixed(Duration::from_millis(ms))),
        Just(ReorderingTimer::Rule(TimerRule::Adaptive {
            least: Duration::from_millis(5),
            most: Duration::from_millis(200),
            window: Duration::from_secs(1),
            factor: 1.5
        })),
    ]
}

fn link() -> impl Strategy<Value = crate::link::LinkConfig> {
    let loss = prop_oneof![2 => Just(0.0), 1 => 0.0..0.2f64];
    (1u64..50, 1u64..200, loss, 0u64..50, any::<bool>(), (1u64..20, 0u64..10, 1u64..40)).prop_map(
        |(mbps, packets, loss, delay, jitter, feedback)| {
            let distribution = if jitter { Distribution::Uniform } else { Distribution::Constant };
            let deviation = Duration::from_micros(if jitter { 500 } else { 0 });
            let [interval, way, desired] = [feedback.0, feedback.1, feedback.2].map(Duration::from_millis);
            crate::link::LinkConfig {
                rate: Some(Rate::Constant(DataRate::from_mbps(mbps))),
                queue: QueueConfig::DropTail(DropTail { packets: Some(packets), ..DropTail::default() }),
                loss: Some(Loss::Independent { probability: Probability::new(loss).unwrap() }),
                delay: Delay {
                    mean: Duration::from_millis(delay),
                    deviation,
                    distribution,
                    reorder: jitter,
                    ..Delay::default()
                },
                feedback: Some(FeedbackConfig { interval, delay: way, desired_buffer: desired }),
                ..crate::link::LinkConfig::default()
            }
        },
    )
}

fn bearer(links: usize, splitter: Splitter, duplication: f64, timer: ReorderingTimer) -> BearerConfig {
    let flow_control = matches!(splitter, Splitter::FlowControl { .. });
    BearerConfig {
        links: vec![String::new(); links],
        batch_packets: 20,
        shares: vec![],
        mode: BearerMode::Split,
        splitter,
        duplication: Probability::new(if flow_control { 0.0 } else { duplication }).unwrap(),
        reordering: Reordering { timer, ..Reordering::default() },
    }
}

fn packet(id: u64, size: u64) -> Box<Packet> {
    Box::new(Packet { id, size: ByteCount::from_bytes(size), ..Packet::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_vanishes_all_is_in_order_and_it_comes_to_rest(
        splitter in splitter(),
        timer in timer(),
        links in prop::collection::vec(link(), 1..4),
        duplication in prop_oneof![Just(0.0), 0.0..=1.0f64],
        bursts in prop::collection::vec((0u64..30, 1u64..40, 60u64..1500), 1..40),
    ) {
        let bearer = bearer(links.len(), splitter, duplication, timer);
        let mut world = World::new(&bearer, &links);
        let (mut time, mut packets) = (Time::ZERO, 0);
        for (pause, count, size) in bursts {
            time += Duration::from_millis(pause);
            world.run_until(time);
            for _ in 0..count {
                world.receive(0, Port(0), packet(packets, size));
                packets += 1;
            }
        }
        let end = time + Duration::from_secs(120);
        world.run_until(end);
        // at rest: nothing held, and nothing scheduled
        prop_assert_eq!(world.next_wake(), None);
        for element in &world.elements {
            prop_assert_eq!(element.counters().held.packets, 0);
        }
        prop_assert!(world.delivered.windows(2).all(|pair| pair[0] < pair[1]));
        let copies = world.elements[0].counters().created.packets;
        prop_assert_eq!(world.delivered.len() as u64 + world.drops, packets + copies);
        // the sending end has received a report of every packet in the end
        let sent = world.elements[0].counters().sent.packets;
        let links = &world.elements[1..=links.len()];
        let ended: u64 = links.iter().map(|link| {
            let counters = link.counters();
            counters.sent.packets - counters.created.packets + counters.dropped.packets
        }).sum();
        prop_assert_eq!(ended, sent);
    }

    /// With queues that hold the desired buffer, flow control loses nothing in links, and no link ever holds
    /// more than its desired buffer, or one packet.
    #[test]
    fn flow_control_never_exceeds_what_links_desire(
        mbps in prop::collection::vec(1u64..50, 1..4),
        start in 1_000u64..20_000,
        bursts in prop::collection::vec((0u64..30, 1u64..60), 1..40),
    ) {
        let feedback = FeedbackConfig::default();
        let links: Vec<_> = mbps.iter().map(|&mbps| crate::link::LinkConfig {
            rate: Some(Rate::Constant(DataRate::from_mbps(mbps))),
            feedback: Some(feedback),
            ..crate::link::LinkConfig::default()
        }).collect();
        let start_buffer = ByteCount::from_bytes(start);
        let poll_interval = Duration::from_millis(100);
        let splitter = Splitter::FlowControl { queue_packets: 10_000, start_buffer, poll_interval };
        let timer = ReorderingTimer::Fixed(Duration::from_secs(10));
        let mut world = World::new(&bearer(links.len(), splitter, 0.0, timer), &links);
        let (mut time, mut packets) = (Time::ZERO, 0);
        let most = |mbps: u64| {
            let desired = DataRate::from_mbps(mbps).bytes_in(feedback.desired_buffer).bytes();
            (desired.max(start) / 1202).max(1)
        };
        for (pause, count) in bursts {
            time += Duration::from_millis(pause);
            world.run_until(time);
            for _ in 0..count {
                world.receive(0, Port(0), packet(packets, 1200));
                packets += 1;
                for (link, &mbps) in world.elements[1..].iter_mut().zip(&mbps) {
                    let mut sample = crate::metric::Metrics::default();
                    link.sample(time, &mut sample);
                    let held = sample.get("queue_packets").expect("it is in samples");
                    prop_assert!(held <= most(mbps) as f64, "{held} at {mbps} Mbit/s");
                }
            }
        }
        world.run_until(time + Duration::from_secs(600));
        prop_assert_eq!(world.drops, 0);
        prop_assert_eq!(world.delivered, (0..packets).collect::<Vec<_>>());
    }
}
