//! The machine's clock, and lateness relative to it.

use crate::command::succeed;
use crate::job::Clock;
use hdrhistogram::Histogram;
use quiclab_core::{Duration, Time};
use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::Serialize;

/// A multiple of the kernel's tick at 100, 250 and 1000 Hz.
const TICK_NS: u64 = 20_000_000;

/// Maximum lateness that is distinguished: a minute.
const MAX_NS: u64 = 60_000_000_000;

/// Duration of busy waiting before a deadline instead of sleep: timers are late by less.
const BUSY: Duration = Duration::from_micros(80);
/// Duration of busy waiting in a real-time class.
const BUSY_REAL_TIME: Duration = Duration::from_micros(12);

/// CLOCK_MONOTONIC, counted from the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    epoch_ns: u64,
    stands_still: bool,
}

impl MachineClock {
    /// Creates a clock that shows 0 now; a virtual one does not advance during computations, unless system
    /// calls take time.
    ///
    /// A virtual one begins with a tick of the kernel: timestamps of TCP and timers in jiffies then change at whole
    /// milliseconds of the run, as they do in the simulation.
    #[must_use]
    pub fn start(kind: Clock, syscall_cost_ns: u64) -> Self {
        if kind == Clock::Virtual {
            wait_without_slack();
            let next = (monotonic_ns() / TICK_NS + 1) * TICK_NS;
            let tick =
                Timespec { tv_sec: (next / 1_000_000_000) as i64, tv_nsec: (next % 1_000_000_000) as i64 };
            while clock_nanosleep_absolute(ClockId::Monotonic, &tick) == Err(Errno::INTR) {}
        }
        Self { epoch_ns: monotonic_ns(), stands_still: kind == Clock::Virtual && syscall_cost_ns == 0 }
    }

    /// Time at which an event due at `due` is handled: on a virtual clock `due` itself, without a query (each one
    /// is a system call there).
    #[must_use]
    pub fn by_now(&self, due: Time) -> Time {
        if self.stands_still { due } else { self.now() }
    }

    /// Time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic_ns() - self.epoch_ns)
    }

    /// Time of the machine's clock at the start, in nanoseconds.
    #[must_use]
    pub fn epoch_ns(&self) -> u64 {
        self.epoch_ns
    }
}

/// Time of CLOCK_MONOTONIC, in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Gives the calling thread priority over all other programs of the machine: a late timer is a measurement
/// error. Without the privilege this has no effect, and the lateness shows it.
///
/// With a single CPU, the priority is unchanged: the thread may be always busy, and programs need CPU time.
///
/// Returns the time before a deadline during which the thread must not sleep, which is the lateness of its timers. In a
/// real-time class it is short, and must be: the kernel stops threads of such a class for 50 ms once they have not slept
/// for a second (`sched_rt_runtime_us`).
#[must_use]
pub fn busy_wait_threshold() -> Duration {
    let others_can_run = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    if others_can_run && enter_real_time_class() { BUSY_REAL_TIME } else { BUSY }
}

/// Makes waits of the calling thread exact to the nanosecond, for a clock that is frozen while programs compute: in
/// other classes than a real-time one, the kernel adds a slack of 50 us or a thousandth of the wait to each
/// (`select_estimate_accuracy`), so that packets would leave the elements late and in groups.
pub fn wait_without_slack() {
    enter_real_time_class();
}

/// Moves the calling thread, but not the processes that it starts later, into a real-time class. Returns whether the
/// machine permits it.
fn enter_real_time_class() -> bool {
    // there is no other interface without unsafe code
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    succeed("chrt", &["--reset-on-fork", "--rr", "--pid", "1", &thread]).is_ok()
}

/// Distribution of the lateness of packets.
#[derive(Debug)]
pub struct Lateness(Histogram<u32>);

impl Default for Lateness {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, MAX_NS, 2).expect("bounds and digits are constants that it takes"))
    }
}

/// Summary of a [`Lateness`].
#[derive(Clone, Debug, Serialize)]
pub struct LatenessSummary {
    /// Number of packets.
    pub packets: u64,
    /// Median of the lateness, in milliseconds.
    pub median_ms: f64,
    /// 95th percentile, in milliseconds.
    pub p95_ms: f64,
    /// 99.9th percentile, in milliseconds.
    pub p999_ms: f64,
    /// Maximum, in milliseconds.
    pub largest_ms: f64,
}

impl Lateness {
    /// Adds a packet.
    pub fn add(&mut self, late: Duration) {
        self.0.saturating_record(late.as_nanos());
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0 += &other.0;
    }

    /// Quantiles, each within 1 % of its value.
    #[must_use]
    pub fn summary(&self) -> LatenessSummary {
        let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        LatenessSummary {
            packets: self.0.len(),
            median_ms: ms(self.0.value_at_quantile(0.5)),
            p95_ms: ms(self.0.value_at_quantile(0.95)),
            p999_ms: ms(self.0.value_at_quantile(0.999)),
            largest_ms: ms(self.0.max()),
        }
    }
}
