//! Windows of the paths: those of congestion control, with and without a back-off for lost datagrams (section 4.5 of
//! the tunnel thesis).

use super::common::*;
use quiclab_sim::RunOutput;

/// Paths with a `buffer` in packets.
fn with_control(control: &str, backs_off: bool, buffer: &str) -> RunOutput {
    let end = format!(
        r#"{{ congestion_control = "{control}", quic = {{ datagram_back_off = {backs_off} }}, pacing = {{ kind = "none" }} }}"#
    );
    run_with(&[
        ("tunnels.vpn.windows", "[]"),
        ("tunnels.vpn.server", &end),
        ("tunnels.vpn.client", &end),
        ("record.series_interval", "50 ms"),
        ("links.down1.queue.packets", buffer),
        ("links.down2.queue.packets", buffer),
    ])
}

/// A time series of the proxy.
fn series(output: &RunOutput, name: &str) -> Vec<f64> {
    let series = &output.series;
    let element = output.element_names.iter().position(|element| element == "vpn.server");
    let metric = series.metric_names.iter().position(|metric| *metric == name);
    let (element, metric) = (element.expect("it is there") as u32, metric.expect("it is sampled") as u32);
    let mine = |index: &usize| series.element[*index] == element && series.metric[*index] == metric;
    (0..series.value.len()).filter(mine).map(|index| series.value[index]).collect()
}

/// Number of decreases of the window of the first path.
fn reductions(output: &RunOutput) -> usize {
    series(output, "path1_cwnd_bytes").windows(2).filter(|pair| pair[1] < pair[0]).count()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Both grow beyond the capacity of the path and its buffer of 40 packets, so that packets are lost. With back-off that
/// reduces the window; without it the window only grows, and more is in flight than 1.25 bandwidth-delay products.
#[test]
fn without_back_off_the_window_only_grows() {
    for control in ["newreno", "cubic"] {
        let (backs_off, grows) = (with_control(control, true, "40"), with_control(control, false, "40"));
        for output in [&backs_off, &grows] {
            assert!(statistic(output, "vpn.server", "lost_packets") > 0.0, "{control}");
        }
        assert!(reductions(&backs_off) > 0, "{control}");
        assert_eq!(reductions(&grows), 0, "{control}");
        assert!(largest(&series(&grows, "path1_in_flight_bytes")) > WINDOW, "{control}");
    }
}

/// Packets within the window wait in the link, where no discipline distinguishes flows: the ping waits, too.
#[test]
fn the_queue_moves_from_the_tunnel_into_the_path() {
    let (fixed, grows) = (run_with(&[]), with_control("cubic", false, "350"));
    let longest = |output: &RunOutput| statistic(output, "down1", "queue_longest_bytes");
    // a quarter of a bandwidth-delay product waits with windows of 1.25, more than a whole one without a limit
    assert!(longest(&fixed) < 0.5 * WINDOW, "{}", longest(&fixed));
    assert!(longest(&grows) > WINDOW, "{}", longest(&grows));
    let ping = |output: &RunOutput| received(output, "ping", "rtt_ms_mean");
    assert!(ping(&grows) > 1.5 * ping(&fixed), "{} and {}", ping(&grows), ping(&fixed));
}
