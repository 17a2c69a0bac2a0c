//! On and off: the client requests a burst, waits for all of it and for a think time, and requests the next,
//! on one connection.
//!
//! An on period is as long as the network needs for the burst; think times are exponentially distributed,
//! without the heavy tail of Barford and Crovella, "Generating Representative Web Workloads for Network and
//! Server Performance Evaluation" (SIGMETRICS 1998). After `duration` no further burst is requested; the
//! current one is completed.

use quiclab_core::{Duration, RandomStream, Time};

/// Think times between bursts.
pub(super) struct ThinkTimes {
    mean: Duration,
    /// Time after which no burst is requested.
    end: Time,
    random: RandomStream,
}

impl ThinkTimes {
    pub(super) fn new(mean: Duration, end: Time, random: RandomStream) -> Self {
        Self { mean, end, random }
    }

    /// Whether no further burst is requested.
    pub(super) fn is_over(&self, now: Time) -> bool {
        now >= self.end
    }

    /// Draws a think time that begins at `now`; returns its end.
    pub(super) fn draw(&mut self, now: Time) -> Time {
        let share = -libm::log(1.0 - self.random.uniform());
        (now + Duration::from_nanos((self.mean.as_nanos() as f64 * share) as u64)).min(self.end.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    /// The mean of an exponential distribution; of 4000 draws its standard error is 1.6 %.
    #[test]
    fn think_times_have_their_mean() {
        let end = ms(u64::MAX / 2_000_000);
        let mut times = ThinkTimes::new(Duration::from_millis(50), end, RandomStream::new(1, "workload"));
        let resumed = (0..4000).fold(ms(0), |now, _| times.draw(now));
        let mean = resumed.since(ms(0)).as_ms_f64() / 4000.0;
        assert!((mean / 50.0 - 1.0).abs() < 0.05, "{mean} ms");
    }
}
