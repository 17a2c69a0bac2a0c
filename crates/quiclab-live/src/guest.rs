//! The first program of the virtual machine: sets up its file systems, runs one command, powers off.
//!
//! The machine is a User-Mode Linux kernel whose clock is virtual. Its root is the host's root, read-only; the
//! directory of the run is mounted from [`HOST_DIRECTORY`] and is the only part of the host that is written to. The
//! command is read from [`FILE`] there, because the kernel's command line has a limited length and must be the same
//! in all runs; its exit status is written to [`EXIT_FILE`].

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Signal, WaitOptions, kill_process_group, wait};
use rustix::system::{RebootCommand, reboot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Version of the format of the two files.
pub const SCHEMA: &str = "quiclab.guest/1";
/// Path of the directory of the run in the guest.
pub const DIRECTORY: &str = "/run/quiclab/job";
/// Path of that directory on the host, in the mount namespace of the machine.
pub const HOST_DIRECTORY: &str = "/dev/shm/job";
/// File with the task, in the directory of the run.
pub const FILE: &str = "guest.json";
/// File with the exit status.
pub const EXIT_FILE: &str = "guest-exit.json";
/// File with the standard output of the command, unless that is the console.
pub const OUTPUT_FILE: &str = "guest-stdout.txt";

/// Task of the guest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    /// [`SCHEMA`].
    schema: String,
    /// Command and arguments.
    command: Vec<String>,
    /// Its complete environment.
    environment: BTreeMap<String, String>,
    /// Settings of the machine and its first network namespace, such as `net.core.rmem_max`.
    sysctls: BTreeMap<String, String>,
    /// Whether standard output is the console; else it is [`OUTPUT_FILE`]. Standard error is always the console.
    console: bool,
}

/// Result of the task.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Exit {
    schema: &'static str,
    /// Exit code of the command; `None` if a signal ended it or it was not started.
    code: Option<i32>,
    /// Signal that ended it.
    signal: Option<i32>,
    /// Error that prevented its start.
    error: Option<String>,
    /// Virtual time since the start of the machine.
    uptime_ns: u64,
}

/// Runs as process 1 of the machine; powers it off at the end.
///
/// Errors are written to [`EXIT_FILE`] if possible, and to the console.
pub fn guest() -> ! {
    let exit = match prepare() {
        Ok(task) => run(&task),
        Err(error) => Exit { error: Some(error.to_string()), ..Exit::default() },
    };
    if let Err(error) = report(exit) {
        say(&format!("cannot report to {DIRECTORY}/{EXIT_FILE}: {error}"));
    }
    let error = reboot(RebootCommand::PowerOff).expect_err("the machine is off when it succeeds");
    panic!("cannot power off: {error}"); // the end of process 1 also ends the machine
}

/// Mounts the file systems that programs expect, and reads the task.
fn prepare() -> io::Result<Task> {
    mount_all()?;
    open_console()?;
    loopback_up().map_err(explain("cannot bring the loopback up"))?;
    let path = Path::new(DIRECTORY).join(FILE);
    let text = fs::read(&path).map_err(explain(&format!("cannot read {FILE}")))?;
    let task: Task = serde_json::from_slice(&text)?;
    if task.schema != SCHEMA || task.command.is_empty() {
        return Err(io::Error::other(format!("{FILE} needs the schema {SCHEMA} and a command")));
    }
    for (name, value) in &task.sysctls {
        let path = Path::new("/proc/sys").join(name.replace('.', "/"));
        fs::write(path, value).map_err(explain(&format!("cannot set {name} to {value}")))?;
    }
    Ok(task)
}

/// Mounts the file systems of the kernel, empty ones for temporary files, and the directory of the run.
fn mount_all() -> io::Result<()> {
    let quiet = MountFlags::NOSUID | MountFlags::NODEV;
    attach("proc", "/proc", "proc", quiet, "")?;
    attach("sysfs", "/sys", "sysfs", quiet, "")?;
    // HOST_DIRECTORY is a path of the host and is not hidden from hostfs by the guest's /dev
    attach("devtmpfs", "/dev", "devtmpfs", MountFlags::NOSUID, "mode=0755")?;
    fs::create_dir_all("/dev/pts")?;
    fs::create_dir_all("/dev/shm")?;
    attach("devpts", "/dev/pts", "devpts", MountFlags::NOSUID, "newinstance,ptmxmode=0666,mode=0620")?;
    attach("tmpfs", "/dev/shm", "tmpfs", quiet, "mode=1777")?;
    attach("tmpfs", "/run", "tmpfs", quiet, "mode=0755")?;
    attach("tracefs", "/sys/kernel/tracing", "tracefs", quiet, "")?;
    fs::create_dir_all(DIRECTORY)?;
    attach("hostfs", DIRECTORY, "hostfs", quiet, HOST_DIRECTORY)?;
    // programs may be in the host's /tmp: it is visible below the files of the guest
    let layers = "/run/quiclab/tmp";
    fs::create_dir_all(format!("{layers}/upper"))?;
    fs::create_dir_all(format!("{layers}/work"))?;
    rustix::fs::chmod(format!("{layers}/upper"), Mode::from_raw_mode(0o1777))?;
    let options = format!("lowerdir=/tmp,upperdir={layers}/upper,workdir={layers}/work");
    attach("overlay", "/tmp", "overlay", quiet, &options)
}

fn attach(source: &str, target: &str, kind: &str, flags: MountFlags, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    mount(source, target, kind, flags, Some(options.as_c_str()))
        .map_err(io::Error::from)
        .map_err(explain(&format!("cannot mount {kind} at {target}")))
}

/// Opens the console for process 1; the kernel could not open it, because `/dev` did not exist yet.
fn open_console() -> io::Result<()> {
    let console = rustix::fs::openat(CWD, "/dev/console", OFlags::RDWR | OFlags::NOCTTY, Mode::empty())
        .map_err(io::Error::from)
        .map_err(explain("cannot open /dev/console"))?;
    rustix::stdio::dup2_stdin(&console)?;
    rustix::stdio::dup2_stdout(&console)?;
    rustix::stdio::dup2_stderr(&console)?;
    Ok(())
}

/// Sets the flag `IFF_UP` of `lo`; the kernel then assigns its address.
fn loopback_up() -> io::Result<()> {
    use rustix::ioctl::{Setter, ioctl};
    const SIOCSIFFLAGS: rustix::ioctl::Opcode = 0x8914;
    const IFF_UP: i16 = 1;
    /// `struct ifreq` of netdevice(7).
    #[repr(C)]
    struct Request {
        name: [u8; 16],
        flags: i16,
        rest: [u8; 22],
    }
    let mut request = Request { name: [0; 16], flags: IFF_UP, rest: [0; 22] };
    request.name[..2].copy_from_slice(b"lo");
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: SIOCSIFFLAGS reads a `struct ifreq`, which has 40 bytes, as `Request` has.
    #[expect(unsafe_code, reason = "the kernel's interface; nothing in the safe part of rustix does it")]
    unsafe { ioctl(&socket, Setter::<SIOCSIFFLAGS, Request>::new(request)) }?;
    Ok(())
}

/// Runs the command and waits for its end; meanwhile reaps orphans.
fn run(task: &Task) -> Exit {
    let output = if task.console {
        Ok(Stdio::inherit())
    } else {
        File::create(Path::new(DIRECTORY).join(OUTPUT_FILE)).map(Stdio::from)
    };
    let child = output.and_then(|output| {
        Command::new(&task.command[0])
            .args(&task.command[1..])
            .env_clear()
            .envs(&task.environment)
            .current_dir(DIRECTORY)
            .stdin(Stdio::null())
            .stdout(output)
            .process_group(0)
            .spawn()
    });
    let child = match child {
        Ok(child) => rustix::process::Pid::from_child(&child),
        Err(error) => {
            let error = Some(format!("cannot start {}: {error}", task.command[0]));
            return Exit { error, ..Exit::default() };
        }
    };
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let _ = kill_process_group(child, Signal::KILL);
                let status = ExitStatus::from_raw(status.as_raw());
                return Exit { code: status.code(), signal: status.signal(), ..Exit::default() };
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Exit { error: Some(format!("cannot wait: {error}")), ..Exit::default() },
        }
    }
}

/// Writes the result atomically, and makes sure that the host has it.
fn report(exit: Exit) -> io::Result<()> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let uptime_ns =
        u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0);
    let exit = Exit { schema: SCHEMA, uptime_ns, ..exit };
    if let Some(error) = &exit.error {
        say(error);
    }
    let temporary = Path::new(DIRECTORY).join(format!(".{EXIT_FILE}.tmp"));
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec(&exit)?)?;
    file.sync_all()?;
    fs::rename(temporary, Path::new(DIRECTORY).join(EXIT_FILE))?;
    // busy if a process still uses it; then it is detached, and written by sync
    unmount(DIRECTORY, UnmountFlags::DETACH)?;
    rustix::fs::sync();
    Ok(())
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "guest: {text}");
}

/// Puts the failed operation in front of the reason.
fn explain(what: &str) -> impl Fn(io::Error) -> io::Error {
    let what = what.to_owned();
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_read() {
        let text = r#"{"schema": "quiclab.guest/1", "command": ["true"], "environment": {"A": "b"},
                       "sysctls": {"kernel.randomize_va_space": "0"}, "console": false}"#;
        let task: Task = serde_json::from_str(text).unwrap();
        assert_eq!(task.command, ["true"]);
        assert_eq!(task.environment["A"], "b");
    }

    #[test]
    fn an_unknown_field_of_a_task_is_refused() {
        let text = r#"{"schema": "quiclab.guest/1", "command": ["true"], "environment": {}, "sysctls": {},
                       "console": false, "user": "me"}"#;
        assert!(serde_json::from_str::<Task>(text).unwrap_err().to_string().contains("user"));
    }

    #[test]
    fn an_exit_is_written_with_every_field() {
        let exit = Exit { schema: SCHEMA, code: Some(3), uptime_ns: 7, ..Exit::default() };
        let text = serde_json::to_string(&exit).unwrap();
        assert_eq!(text, r#"{"schema":"quiclab.guest/1","code":3,"signal":null,"error":null,"uptime_ns":7}"#);
    }
}
