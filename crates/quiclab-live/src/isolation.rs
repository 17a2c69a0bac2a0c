//! Isolation of a run: all of its processes end with it, because it is a process in a PID namespace.
//!
//! The kernel kills all processes of a PID namespace when its first one ends, and the first one here ends with
//! the process that started it, even if that is killed. Network namespaces and their devices have no names
//! (see [`crate::namespace`]), so that they disappear with the processes. Thus there is nothing to clean up.

use crate::namespace::unshare;
use crate::process::exit_code;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, getgid, getuid, kill_process, pidfd_open, set_parent_process_death_signal,
};
use rustix::thread::UnshareFlags;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Runs this program again with `arguments` as the first process of new namespaces, and waits for it.
///
/// Without root a user namespace provides the privileges, if the machine allows it.
///
/// # Errors
/// If the kernel refuses namespaces.
pub fn isolated(arguments: &[&OsStr], by_interrupt: bool) -> io::Result<ExitCode> {
    // the run ends with the process that started it, however that ends
    die_with_parent()?;
    let (user, group) = (getuid(), getgid());
    if user.is_root() {
        unshare(UnshareFlags::NEWPID)?;
    } else {
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWPID)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
        std::fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))?;
    }
    let requests = stop_requests(by_interrupt)?;
    // only this process has the writing end: it closes with the process, however that ends
    let (lifeline, _held) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfd(&lifeline, FdFlags::empty())?;
    let option = format!("--lifeline={}", lifeline.as_raw_fd());
    let mut child = Command::new(std::env::current_exe()?).args(arguments).arg(option).spawn()?;
    let pid = Pid::from_child(&child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let mut told = false;
    loop {
        let mut events = [PollFd::new(&pidfd, PollFlags::IN), PollFd::new(&requests, PollFlags::IN)];
        match poll(if told { &mut events[..1] } else { &mut events }, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !told && events[1].revents().contains(PollFlags::IN) {
            let _ = kill_process(pid, Signal::TERM);
            told = true;
        }
        if let Some(status) = child.try_wait()? {
            return Ok(ExitCode::from(exit_code(status)));
        }
    }
}

/// Ends the calling process with the one that started it, which holds the writing end of the pipe `lifeline`.
///
/// The kernel's signal at the death of a parent arrives immediately, but not if the parent died before it was
/// requested, and the first process of a PID namespace cannot see that; the pipe has no such gap.
///
/// # Errors
/// If the kernel refuses it.
pub fn end_with_parent(lifeline: u32) -> io::Result<()> {
    die_with_parent()?;
    let mut pipe = File::open(format!("/proc/self/fd/{lifeline}"))?;
    std::thread::spawn(move || {
        let _ = pipe.read(&mut [0]);
        std::process::exit(1)
    });
    Ok(())
}

fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Returns a stream that is readable after SIGTERM, and after SIGINT if `by_interrupt`: neither ends the
/// process any more. Started programs have the former dispositions.
///
/// # Errors
/// If handlers cannot be installed.
pub fn stop_requests(by_interrupt: bool) -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGTERM, writer.try_clone()?)?;
    if by_interrupt {
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGINT, writer)?;
    } else {
        // typed at the terminal, these are for the program that uses it
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT] {
            signal_hook::flag::register(signal, Arc::default())?;
        }
    }
    Ok(reader)
}
