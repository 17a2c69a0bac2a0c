use super::common::*;
#[test]
fn explore_bbr() {
    let output = run_one(&[
        ("duration", "40 s"),
        ("links.down.rate", "20 Mbit/s"),
        ("links.down.delay", "20 ms"),
        ("links.up.delay", "20 ms"),
        ("links.down.queue.packets", "1000"),
        ("record.series_interval", "1 ms"),
        ("flows.f.sender.congestion_control", "bbr-linux"),
        ("flows.f.receiver.tcp.min_delayed_ack", "40 ms"),
        ("flows.f.receiver.tcp.max_delayed_ack", "200 ms"),
    ]);
    let rate = series(&output, "pacing_rate_mbps");
    let phase = series(&output, "phase");
    let fl = series(&output, "in_flight_bytes");
    let m = series(&output, "min_rtt_ms");
    let mut last = (0.0, -1.0, -1.0);
    for (i, &(t, r)) in rate.iter().enumerate() {
        let ph = value_at(&phase, t);
        let g = r / (0.99 * 20.0 * 1448.0 / 1500.0);
        if (g - last.1).abs() > 0.005 || ph != last.2 {
            if t < 1.5 || ph != 5.0 || last.2 != 5.0 {
                eprintln!(
                    "{t:.3} after {:.3}: gain {g:.4} phase {ph} inflight {} minrtt {}",
                    t - last.0,
                    value_at(&fl, t) / PAYLOAD,
                    value_at(&m, t)
                );
            }
            last = (t, g, ph);
        }
        let _ = i;
    }
}
