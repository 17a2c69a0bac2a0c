//! Reading a qlog of any length takes the memory of the data that are shown. One test, because it counts all
//! allocations of the process.

#[path = "support/memory.rs"]
mod memory;

use memory::{Generated, RECORD_BYTES, most_held, records};
use quiclab_trace::inspect::inspect_reader;
use serde_json::Value;
use std::ops::ControlFlow;

/// 20 MB take less than 8 MB, whatever the layout. `QLOG_MB=300` with `--release --nocapture` shows the speed.
#[test]
fn memory_does_not_depend_on_the_length() {
    let records = records(20);
    for contained in [true, false] {
        let start = std::time::Instant::now();
        let open = || Ok(Generated::new(records, contained));
        let mut progress = |_, _| ControlFlow::Continue(());
        let (json, most) =
            most_held(|| inspect_reader(open, "x", records * RECORD_BYTES, 20_000, &mut progress));
        let json = json.unwrap();
        eprintln!("{:?}, {most} bytes of memory, {} of JSON", start.elapsed(), json.len());
        assert!(most < 8 << 20, "{most} bytes of memory");
        let found: Vec<Value> = serde_json::from_str(&json).unwrap();
        let counts = &found[0]["counts"];
        assert_eq!(counts["packets_sent"], records);
        assert_eq!(counts["malformed"], 0);
        assert_eq!(counts["packets_lost"], records.div_ceil(50));
        assert_eq!(found[0]["lost"]["number"].as_array().unwrap().len() as u64, records.div_ceil(50));
    }
}
