//! Reports of links: that they end, that they have no side effects, and rejected configurations.

use super::common::*;
use quiclab_sim::EndedBy;

/// 1 MB, and then nothing: reports stop as well.
#[test]
fn an_idle_link_is_still() {
    for splitter in ALL {
        let output = run_with(&[
            ("bearers.dc.splitter", splitter),
            ("flows.f.workload", r#"{ kind = "download", size = "1 MB" }"#),
            ("flows.f.sender.quic", r#"{ idle_timeout = "5 s" }"#),
            ("flows.f.receiver.quic", r#"{ idle_timeout = "5 s" }"#),
            ("until", "duration_over"),
            ("duration", "10 min"),
        ]);
        let reports = statistic(&output, "down1", "reports_sent");
        // 1 MB takes below 2 s; a report each 5 ms, and a few at the end
        assert!((10.0..500.0).contains(&reports), "{splitter}: {reports}");
        assert_eq!(output.result.elements["down1"].counters.held.packets, 0, "{splitter}");
    }
}

/// A link that will never send its backlog does not report indefinitely: the run ends as idle.
#[test]
fn a_link_that_has_ended_falls_silent() {
    let folder = std::env::temp_dir().join(format!("quiclab-ended-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("end.csv"), "time_s,rate_mbps\n0,20\n0.1,20\n").unwrap();
    let trace = r#"{ kind = "trace", file = "end.csv", at_end = "stop" }"#;
    for splitter in ALL {
        let scenario = load(&[
            ("links.down1.rate", trace),
            ("links.down2.rate", trace),
            ("bearers.dc.splitter", splitter),
            ("flows.f.sender.quic", r#"{ idle_timeout = "5 s" }"#),
            ("flows.f.receiver.quic", r#"{ idle_timeout = "5 s" }"#),
            ("flows.f.workload", r#"{ kind = "download", size = "10 MB" }"#),
            ("duration", "60 min"),
        ])
        .unwrap();
        let output = run_scenario(&scenario, &folder);
        assert_ne!(output.result.run.ended_by, EndedBy::DurationOver, "{splitter}");
        assert!(output.result.run.network_time_s < 60.0, "{splitter}");
        assert!(statistic(&output, "down1", "reports_sent") < 3000.0, "{splitter}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Batches ignore reports: the flow is the same, to the byte and the nanosecond.
#[test]
fn reports_do_not_disturb_batches() {
    let with = run_with(&[]);
    let plain = common_without_feedback();
    assert_eq!(with.result.flows["f"].delivered_bytes, plain.result.flows["f"].delivered_bytes);
    assert_eq!(with.result.flows["f"].sender, plain.result.flows["f"].sender);
    assert_ne!(with.result.digest, plain.result.digest);
    assert!(!plain.result.elements["dc.ingress"].statistics.contains_key("reports_port0"));
    let reports = statistic(&with, "dc.ingress", "reports_port0");
    assert!(reports > 0.0 && reports <= statistic(&with, "down1", "reports_sent"));
}

fn common_without_feedback() -> quiclab_sim::RunOutput {
    let mut scenario = load(&[]).unwrap();
    scenario.links.values_mut().for_each(|link| link.feedback = None);
    run_scenario(&scenario, std::path::Path::new("."))
}

#[test]
fn a_seed_gives_the_same_run() {
    for splitter in ALL {
        let digest = || run_with(&[("bearers.dc.splitter", splitter), ("duration", "2 s")]).result.digest;
        assert_eq!(digest(), digest());
    }
}

#[test]
fn packet_records_and_comparisons_take_reports() {
    let output = run_with(&[
        ("record.packets", "true"),
        ("duration", "500 ms"),
        ("bearers.dc.splitter", FLOW_CONTROL),
    ]);
    let reports = output.packets.iter().filter(|record| record.size_bytes == 68 && record.direction == 1);
    assert!(reports.count() > 100);
}
