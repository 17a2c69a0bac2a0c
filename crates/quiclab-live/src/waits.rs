//! What the loop of a run waits for: devices, the next deadline, the ends of programs, a request to stop.

use crate::error::LiveError;
use quiclab_core::Duration;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// What woke the loop, besides the number of an element: a request to stop.
pub const STOP: u64 = u64::MAX;
/// A program has ended.
pub const PROGRAM: u64 = u64::MAX - 1;

/// An epoll whose waits end to the nanosecond (`epoll_pwait2`, Linux 5.11).
pub struct EventWaiter(OwnedFd);

impl EventWaiter {
    /// Waits for `requests`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new(requests: &UnixStream) -> Result<Self, LiveError> {
        let waits = Self(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        waits.add(requests, STOP)?;
        Ok(waits)
    }

    /// Also waits until `source` can be read; `data` is what the event says then.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add(&self, source: impl AsFd, data: u64) -> Result<(), LiveError> {
        Ok(epoll::add(&self.0, source, epoll::EventData::new_u64(data), epoll::EventFlags::IN)?)
    }

    /// Waits for `source` no more.
    pub fn remove(&self, source: impl AsFd) {
        // it may be gone
        let _ = epoll::delete(&self.0, source);
    }

    /// Waits until something comes, `longest` at most; not at all if that is zero.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wait(&self, longest: Duration, events: &mut Vec<epoll::Event>) -> Result<(), LiveError> {
        const SECOND: u64 = 1_000_000_000;
        events.clear();
        let nanoseconds = longest.as_nanos();
        let timeout =
            Timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 };
        match epoll::wait(&self.0, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
