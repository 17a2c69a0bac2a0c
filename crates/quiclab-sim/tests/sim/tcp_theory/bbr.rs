//! BBR version 1 of Linux compared with its description: Cardwell, Cheng, Gunn, Yeganeh, Jacobson: "BBR:
//! Congestion-Based Congestion Control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00 sections
//! 4.3.3 to 4.3.5; net/ipv4/tcp_bbr.c for 99 % of the bandwidth and for the quanta.
//!
//! One flow on a link of 20 Mbit/s with a minimum RTT of 40 ms and a queue that never fills.

use super::common::*;
use quiclab_sim::RunOutput;

const RATE_MBPS: f64 = 20.0;
const RTT: f64 = 0.04;
/// Step of the series in seconds.
const STEP: f64 = 0.001;
/// `phase` of the series.
const STARTUP: f64 = 3.0;
const DRAIN: f64 = 4.0;
const PROBE_BW: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;
/// Segments in a release: 2^-10 s at the rate are 1.6 segments, the minimum is two.
const QUANTUM: f64 = 2.0;

/// Packets per second of the link.
fn rate() -> f64 {
    RATE_MBPS * 1e6 / (PACKET * 8.0)
}

fn bdp() -> f64 {
    rate() * RTT
}

fn output() -> RunOutput {
    let output = run_one(&[
        ("duration", "45 s"),
        ("links.down.rate", "20 Mbit/s"),
        ("links.down.delay", "20 ms"),
        ("links.up.delay", "20 ms"),
        ("record.series_interval", "1 ms"),
        ("flows.f.sender.congestion_control", "bbr-linux"),
    ]);
    assert_eq!(sender(&output, "lost_packets"), 0.0);
    output
}

/// A period with constant gain and phase.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Pacing rate over 99 % of the payload rate of the link.
    gain: f64,
    phase: f64,
    start: f64,
    end: f64,
}

impl Stretch {
    fn length(&self) -> f64 {
        self.end - self.start
    }
}

/// All stretches from the end of startup to the beginning of the last, which the end of the run truncates.
fn stretches(output: &RunOutput) -> Vec<Stretch> {
    let (rates, phases) = (series(output, "pacing_rate_mbps"), series(output, "phase"));
    let unit = 0.99 * RATE_MBPS * PAYLOAD / PACKET;
    let mut all: Vec<Stretch> = Vec::new();
    for &(time, rate) in &rates {
        let (gain, phase) = (rate / unit, value_at(&phases, time));
        match all.last_mut() {
            Some(last) if last.phase == phase && (phase == STARTUP || (last.gain - gain).abs() < 0.02) => {
                last.end = time + STEP;
            }
            _ => all.push(Stretch { gain, phase, start: time, end: time + STEP }),
        }
    }
    all.pop();
    all.retain(|stretch| stretch.phase != STARTUP && stretch.phase != 0.0);
    all
}

/// Section 4.3.4.2: 5/4 to probe for more, 3/4 to drain the resulting queue, six times 1, "each phase normally lasts
/// for roughly BBR.RTprop".
///
/// The gain of 1: six phases, each until the first ACK more than an RTT later; ACKs are a packet apart. That of 3/4: at
/// most as long, and at least half, since a quarter of the BDP is to be drained at a quarter of the rate and the
/// rounding of the target (see below) may take up to half of that. That of 5/4 lasts until 5/4 of the BDP and the
/// budget of the quanta, 3 quanta and the rounding to an even number and two more in this phase, are in flight, which a
/// quarter of the rate fills.
#[test]
fn the_gain_cycles_in_round_trips() {
    let output = output();
    let between_acks = 1.0 / rate() + STEP;
    let cruise = 6.0 * RTT..=6.0 * (RTT + 2.0 * between_acks);
    let drain = 0.5 * RTT..=RTT + 2.0 * between_acks;
    let budget = 3.0 * QUANTUM + 1.0 + 2.0;
    let probe = RTT..=RTT + budget / (0.25 * rate()) + 2.0 * between_acks;
    let mut cycles = 0;
    // a cycle truncated by PROBE_RTT or the start, or begun by the exit from it, is incomplete
    for four in stretches(&output).windows(5).filter(|all| all.iter().all(|s| s.phase == PROBE_BW)) {
        let [_, up, down, level, _] = four else { unreachable!("windows of five") };
        if (up.gain - 1.25).abs() > 0.02 {
            continue;
        }
        assert!((down.gain - 0.75).abs() < 0.01 && (level.gain - 1.0).abs() < 0.01, "{down:?} {level:?}");
        assert!(probe.contains(&up.length()), "{up:?}: {probe:?}");
        assert!(drain.contains(&down.length()), "{down:?}: {drain:?}");
        assert!(cruise.contains(&level.length()), "{level:?}: {cruise:?}");
        cycles += 1;
    }
    // 45 s less about five for the rest, in cycles of at most 9 or 10 RTT
    assert!(f64::from(cycles) > 40.0 / (10.0 * RTT) * 0.8, "{cycles}");
    for stretch in stretches(&output).iter().filter(|stretch| stretch.phase == PROBE_BW) {
        assert!([0.75, 1.0, 1.25].iter().any(|gain| (stretch.gain - gain).abs() < 0.01), "{stretch:?}");
    }
}

/// Section 4.3.3: DRAIN continues at 1 / 2.885 of the rate until no more than the BDP is in flight: in Linux as of the
/// next departure, which is a quantum at that rate later, and with the budget of three quanta, made even.
#[test]
fn drain_ends_with_a_bdp_in_flight() {
    let output = output();
    let (phases, flight) = (series(&output, "phase"), series(&output, "in_flight_bytes"));
    let all = stretches(&output);
    let drain = all.iter().find(|stretch| stretch.phase == DRAIN).expect("it drains");
    assert!((drain.gain - 88.0 / 256.0).abs() < 0.01, "{drain:?}");
    let at = |time: f64| value_at(&flight, time) / PAYLOAD;
    // in startup 2.885 BDP and as many budgets were permitted: there was a queue to drain
    assert!(at(drain.start) > 2.0 * bdp());
    assert_eq!(value_at(&phases, drain.end), PROBE_BW);
    let departure = QUANTUM * 256.0 / 88.0;
    let most = bdp() + 3.0 * QUANTUM + 2.0 + departure;
    let sampled = STEP * rate() + 1.0;
    let left = at(drain.end);
    assert!(left <= most + sampled && left >= bdp() - sampled, "{left} of {most}");
}

/// Section 4.3.5: 10 s after the last minimum RTT, four packets for at least 200 ms and a round trip. After it the
/// estimate counts as new. While the window fills again, in the next few round trips, the queue is empty and the same
/// RTT may occur once more.
#[test]
fn the_smallest_rtt_is_probed_every_ten_seconds() {
    let output = output();
    let flight = series(&output, "in_flight_bytes");
    let windows = windows(&output);
    let all = stretches(&output);
    let probes = all.iter().filter(|stretch| stretch.phase == PROBE_RTT).collect::<Vec<_>>();
    assert_eq!(probes.len(), 4, "once in ten seconds and a bit, four times in 45 s");
    let mut before = 0.0;
    for probe in probes {
        // before the first, the minimum RTT occurred in the handshake or in the first round trips of startup
        let waited = probe.start - before;
        let few = 10.0 * RTT;
        assert!(waited >= 10.0 - STEP && waited <= 10.0 + few, "{waited} s");
        before = probe.end;
        // the sample at the end belongs to the next phase
        let inside = |(time, _): &&(f64, f64)| (probe.start..probe.end - STEP / 2.0).contains(time);
        assert!(windows.iter().filter(inside).all(|(_, window)| *window == 4.0));
        let low =
            flight.iter().filter(inside).filter(|(_, bytes)| *bytes <= 4.0 * PAYLOAD).count() as f64 * STEP;
        assert!(low >= 0.2 - 2.0 * STEP, "{low} s with four packets");
        // a round trip to decrease to four, 200 ms, and the rest of the round trip in which they end
        assert!(probe.length() <= 0.2 + 3.0 * RTT, "{probe:?}");
    }
    // the RTT found is that of the empty link
    let found = sender(&output, "min_rtt_ms");
    assert!((40.0..=40.0 + 1e3 / rate()).contains(&found), "{found}");
}
