//! Shares of paths below saturation: 10 Mbit/s of datagrams over two paths of 20 Mbit/s.

use super::common::*;
use quiclab_sim::RunOutput;

/// Datagrams of 1000 B, each 0.8 ms: 2500 in 2 s. A window of 100 kB holds more than the 75 kB that 10 Mbit/s have in
/// flight over 60 ms.
const SETS: &[(&str, &str)] = &[
    ("flows.f.workload", r#"{ kind = "datagrams", rate = "10 Mbit/s", size = "1000 B", duration = "2 s" }"#),
    ("flows.f.sender.initial_window", "100 kB"),
    ("flows.f.sender.pacing", r#"{ kind = "none" }"#),
];
const COUNT: usize = 2500;

fn run_with(scheduler: &str, slower: bool) -> RunOutput {
    let mut sets = SETS.to_vec();
    sets.push(("flows.f.sender.quic.path_scheduler", scheduler));
    if slower {
        sets.extend([("links.down2.delay", "30 ms"), ("links.back2.delay", "30 ms")]);
    }
    run_two(&sets)
}

/// The path of each datagram, in the order of departure. With headers, and perhaps an acknowledgement, it takes 1055 to
/// 1150 B; packets that validate a path take 1228 B.
fn paths(output: &RunOutput) -> Vec<usize> {
    let of_path = |path: usize, tap| {
        let records = passed(output, tap);
        let datagrams = records.into_iter().filter(|record| (1050..1150).contains(&record.size.bytes()));
        datagrams.map(|record| (record.id, path)).collect::<Vec<_>>()
    };
    let mut all = [of_path(1, "in1"), of_path(2, "in2")].concat();
    all.sort_unstable();
    all.into_iter().map(|(_, path)| path).collect()
}

/// Asserts that everything arrives; one datagram may be bundled with the validation of the second path, in a packet
/// that [`paths`] cannot distinguish from others of its length.
fn assert_complete(output: &RunOutput, paths: &[usize]) {
    assert_eq!(output.result.flows["f"].delivered_bytes, COUNT as u64 * 1000);
    assert!((COUNT - 1..=COUNT).contains(&paths.len()), "{} packets", paths.len());
}

/// Departures after the second path is open.
fn shared(paths: &[usize]) -> &[usize] {
    let first = paths.iter().position(|path| *path == 2).expect("the second path takes some");
    // it opens a handshake (20 ms and 10 ms) and half a round trip of its own after the start, 60 ms at most after the
    // first datagram: 75 of them
    assert!(first <= 75, "{first} datagrams before the second path takes one");
    &paths[first..]
}

#[test]
fn lowest_rtt_leaves_the_slow_path_alone() {
    let output = run_with("lowest_rtt", true);
    assert_eq!(paths(&output), vec![1; COUNT]);
    assert_eq!(output.result.flows["f"].delivered_bytes, COUNT as u64 * 1000);
}

#[test]
fn round_robin_alternates_whatever_the_rtt() {
    for slower in [false, true] {
        let output = run_with("round_robin", slower);
        let paths = paths(&output);
        assert_complete(&output, &paths);
        // HANDSHAKE_DONE may use a turn between the first and the second datagram
        let shared = &shared(&paths)[1..];
        assert!(shared.windows(2).all(|pair| pair[0] != pair[1]), "{shared:?}");
    }
}

/// A strict minimum would give 99.9 % to one path.
#[test]
fn lowest_rtt_shares_equal_paths() {
    let output = run_with("lowest_rtt", false);
    let paths = paths(&output);
    assert_complete(&output, &paths);
    let shared = shared(&paths);
    let second = shared.iter().filter(|path| **path == 2).count();
    assert!(second.abs_diff(shared.len() - second) <= 1, "{second} of {}", shared.len());
}

/// The initial window of 12 kB permits 4.8 Mbit/s over 20 ms: the rest takes the slow path. The fast path's window was
/// full then and grows, although no data were left waiting; in slow start it takes a few round trips.
#[test]
fn a_full_window_grows_while_another_path_takes_the_rest() {
    let mut sets: Vec<_> =
        SETS.iter().copied().filter(|(path, _)| !path.ends_with("initial_window")).collect();
    sets.extend([("links.down2.delay", "30 ms"), ("links.back2.delay", "30 ms")]);
    let output = run_two(&sets);
    let paths = paths(&output);
    assert_complete(&output, &paths);
    assert!(paths[..COUNT / 2].contains(&2));
    assert!(paths[COUNT / 2..].iter().all(|path| *path == 1));
}
