//! Whole runs: their end, their samples, and that nothing is lost between the elements.

use quiclab_config::Document;
use quiclab_core::{Count, Counters, Problem, Time};
use quiclab_scenario::{NetworkText, Scenario};
use quiclab_sim::{
    BuildOptions, EndedBy, Event, NativeStacks, Record, RunError, RunOptions, RunOutput, SimulationError, run,
};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// An undisturbed download: the queue holds all of it.
const CLEAN: &str = r#"
version = 1
name = "clean"
duration = "10 s"
links.down = { rate = "20 Mbit/s", delay = "5 ms", queue = { kind = "drop_tail", packets = 10000 } }
links.up = { rate = "20 Mbit/s", delay = "5 ms" }
[flows.f]
stack = "quinn"
down = ["down"]
up = ["up"]
workload = { kind = "download", size = "1 MB" }
"#;

fn document(text: &str, file: &str, sets: &[(&str, &str)]) -> Document {
    let sets = sets.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect::<Vec<_>>();
    let document = Document::from_toml(text, file, &[]).unwrap();
    Scenario::expanded(document, &sets, &named_path).unwrap()
}

/// The named path of the repository.
fn named_path(name: &str) -> Result<NetworkText, Problem> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/quiclab/scenario");
    let file = format!("{name}.toml");
    Ok(NetworkText { text: fs::read_to_string(folder.join(&file)).unwrap(), file })
}

fn load(text: &str, file: &str, sets: &[(&str, &str)]) -> Scenario {
    Scenario::load(&document(text, file, sets), &quiclab_sim::validate).unwrap().resolved()
}

fn attempt(scenario: &Scenario, base_dir: &Path, go_on: bool) -> Result<RunOutput, RunError> {
    let options = RunOptions {
        build: BuildOptions { stacks: &NativeStacks, base_dir, transport_observer: &|_| None },
        packet_observers: &|_| Vec::new(),
        progress: &|_| if go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) },
        compared: None,
    };
    run(scenario, 7, &options)
}

fn clean(sets: &[(&str, &str)]) -> RunOutput {
    let mut sets = sets.to_vec();
    sets.push(("record.packets", "true"));
    attempt(&load(CLEAN, "clean.toml", &sets), Path::new("."), true).unwrap()
}

fn last(output: &RunOutput) -> Time {
    output.packets.iter().map(|record| record.time).max().unwrap()
}

fn key(record: &Record) -> (Time, u32, u8, u64, u64) {
    (record.time, record.element, record.event as u8, record.size_bytes, record.packet)
}

#[test]
fn a_duration_ends_a_run_to_the_nanosecond() {
    for until in ["duration_over", "workloads_done"] {
        let output = clean(&[("duration", "123456789 ns"), ("until", until)]);
        assert_eq!(output.result.run.ended_by, EndedBy::DurationOver);
        assert_eq!(output.result.run.network_time_s, 0.123_456_789);
        assert!(last(&output) <= Time::from_nanos(123_456_789));
        assert!(!output.result.flows["f"].completed);
    }
}

#[test]
fn an_event_at_the_end_of_the_duration_still_happens() {
    let whole = clean(&[]);
    let end = whole.packets[whole.packets.len() / 2].time;
    let nanoseconds = format!("{} ns", end.as_nanos());
    assert_eq!(last(&clean(&[("duration", &nanoseconds), ("until", "duration_over")])), end);
    let before = format!("{} ns", end.as_nanos() - 1);
    assert!(last(&clean(&[("duration", &before), ("until", "duration_over")])) < end);
}

#[test]
fn a_shorter_run_is_the_beginning_of_a_longer_one() {
    let (short, long) = (clean(&[("duration", "100 ms")]), clean(&[]));
    assert!(!short.packets.is_empty() && short.packets.len() < long.packets.len());
    assert!(short.packets.iter().zip(&long.packets).all(|(a, b)| key(a) == key(b)));
    // and nothing of the longer one within these 100 ms is missing
    assert!(long.packets[short.packets.len()].time > Time::from_nanos(100_000_000));
}

#[test]
fn duration_over_waits_for_the_end_although_all_is_done() {
    let output = clean(&[("until", "duration_over")]);
    assert_eq!((output.result.run.ended_by, output.result.run.network_time_s), (EndedBy::DurationOver, 10.0));
    let flow = &output.result.flows["f"];
    assert!(flow.completed && flow.finish_s.unwrap() < 1.0);
    // the goodput counts until the last byte, not until the end of the run
    assert_eq!(flow.goodput_mbps, clean(&[]).result.flows["f"].goodput_mbps);
}

#[test]
fn a_run_ends_when_the_last_workload_is_done() {
    let second = r#"{ stack = "noq", down = ["down"], up = ["up"], start = "100 ms",
                      workload = { kind = "download", size = "200 kB" } }"#;
    let output = clean(&[("flows.g", second)]);
    assert_eq!(output.result.run.ended_by, EndedBy::WorkloadsDone);
    let finished = output.result.flows.values().map(|flow| flow.finish_s.unwrap());
    assert_eq!(output.result.run.network_time_s, finished.fold(0.0, f64::max));
    assert!(output.result.flows.values().all(|flow| flow.completed));
    assert_eq!(output.result.flows["g"].start_s, Some(0.1));
}

#[test]
fn a_byte_count_ends_a_run_with_the_packet_that_reaches_it() {
    for wanted in [1, 50_000, 999_999, 1_000_000] {
        let output = clean(&[("until", &format!("{{ delivered = \"{wanted} B\" }}"))]);
        let delivered = output.result.flows["f"].delivered_bytes;
        // in order and without loss each packet delivers its data: less than a datagram of 1200 B
        assert!((wanted..wanted + 1200).contains(&delivered), "{delivered} of {wanted}");
        assert_eq!(output.result.run.ended_by, EndedBy::Delivered);
        assert_eq!(output.result.run.network_time_s, last(&output).as_nanos() as f64 / 1e9);
    }
}

#[test]
fn a_byte_count_is_the_sum_over_the_flows() {
    let second =
        r#"{ stack = "noq", down = ["down"], up = ["up"], workload = { kind = "download", size = "1 MB" } }"#;
    let output = clean(&[("flows.g", second), ("until", r#"{ delivered = "300 kB" }"#)]);
    let delivered = output.result.flows.values().map(|flow| flow.delivered_bytes).sum::<u64>();
    assert!((300_000..301_200).contains(&delivered), "{delivered}");
    assert!(output.result.flows.values().all(|flow| flow.delivered_bytes > 0));
}

#[test]
fn series_show_the_state_after_all_events_of_their_instant() {
    let sets = [("duration", "123 ms"), ("until", "duration_over"), ("record.series_interval", "10 ms")];
    let output = clean(&sets);
    let series = &output.series;
    assert!(series.time_ns.is_sorted());
    let down = output.element_names.iter().position(|name| name == "down").unwrap() as u32;
    let metric = |name: &str| series.metric_names.iter().position(|known| *known == name).unwrap() as u32;
    let values = |name: &str| {
        let metric = metric(name);
        (0..series.value.len())
            .filter(|&row| series.element[row] == down && series.metric[row] == metric)
            .map(|row| (series.time_ns[row], series.value[row]))
            .collect::<Vec<_>>()
    };
    let sent = values("sent_bytes");
    let grid = (0..=12).map(|step| step * 10_000_000).collect::<Vec<_>>();
    assert_eq!(sent.iter().map(|(time, _)| *time).collect::<Vec<_>>(), grid);
    assert!(sent.last().unwrap().1 > 0.0);
    for (time, value) in sent {
        let departed = output
            .packets
            .iter()
            .filter(|record| record.element == down && record.event == Event::Departure)
            .filter(|record| record.time.as_nanos() as i64 <= time)
            .map(|record| record.size_bytes)
            .sum::<u64>();
        // a link counts a packet as sent when it leaves the delay, which is its departure
        assert_eq!(value as u64, departed, "at {time} ns");
    }
}

#[test]
fn the_series_of_a_receiver_have_the_bytes_that_its_application_has_got() {
    let output =
        clean(&[("record.series_interval", "100 ms"), ("until", "duration_over"), ("duration", "1 s")]);
    let series = &output.series;
    let delivered = series.metric_names.iter().position(|name| *name == "delivered_bytes").unwrap();
    let of = |index: &usize| series.metric[*index] as usize == delivered;
    let rows: Vec<_> = (0..series.value.len()).filter(of).collect();
    let elements: Vec<_> =
        rows.iter().map(|&row| output.element_names[series.element[row] as usize].as_str()).collect();
    assert_eq!(elements, ["f.receiver"; 11]);
    let values: Vec<_> = rows.iter().map(|&row| series.value[row]).collect();
    assert!(values.is_sorted());
    assert_eq!((values[0], values[10]), (0.0, 1e6));
    // a sample equals the bytes delivered by a run that ends then
    let shorter = clean(&[("until", "duration_over"), ("duration", "300 ms")]);
    assert_eq!(values[3], shorter.result.flows["f"].delivered_bytes as f64);
    assert!(values[3] > 0.0 && values[3] < 1e6);
}

#[test]
fn a_flow_that_starts_after_the_end_is_a_warning() {
    for (start, until) in [("2 s", "duration_over"), ("1 s", "duration_over"), ("2 s", "workloads_done")] {
        let output = clean(&[("flows.f.start", start), ("until", until), ("duration", "1 s")]);
        let flow = &output.result.flows["f"];
        assert_eq!((flow.start_s, flow.finish_s, flow.download_time_s), (None, None, None));
        assert_eq!(
            (flow.completed, flow.failed, flow.delivered_bytes, flow.goodput_mbps),
            (false, false, 0, 0.0)
        );
        let warning = format!("flow `f` never started: the run ended at 1 s, its `start` is {start}");
        assert_eq!(output.result.warnings, [warning]);
        assert_eq!(output.result.run.network_time_s, 1.0);
    }
    let started = clean(&[("flows.f.start", "999999999 ns"), ("duration", "1 s")]);
    assert_eq!(started.result.flows["f"].start_s, Some(0.999_999_999));
}

#[test]
fn a_sample_at_the_instant_of_a_departure_includes_it() {
    let whole = clean(&[]);
    let down = whole.element_names.iter().position(|name| name == "down").unwrap() as u32;
    let left = |record: &&Record| record.element == down && record.event == Event::Departure;
    let first = *whole.packets.iter().find(left).unwrap();
    let output = clean(&[("record.series_interval", &format!("{} ns", first.time.as_nanos()))]);
    let series = &output.series;
    let sent = (0..series.value.len())
        .filter(|&row| series.element[row] == down)
        .filter(|&row| series.metric_names[series.metric[row] as usize] == "sent_bytes")
        .map(|row| (series.time_ns[row] as u64, series.value[row] as u64))
        .take(2)
        .collect::<Vec<_>>();
    assert_eq!(sent, [(0, 0), (first.time.as_nanos(), first.size_bytes)]);
}

#[test]
fn sampling_and_records_change_nothing() {
    let scenario = load(CLEAN, "clean.toml", &[]);
    let plain = attempt(&scenario, Path::new("."), true).unwrap();
    assert!(plain.packets.is_empty() && plain.series.value.is_empty());
    let recorded = clean(&[("record.series_interval", "1 ms")]);
    assert_eq!(plain.result.digest, recorded.result.digest);
    assert_eq!(plain.result.run.network_time_s, recorded.result.run.network_time_s);
}

#[test]
fn a_caller_can_give_a_run_up() {
    let scenario = load(CLEAN, "clean.toml", &[("flows.f.workload.size", "10 MB")]);
    assert!(matches!(attempt(&scenario, Path::new("."), false), Err(RunError::Interrupted)));
}

#[test]
fn an_output_without_a_wire_is_named() {
    // validation rejects this; a caller that has not validated gets an error and no panic
    let text = r#"
version = 1
name = "open"
links = { a = {}, up = { delay = "1 ms" } }
flows.f = { stack = "quinn", workload = { kind = "download", size = "1 kB" } }
wires = [{ from = "f.receiver.0", to = "up.0" }]
"#;
    let scenario = Scenario::decode(&document(text, "open.toml", &[])).unwrap().resolved();
    let error = attempt(&scenario, Path::new("."), true).map(drop).unwrap_err();
    assert!(
        matches!(&error, RunError::Simulation(SimulationError::OpenOutput { element, port: 0, .. }) if element == "up"),
        "{error}"
    );
}

fn examples() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect::<Vec<_>>();
    files.sort();
    files
}

/// Sums over all elements: received, created, sent, dropped, consumed, held.
fn totals(output: &RunOutput) -> [Count; 6] {
    let mut totals = [Count::default(); 6];
    for element in output.result.elements.values() {
        let Counters { received, created, sent, dropped, consumed, held } = element.counters;
        for (total, count) in totals.iter_mut().zip([received, created, sent, dropped, consumed, held]) {
            *total += count;
        }
    }
    totals
}

#[test]
fn what_one_element_sends_another_receives() {
    let mut checked = 0;
    for (file, text) in examples() {
        let folder = file.parent().unwrap();
        // downloads are shortened to 2 MB, because their length does not matter here
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut sets = Vec::new();
        if name == "dual_connectivity.toml" {
            sets.push(("flows.dc.workload.size", "2 MB"));
        }
        if name == "tunnel_published.toml" {
            // it ends with its downloads, and a partially filled packet would wait indefinitely
            sets.push(("tunnels.vpn.pipeline.leaves", "at_once"));
            sets.push(("flows.down1.workload.duration", "3 s"));
            sets.push(("flows.ping.workload.count", "15"));
            sets.push(("duration", "12 s"));
        }
        let output = attempt(&load(&text, name, &sets), folder, true).unwrap();
        for of in [|count: &Count| count.packets, |count: &Count| count.bytes] {
            let [received, created, sent, dropped, consumed, held] = totals(&output).map(|count| of(&count));
            // stopped at an arbitrary instant: packets sent at that instant may not have arrived
            assert!(sent >= received, "{name}: {sent} sent, {received} received");
            let on_wires = sent - received;
            assert_eq!(created, dropped + consumed + held + on_wires, "{name}");
        }
        // when no event is pending nothing is on wires, in queues or in transit
        sets.push(("until", "duration_over"));
        let output = attempt(&load(&text, name, &sets), folder, true).unwrap();
        assert!(output.result.flows.values().all(|flow| flow.completed), "{name}");
        let [received, created, sent, dropped, consumed, held] = totals(&output);
        assert_eq!(sent, received, "{name}");
        assert_eq!(held, Count::default(), "{name}");
        assert_eq!(created.packets, dropped.packets + consumed.packets, "{name}");
        assert_eq!(created.bytes, dropped.bytes + consumed.bytes, "{name}");
        checked += 1;
    }
    assert!(checked >= 8, "{checked} scenarios");
}
