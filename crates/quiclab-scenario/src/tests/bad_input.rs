//! Every wrong scenario is refused with one sentence: file, line, field, value, what is allowed.

use super::{load, some_stacks};
use crate::{Document, FieldPath, Line, Scenario, ScenarioError};

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
#[rustfmt::skip] // one case a line
const CASES: &[(&str, &str, &str)] = &[
    ("version = 1", "version = 2", "s.toml:1: version = 2: allowed is 1"),
    ("version = 1\n", "\n", "s.toml:1: version: missing, allowed is version = 1"),
    ("version = 1", r#"version = "1""#, r#"s.toml:1: version = "1": allowed is 1"#),
    (r#"name = "n""#, r#"name = " ""#, r#"s.toml:2: name = " ": allowed is a text that is not empty"#),
    (r#"name = "n""#, "name = 7", "s.toml:2: name = 7: allowed is a text"),
    (r#"name = "n""#, "name = 1979-05-27", "s.toml:2: name = 1979-05-27: allowed is a text"),
    ("name = \"n\"\n", "", "s.toml:1: name: missing, allowed is a text"),
    (r#"name = "n""#, r#"name = "n"#, r#"s.toml:2: not valid TOML: invalid basic string, expected `"`"#),
    (r#"name = "n""#, "name = \"n\"\nname = \"m\"", "s.toml:3: not valid TOML: duplicate key"),
    (r#"duration = "10 s""#, r#"duration = "0 s""#, r#"s.toml:3: duration = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"duration = "10 s""#, r#"duration = "10""#, r#"s.toml:3: duration = "10": has no unit, allowed is a number with a unit such as `10 ms` (units: min, s, ms, us, µs, ns)"#),
    (r#"duration = "10 s""#, "duration = 10", "s.toml:3: duration = 10: has no unit, allowed is a number with a unit such as `10 ms` (units: min, s, ms, us, µs, ns)"),
    (r#"duration = "10 s""#, "duration = 10\nuntill = 1", "s.toml:3: duration = 10: has no unit, allowed is a number with a unit such as `10 ms` (units: min, s, ms, us, µs, ns)"),
    (r#"duration = "10 s""#, r#"until = "never""#, r#"s.toml:3: until = "never": allowed is `workloads_done`, `duration_over` or `delivered`"#),
    (r#"duration = "10 s""#, r#"until = { delivered = "0 B" }"#, r#"s.toml:3: until.delivered = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"duration = "10 s""#, "until = 3", "s.toml:3: until = 3: allowed is `workloads_done`, `duration_over` or `delivered`"),
    (r#"duration = "10 s""#, "wires = 3", "s.toml:3: wires = 3: allowed is an array"),
    ("[links.a]", r#"[links."a b"]"#, r#"s.toml:4: links."a b": name not allowed, allowed is a name of letters, digits, `_` and `-`"#),
    ("[links.a]", "[links.t]", "s.toml:21: taps.t: `links.t` has this name, too, allowed is a name that no other link, bearer, tap or tunnel has"),
    ("[links.a]", "[links.dc]", "s.toml:13: bearers.dc: `links.dc` has this name, too, allowed is a name that no other link, bearer, tap or tunnel has"),
    ("[taps.t]", "[taps.dc]", "s.toml:21: taps.dc: `bearers.dc` has this name, too, allowed is a name that no other link, bearer, tap or tunnel has"),
    ("[hosts.h]", r#"[hosts.""]"#, r#"s.toml:18: hosts."": name not allowed, allowed is a name of letters, digits, `_` and `-`"#),
    ("[flows.f]", r#"[flows."é"]"#, r#"s.toml:22: flows."é": name not allowed, allowed is a name of letters, digits, `_` and `-`"#),
    ("[links.a]\nrate = \"20 Mbit/s\"", "[links.a]\nraet = \"20 Mbit/s\"", r#"s.toml:5: links.a.raet = "20 Mbit/s": unknown field, allowed is `rate`, `overhead_per_packet`, `queue`, `loss`, `delay`, `holds` or `feedback`"#),
    (r#"rate = "20 Mbit/s""#, r#"rate = "20 Mbit""#, r#"s.toml:5: links.a.rate = "20 Mbit": has the unknown unit `Mbit`, allowed is a number with a unit such as `20 Mbit/s` (units: Gbit/s, Mbit/s, kbit/s, bit/s)"#),
    (r#"rate = "20 Mbit/s""#, r#"rate = "20""#, r#"s.toml:5: links.a.rate = "20": has no unit, allowed is a number with a unit such as `20 Mbit/s` (units: Gbit/s, Mbit/s, kbit/s, bit/s)"#),
    (r#"rate = "20 Mbit/s""#, "rate = 20", "s.toml:5: links.a.rate = 20: has no unit, allowed is a number with a unit such as `20 Mbit/s` (units: Gbit/s, Mbit/s, kbit/s, bit/s)"),
    (r#"rate = "20 Mbit/s""#, "rate = 20.5", "s.toml:5: links.a.rate = 20.5: has no unit, allowed is a number with a unit such as `20 Mbit/s` (units: Gbit/s, Mbit/s, kbit/s, bit/s)"),
    (r#"rate = "20 Mbit/s""#, r#"rate = "-20 Mbit/s""#, r#"s.toml:5: links.a.rate = "-20 Mbit/s": is not a non-negative decimal number, allowed is a number with a unit such as `20 Mbit/s`"#),
    (r#"rate = "20 Mbit/s""#, "rate = -20", "s.toml:5: links.a.rate = -20: is not a non-negative decimal number, allowed is a number with a unit such as `20 Mbit/s`"),
    (r#"rate = "20 Mbit/s""#, r#"rate = "0 Mbit/s""#, r#"s.toml:5: links.a.rate = "0 Mbit/s": allowed is a rate above 0, such as `20 Mbit/s`"#),
    (r#"rate = "20 Mbit/s""#, r#"rate = "99999999999 Gbit/s""#, r#"s.toml:5: links.a.rate = "99999999999 Gbit/s": is too large, allowed is at most `18446744073709551615 bit/s`"#),
    (r#"rate = "20 Mbit/s""#, "rate = true", "s.toml:5: links.a.rate = true: allowed is a rate such as `20 Mbit/s`, or a table with `kind`"),
    (r#"rate = "20 Mbit/s""#, r#"rate = { kind = "bucket" }"#, r#"s.toml:5: links.a.rate.kind = "bucket": allowed is `token_bucket` or `trace`"#),
    (r#"rate = "20 Mbit/s""#, "rate = {}", "s.toml:5: links.a.rate.kind: missing, allowed is `token_bucket` or `trace`"),
    (r#"rate = "1 Mbit/s""#, r#"rate = "0 bit/s""#, r#"s.toml:9: links.b.rate.rate = "0 bit/s": allowed is a rate above 0, such as `20 Mbit/s`"#),
    (r#"rate = "1 Mbit/s""#, r#"rate = "1 MB/s""#, r#"s.toml:9: links.b.rate.rate = "1 MB/s": has the unknown unit `MB/s`, allowed is a number with a unit such as `20 Mbit/s` (units: Gbit/s, Mbit/s, kbit/s, bit/s)"#),
    (r#"rate = "1 Mbit/s""#, "rate = 1", "s.toml:9: links.b.rate.rate = 1: has no unit, allowed is a number with a unit such as `20 Mbit/s` (units: Gbit/s, Mbit/s, kbit/s, bit/s)"),
    (r#"rate = "1 Mbit/s", "#, "", "s.toml:9: links.b.rate.rate: missing, allowed is a number with a unit such as `20 Mbit/s`"),
    (r#"rate = "1 Mbit/s", "#, r#"rates = "1 Mbit/s", "#, r#"s.toml:9: links.b.rate.rates = "1 Mbit/s": unknown field, allowed is `rate` or `burst`"#),
    (r#"burst = "10 kB""#, r#"burst = "0 B""#, r#"s.toml:9: links.b.rate.burst = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"burst = "10 kB""#, r#"burst = "1309 B""#, r#"s.toml:9: links.b.rate.burst = "1309 B": flow `f` sends packets of 1310 B, allowed is at least 1310 B"#),
    ("packets = 100 }", "packets = 0 }", "s.toml:6: links.a.queue.packets = 0: allowed is 1 to 9223372036854775807"),
    ("packets = 100 }", "packets = -1 }", "s.toml:6: links.a.queue.packets = -1: allowed is an integer from 0 to 9223372036854775807"),
    ("packets = 100 }", r#"packets = "100" }"#, r#"s.toml:6: links.a.queue.packets = "100": allowed is an integer from 0 to 9223372036854775807"#),
    (", packets = 100 }", "}", r#"s.toml:6: links.a.queue = { kind = "drop_tail" }: no limit given, allowed is one or more of `packets`, `bytes` and `time`"#),
    ("packets = 100 }", r#"bytes = "0 B" }"#, r#"s.toml:6: links.a.queue.bytes = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    ("packets = 100 }", r#"time = "0 ms" }"#, r#"s.toml:6: links.a.queue.time = "0 ms": allowed is a time above 0, such as `10 ms`"#),
    ("packets = 100 }", r#"time = "10 mss" }"#, r#"s.toml:6: links.a.queue.time = "10 mss": has the unknown unit `mss`, allowed is a number with a unit such as `10 ms` (units: min, s, ms, us, µs, ns)"#),
    (r#"kind = "drop_tail", packets = 100 }"#, r#"kind = "head_drop" }"#, r#"s.toml:6: links.a.queue = { kind = "head_drop" }: no limit given, allowed is one or more of `packets` and `bytes`"#),
    (r#"kind = "drop_tail""#, r#"kind = "codel", target = "100 ms""#, r#"s.toml:6: links.a.queue.target = "100 ms": allowed is less than `interval`, `100 ms`"#),
    (r#"kind = "drop_tail""#, r#"kind = "fq_codel", flows = 0"#, "s.toml:6: links.a.queue.flows = 0: allowed is 1 to 65536 queues"),
    (r#"kind = "drop_tail""#, r#"kind = "fq_codel", quantum = "255 B""#, r#"s.toml:6: links.a.queue.quantum = "255 B": allowed is 256 B to 1048576 B"#),
    (r#"kind = "drop_tail""#, r#"kind = "fq_codel", hash = "jenkins""#, r#"s.toml:6: links.a.queue.hash = "jenkins": allowed is `five_tuple` or `field_sum`"#),
    (r#"kind = "drop_tail""#, r#"kind = "red""#, r#"s.toml:6: links.a.queue.kind = "red": allowed is `drop_tail`, `head_drop`, `codel` or `fq_codel`"#),
    (r#"kind = "drop_tail", "#, "", "s.toml:6: links.a.queue.kind: missing, allowed is `drop_tail`, `head_drop`, `codel` or `fq_codel`"),
    (r#"kind = "drop_tail""#, "kind = 5", "s.toml:6: links.a.queue.kind = 5: allowed is a text"),
    ("good_to_bad = 0.1, bad_to_good = 0.2", "good_to_bad = 0, bad_to_good = 0", "s.toml:10: links.b.loss.good_to_bad = 0: `good_to_bad` and `bad_to_good` are both 0, so the state never changes, allowed is more than 0 in one of them"),
    ("good_to_bad = 0.1", "good_to_bad = 1.1", "s.toml:10: links.b.loss.good_to_bad = 1.1: is not a probability, allowed is 0 to 1, or `0 %` to `100 %`"),
    ("good_to_bad = 0.1", r#"good_to_bad = "110 %""#, r#"s.toml:10: links.b.loss.good_to_bad = "110 %": is not a probability, allowed is 0 to 1, or `0 %` to `100 %`"#),
    ("good_to_bad = 0.1", r#"good_to_bad = "x""#, r#"s.toml:10: links.b.loss.good_to_bad = "x": is not a probability, allowed is 0 to 1, or `0 %` to `100 %`"#),
    (", loss_in_bad = 0.5", "", "s.toml:10: links.b.loss.loss_in_bad: missing, allowed is 0 to 1, or `0 %` to `100 %`"),
    ("loss_in_bad = 0.5", "loss_in_bad = 0.5, loss = 1", "s.toml:10: links.b.loss.loss = 1: unknown field, allowed is `good_to_bad`, `bad_to_good`, `loss_in_good` or `loss_in_bad`"),
    (r#"{ kind = "gilbert_elliott", good_to_bad = 0.1, bad_to_good = 0.2, loss_in_bad = 0.5 }"#, r#""0.1 %%""#, r#"s.toml:10: links.b.loss = "0.1 %%": is not a probability, allowed is 0 to 1, or `0 %` to `100 %`"#),
    (r#"{ kind = "gilbert_elliott", good_to_bad = 0.1, bad_to_good = 0.2, loss_in_bad = 0.5 }"#, r#"{ kind = "listed", packets = [1, -2] }"#, "s.toml:10: links.b.loss.packets = [1, -2]: allowed is an integer from 0 to 9223372036854775807"),
    (r#"distribution = "normal""#, r#"distribution = "constant""#, r#"s.toml:7: links.a.delay.deviation = "1 ms": it needs a `distribution` (`normal`, `uniform` or `pareto`), allowed is 0 with a constant delay"#),
    (r#"distribution = "normal""#, r#"distribution = "gauss""#, r#"s.toml:7: links.a.delay.distribution = "gauss": allowed is `constant`, `normal`, `uniform` or `pareto`"#),
    (r#"deviation = "1 ms""#, r#"deviation = "0 ms""#, r#"s.toml:7: links.a.delay.deviation = "0 ms": a delay with a `distribution` needs a deviation, allowed is a time above 0"#),
    (r#"deviation = "1 ms", distribution = "normal""#, "reorder = true", "s.toml:7: links.a.delay.reorder = true: it needs a `distribution` (`normal`, `uniform` or `pareto`), allowed is false with a constant delay"),
    (r#"mean = "10 ms", "#, "", "s.toml:7: links.a.delay.mean: missing, allowed is a number with a unit such as `10 ms`"),
    (r#"mean = "10 ms""#, "mean = 10", "s.toml:7: links.a.delay.mean = 10: has no unit, allowed is a number with a unit such as `10 ms` (units: min, s, ms, us, µs, ns)"),
    (r#"delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal" }"#, "delay = 10", "s.toml:7: links.a.delay = 10: has no unit, allowed is a number with a unit such as `10 ms` (units: min, s, ms, us, µs, ns)"),
    (r#"delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal" }"#, r#"delay = ["10 ms"]"#, r#"s.toml:7: links.a.delay = ["10 ms"]: allowed is a delay such as `10 ms`, or a table with `mean`"#),
    (r#"file = "t.csv""#, r#"file = """#, r#"s.toml:12: links.c.rate.file = "": allowed is the path of a file, relative to the scenario"#),
    (r#"file = "t.csv""#, r#"file = "t.csv", format = "mahimahi", at_end = "hold""#, r#"s.toml:12: links.c.rate.at_end = "hold": a mahimahi trace has no rate that could hold, allowed is `loop` or `stop`"#),
    (r#"file = "t.csv""#, r#"file = "t.csv", format = "pcap""#, r#"s.toml:12: links.c.rate.format = "pcap": allowed is `csv` or `mahimahi`"#),
    (r#"links = ["a", "b"]"#, "links = []", "s.toml:14: bearers.dc.links = []: allowed is 1 to 8 links"),
    (r#"links = ["a", "b"]"#, r#"links = ["a", "a"]"#, r#"s.toml:14: bearers.dc.links.1 = "a": named twice, allowed is each link once"#),
    (r#"links = ["a", "b"]"#, r#"links = ["a", "z"]"#, r#"s.toml:14: bearers.dc.links.1 = "z": no such link, allowed is `a`, `b` or `c`"#),
    (r#"links = ["a", "b"]"#, r#"links = "a""#, r#"s.toml:14: bearers.dc.links = "a": allowed is an array"#),
    (r#"links = ["a", "b"]"#, r#"links = ["a", 3]"#, "s.toml:14: bearers.dc.links.1 = 3: allowed is a text"),
    ("batch_packets = 100", "batch_packets = 0", "s.toml:15: bearers.dc.batch_packets = 0: allowed is 1 to 65535 packets"),
    ("batch_packets = 100", "batch_packets = 65536", "s.toml:15: bearers.dc.batch_packets = 65536: allowed is 1 to 65535 packets"),
    ("batch_packets = 100", "batch_packets = -1", "s.toml:15: bearers.dc.batch_packets = -1: allowed is an integer from 0 to 4294967295"),
    ("batch_packets = 100", r#"batch_packets = "100""#, r#"s.toml:15: bearers.dc.batch_packets = "100": allowed is an integer from 0 to 4294967295"#),
    ("shares = [1, 2]", "shares = [0, 0]", "s.toml:16: bearers.dc.shares = [0, 0]: allowed is a share above 0 for one link or more"),
    ("shares = [1, 2]", "shares = [1, 2, 3]", "s.toml:16: bearers.dc.shares = [1, 2, 3]: allowed is one share for each link, 2 in all"),
    ("shares = [1, 2]", "shares = [1, -2]", "s.toml:16: bearers.dc.shares.1 = -2: allowed is an integer from 0 to 4294967295"),
    ("shares = [1, 2]", "shares = [1, 2]\nmode = \"duplicate\"", r#"s.toml:16: bearers.dc.shares = [1, 2]: with mode = "duplicate" each link takes every packet, allowed is no shares"#),
    ("shares = [1, 2]", r#"mode = "copy""#, r#"s.toml:16: bearers.dc.mode = "copy": allowed is `split` or `duplicate`"#),
    ("sequence_bits = 16", "sequence_bits = 15", "s.toml:17: bearers.dc.reordering.sequence_bits = 15: allowed is 12, 16 or 18"),
    ("sequence_bits = 16", "sequence_bits = 300", "s.toml:17: bearers.dc.reordering.sequence_bits = 300: allowed is an integer from 0 to 255"),
    (r#"timer = "200 ms""#, r#"timer = "-1 ms""#, r#"s.toml:17: bearers.dc.reordering.timer = "-1 ms": is not a non-negative decimal number, allowed is a number with a unit such as `10 ms`"#),
    ("shares = [1, 2]", r#"splitter = { kind = "proportional" }"#, r#"s.toml:16: bearers.dc.splitter.kind = "proportional": it needs feedback of each link, and `a` gives none, allowed is `batches`, or `links.a.feedback`"#),
    ("shares = [1, 2]", "shares = [1, 2]\nsplitter = { kind = \"flow_control\" }", r#"s.toml:16: bearers.dc.shares = [1, 2]: the splitter `flow_control` finds them itself, allowed is no shares"#),
    ("shares = [1, 2]", "mode = \"duplicate\"\nsplitter = { kind = \"flow_control\" }", r#"s.toml:17: bearers.dc.splitter.kind = "flow_control": with mode = "duplicate" each link takes every packet, allowed is `batches`"#),
    ("shares = [1, 2]", "mode = \"duplicate\"\nduplication = 0.5", r#"s.toml:17: bearers.dc.duplication = 0.5: with mode = "duplicate" each link takes every packet, allowed is 0"#),
    ("shares = [1, 2]", r#"splitter = { kind = "batches", floor = 1 }"#, r#"s.toml:16: bearers.dc.splitter.floor = 1: unknown field, allowed is none: there is none"#),
    ("shares = [1, 2]", r#"splitter = { kind = "fastest" }"#, r#"s.toml:16: bearers.dc.splitter.kind = "fastest": allowed is `batches`, `proportional`, `least_expected_arrival` or `flow_control`"#),
    ("shares = [1, 2]", r#"duplication = "101 %""#, r#"s.toml:16: bearers.dc.duplication = "101 %": is not a probability, allowed is 0 to 1, or `0 %` to `100 %`"#),
    (r#"timer = "200 ms""#, r#"timer = { kind = "adaptive", least = "1 s" }"#, r#"s.toml:17: bearers.dc.reordering.timer.least = "1 s": allowed is at most `200 ms`, which is `most`"#),
    (r#"timer = "200 ms""#, r#"timer = { kind = "adaptive", factor = 0.5 }"#, "s.toml:17: bearers.dc.reordering.timer.factor = 0.5: allowed is 1 to 100"),
    (r#"timer = "200 ms""#, r#"timer = { kind = "adaptive", window = "0 s" }"#, r#"s.toml:17: bearers.dc.reordering.timer.window = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"timer = "200 ms""#, "timer = 200", "s.toml:17: bearers.dc.reordering.timer = 200: has no unit, allowed is a number with a unit such as `10 ms` (units: min, s, ms, us, µs, ns)"),
    ("[links.b]", "holds = [{ packet = -1, by = \"1 ms\" }]\n[links.b]", "s.toml:8: links.a.holds.0.packet = -1: allowed is an integer from 0 to 9223372036854775807"),
    ("[links.b]", "holds = [{ packet = 1 }]\n[links.b]", "s.toml:8: links.a.holds.0.by: missing, allowed is a number with a unit such as `10 ms`"),
    ("[links.b]", "holds = [{ packet = 1, by = \"0 ms\" }]\n[links.b]", r#"s.toml:8: links.a.holds.0.by = "0 ms": allowed is a time above 0, such as `10 ms`"#),
    ("[links.b]", "holds = [{ packet = 1, by = \"1 ms\", behind = 0 }]\n[links.b]", "s.toml:8: links.a.holds.0.behind = 0: allowed is 1 to 9223372036854775807"),
    ("[links.b]", "holds = [{ packet = 1, by = \"1 ms\" }, { packet = 1, by = \"2 ms\" }]\n[links.b]", "s.toml:8: links.a.holds.1.packet = 1: it is held twice, allowed is each packet once"),
    ("[links.b]", "feedback = { interval = \"0 ms\" }\n[links.b]", r#"s.toml:8: links.a.feedback.interval = "0 ms": allowed is a time above 0, such as `10 ms`"#),
    ("[links.b]", "feedback = { size = \"1 B\" }\n[links.b]", r#"s.toml:8: links.a.feedback.size = "1 B": unknown field, allowed is `interval`, `delay` or `desired_buffer`"#),
    ("[bearers.dc]", "feedback = {}\n[bearers.dc]", "s.toml:13: links.c.feedback: no bearer sends over the link, allowed is a link that is in one bearer"),
    ("[links.b]", "feedback = {}\n[bearers.other]\nlinks = [\"a\"]\n[links.b]", "s.toml:8: links.a.feedback: several bearers send over the link, allowed is a link that is in one bearer"),
    ("receive_batch = 2", "receive_batch = 0", "s.toml:19: hosts.h.receive_batch = 0: allowed is 1 to 4294967295 datagrams"),
    ("receive_batch = 2", "send_batch = 0", "s.toml:19: hosts.h.send_batch = 0: allowed is 1 to 4294967295 datagrams"),
    ("receive_batch = 2", r#"receive_buffer = "0 B""#, r#"s.toml:19: hosts.h.receive_buffer = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"timer_slack = "1 ms""#, r#"timer_slack = { mean = "1 ms", deviation = "1 ms" }"#, r#"s.toml:20: hosts.h.timer_slack.deviation = "1 ms": it needs a `distribution` (`normal`, `uniform` or `pareto`), allowed is 0 with a constant delay"#),
    (r#"timer_slack = "1 ms""#, r#"timer_slack = { mean = "1 ms", deviation = "1 ms", distribution = "normal", reorder = true }"#, "s.toml:20: hosts.h.timer_slack.reorder = true: timers have no order to keep, allowed is false"),
    ("[taps.t]", "[taps.t]\nkeep_packets = 99999999999999999999", "s.toml:22: taps.t.keep_packets = 99999999999999999999: allowed is an integer from 0 to 9223372036854775807"),
    (r#"stack = "quinn""#, r#"stack = "quin""#, r#"s.toml:23: flows.f.stack = "quin": allowed is `quinn`, `noq`, `lab-tcp` or `lab-udp`"#),
    ("stack = \"quinn\"\n", "", "s.toml:23: flows.f.sender.stack: missing, allowed is a stack (see `quiclab stack list`) here, or on the flow for both ends"),
    (r#"stack = "quinn""#, "receiver = { stack = \"picoquic\" }\nstack = \"quinn\"", r#"s.toml:23: flows.f.receiver.stack = "picoquic": allowed is `quinn`, `noq`, `lab-tcp` or `lab-udp`"#),
    (r#"stack = "quinn""#, "receiver = { profile = \"aioquic\" }\nstack = \"quinn\"", r#"s.toml:23: flows.f.receiver.profile = "aioquic": allowed is none, because `quinn` has no profiles"#),
    (r#"stack = "quinn""#, "receiver = { congestion_control = \"bbr\" }\nstack = \"quinn\"", r#"s.toml:23: flows.f.receiver.congestion_control = "bbr": allowed is `newreno`, `cubic`, `bbr-linux`, `bbr-chromium`, `bbr-picoquic`, `fixed`, `lia`, `olia` or `balia`"#),
    (r#"host = "h""#, r#"host = "g""#, r#"s.toml:24: flows.f.sender.host = "g": no such host, allowed is `h`"#),
    (r#"datagram_size = "1280 B""#, r#"datagram_size = "1199 B""#, r#"s.toml:24: flows.f.sender.datagram_size = "1199 B": allowed is 1200 B to 65507 B"#),
    (r#"datagram_size = "1280 B""#, r#"datagram_size = "65508 B""#, r#"s.toml:24: flows.f.sender.datagram_size = "65508 B": allowed is 1200 B to 65507 B"#),
    (r#"datagram_size = "1280 B""#, r#"initial_window = "0 B""#, r#"s.toml:24: flows.f.sender.initial_window = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"datagram_size = "1280 B""#, "packet_threshold = 0", "s.toml:24: flows.f.sender.packet_threshold = 0: allowed is 3 to 4294967295 packets"),
    (r#"datagram_size = "1280 B""#, "time_threshold = nan", "s.toml:24: flows.f.sender.time_threshold = NaN: allowed is 1 to 1000 round-trip times"),
    (r#"datagram_size = "1280 B""#, "time_threshold = 0.9", "s.toml:24: flows.f.sender.time_threshold = 0.9: allowed is 1 to 1000 round-trip times"),
    (r#"datagram_size = "1280 B""#, r#"initial_rtt = "0 ms""#, r#"s.toml:24: flows.f.sender.initial_rtt = "0 ms": allowed is a time above 0, such as `10 ms`"#),
    (r#"datagram_size = "1280 B""#, "ack_frequency = { threshold = 1 }", "s.toml:24: flows.f.sender.ack_frequency.threshold = 1: unknown field, allowed is `ack_eliciting_threshold`, `max_ack_delay` or `reordering_threshold`"),
    (r#"datagram_size = "1280 B""#, "ack_frequency = {}", "s.toml:24: flows.f.sender.ack_frequency.ack_eliciting_threshold: missing, allowed is an integer from 0 to 4294967295"),
    (r#"datagram_size = "1280 B""#, "emulated_connections = 0", "s.toml:24: flows.f.sender.emulated_connections = 0: allowed is 1 to 4294967295"),
    (r#"datagram_size = "1280 B""#, r#"congestion_control = "fixed", emulated_connections = 2"#, "s.toml:24: flows.f.sender.emulated_connections = 2: `fixed` stands for one connection, allowed is 1, or `newreno` or `cubic`"),
    (r#"datagram_size = "1280 B""#, r#"congestion_control = "bbr-linux", slow_start_exit = "hystart-linux""#, r#"s.toml:24: flows.f.sender.slow_start_exit = "hystart-linux": `bbr-linux` has no slow start, allowed is `none`, or `newreno` or `cubic`"#),
    (r#"datagram_size = "1280 B""#, r#"slow_start_exit = "hystart""#, r#"s.toml:24: flows.f.sender.slow_start_exit = "hystart": allowed is `none`, `hystart-linux`, `hystart-chromium`, `hystart-plus-plus` or `aioquic`"#),
    (r#"datagram_size = "1280 B""#, r#"controller = "lab""#, r#"s.toml:24: flows.f.sender.controller = "lab": allowed is `stack` or `quiclab`"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = "none""#, r#"s.toml:24: flows.f.sender.pacing = "none": allowed is a table"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "slow" }"#, r#"s.toml:24: flows.f.sender.pacing.kind = "slow": allowed is `none`, `leaky_bucket`, `even`, `quantum`, `time_bucket`, `linux` or `fq`"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "none", factor = 2 }"#, "s.toml:24: flows.f.sender.pacing.factor = 2: unknown field, allowed is none: there is none"),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "even", factor = 0 }"#, "s.toml:24: flows.f.sender.pacing.factor = 0: allowed is 0.01 to 10"),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "even", factor = 10.1 }"#, "s.toml:24: flows.f.sender.pacing.factor = 10.1: allowed is 0.01 to 10"),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "even", factor = nan }"#, "s.toml:24: flows.f.sender.pacing.factor = NaN: allowed is 0.01 to 10"),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", burst_packets = 0 }"#, "s.toml:24: flows.f.sender.pacing.burst_packets = 0: allowed is 1 to 4294967295"),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "quantum", quantum = "0 ms" }"#, r#"s.toml:24: flows.f.sender.pacing.quantum = "0 ms": allowed is a time above 0, such as `10 ms`"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "fq", max_rate = "0 bit/s" }"#, r#"s.toml:24: flows.f.sender.pacing.max_rate = "0 bit/s": allowed is a rate above 0, such as `20 Mbit/s`"#),
    (r#"datagram_size = "1280 B""#, r#"congestion_control = "bbr-chromium", pacing = { kind = "none" }"#, r#"s.toml:24: flows.f.sender.pacing.kind = "none": `bbr-chromium` controls its rate by pacing, allowed is another kind, or to leave it out"#),
    (r#"datagram_size = "1280 B""#, r#"tcp = { mss = "87 B" }"#, r#"s.toml:24: flows.f.sender.tcp.mss = "87 B": allowed is 88 B to 9148 B"#),
    (r#"datagram_size = "1280 B""#, r#"tcp = { mss = "65496 B" }"#, r#"s.toml:24: flows.f.sender.tcp.mss = "65496 B": allowed is 88 B to 9148 B"#),
    (r#"datagram_size = "1280 B""#, "tcp = { reordering = 2 }", "s.toml:24: flows.f.sender.tcp.reordering = 2: allowed is 3 to 4294967295"),
    (r#"datagram_size = "1280 B""#, "tcp = { reordering = 5, max_reordering = 4 }", "s.toml:24: flows.f.sender.tcp.reordering = 5: allowed is at most `max_reordering`, 4"),
    (r#"datagram_size = "1280 B""#, r#"tcp = { receive_buffer = "2 kB", max_receive_buffer = "1 kB" }"#, r#"s.toml:24: flows.f.sender.tcp.receive_buffer = "2 kB": allowed is at most `max_receive_buffer`, 1 kB"#),
    (r#"datagram_size = "1280 B""#, r#"tcp = { min_delayed_ack = "50 ms", max_delayed_ack = "40 ms" }"#, r#"s.toml:24: flows.f.sender.tcp.min_delayed_ack = "50 ms": allowed is at most `max_delayed_ack`, 40 ms"#),
    (r#"datagram_size = "1280 B""#, r#"tcp = { min_rto = "0 s" }"#, r#"s.toml:24: flows.f.sender.tcp.min_rto = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"datagram_size = "1280 B""#, "tcp = { gso_segments = 0 }", "s.toml:24: flows.f.sender.tcp.gso_segments = 0: allowed is 1 to 65535"),
    (r#"datagram_size = "1280 B""#, r#"tcp = { loss_detection = "fack" }"#, r#"s.toml:24: flows.f.sender.tcp.loss_detection = "fack": allowed is `duplicate_acks`, `duplicate_acks_and_rack` or `rack`"#),
    (r#"datagram_size = "1280 B""#, r#"tcp = { metrics = "always" }"#, r#"s.toml:24: flows.f.sender.tcp.metrics = "always": allowed is `none` or `from_run_before`"#),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.1" }"#, r#"s.toml:24: flows.f.sender.tls.version = "1.1": allowed is `1.2` or `1.3`"#),
    (r#"datagram_size = "1280 B""#, "tls = {}", "s.toml:24: flows.f.sender.tls.version: missing, allowed is `1.2` or `1.3`"),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.3", early_data = "accepted" }"#, r#"s.toml:24: flows.f.sender.tls.early_data: `resumption` is false, allowed is `resumption = true` with it"#),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.3", resumption = true, early_data = "maybe" }"#, r#"s.toml:24: flows.f.sender.tls.early_data = "maybe": allowed is `accepted` or `rejected`"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { connection_id = "21 B" }"#, r#"s.toml:24: flows.f.sender.quic.connection_id = "21 B": allowed is 0 B to 20 B"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { packet_number = "0 B" }"#, r#"s.toml:24: flows.f.sender.quic.packet_number = "0 B": allowed is 1 B to 4 B"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { packet_number = "5 B" }"#, r#"s.toml:24: flows.f.sender.quic.packet_number = "5 B": allowed is 1 B to 4 B"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { ack_ranges = 0 }"#, r#"s.toml:24: flows.f.sender.quic.ack_ranges = 0: allowed is 1 to 4294967295"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_ack_delay = "16384 ms" }"#, r#"s.toml:24: flows.f.sender.quic.max_ack_delay = "16384 ms": allowed is 0 s to 16.383 s"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { probe_packets = 3 }"#, r#"s.toml:24: flows.f.sender.quic.probe_packets = 3: allowed is 1 to 2"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_window = "0 B" }"#, r#"s.toml:24: flows.f.sender.quic.max_window = "0 B": allowed is 1 B to 4611686018427387903 B"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_streams = 0 }"#, r#"s.toml:24: flows.f.sender.quic.max_streams = 0: allowed is 1 to 1152921504606846976"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_stream_receive_window = "0 B" }"#, r#"s.toml:24: flows.f.sender.quic.max_stream_receive_window = "0 B": allowed is 1 B to 4611686018427387903 B"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { max_connection_receive_window = "0 B" }"#, r#"s.toml:24: flows.f.sender.quic.max_connection_receive_window = "0 B": allowed is 1 B to 4611686018427387903 B"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { idle_timeout = "0 s" }"#, r#"s.toml:24: flows.f.sender.quic.idle_timeout = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { version = "v2" }"#, r#"s.toml:24: flows.f.sender.quic.version = "v2": allowed is `v1` or `gquic-37`"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { flow_control = "auto" }"#, r#"s.toml:24: flows.f.sender.quic.flow_control = "auto": allowed is `fixed`, `double_when_half_used` or `double_within_two_rtts`"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "every", packets = 0 } }"#, r#"s.toml:24: flows.f.sender.quic.acknowledgement.packets = 0: allowed is 1 to 4294967295"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "rtt_fraction", packets = 0 } }"#, r#"s.toml:24: flows.f.sender.quic.acknowledgement.packets = 0: allowed is 1 to 4294967295"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "rtt_fraction", fraction = 0 } }"#, r#"s.toml:24: flows.f.sender.quic.acknowledgement.fraction = 0: allowed is above 0, at most 1: a part of the round-trip time"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "rtt_fraction", fraction = 1.1 } }"#, r#"s.toml:24: flows.f.sender.quic.acknowledgement.fraction = 1.1: allowed is above 0, at most 1: a part of the round-trip time"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "timer", delay = "17 s" } }"#, r#"s.toml:24: flows.f.sender.quic.acknowledgement.delay = "17 s": allowed is 0 s to 16.383 s"#),
    (r#"datagram_size = "1280 B""#, r#"quic = { acknowledgement = { kind = "every" }, max_ack_delay = "20 ms" }"#, r#"s.toml:24: flows.f.sender.quic.acknowledgement.delay = "25 ms": allowed is at most `max_ack_delay`, 20 ms"#),
    (r#"datagram_size = "1280 B""#, r#"http2 = { stream_window = "2 GiB" }"#, r#"s.toml:24: flows.f.sender.http2.stream_window = "2 GiB": allowed is 1 B to 2147483647 B"#),
    (r#"datagram_size = "1280 B""#, r#"http2 = { connection_window = "0 B" }"#, r#"s.toml:24: flows.f.sender.http2.connection_window = "0 B": allowed is 1 B to 2147483647 B"#),
    (r#"datagram_size = "1280 B""#, r#"http2 = { max_streams = 0 }"#, r#"s.toml:24: flows.f.sender.http2.max_streams = 0: allowed is 1 to 4294967295"#),
    (r#"datagram_size = "1280 B""#, r#"http2 = { frame_size = "16 MiB" }"#, r#"s.toml:24: flows.f.sender.http2.frame_size = "16 MiB": allowed is 1 B to 16777215 B"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", slow_start_factor = 11 }"#, r#"s.toml:24: flows.f.sender.pacing.slow_start_factor = 11: allowed is 0.01 to 10"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", burst_share = 0 }"#, r#"s.toml:24: flows.f.sender.pacing.burst_share = 0: allowed is above 0, at most 1: a part of the window"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", burst_time = "0 s" }"#, r#"s.toml:24: flows.f.sender.pacing.burst_time = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"datagram_size = "1280 B""#, r#"pacing = { kind = "leaky_bucket", idle_burst_packets = 0 }"#, r#"s.toml:24: flows.f.sender.pacing.idle_burst_packets = 0: allowed is 1 to 4294967295"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "0 B", objects = [] }"#, r#"s.toml:27: flows.f.workload.html = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [], request = "0 B" }"#, r#"s.toml:27: flows.f.workload.request = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [], response = "0 B" }"#, r#"s.toml:27: flows.f.workload.response = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [{ count = 1, size = "1 kB" }, { count = 1, size = "0 B" }] }"#, r#"s.toml:27: flows.f.workload.objects.1.size = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [{ count = 0, size = "1 kB" }] }"#, r#"s.toml:27: flows.f.workload.objects.0.count = 0: allowed is 1 to 4294967295"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "0 B" }] }"#, r#"s.toml:27: flows.f.workload.resources.0.size = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", request = "0 B" }] }"#, r#"s.toml:27: flows.f.workload.resources.0.request = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", response = "0 B" }] }"#, r#"s.toml:27: flows.f.workload.resources.0.response = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", after = [] }] }"#, r#"s.toml:27: flows.f.workload.resources.0.after = []: allowed is one or more numbers of resources; 0 is the HTML"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B" }, { size = "1 B", after = [0, 2] }] }"#, r#"s.toml:27: flows.f.workload.resources.1.after = [0, 2]: allowed is 0 (the HTML) to 1: a resource before this one, number 2"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", resources = [{ size = "1 B", origin = 256 }] }"#, r#"s.toml:27: flows.f.workload.resources.0.origin = 256: allowed is 0 (the server of the HTML) to 255"#),
    (r#"workload = { kind = "download", size = "1 MB" }"#, r#"workload = { kind = "page", html = "1 kB", objects = [{ count = 1, size = "1 B" }], resources = [{ size = "1 B" }] }"#, r#"s.toml:27: flows.f.workload.resources = [{ size = "1 B" }]: `objects` are given, too, allowed is either `objects` or `resources`"#),
    (r#"datagram_size = "1280 B""#, r#"tls = { version = "1.3", certificate = "65537 B" }"#, r#"s.toml:24: flows.f.sender.tls.certificate = "65537 B": allowed is 0 B to 65536 B"#),
    (r#"datagram_size = "1280 B""#, r#"stack = "lab-tcp""#, r#"s.toml:24: flows.f.sender.stack = "lab-tcp": the receiver speaks QUIC (`quinn`), allowed is a stack that speaks QUIC, too"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 1"#, r#"s.toml:27: flows.f.workload.kind = "ping": stack `quinn` does not run it, allowed is `download`"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping""#, "s.toml:27: flows.f.workload.count: missing, allowed is an integer from 0 to 4294967295"),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 0"#, "s.toml:27: flows.f.workload.count = 0: allowed is 1 to 4294967295"),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 1, size = "0 B""#, r#"s.toml:27: flows.f.workload.size = "0 B": allowed is 1 B to 65507 B"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "ping", count = 1, interval = "0 s""#, r#"s.toml:27: flows.f.workload.interval = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "request_response", count = 0, response = "1 kB""#, "s.toml:27: flows.f.workload.count = 0: allowed is 1 to 4294967295"),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "request_response", count = 1, response = "0 B""#, r#"s.toml:27: flows.f.workload.response = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "0 bit/s", size = "1 kB", duration = "1 s""#, r#"s.toml:27: flows.f.workload.rate = "0 bit/s": allowed is a rate above 0, such as `20 Mbit/s`"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "1 bit/s", size = "65508 B", duration = "1 s""#, r#"s.toml:27: flows.f.workload.size = "65508 B": allowed is 1 B to 65507 B"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "1 bit/s", size = "1 kB", duration = "0 s""#, r#"s.toml:27: flows.f.workload.duration = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"kind = "download", size = "1 MB""#, r#"kind = "datagrams", rate = "1 bit/s", size = "1 kB", duration = "1 s", on = "1 s""#, r#"s.toml:27: flows.f.workload.on = "1 s": `off` is missing, allowed is `on` and `off`, or neither"#),
    (r#"down = ["t", "dc"]"#, "down = []", "s.toml:25: flows.f.down = []: flow `f` has no route down, allowed is one or more of `a`, `b`, `c`, `dc` or `t`"),
    ("up = [\"c\"]\n", "", "s.toml:22: flows.f.up = []: flow `f` has no route up, allowed is one or more of `a`, `b`, `c`, `dc` or `t`"),
    (r#"down = ["t", "dc"]"#, r#"down = ["t", "dd"]"#, r#"s.toml:25: flows.f.down.1 = "dd": no such link, bearer, tap or tunnel, allowed is `a`, `b`, `c`, `dc` or `t`"#),
    (r#"down = ["t", "dc"]"#, r#"down = ["t", "dc", "t"]"#, r#"s.toml:25: flows.f.down.2 = "t": `t` is passed twice (`t`, `t`), a loop, allowed is each link, bearer, tap and tunnel once in a route"#),
    (r#"down = ["t", "dc"]"#, r#"down = ["a", "dc"]"#, r#"s.toml:25: flows.f.down.1 = "dc": `a` is passed twice (`a`, `dc`), a loop, allowed is each link, bearer, tap and tunnel once in a route"#),
    (r#"down = ["t", "dc"]"#, r#"down = "dc""#, r#"s.toml:25: flows.f.down = "dc": allowed is an array"#),
    (r#"size = "1 MB""#, r#"size = "1 MB", duration = "1 s""#, r#"s.toml:27: flows.f.workload.duration = "1 s": `size` is given, too, allowed is either `size` or `duration`"#),
    (r#", size = "1 MB""#, "", "s.toml:27: flows.f.workload.size: missing, allowed is either `size` or `duration`"),
    (r#"size = "1 MB""#, r#"size = "0 MB""#, r#"s.toml:27: flows.f.workload.size = "0 MB": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"size = "1 MB""#, r#"size = "1 Mb""#, r#"s.toml:27: flows.f.workload.size = "1 Mb": has the unknown unit `Mb`, allowed is a number with a unit such as `64 KiB` (units: GB, GiB, MB, MiB, kB, KiB, B)"#),
    (r#"size = "1 MB""#, r#"duration = "0 s""#, r#"s.toml:27: flows.f.workload.duration = "0 s": allowed is a time above 0, such as `10 ms`"#),
    (r#"size = "1 MB""#, r#"size = "1 MB", request = "0 B""#, r#"s.toml:27: flows.f.workload.request = "0 B": allowed is a size of at least 1 byte, such as `64 KiB`"#),
    (r#"kind = "download""#, r#"kind = "upload""#, r#"s.toml:27: flows.f.workload.kind = "upload": allowed is `download`, `request_response`, `datagrams`, `page`, `ping` or `media`"#),
    (r#"kind = "download", "#, "", "s.toml:27: flows.f.workload.kind: missing, allowed is `download`, `request_response`, `datagrams`, `page`, `ping` or `media`"),
    ("workload = { kind = \"download\", size = \"1 MB\" }\n", "", "s.toml:22: flows.f.workload: missing, allowed is a table"),
    (r#"start = "1 s""#, r#"start = "10 s""#, r#"s.toml:28: flows.f.start = "10 s": allowed is a time before the end of the run at 10 s"#),
    (r#"series_interval = "1 ms""#, r#"series_interval = "0 ms""#, r#"s.toml:30: record.series_interval = "0 ms": allowed is a time above 0, such as `10 ms`"#),
    (r#"series_interval = "1 ms""#, "qlog = 1", "s.toml:30: record.qlog = 1: allowed is true or false"),
    ("[record]", "[[wires]]\nfrom = \"f.sender.0\"\nto = \"a.0\"\n[record]", r#"s.toml:25: flows.f.down = ["t", "dc"]: `[[wires]]` are given, too, allowed is either routes or `[[wires]]`"#),
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
    { from = "f.sender.0", to = "dc.sender.0" },
    { from = "g.sender.0", to = "dc.sender.0" },
    { from = "dc.sender.0", to = "a.0" },
    { from = "dc.sender.1", to = "b.0" },
    { from = "a.0", to = "dc.receiver.0" },
    { from = "b.0", to = "dc.receiver.1" },
    { from = "dc.receiver.0", to = "f.receiver.0", flow = "f" },
    { from = "dc.receiver.0", to = "g.receiver.0", flow = "g" },
    { from = "f.receiver.0", to = "up.0" },
    { from = "g.receiver.0", to = "up.0" },
    { from = "up.0", to = "t.0" },
    { from = "t.0", to = "f.sender.0", flow = "f", direction = "up" },
    { from = "t.0", to = "g.sender.0", flow = "g", direction = "up" },
]
"#;

#[rustfmt::skip] // one case a line
const WIRE_CASES: &[(&str, &str, &str)] = &[
    (r#"from = "f.sender.0""#, r#"from = "f.sender""#, r#"s.toml:9: wires.0.from = "f.sender": allowed is `element.port`, such as `down1.0`"#),
    (r#"from = "f.sender.0""#, r#"from = "x.0""#, r#"s.toml:9: wires.0.from = "x.0": no such element, allowed is `a`, `b`, `dc.receiver`, `dc.sender`, `f.receiver`, `f.sender`, `g.receiver`, `g.sender`, `t` or `up`"#),
    (r#"from = "f.sender.0""#, r#"from = "f.sender.1""#, r#"s.toml:9: wires.0.from = "f.sender.1": no such port, allowed is port 0"#),
    (r#"to = "a.0""#, r#"to = "a.1""#, r#"s.toml:11: wires.2.to = "a.1": no such port, allowed is port 0"#),
    (r#"to = "a.0""#, r#"to = "a.0x""#, r#"s.toml:11: wires.2.to = "a.0x": allowed is `element.port`, such as `down1.0`"#),
    (r#"to = "dc.receiver.1""#, r#"to = "dc.receiver.70000""#, r#"s.toml:14: wires.5.to = "dc.receiver.70000": no such port, allowed is port 0 to 1"#),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "f.receiver.0", flow = "x""#, r#"s.toml:15: wires.6.flow = "x": no such flow, allowed is `f` or `g`"#),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "f.receiver.0", direction = "up""#, r#"s.toml:15: wires.6.direction = "up": the wire is for all packets, allowed is a direction beside a `flow`"#),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "f.receiver.0""#, r#"s.toml:16: wires.7.from = "dc.receiver.0": wire 6 leads the same packets elsewhere, allowed is one wire for all packets, or one for each flow and direction"#),
    (r#"to = "f.receiver.0", flow = "f""#, "to = \"f.receiver.0\", flow = \"f\" },\n{ from = \"dc.receiver.0\", to = \"t.0\", flow = \"f\"", r#"s.toml:16: wires.7.from = "dc.receiver.0": wire 6 leads the same packets elsewhere, allowed is one wire for all packets, or one for each flow and direction"#),
    ("    { from = \"dc.sender.1\", to = \"b.0\" },\n", "", "s.toml:8: wires: packets of flow `f` (down) end at `dc.sender`, allowed is a wire from `dc.sender.1`"),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "g.receiver.0", flow = "f""#, r#"s.toml:15: wires.6.to = "g.receiver.0": packets of flow `f` (down) reach `g.receiver`, allowed is a wire towards the peer"#),
    (r#"to = "f.receiver.0", flow = "f""#, r#"to = "dc.sender.0", flow = "f""#, r#"s.toml:15: wires.6.to = "dc.sender.0": packets of flow `f` (down) run in a loop dc.sender -> a -> dc.receiver -> dc.sender, allowed is a wire towards the peer"#),
    (r#"from = "up.0", to = "t.0""#, r#"from = "up.0", to = "up.0""#, r#"s.toml:19: wires.10.to = "up.0": packets of flow `f` (up) run in a loop up -> up, allowed is a wire towards the peer"#),
    (r#"to = "f.sender.0", flow = "f", direction = "up""#, r#"to = "up.0", flow = "f", direction = "up""#, r#"s.toml:20: wires.11.to = "up.0": packets of flow `f` (up) run in a loop up -> t -> up, allowed is a wire towards the peer"#),
];

/// Replaces, loads, and compares the sentences of all cases.
fn compare(right: &str, cases: &[(&str, &str, &str)]) {
    load(right, &[]).unwrap();
    let mut wrong = Vec::new();
    for (from, to, sentence) in cases {
        assert_eq!(right.matches(from).count(), 1, "{from:?} marks one place");
        let found =
            load(&right.replace(from, to), &[]).map_or_else(|error| error.to_string(), |_| "loads".into());
        if found != *sentence {
            wrong.push(format!("{from} -> {to}\n  expected: {sentence}\n  found:    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_bad_input_has_its_sentence() {
    compare(RIGHT, CASES);
}

#[test]
fn each_bad_wire_has_its_sentence() {
    compare(WIRED, WIRE_CASES);
}

#[test]
fn both_ends_speak_the_same_protocol() {
    let sentence = |sets: &[(&str, &str)]| load(RIGHT, sets).unwrap_err().to_string();
    // named is the end whose stack differs from that of the flow, or the receiver
    assert_eq!(
        sentence(&[("flows.f.receiver.stack", "lab-udp")]),
        "s.toml:--set: flows.f.receiver.stack = \"lab-udp\": the sender speaks QUIC (`quinn`), \
         allowed is a stack that speaks QUIC, too"
    );
    assert_eq!(
        sentence(&[("flows.f.sender.stack", "lab-tcp"), ("flows.f.receiver.stack", "noq")]),
        "s.toml:--set: flows.f.receiver.stack = \"noq\": the sender speaks TCP (`lab-tcp`), \
         allowed is a stack that speaks TCP, too"
    );
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
}

#[test]
fn no_flow_at_all() {
    let text = "version = 1\nname = \"n\"\n";
    let sentence = |text: &str| load(text, &[]).unwrap_err().to_string();
    assert_eq!(sentence(text), "s.toml:1: flows: missing, allowed is a table");
    let empty = format!("{text}[flows]\n");
    assert_eq!(sentence(&empty), "s.toml:3: flows = {}: no flow at all, allowed is one flow or more");
}

#[test]
fn values_from_the_command_line_are_named_as_such() {
    for (path, value, sentence) in [
        ("bearers.dc.batch_packets", "0", "bearers.dc.batch_packets = 0: allowed is 1 to 65535 packets"),
        (
            "links.b.loss.loss_in_bad",
            "200 %",
            "links.b.loss.loss_in_bad = \"200 %\": is not a probability, allowed is 0 to 1, or `0 %` to `100 %`",
        ),
        (
            "bearers.dc.mod",
            "split",
            "bearers.dc.mod = \"split\": unknown field, allowed is `links`, `batch_packets`, `shares`, `mode`, `splitter`, `duplication` or `reordering`",
        ),
        (
            "flows.f.down.1",
            "dd",
            "flows.f.down.1 = \"dd\": no such link, bearer, tap or tunnel, allowed is `a`, `b`, `c`, `dc` or `t`",
        ),
        (
            "flows.f.down.4",
            "dc",
            "flows.f.down = [\"t\", \"dc\"]: `--set` asks for element `4`, allowed is an index from 0 to 2",
        ),
        (
            "name.x",
            "1",
            "name = \"n\": `--set` asks for the field `x` of what is not a table, allowed is `--set` of the whole value",
        ),
        (
            "links..rate",
            "1",
            "\"links..rate\" = 1: `--set` has no field to set, allowed is a path such as `bearers.dc.batch_packets`",
        ),
    ] {
        let error = load(RIGHT, &[(path, value)]).unwrap_err();
        assert_eq!(error.to_string(), format!("s.toml:--set: {sentence}"));
    }
}

#[test]
fn json_errors_have_paths_but_no_lines() {
    let json = r#"{ "version": 1, "name": "n", "flows": {}, "links": { "a": { "rate": 20 } } }"#;
    assert!(
        Scenario::from_json(json)
            .unwrap_err()
            .to_string()
            .starts_with("links.a.rate = 20: has no unit, allowed is a number with a unit such as")
    );
    let error = Scenario::from_json("{").unwrap_err().to_string();
    assert!(error.starts_with("1: not valid JSON: "), "{error}");
}

#[test]
fn later_checks_can_name_the_line_as_well() {
    let document = Document::from_toml(RIGHT, "s.toml", &[]).unwrap();
    let path = FieldPath::new(["links", "c", "rate", "file"]);
    let error = ScenarioError::refused(path, "", "times that ascend").because("line 3 goes back in time");
    let ScenarioError::Field(field) = document.locate(error.clone()) else { panic!("{error}") };
    assert_eq!(field.place.line, Line::Number(12));
    assert_eq!(
        field.to_string(),
        "s.toml:12: links.c.rate.file = \"t.csv\": line 3 goes back in time, allowed is times that ascend"
    );
    assert_eq!(document.load(&some_stacks), document.scenario());
}
