//! The first path goes down at 2 s, in both directions, and packets on it are lost; the second is a backup. The
//! duration of the gap at the receiver follows from how the ends detect the outage.

use super::common::*;
use quiclab_core::Time;
use quiclab_sim::RunOutput;

const DOWN_AT: f64 = 2.0;
/// One-way delay of each link, and serialisation of 1228 B at 20 Mbit/s.
const DELAY: f64 = 0.010;
const SERIALISATION: f64 = 491.2e-6;
const BACKUP: &str = r#"[{ down = ["in2", "down2", "out2"], up = ["up2", "back2"], status = "backup" }]"#;
const OUTAGE: &str =
    r#"{ at_end = "hold", while_down = "lose", rows = [{ at = "0 s" }, { at = "2 s", up = false }] }"#;

fn lose(stack: &str, options: &str, sets: &[(&str, &str)]) -> RunOutput {
    let own = if stack == "lab-quic" { r#"profile = "rfc9002", "# } else { "" };
    let end = format!("{{ {own}multipath = {{ {options} }} }}");
    let common = [
        ("duration", "8 s"),
        ("flows.f.stack", stack),
        ("flows.f.sender", &*end),
        ("flows.f.receiver", &*end),
        ("flows.f.paths", BACKUP),
        ("links.down1.conditions", OUTAGE),
        ("links.back1.conditions", OUTAGE),
    ];
    run_two(&[&common[..], sets].concat())
}

/// Seconds from the outage to the first arrival of data on the second path.
fn gap(output: &RunOutput) -> f64 {
    let down = Time::ZERO + quiclab_core::Duration::from_secs(2);
    let first = passed(output, "out2").into_iter().find(|it| it.time > down && it.size.bytes() > 1000);
    seconds(first.expect("the second path takes over").time) - DOWN_AT
}

/// The device detects it: PATH_ABANDON takes the second path up, data take it down.
#[test]
fn a_reported_outage_costs_a_round_trip_of_the_other_path() {
    for stack in ["lab-quic", "noq"] {
        let output = lose(stack, "", &[("flows.f.abandon_when_down", "true")]);
        // timers of noq are those of tokio, up to two milliseconds late, and it wakes once more after the handshake
        let late = if stack == "noq" { 0.002 } else { 0.0 };
        let gap = gap(&output);
        let least = 2.0 * DELAY + SERIALISATION;
        assert!((least - 1e-6..least + late + 1e-3).contains(&gap), "{stack}: {gap} s");
    }
}

/// Neither end is notified. lab-quic waits for a probe timeout after the last packet, which left when the last
/// acknowledgement arrived: at least the minimum PTO, an RTT of 20 ms and 25 ms of max_ack_delay; at most that of a
/// full queue (`failure.rs`) and a one-way delay with that queue for the last acknowledgement; then the data need 10
/// ms.
#[test]
fn an_outage_costs_lab_quic_a_probe_timeout() {
    let gap = gap(&lose("lab-quic", "", &[]));
    let most = (0.069 + 2.0 * 0.049 + 0.025) + DELAY + DELAY + 2.0 * SERIALISATION;
    assert!((0.045..most).contains(&gap), "{gap} s, at most {most}");
}

/// noq uses a backup path when no other is open: after the idle timeout of the server, which starts with the last
/// packet received, sent at the latest at the outage minus 10 ms, or with the first packet sent after it. PING of the
/// client keeps the second path open; it acknowledges everything on the first, so that its own timeout would end the
/// second.
#[test]
fn an_outage_costs_noq_the_idle_timeout() {
    let ends = [
        ("flows.f.sender", r#"{ multipath = { idle_timeout = "1 s" } }"#),
        ("flows.f.receiver", r#"{ multipath = { keep_alive = "200 ms" } }"#),
    ];
    let gap = gap(&lose("noq", "", &ends));
    // a timer of tokio is up to two milliseconds late, and a congested first path up to a few
    let most = 1.0 + 2.0 * DELAY + SERIALISATION + 0.010;
    assert!((1.0..most).contains(&gap), "{gap} s, at most {most}");
}

/// A status sent in time moves the data before the outage.
#[test]
fn make_before_break_loses_no_time() {
    let changes = r#"[{ at = "1.9 s", path = 0, action = "backup" }, { at = "1.9 s", path = 1, action = "available" }]"#;
    for stack in ["lab-quic", "noq"] {
        let output = lose(stack, "", &[("flows.f.path_changes", changes)]);
        let mut times: Vec<f64> = [passed(&output, "out1"), passed(&output, "out2")]
            .concat()
            .iter()
            .map(|record| seconds(record.time))
            .filter(|time| (1.8..3.0).contains(time))
            .collect();
        times.sort_by(f64::total_cmp);
        assert!(times.last().is_some_and(|last| *last > 2.9), "{stack}: data go on");
        let gap = times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        // the second path begins with its initial window: after it a round trip of 20 ms at most, and a delayed
        // acknowledgement of 25 ms
        assert!(gap < 2.0 * DELAY + 0.025, "{stack}: {gap} s");
    }
}

/// One network at a time, as with connection migration: the second path is opened when the first goes down.
/// PATH_CHALLENGE, that of the server, its answer and data follow one after the other.
#[test]
fn break_before_make_costs_two_round_trips() {
    let later = r#"[{ down = ["in2", "down2", "out2"], up = ["up2", "back2"], start = "2 s" }]"#;
    let output = lose("lab-quic", "", &[("flows.f.abandon_when_down", "true"), ("flows.f.paths", later)]);
    let validated = passed(&output, "up2")[1].time;
    let first =
        passed(&output, "out2").into_iter().find(|record| record.time > validated).expect("data follow");
    let gap = seconds(first.time) - DOWN_AT;
    let least = 4.0 * DELAY + 2.0 * SERIALISATION;
    assert!((least - 1e-6..least + 1e-3).contains(&gap), "{gap} s, at least {least}");
}

/// Wi-Fi, LTE and back: the third path has the routes of the first, and opens when its links are up again. The outage
/// of the first does not abandon it.
#[test]
fn a_path_that_opens_after_an_outage_is_not_abandoned_for_it() {
    let paths = r#"[{ down = ["in2", "down2", "out2"], up = ["up2", "back2"], status = "backup" },
        { down = ["in3", "down1", "out1"], up = ["up1", "back1"], start = "4.5 s" }]"#;
    let outage = r#"{ at_end = "hold", while_down = "lose",
        rows = [{ at = "0 s" }, { at = "2 s", up = false }, { at = "4 s", up = true }] }"#;
    for stack in ["lab-quic", "noq"] {
        let sets = [
            ("taps.in3", "{}"),
            ("flows.f.paths", paths),
            ("flows.f.abandon_when_down", "true"),
            ("links.down1.conditions", outage),
            ("links.back1.conditions", outage),
        ];
        let output = lose(stack, "", &sets);
        let back: Vec<f64> = passed(&output, "in3").iter().map(|record| seconds(record.time)).collect();
        // it is available, and the other a backup: three seconds at its rate at least
        assert!(back.len() as f64 > 3.0 * 0.9 * RATE / 8.0 / PACKET, "{stack}: {}", back.len());
        assert!(back[0] > 4.5, "{stack}: {}", back[0]);
        let last = passed(&output, "in1").last().map_or(0.0, |record| seconds(record.time));
        assert!(last < 2.1, "{stack}: the first path is left, {last}");
    }
}
