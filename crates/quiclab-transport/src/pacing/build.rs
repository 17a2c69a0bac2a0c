//! Construction of a pacer from a scenario's option.

use super::{Even, Fq, FqFlow, LeakyBucket, Linux, Pacer, Quantum, TimeBucket, Timer, Unpaced};
use crate::options::Pacing;

/// Builds the pacer that `pacing` describes, for a sender that hands over packets.
#[must_use]
pub fn build(pacing: &Pacing) -> Box<dyn Pacer> {
    match *pacing {
        Pacing::None => Box::new(Unpaced),
        Pacing::LeakyBucket {
            factor,
            slow_start_factor,
            burst_packets,
            burst_share,
            burst_time,
            idle_burst_packets,
            wait_for_full_burst,
        } => Box::new(
            LeakyBucket::new(factor, burst_packets)
                .with_burst(burst_share, burst_time)
                .with_slow_start(slow_start_factor)
                .with_idle_burst(idle_burst_packets)
                .with_wait_for_full_burst(wait_for_full_burst),
        ),
        Pacing::Even { factor } => Box::new(Even::new(factor)),
        Pacing::Quantum { factor, burst_packets, quantum } => {
            Box::new(Quantum::new(factor, burst_packets, quantum))
        }
        Pacing::TimeBucket { factor, burst_packets, burst_share } => {
            Box::new(TimeBucket::new(factor, burst_packets, burst_share))
        }
        Pacing::Linux { max_rate } => Box::new(Linux::new(max_rate)),
        Pacing::Fq { max_rate } => Box::new(Fq::new(max_rate)),
    }
}

/// Builds the pacer that `pacing` describes, for a sender that hands over whole bursts: for a pacer, Linux'
/// internal pacing and fq are then equal, unless packets have no departure times: then `tcp_header`, in
/// bytes, is paced, too.
#[must_use]
pub fn build_for_bursts(pacing: &Pacing, departure_times: bool, tcp_header: u64) -> Box<dyn Pacer> {
    match *pacing {
        Pacing::Linux { max_rate } if !departure_times => Box::new(Timer::new(max_rate, tcp_header)),
        Pacing::Fq { max_rate } if !departure_times => Box::new(FqFlow::new(max_rate, tcp_header)),
        Pacing::Linux { max_rate } => Box::new(Fq::new(max_rate)),
        _ => build(pacing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{MSS, greedy, input};
    use quiclab_core::{DataRate, Duration, Time};

    /// 12 000 bytes in 100 ms are 960 kbit/s. For each pacer: its rate, and the number of 40 packets that it
    /// releases at once.
    #[test]
    fn each_option_makes_its_pacer() {
        let quantum = Duration::from_millis(1);
        let max_rate = Some(DataRate::from_bits_per_second(500_000));
        for (pacing, kbps, burst) in [
            (Pacing::None, 0, 40),
            (Pacing::leaky_bucket(1.25, 16), 1200, 16),
            (
                Pacing::LeakyBucket {
                    factor: 1.25,
                    slow_start_factor: Some(2.0),
                    burst_packets: 2,
                    burst_share: None,
                    burst_time: None,
                    idle_burst_packets: Some(10),
                    wait_for_full_burst: false,
                },
                1920, // no threshold: slow start
                10,
            ),
            (Pacing::Even { factor: 1.0 }, 960, 1),
            (Pacing::Quantum { factor: 1.25, burst_packets: 12, quantum }, 1200, 12),
            (Pacing::TimeBucket { factor: 1.0, burst_packets: 16, burst_share: 0.25 }, 960, 3),
            (Pacing::Linux { max_rate: None }, 1920, 10),
            (Pacing::Linux { max_rate }, 500, 10),
            (Pacing::Fq { max_rate: None }, 1920, 10),
            (Pacing::Fq { max_rate }, 500, 10),
        ] {
            let mut pacer = build(&pacing);
            pacer.update(Time::ZERO, &input(12_000, 100));
            let rate = pacer.rate().map_or(0, DataRate::bits_per_second);
            assert_eq!(rate, kbps * 1000, "{pacing:?}");
            let sent = greedy(pacer.as_mut(), Time::ZERO, MSS, 40);
            assert_eq!(sent.iter().filter(|time| **time == Time::ZERO).count(), burst, "{pacing:?}");
        }
    }
}
