//! Analysis of captures and qlog files with known values: connections, packets, acknowledgements.

use quiclab_trace::pacing::document::Capture;
use quiclab_trace::pacing::{Analysis, Settings};
use quiclab_trace::packets::{KeyLog, read_packets};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file)
}

fn analysed(path: &Path, keys: &KeyLog) -> Capture {
    let mut analysis = Analysis::new(&Settings::default());
    let reading = read_packets(path, keys, &mut analysis, &mut |_, _| ControlFlow::Continue(())).unwrap();
    analysis.finish(path.display().to_string(), reading, 8)
}

/// Packets, ACKs, packets per ACK, and share of duplicate ACKs of each flow.
fn measured(capture: &Capture) -> Vec<(u64, u64, Option<f64>, Option<f64>)> {
    let of = |flow: &quiclab_trace::pacing::document::Flow| {
        (flow.data.packets, flow.acks.count, flow.acks.packets_mean, flow.acks.duplicate_share)
    };
    capture.flows.iter().map(of).collect()
}

const ONE: (u64, u64, Option<f64>, Option<f64>) = (20, 10, Some(2.0), Some(0.0));

/// 20 packets of a server and 10 ACKs of its client, in each connection.
#[test]
fn a_connection_is_one_flow() {
    for (file, flows) in [
        ("quic/plain.pcapng", 1),
        ("quic/client-port-changes.pcapng", 1),
        ("quic/same-ports-one-after-the-other.pcapng", 2),
        ("quic/retry.pcapng", 1),
        ("quic/secrets-with-backslash.pcapng", 1),
        ("quic/time-stamp-before-ack.pcapng", 1),
    ] {
        let capture = analysed(&data(file), &KeyLog::default());
        assert_eq!(measured(&capture), vec![ONE; flows], "{file}");
        assert!(capture.problems.is_empty(), "{file}: {:?}", capture.problems);
        let moved: Vec<_> =
            capture.notes.iter().filter(|note| note.contains("changes an address or port")).collect();
        assert_eq!(moved.len(), usize::from(file.contains("port-changes")), "{file}: {:?}", capture.notes);
        if let [note] = moved[..] {
            assert!(note.ends_with(": 198.51.100.2:50000, then 198.51.100.2:50001"), "{note}");
        }
    }
}

#[test]
fn versions_that_are_not_read_are_named() {
    let capture = analysed(&data("quic/version-of-mvfst.pcap"), &KeyLog::default());
    assert_eq!((capture.flows.len(), capture.flows[0].protocol), (1, "quic"));
    let named = |note: &&String| note.contains("version faceb002 (mvfst), which is not decrypted");
    assert_eq!(capture.notes.iter().filter(named).count(), 1, "{:?}", capture.notes);
}

/// A pcapng file whose blocks are `packets`, and its Decryption Secrets Blocks before or after them.
fn with_secrets_behind(file: &[u8]) -> Vec<u8> {
    let (mut front, mut secrets, mut packets) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = file;
    while let Some(head) = rest.first_chunk::<8>() {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let (block, behind) = rest.split_at(word(4) as usize);
        match word(0) {
            10 => secrets.extend_from_slice(block),
            6 => packets.extend_from_slice(block),
            _ => front.extend_from_slice(block),
        }
        rest = behind;
    }
    assert!(!secrets.is_empty() && !packets.is_empty());
    [front, packets, secrets].concat()
}

/// Secrets also decrypt packets before them; so do those of several key logs, whichever contains them.
#[test]
fn secrets_wherever_they_are() {
    let folder = std::env::temp_dir().join(format!("quiclab-secrets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("behind.pcapng");
    std::fs::write(&path, with_secrets_behind(&std::fs::read(data("quic/plain.pcapng")).unwrap())).unwrap();
    let capture = analysed(&path, &KeyLog::default());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((measured(&capture), capture.notes.len()), (vec![ONE], 0), "{:?}", capture.notes);
}

/// Two paths whose packets have the same numbers: by `path_id` of the event, and of PATH_ACK.
#[test]
fn paths_of_qlog() {
    let text = std::fs::read_to_string(data("multipath.qlog")).unwrap();
    let folder = std::env::temp_dir().join(format!("quiclab-paths-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // as picoquic, noq and quiclab write it: in a position of the list, in the header
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut lists = file.clone();
    for event in file["traces"][0]["events"].as_array_mut().unwrap() {
        let path = event.as_object_mut().unwrap().remove("path_id").unwrap();
        event["data"]["header"]["path_id"] = path;
    }
    lists["traces"][0]["event_fields"] =
        serde_json::json!(["relative_time", "path_id", "category", "event", "data"]);
    for event in lists["traces"][0]["events"].as_array_mut().unwrap() {
        let name = event["name"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        *event = serde_json::json!([event["time"], event["path_id"], "transport", name, event["data"]]);
    }
    for (name, text) in [("event", text), ("header", file.to_string()), ("list", lists.to_string())] {
        let path = folder.join(format!("{name}.qlog"));
        std::fs::write(&path, text).unwrap();
        let capture = analysed(&path, &KeyLog::default());
        assert_eq!(measured(&capture), [(20, 20, Some(1.0), Some(0.0))], "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
