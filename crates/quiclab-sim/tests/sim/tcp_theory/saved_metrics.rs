//! Metrics of a destination saved by Linux: the second download between two hosts, over the split bearer of
//! scenarios/dual_connectivity.toml.
//!
//! Two links of 20 Mbit/s, 10 ms each way: the bandwidth-delay product is 75 packets of 1334 bytes, and the queues
//! have 200 packets. Slow start without a threshold doubles the window beyond that, and loses more than 100 packets
//! of it; a download of 10 MB, which takes two seconds at 40 Mbit/s, is in recovery for much of that time.

use super::common::run_text;
use quiclab_config::Document;
use quiclab_scenario::Scenario;
use quiclab_sim::{EndedBy, FlowResult, RunOutput};

const SCENARIO: &str = include_str!("../../../../../scenarios/dual_connectivity.toml");

/// Reno over TLS 1.3, with segments as long as the datagrams of the scenario.
fn flow(server: &str, size: &str, metrics: &str) -> String {
    let end = |profile: &str, more: &str| {
        format!(
            "{{ profile = '{profile}', tls = {{ version = '1.3' }}, tcp = {{ mss = '1280 B'{metrics} }}{more} }}"
        )
    };
    format!(
        "{{ stack = 'lab-tcp', down = ['dc'], up = ['up1'], sender = {}, receiver = {}, \
         workload = {{ kind = 'download', size = '{size}' }} }}",
        end(server, ", congestion_control = 'newreno'"),
        end("linux-4.15", ""),
    )
}

const SAVED: &str = ", metrics = 'warm_start'";
const NONE: &str = ", metrics = 'none'";

fn output(server: &str, size: &str, metrics: &str, seed: u64) -> RunOutput {
    run_text(SCENARIO, &[("flows.dc", &flow(server, size, metrics))], seed)
}

fn download(server: &str, size: &str, metrics: &str, seed: u64) -> FlowResult {
    output(server, size, metrics, seed).result.flows.remove("dc").expect("there is a flow `dc`")
}

/// The threshold is half of the window at the first loss, which is at least the 75 packets in transit and the 100 of
/// one queue, and at most twice the capacity of all: 87 to 275. Where the acknowledgements of the burst after the
/// reordering timer resemble reordering, a second cut may follow (Linux: also two recoveries), so that it is 43 at
/// least. Above it the window grows by a packet per round trip, of which 10 MB have fewer than the queues have room
/// for.
#[test]
fn a_saved_threshold_spares_a_short_download_the_overshoot() {
    for seed in 1..=3 {
        let (first, second) =
            (download("linux-5.3", "10 MB", "", seed), download("linux-5.3", "10 MB", SAVED, seed));
        assert!(!first.sender.contains_key("saved_ssthresh_bytes"));
        assert!(first.sender["lost_packets"] > 100.0, "{}", first.sender["lost_packets"]);
        let packets = second.sender["saved_ssthresh_bytes"] / 1268.0;
        assert!((43.0..275.0).contains(&packets), "{packets}");
        assert_eq!(second.sender["lost_packets"], 0.0, "seed {seed}");
        assert!(second.goodput_mbps > 1.15 * first.goodput_mbps, "seed {seed}");
        // of its request, over 10 ms each way with a deviation of 1 ms
        assert!(second.receiver["saved_rtt_ms"] > 16.0);
    }
}

#[test]
fn a_long_download_gains_little() {
    let (first, second) = (download("linux-5.3", "100 MB", "", 1), download("linux-5.3", "100 MB", SAVED, 1));
    let gain = second.goodput_mbps / first.goodput_mbps;
    assert!((1.0..1.1).contains(&gain), "{gain}");
}

/// Since 5.6 only RTT and reordering are saved, and neither ends slow start.
#[test]
fn a_newer_kernel_keeps_no_threshold() {
    for server in ["linux-5.15", "linux-7"] {
        let (first, second) = (download(server, "10 MB", "", 1), download(server, "10 MB", SAVED, 1));
        assert!(!second.sender.contains_key("saved_ssthresh_bytes"));
        assert!(second.sender["saved_rtt_ms"] > 20.0);
        assert!(second.sender["lost_packets"] > 100.0 && first.sender["lost_packets"] > 100.0, "{server}");
    }
}

/// Without the option nothing changes; with it, the run is a function of the seed, and its events do not include the
/// previous run.
#[test]
fn the_run_before_is_seen_by_its_effect_alone() {
    let result = |metrics, seed| output("linux-5.3", "1 MB", metrics, seed).result;
    let (plain, none) = (result("", 4), result(NONE, 4));
    assert_eq!((plain.digest, plain.run.events), (none.digest, none.run.events));
    let (once, again, other) = (result(SAVED, 4), result(SAVED, 4), result(SAVED, 5));
    assert_eq!((&once.digest, once.run.events), (&again.digest, again.run.events));
    assert_ne!(once.digest, other.digest);
    let packets = |run: &quiclab_sim::RunResult| run.flows["dc"].sender["packets_sent"];
    let segments = 1e6 / 1268.0; // 1 MB, handshakes and losses; two runs would have twice as many
    assert!((segments..1.9 * segments).contains(&packets(&once)), "{}", packets(&once));
}

/// Nothing is lost on links with long queues: a slow start that never ended has no threshold to save.
#[test]
fn a_slow_start_that_never_ended_keeps_no_threshold() {
    let flow = flow("linux-5.3", "1 MB", SAVED);
    let queue = "{ kind = 'drop_tail', packets = 10000 }";
    let sets = [("flows.dc", flow.as_str()), ("links.down1.queue", queue), ("links.down2.queue", queue)];
    let sender = &run_text(SCENARIO, &sets, 1).result.flows["dc"].sender;
    assert_eq!(sender["lost_packets"], 0.0);
    assert!(!sender.contains_key("saved_ssthresh_bytes") && sender.contains_key("saved_rtt_ms"));
}

/// A download that is incomplete at the end: the metrics saved if its connection were closed then.
#[test]
fn an_unfinished_run_before_counts_as_if_closed_at_its_end() {
    let flow = flow("linux-5.3", "1 GB", SAVED);
    let output = run_text(SCENARIO, &[("flows.dc", &flow), ("duration", "8 s")], 1);
    assert_eq!(output.result.run.ended_by, EndedBy::DurationOver);
    let sender = &output.result.flows["dc"].sender;
    assert!(sender["saved_ssthresh_bytes"] > 50.0 * 1268.0, "{sender:?}");
}

#[test]
fn each_flow_has_what_its_own_connection_has_kept() {
    let with = |metrics| flow("linux-5.3", "4 MB", metrics);
    let (saved, none) = (with(SAVED), with(NONE));
    let host = ("flows.dc.receiver.host", "large_buffer");
    let flows = run_text(SCENARIO, &[("flows.dc", &saved), ("flows.other", &none), host], 1).result.flows;
    assert!(flows["dc"].sender.contains_key("saved_rtt_ms"));
    assert!(flows["dc"].receiver.contains_key("saved_rtt_ms")); // through the host
    assert!(!flows["other"].sender.contains_key("saved_rtt_ms"));
}

#[test]
fn what_is_known_is_chosen_from_two() {
    let sets = [("flows.dc".into(), flow("linux-5.3", "1 MB", ", metrics = 'always'"))];
    let problem = Document::from_toml(SCENARIO, "dc.toml", &sets)
        .and_then(|document| Scenario::load(&document, &quiclab_sim::validate));
    let sentence = problem.expect_err("there is no such value").to_string();
    assert!(sentence.contains("metrics") && sentence.contains("\"warm_start\""), "{sentence}");
}
