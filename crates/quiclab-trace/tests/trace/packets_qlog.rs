//! Packets of qlog files of all kinds: time, sizes, numbers and acknowledgements of each, determined by hand.
//!
//! The files in `data` are those of `inspect.rs`, which gives their sources.

use crate::packet_files::Written;
use quiclab_trace::packets::{ReadError, Reading, read_qlog};
use std::path::Path;

fn read(text: &[u8]) -> (Written, Result<Reading, ReadError>) {
    let mut written = Written::default();
    let reading = read_qlog(|| Ok(text), "x.qlog", &mut written);
    (written, reading)
}

fn fixture(file: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file)).unwrap()
}

/// A file with a flow for each line before the packets.
fn assert_reads(file: &str, flows: &[&str], packets: &[&str], problems: &[(&'static str, u64)]) -> Reading {
    let (written, reading) = read(&fixture(file));
    let reading = reading.unwrap();
    assert_eq!(written.flows, flows.iter().map(|name| format!("Quic {name}")).collect::<Vec<_>>(), "{file}");
    assert_eq!(written.packets, packets, "{file}");
    assert_eq!(reading.problems.iter().collect::<Vec<_>>(), problems, "{file}");
    assert_eq!(reading.format, "qlog");
    reading
}

#[test]
fn draft_00() {
    // times in µs; the Retry packet has no number, one event an escape that is not JSON
    assert_reads(
        "data/draft-00-picoquic.qlog",
        &["picoquic, client"],
        &["0 > 10000 1252+42 [] eliciting", "0 < 40000000 1440+42 [7] eliciting", "0 < 40250000 100+42 []"],
        &[("records that are not qlog events", 1)],
    );
    // times since the machine was started: the first event is zero
    assert_reads("data/draft-00-mvfst.qlog", &["mvfst qlog, server"], &["0 > 0 1252+42 [5] eliciting"], &[]);
    // received packets have size 0, which means none
    let reading = assert_reads(
        "data/draft-00-quictrace.qlog",
        &["one connection, server, AAAAAAAAACo="],
        &[
            "0 > 0 1350+42 [1] eliciting",
            "0 > 1000000 1350+42 [2] eliciting",
            "0 < 126536000 0+0 [1] acks 1-2",
        ],
        &[("packets without size", 1)],
    );
    assert_eq!(reading.frames, 5);
    assert!(reading.notes[0].contains("42 bytes of Ethernet, IPv4 and UDP"), "{:?}", reading.notes);
    assert_eq!(reading.notes[1], "Packets that are logged without their size count as 0 bytes.");
    assert_eq!(reading.notes.len(), 2);
}

/// The description follows the events: without it, the 23 ms would not be relative to the previous event, and the
/// flow would have no name.
#[test]
fn draft_01_with_its_description_behind() {
    assert_reads(
        "data/draft-01-pcap2qlog.qlog",
        &["Connection 1, network, 7e37e4dcc6682da8"],
        &["0 > 0 1251+42 [] eliciting", "0 < 23000000 219+42 [9] acks 0-0 4-6 eliciting"],
        &[],
    );
    // 3 ms, then 4 ms later
    let events = r#"{"time":3,"name":"packet_sent","data":{"raw":{"length":1}}},{"time":4,"name":"packet_sent","data":{"raw":{"length":1}}}"#;
    let header = r#""common_fields":{"time_format":"delta"},"title":"t""#;
    for text in [
        format!(r#"{{"qlog_version":"0.3","traces":[{{"events":[{events}],{header}}}]}}"#),
        format!(r#"{{"qlog_version":"0.3","traces":[{{{header},"events":[{events}]}}]}}"#),
        format!(r#"{{"qlog_version":"0.3","traces":[{{"events":[{events}]}}],{header}}}"#),
    ] {
        let (written, reading) = read(text.as_bytes());
        reading.unwrap();
        assert_eq!(written.flows, ["Quic t"], "{text}");
        assert_eq!(written.packets, ["0 > 3000000 1+42 opaque", "0 > 7000000 1+42 opaque"], "{text}");
    }
    // a title alone does not change what events mean: it is reported at the end
    let text = format!(r#"{{"qlog_version":"0.3","traces":[{{"events":[{events}],"title":"t"}}]}}"#);
    assert_eq!(read(text.as_bytes()).0.flows, ["Quic ; then t"]);
}

#[test]
fn version_03() {
    // ranges are written from the largest to the smallest
    let reading = assert_reads(
        "data/03-quic-go.sqlog",
        &["quic-go qlog, client, 8394c8f03e515708"],
        &["0 > 1250000 1252+42 [] eliciting", "0 < 31500000 60+42 [3] acks 2-2 5-9 eliciting"],
        &[],
    );
    assert_eq!((reading.frames, reading.notes.len()), (8, 1));
    // a line that is no JSON; the first packet is one that was received
    assert_reads(
        "data/03-quiche-lines.sqlog",
        &["quiche-server qlog, server"],
        &[
            "0 > 0 45+42 [11] acks 0-3",
            "0 < 1000000 1350+42 [12] eliciting",
            "0 < 3000000 1350+42 [13] eliciting",
        ],
        &[("records that are not qlog events", 1)],
    );
    // times since the previous event: 5, 10, 10
    assert_reads(
        "data/03-ngtcp2-delta.sqlog",
        &["server, cc"],
        &["0 > 5000000 900+42 [2] eliciting", "0 < 25000000 700+42 [] eliciting"],
        &[],
    );
}

/// Two connections in one file; no frames, and sizes only of sent packets.
#[test]
fn quinn() {
    let reading = assert_reads(
        "data/04-quinn.sqlog",
        &["quinn, client, aa", "quinn, client, bb"],
        &["0 > 1000000 1200+42 opaque", "1 > 2000000 1200+42 opaque", "0 < 12000000 0+0 opaque"],
        &[("packets without frames", 3), ("packets without size", 1)],
    );
    assert!(
        reading.notes[2].starts_with("Of packets that are logged without their frames only time and size")
    );
}

#[test]
fn current_draft() {
    // 2 ms, then 3 ms later; the other traces have no packets
    let reading = assert_reads(
        "data/current-contained.qlog",
        &["neqo-Client trace, client"],
        &["0 > 5000000 1200+42 [1] eliciting"],
        &[],
    );
    assert_eq!(reading.frames, 5);
}

/// A log of 1.7.2, with calendar times: the first event is zero.
#[test]
fn aioquic() {
    let (written, reading) = read(&fixture("data/03-aioquic.qlog"));
    assert_eq!(reading.unwrap().problems.iter().count(), 0);
    // first event at 1795291403117.9004 ms, first packet at ...203.2473: 85.3469 ms, with a resolution of 0.24
    // µs as a float
    let first: Vec<&str> = written.packets[0].split(' ').collect();
    assert_eq!((first[1], first[3], first[4]), (">", "499+42", "[]"));
    assert!(first[2].parse::<i64>().unwrap().abs_diff(85_346_900) < 500, "{first:?}");
}

/// quiclab's file, as [`quiclab_trace::qlog`] writes it (tested in `qlog.rs`), and as it exports it.
#[test]
fn our_own() {
    let packets = ["0 > 0 1204+42 [] eliciting", "0 < 1500000000 48+42 [258] acks 1-2 5-7 eliciting"];
    assert_reads("golden/short.sqlog", &["two \"links\", server, dc"], &packets, &[]);
    assert_reads("golden/short.qlog", &["two \"links\", server"], &packets, &[]);
}

fn event(time: &str, data: &str) -> String {
    format!("{{\"time\":{time},\"name\":\"quic:packet_received\",\"data\":{data}}}\n")
}

const HEADER: &str = "{\"qlog_version\":\"0.3\",\"trace\":{}}\n";

#[test]
fn what_a_packet_says() {
    let packet = |frames: &str| {
        event("1", &format!(r#"{{"header":{{"packet_type":"1RTT","packet_number":1}},"frames":[{frames}]}}"#))
    };
    for (frames, expected) in [
        (r#"{"frame_type":"ack","acked_ranges":[[3,4],[5,9],[1]]}"#, "[1] acks 1-1 3-9"),
        (r#"{"frame_type":"ack","acked_ranges":[[9,2],[4,12]]},{"frame_type":"padding"}"#, "[1] acks 2-12"),
        (
            r#"{"frame_type":"ACK_ECN","acked_ranges":[["7","8"]]},{"frame_type":"ping"}"#,
            "[1] acks 7-8 eliciting",
        ),
        (r#"{"frame_type":"ack"}"#, "[1] acks"),
        (r#"{"frame_type":"connection_close"},{"frame_type":"padding"}"#, "[1]"),
        (r#"{"frame_type":"handshake_done"}"#, "[1] eliciting"),
        (
            r#"{"frame_type":"ack","acked_ranges":[[0,18446744073709551615],[7]]}"#,
            "[1] acks 0-18446744073709551615",
        ),
        ("", "opaque"),
    ] {
        let (written, _) = read(format!("{HEADER}{}", packet(frames)).as_bytes());
        assert_eq!(written.packets, [format!("0 > 1000000 0+0 {expected}")], "{frames}");
    }
    let text = format!("{HEADER}{}", packet(r#"{"frame_type":"ack"}"#));
    let problems = read(text.as_bytes()).1.unwrap().problems;
    let problems: Vec<_> = problems.iter().collect();
    assert_eq!(problems, [("ACK frames without ranges", 1), ("packets without size", 1)]);
}

/// Clocks may run backwards; times and sizes out of range are clamped.
#[test]
fn clocks_and_sizes_as_they_are() {
    let times = ["5", "4.25", "-3", "0.000001", "1e300", "-1e300"];
    let text: String = times.iter().map(|time| event(time, r#"{"raw":{"length":10}}"#)).collect();
    let huge = event("6", r#"{"raw":{"length":18446744073709551615}}"#);
    let (written, reading) = read(format!("{HEADER}{text}{huge}").as_bytes());
    let far = 1_i64 << 61;
    let at = [5_000_000, 4_250_000, -3_000_000, 1, far, -far];
    let mut expected: Vec<_> = at.iter().map(|at| format!("0 > {at} 10+42 opaque")).collect();
    expected.push("0 > 6000000 4294967295+0 opaque".to_owned());
    assert_eq!(written.packets, expected);
    assert_eq!(reading.unwrap().problems.iter().collect::<Vec<_>>(), [("times more than 73 years away", 2)]);
}

/// Truncated after any byte: the complete packets are present, and the same as in the whole file.
#[test]
fn cut_off_anywhere() {
    for file in ["00-picoquic.qlog", "00-mvfst.qlog", "00-quictrace.qlog", "01-pcap2qlog.qlog"]
        .map(|name| format!("data/draft-{name}"))
        .into_iter()
        .chain(
            ["03-quic-go.sqlog", "03-quiche-lines.sqlog", "04-quinn.sqlog"]
                .map(|name| format!("data/{name}")),
        )
        .chain(["data/current-contained.qlog", "golden/short.sqlog", "golden/short.qlog"].map(str::to_owned))
    {
        let text = fixture(&file);
        let whole = read(&text).0.packets;
        let mut most = 0;
        for length in 0..text.len() {
            let (written, reading) = read(&text[..length]);
            // without the description, which follows them, the events have another meaning
            if !file.contains("pcap2qlog") {
                assert_eq!(written.packets, whole[..written.packets.len()], "{file}, {length} bytes");
                assert!(written.packets.len() >= most, "{file}, {length} bytes");
                most = written.packets.len();
            }
            match reading {
                Ok(reading) => {
                    let told = reading.notes.iter().any(|note| note.contains("truncated or damaged"));
                    // between records nothing shows that more should follow, nor does missing final whitespace
                    assert!(
                        told || file.ends_with(".sqlog") || text[length..].trim_ascii().is_empty(),
                        "{file} {length}"
                    );
                }
                Err(error) => assert!(error.to_string().starts_with("x.qlog: expected "), "{error}"),
            }
        }
    }
}

/// Connections beyond the maximum are counted.
#[test]
fn connections_without_end() {
    let one = |group: usize| {
        format!(
            "{{\"time\":1,\"group_id\":\"{group}\",\"name\":\"packet_sent\",\"data\":{{\"raw\":{{\"length\":1}}}}}}\n"
        )
    };
    let text: String = (0..300).map(one).collect();
    let (written, reading) = read(format!("{HEADER}{text}").as_bytes());
    assert_eq!((written.flows.len(), written.packets.len()), (256, 256));
    let problems = reading.unwrap().problems;
    assert_eq!(problems.iter().collect::<Vec<_>>(), [("events of connections beyond the first 256", 44)]);
}
