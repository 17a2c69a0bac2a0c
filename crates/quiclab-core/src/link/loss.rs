//! Loss of a link, before its queue.
//!
//! Independent losses, the two-state model of Gilbert (1960) and Elliott (1963), or a list.
//! The Gilbert-Elliott model starts in the good state and may change it before each packet, then
//! draws the loss with the probability of the new state. `netem loss gemodel` draws in the same
//! order but takes the probability of the state before the change: its losses come one packet later.

use crate::link::Loss;
use crate::random::RandomStream;
use crate::units::Probability;

/// Decides on the loss of each arriving packet in turn.
#[derive(Debug)]
pub(super) enum LossModel {
    /// All packets pass.
    None,
    /// Each packet is lost with the same probability, or with that of the conditions at its arrival.
    Independent { probability: Probability, random: RandomStream },
    /// Two states.
    GilbertElliott(GilbertElliott),
    /// Exactly these arrivals.
    Listed(Listed),
}

#[derive(Debug)]
pub(super) struct GilbertElliott {
    good_to_bad: Probability,
    bad_to_good: Probability,
    loss_in_good: Probability,
    loss_in_bad: Probability,
    bad: bool,
    random: RandomStream,
}

#[derive(Debug)]
pub(super) struct Listed {
    /// Numbers of future arrivals to be lost, descending.
    remaining: Vec<u64>,
    /// Number of the next arrival.
    next_arrival: u64,
}

impl LossModel {
    /// Creates the model of `config`; `random` is its own stream.
    pub(super) fn new(config: Option<&Loss>, random: RandomStream) -> Self {
        match config {
            None => Self::None,
            Some(Loss::Independent { probability }) => {
                Self::Independent { probability: *probability, random }
            }
            Some(Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad }) => {
                Self::GilbertElliott(GilbertElliott {
                    good_to_bad: *good_to_bad,
                    bad_to_good: *bad_to_good,
                    loss_in_good: *loss_in_good,
                    loss_in_bad: *loss_in_bad,
                    bad: false,
                    random,
                })
            }
            Some(Loss::Listed { packets }) => {
                let mut remaining = packets.clone();
                remaining.sort_unstable_by(|a, b| b.cmp(a));
                remaining.dedup();
                Self::Listed(Listed { remaining, next_arrival: 0 })
            }
        }
    }

    /// Creates losses with a probability that conditions set; `random` is their own stream.
    pub(super) fn following(random: RandomStream) -> Self {
        Self::Independent { probability: Probability::ZERO, random }
    }

    /// Sets the probability from now on, if losses are independent.
    pub(super) fn set(&mut self, now: Probability) {
        if let Self::Independent { probability, .. } = self {
            *probability = now;
        }
    }

    /// Whether the packet that arrives now is lost. To be called once for each arrival.
    pub(super) fn loses_next(&mut self) -> bool {
        match self {
            Self::None => false,
            Self::Independent { probability, random } => random.chance(*probability),
            Self::GilbertElliott(model) => model.loses_next(),
            Self::Listed(list) => list.loses_next(),
        }
    }
}

impl GilbertElliott {
    fn loses_next(&mut self) -> bool {
        let change = if self.bad { self.bad_to_good } else { self.good_to_bad };
        self.bad ^= self.random.chance(change);
        self.random.chance(if self.bad { self.loss_in_bad } else { self.loss_in_good })
    }
}

impl Listed {
    fn loses_next(&mut self) -> bool {
        let lost = self.remaining.last() == Some(&self.next_arrival);
        if lost {
            self.remaining.pop();
        }
        self.next_arrival += 1;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(config: &Loss) -> LossModel {
        LossModel::new(Some(config), RandomStream::new(11, "link.loss"))
    }

    fn probability(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    #[test]
    fn listed_packets_are_lost_and_no_other() {
        let mut loss = model(&Loss::Listed { packets: vec![7, 0, 3, 3, 4] });
        let lost: Vec<u64> = (0..20).filter(|_| loss.loses_next()).collect();
        assert_eq!(lost, [0, 3, 4, 7]);
    }

    #[test]
    fn certain_and_impossible_losses() {
        for (value, expected) in [(0.0, 0), (1.0, 1000)] {
            let mut loss = model(&Loss::Independent { probability: probability(value) });
            assert_eq!((0..1000).filter(|_| loss.loses_next()).count(), expected);
        }
    }

    #[test]
    fn independent_rate_is_within_five_standard_errors() {
        let (p, n) = (0.02, 500_000);
        let mut loss = model(&Loss::Independent { probability: probability(p) });
        let lost = (0..n).filter(|_| loss.loses_next()).count() as f64;
        let error = libm::sqrt(p * (1.0 - p) / f64::from(n));
        assert!((lost / f64::from(n) - p).abs() < 5.0 * error);
    }

    #[test]
    fn gilbert_elliott_rate_and_burst_length_are_within_five_standard_errors() {
        let (p, r, n) = (0.01, 0.25, 1_000_000);
        let mut loss = model(&Loss::GilbertElliott {
            good_to_bad: probability(p),
            bad_to_good: probability(r),
            loss_in_good: probability(0.0),
            loss_in_bad: probability(1.0),
        });
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for _ in 0..n {
            let now = loss.loses_next();
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        let bad = p / (p + r);
        // the mean of a two-state Markov chain with the eigenvalue 1 - p - r
        let eigenvalue = 1.0 - p - r;
        let error = libm::sqrt(bad * (1.0 - bad) / f64::from(n) * (1.0 + eigenvalue) / (1.0 - eigenvalue));
        assert!((f64::from(lost) / f64::from(n) - bad).abs() < 5.0 * error);
        // burst lengths are geometric with mean 1/r and variance (1 - r)/r^2
        let error = libm::sqrt((1.0 - r) / (r * r) / f64::from(bursts));
        assert!((f64::from(lost) / f64::from(bursts) - 1.0 / r).abs() < 5.0 * error);
    }

    #[test]
    fn gilbert_elliott_loses_with_the_probability_of_the_state() {
        // the state alternates with each packet, the first being bad: every other packet is at risk
        let mut loss = model(&Loss::GilbertElliott {
            good_to_bad: probability(1.0),
            bad_to_good: probability(1.0),
            loss_in_good: probability(0.0),
            loss_in_bad: probability(0.5),
        });
        let n = 100_000;
        let lost: Vec<u32> = (0..n).filter(|_| loss.loses_next()).collect();
        assert!(lost.iter().all(|number| number % 2 == 0));
        let at_risk = f64::from(n) / 2.0;
        assert!((lost.len() as f64 / at_risk - 0.5).abs() < 5.0 * libm::sqrt(0.25 / at_risk));
    }
}
