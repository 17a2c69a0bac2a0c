//! Effects of a path on packets.

use quiclab_core::{Duration, RandomStream, Time};

/// Path that loses, duplicates, delays, reorders and stalls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
    pub(crate) delay: Duration,
    /// Maximum additional delay of a packet, which reorders.
    pub(crate) jitter: Duration,
    /// Time from the start of one stall to that of the next, and its length; nothing arrives meanwhile.
    pub(crate) stalls: Option<(Duration, Duration)>,
}

impl Path {
    pub(crate) fn draw(random: &mut RandomStream) -> Self {
        let mut maybe = |probability: f64, most: f64| {
            if random.uniform() < probability { random.uniform() * most } else { 0.0 }
        };
        let millis = |value: f64| Duration::from_nanos_f64(value * 1e6);
        let stalled = maybe(0.2, 3000.0);
        Self {
            loss: maybe(0.7, 0.3),
            duplication: maybe(0.5, 0.2),
            delay: millis(1.0 + maybe(1.0, 150.0)),
            jitter: millis(maybe(0.6, 80.0)),
            stalls: (stalled > 0.0).then(|| (millis(2.0 * stalled + 500.0), millis(stalled))),
        }
    }

    /// Arrival times of the copies of a packet sent now; none if it is lost.
    pub(crate) fn arrivals(&self, now: Time, random: &mut RandomStream) -> Vec<Time> {
        let copies = 1 + u32::from(random.uniform() < self.duplication);
        let mut arrivals = Vec::new();
        for _ in 0..copies {
            if random.uniform() < self.loss {
                continue;
            }
            let jitter = self.jitter.as_nanos() as f64 * random.uniform();
            arrivals.push(self.after_stall(now + self.delay + Duration::from_nanos_f64(jitter)));
        }
        arrivals
    }

    /// Moves an arrival during a stall to its end.
    fn after_stall(&self, arrival: Time) -> Time {
        let Some((period, length)) = self.stalls else { return arrival };
        let into = arrival.as_nanos() % period.as_nanos();
        if into < length.as_nanos() {
            Time::from_nanos(arrival.as_nanos() - into + length.as_nanos())
        } else {
            arrival
        }
    }
}

/// Draws one of `choices`.
pub(crate) fn pick<T: Copy>(random: &mut RandomStream, choices: &[T]) -> T {
    choices[(random.bits() % choices.len() as u64) as usize]
}
