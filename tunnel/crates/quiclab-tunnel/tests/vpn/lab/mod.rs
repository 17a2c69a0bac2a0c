//! Two hosts with two uplinks: network namespaces, two veth pairs, a tunnel's ends as processes.
//!
//! | module | |
//! | --- | --- |
//! | here | the hosts, their files, and their end |
//! | `network` | devices, addresses, routes, cuts |
//! | `ends` | the processes of both ends |
//! | `traffic` | traffic through the tunnel |
//! | `strangers` | other implementations of CONNECT-IP, certificates |
//! | `needs` | requirements of a test, without which it is skipped |

mod ends;
pub mod needs;
mod network;
#[cfg(feature = "connect-ip")]
mod strangers;
mod traffic;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_quiclab-tunnel");
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The hosts, which are removed when it is dropped.
pub struct Lab {
    name: String,
    pub directory: PathBuf,
    children: Vec<(char, Child)>,
    pub keys: [String; 3],
}

/// Runs a program and returns its output; panics if it fails.
pub fn succeed(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().expect("the program is installed");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Name of the files of a host's end.
pub fn end(host: char) -> String {
    match host {
        's' => "server".to_owned(),
        'c' => "client".to_owned(),
        'd' => "other".to_owned(),
        host => format!("client-{host}"),
    }
}

/// Hosts of further clients.
pub const CLIENTS: [char; 10] = ['e', 'f', 'g', 'h', 'i', 'j', 'k', 'o', 'p', 'q'];

/// Time after which an awaited event counts as missing. It is not a requirement: a test with one asserts the result of [`until`].
const LONGEST: Duration = Duration::from_secs(60);

/// Waits until a condition is true, and returns the elapsed time; panics after [`LONGEST`].
pub fn until(what: &str, mut is: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < LONGEST, "not within {LONGEST:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    start.elapsed()
}

/// Sleeps.
pub fn wait(time: Duration) {
    let start = Instant::now();
    while let Some(left) = time.checked_sub(start.elapsed()) {
        std::thread::park_timeout(left);
    }
}

impl Lab {
    /// Creates the hosts, or returns `None` with a message if that is not possible.
    pub fn new() -> Option<Self> {
        if !needs::has_namespaces() {
            return None;
        }
        let name = format!("qlt{}n{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&directory).unwrap();
        let mut lab = Self { name, directory, children: Vec::new(), keys: Default::default() };
        for host in ['c', 's'] {
            lab.add_namespace(host);
        }
        for uplink in 1..=2 {
            let (c, s) = (lab.host('c'), lab.host('s'));
            let pair = format!("link add c{uplink} netns {c} type veth peer name s{uplink} netns {s}");
            succeed("ip", &pair.split(' ').collect::<Vec<_>>());
            lab.ip('c', &format!("addr add 10.1.{uplink}.2/24 dev c{uplink}"));
            lab.ip('s', &format!("addr add 10.1.{uplink}.1/24 dev s{uplink}"));
            lab.ip('c', &format!("link set c{uplink} up"));
            lab.ip('s', &format!("link set s{uplink} up"));
        }
        for (index, end) in ["server", "client", "other"].into_iter().enumerate() {
            let file = lab.directory.join(format!("{end}.key"));
            lab.keys[index] = succeed(PROGRAM, &["keygen", file.to_str().unwrap()]).trim().to_owned();
        }
        lab.write_configs();
        Some(lab)
    }

    pub fn host(&self, host: char) -> String {
        format!("{}{host}", self.name)
    }

    /// The device of an end: names of journals are global, not per namespace.
    pub fn device(&self, host: char) -> String {
        let number = self.name.trim_start_matches("qlt");
        format!("q{number}{host}")
    }

    pub fn edit(&self, file: &str, from: &str, to: &str) {
        let file = self.directory.join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
    }

    fn write_configs(&self) {
        let [server, client, _] = &self.keys;
        let text = format!(
            r#"version = 1
key_file = "server.key"
interface = "{}"
user = "nobody"
metrics = "127.0.0.1:9477"
[server]
listen = ["0.0.0.0:4433"]
pool_ipv4 = "10.77.0.0/24"
pool_ipv6 = "fd77::/64"
forward = true
[[server.peers]]
name = "laptop"
public_key = "{client}"
"#,
            self.device('s')
        );
        std::fs::write(self.directory.join("server.toml"), text).unwrap();
        let text = format!(
            r#"version = 1
key_file = "client.key"
interface = "{}"
user = "nobody"
[client]
server_key = "{server}"
routes = ["10.99.0.0/16"]
[[client.paths]]
name = "dsl"
interface = "c1"
server = "10.1.1.1:4433"
[[client.paths]]
name = "lte"
interface = "c2"
server = "10.1.2.1:4433"
"#,
            self.device('c')
        );
        std::fs::write(self.directory.join("client.toml"), text).unwrap();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for host in ['c', 's', 'm', 'n', 'd', 'l'].into_iter().chain(CLIENTS) {
            let _ = Command::new(PROGRAM).args(["down", "--interface", &self.device(host)]).output();
            let _ = std::fs::remove_dir_all(Path::new("/etc/netns").join(self.host(host)));
            let _ = Command::new("ip").args(["netns", "del", &self.host(host)]).output();
            let _ = std::fs::remove_dir_all(Path::new("/run/quiclab-tunnel").join(self.device(host)));
        }
        // unless another lab, or the machine, has files in it
        let _ = std::fs::remove_dir("/etc/netns");
        if std::thread::panicking() {
            eprintln!("server:\n{}\nclient:\n{}", self.log("server"), self.log("client"));
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
