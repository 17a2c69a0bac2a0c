//! Parts that several tests share.

#[path = "../support/frames.rs"]
pub mod frames;

use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use proptest::test_runner::{Config, RngSeed};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Random cases that are the same on every run. `PROPTEST_CASES=1000000 PROPTEST_RNG_SEED=7` makes it a
/// fuzzer; failures are stored in `proptest-regressions` and tried first in later runs.
pub fn cases() -> Config {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

/// An output that a boxed writer and the test share.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Appends `value` in its shortest encoding (RFC 9000 section 16).
pub fn varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0x3f => out.push(value as u8),
        0x40..=0x3fff => out.extend_from_slice(&(0x4000 | value as u16).to_be_bytes()),
        0x4000..=0x3fff_ffff => out.extend_from_slice(&(0x8000_0000 | value as u32).to_be_bytes()),
        _ => out.extend_from_slice(&(0xc000_0000_0000_0000 | value).to_be_bytes()),
    }
}

/// Bytes from hexadecimal digits; blanks are ignored.
pub fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The packets of a pcapng file, as another reader returns them.
pub fn packet_blocks(file: &[u8]) -> Vec<EnhancedPacketBlock<'static>> {
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block() {
        blocks.extend(block.unwrap().into_owned().into_enhanced_packet());
    }
    blocks
}

/// Runs a tool of Wireshark on `capture`, the last argument; `None`, with a note, if it is not installed.
pub fn wireshark(tool: &str, test: &str, arguments: &[&str], capture: &[u8]) -> Option<String> {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.pcapng"));
    std::fs::write(&file, capture).unwrap();
    let output = match Command::new(tool).args(arguments).arg(&file).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {tool} is not installed");
            return None;
        }
        Err(error) => panic!("{tool}: {error}"),
    };
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}
