//! Events in whole runs compared with theory. Every bound is computed from the parameters of the scenario.

use crate::whole_runs::{load, run_text};
use quiclab_sim::{ChangeRecord, Event, RunOutput};

/// 50 Mbit/s and 40 ms: 250 kB, or 167 packets; the queue holds the backlog that startup leaves.
const BBR: &str = r#"
version = 1
name = "events"
duration = "8 s"
until = "duration_over"
links.down = { rate = "50 Mbit/s", delay = "20 ms", queue = { kind = "drop_tail", packets = 1000 } }
links.up = { delay = "20 ms" }
[flows.a]
stack = "lab-quic"
sender = { congestion_control = "bbr-v3" }
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "30 s" }
[record]
series_interval = "1 ms"
"#;

fn with(events: &str) -> String {
    format!("{BBR}\n{events}")
}

/// Times and values of a metric of an element.
fn series(output: &RunOutput, element: &str, metric: &str) -> Vec<(f64, f64)> {
    let series = &output.series;
    let element = output.element_names.iter().position(|name| name == element).unwrap() as u32;
    let metric = series.metric_names.iter().position(|name| *name == metric).unwrap() as u32;
    (0..series.value.len())
        .filter(|&row| series.element[row] == element && series.metric[row] == metric)
        .map(|row| (series.time_ns[row] as f64 / 1e9, series.value[row]))
        .collect()
}

/// First and last sample in the first period of a phase.
fn first_period(output: &RunOutput, phase: f64) -> (f64, f64) {
    let phases = series(output, "a.sender", "phase");
    let begin = phases.iter().position(|(_, value)| *value == phase).expect("the phase is entered");
    let length = phases[begin..].iter().take_while(|(_, value)| *value == phase).count();
    (phases[begin].0, phases[begin + length - 1].0)
}

const DRAIN: f64 = 4.0;

fn changes(output: &RunOutput) -> Vec<(usize, bool, &str)> {
    output.result.changes.iter().map(|it| (it.event, it.begins, it.link.as_str())).collect()
}

/// DRAIN ends when no more is in flight than the estimated BDP (draft-ietf-ccwg-bbr-06 section 5.3.2). The bytes in
/// flight decrease by the difference of delivery and sending rate: with the pacing gain of DRAIN, 0.5 (section 5.6.1),
/// by (1 - 0.5) C, and by (0.9 - 0.5) C once the rate is 10 % lower, which acknowledgements show half a round trip
/// later.
#[test]
fn a_rate_that_falls_when_drain_begins_prolongs_it_as_the_gain_says() {
    let plain = run_text(BBR, &[], 1);
    let event = with(
        r#"[[events]]
        when = { kind = "state", flow = "a", state = "drain", occurrence = 1 }
        links = ["down"]
        rate_factor = 0.9"#,
    );
    let output = run_text(&event, &[], 1);
    let (begin, end) = first_period(&plain, DRAIN);
    let (changed_begin, changed_end) = first_period(&output, DRAIN);
    assert_eq!(begin, changed_begin, "nothing differs before");
    assert_eq!(changes(&output), [(0, true, "down")]);
    let ChangeRecord { time_s, rate_mbps, .. } = output.result.changes[0];
    assert!(
        time_s <= begin && begin - time_s <= 0.001,
        "in the millisecond before the first sample in DRAIN"
    );
    assert_eq!(rate_mbps, Some(45.0));
    let (drain, changed) = (end - begin, changed_end - begin);
    let told = 0.02;
    let expected = told + (drain - told) * 0.5 / 0.4;
    // DRAIN ends with an acknowledgement, and samples are 1 ms apart
    assert!((changed - expected).abs() < 0.15 * expected, "{drain} s, {changed} s, expected {expected} s");
}

/// A time-driven event equals a row of conditions: the same packets at the same times.
#[test]
fn an_event_at_a_time_is_a_row_of_conditions() {
    let event = with(
        r#"[[events]]
        when = { kind = "time", at = "2 s" }
        links = ["down", "up"]
        added_delay = "30 ms"
        loss = 0.01
        duration = "3 s""#,
    );
    let row = r#"rows = [{ at = "0 s", loss = 0 }, { at = "2 s", delay = "50 ms", loss = 0.01 }, { at = "5 s", delay = "20 ms", loss = 0 }], at_end = "hold""#;
    let conditions = BBR.replace("links.down = {", &format!("links.down = {{ conditions = {{ {row} }},"));
    let conditions = conditions.replace("links.up = {", &format!("links.up = {{ conditions = {{ {row} }},"));
    let of_event = run_text(&event, &[], 3);
    assert_eq!(of_event.result.digest, run_text(&conditions, &[], 3).result.digest);
    let expected = [(0, true, "down"), (0, true, "up"), (0, false, "down"), (0, false, "up")];
    assert_eq!(changes(&of_event), expected);
    assert_ne!(of_event.result.digest, run_text(BBR, &[], 3).result.digest);
    assert_eq!(of_event.result.digest, run_text(&event, &[], 3).result.digest);
}

/// A control that estimates the minimum RTT takes a longer route for a queue: the estimate stays until it is 10 s old
/// (`MinRTTFilterLen`, draft-ietf-ccwg-bbr-06 section 2.13.1), and PROBE_RTT, every 5 s, renews it.
#[test]
fn after_a_change_of_the_route_the_window_of_the_stale_rtt_suffices() {
    let event = with(
        r#"[[events]]
        when = { kind = "time", at = "10 s" }
        links = ["down"]
        added_delay = "30 ms""#,
    );
    let output = run_text(&event, &[("duration", "25 s"), ("flows.a.stack", "lab-tcp")], 1);
    let phases = series(&output, "a.sender", "phase");
    // ends of PROBE_RTT (6) before and after the change
    let mut ends =
        phases.windows(2).filter(|pair| pair[0].1 == 6.0 && pair[1].1 != 6.0).map(|pair| pair[1].0);
    let renewed = ends.rfind(|end| *end < 10.0).expect("a probe before the change");
    let srtt = series(&output, "a.sender", "srtt_ms");
    let at = |time: f64| srtt.iter().find(|(at, _)| *at >= time).unwrap().1;
    assert!(at(11.0) >= 70.0, "the RTT is longer at once: {} ms", at(11.0));
    let rate = series(&output, "a.receiver", "delivered_bytes");
    let delivered = |from: f64, to: f64| {
        let bytes = |time: f64| rate.iter().find(|(at, _)| *at >= time).unwrap().1;
        (bytes(to) - bytes(from)) * 8.0 / (to - from) / 1e6
    };
    // While the estimate is stale, at most cwnd_gain BDPs of the old RTT are in flight: 2 x 40 ms at 50 Mbit/s, enough for 70 ms
    assert!(delivered(11.0, 14.0) > 40.0);
    assert!(renewed > 4.0, "{renewed}");
}

/// RFC 9002 section 6.2.1: "the PTO period MUST be set to twice its current value" each time it expires. A black hole loses the
/// probes too, so the times between them double.
#[test]
fn in_a_black_hole_probe_timeouts_double() {
    let event = with(
        r#"[[events]]
        when = { kind = "delivered", flow = "a", size = "5 MB" }
        links = ["down", "up"]
        loss = 1
        duration = "20 s""#,
    );
    let sets = [
        ("duration", "12 s"),
        ("flows.a.sender.congestion_control", "cubic"),
        ("record.packets", "true"),
        ("record.series_interval", "1 s"),
    ];
    let output = run_text(&event, &sets, 1);
    let begin = output.result.changes[0].time_s;
    let sender = output.element_names.iter().position(|name| name == "a.sender").unwrap() as u32;
    let sent =
        output.packets.iter().filter(|record| record.element == sender && record.event == Event::Departure);
    // the first probes leave more than a round trip after the last acknowledgement has arrived
    let mut times: Vec<f64> = sent.map(|record| record.time.as_nanos() as f64 / 1e9).collect();
    times.retain(|time| *time > begin + 0.1);
    times.dedup_by(|later, earlier| *later - *earlier < 0.001);
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 4, "{times:?}");
    for pair in gaps.windows(2) {
        assert!((pair[1] / pair[0] - 2.0).abs() < 0.001, "{gaps:?}");
    }
    assert!(output.result.elements["down"].statistics["dropped_loss_packets"] > 0.0);
}

/// While the link is down nothing arrives, and waiting packets are delivered afterwards: nothing of a download is lost.
#[test]
fn a_link_that_goes_down_holds_what_waits() {
    let event = with(
        r#"[[events]]
        when = { kind = "delivered", flow = "a", size = "5 MB" }
        links = ["down"]
        up = false
        duration = "500 ms""#,
    );
    let output = run_text(&event, &[], 1);
    let [down, up] = [0, 1].map(|index| output.result.changes[index].time_s);
    assert!((up - down - 0.5).abs() < 1e-9);
    assert_eq!(output.result.changes[0].rate_mbps, Some(0.0));
    let delivered = series(&output, "a.receiver", "delivered_bytes");
    let at = |time: f64| delivered.iter().find(|(at, _)| *at >= time).unwrap().1;
    assert!(at(down) >= 5e6 && at(down - 0.002) < 5e6, "{} bytes at {down} s", at(down));
    // packets in transit arrive within 20 ms
    assert_eq!(at(down + 0.021), at(up + 0.019));
    assert!(at(up + 0.1) > at(up + 0.019));
    assert_eq!(output.result.elements["down"].counters.dropped.packets, 0);
}

/// Each entry, the second one, and one that does not occur.
#[test]
fn occurrences_are_counted() {
    let event = with(
        r#"[[events]]
        when = { kind = "state", flow = "a", state = "probe_bw_up" }
        links = ["down"]
        added_delay = "1 ms"
        duration = "1 ms"
        [[events]]
        when = { kind = "state", flow = "a", state = "probe_bw_up", occurrence = 2 }
        links = ["up"]
        added_delay = "1 ms"
        [[events]]
        when = { kind = "state", flow = "a", state = "drain", occurrence = 2 }
        links = ["up"]
        added_delay = "1 ms""#,
    );
    let output = run_text(&event, &[("duration", "20 s")], 1);
    let begins: Vec<_> = output.result.changes.iter().filter(|change| change.begins).collect();
    let each: Vec<f64> = begins.iter().filter(|it| it.event == 0).map(|it| it.time_s).collect();
    assert!(each.len() >= 3, "{each:?}");
    let second: Vec<f64> = begins.iter().filter(|it| it.event == 1).map(|it| it.time_s).collect();
    assert_eq!(second, [each[1]]);
    assert!(output.result.warnings.iter().any(|it| it.contains("event 2 has changed nothing")));
}

/// Every state of a control during a run with losses is listed in `states`, the names that events may have.
#[test]
fn states_that_controls_report_are_those_that_are_listed() {
    use quiclab_core::Phase;
    use quiclab_transport::options::{CongestionControl, SlowStartExit};
    let queue = ("links.down.queue.packets", "60");
    for control in CongestionControl::ALL {
        if control.family().needs_marks() {
            continue; // they need ECN at both ends; `phase` is that of NewReno
        }
        let name = format!("\"{}\"", control.name());
        let sets = [("flows.a.sender.congestion_control", name.as_str()), queue, ("duration", "14 s")];
        let output = run_text(BBR, &sets, 1);
        let states = control.states(SlowStartExit::None);
        for (time, phase) in series(&output, "a.sender", "phase") {
            let phase = Phase::ALL[phase as usize].name();
            assert!(states.contains(&phase), "{control:?} is in {phase} at {time} s: {states:?}");
        }
    }
}

#[test]
fn wrong_events_are_refused_in_a_sentence() {
    let refused = |event: &str, sets: &[(&str, &str)]| {
        load(&with(&format!("[[events]]\n{event}")), sets)
            .expect_err("it is to be refused")
            .problem
            .to_string()
    };
    let drain = r#"when = { kind = "state", flow = "a", state = "drain" }"#;
    let change = "links = [\"down\"]\nrate_factor = 0.9";
    assert_eq!(
        refused(&format!("{drain}\n{change}"), &[("flows.a.sender.congestion_control", "cubic")]),
        "events.0.when.state: expected \"slow_start\", \"congestion_avoidance\" or \"recovery\", got \"drain\"; the \
         congestion control of flow `a` has no such state"
    );
    let of_b = r#"when = { kind = "delivered", flow = "b", size = "1 MB" }"#;
    assert!(refused(&format!("{of_b}\n{change}"), &[]).contains("no such flow"));
    assert!(refused(&format!("{drain}\nlinks = [\"x\"]\nup = false"), &[]).contains("no such link"));
    assert!(refused(change, &[]).starts_with("events.0.when: "));
    assert!(refused(&format!("{drain}\nlinks = [\"down\"]"), &[]).contains("the event changes nothing"));
    assert!(
        refused(&format!("{drain}\nlinks = [\"up\"]\nup = false"), &[])
            .contains("`links.up.rate` is not constant")
    );
    let both = format!("{drain}\n{change}\nrate = \"1 Mbit/s\"");
    assert!(refused(&both, &[]).contains("`rate` is set"));
    let listed = ("links.down.loss", r#"{ kind = "listed", packets = [1] }"#);
    assert!(refused(&format!("{drain}\nlinks = [\"down\"]\nloss = 0.1"), &[listed]).contains("independent"));
}
