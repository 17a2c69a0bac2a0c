//! Random operations on all disciplines: nothing is lost, flows keep their order, limits hold.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const CONFIGURATIONS: &[(&str, &str)] = &[
    ("drop_tail", "packets = 20\nbytes = \"9 kB\""),
    ("head_drop", "packets = 20\nbytes = \"9 kB\""),
    ("codel", "packets = 50"),
    ("codel", "packets = 50\necn = true\nce_threshold = \"2 ms\""),
    ("fq_codel", "packets = 40\nflows = 8"),
    ("fq_codel", "memory = \"20 kB\"\nflows = 3\ndrop_batch = 1\nquantum = \"1400 B\""),
    (
        "fq_codel",
        "memory = \"20 kB\"\nleast_backlog = \"0 B\"\nhash = \"field_sum\"\ncontrol_law = \"inverse_count\"\n\
         restart = \"minus_two\"\ndrop_batch = 1",
    ),
];

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
        configuration in 0..CONFIGURATIONS.len(),
        steps in prop::collection::vec(step(), 0..600),
    ) {
        let (kind, options) = CONFIGURATIONS[configuration];
        let mut queue = queue(kind, options);
        let (mut micros, mut arrived, mut served, mut dropped) = (0, 0_u64, 0_u64, 0_u64);
        let mut last_served: BTreeMap<u16, u64> = BTreeMap::new();
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
                    prop_assert!(item.is_some() || queue.is_empty());
                    prop_assert!(!before || item.is_none());
                    if let Some(item) = item {
                        served += 1;
                        bytes_inside -= item.bytes;
                        let last = last_served.insert(item.flow, item.number);
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
            prop_assert_eq!(totals.codel_drops + totals.overflow_drops, dropped);
            match configuration {
                0 | 1 => prop_assert!(waiting.packets <= 20 && waiting.bytes.bytes() <= 9000),
                2 | 3 => prop_assert!(waiting.packets <= 50),
                4 => prop_assert!(waiting.packets <= 40),
                // one packet goes for each that comes: at most the difference of their sizes above, each time
                _ => {}
            }
        }
        // with nothing arriving everything is served or dropped in the end
        while let Some(item) = queue.dequeue(at(micros), &mut |_, _| dropped += 1) {
            served += 1;
            prop_assert!(last_served.insert(item.flow, item.number).is_none_or(|last| last < item.number));
        }
        prop_assert_eq!(arrived, served + dropped);
        prop_assert!(queue.is_empty());
        let flows: Vec<_> = queue.flows().collect();
        if kind == "fq_codel" {
            prop_assert_eq!(flows.iter().map(|flow| flow.totals.served).sum::<u64>(), served);
        }
    }

    /// While each packet waits for less than the target, no discipline with CoDel drops any.
    #[test]
    fn nothing_is_dropped_below_target(
        configuration in 2..5_usize,
        arrivals in prop::collection::vec((0_u16..6, 20_u64..1514, 0_u64..1000), 0..300),
    ) {
        let (kind, options) = CONFIGURATIONS[configuration];
        let mut queue = queue(kind, options);
        let mut micros = 0;
        for (flow, bytes, wait) in arrivals {
            micros += wait;
            queue.enqueue(at(micros), piece(flow, 0, bytes), &mut |_, _| panic!("nothing is full"));
            if queue.waiting().packets >= 4 {
                // the oldest came 4 packets, so at most 4 x 1 ms, ago; in FQ-CoDel the rest, too
                while queue.dequeue(at(micros), &mut |_, _| panic!("below target")).is_some() {}
            }
        }
    }
}
