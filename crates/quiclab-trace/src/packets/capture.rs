//! Captures of any tool: pcap and pcapng files, as a stream of any length.
//!
//! | file | content |
//! | --- | --- |
//! | `window.rs` | buffer with the bytes of a record |
//! | `pcap.rs`, `pcapng.rs` | records and blocks: time, length, link type of each frame |
//! | `layer.rs`, `layers.rs`, `link.rs`, `tunnel.rs`, `ip.rs`, `tcp.rs` | headers |
//! | `dissect.rs`, `flows.rs`, `udp.rs` | connections, counts, notes |
//! | `sequence.rs` | connection of a segment of TCP |
//! | `copies.rs` | frames that are copies of a packet |
//! | `quic/` | decryption with a key log, ACK frames |
//! | `key_log.rs` | secrets |

use super::dissect::Dissector;
use super::window::{ReadStop, Stop, Window};
use super::{KeyLog, ReadError, Reading, Sink, pcap, pcapng};
use crate::magic::{is_pcapng, pcap_layout};
use std::fmt::Write as _;
use std::io::Read;
use std::ops::ControlFlow;

/// Reads a capture and passes its packets to `sink`. QUIC is decrypted with `keys` and with the secrets in the file.
///
/// `name` is the name of the file in messages. `progress` receives the number of bytes of `input` that have been read,
/// about four times per MiB, and returns whether to continue.
///
/// # Errors If `input` fails, is neither pcap nor pcapng, or `progress` stops. A truncated file is no error: it is
/// read up to its end, and a note gives the position.
pub fn read_capture<R: Read>(
    input: R,
    name: &str,
    keys: &KeyLog,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Reading, ReadError> {
    read_capture_with(input, name, keys, KeyLog::default(), sink, progress)
}

fn stopped(stop: Stop, name: &str) -> ReadError {
    match stop {
        Stop::Io(source) => ReadError::Io { file: name.to_owned(), source },
        Stop::Interrupted => ReadError::Interrupted,
    }
}

/// Secrets of a pcapng file, at any position in it; empty for other files.
///
/// # Errors
/// If `input` fails.
pub(super) fn embedded_secrets(input: impl Read, name: &str) -> Result<KeyLog, ReadError> {
    let mut whatever = |_| ControlFlow::Continue(());
    let mut window = Window::new(input, &mut whatever);
    let stopped = |stop: Stop| stopped(stop, name);
    window.have(4).map_err(stopped)?;
    if !is_pcapng(window.bytes(0..window.held())) {
        return Ok(KeyLog::default());
    }
    pcapng::read_secrets(&mut window).map_err(stopped)
}

/// [`read_capture`] with secrets of the capture itself that are known before its first packet.
pub(super) fn read_capture_with<R: Read>(
    input: R,
    name: &str,
    keys: &KeyLog,
    embedded: KeyLog,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Reading, ReadError> {
    let mut window = Window::new(input, progress);
    let mut dissector = Dissector::new(keys, embedded, sink);
    let stopped = |stop: Stop| stopped(stop, name);
    let other = |found: String| Err(ReadError::NotReadable { file: name.to_owned(), found });
    window.have(4).map_err(stopped)?;
    let Some(&magic) = window.bytes(0..window.held()).first_chunk::<4>() else {
        return other(if window.held() == 0 {
            "an empty file".into()
        } else {
            "a file of less than 4 bytes".into()
        });
    };
    let (format, broken) = if let Some(layout) = pcap_layout(magic) {
        if !window.have(pcap::HEADER_BYTES).map_err(stopped)? {
            return other("a pcap file that ends within its header".into());
        }
        ("pcap", pcap::read(&mut window, layout, &mut dissector).map_err(stopped)?)
    } else if is_pcapng(&magic) {
        if !window.have(pcapng::HEADER_BYTES).map_err(stopped)? {
            return other("a pcapng file that ends within its header".into());
        }
        ("pcapng", pcapng::read(&mut window, &mut dissector).map_err(stopped)?)
    } else {
        let [a, b, c, d] = magic;
        return other(format!("a file that starts with the bytes {a:02x} {b:02x} {c:02x} {d:02x}"));
    };
    let broken = broken.map(|ReadStop { at, why }| {
        let mut note = format!("reading stopped at byte {at}: {why}");
        if let Some(damage) = &window.damage {
            write!(note, " ({damage})").expect("a string takes everything");
        }
        note
    });
    let mut reading = dissector.finish();
    reading.format = format.to_owned();
    reading.notes.splice(0..0, broken);
    Ok(reading)
}
