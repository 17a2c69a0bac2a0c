//! Every invalid scenario is rejected: at the right line, for the right field, with the right kind of
//! problem.

use super::{load, some_stacks};
use crate::Scenario;
use quiclab_config::{ConfigError, Document, Location};
use quiclab_core::ProblemKind::{
    self, Conflict, MissingField, OutOfRange, Syntax, UnknownField, UnknownName, Unsupported, WrongType,
};
use quiclab_core::{FieldPath, Problem};

/// A valid scenario; each case introduces one error.
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

/// Text of the valid scenario, its replacement, and the problem: line, field and kind.
pub(super) type Case = (&'static str, &'static str, usize, &'static str, ProblemKind);

/// Errors of single fields, and of incompatible fields.
#[rustfmt::skip] // one case a line
const CASES: &[Case] = &[
    ("version = 1", "version = 2", 1, "version", OutOfRange),
    ("version = 1\n", "\n", 1, "version", MissingField),
    ("version = 1", r#"version = "1""#, 1, "version", OutOfRange),
    (r#"name = "n""#, r#"name = " ""#, 2, "name", OutOfRange),
    (r#"name = "n""#, "name = 7", 2, "name", WrongType),
    (r#"name = "n""#, "name = 1979-05-27", 2, "name", WrongType),
    ("name = \"n\"\n", "", 1, "name", MissingField),
    (r#"name = "n""#, r#"name = "n"#, 2, "", Syntax),
    (r#"name = "n""#, "name = \"n\"\nname = \"m\"", 3, "", Syntax),
    (r#"duration = "10 s""#, r#"duration = "0 s""#, 3, "duration", OutOfRange),
    (r#"duration = "10 s""#, r#"duration = "10""#, 3, "duration", OutOfRange),
    (r#"duration = "10 s""#, "duration = 10", 3, "duration", WrongType),
    (r#"duration = "10 s""#, "duration = 10\nuntill = 1", 3, "duration", WrongType),
    (r#"duration = "10 s""#, r#"until = "never""#, 3, "until", UnknownName),
    (r#"duration = "10 s""#, r#"until = { delivered = "0 B" }"#, 3, "until.delivered", OutOfRange),
    (r#"duration = "10 s""#, "until = 3", 3, "until", WrongType),
    (r#"duration = "10 s""#, "wires = 3", 3, "wires", WrongType),
    ("[links.a]", r#"[links."a b"]"#, 4, r#"links."a b""#, OutOfRange),
    ("[links.a]", "[links.t]", 21, "taps.t", Conflict),
    ("[links.a]", "[links.dc]", 13, "bearers.dc", Conflict),
    ("[taps.t]", "[taps.dc]", 21, "taps.dc", Conflict),
    ("[hosts.h]", r#"[hosts.""]"#, 18, r#"hosts."""#, OutOfRange),
    ("[flows.f]", r#"[flows."é"]"#, 22, r#"flows."é""#, OutOfRange),
    ("[links.a]\nrate = \"20 Mbit/s\"", "[links.a]\nraet = \"20 Mbit/s\"", 5, "links.a.raet", UnknownField),
    (r#"rate = "20 Mbit/s""#, r#"rate = "20 Mbit""#, 5, "links.a.rate", OutOfRange),
    (r#"rate = "20 Mbit/s""#, r#"rate = "20""#, 5, "links.a.rate", OutOfRange),
    (r#"rate = "20 Mbit/s""#, "rate = 20", 5, "links.a.rate", WrongType),
    (r#"rate = "20 Mbit/s""#, "rate = 20.5", 5, "links.a.rate", WrongType),
    (r#"rate = "20 Mbit/s""#, r#"rate = "-20 Mbit/s""#, 5, "links.a.rate", OutOfRange),
    (r#"rate = "20 Mbit/s""#, "rate = -20", 5, "links.a.rate", WrongType),
    (r#"rate = "20 Mbit/s""#, r#"rate = "0 Mbit/s""#, 5, "links.a.rate", OutOfRange),
    (r#"rate = "20 Mbit/s""#, r#"rate = "99999999999 Gbit/s""#, 5, "links.a.rate", OutOfRange),
    (r#"rate = "20 Mbit/s""#, "rate = true", 5, "links.a.rate", WrongType),
    (r#"rate = "20 Mbit/s""#, r#"rate = { kind = "bucket" }"#, 5, "links.a.rate.kind", UnknownName),
    (r#"rate = "20 Mbit/s""#, "rate = {}", 5, "links.a.rate.kind", MissingField),
    (r#"rate = "1 Mbit/s""#, r#"rate = "0 bit/s""#, 9, "links.b.rate.rate", OutOfRange),
    (r#"rate = "1 Mbit/s""#, r#"rate = "1 MB/s""#, 9, "links.b.rate.rate", OutOfRange),
    (r#"rate = "1 Mbit/s""#, "rate = 1", 9, "links.b.rate.rate", WrongType),
    (r#"rate = "1 Mbit/s", "#, "", 9, "links.b.rate.rate", MissingField),
    (r#"rate = "1 Mbit/s", "#, r#"rates = "1 Mbit/s", "#, 9, "links.b.rate.rates", UnknownField),
    (r#"burst = "10 kB""#, r#"burst = "0 B""#, 9, "links.b.rate.burst", OutOfRange),
    (r#"burst = "10 kB""#, r#"burst = "1309 B""#, 9, "links.b.rate.burst", Conflict),
    ("packets = 100 }", "packets = 0 }", 6, "links.a.queue.packets", OutOfRange),
    ("packets = 100 }", "packets = -1 }", 6, "links.a.queue.packets", OutOfRange),
    ("packets = 100 }", r#"packets = "100" }"#, 6, "links.a.queue.packets", WrongType),
    (", packets = 100 }", "}", 6, "links.a.queue", Conflict),
    ("packets = 100 }", r#"bytes = "0 B" }"#, 6, "links.a.queue.bytes", OutOfRange),
    ("packets = 100 }", r#"time = "0 ms" }"#, 6, "links.a.queue.time", OutOfRange),
    ("packets = 100 }", r#"time = "10 mss" }"#, 6, "links.a.queue.time", OutOfRange),
    (r#"kind = "drop_tail", packets = 100 }"#, r#"kind = "head_drop" }"#, 6, "links.a.queue", Conflict),
    (r#"packets = 100 }"#, r#"ack_filter = "aggressive" }"#, 6, "links.a.queue", Conflict),
    (r#"packets = 100 }"#, r#"packets = 100, ack_filter = "on" }"#, 6, "links.a.queue.ack_filter", UnknownName),
    (r#"kind = "drop_tail", packets = 100"#, r#"kind = "cake", target = "100 ms""#, 6, "links.a.queue.target", Conflict),
    (r#"kind = "drop_tail", packets = 100"#, r#"kind = "cake", memory = "1513 B""#, 6, "links.a.queue.memory", OutOfRange),
    ("[flows.f]\n", "[[events]]\nwhen = { kind = \"time\", at = \"1 s\" }\nlinks = [\"c\"]\nrate_factor = 0.5\n[flows.f]\n", 25, "events.0.rate_factor", Conflict),
    ("[flows.f]\n", "[[events]]\nwhen = { kind = \"time\", at = \"1 s\" }\nlinks = [\"b\"]\nloss = 1\n[flows.f]\n", 25, "events.0.loss", Conflict),
    ("[flows.f]\n", "[[events]]\nwhen = { kind = \"time\", at = \"1 s\" }\nlinks = [\"a\", \"a\"]\nup = false\n[flows.f]\n", 24, "events.0.links.1", Conflict),
    ("[flows.f]\n", "[[events]]\nwhen = { kind = \"time\", at = \"1 s\" }\nlinks = [\"a\"]\nrate = \"1 Mbit/s\"\nrate_factor = 2\n[flows.f]\n", 26, "events.0.rate_factor", Conflict),
    ("[flows.f]\n", "[[events]]\nwhen = { kind = \"time\", at = \"1 s\" }\nlinks = [\"a\"]\nrate_factor = 0\n[flows.f]\n", 25, "events.0.rate_factor", OutOfRange),
    (r#"kind = "drop_tail""#, r#"kind = "codel", target = "100 ms""#, 6, "links.a.queue.target", Conflict),
    (r#"kind = "drop_tail""#, r#"kind = "fq_codel", flows = 0"#, 6, "links.a.queue.flows", OutOfRange),
    (r#"kind = "drop_tail""#, r#"kind = "fq_codel", quantum = "255 B""#, 6, "links.a.queue.quantum", OutOfRange),
    (r#"kind = "drop_tail""#, r#"kind = "fq_codel", hash = "jenkins""#, 6, "links.a.queue.hash", UnknownName),
    (r#"kind = "drop_tail""#, r#"kind = "choke""#, 6, "links.a.queue.kind", UnknownName),
    (r#"kind = "drop_tail", "#, "", 6, "links.a.queue.kind", MissingField),
    (r#"kind = "drop_tail""#, "kind = 5", 6, "links.a.queue.kind", WrongType),
    ("good_to_bad = 0.1, bad_to_good = 0.2", "good_to_bad = 0, bad_to_good = 0", 10, "links.b.loss.good_to_bad", Conflict),
    ("good_to_bad = 0.1", "good_to_bad = 1.1", 10, "links.b.loss.good_to_bad", OutOfRange),
    ("good_to_bad = 0.1", r#"good_to_bad = "110 %""#, 10, "links.b.loss.good_to_bad", OutOfRange),
    ("good_to_bad = 0.1", r#"good_to_bad = "x""#, 10, "links.b.loss.good_to_bad", OutOfRange),
    (", loss_in_bad = 0.5", "", 10, "links.b.loss.loss_in_bad", MissingField),
    ("loss_in_bad = 0.5", "loss_in_bad = 0.5, loss = 1", 10, "links.b.loss.loss", UnknownField),
    (r#"{ kind = "gilbert_elliott", good_to_bad = 0.1, bad_to_good = 0.2, loss_in_bad = 0.5 }"#, r#""0.1 %%""#, 10, "links.b.loss", OutOfRange),
    (r#"{ kind = "gilbert_elliott", good_to_bad = 0.1, bad_to_good = 0.2, loss_in_bad = 0.5 }"#, r#"{ kind = "listed", packets = [1, -2] }"#, 10, "links.b.loss.packets.1", OutOfRange),
    (r#"distribution = "normal""#, r#"distribution = "constant""#, 7, "links.a.delay.deviation", Conflict),
    (r#"distribution = "normal""#, r#"distribution = "gauss""#, 7, "links.a.delay.distribution", UnknownName),
    (r#"deviation = "1 ms""#, r#"deviation = "0 ms""#, 7, "links.a.delay.deviation", Conflict),
    (r#"deviation = "1 ms", distribution = "normal""#, "reorder = true", 7, "links.a.delay.reorder", Conflict),
    (r#"mean = "10 ms", "#, "", 7, "links.a.delay.mean", MissingField),
    (r#"mean = "10 ms""#, "mean = 10", 7, "links.a.delay.mean", WrongType),
    (r#"delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal" }"#, "delay = 10", 7, "links.a.delay", WrongType),
    (r#"delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal" }"#, r#"delay = ["10 ms"]"#, 7, "links.a.delay", WrongType),
    (r#"file = "t.csv""#, r#"file = """#, 12, "links.c.rate.file", OutOfRange),
    (r#"file = "t.csv""#, r#"file = "t.csv", format = "mahimahi", at_end = "hold""#, 12, "links.c.rate.at_end", Conflict),
    (r#"file = "t.csv""#, r#"file = "t.csv", format = "mahimahi", rate_at = "enqueue""#, 12, "links.c.rate.rate_at", Conflict),
    (r#"file = "t.csv" }"#, "file = \"t.csv\", rate_at = \"enqueue\" }\nqueue = { kind = \"codel\" }", 12, "links.c.rate.rate_at", Conflict),
    (r#"file = "t.csv""#, r#"file = "t.csv", rate_at = "departure""#, 12, "links.c.rate.rate_at", UnknownName),
    (r#"file = "t.csv""#, r#"file = "t.csv", format = "pcap""#, 12, "links.c.rate.format", UnknownName),
    (r#"links = ["a", "b"]"#, "links = []", 14, "bearers.dc.links", OutOfRange),
    (r#"links = ["a", "b"]"#, r#"links = ["a", "a"]"#, 14, "bearers.dc.links.1", Conflict),
    (r#"links = ["a", "b"]"#, r#"links = ["a", "z"]"#, 14, "bearers.dc.links.1", UnknownName),
    (r#"links = ["a", "b"]"#, r#"links = "a""#, 14, "bearers.dc.links", WrongType),
    (r#"links = ["a", "b"]"#, r#"links = ["a", 3]"#, 14, "bearers.dc.links.1", WrongType),
    ("batch_packets = 100", "batch_packets = 0", 15, "bearers.dc.batch_packets", OutOfRange),
    ("batch_packets = 100", "batch_packets = 65536", 15, "bearers.dc.batch_packets", OutOfRange),
    ("batch_packets = 100", "batch_packets = -1", 15, "bearers.dc.batch_packets", OutOfRange),
    ("batch_packets = 100", r#"batch_packets = "100""#, 15, "bearers.dc.batch_packets", WrongType),
    ("shares = [1, 2]", "shares = [0, 0]", 16, "bearers.dc.shares", Conflict),
    ("shares = [1, 2]", "shares = [1, 2, 3]", 16, "bearers.dc.shares", Conflict),
    ("shares = [1, 2]", "shares = [1, -2]", 16, "bearers.dc.shares.1", OutOfRange),
    ("shares = [1, 2]", "shares = [1, 2]\nmode = \"duplicate\"", 16, "bearers.dc.shares", Conflict),
    ("shares = [1, 2]", r#"mode = "copy""#, 16, "bearers.dc.mode", UnknownName),
    ("sequence_bits = 16", "sequence_bits = 15", 17, "bearers.dc.reordering.sequence_bits", OutOfRange),
    ("sequence_bits = 16", "sequence_bits = 300", 17, "bearers.dc.reordering.sequence_bits", OutOfRange),
    (r#"timer = "200 ms""#, r#"timer = "-1 ms""#, 17, "bearers.dc.reordering.timer", OutOfRange),
    ("shares = [1, 2]", r#"splitter = { kind = "proportional" }"#, 16, "bearers.dc.splitter.kind", Conflict),
    ("shares = [1, 2]", "shares = [1, 2]\nsplitter = { kind = \"flow_control\" }", 16, "bearers.dc.shares", Conflict),
    ("shares = [1, 2]", "mode = \"duplicate\"\nsplitter = { kind = \"flow_control\" }", 17, "bearers.dc.splitter.kind", Conflict),
    ("shares = [1, 2]", "mode = \"duplicate\"\nduplication = 0.5", 17, "bearers.dc.duplication", Conflict),
    ("shares = [1, 2]", r#"splitter = { kind = "batches", floor = 1 }"#, 16, "bearers.dc.splitter.floor", UnknownField),
    ("shares = [1, 2]", r#"splitter = { kind = "fastest" }"#, 16, "bearers.dc.splitter.kind", UnknownName),
    ("shares = [1, 2]", r#"duplication = "101 %""#, 16, "bearers.dc.duplication", OutOfRange),
    (r#"timer = "200 ms""#, r#"timer = { kind = "adaptive", least = "1 s" }"#, 17, "bearers.dc.reordering.timer.least", Conflict),
    (r#"timer = "200 ms""#, r#"timer = { kind = "adaptive", factor = 0.5 }"#, 17, "bearers.dc.reordering.timer.factor", OutOfRange),
    (r#"timer = "200 ms""#, r#"timer = { kind = "adaptive", window = "0 s" }"#, 17, "bearers.dc.reordering.timer.window", OutOfRange),
    (r#"timer = "200 ms""#, "timer = 200", 17, "bearers.dc.reordering.timer", WrongType),
    ("[links.b]", "holds = [{ packet = -1, by = \"1 ms\" }]\n[links.b]", 8, "links.a.holds.0.packet", OutOfRange),
    ("[links.b]", "holds = [{ packet = 1 }]\n[links.b]", 8, "links.a.holds.0.by", MissingField),
    ("[links.b]", "holds = [{ packet = 1, by = \"0 ms\" }]\n[links.b]", 8, "links.a.holds.0.by", OutOfRange),
    ("[links.b]", "holds = [{ packet = 1, by = \"1 ms\", behind = 0 }]\n[links.b]", 8, "links.a.holds.0.behind", OutOfRange),
    ("[links.b]", "holds = [{ packet = 1, by = \"1 ms\" }, { packet = 1, by = \"2 ms\" }]\n[links.b]", 8, "links.a.holds.1.packet", Conflict),
    ("[links.b]", "feedback = { interval = \"0 ms\" }\n[links.b]", 8, "links.a.feedback.interval", OutOfRange),
    ("[links.b]", "feedback = { size = \"1 B\" }\n[links.b]", 8, "links.a.feedback.size", UnknownField),
    ("[bearers.dc]", "feedback = {}\n[bearers.dc]", 13, "links.c.feedback", Conflict),
    ("[links.b]", "feedback = {}\n[bearers.other]\nlinks = [\"a\"]\n[links.b]", 8, "links.a.feedback", Conflict),
    ("receive_batch = 2", "receive_batch = 0", 19, "hosts.h.receive_batch", OutOfRange),
    ("receive_batch = 2", "send_batch = 0", 19, "hosts.h.send_batch", OutOfRange),
    ("receive_batch = 2", r#"receive_buffer = "0 B""#, 19, "hosts.h.receive_buffer", OutOfRange),
    (r#"timer_slack = "1 ms""#, r#"timer_slack = { mean = "1 ms", deviation = "1 ms" }"#, 20, "hosts.h.timer_slack.deviation", Conflict),
    (r#"timer_slack = "1 ms""#, r#"timer_slack = { mean = "1 ms", deviation = "1 ms", distribution = "normal", reorder = true }"#, 20, "hosts.h.timer_slack.reorder", Conflict),
    ("[taps.t]", "[taps.t]\nkeep_packets = 99999999999999999999", 22, "taps.t.keep_packets", WrongType),
    (r#"stack = "quinn""#, r#"stack = "quin""#, 23, "flows.f.stack", UnknownName),
    ("stack = \"quinn\"\n", "", 23, "flows.f.sender.stack", MissingField),
    (r#"stack = "quinn""#, "receiver = { stack = \"picoquic\" }\nstack = \"quinn\"", 23, "flows.f.receiver.stack", UnknownName),
    (r#"stack = "quinn""#, "receiver = { profile = \"aioquic\" }\nstack = \"quinn\"", 23, "flows.f.receiver.profile", Unsupported),
    (r#"stack = "quinn""#, "receiver = { congestion_control = \"bbr\" }\nstack = \"quinn\"", 23, "flows.f.receiver.congestion_control", UnknownName),
    (r#"host = "h""#, r#"host = "g""#, 24, "flows.f.sender.host", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"datagram_size = "1199 B""#, 24, "flows.f.sender.datagram_size", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"datagram_size = "65508 B""#, 24, "flows.f.sender.datagram_size", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"initial_window = "0 B""#, 24, "flows.f.sender.initial_window", OutOfRange),
    (r#"datagram_size = "1280 B""#, "packet_threshold = 0", 24, "flows.f.sender.packet_threshold", OutOfRange),
    (r#"datagram_size = "1280 B""#, "time_threshold = nan", 24, "flows.f.sender.time_threshold", OutOfRange),
    (r#"datagram_size = "1280 B""#, "time_threshold = 0.9", 24, "flows.f.sender.time_threshold", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"initial_rtt = "0 ms""#, 24, "flows.f.sender.initial_rtt", OutOfRange),
    (r#"datagram_size = "1280 B""#, "ack_frequency = { threshold = 1 }", 24, "flows.f.sender.ack_frequency.threshold", UnknownField),
    (r#"datagram_size = "1280 B""#, "ack_frequency = {}", 24, "flows.f.sender.ack_frequency.ack_eliciting_threshold", MissingField),
    (r#"datagram_size = "1280 B""#, "emulated_connections = 0", 24, "flows.f.sender.emulated_connections", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"congestion_control = "fixed", emulated_connections = 2"#, 24, "flows.f.sender.emulated_connections", Conflict),
    (r#"datagram_size = "1280 B""#, r#"congestion_control = "bbr-linux", slow_start_exit = "hystart-linux""#, 24, "flows.f.sender.slow_start_exit", Conflict),
    (r#"datagram_size = "1280 B""#, r#"slow_start_exit = "hystart""#, 24, "flows.f.sender.slow_start_exit", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"controller = "lab""#, 24, "flows.f.sender.controller", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"pacing = "none""#, 24, "flows.f.sender.pacing", WrongType),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "slow" }"#, 24, "flows.f.sender.pacing.kind", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "none", factor = 2 }"#, 24, "flows.f.sender.pacing.factor", UnknownField),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "even", factor = 0 }"#, 24, "flows.f.sender.pacing.factor", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "even", factor = 10.1 }"#, 24, "flows.f.sender.pacing.factor", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "even", factor = nan }"#, 24, "flows.f.sender.pacing.factor", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", burst_packets = 0 }"#, 24, "flows.f.sender.pacing.burst_packets", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "quantum", quantum = "0 ms" }"#, 24, "flows.f.sender.pacing.quantum", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "fq", max_rate = "0 bit/s" }"#, 24, "flows.f.sender.pacing.max_rate", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"congestion_control = "bbr-chromium", pacing = { kind = "none" }"#, 24, "flows.f.sender.pacing.kind", Conflict),
    (r#"datagram_size = "1280 B""#, r#"tcp = { mss = "87 B" }"#, 24, "flows.f.sender.tcp.mss", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"tcp = { mss = "65496 B" }"#, 24, "flows.f.sender.tcp.mss", OutOfRange),
    (r#"datagram_size = "1280 B""#, "tcp = { reordering = 2 }", 24, "flows.f.sender.tcp.reordering", OutOfRange),
    (r#"datagram_size = "1280 B""#, "tcp = { reordering = 5, max_reordering = 4 }", 24, "flows.f.sender.tcp.reordering", Conflict),
    (r#"datagram_size = "1280 B""#, r#"tcp = { receive_buffer = "2 kB", max_receive_buffer = "1 kB" }"#, 24, "flows.f.sender.tcp.receive_buffer", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"tcp = { min_delayed_ack = "50 ms", max_delayed_ack = "40 ms" }"#, 24, "flows.f.sender.tcp.min_delayed_ack", Conflict),
    (r#"datagram_size = "1280 B""#, r#"tcp = { min_rto = "0 s" }"#, 24, "flows.f.sender.tcp.min_rto", OutOfRange),
    (r#"datagram_size = "1280 B""#, "tcp = { gso_segments = 0 }", 24, "flows.f.sender.tcp.gso_segments", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"tcp = { loss_detection = "fack" }"#, 24, "flows.f.sender.tcp.loss_detection", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"tcp = { metrics = "always" }"#, 24, "flows.f.sender.tcp.metrics", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.1" }"#, 24, "flows.f.sender.tls.version", UnknownName),
    (r#"datagram_size = "1280 B""#, "tls = {}", 24, "flows.f.sender.tls.version", MissingField),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.3", early_data = "accepted" }"#, 24, "flows.f.sender.tls.early_data", Conflict),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.3", resumption = true, early_data = "maybe" }"#, 24, "flows.f.sender.tls.early_data", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"quic = { connection_id = "21 B" }"#, 24, "flows.f.sender.quic.connection_id", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { packet_number = "0 B" }"#, 24, "flows.f.sender.quic.packet_number", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { packet_number = "5 B" }"#, 24, "flows.f.sender.quic.packet_number", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { ack_ranges = 0 }"#, 24, "flows.f.sender.quic.ack_ranges", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_ack_delay = "16384 ms" }"#, 24, "flows.f.sender.quic.max_ack_delay", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { probe_packets = 3 }"#, 24, "flows.f.sender.quic.probe_packets", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_window = "0 B" }"#, 24, "flows.f.sender.quic.max_window", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_streams = 0 }"#, 24, "flows.f.sender.quic.max_streams", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_stream_receive_window = "0 B" }"#, 24, "flows.f.sender.quic.max_stream_receive_window", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_connection_receive_window = "0 B" }"#, 24, "flows.f.sender.quic.max_connection_receive_window", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { idle_timeout = "0 s" }"#, 24, "flows.f.sender.quic.idle_timeout", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { version = "v2" }"#, 24, "flows.f.sender.quic.version", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"quic = { flow_control = "auto" }"#, 24, "flows.f.sender.quic.flow_control", UnknownName),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "every", packets = 0 } }"#, 24, "flows.f.sender.quic.acknowledgement.packets", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "rtt_fraction", packets = 0 } }"#, 24, "flows.f.sender.quic.acknowledgement.packets", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "rtt_fraction", fraction = 0 } }"#, 24, "flows.f.sender.quic.acknowledgement.fraction", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "rtt_fraction", fraction = 1.1 } }"#, 24, "flows.f.sender.quic.acknowledgement.fraction", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "timer", delay = "17 s" } }"#, 24, "flows.f.sender.quic.acknowledgement.delay", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "every" }, max_ack_delay = "20 ms" }"#, 24, "flows.f.sender.quic.acknowledgement.delay", Conflict),
    (r#"datagram_size = "1280 B""#, r#"http2 = { stream_window = "2 GiB" }"#, 24, "flows.f.sender.http2.stream_window", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"http2 = { connection_window = "0 B" }"#, 24, "flows.f.sender.http2.connection_window", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"http2 = { max_streams = 0 }"#, 24, "flows.f.sender.http2.max_streams", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"http2 = { frame_size = "16 MiB" }"#, 24, "flows.f.sender.http2.frame_size", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", slow_start_factor = 11 }"#, 24, "flows.f.sender.pacing.slow_start_factor", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", burst_share = 0 }"#, 24, "flows.f.sender.pacing.burst_share", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", burst_time = "0 s" }"#, 24, "flows.f.sender.pacing.burst_time", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", idle_burst_packets = 0 }"#, 24, "flows.f.sender.pacing.idle_burst_packets", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "0 B", objects = [] }"#, 27, "flows.f.workload.html", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [], request = "0 B" }"#, 27, "flows.f.workload.request", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [], response = "0 B" }"#, 27, "flows.f.workload.response", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [{ count = 1, size = "1 kB" }, { count = 1, size = "0 B" }] }"#, 27, "flows.f.workload.objects.1.size", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [{ count = 0, size = "1 kB" }] }"#, 27, "flows.f.workload.objects.0.count", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "0 B" }] }"#, 27, "flows.f.workload.resources.0.size", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", request = "0 B" }] }"#, 27, "flows.f.workload.resources.0.request", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", response = "0 B" }] }"#, 27, "flows.f.workload.resources.0.response", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", after = [] }] }"#, 27, "flows.f.workload.resources.0.after", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B" }, { size = "1 B", after = [0, 2] }] }"#, 27, "flows.f.workload.resources.1.after", Conflict),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", origin = 256 }] }"#, 27, "flows.f.workload.resources.0.origin", OutOfRange),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [{ count = 1, size = "1 B" }], resources = [{ size = "1 B" }] }"#, 27, "flows.f.workload.resources", Conflict),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.3", certificate = "65537 B" }"#, 24, "flows.f.sender.tls.certificate", OutOfRange),
    (r#"datagram_size = "1280 B""#, r#"stack = "lab-tcp""#, 24, "flows.f.sender.stack", Conflict),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 1"#, 27, "flows.f.workload.kind", Conflict),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping""#, 27, "flows.f.workload.count", MissingField),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 0"#, 27, "flows.f.workload.count", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 1, size = "0 B""#, 27, "flows.f.workload.size", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 1, interval = "0 s""#, 27, "flows.f.workload.interval", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "request_response", count = 0, response = "1 kB""#, 27, "flows.f.workload.count", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "request_response", count = 1, response = "0 B""#, 27, "flows.f.workload.response", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "0 bit/s", size = "1 kB", duration = "1 s""#, 27, "flows.f.workload.rate", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "1 bit/s", size = "65508 B", duration = "1 s""#, 27, "flows.f.workload.size", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "1 bit/s", size = "1 kB", duration = "0 s""#, 27, "flows.f.workload.duration", OutOfRange),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "1 bit/s", size = "1 kB", duration = "1 s", on = "1 s""#, 27, "flows.f.workload.on", Conflict),
    (r#"down = ["t", "dc"]"#, "down = []", 25, "flows.f.down", MissingField),
    ("up = [\"c\"]\n", "", 22, "flows.f.up", MissingField),
    (r#"down = ["t", "dc"]"#, r#"down = ["t", "dd"]"#, 25, "flows.f.down.1", UnknownName),
    (r#"down = ["t", "dc"]"#, r#"down = ["t", "dc", "t"]"#, 25, "flows.f.down.2", Conflict),
    (r#"down = ["t", "dc"]"#, r#"down = ["a", "dc"]"#, 25, "flows.f.down.1", Conflict),
    (r#"down = ["t", "dc"]"#, r#"down = "dc""#, 25, "flows.f.down", WrongType),
    (r#"size = "1 MB""#, r#"size = "1 MB", duration = "1 s""#, 27, "flows.f.workload.duration", Conflict),
    (r#", size = "1 MB""#, "", 27, "flows.f.workload.size", MissingField),
    (r#"size = "1 MB""#, r#"size = "0 MB""#, 27, "flows.f.workload.size", OutOfRange),
    (r#"size = "1 MB""#, r#"size = "1 Mb""#, 27, "flows.f.workload.size", OutOfRange),
    (r#"size = "1 MB""#, r#"duration = "0 s""#, 27, "flows.f.workload.duration", OutOfRange),
    (r#"size = "1 MB""#, r#"size = "1 MB", request = "0 B""#, 27, "flows.f.workload.request", OutOfRange),
    (r#"kind = "download""#, r#"kind = "upload""#, 27, "flows.f.workload.kind", UnknownName),
    (r#"kind = "download", "#, "", 27, "flows.f.workload.kind", MissingField),
    ("workload = { kind = \"download\", size = \"1 MB\" }\n", "", 22, "flows.f.workload", MissingField),
    (r#"series_interval = "1 ms""#, r#"series_interval = "0 ms""#, 30, "record.series_interval", OutOfRange),
    (r#"series_interval = "1 ms""#, "qlog = 1", 30, "record.qlog", WrongType),
    ("[record]", "[[wires]]\nfrom = \"f.sender.0\"\nto = \"a.0\"\n[record]", 25, "flows.f.down", Conflict),
];

/// Wires by hand; a bearer, two flows.
const WIRED: &str = r#"version = 1
name = "n"
links = { a = {}, b = {}, up = { rate = "1 Mbit/s", delay = "10 ms" } }
bearers = { dc = { links = ["a", "b"] } }
taps = { t = {} }
flows.f = { stack = "quinn", workload = { kind = "download", size = "1 MB" } }
flows.g = { stack = "quinn", workload = { kind = "download", size = "1 MB" } }
wires = [
    { from = "f.sender.0", to = "dc.ingress.0" },
    { from = "g.sender.0", to = "dc.ingress.0" },
    { from = "dc.ingress.0", to = "a.0" },
    { from = "dc.ingress.1", to = "b.0" },
    { from = "a.0", to = "dc.egress.0" },
    { from = "b.0", to = "dc.egress.1" },
    { from = "dc.egress.0", to = "f.receiver.0", flow = "f" },
    { from = "dc.egress.0", to = "g.receiver.0", flow = "g" },
    { from = "f.receiver.0", to = "up.0" },
    { from = "g.receiver.0", to = "up.0" },
    { from = "up.0", to = "t.0" },
    { from = "t.0", to = "f.sender.0", flow = "f", direction = "up" },
    { from = "t.0", to = "g.sender.0", flow = "g", direction = "up" },
]
"#;

#[rustfmt::skip] // one case a line
const WIRE_CASES: &[Case] = &[
    (r#"from = "f.sender.0""#, r#"from = "f.sender""#, 9, "wires.0.from", OutOfRange),
    (r#"from = "f.sender.0""#, r#"from = "x.0""#, 9, "wires.0.from", UnknownName),
    (r#"from = "f.sender.0""#, r#"from = "f.sender.1""#, 9, "wires.0.from", OutOfRange),
    (r#"to = "a.0""#, r#"to = "a.1""#, 11, "wires.2.to", OutOfRange),
    (r#"to = "a.0""#, r#"to = "a.0x""#, 11, "wires.2.to", OutOfRange),
    (r#"to = "dc.egress.1""#, r#"to = "dc.egress.70000""#, 14, "wires.5.to", OutOfRange),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "f.receiver.0", flow = "x""#, 15, "wires.6.flow", UnknownName),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "f.receiver.0", direction = "up""#, 15, "wires.6.direction", Conflict),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "f.receiver.0""#, 16, "wires.7.from", Conflict),
    (r#"to = "f.receiver.0", flow = "f""#, "to = \"f.receiver.0\", flow = \"f\" },\n{ from = \"dc.egress.0\", to = \"t.0\", flow = \"f\"", 16, "wires.7.from", Conflict),
    ("    { from = \"dc.ingress.1\", to = \"b.0\" },\n", "", 8, "wires", Conflict),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "g.receiver.0", flow = "f""#, 15, "wires.6.to", Conflict),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "dc.ingress.0", flow = "f""#, 15, "wires.6.to", Conflict),
    (r#"from = "up.0", to = "t.0""#, r#"from = "up.0", to = "up.0""#, 19, "wires.10.to", Conflict),
    (r#"to = "f.sender.0", flow = "f", direction = "up""#, r#"to = "up.0", flow = "f", direction = "up""#, 20, "wires.11.to", Conflict),
];

/// Replaces, loads, and compares the problems of all cases.
pub(super) fn compare(right: &str, cases: &[Case]) {
    load(right, &[]).unwrap();
    let mut wrong = Vec::new();
    for (from, to, line, path, kind) in cases {
        assert_eq!(right.matches(from).count(), 1, "{from:?} marks one place");
        let found = load(&right.replace(from, to), &[]).map_err(|error| {
            let line = error.location.line_and_column().map_or(0, |(line, _)| line);
            (line, error.problem.path.to_string(), error.problem.kind, error.to_string())
        });
        let matches = found
            .as_ref()
            .is_err_and(|(at, field, problem, _)| at == line && field == path && problem == kind);
        if !matches {
            wrong.push(format!("{from} -> {to}\n  expected: {line} {path} {kind:?}\n  found:    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_bad_input_is_found() {
    compare(RIGHT, CASES);
}

#[test]
fn each_bad_wire_is_found() {
    compare(WIRED, WIRE_CASES);
}

/// The problem with the valid scenario after `sets`.
fn problem(sets: &[(&str, &str)]) -> ConfigError {
    load(RIGHT, sets).unwrap_err()
}

#[test]
fn both_ends_speak_the_same_protocol() {
    // the problem names the end whose stack differs from that of the flow, or the receiver
    let receiver = "flows.f.receiver.stack";
    for sets in [&[(receiver, "lab-udp")][..], &[("flows.f.sender.stack", "lab-tcp"), (receiver, "noq")]] {
        let error = problem(sets);
        assert_eq!((error.problem.path.to_string(), error.problem.kind), (receiver.to_owned(), Conflict));
        assert_eq!(error.location, Location::CommandLine);
    }
    assert!(load(RIGHT, &[("flows.f.sender.stack", "noq")]).is_ok(), "two stacks, one protocol");
    assert!(load(RIGHT, &[("flows.f.stack", "lab-tcp")]).is_ok());
}

#[test]
fn a_token_bucket_must_hold_the_packets_of_each_protocol() {
    // 20 + 20 B of headers (RFC 791, RFC 9293) or 20 + 8 B (RFC 768), and 2 B of PDCP on link `b`
    let tcp = ("flows.f.stack", "lab-tcp");
    let mss = ("flows.f.receiver.tcp", "{ mss = \"1000 B\" }");
    let udp = ("flows.f.stack", "lab-udp");
    let ping = ("flows.f.workload", "{ kind = \"ping\", count = 1, size = \"100 B\" }");
    for (sets, least) in
        [(vec![tcp], 1460 + 40 + 2), (vec![tcp, mss], 1000 + 40 + 2), (vec![udp, ping], 100 + 28 + 2)]
    {
        for (burst, fits) in [(least, true), (least - 1, false)] {
            let burst = format!("{burst} B");
            let sets = [&sets[..], &[("links.b.rate.burst", &burst)]].concat();
            assert_eq!(load(RIGHT, &sets).is_ok(), fits, "{sets:?}: {:?}", load(RIGHT, &sets).err());
        }
    }
    let policer = ("links.b.policer", "{ rate = \"1 Mbit/s\", burst = \"1501 B\" }");
    let error = load(RIGHT, &[tcp, policer]).unwrap_err().to_string();
    let expected = "links.b.policer.burst: expected a size of at least \"1502 B\", got \"1501 B\"";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_scenario_needs_a_flow() {
    let text = "version = 1\nname = \"n\"\n";
    let kind = |text: &str| {
        let problem = load(text, &[]).unwrap_err().problem;
        (problem.path.to_string(), problem.kind)
    };
    assert_eq!(kind(text), ("flows".to_owned(), MissingField));
    assert_eq!(kind(&format!("{text}[flows]\n")), ("flows".to_owned(), OutOfRange));
}

#[test]
fn values_from_the_command_line_are_named_as_such() {
    for (path, value, field, kind) in [
        ("bearers.dc.batch_packets", "0", "bearers.dc.batch_packets", OutOfRange),
        ("links.b.loss.loss_in_bad", "200 %", "links.b.loss.loss_in_bad", OutOfRange),
        ("bearers.dc.mod", "split", "bearers.dc.mod", UnknownField),
        ("flows.f.down.1", "dd", "flows.f.down.1", UnknownName),
        ("flows.f.down.4", "dc", "flows.f.down", OutOfRange),
        ("name.x", "1", "name", OutOfRange),
        ("links..rate", "1", "", Syntax),
    ] {
        let error = problem(&[(path, value)]);
        assert_eq!((error.problem.path.to_string(), error.problem.kind), (field.to_owned(), kind));
        assert_eq!(error.location, Location::CommandLine);
        assert!(error.to_string().starts_with("--set: "), "{error}");
    }
    assert_eq!(problem(&[("bearers.dc.mod", "split")]).problem.suggestion.as_deref(), Some("mode"));
}

#[test]
fn sentences_are_those_of_compilers() {
    let wrong = RIGHT.replace("rate = \"20 Mbit/s\"", "rate = \"20 Mbit\"");
    let error = load(&wrong, &[]).unwrap_err();
    let sentence = "links.a.rate: expected a rate such as \"20 Mbit/s\", got \"20 Mbit\"; unknown unit `Mbit`; \
                    units are Gbit/s, Mbit/s, kbit/s, bit/s; did you mean `Mbit/s`?";
    assert_eq!(error.to_string(), format!("s.toml:5:8: {sentence}"));
    let rendered = error.render(false);
    let lines: Vec<&str> = rendered.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], format!("error: {sentence}"));
    assert_eq!(lines[1].trim(), "--> s.toml:5:8");
    assert!(lines.contains(&"5 | rate = \"20 Mbit\""), "{rendered}");
    assert!(lines.contains(&"  |        ^^^^^^^^^"), "{rendered}");
    let unknown = load(&RIGHT.replace("batch_packets = 100", "batch_packet = 100"), &[]).unwrap_err();
    assert!(unknown.to_string().ends_with("; did you mean `batch_packets`?"), "{unknown}");
    let missing = load(&RIGHT.replace("mean = \"10 ms\", ", ""), &[]).unwrap_err();
    let sentence = "s.toml:7:1: links.a.delay.mean: missing; expected a duration such as \"10 ms\"";
    assert_eq!(missing.to_string(), sentence);
    let conflict = problem(&[("flows.f.sender.tcp", "{ reordering = 5, max_reordering = 4 }")]);
    let sentence = "--set: flows.f.sender.tcp.reordering: expected at most `max_reordering`, 4, got 5";
    assert_eq!(conflict.to_string(), sentence);
}

#[test]
fn json_errors_have_paths_but_no_lines() {
    let json = r#"{ "version": 1, "name": "n", "flows": {}, "links": { "a": { "rate": 20 } } }"#;
    let error = Scenario::from_json(json).unwrap_err();
    assert_eq!(error.location, Location::Unknown);
    assert_eq!((error.problem.path.to_string(), error.problem.kind), ("flows".to_owned(), OutOfRange));
    assert_eq!(Scenario::from_json("{").unwrap_err().problem.kind, Syntax);
}

#[test]
fn later_checks_can_name_the_line_as_well() {
    let document = Document::from_toml(RIGHT, "s.toml", &[]).unwrap();
    let path = FieldPath::new(["links", "c", "rate", "file"]);
    let problem = Problem::value(path, "", "times that ascend").because("line 3 goes back in time");
    let error = document.locate(problem);
    assert_eq!(error.location.line_and_column(), Some((12, 33)));
    let sentence = "links.c.rate.file: expected times that ascend, got \"t.csv\"; line 3 goes back in time";
    assert_eq!(error.to_string(), format!("s.toml:12:33: {sentence}"));
    assert_eq!(Scenario::load(&document, &some_stacks), Scenario::decode(&document));
}
