//! Jobs for the tests of the binary, and their requirements of the machine.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The binary under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_quiclab-live");

/// A directory that is removed with its owner.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("quiclab-live-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A directory with this job.
    pub fn with(job: &Value) -> Self {
        let directory = Self::new();
        std::fs::write(directory.0.join("job.json"), job.to_string()).unwrap();
        directory
    }

    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }

    pub fn result(&self) -> Value {
        serde_json::from_str(&self.read("result.json")).unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program of a job.
pub fn program(command: &[&str]) -> Value {
    json!({ "command": command })
}

/// A job of one flow over two links of 10 Mbit/s and 1 ms.
pub fn job(server: Value, client: Value) -> Value {
    let link = json!({ "rate": "10 Mbit/s", "delay": "1 ms" });
    json!({
        "schema": "quiclab.job/1",
        "seed": 1,
        "base_dir": "/",
        "clock": "real",
        "scenario": {
            "version": 1,
            "name": "test",
            "duration": "60 s",
            "links": { "down": link, "up": link },
            "flows": { "main": {
                "stack": "lab-tcp", "down": ["down"], "up": ["up"],
                "workload": { "kind": "download", "size": "1 MB" },
            } },
        },
        "flows": { "main": { "server": server, "client": client } },
    })
}

pub fn start(directory: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("run").arg(directory).stdin(Stdio::null());
    command
}

pub fn run(directory: &Path) -> Output {
    start(directory).output().unwrap()
}

/// Whether runs are impossible here; the calling test then prints the reason and passes.
pub fn impossible() -> bool {
    let works = |command: &str, arguments: &[&str]| {
        Command::new(command).args(arguments).output().is_ok_and(|done| done.status.success())
    };
    let why = if !works("ip", &["-V"]) {
        "iproute2 is not installed"
    } else if !works("unshare", &["--net", "--pid", "--fork", "true"]) {
        "namespaces need root"
    } else if !Path::new("/dev/net/tun").exists() {
        "there is no /dev/net/tun"
    } else if !works("python3", &["-V"]) {
        "python3 is not installed"
    } else {
        return false;
    };
    eprintln!("skipped: {why}");
    true
}
