//! Events that the loop of a run waits for: devices, the next deadline, ends of programs, a request to stop.

use crate::error::LiveError;
use quiclab_core::Duration;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Event of a request to stop; other values are the number of an element.
pub const STOP: u64 = u64::MAX;
/// Event of the end of a program.
pub const PROGRAM: u64 = u64::MAX - 1;

/// An epoll whose waits are exact to the nanosecond (`epoll_pwait2`, Linux 5.11).
pub struct EventWaiter(OwnedFd);

impl EventWaiter {
    /// Creates a waiter for `requests`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new(requests: &UnixStream) -> Result<Self, LiveError> {
        let waits = Self(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        waits.add(requests, STOP)?;
        Ok(waits)
    }

    /// Adds the event that `source` is readable; `data` is its value.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add(&self, source: impl AsFd, data: u64) -> Result<(), LiveError> {
        Ok(epoll::add(&self.0, source, epoll::EventData::new_u64(data), epoll::EventFlags::IN)?)
    }

    /// Removes `source`.
    pub fn remove(&self, source: impl AsFd) {
        // it may be closed already
        let _ = epoll::delete(&self.0, source);
    }

    /// Waits for an event, at most `longest`; not at all if that is zero.
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
