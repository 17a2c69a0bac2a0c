//! Opening files of packets: choice of the reader, gzip, progress, and errors for other files.

use crate::packet_files::Written;
use flate2::Compression;
use flate2::write::GzEncoder;
use quiclab_trace::packets::{KeyLog, ReadError, Reading, read_packets};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A file of this test program.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("packets_open_{name}"));
    std::fs::write(&path, content).unwrap();
    path
}

fn read(path: &Path) -> (Written, Result<Reading, ReadError>) {
    let mut written = Written::default();
    let reading = read_packets(path, &KeyLog::default(), &mut written, &mut |_, _| ControlFlow::Continue(()));
    (written, reading)
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(content).unwrap();
    out.finish().unwrap()
}

const LOG: &[u8] = include_bytes!("../data/draft-01-pcap2qlog.qlog");
const PACKETS: [&str; 2] = ["0 > 0 1251+42 [] eliciting", "0 < 23000000 219+42 [9] acks 0-0 4-6 eliciting"];

#[test]
fn a_qlog_as_it_is_and_compressed() {
    let (written, reading) = read(&file("plain.qlog", LOG));
    assert_eq!(
        (written.packets.as_slice(), reading.unwrap().format.as_str()),
        (&PACKETS.map(str::to_owned)[..], "qlog")
    );
    // as one member of gzip, and as two (RFC 1952 section 2.2)
    for packed in [gzip(LOG), [gzip(&LOG[..500]), gzip(&LOG[500..])].concat()] {
        let (written, reading) = read(&file("packed.qlog.gz", &packed));
        let reading = reading.unwrap();
        assert_eq!(written.packets, PACKETS);
        assert_eq!((reading.format.as_str(), reading.frames, reading.notes.len()), ("qlog, gzip", 4, 1));
    }
}

/// gzip that is truncated anywhere: an error, or the packets before and a note.
#[test]
fn damaged_gzip() {
    let packed = gzip(LOG);
    for length in 2..packed.len() {
        match read(&file("cut.qlog.gz", &packed[..length])).1 {
            Ok(reading) => {
                let last = reading.notes.last().unwrap();
                assert!(last.starts_with("The gzip data are truncated or damaged: "), "{length}: {last}");
            }
            Err(error) => assert!(error.to_string().contains("compressed by gzip"), "{length}: {error}"),
        }
    }
    // all was read; the bytes after it are not gzip, or the checksum (the last 8 bytes but 4) is not that of the
    // content
    let mut wrong = packed.clone();
    wrong[packed.len() - 8] ^= 1;
    for damaged in [wrong, [&packed[..], b"more"].concat()] {
        let (written, reading) = read(&file("damaged.qlog.gz", &damaged));
        assert_eq!(written.packets, PACKETS);
        assert!(reading.unwrap().notes[1].starts_with("The gzip data are truncated or damaged: "));
    }
}

#[test]
fn what_is_none() {
    let expected = "expected a pcap, pcapng or qlog file, optionally compressed by gzip";
    for (name, content, found) in [
        ("empty", vec![], "an empty file"),
        ("empty.gz", gzip(b""), "an empty file compressed by gzip"),
        ("twice.gz", gzip(&gzip(LOG)), "a file compressed by gzip (decompress it first)"),
        ("zstd", b"\x28\xb5\x2f\xfd rest".to_vec(), "a file compressed by zstd (decompress it first)"),
        ("text", b"hello, world\n".to_vec(), "a file that starts with \"hello, world\\n\""),
        ("json", b"{\"name\": 1, \"b\": [2]}".to_vec(), "JSON with the fields `name`, `b`"),
        (
            "netlog",
            b"{\"constants\":{\"a\":1},\n\"events\":[{\"phase\":0,\"time\":\"5\",\"type\":1}]}".to_vec(),
            "JSON with the field `constants`, as in Chrome's NetLog",
        ),
        ("header", b"{\"qlog_version\":\"0.3\"}".to_vec(), "the header of a qlog file without a trace"),
    ] {
        let path = file(name, &content);
        let (written, reading) = read(&path);
        let expected = format!("{}: {expected}, got {found}", path.display());
        assert_eq!(reading.unwrap_err().to_string(), expected);
        assert!(written.flows.is_empty() && written.packets.is_empty());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let error = read(folder).1.unwrap_err().to_string();
    assert_eq!(error, format!("{}: {expected}, got a directory", folder.display()));
    let missing = folder.join("packets_open_missing");
    let error = read(&missing).1.unwrap_err();
    assert!(matches!(error, ReadError::Io { .. }));
    assert!(error.to_string().starts_with(&format!("cannot read {}: ", missing.display())), "{error}");
}

/// The reader of captures gets captures; their content is tested in `packets.rs`.
#[test]
fn captures() {
    // header of pcap (version 2.4, Ethernet) without a packet: microseconds and nanoseconds, in both byte orders
    let header = |magic: u32, little: bool| -> Vec<u8> {
        let four = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let two = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let [magic, zone, accuracy, longest, ethernet] = [magic, 0, 0, 65_535, 1].map(four);
        let [major, minor] = [2, 4].map(two);
        [&magic[..], &major, &minor, &zone, &accuracy, &longest, &ethernet].concat()
    };
    for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
        for little in [false, true] {
            let path = file("header.pcap", &header(magic, little));
            assert_eq!(read(&path).1.unwrap().format, "pcap");
            let path = file("header.pcap.gz", &gzip(&header(magic, little)));
            assert_eq!(read(&path).1.unwrap().format, "pcap, gzip");
        }
    }
    // a section header block without options (draft-ietf-opsawg-pcapng section 4.1)
    let mut section = Vec::new();
    for field in [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28] {
        section.extend_from_slice(&field.to_le_bytes());
    }
    assert_eq!(read(&file("section.pcapng", &section)).1.unwrap().format, "pcapng");
}

/// Progress never decreases, ends at the total, and can stop the reading.
#[test]
fn progress_is_told() {
    // 9 MB, reported every 4 MiB of a pass and at its end; a sequence in one pass, a contained file in two
    let line =
        format!("\x1e{{\"time\":1,\"name\":\"packet_sent\",\"data\":{{\"x\":\"{}\"}}}}\n", "y".repeat(8950));
    let sequence = format!("\x1e{{\"qlog_version\":\"0.3\",\"trace\":{{}}}}\n{}", line.repeat(1000));
    let events = vec![line.trim_matches(['\x1e', '\n']); 1000].join(",");
    let contained = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{events}]}}]}}");
    for (name, text, passes) in [("sequence", &sequence, 1), ("contained", &contained, 2)] {
        for (content, packed) in [(text.clone().into_bytes(), false), (gzip(text.as_bytes()), true)] {
            let path = file(&format!("progress_{name}"), &content);
            let bytes = content.len() as u64;
            let mut told = Vec::new();
            let mut written = Written::default();
            read_packets(&path, &KeyLog::default(), &mut written, &mut |read, of| {
                told.push((read, of));
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(written.packets.len(), 1000);
            // each pass: 4 MiB, 8 MiB, the end
            assert_eq!(told.len(), 3 * passes, "{name} {packed} {told:?}");
            assert!(told.is_sorted() && told.iter().all(|&(_, of)| of == passes as u64 * bytes), "{told:?}");
            assert_eq!(told.last(), Some(&(passes as u64 * bytes, passes as u64 * bytes)));

            let mut calls = 0;
            let result = read_packets(&path, &KeyLog::default(), &mut Written::default(), &mut |_, _| {
                calls += 1;
                if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert!(matches!(result, Err(ReadError::Interrupted)));
            assert_eq!(calls, 2, "nothing is read any more");
        }
    }
}
