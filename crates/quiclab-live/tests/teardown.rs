//! No process or namespace of a run outlives it, however it ends, and runs are separate.

mod common;

use common::{Directory, PROGRAM, impossible, job, program, run, start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Variable that marks all processes of a run.
const MARK: &str = "QUICLAB_TEST_RUN";
/// Maximum time for the kernel to clean up.
const PATIENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// One test after the other: the kernel reuses numbers of namespaces, also for the runs of other tests.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers from a seed (splitmix64), so that a failure can be reproduced.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

fn entries(folder: &str) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .map(|list| list.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let number =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
    entries("/proc").into_iter().filter(number)
}

/// Processes whose environment has the mark.
fn marked(mark: &str) -> Vec<PathBuf> {
    let wanted = format!("{MARK}={mark}");
    let has = |process: &PathBuf| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    processes().filter(has).collect()
}

/// Network namespaces of the threads of a process.
fn networks(process: &Path) -> BTreeSet<PathBuf> {
    let tasks = entries(&process.join("task").to_string_lossy());
    tasks.iter().filter_map(|task| std::fs::read_link(task.join("ns/net")).ok()).collect()
}

fn devices() -> BTreeSet<String> {
    let names = entries("/sys/class/net").into_iter();
    names.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// Waits until no process has the mark: the end of each is an event.
fn await_none(mark: &str) {
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        for process in left {
            let number = process.file_name().unwrap().to_string_lossy().parse().unwrap();
            let Ok(pidfd) = pidfd_open(Pid::from_raw(number).unwrap(), PidfdFlags::empty()) else { continue };
            let ended = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&PATIENCE)).unwrap();
            assert_eq!(ended, 1, "process {number} is left");
        }
    }
}

fn kill(child: &mut Child) {
    kill_process(Pid::from_child(child), Signal::KILL).unwrap();
    child.wait().unwrap();
}

/// Killed runs leave no processes: `QUICLAB_KILLED_RUNS` is their number (default 5), `QUICLAB_KILL_SEED`
/// determines the times.
#[test]
fn a_killed_run_leaves_nothing() {
    if impossible() {
        return;
    }
    let _alone = alone();
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let seed = number("QUICLAB_KILL_SEED", 1);
    let mut numbers = Numbers(seed);
    // processes in the background and in sessions of their own also belong to the run
    let tree = program(&["sh", "-c", "sleep 1000 & setsid sleep 1000 & exec sleep 1000"]);
    let own = networks(Path::new("/proc/self"));
    let before = devices();
    for killed in 0..number("QUICLAB_KILLED_RUNS", 5) {
        let directory = Directory::with(&job(tree.clone(), tree.clone()));
        let mark = format!("{}-{killed}", std::process::id());
        let mut child = start(&directory.0).env(MARK, &mark).stdout(Stdio::piped()).spawn().unwrap();
        // a moment between the first instruction and some time after all has started: about 200 ms
        let moment = Timespec { tv_sec: 0, tv_nsec: numbers.below(400_000_000) as i64 };
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        assert_eq!(
            poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&moment)).unwrap(),
            0,
            "it has ended by itself"
        );
        let made: BTreeSet<_> = marked(&mark)
            .iter()
            .flat_map(|process| networks(process))
            .filter(|network| !own.contains(network))
            .collect();
        kill(&mut child);
        await_none(&mark);
        let left: Vec<_> = processes()
            .flat_map(|process| networks(&process))
            .filter(|network| made.contains(network))
            .collect();
        let replay = format!("QUICLAB_KILL_SEED={seed}, run {killed}");
        assert_eq!(left, Vec::<PathBuf>::new(), "namespaces are left: {replay}");
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains("quiclab"), "a mount is left: {replay}");
    }
    let new: Vec<_> =
        devices().difference(&before).filter(|name| name.starts_with("quiclab")).cloned().collect();
    assert_eq!(new, Vec::<String>::new(), "devices are left");
}

#[test]
fn a_request_to_stop_gives_what_there_is() {
    if impossible() {
        return;
    }
    let _alone = alone();
    let sleep = program(&["sleep", "1000"]);
    let directory = Directory::with(&job(sleep.clone(), sleep));
    let mark = format!("{}-stop", std::process::id());
    let mut child = start(&directory.0).env(MARK, &mark).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"progress\""), "{line}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    await_none(&mark);
    let result = directory.result();
    assert_eq!(result["run"]["ended_by"], "interrupted");
    assert!(result["warnings"][0].as_str().unwrap().starts_with("the run was interrupted; "), "{result}");
}

#[test]
fn runs_side_by_side_do_not_meet() {
    if impossible() {
        return;
    }
    let _alone = alone();
    let server = "import socket, sys
listener = socket.create_server(('', 5000))
connection, _ = listener.accept()
connection.sendall(sys.argv[1].encode())
connection.close()";
    let client = "import socket, sys
connection = socket.create_connection((sys.argv[1], 5000))
print(connection.recv(100).decode())";
    let one = |name: &str| {
        let mut server = program(&["python3", "-c", server, name]);
        server["ready"] = json!({ "kind": "port", "protocol": "tcp", "port": 5000 });
        let directory =
            Directory::with(&job(server, program(&["python3", "-c", client, "{server_address}"])));
        let done = run(&directory.0);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(directory.read("main.client.out").trim(), name);
        assert_eq!(directory.result()["flows"]["main"]["completed"], true);
    };
    std::thread::scope(|scope| {
        for name in ["first", "second", "third"] {
            scope.spawn(move || one(name));
        }
    });
}

#[test]
fn root_is_not_needed_where_user_namespaces_are_allowed() {
    if impossible() {
        return;
    }
    let _alone = alone();
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let allowed = Command::new("setpriv").args(user).args(["unshare", "-Urn", "true"]).output();
    if !allowed.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: users may not make namespaces");
        return;
    }
    let device = Command::new("setpriv").args(user).args(["test", "-w", "/dev/net/tun"]).status();
    if !device.is_ok_and(|done| done.success()) {
        eprintln!("skipped: users may not open /dev/net/tun");
        return;
    }
    let directory = Directory::with(&job(program(&["sleep", "1000"]), program(&["true"])));
    // the build's own directory may be closed to others
    let copy = directory.0.join("quiclab-live");
    std::fs::copy(PROGRAM, &copy).unwrap();
    std::os::unix::fs::chown(&directory.0, Some(65_534), Some(65_534)).unwrap();
    let done = Command::new("setpriv").args(user).arg(copy).arg("run").arg(&directory.0).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(directory.result()["flows"]["main"]["completed"], true);
}
