//! Every wrong scenario is refused with one sentence: file, line, field, value, what is allowed.

use super::{load, two_stacks};
use crate::scenario::{Document, FieldPath, Line, Scenario, ScenarioError};

/// A right scenario; each case makes one thing wrong.
const RIGHT: &str = r#"version = 1
name = "n"
duration = "10 s"
[links.a]
rate = "20 Mbit/s"
queue = { kind = "drop_tail", packets = 100 }
delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal" }
[links.b]
rate = { kind = "token_bucket", rate = "1 Mbit/s", burst = "10 kB" }
loss = { kind = "gilbert_elliott", good_to_bad = 0.1, bad_to_good = 0.2, loss_in_bad = 0.5 }
[links.c]
rate = { kind = "trace", file = "t.csv" }
[bearers.dc]
links = ["a", "b"]
batch_packets = 100
shares = [1, 2]
reordering = { timer = "200 ms", sequence_bits = 16 }
[hosts.h]
receive_batch = 2
timer_slack = "1 ms"
[taps.t]
[flows.f]
stack = "quinn"
sender = { host = "h", datagram_size = "1280 B" }
down = ["t", "dc"]
up = ["c"]
workload = { kind = "download", size = "1 MB" }
start = "1 s"
[record]
series_interval = "1 ms"
"#;

/// What is replaced by what in the right scenario, and the sentence.
const CASES: &[(&str, &str, &str)] = &[
    ("version = 1", "version = 2", "?"),
    ("version = 1\n", "\n", "?"),
    ("version = 1", r#"version = "1""#, "?"),
    (r#"name = "n""#, r#"name = " ""#, "?"),
    (r#"name = "n""#, "name = 7", "?"),
    (r#"name = "n""#, "name = 1979-05-27", "?"),
    ("name = \"n\"\n", "", "?"),
    (r#"name = "n""#, r#"name = "n"#, "?"),
    (r#"name = "n""#, "name = \"n\"\nname = \"m\"", "?"),
    (r#"duration = "10 s""#, r#"duration = "0 s""#, "?"),
    (r#"duration = "10 s""#, r#"duration = "10""#, "?"),
    (r#"duration = "10 s""#, "duration = 10", "?"),
    (r#"duration = "10 s""#, "duration = 10\nuntill = 1", "?"),
    (r#"duration = "10 s""#, r#"until = "never""#, "?"),
    (r#"duration = "10 s""#, r#"until = { delivered = "0 B" }"#, "?"),
    (r#"duration = "10 s""#, "until = 3", "?"),
    (r#"duration = "10 s""#, "wires = 3", "?"),
    ("[links.a]", r#"[links."a b"]"#, "?"),
    ("[links.a]", "[links.t]", "?"),
    ("[links.a]", "[links.dc]", "?"),
    ("[taps.t]", "[taps.dc]", "?"),
    ("[hosts.h]", r#"[hosts.""]"#, "?"),
    ("[flows.f]", r#"[flows."é"]"#, "?"),
    ("[links.a]\nrate = \"20 Mbit/s\"", "[links.a]\nraet = \"20 Mbit/s\"", "?"),
    (r#"rate = "20 Mbit/s""#, r#"rate = "20 Mbit""#, "?"),
    (r#"rate = "20 Mbit/s""#, r#"rate = "20""#, "?"),
    (r#"rate = "20 Mbit/s""#, "rate = 20", "?"),
    (r#"rate = "20 Mbit/s""#, "rate = 20.5", "?"),
    (r#"rate = "20 Mbit/s""#, r#"rate = "-20 Mbit/s""#, "?"),
    (r#"rate = "20 Mbit/s""#, "rate = -20", "?"),
    (r#"rate = "20 Mbit/s""#, r#"rate = "0 Mbit/s""#, "?"),
    (r#"rate = "20 Mbit/s""#, r#"rate = "99999999999 Gbit/s""#, "?"),
    (r#"rate = "20 Mbit/s""#, "rate = true", "?"),
    (r#"rate = "20 Mbit/s""#, r#"rate = { kind = "bucket" }"#, "?"),
    (r#"rate = "20 Mbit/s""#, "rate = {}", "?"),
    (r#"rate = "1 Mbit/s""#, r#"rate = "0 bit/s""#, "?"),
    (r#"rate = "1 Mbit/s""#, r#"rate = "1 MB/s""#, "?"),
    (r#"rate = "1 Mbit/s""#, "rate = 1", "?"),
    (r#"rate = "1 Mbit/s", "#, "", "?"),
    (r#"rate = "1 Mbit/s", "#, r#"rates = "1 Mbit/s", "#, "?"),
    (r#"burst = "10 kB""#, r#"burst = "0 B""#, "?"),
    (r#"burst = "10 kB""#, r#"burst = "1309 B""#, "?"),
    ("packets = 100 }", "packets = 0 }", "?"),
    ("packets = 100 }", "packets = -1 }", "?"),
    ("packets = 100 }", r#"packets = "100" }"#, "?"),
    (", packets = 100 }", "}", "?"),
    ("packets = 100 }", r#"bytes = "0 B" }"#, "?"),
    ("packets = 100 }", r#"time = "0 ms" }"#, "?"),
    ("packets = 100 }", r#"time = "10 mss" }"#, "?"),
    (r#"kind = "drop_tail""#, r#"kind = "red""#, "?"),
    (r#"kind = "drop_tail", "#, "", "?"),
    (r#"kind = "drop_tail""#, "kind = 5", "?"),
    ("good_to_bad = 0.1, bad_to_good = 0.2", "good_to_bad = 0, bad_to_good = 0", "?"),
    ("good_to_bad = 0.1", "good_to_bad = 1.1", "?"),
    ("good_to_bad = 0.1", r#"good_to_bad = "110 %""#, "?"),
    ("good_to_bad = 0.1", r#"good_to_bad = "x""#, "?"),
    (", loss_in_bad = 0.5", "", "?"),
    ("loss_in_bad = 0.5", "loss_in_bad = 0.5, loss = 1", "?"),
    (
        r#"{ kind = "gilbert_elliott", good_to_bad = 0.1, bad_to_good = 0.2, loss_in_bad = 0.5 }"#,
        r#""0.1 %%""#,
        "?",
    ),
    (
        r#"{ kind = "gilbert_elliott", good_to_bad = 0.1, bad_to_good = 0.2, loss_in_bad = 0.5 }"#,
        r#"{ kind = "listed", packets = [1, -2] }"#,
        "?",
    ),
    (r#"distribution = "normal""#, r#"distribution = "constant""#, "?"),
    (r#"distribution = "normal""#, r#"distribution = "gauss""#, "?"),
    (r#"deviation = "1 ms""#, r#"deviation = "0 ms""#, "?"),
    (r#"deviation = "1 ms", distribution = "normal""#, "reorder = true", "?"),
    (r#"mean = "10 ms", "#, "", "?"),
    (r#"mean = "10 ms""#, "mean = 10", "?"),
    (r#"delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal" }"#, "delay = 10", "?"),
    (
        r#"delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal" }"#,
        r#"delay = ["10 ms"]"#,
        "?",
    ),
    (r#"file = "t.csv""#, r#"file = """#, "?"),
    (r#"file = "t.csv""#, r#"file = "t.csv", format = "mahimahi", at_end = "hold""#, "?"),
    (r#"file = "t.csv""#, r#"file = "t.csv", format = "pcap""#, "?"),
    (r#"links = ["a", "b"]"#, "links = []", "?"),
    (r#"links = ["a", "b"]"#, r#"links = ["a", "a"]"#, "?"),
    (r#"links = ["a", "b"]"#, r#"links = ["a", "z"]"#, "?"),
    (r#"links = ["a", "b"]"#, r#"links = "a""#, "?"),
    (r#"links = ["a", "b"]"#, r#"links = ["a", 3]"#, "?"),
    ("batch_packets = 100", "batch_packets = 0", "?"),
    ("batch_packets = 100", "batch_packets = 65536", "?"),
    ("batch_packets = 100", "batch_packets = -1", "?"),
    ("batch_packets = 100", r#"batch_packets = "100""#, "?"),
    ("shares = [1, 2]", "shares = [0, 0]", "?"),
    ("shares = [1, 2]", "shares = [1, 2, 3]", "?"),
    ("shares = [1, 2]", "shares = [1, -2]", "?"),
    ("shares = [1, 2]", "shares = [1, 2]\nmode = \"duplicate\"", "?"),
    ("shares = [1, 2]", r#"mode = "copy""#, "?"),
    ("sequence_bits = 16", "sequence_bits = 15", "?"),
    ("sequence_bits = 16", "sequence_bits = 300", "?"),
    (r#"timer = "200 ms""#, r#"timer = "-1 ms""#, "?"),
    ("receive_batch = 2", "receive_batch = 0", "?"),
    ("receive_batch = 2", "send_batch = 0", "?"),
    ("receive_batch = 2", r#"receive_buffer = "0 B""#, "?"),
    (r#"timer_slack = "1 ms""#, r#"timer_slack = { mean = "1 ms", deviation = "1 ms" }"#, "?"),
    (
        r#"timer_slack = "1 ms""#,
        r#"timer_slack = { mean = "1 ms", deviation = "1 ms", distribution = "normal", reorder = true }"#,
        "?",
    ),
    ("[taps.t]", "[taps.t]\nkeep_packets = 99999999999999999999", "?"),
    (r#"stack = "quinn""#, r#"stack = "quin""#, "?"),
    ("stack = \"quinn\"\n", "", "?"),
    (r#"stack = "quinn""#, "receiver = { stack = \"picoquic\" }\nstack = \"quinn\"", "?"),
    (r#"stack = "quinn""#, "receiver = { profile = \"aioquic\" }\nstack = \"quinn\"", "?"),
    (r#"stack = "quinn""#, "receiver = { congestion_control = \"bbr\" }\nstack = \"quinn\"", "?"),
    (r#"host = "h""#, r#"host = "g""#, "?"),
    (r#"datagram_size = "1280 B""#, r#"datagram_size = "1199 B""#, "?"),
    (r#"datagram_size = "1280 B""#, r#"datagram_size = "65508 B""#, "?"),
    (r#"datagram_size = "1280 B""#, r#"initial_window = "0 B""#, "?"),
    (r#"datagram_size = "1280 B""#, "packet_threshold = 0", "?"),
    (r#"datagram_size = "1280 B""#, "time_threshold = nan", "?"),
    (r#"datagram_size = "1280 B""#, "time_threshold = 0.9", "?"),
    (r#"datagram_size = "1280 B""#, r#"initial_rtt = "0 ms""#, "?"),
    (r#"datagram_size = "1280 B""#, "ack_frequency = { threshold = 1 }", "?"),
    (r#"datagram_size = "1280 B""#, "ack_frequency = {}", "?"),
    (r#"down = ["t", "dc"]"#, "down = []", "?"),
    ("up = [\"c\"]\n", "", "?"),
    (r#"down = ["t", "dc"]"#, r#"down = ["t", "dd"]"#, "?"),
    (r#"down = ["t", "dc"]"#, r#"down = ["t", "dc", "t"]"#, "?"),
    (r#"down = ["t", "dc"]"#, r#"down = ["a", "dc"]"#, "?"),
    (r#"down = ["t", "dc"]"#, r#"down = "dc""#, "?"),
    (r#"size = "1 MB""#, r#"size = "1 MB", duration = "1 s""#, "?"),
    (r#", size = "1 MB""#, "", "?"),
    (r#"size = "1 MB""#, r#"size = "0 MB""#, "?"),
    (r#"size = "1 MB""#, r#"size = "1 Mb""#, "?"),
    (r#"size = "1 MB""#, r#"duration = "0 s""#, "?"),
    (r#"size = "1 MB""#, r#"size = "1 MB", request = "0 B""#, "?"),
    (r#"kind = "download""#, r#"kind = "upload""#, "?"),
    (r#"kind = "download", "#, "", "?"),
    ("workload = { kind = \"download\", size = \"1 MB\" }\n", "", "?"),
    (r#"start = "1 s""#, r#"start = "10 s""#, "?"),
    (r#"series_interval = "1 ms""#, r#"series_interval = "0 ms""#, "?"),
    (r#"series_interval = "1 ms""#, "qlog = 1", "?"),
    ("[record]", "[[wires]]\nfrom = \"f.sender.0\"\nto = \"a.0\"\n[record]", "?"),
];

#[test]
fn each_bad_input_has_its_sentence() {
    load(RIGHT, &[]).unwrap();
    let mut wrong = Vec::new();
    for (from, to, sentence) in CASES {
        assert_eq!(RIGHT.matches(from).count(), 1, "{from:?} marks one place");
        let found =
            load(&RIGHT.replace(from, to), &[]).map_or_else(|error| error.to_string(), |_| "loads".into());
        if found != *sentence {
            wrong.push(format!("{from} -> {to}\n  expected: {sentence}\n  found:    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
