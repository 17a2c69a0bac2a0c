//! The same seed gives the same bytes.

use crate::STACKS;
use crate::network::{Sent, Setup};
use quiclab_core::{DataRate, Direction};

fn run(stack: &str, seed: u64, queue_packets: usize) -> Vec<Sent> {
    let mut setup = Setup::new(stack, 2_000_000);
    setup.seed = seed;
    (setup.rate, setup.queue_packets) = (Some(DataRate::from_mbps(20)), queue_packets);
    let mut network = setup.network();
    network.run();
    network.drain();
    network.sent
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_the_same_times() {
    for stack in STACKS {
        let first = run(stack, 7, 30);
        assert!(first.iter().any(|sent| sent.lost), "recovery is part of it");
        let again = run(stack, 7, 30);
        let difference = first.iter().zip(&again).position(|(first, again)| first != again);
        assert_eq!((difference, first.len()), (None, again.len()), "{stack}");
        // also on another thread, which has another thread-local stream
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| run(stack, 7, 30)).join().unwrap());
        assert!(elsewhere == first, "{stack}");
    }
}

#[test]
fn another_seed_changes_bytes_but_not_what_the_protocol_fixes() {
    for stack in STACKS {
        let (first, second) = (run(stack, 1, 1000), run(stack, 2, 1000));
        // the first packet is padded to a full datagram; everything in it is encrypted or random
        assert_eq!(first[0].size, second[0].size);
        let same =
            first[0].bytes.iter().zip(&second[0].bytes).filter(|(first, second)| first == second).count();
        assert!(same < 100, "{stack}: {same} of {} bytes are the same", first[0].bytes.len());
        // Full datagrams of the server; sizes differ only by the packet number's length and, at the
        // start, by the greased transport parameter, of up to 16 bytes: less than a datagram.
        let full = |run: &[Sent]| {
            run.iter().filter(|sent| sent.direction == Direction::Down && sent.size.bytes() == 1228).count()
        };
        assert!(full(&first).abs_diff(full(&second)) <= 1, "{stack}");
    }
}
