//! Cost of a process of a run: CPU time, from `wait4(2)`.

use rustix::process::Pid;
use serde::Serialize;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// CPU time of a process and of those of its descendants that it has waited for. The sum has the precision of
/// the scheduler's clock; most kernels sample its division into user and system (`kernel/sched/cputime.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuTime {
    /// User time in seconds.
    #[serde(rename = "cpu_user_s")]
    pub user_s: f64,
    /// System time in seconds.
    #[serde(rename = "cpu_system_s")]
    pub system_s: f64,
}

/// Reaps a child, waiting for it if `wait`; `None` if it has not ended, or is no longer a child.
pub fn reap(pid: Pid, wait: bool) -> Option<(ExitStatus, CpuTime)> {
    let options = if wait { 0 } else { libc::WNOHANG };
    loop {
        let mut status = 0;
        let mut usage = libc::rusage::default();
        #[expect(
            unsafe_code,
            reason = "neither rustix nor the standard library tells the usage of one child"
        )]
        // both pointers are to variables of this block, which outlive the call
        let taken =
            unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, options, &raw mut usage) };
        match taken {
            0 => return None,
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return None,
            _ => {
                let cpu = CpuTime { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) };
                return Some((ExitStatus::from_raw(status), cpu));
            }
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
#[expect(clippy::zombie_processes, reason = "taking their end is what is tested")]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_end_is_taken_once_with_what_it_cost() {
        let child = Command::new("sh").args(["-c", "exit 3"]).spawn().expect("there is a shell");
        let pid = Pid::from_child(&child);
        let (status, cpu) = reap(pid, true).expect("it is a child");
        assert_eq!(status.code(), Some(3));
        assert!(cpu.user_s >= 0.0 && cpu.system_s >= 0.0 && cpu.user_s + cpu.system_s < 60.0, "{cpu:?}");
        assert_eq!(reap(pid, true), None);
    }

    #[test]
    fn one_that_goes_on_has_no_end() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("there is sleep");
        let pid = Pid::from_child(&child);
        assert_eq!(reap(pid, false), None);
        child.kill().expect("it is there");
        let (status, _) = reap(pid, true).expect("it is a child");
        assert_eq!(status.signal(), Some(9));
    }
}
