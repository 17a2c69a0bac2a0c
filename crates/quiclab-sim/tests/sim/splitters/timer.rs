//! t-Reordering in whole runs: gaps given up immediately, and after the skew of the links.

use super::common::*;

#[test]
fn a_timer_of_zero_never_holds_a_packet() {
    let output = run_with(&[("bearers.dc.reordering.timer", "0 ms"), ("record.series_interval", "1 ms")]);
    assert_eq!(statistic(&output, "dc.egress", "waiting_max_ms"), 0.0);
    assert!(statistic(&output, "dc.egress", "skipped_packets") > 0.0);
    assert!(statistic(&output, "dc.egress", "late_packets") > 0.0);
    assert!(series(&output, "dc.egress", "buffered_packets").iter().all(|&packets| packets == 0.0));
    assert_eq!(statistic(&output, "dc.egress", "reordering_timer_ms"), 0.0);
}

/// The second link takes 40 ms longer: gaps stay open for about that long, and losses are given up after 1.5
/// times that instead of 200 ms.
#[test]
fn an_adaptive_timer_follows_the_skew() {
    let adaptive = r#"{ kind = "adaptive" }"#;
    let sets = |timer: &'static str| {
        [
            ("links.down2.delay", "50 ms"),
            ("links.down1.loss", "0.1 %"),
            ("bearers.dc.batch_packets", "10"),
            ("bearers.dc.reordering.timer", timer),
            ("record.series_interval", "10 ms"),
        ]
    };
    let (fixed, output) = (run_with(&sets("200 ms")), run_with(&sets(adaptive)));
    let timer = series(&output, "dc.egress", "reordering_timer_ms");
    assert_eq!(timer[0], 200.0);
    let later = &timer[timer.len() / 2..];
    let mean = later.iter().sum::<f64>() / later.len() as f64;
    println!("timer {mean} ms; goodput {} and {} Mbit/s", goodput(&output), goodput(&fixed));
    assert!((45.0..160.0).contains(&mean), "{mean}");
    assert!(
        statistic(&output, "dc.egress", "late_packets")
            <= 0.002 * statistic(&output, "dc.egress", "received_port0_packets")
    );
    assert!(
        statistic(&output, "dc.egress", "waiting_mean_ms")
            < statistic(&fixed, "dc.egress", "waiting_mean_ms")
    );
    assert!(statistic(&output, "dc.egress", "reordering_timer_least_ms") < 200.0);
}
