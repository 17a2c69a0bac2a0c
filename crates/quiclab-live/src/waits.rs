//! What the loop of a run waits for: devices, the next deadline, the ends of programs, a request to stop.

use crate::run::LiveError;
use crate::timing::monotonic_ns;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// What woke the loop, besides the number of an element.
pub const TIMER: u64 = u64::MAX;
/// A request to stop.
pub const STOP: u64 = u64::MAX - 1;
/// A program has ended.
pub const PROGRAM: u64 = u64::MAX - 2;

/// An epoll with a timer.
pub struct Waits {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// When the timer is set to fire, in nanoseconds of the machine's clock.
    set_to: u64,
}

impl Waits {
    /// Waits for `requests` and the timer.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new(requests: &UnixStream) -> Result<Self, LiveError> {
        let waits = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?,
            set_to: 0,
        };
        waits.add(&waits.timer, TIMER)?;
        waits.add(requests, STOP)?;
        Ok(waits)
    }

    /// Also waits until `source` can be read; `data` is what the event says then.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add(&self, source: impl AsFd, data: u64) -> Result<(), LiveError> {
        Ok(epoll::add(&self.epoll, source, epoll::EventData::new_u64(data), epoll::EventFlags::IN)?)
    }

    /// Waits for `source` no more.
    pub fn remove(&self, source: impl AsFd) {
        // it may be gone
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Waits until `deadline_ns` of the machine's clock or something comes; `None` does not sleep at all.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wait(
        &mut self,
        deadline_ns: Option<u64>,
        events: &mut Vec<epoll::Event>,
    ) -> Result<(), LiveError> {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        events.clear();
        // a timer that fired stays readable until it is set again
        if let Some(at) = deadline_ns.filter(|&at| at != self.set_to || self.set_to <= monotonic_ns()) {
            let it_value =
                Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as i64 };
            let spec = Itimerspec { it_interval: NOW, it_value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)?;
            self.set_to = at;
        }
        let timeout = deadline_ns.is_none().then_some(&NOW);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), timeout) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
