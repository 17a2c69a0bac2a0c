//! Arguments of `tc`, by hand from tc-netem(8) and tc-tbf(8).

use super::plan::{Plan, PlanError, Request, plan};
use crate::job::DelayStage;
use quiclab_config::Document;
use quiclab_core::ByteCount;
use quiclab_core::link::LinkConfig;
use quiclab_core::queue::DeviceMtu;
use quiclab_scenario::Scenario;

/// A link from the text of a scenario.
fn link(fields: &str) -> LinkConfig {
    let text = format!(
        "version = 1\nname = \"x\"\n[links.a]\n{fields}\n[links.b]\n[flows.main]\nstack = \"lab-tcp\"\n\
         down = [\"a\"]\nup = [\"b\"]\nworkload = {{ kind = \"download\", size = \"1 MB\" }}\n"
    );
    let scenario = Document::from_toml(&text, "x.toml", &[]).and_then(|document| Scenario::decode(&document));
    scenario.unwrap_or_else(|error| panic!("{error}")).links.remove("a").unwrap()
}

fn planned(fields: &str, stage: DelayStage, netem: bool) -> Result<Plan, PlanError> {
    plan(Request { name: "a", link: &link(fields), stage, netem })
}

fn text(plan: &Plan) -> Vec<Vec<String>> {
    plan.hops.iter().map(|hop| hop.iter().map(|qdisc| qdisc.join(" ")).collect()).collect()
}

const PUBLISHED: &str = r#"rate = "20 Mbit/s"
    overhead_per_packet = "14 B"
    queue = { kind = "drop_tail", packets = 100 }
    loss = "0.1 %"
    delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal", reorder = true }"#;

#[test]
fn rate_and_delay_are_two_hops() {
    let plan = planned(PUBLISHED, DelayStage::NextHop, true).unwrap();
    let rate = "root handle 1: netem limit 100 loss random 0.1000000% rate 20000000bit -14";
    let delay = "root handle 1: netem limit 1000000 delay 10000.000us 1000.000us distribution normal";
    assert_eq!(text(&plan), [[rate], [delay]]);
    assert_eq!(plan.added_bytes, 14);
}

#[test]
fn delay_takes_places_in_the_queue_where_asked_for() {
    let child = planned(PUBLISHED, DelayStage::Child, true).unwrap();
    let rate = "root handle 1: netem limit 100 loss random 0.1000000% rate 20000000bit 0";
    let delay = "parent 1:1 handle 10: netem limit 1000000 delay 10000.000us 1000.000us distribution normal";
    assert_eq!(text(&child), [[rate, delay]]);
    let same = planned(PUBLISHED, DelayStage::Same, true).unwrap();
    let all = "root handle 1: netem limit 100 delay 10000.000us 1000.000us distribution normal loss random \
               0.1000000% rate 20000000bit 0";
    assert_eq!(text(&same), [[all]]);
}

#[test]
fn bytes_and_buckets_are_tbf() {
    let fields =
        "rate = \"8 Mbit/s\"\nqueue = { kind = \"drop_tail\", bytes = \"64 KiB\" }\ndelay = \"5 ms\"";
    let plan = planned(fields, DelayStage::NextHop, true).unwrap();
    let bucket = "root handle 1: tbf rate 8000000bit burst 1600b limit 65536b";
    assert_eq!(text(&plan), [[bucket], ["root handle 1: netem limit 1000000 delay 5000.000us"]]);
    assert_eq!(plan.added_bytes, -14, "on Ethernet the kernel adds its header");
    let fields = "rate = { kind = \"token_bucket\", rate = \"8 Mbit/s\", burst = \"3000 B\" }\n\
                  queue = { kind = \"drop_tail\", packets = 50 }";
    let plan = planned(fields, DelayStage::NextHop, false).unwrap();
    let bucket = "root handle 1: tbf rate 8000000bit burst 3000b limit 4294967295b";
    assert_eq!(text(&plan), [[bucket, "parent 1:1 handle 10: pfifo limit 50"]]);
    assert_eq!(plan.added_bytes, 0);
}

/// `validation/aqm` relies on this: its cells have such a bucket in both lanes.
#[test]
fn a_rate_below_a_discipline_is_a_bucket_of_one_packet() {
    let bucket = "{ kind = \"token_bucket\", rate = \"40 Mbit/s\", burst = \"1614 B\" }";
    let [constant, bucket] = ["\"40 Mbit/s\"", bucket].map(|rate| {
        let fields = format!("rate = {rate}\noverhead_per_packet = \"14 B\"\nqueue = {{ kind = \"codel\" }}");
        planned(&fields, DelayStage::NextHop, true).unwrap()
    });
    assert!(constant.bucket);
    assert_eq!((text(&constant), constant.added_bytes), (text(&bucket), bucket.added_bytes));
}

#[test]
fn a_kernel_without_netem_does_what_needs_only_a_rate() {
    let fields =
        "rate = \"8 Mbit/s\"\noverhead_per_packet = \"20 B\"\nqueue = { kind = \"drop_tail\", packets = 30 }";
    let plan = planned(fields, DelayStage::NextHop, false).unwrap();
    let bucket = "root handle 1: tbf rate 8000000bit burst 1620b limit 4294967295b";
    assert_eq!(text(&plan), [[bucket, "parent 1:1 handle 10: pfifo limit 30"]]);
    assert_eq!(plan.added_bytes, 20);
    let plan = planned("", DelayStage::NextHop, false).unwrap();
    assert_eq!(text(&plan), [["root handle 1: pfifo limit 1000000"]]);
    let error = planned("delay = \"5 ms\"", DelayStage::NextHop, false).unwrap_err().to_string();
    assert_eq!(
        error,
        "links.a.delay needs the queueing discipline `netem`, which this kernel does not have (sch_netem); \
         `--emulation engine` does without"
    );
}

#[test]
fn gilbert_and_elliott_are_gemodel() {
    let fields = "loss = { kind = \"gilbert_elliott\", good_to_bad = \"1 %\", bad_to_good = \"25 %\", \
                  loss_in_good = \"0.5 %\", loss_in_bad = \"80 %\" }";
    let plan = planned(fields, DelayStage::NextHop, true).unwrap();
    let words =
        "root handle 1: netem limit 1000000 loss gemodel 1.0000000% 25.0000000% 80.0000000% 0.5000000%";
    assert_eq!(text(&plan), [[words]]);
}

#[test]
fn packets_held_by_number_are_refused() {
    let fields = "delay = \"5 ms\"\nholds = [{ packet = 3, by = \"1 ms\" }]";
    let error = planned(fields, DelayStage::NextHop, true).unwrap_err().to_string();
    assert!(error.starts_with("links.a.holds: expected no held packets, "), "{error}");
}

#[test]
fn changes_of_the_ecn_field_are_refused() {
    let fields = "delay = \"5 ms\"\necn_rewrites = [{ to = \"not_ect\" }]";
    let error = planned(fields, DelayStage::NextHop, true).unwrap_err().to_string();
    assert!(error.starts_with("links.a.ecn_rewrites: expected no changes of the ECN field, "), "{error}");
}

#[test]
fn managed_queues_are_children_of_a_bucket() {
    let fields = |queue: &str| format!("rate = \"10 Mbit/s\"\nqueue = {{ {queue} }}\ndelay = \"5 ms\"");
    let bucket = "root handle 1: tbf rate 10000000bit burst 1600b limit 4294967295b";
    for (queue, child) in [
        ("kind = \"head_drop\", packets = 60", "pfifo_head_drop limit 60"),
        ("kind = \"red\", ecn = true", "red limit 400000 min 30000 max 90000 ewma 5 max_p 85899345 ecn"),
        ("kind = \"codel\"", "codel limit 1000 target 5000us interval 100000us noecn"),
        (
            "kind = \"fq_codel\", ce_threshold = \"1 ms\", flows = 32",
            "fq_codel limit 10240 memory_limit 33554432 drop_batch 64 flows 32 quantum 1514 target 5000us \
             interval 100000us ecn ce_threshold 1000us",
        ),
    ] {
        let plan = planned(&fields(queue), DelayStage::NextHop, true).unwrap();
        assert_eq!(text(&plan)[0], [bucket.to_owned(), format!("parent 1:1 handle 10: {child}")]);
        let noted = DeviceMtu::AtCreation(ByteCount::from_bytes(1514));
        assert_eq!(plan.mtu, if queue.contains("codel") { noted } else { DeviceMtu::Any });
    }
}

#[test]
fn cake_has_the_rate_itself() {
    let cake = "rate = \"10 Mbit/s\"\noverhead_per_packet = \"18 B\"\nqueue = { kind = \"cake\", ack_filter = \"conservative\" }";
    let shaper = "root handle 1: cake besteffort triple-isolate ack-filter target 5000us rtt 100000us memlimit 4194304 \
                  bandwidth 10000000bit overhead 18";
    let planned =
        |rest: &str, netem| planned(&format!("{cake}\n{rest}"), DelayStage::NextHop, netem).unwrap();
    let plan = planned("delay = \"5 ms\"", true);
    // a packet of the last hop has no header of Ethernet
    assert_eq!(
        text(&plan),
        [[shaper], ["root handle 1: netem limit 1000000 delay 5000.000us rate 10000000bit 18"]]
    );
    assert_eq!((plan.added_bytes, plan.bucket, plan.reads_headers), (0, false, true));
    assert_eq!(plan.mtu, DeviceMtu::AtCreation(ByteCount::from_bytes(1514)));
    let plan =
        planned("delay = { mean = \"5 ms\", deviation = \"1 ms\", reorder = true }\nloss = \"1 %\"", true);
    let loss = "root handle 1: netem limit 1000000 loss random 1.0000000%";
    let serialiser = "root handle 1: netem limit 1000000 rate 10000000bit 4";
    let delay = "root handle 1: netem limit 1000000 delay 5000.000us 1000.000us";
    assert_eq!(text(&plan).concat()[..3], [loss, shaper, serialiser]);
    assert!(text(&plan)[3][0].starts_with(delay), "{:?}", text(&plan)[3]);
    let plan = planned("", false);
    assert_eq!((text(&plan), plan.bucket), (vec![vec![shaper.to_owned()]], true));
}

#[test]
fn a_policer_is_a_filter_that_counts_what_the_link_does() {
    let policer = "overhead_per_packet = \"14 B\"\npolicer = { rate = \"5 Mbit/s\", burst = \"20 kB\" }";
    let filter = "egress matchall action police rate 5000000bit burst 20000b mtu 64kb conform-exceed drop";
    for (fields, first, added_bytes) in [
        // the header of Ethernet is in the sizes of both, so that the marker is shorter
        ("rate = \"20 Mbit/s\"\ndelay = \"5 ms\"", "netem limit 1000 rate 20000000bit 0", 0),
        ("rate = \"20 Mbit/s\"", "netem limit 1000 rate 20000000bit 0", 14),
        (
            "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { kind = \"pie\" }",
            "tbf rate 20000000bit burst 1614b limit 4294967295b",
            0,
        ),
    ] {
        let plan = planned(&format!("{fields}\n{policer}"), DelayStage::NextHop, true).unwrap();
        assert_eq!(plan.policer.as_ref().unwrap().join(" "), filter);
        assert_eq!(
            (text(&plan)[0][0].as_str(), plan.added_bytes),
            (&*format!("root handle 1: {first}"), added_bytes)
        );
    }
    let error =
        planned(&format!("rate = \"20 Mbit/s\"\nloss = \"1 %\"\n{policer}"), DelayStage::NextHop, true);
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("links.a.loss: expected no loss on a link with a policer, "), "{error}");
}

#[test]
fn what_has_no_counterpart_is_named() {
    let cases = [
        ("rate = \"8 Mbit/s\"\nqueue = { kind = \"drop_tail\", time = \"50 ms\" }", "links.a.queue.time"),
        (
            "rate = \"8 Mbit/s\"\nqueue = { kind = \"drop_tail\", packets = 5, bytes = \"9 kB\" }",
            "links.a.queue.bytes",
        ),
        ("rate = \"8 Mbit/s\"\nqueue = { kind = \"head_drop\", bytes = \"9 kB\" }", "links.a.queue.bytes"),
        (
            "rate = \"8 Mbit/s\"\nqueue = { kind = \"codel\", control_law = \"inverse_count\" }",
            "links.a.queue.control_law",
        ),
        ("rate = \"8 Mbit/s\"\nqueue = { kind = \"fq_codel\", hash = \"field_sum\" }", "links.a.queue.hash"),
        (
            "rate = \"8 Mbit/s\"\nqueue = { kind = \"codel\", least_backlog = \"0 B\" }",
            "links.a.queue.least_backlog",
        ),
        (
            "rate = { kind = \"token_bucket\", rate = \"8 Mbit/s\", burst = \"3000 B\" }\n\
             queue = { kind = \"cake\" }",
            "links.a.rate",
        ),
        ("queue = { kind = \"cake\" }", "links.a.queue.kind"),
        (
            "rate = \"8 Mbit/s\"\npolicer = { rate = \"5 Mbit/s\", burst = \"20 kB\" }\nqueue = { kind = \"cake\" }",
            "links.a.policer",
        ),
        ("loss = { kind = \"listed\", packets = [3] }", "links.a.loss.packets"),
        (
            "delay = { mean = \"9 ms\", deviation = \"1 ms\", distribution = \"uniform\" }",
            "links.a.delay.reorder",
        ),
    ];
    for (fields, start) in cases {
        let error = planned(fields, DelayStage::NextHop, true).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{start}: expected ")), "{error}");
        assert!(
            error.ends_with("; `--emulation netem` has nothing else, `--emulation engine` does"),
            "{error}"
        );
    }
}
