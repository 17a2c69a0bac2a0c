//! Outage of both links for longer than the retransmission timer of an inner flow.

use super::SECOND;
use super::lab::{Lab, until, wait};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The seventh retransmission of a segment comes after 25.4 s, the eighth after 51 s (RFC 6298, 200 ms at first): in
/// between, only the tunnel makes a flow continue soon.
const OUTAGE: Duration = Duration::from_secs(36);
const CLIENT: &str = "10.77.0.2:9";
const SERVER: &str = "10.77.0.1:9";

/// A flow of TCP that never ends, to `address` of host `to`; counts received bytes.
pub(super) fn stream(lab: &Lab, from: char, to: char, address: &'static str) -> Arc<AtomicU64> {
    let arrived = Arc::new(AtomicU64::new(0));
    let counter = arrived.clone();
    let listener = lab.listener(to, address);
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            counter.fetch_add(count as u64, Ordering::Relaxed);
        }
    });
    drop(lab.within(from, move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let block = vec![7; 1 << 14];
        // slow enough for a busy machine
        while stream.write_all(&block).is_ok() {
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }));
    arrived
}

/// Bytes acknowledged to TCP of `from` by `address`.
fn acknowledged(lab: &Lab, from: char, address: &str) -> u64 {
    let (_, text) = lab.run(from, &["ss", "-tinHO", "dst", address]);
    let number = text.split("bytes_acked:").nth(1).and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Cuts both links, and one of them works again after [`OUTAGE`]; TCP of the slower flow may take 3 s to hear from its peer.
///
/// Its later behaviour does not depend on the tunnel: if data had arrived whose acknowledgements were lost,
/// Linux measures the time until it receives them, the outage, as a round-trip time. If it also considers its
/// timeout spurious (RFC 5682) and its window is small, it sends the rest only with its next probe or
/// timeout, a quarter or nine eighths of the outage later (RFC 6298: the sample counts for an eighth in the
/// smoothed time, for a quarter in the deviation).
fn outage(idle_timeout: &str) {
    let Some(mut lab) = Lab::new() else { return };
    for file in ["server.toml", "client.toml"].into_iter().filter(|_| !idle_timeout.is_empty()) {
        lab.edit(file, "version = 1", &format!("version = 1\nidle_timeout = \"{idle_timeout}\""));
    }
    lab.start_both();
    let flows = [stream(&lab, 'c', 's', SERVER), stream(&lab, 's', 'c', CLIENT)];
    let counts = || flows.each_ref().map(|flow| flow.load(Ordering::Relaxed));
    let heard = |lab: &Lab| [acknowledged(lab, 'c', SERVER), acknowledged(lab, 's', CLIENT)];
    until("load", || counts().iter().all(|count| *count > 1_000_000));
    lab.cut(1, true);
    lab.cut(2, true);
    let start = Instant::now();
    // packets in transit on the links have arrived
    wait(2 * SECOND);
    let (before, heard_before) = (counts(), heard(&lab));
    wait(OUTAGE - start.elapsed());
    assert_eq!((counts(), heard(&lab)), (before, heard_before), "nothing passes");
    let closed = lab.log("server").contains("session closed");
    lab.cut(2, false);
    let back = Instant::now();
    let mut took = [None; 2];
    until("both flows", || {
        for (index, count) in heard(&lab).into_iter().enumerate() {
            if took[index].is_none() && count > heard_before[index] {
                took[index] = Some(back.elapsed());
            }
        }
        took.iter().all(Option::is_some)
    });
    // more than one segment that was kept
    until("data of both flows", || {
        counts().iter().zip(before).all(|(count, before)| *count > before + 100_000)
    });
    let data = back.elapsed();
    eprintln!("session closed meanwhile: {closed}; heard of after {took:?}, data of both after {data:?}");
    assert_eq!(closed, !idle_timeout.is_empty());
    assert!(took.iter().flatten().all(|took| *took < 3 * SECOND), "{took:?}");
}

#[test]
fn flows_return_soon_after_both_lines_were_cut() {
    outage("");
}

#[test]
fn flows_return_soon_after_their_session_has_ended() {
    outage("10 s");
}
