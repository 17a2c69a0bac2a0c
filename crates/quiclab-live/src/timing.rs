//! The machine's clock, and how late things were by it.

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

/// Longest lateness told apart: a minute.
const MAX_NS: u64 = 60_000_000_000;

/// Before a deadline the machine is asked over and over for so long instead of slept: timers are late by less.
const BUSY: Duration = Duration::from_micros(80);
/// The same in a real-time class.
const BUSY_REAL_TIME: Duration = Duration::from_micros(12);

/// CLOCK_MONOTONIC, counted from the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    epoch_ns: u64,
    stands_still: bool,
}

impl MachineClock {
    /// A clock that shows 0 now; a virtual one does not advance during computations, unless system calls
    /// take time there.
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

    /// What the clock shows while something is done that was due at `due`: a virtual clock no more than that, and
    /// no query is needed (each query is a system call there).
    #[must_use]
    pub fn by_now(&self, due: Time) -> Time {
        if self.stands_still { due } else { self.now() }
    }

    /// Time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic_ns() - self.epoch_ns)
    }

    /// What the machine's clock showed at the start, in nanoseconds.
    #[must_use]
    pub fn epoch_ns(&self) -> u64 {
        self.epoch_ns
    }
}

/// What CLOCK_MONOTONIC shows, in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Puts the calling thread before all other programs of the machine: a timer that is late is an error of the
/// measurement. Without the right to do so nothing happens, and the lateness tells.
///
/// Where there is one CPU only, it stays among the others: it may be busy all the time, and programs need some.
///
/// Gives how long before a deadline the thread must not sleep any more: so late its timers are. In a real-time class that
/// is little, and must be: the kernel stops threads of such a class for 50 ms once they have not slept for a second
/// (`sched_rt_runtime_us`).
#[must_use]
pub fn busy_wait_threshold() -> Duration {
    let others_can_run = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    if others_can_run && enter_real_time_class() { BUSY_REAL_TIME } else { BUSY }
}

/// Lets the waits of the calling thread end to the nanosecond, where the clock is frozen while programs compute: in
/// other classes than a real-time one, the kernel adds a slack of 50 us or a thousandth of the wait to each
/// (`select_estimate_accuracy`), so that packets would leave the elements late and in groups.
pub fn wait_without_slack() {
    enter_real_time_class();
}

/// Puts the calling thread, not what it starts from now on, into a real-time class. Returns whether the machine lets it.
fn enter_real_time_class() -> bool {
    // there is no other interface without unsafe code
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    succeed("chrt", &["--reset-on-fork", "--rr", "--pid", "1", &thread]).is_ok()
}

/// How late packets left, against their time.
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
    /// Half of them were at most so late, in milliseconds.
    pub median_ms: f64,
    /// 95 % of them.
    pub p95_ms: f64,
    /// 99.9 % of them.
    pub p999_ms: f64,
    /// The latest.
    pub largest_ms: f64,
}

impl Lateness {
    /// One more packet.
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
