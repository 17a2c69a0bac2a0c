//! Whole connections of lab-quic over paths that lose, duplicate, reorder, delay and stall, some of which
//! fail permanently, with random profiles, options, handshakes and workloads: all data arrive, or the
//! connection fails when nothing was received for its idle timeout; and rules of the RFCs are never violated
//! (`checks`).
//!
//! A case is one number. A failure prints the command that replays it; `QUICLAB_CASES=n` runs more, and
//! `QUICLAB_TRACE=1` with `QUICLAB_CASE` prints the packets sent.

mod case;
mod checks;
mod network;
mod options;
#[path = "../hostile_path/path.rs"]
mod path;

use case::Case;
use network::World;

const CASES: u64 = 500;

#[test]
fn connections_over_hostile_paths_finish_or_say_why() {
    let case = std::env::var("QUICLAB_CASE").ok().map(|case| case.parse().expect("QUICLAB_CASE is a number"));
    let cases = std::env::var("QUICLAB_CASES").map_or(CASES, |cases| cases.parse().expect("a number"));
    let range = case.map_or(0..cases, |case: u64| case..case + 1);
    let mut finished = 0;
    for number in range.clone() {
        let case = Case::new(number);
        match World::new(&case).run() {
            Ok(ended) => finished += u64::from(ended),
            Err(problem) => panic!(
                "case {number}: {problem}\n{case:?}\nreplay: QUICLAB_CASE={number} cargo test -p quiclab-transport --test hostile_quic"
            ),
        }
    }
    if case.is_none() {
        let cases = range.end;
        assert!(finished * 10 >= cases * 7, "only {finished} of {cases} finished: the paths are too bad");
    }
}
