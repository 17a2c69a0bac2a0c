//! Construction of a policy from a scenario's option.

use super::{AckPolicy, Every, Frequency, RttFraction, Timer};
use crate::options::Acknowledgement;

/// Builds the policy that `acknowledgement` describes, for a space whose packets may wait.
#[must_use]
pub fn build(acknowledgement: &Acknowledgement) -> Box<dyn AckPolicy> {
    match *acknowledgement {
        Acknowledgement::Every { packets, delay } => Box::new(Every::new(packets, delay)),
        Acknowledgement::Timer { delay } => Box::new(Timer::new(delay)),
        Acknowledgement::RttFraction { fraction, packets, delay, from_packet: 0 } => {
            Box::new(RttFraction::new(fraction, packets, delay))
        }
        Acknowledgement::RttFraction { fraction, packets, delay, from_packet } => {
            Box::new(RttFraction::new(fraction, packets, delay).decimating_from(from_packet))
        }
        Acknowledgement::AsRequested { delay } => Box::new(Frequency::new(delay)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledgement::testing::{arrival, ms};
    use crate::acknowledgement::{AckRequest, Arrival};
    use quiclab_core::{Duration, Time};

    const DELAY: Duration = Duration::from_millis(20);

    /// Due times of the acknowledgement after each of the packets `from..`, which arrive at 0 ms with srtt 40
    /// ms.
    fn dues(option: Acknowledgement, from: u64) -> [u64; 5] {
        let mut policy = build(&option);
        let mut number = from;
        [(); 5].map(|()| {
            policy.on_arrival(&Arrival { srtt: Some(Duration::from_millis(40)), ..arrival(0, number) });
            number += 1;
            let due = policy.due().expect("a packet waits");
            if due == Time::ZERO {
                policy.on_ack_sent(due);
            }
            due.since(Time::ZERO).as_nanos() / 1_000_000
        })
    }

    /// A half of 40 ms is 20 ms, a quarter 10 ms.
    #[test]
    fn each_option_makes_its_policy() {
        assert_eq!(dues(Acknowledgement::Every { packets: 3, delay: DELAY }, 0), [20, 20, 0, 20, 20]);
        assert_eq!(dues(Acknowledgement::Timer { delay: DELAY }, 0), [20; 5]);
        let fraction = |from_packet| Acknowledgement::RttFraction {
            fraction: 0.25,
            packets: 4,
            delay: DELAY,
            from_packet,
        };
        assert_eq!(dues(fraction(0), 0), [10, 10, 10, 0, 10]);
        assert_eq!(dues(fraction(100), 98), [20, 0, 10, 10, 10]);
        assert_eq!(dues(Acknowledgement::AsRequested { delay: DELAY }, 0), [20, 0, 20, 0, 20]);
    }

    #[test]
    fn decimation_has_a_shortest_delay() {
        let option = |from_packet| Acknowledgement::RttFraction {
            fraction: 0.25,
            packets: 4,
            delay: DELAY,
            from_packet,
        };
        for (from_packet, due_us) in [(0, 500), (50, 1000)] {
            let mut policy = build(&option(from_packet));
            policy.on_arrival(&Arrival { srtt: Some(Duration::from_millis(2)), ..arrival(0, 70) });
            assert_eq!(policy.due(), Some(Time::ZERO + Duration::from_micros(due_us)));
        }
    }

    #[test]
    fn as_requested_takes_requests() {
        let mut policy = build(&Acknowledgement::AsRequested { delay: DELAY });
        policy.on_request(
            ms(0),
            &AckRequest {
                sequence: 0,
                ack_eliciting_threshold: 10,
                max_ack_delay: Duration::from_millis(7),
                reordering_threshold: 1,
            },
        );
        policy.on_arrival(&arrival(1, 0));
        policy.on_arrival(&arrival(1, 1));
        assert_eq!(policy.due(), Some(ms(8)));
    }
}
