//! A path that fails, and one that recovers.

use super::common::*;
use quiclab_core::TapRecord;
use quiclab_sim::RunOutput;

/// 10 MB: 2.1 s on both paths.
const SIZE: f64 = 10e6;

/// Longest probe timeout: a round trip of 20 ms with 100 packets of 491 us queued, 69 ms; the variation is at most half
/// of the difference of RTTs, so 4 times it at most twice 49 ms; 25 ms of max_ack_delay.
const TIMEOUT: f64 = 0.069 + 2.0 * 0.049 + 0.025;

/// Bytes per second of stream data on one full link.
const ONE: f64 = RATE * PAYLOAD / PACKET / 8.0;

/// About a second of packets on a full link: 2036 of them down; a packet up for two down.
const DOWN: u64 = 2000;
const UP: u64 = 1000;

const DOWNLOAD: (&str, &str) = ("flows.f.workload", r#"{ kind = "download", size = "10 MB" }"#);

fn run_with(link: &str, lost: std::ops::Range<u64>) -> RunOutput {
    run_two(&[("duration", "30 s"), DOWNLOAD, (&format!("links.{link}.loss"), &listed(lost))])
}

/// Time at which packet `number`, the first to be lost, passed a tap.
fn death(output: &RunOutput, tap: &str, number: u64) -> f64 {
    seconds(passed(output, tap)[number as usize].time)
}

/// From the failure on, one link carries the rest; packets in flight on the failed path, a queue and a product of 141
/// packets, are retransmitted after a timeout. 5 % are for NewReno's first loss on the other path; two timeouts are for
/// the timeout itself and for an acknowledgement of the retransmission.
fn ends_in_time(output: &RunOutput, death: f64) {
    let flow = &output.result.flows["f"];
    assert!(flow.completed, "{:?}", flow.failure);
    assert_eq!(flow.delivered_bytes as f64, SIZE);
    let rest = SIZE - 0.9 * ONE * death;
    let latest = death + (rest + 141.0 * PAYLOAD) / (0.95 * ONE) + 2.0 * TIMEOUT;
    let finish = flow.finish_s.expect("it has ended");
    assert!(finish <= latest, "{finish} s, at the latest {latest} s");
    // and not before one link can have carried the rest, if both were full before
    assert!(finish >= death + (SIZE - 2.0 * RATE / 8.0 * death) / (RATE / 8.0));
}

#[test]
fn the_other_path_carries_on_when_one_loses_everything() {
    for (link, tap) in [("down1", "in1"), ("down2", "in2")] {
        let output = run_with(link, DOWN..DOWN + 60_000);
        let death = death(&output, tap, DOWN);
        assert!((0.5..1.6).contains(&death), "{death}");
        ends_in_time(&output, death);
        // after the timeout only probes are sent on the failed path: two each time, at doubled intervals
        let late =
            passed(&output, tap).into_iter().filter(|record| seconds(record.time) > death + 2.0 * TIMEOUT);
        assert!(late.count() <= 12);
    }
}

#[test]
fn the_other_path_carries_on_when_acknowledgements_of_one_are_lost() {
    for (link, tap) in [("back1", "up1"), ("back2", "up2")] {
        let output = run_with(link, UP..UP + 60_000);
        ends_in_time(&output, death(&output, tap, UP));
    }
}

/// Packets in flight at the failure, the first probes and four more: two timeouts later a probe is acknowledged, and
/// the path carries data again. The failed path of the same run without recovery shows the number of these packets.
#[test]
fn a_path_that_comes_back_is_used_again() {
    let size = ("flows.f.workload.size", "20 MB");
    for (link, before, after) in [("down1", "in1", "out1"), ("down2", "in2", "out2")] {
        let loss = format!("links.{link}.loss");
        let run = |lost: u64| {
            let numbers = listed(DOWN..DOWN + lost);
            run_two(&[("duration", "30 s"), DOWNLOAD, size, (&loss, &numbers)])
        };
        let dead = run(60_000);
        let death = death(&dead, before, DOWN);
        let under_way =
            |record: &&_| (death..death + TIMEOUT).contains(&seconds(TapRecord::clone(record).time));
        let lost = passed(&dead, before).iter().filter(under_way).count() as u64;
        let output = run(lost + 4);
        assert!(output.result.flows["f"].completed);
        let packets = passed(&output, after).len() as u64;
        assert!(packets > DOWN + 2000, "{link}: {packets}, {lost} lost");
        assert!(output.result.flows["f"].finish_s < dead.result.flows["f"].finish_s);
    }
}
