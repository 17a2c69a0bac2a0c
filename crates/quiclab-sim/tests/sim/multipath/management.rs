//! Paths that are opened, ranked and closed with the frames of draft-ietf-quic-multipath-21.

use super::common::*;
use quiclab_core::{Duration, TapRecord, Time};
use quiclab_sim::RunOutput;

/// Datagrams that validate a path are padded to 1200 B (RFC 9000 section 8.2).
const FULL: u64 = 1228;
/// 1228 B at 20 Mbit/s.
const SERIALISATION: Duration = Duration::from_nanos(491_200);
const MANAGED: [(&str, &str); 2] = [("flows.f.sender.multipath", "{}"), ("flows.f.receiver.multipath", "{}")];
const DOWNLOAD: (&str, &str) = ("flows.f.workload", r#"{ kind = "download", size = "10 MB" }"#);
const SLOWER: [(&str, &str); 2] = [("links.down2.delay", "30 ms"), ("links.back2.delay", "30 ms")];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn managed(sets: &[(&str, &str)]) -> RunOutput {
    run_two(&[&MANAGED, sets].concat())
}

/// `paths` of the flow with more options of the second.
fn second(options: &str) -> (&'static str, String) {
    ("flows.f.paths", format!(r#"[{{ down = ["in2", "down2", "out2"], up = ["up2", "back2"], {options} }}]"#))
}

fn counts(output: &RunOutput) -> [f64; 2] {
    let sender = &output.result.flows["f"].sender;
    [sender["paths_opened"], sender["paths_abandoned"]]
}

fn after(packets: &[TapRecord], time: Time) -> usize {
    packets.iter().filter(|record| record.time > time).count()
}

/// Section 3.1.1, its example: connection IDs, then PATH_CHALLENGE of the client, PATH_RESPONSE and PATH_CHALLENGE of
/// the server, PATH_RESPONSE of the client. The server's IDs leave when it has the client's Finished, after at most the
/// first flight of 10 packets; until the client's address is validated only three times 1200 B may leave.
#[test]
fn a_path_opens_with_connection_ids_and_is_validated_by_both_ends() {
    let output = managed(&[]);
    let complete = output.result.flows["f"].receiver["handshake_complete_ms"];
    let (up, down) = (passed(&output, "up2"), passed(&output, "in2"));
    let opened = up[0].time.as_ms_f64() - complete;
    assert!((20.0..20.0 + 11.0 * 0.4912).contains(&opened), "{opened} ms after the handshake");
    assert_eq!((up[0].size.bytes(), down[0].size.bytes()), (FULL, FULL));
    assert_eq!(down[0].time, up[0].time + ms(10));
    assert_eq!(up[1].time, down[0].time + SERIALISATION + ms(10));
    let validated = up[1].time + ms(10);
    let early = down.iter().filter(|record| record.time < validated).map(|record| record.size.bytes());
    assert!(early.sum::<u64>() <= 3 * 1200 + 3 * 28);
    assert!(after(&down, validated) > 1000, "data follow");
    assert_eq!(counts(&output), [2.0, 0.0]);
}

/// The second path works, and carries packets that validate it, and their acknowledgements.
#[test]
fn a_backup_path_carries_no_data_while_the_other_works() {
    let paths = second(r#"status = "backup""#);
    let output = managed(&[(paths.0, &paths.1)]);
    let down = passed(&output, "in2");
    assert!(down.len() <= 4, "{}", down.len());
    assert!(passed(&output, "in1").len() > 10_000);
}

#[test]
fn a_path_opens_at_its_start() {
    let paths = second(r#"start = "2 s""#);
    let output = managed(&[(paths.0, &paths.1)]);
    assert_eq!(passed(&output, "up2")[0].time, Time::ZERO + ms(2000));
}

/// PATH_ABANDON leaves on the other path immediately and takes 10 ms; from then on neither end sends on it.
#[test]
fn nothing_is_sent_on_an_abandoned_path() {
    let at = Time::ZERO + ms(1000);
    for (path, before, back) in [("0", "in1", "up1"), ("1", "in2", "up2")] {
        let change = format!(r#"[{{ at = "1 s", path = {path}, action = "abandon" }}]"#);
        let output = managed(&[("duration", "30 s"), DOWNLOAD, ("flows.f.path_changes", &change)]);
        let flow = &output.result.flows["f"];
        assert!(flow.completed, "{:?}", flow.failure);
        assert_eq!(flow.delivered_bytes, 10_000_000);
        assert_eq!(after(&passed(&output, back), at), 0, "of the client on {path}");
        assert_eq!(after(&passed(&output, before), at + ms(10)), 0, "of the server on {path}");
        assert_eq!(counts(&output), [2.0, 1.0]);
        // one link carries the rest: 10 MB less a second on both, in the time at its rate, and 10 % for NewReno
        let rest = 10e6 - 2.0 * RATE / 8.0;
        let latest = 1.0 + 1.1 * rest / (RATE / 8.0 * PAYLOAD / PACKET) + 0.5;
        assert!(flow.finish_s.expect("it has ended") < latest, "{:?}, {latest}", flow.finish_s);
    }
}

/// PATH_STATUS takes 10 ms to the server, which then no longer uses the first path; a second status reverses this.
#[test]
fn a_status_moves_the_data_half_a_round_trip_later() {
    let changes =
        r#"[{ at = "2 s", path = 0, action = "backup" }, { at = "4 s", path = 0, action = "available" }]"#;
    let output = managed(&[("flows.f.path_changes", changes)]);
    let first = passed(&output, "in1");
    let between = |from: u64, to: u64| {
        let (from, to) = (Time::ZERO + ms(from), Time::ZERO + ms(to));
        first.iter().filter(|record| record.time > from && record.time < to).count()
    };
    assert!(between(1000, 2010) > 1000);
    // acknowledgements that the client elicits may still leave there
    assert!(between(2010, 4010) < 10, "{}", between(2010, 4010));
    assert!(between(4010, 5010) > 1000);
}

/// The limit of the server is observed: no path ID above it is used.
#[test]
fn a_path_above_the_limit_stays_closed() {
    let limit = ("flows.f.sender.multipath", "{ initial_max_path_id = 0 }");
    let output = managed(&[("duration", "30 s"), DOWNLOAD, limit]);
    assert!(passed(&output, "up2").is_empty() && passed(&output, "in2").is_empty());
    assert!(output.result.flows["f"].completed);
    assert_eq!(counts(&output), [1.0, 0.0]);
}

/// Abandoning a path raises the limit by one: the third opens with the next path ID when the state of the second is
/// deleted, three PTO later.
#[test]
fn an_abandoned_path_makes_room_for_another() {
    let paths = r#"[{ down = ["in2", "down2", "out2"], up = ["up2", "back2"] },
        { down = ["down3"], up = ["up3", "back2"], start = "1 s" }]"#;
    let output = managed(&[
        ("links.down3", r#"{ rate = "20 Mbit/s", delay = "10 ms" }"#),
        ("taps.up3", "{}"),
        ("flows.f.paths", paths),
        ("flows.f.sender.multipath", "{ initial_max_path_id = 1 }"),
        ("flows.f.path_changes", r#"[{ at = "3 s", path = 1, action = "abandon" }]"#),
    ]);
    let opened = passed(&output, "up3")[0].time.as_ms_f64() - 3000.0;
    // at least three times the minimum PTO, 20 ms and max_ack_delay; at most with a full queue of 100 packets and the
    // variation that it can cause, and a round trip
    let most = 3.0 * (69.0 + 2.0 * 49.0 + 25.0) + 2.0 * 69.0;
    assert!((135.0..most).contains(&opened), "{opened} ms, at most {most}");
    assert_eq!(counts(&output), [3.0, 1.0]);
}

/// Section 5.5: acknowledgements for the slow path may use the fast one.
#[test]
fn acknowledgements_take_the_path_with_the_lowest_rtt() {
    let rule = ("flows.f.receiver.multipath", r#"{ acknowledgements = "lowest_rtt" }"#);
    // 200 ms are more than 20 ms and the 49 ms of a full queue
    let output = managed(&[("links.down2.delay", "100 ms"), ("links.back2.delay", "100 ms"), rule]);
    let (same, other) = (passed(&output, "up2").len(), passed(&output, "up1").len());
    // challenge, response, and an acknowledgement for each of them before both ends know the RTT
    assert!(same <= 6, "{same}");
    let data = passed(&output, "out1").len() + passed(&output, "out2").len();
    // one packet may acknowledge both paths
    assert!(other >= data / 4, "{other} for {data}");
    let slow = passed(&output, "in2").len();
    assert!(slow > 1000, "{slow}");
}

/// Everything on the first path is lost from its packet 2000 on, about 1.2 s. A probe timeout later the backup path
/// carries the data.
#[test]
fn a_backup_path_takes_over_after_a_probe_timeout() {
    let paths = second(r#"status = "backup""#);
    let lost = listed(2000..60_000);
    let output = managed(&[("duration", "30 s"), DOWNLOAD, (paths.0, &paths.1), ("links.down1.loss", &lost)]);
    let flow = &output.result.flows["f"];
    assert!(flow.completed, "{:?}", flow.failure);
    let death = passed(&output, "in1")[2000].time;
    let taken = passed(&output, "in2").into_iter().find(|record| record.time > death).expect("it takes over");
    let waited = seconds(taken.time) - seconds(death);
    // at least the minimum PTO after the last packet, sent when the last acknowledgement arrived; at most the largest
    // (`failure.rs`) after the window, a queue and a product, had left
    let (least, most) = (0.045, 0.069 + 2.0 * 0.049 + 0.025 + 0.069);
    assert!((least..most).contains(&waited), "{waited} s");
}

/// No packet arrives on an idle backup path: it is abandoned after the timeout, unless PING keeps it alive.
#[test]
fn an_idle_path_is_abandoned_unless_it_is_kept_alive() {
    let paths = second(r#"status = "backup""#);
    let run = |multipath: &str| managed(&[(paths.0, &paths.1), ("flows.f.receiver.multipath", multipath)]);
    let output = run(r#"{ idle_timeout = "1 s" }"#);
    assert_eq!(counts(&output), [2.0, 1.0]);
    // 3 PTO of a path with few samples are 3 (20 + 4 x 10 + 25) ms at most, less than the timeout: a second after the last
    // packet that was received
    let last = passed(&output, "up2").last().expect("it was validated").time;
    assert!(last < Time::ZERO + ms(300), "{last}");
    let output = run(r#"{ idle_timeout = "1 s", keep_alive = "250 ms" }"#);
    assert_eq!(counts(&output), [2.0, 0.0]);
    // a PING and its acknowledgement take 20 ms, or 45 with a delayed one, then the next interval of 250 ms begins
    let pings = passed(&output, "up2").len();
    assert!((30..=10_000 / 250 + 6).contains(&pings), "{pings}");
}

/// Acknowledgements for the backup path use the first: they show that it works, and the next PING waits for the
/// interval.
#[test]
fn acknowledgements_on_another_path_keep_a_path_alive() {
    let paths = second(r#"status = "backup""#);
    let rule = r#"acknowledgements = "lowest_rtt""#;
    let client = format!(r#"{{ {rule}, idle_timeout = "1 s", keep_alive = "250 ms" }}"#);
    let output = managed(&[
        ("links.down2.delay", "100 ms"),
        ("links.back2.delay", "100 ms"),
        (paths.0, &paths.1),
        ("flows.f.sender.multipath", &format!("{{ {rule} }}")),
        ("flows.f.receiver.multipath", &client),
    ]);
    assert_eq!(counts(&output), [2.0, 0.0]);
    // 200 ms are more than 20 ms and the 49 ms of a full queue; at most 250 ms, 100 ms up, 25 ms of a delayed acknowledgement and 10 ms with a full queue of 49 ms down after the last
    let pings = passed(&output, "up2").len();
    assert!((10_000 / (250 + 100 + 25 + 10 + 49) - 1..=10_000 / 250 + 6).contains(&pings), "{pings}");
}

/// The third path waits for the limit on path IDs until the second is abandoned; until then its status changes. It
/// opens with the last one.
#[test]
fn a_change_before_a_path_opens_holds_when_it_opens() {
    let paths = r#"[{ down = ["in2", "down2", "out2"], up = ["up2", "back2"] },
        { down = ["in3", "down3"], up = ["back2"], start = "1 s", status = "backup" }]"#;
    let abandon = r#"{ at = "3 s", path = 1, action = "abandon" }"#;
    let available = r#"{ at = "2 s", path = 2, action = "available" }"#;
    for (stack, own) in [("lab-quic", r#"profile = "rfc9002", "#), ("noq", "")] {
        let run = |changes: &str| {
            let output = run_two(&[
                ("flows.f.stack", stack),
                ("links.down3", r#"{ rate = "20 Mbit/s", delay = "10 ms" }"#),
                ("taps.in3", "{}"),
                ("flows.f.paths", paths),
                ("flows.f.sender", &format!("{{ {own}multipath = {{ initial_max_path_id = 1 }} }}")),
                ("flows.f.receiver", &format!("{{ {own}multipath = {{}} }}")),
                ("flows.f.path_changes", &format!("[{changes}]")),
            ]);
            passed(&output, "in3").len()
        };
        let (with, without) = (run(&format!("{available}, {abandon}")), run(abandon));
        assert!(with > 1000 && (1..10).contains(&without), "{stack}: {with} and {without}");
    }
}

/// The opened path does not work: after three times the PTO of a new path it is abandoned, and all data use the first.
#[test]
fn a_path_that_fails_validation_is_abandoned() {
    let lost = listed(0..100);
    let output = managed(&[("duration", "30 s"), DOWNLOAD, ("links.back2.loss", &lost)]);
    let flow = &output.result.flows["f"];
    assert!(flow.completed, "{:?}", flow.failure);
    assert_eq!(flow.receiver["paths_abandoned"], 1.0);
    // 3 x (3 x 333 ms + 25 ms)
    let up = passed(&output, "up2");
    let (first, last) = (up[0].time, up.last().expect("there is one").time);
    assert!(last <= first + ms(3 * (999 + 25)), "{first} to {last}");
}

/// Management changes when the second path opens, two round trips later, and the space of its frames; the shares of a
/// scheduler stay.
#[test]
fn schedulers_share_as_without_management() {
    let share = |output: &RunOutput| {
        let (first, second) = (passed(output, "in1").len() as f64, passed(output, "in2").len() as f64);
        second / (first + second)
    };
    for scheduler in [
        "round_robin",
        "strict_round_robin",
        r#"{ kind = "weighted_round_robin", weights = [1, 2] }"#,
        "lowest_rtt",
        r#"{ kind = "cheapest_first", order = [1, 0] }"#,
        "blest",
        "ecf",
        "earliest_arrival",
    ] {
        let kind = ("flows.f.sender.quic.path_scheduler", scheduler);
        let sets = [("duration", "30 s"), DOWNLOAD, kind, SLOWER[0], SLOWER[1]];
        let (without, with) = (run_two(&sets), managed(&sets));
        for output in [&without, &with] {
            let flow = &output.result.flows["f"];
            assert!(flow.completed && flow.delivered_bytes == 10_000_000, "{scheduler}: {:?}", flow.failure);
        }
        let (without, with) = (share(&without), share(&with));
        assert!((without - with).abs() < 0.1, "{scheduler}: {without} without, {with} with management");
    }
}
