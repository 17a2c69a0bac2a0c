//! Reading qlog that is truncated, damaged or malicious.

use crate::support::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use quiclab_trace::inspect::inspect_reader;
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::Path;

fn inspect(text: &[u8]) -> Result<Vec<Value>, String> {
    inspect_reader(|| Ok(text), "x", text.len() as u64, 500, &mut |_, _| ControlFlow::Continue(()))
        .map(|json| serde_json::from_str(&json).expect("the document is JSON"))
        .map_err(|error| error.to_string())
}

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "qlog" || kind == "sqlog"))
        .filter(|entry| entry.metadata().unwrap().len() < 10_000)
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    assert_eq!(files.len(), 11);
    files
}

/// Truncated after any byte: all complete events are present, and the position is named.
#[test]
fn cut_off_anywhere() {
    for (name, text) in fixtures() {
        let whole = inspect(&text).unwrap();
        let events = |found: &[Value]| -> u64 {
            found.iter().map(|one| one["counts"]["events"].as_u64().unwrap()).sum()
        };
        let (mut before, mut readable) = (0, false);
        for length in 0..text.len() {
            let Ok(found) = inspect(&text[..length]) else {
                assert!(!readable, "{name}: it was readable before byte {length}");
                continue;
            };
            let now = events(&found);
            assert!(now >= before, "{name}: events vanish at byte {length}");
            let closing = b"]}".contains(&text[length - 1]);
            assert!(now == before || !readable || closing, "{name}: an event is there only at byte {length}");
            (before, readable) = (now, true);
            // only whitespace is missing, or the position is named
            let rest = text[length..].trim_ascii().is_empty();
            let at = found[0]["counts"]["truncated_at_byte"].as_u64();
            // between the records of a sequence nothing shows that records are missing
            let between = name.ends_with(".sqlog");
            assert!(rest || between || at.is_some_and(|at| at <= length as u64), "{name}: {length} {at:?}");
        }
        assert_eq!(before, events(&whole), "{name}");
    }
}

/// A file that is truncated in its last event is read up to that event.
#[test]
fn the_place_of_the_cut_is_where_the_record_begins() {
    let text = b"\x1e{\"qlog_version\":\"0.3\",\"trace\":{}}\n\x1e{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{}}\n\x1e{\"time\":2,\"na";
    let found = &inspect(text).unwrap()[0];
    let begin = text.len() - "{\"time\":2,\"na".len();
    assert_eq!(found["counts"]["truncated_at_byte"], begin);
    assert_eq!((&found["counts"]["packets_sent"], &found["counts"]["malformed"]), (&1.into(), &0.into()));
}

/// Excessive frames, ranges, names, groups, streams and losses; deep nesting; numbers out of range.
#[test]
fn made_to_do_harm() {
    let header = "{\"qlog_version\":\"0.3\",\"trace\":{}}\n";
    let event = |name: &str, data: &str| format!("{{\"time\":1,\"name\":\"{name}\",\"data\":{data}}}\n");
    let many = |count: usize, one: &str| vec![one; count].join(",");
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let records = [
        event("packet_sent", &format!("{{\"frames\":[{}]}}", many(200_000, "{}"))),
        event(
            "packet_received",
            &format!(
                "{{\"header\":{{\"packet_number\":1}},\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":[{}]}}]}}",
                many(200_000, "[9,1]")
            ),
        ),
        event(
            "packet_received",
            "{\"header\":{\"packet_number\":18446744073709551615},\"raw\":{\"length\":18446744073709551615},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,18446744073709551615]]},{\"frame_type\":\"stream\",\"stream_id\":-1,\"offset\":18446744073709551615,\"length\":18446744073709551615}]}",
        ),
        event("packet_sent", &deep("[", "]")),
        event("packet_sent", &deep("{\"frames\":", "}").replacen("}}", "1}}", 1)),
        event(
            "metrics_updated",
            "{\"congestion_window\":-1e300,\"ssthresh\":1e308,\"min_rtt\":\"nan\",\"smoothed_rtt\":\"inf\"}",
        ),
        event("metrics_updated", "{\"congestion_window\":1e999}"),
        event("congestion_state_updated", &format!("{{\"new\":\"{}\"}}", "ä".repeat(1_000_000))),
        event(&"x".repeat(1_000_000), "7"),
        "{\"time\":1e300,\"name\":5,\"data\":[]}\n{\"time\":-1e300,\"name\":\"packet_lost\",\"data\":null}\n"
            .to_owned(),
        "[]\n[1]\n[1,2,3]\n{}\n\"text\"\n12\n".to_owned(),
        event("packet_sent", "{\"header\":{\"packet_number\":5}}"),
    ];
    let found = &inspect(format!("{header}{}", records.concat()).as_bytes()).unwrap()[0];
    assert_eq!(found["counts"]["packets_received"], 2);
    assert_eq!(found["packets_sent"]["number"], serde_json::json!([5]), "the last event is reached");
    assert_eq!(found["acks"]["newly"], serde_json::json!([9_u64, u64::MAX - 9]));

    // a hundred thousand of each
    let mut log = header.to_owned();
    for index in 0..100_000 {
        log.push_str(&format!(
            "{{\"time\":{index},\"group_id\":\"{}\",\"name\":\"packet_sent\",\"data\":{{\"header\":{{\"packet_number\":{index}}},\
             \"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":{index},\"offset\":{},\"length\":5}},{{\"frame_type\":\"kind {index}\"}}]}}}}\n\
             {{\"time\":{index},\"name\":\"event {index}\"}}\n{{\"time\":{index},\"name\":\"packet_lost\",\"data\":{{\"packet_number\":{index}}}}}\n",
            index % 1000,
            index * 7 % 1000,
        ));
    }
    let found = inspect(log.as_bytes()).unwrap();
    assert_eq!(found.len(), 16);
    assert_eq!(found[0]["connection"]["of"], 256);
    assert!(found.iter().all(|one| one["counts"]["skipped"].as_object().unwrap().len() <= 101));
}

/// A modification of a file.
#[derive(Clone, Debug)]
enum Damage {
    Set(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    // the bytes that mean something to JSON, and any
    let byte = prop_oneof![prop::sample::select(b"{}[]\",:\\\n\x1e0-eE.tn".to_vec()), any::<u8>()];
    let one = prop_oneof![
        (any::<usize>(), byte).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        (any::<usize>(), 1..200_usize).prop_map(|(at, count)| Damage::Repeat(at, count)),
    ];
    vec(one, 1..6)
}

proptest! {
    #![proptest_config(cases())]

    /// Every modified file results in a document or an error, and in no more events than records.
    #[test]
    fn damaged_anywhere(file in 0..9_usize, damages in damage()) {
        let mut text = fixtures().swap_remove(file).1;
        for damage in damages {
            let length = text.len().max(1);
            match damage {
                Damage::Set(at, byte) => if let Some(place) = text.get_mut(at % length) { *place = byte },
                Damage::Remove(at, count) => drop(text.drain(at % length..(at % length + count).min(text.len()))),
                Damage::Repeat(at, count) => {
                    let part = text[at % length..(at % length + count).min(text.len())].to_vec();
                    text.splice(at % length..at % length, part);
                }
            }
        }
        match inspect(&text) {
            Ok(found) => {
                for one in &found {
                    for series in ["packets_sent", "packets_received", "lost", "acks", "recovery"] {
                        let columns = one[series].as_object().unwrap();
                        let length = columns["time_ms"].as_array().unwrap().len();
                        prop_assert!(columns.values().all(|column| column.as_array().unwrap().len() == length));
                    }
                    let sets = one["frame_sets"].as_array().unwrap().len() as u64;
                    let frames = one["packets_sent"]["frames"].as_array().unwrap();
                    prop_assert!(frames.iter().all(|set| set.as_u64().unwrap() < sets));
                }
            }
            Err(error) => prop_assert!(error.starts_with("x: expected a qlog file"), "{}", error),
        }
    }
}
