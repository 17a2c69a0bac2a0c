//! Ends of tunnels, which are processes: their start, end and output.

use super::{Lab, PROGRAM, end, succeed, until};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::fs::File;
use std::process::{Command, ExitStatus, Stdio};

impl Lab {
    /// A second client `d` with the key `other`, on an uplink of its own.
    pub fn add_client(&self) {
        self.add_host('d', 's', "s3", 3);
        let client = std::fs::read_to_string(self.directory.join("client.toml")).unwrap();
        let (head, _) = client.split_once("[[client.paths]]").unwrap();
        let path = "[[client.paths]]\nname = \"dsl\"\ninterface = \"eth0\"\nserver = \"10.3.0.1:4433\"\n";
        let text = head.replace("client.key", "other.key").replace(&self.device('c'), &self.device('d'));
        std::fs::write(self.directory.join("other.toml"), text + path).unwrap();
    }

    /// Starts the end of a host.
    pub fn start(&mut self, host: char) {
        self.start_by(host, &[]);
    }

    /// Starts it by a program with arguments that becomes it.
    pub fn start_by(&mut self, host: char, program: &[&str]) {
        let end = end(host);
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.directory.join(format!("{end}.log")))
            .unwrap();
        let config = self.directory.join(format!("{end}.toml"));
        let child = Command::new("ip")
            .args(["netns", "exec", &self.host(host)])
            .args(program)
            .args([PROGRAM, "up", config.to_str().unwrap()])
            // state that persists across restarts of a real machine
            .env("STATE_DIRECTORY", &self.directory)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children.push((host, child));
    }

    /// Starts both ends, and waits for both paths.
    pub fn start_both(&mut self) {
        self.start('s');
        self.start('c');
        until("session with two paths", || self.is_open() && self.paths_up() == 2);
    }

    /// Path of a file of the ends.
    pub fn file(&self, name: &str) -> String {
        self.directory.join(name).to_str().unwrap().to_owned()
    }

    pub fn log(&self, end: &str) -> String {
        std::fs::read_to_string(self.directory.join(format!("{end}.log"))).unwrap_or_default()
    }

    /// Process of an end (`ip netns exec` becomes it).
    pub fn pid(&self, host: char) -> u32 {
        self.children.iter().rev().find(|(of, _)| *of == host).expect("it was started").1.id()
    }

    /// Kills an end.
    pub fn kill(&mut self, host: char) {
        let at = self.children.iter().rposition(|(of, _)| *of == host).expect("it was started");
        let (_, mut child) = self.children.remove(at);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Kills the child process of an end.
    pub fn kill_child(&self, host: char) {
        let parent = self.pid(host).to_string();
        let all = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // proc_pid_stat(5): the name in parentheses, the state, the parent
        let is_child = |pid: &String| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)) == Some(&parent)
        };
        for pid in all.filter(is_child).filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            rustix::process::kill_process(pid, Signal::KILL).unwrap();
        }
    }

    /// Ends an end as a service manager does, and waits until it has exited.
    pub fn terminate(&mut self, host: char) -> ExitStatus {
        self.signal(host, Signal::TERM);
        self.wait(host)
    }

    /// Waits until an end exits by itself.
    pub fn wait(&mut self, host: char) -> ExitStatus {
        let at = self.children.iter().rposition(|(of, _)| *of == host).expect("it was started");
        self.children.remove(at).1.wait().unwrap()
    }

    /// Ends an end as a user does, and waits until it has exited.
    pub fn down(&mut self, host: char) {
        succeed(PROGRAM, &["down", "--interface", &self.device(host)]);
        assert!(self.wait(host).success(), "{}", self.log(&end(host)));
    }

    /// Undoes the changes of a killed end; returns the output of `down`.
    pub fn clean(&self, host: char) -> String {
        let (name, device) = (self.host(host), self.device(host));
        succeed("ip", &["netns", "exec", &name, PROGRAM, "down", "--interface", &device])
    }

    /// Status of an end; null if it does not run.
    pub fn status(&self, host: char) -> Value {
        let done = Command::new(PROGRAM)
            .args(["status", "--json", "--interface", &self.device(host)])
            .output()
            .unwrap();
        serde_json::from_slice(&done.stdout).unwrap_or_default()
    }

    pub fn is_open(&self) -> bool {
        self.has_session('c')
    }

    pub fn has_session(&self, host: char) -> bool {
        self.status(host)["sessions"][0]["open"] == true
    }

    pub fn paths_up(&self) -> usize {
        let status = self.status('c');
        let paths = status["sessions"][0]["paths"].as_array().cloned().unwrap_or_default();
        paths.iter().filter(|path| path["up"] == true).count()
    }

    /// Runs a program in the network of a host: its exit code and its output.
    pub fn run(&self, host: char, arguments: &[&str]) -> (Option<i32>, String) {
        let done =
            Command::new("ip").args(["netns", "exec", &self.host(host)]).args(arguments).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// Runs `reload` for an end: its exit code and its output.
    pub fn reload(&self, host: char) -> (Option<i32>, String) {
        self.run(host, &[PROGRAM, "reload", "--interface", &self.device(host)])
    }

    /// Sends a signal to an end.
    pub fn signal(&self, host: char, signal: Signal) {
        let pid = Pid::from_raw(self.pid(host) as i32).expect("no process has number 0");
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Memory of an end in bytes.
    pub fn memory(&self, host: char) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.pid(host))).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }
}
