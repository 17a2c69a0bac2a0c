//! Random operations on all disciplines: nothing is lost, flows keep their order, limits hold.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u16, bytes: u64, ecn_capable: bool },
    Serve,
    Wait { micros: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u16..6, 20_u64..1514, any::<bool>())
            .prop_map(|(flow, bytes, ecn_capable)| Step::Arrive { flow, bytes, ecn_capable }),
        2 => Just(Step::Serve),
        1 => (0_u64..30_000).prop_map(|micros| Step::Wait { micros }),
    ]
}

proptest! {
    #[test]
    fn nothing_is_lost_and_flows_keep_their_order(
        config in prop::sample::select(QueueConfig::examples()),
        steps in prop::collection::vec(step(), 0..600),
    ) {
        let mut queue = Discipline::new(&config, RandomStream::new(1, "queue"));
        let Capacity { packets: most_packets, bytes: most_bytes, .. } = config.options().capacity();
        let (mut micros, mut arrived, mut served, mut dropped) = (0, 0_u64, 0_u64, 0_u64);
        // DualPI2 has a separate queue for ECN-capable packets, also of the same flow
        let mut last_served: BTreeMap<(u16, bool), u64> = BTreeMap::new();
        let mut bytes_inside = 0_u64;
        for step in steps {
            match step {
                Step::Wait { micros: wait } => micros += wait,
                Step::Arrive { flow, bytes, ecn_capable } => {
                    let item = Piece { ecn_capable, ..piece(flow, arrived, bytes) };
                    arrived += 1;
                    bytes_inside += bytes;
                    queue.enqueue(at(micros), item, &mut |item: Piece, _| {
                        dropped += 1;
                        bytes_inside -= item.bytes;
                    });
                }
                Step::Serve => {
                    let before = queue.is_empty();
                    let item = queue.dequeue(at(micros), &mut |item: Piece, _| {
                        dropped += 1;
                        bytes_inside -= item.bytes;
                    });
                    let held = queue.next_wake().is_some_and(|due| due > at(micros));
                    prop_assert!(item.is_some() || queue.is_empty() || held);
                    prop_assert!(!before || item.is_none());
                    if let Some(item) = item {
                        served += 1;
                        bytes_inside -= item.bytes;
                        let last = last_served.insert((item.flow, item.ecn_capable), item.number);
                        prop_assert!(last.is_none_or(|last| last < item.number), "order within a flow");
                        prop_assert!(!item.marked || item.ecn_capable);
                    }
                }
            }
            let waiting = queue.waiting();
            prop_assert_eq!(arrived, served + dropped + waiting.packets);
            prop_assert_eq!(bytes_inside, waiting.bytes.bytes());
            prop_assert_eq!(queue.is_empty(), waiting.packets == 0);
            prop_assert!(queue.active_flows() <= waiting.packets);
            let totals = queue.totals();
            prop_assert_eq!(totals.served, served);
            let reasons = DropReason::ALL.iter().map(|reason| totals.drops(*reason));
            prop_assert_eq!(reasons.sum::<u64>(), dropped);
            prop_assert!(most_packets.is_none_or(|most| waiting.packets <= most));
            prop_assert!(most_bytes.is_none_or(|most| waiting.bytes <= most));
        }
        // without arrivals everything is served or dropped in the end
        let mut now = at(micros);
        while !queue.is_empty() {
            match queue.dequeue(now, &mut |_, _| dropped += 1) {
                Some(item) => {
                    served += 1;
                    let last = last_served.insert((item.flow, item.ecn_capable), item.number);
                    prop_assert!(last.is_none_or(|last| last < item.number));
                }
                None if queue.is_empty() => break,
                None => now = queue.next_wake().expect("what does not leave now does so later"),
            }
        }
        prop_assert_eq!(arrived, served + dropped);
        prop_assert!(queue.is_empty());
        let flows = queue.flows();
        if !flows.is_empty() {
            prop_assert_eq!(flows.iter().map(|flow| flow.totals.served).sum::<u64>(), served);
        }
    }
}

#[test]
fn limits_have_the_names_of_their_fields() {
    for config in QueueConfig::examples() {
        let fields = serde_json::to_value(&config).unwrap();
        let Capacity { packets, bytes, time, memory, flows } = config.options().capacity();
        let limits = [
            ("packets", packets.is_some()),
            ("bytes", bytes.is_some()),
            ("time", time.is_some()),
            ("memory", memory.is_some()),
            ("flows", flows.is_some()),
        ];
        for (limit, _) in limits.iter().filter(|(_, given)| *given) {
            assert!(!fields[limit].is_null(), "capacity() has `{limit}`, which is no field of {fields}");
        }
    }
}
