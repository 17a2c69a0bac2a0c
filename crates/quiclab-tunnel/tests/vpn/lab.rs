//! Two hosts with two uplinks: network namespaces, two veth pairs, a tunnel's ends as processes.

use rustix::process::{Pid, Signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_quiclab-tunnel");
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The hosts, which are gone with it.
pub struct Lab {
    name: String,
    pub directory: PathBuf,
    children: Vec<(char, Child)>,
    pub keys: [String; 3],
}

/// Runs a program and gives what it printed; panics if it fails.
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
pub const CLIENTS: [char; 5] = ['e', 'f', 'g', 'h', 'i'];

/// Looks until something is the case; panics if it is not in time.
pub fn until(what: &str, longest: Duration, mut is: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < longest, "not within {longest:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    start.elapsed()
}

impl Lab {
    /// The hosts, or `None` with a message where that is not possible.
    pub fn new() -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        if !root || !Path::new("/dev/net/tun").exists() || Command::new("ip").arg("netns").output().is_err() {
            eprintln!("skipped: network namespaces and TUN devices need root, /dev/net/tun and iproute2");
            return None;
        }
        let name = format!("qlt{}n{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&directory).unwrap();
        let mut lab = Self { name, directory, children: Vec::new(), keys: Default::default() };
        for host in ['c', 's'] {
            if !Command::new("ip")
                .args(["netns", "add", &lab.host(host)])
                .status()
                .is_ok_and(|done| done.success())
            {
                eprintln!("skipped: no network namespaces");
                return None;
            }
            lab.ip(host, "link set lo up");
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

    /// Puts two routers between the hosts of uplink 1, so that what it carries can be limited where neither end sees it:
    /// [`Lab::limit`]. Without `icmp` they tell nobody what they drop.
    pub fn route(&mut self, icmp: bool) {
        self.ip('c', "link del c1");
        for host in ['m', 'n'] {
            succeed("ip", &["netns", "add", &self.host(host)]);
            self.ip(host, "link set lo up");
        }
        for [near, far] in
            [[('c', "c1"), ('m', "mc")], [('m', "mn"), ('n', "nm")], [('n', "ns"), ('s', "s1")]]
        {
            let (a, b) = (self.host(near.0), self.host(far.0));
            let pair = format!("link add {} netns {a} type veth peer name {} netns {b}", near.1, far.1);
            succeed("ip", &pair.split(' ').collect::<Vec<_>>());
        }
        for (host, device, network, number, other, gateway) in [
            ('c', "c1", 1, 2, 3, 1),
            ('m', "mc", 1, 1, 0, 0),
            ('m', "mn", 2, 1, 3, 2),
            ('n', "nm", 2, 2, 1, 1),
            ('n', "ns", 3, 2, 0, 0),
            ('s', "s1", 3, 1, 1, 2),
        ] {
            self.ip(host, &format!("addr add 10.4.{network}.{number}/24 dev {device}"));
            self.ip(host, &format!("addr add fd04:{network}::{number}/64 dev {device} nodad"));
            self.ip(host, &format!("link set {device} up"));
            if gateway > 0 {
                self.ip(host, &format!("route add 10.4.{other}.0/24 via 10.4.{network}.{gateway}"));
                self.ip(host, &format!("route add fd04:{other}::/64 via fd04:{network}::{gateway}"));
            }
        }
        for host in ['m', 'n'] {
            let forwarding = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
            for setting in forwarding {
                succeed("ip", &["netns", "exec", &self.host(host), "sysctl", "-q", "-w", setting]);
            }
            for family in ["-4", "-6"].into_iter().filter(|_| !icmp) {
                // what does not come from another host
                self.ip(host, &format!("{family} rule add iif lo blackhole"));
            }
        }
        self.edit("client.toml", "10.1.1.1:4433", "10.4.3.1:4433");
    }

    /// From now on the routers forward no longer packets than this, in both directions.
    pub fn limit(&self, mtu: u16) {
        self.ip('m', &format!("link set mn mtu {mtu}"));
        self.ip('n', &format!("link set nm mtu {mtu}"));
    }

    pub fn host(&self, host: char) -> String {
        format!("{}{host}", self.name)
    }

    pub fn ip(&self, host: char, arguments: &str) -> String {
        let host = self.host(host);
        succeed("ip", &[&["-n", &host][..], &arguments.split(' ').collect::<Vec<_>>()].concat())
    }

    /// The device of an end: names of journals are the machine's, not the namespace's.
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

    /// A third host, with a device `eth0` of its own to `to`, in the network 10.`network`.0.0/24 and fd`network`::/64 (two digits): it is
    /// .2, the other end .1.
    pub fn add_host(&self, host: char, to: char, device: &str, network: u8) {
        let (near, far) = (self.host(to), self.host(host));
        succeed("ip", &["netns", "add", &far]);
        let pair = format!("link add {device} netns {near} type veth peer name eth0 netns {far}");
        succeed("ip", &pair.split(' ').collect::<Vec<_>>());
        for (host, device, number) in [(to, device, 1), (host, "eth0", 2)] {
            self.ip(host, &format!("addr add 10.{network}.0.{number}/24 dev {device}"));
            self.ip(host, &format!("addr add fd{network:02}::{number}/64 dev {device} nodad"));
            self.ip(host, &format!("link set {device} up"));
        }
        self.ip(host, "link set lo up");
    }

    /// A second client `d` with the key `other`, on an uplink of its own.
    pub fn add_client(&self) {
        self.add_host('d', 's', "s3", 3);
        let client = std::fs::read_to_string(self.directory.join("client.toml")).unwrap();
        let (head, _) = client.split_once("[[client.paths]]").unwrap();
        let path = "[[client.paths]]\nname = \"dsl\"\ninterface = \"eth0\"\nserver = \"10.3.0.1:4433\"\n";
        let text = head.replace("client.key", "other.key").replace(&self.device('c'), &self.device('d'));
        std::fs::write(self.directory.join("other.toml"), text + path).unwrap();
    }

    /// What `/metrics` of the server answers, with the header.
    pub fn metrics(&self) -> String {
        let task = || {
            let mut stream = TcpStream::connect("127.0.0.1:9477").unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        self.within('s', task).join().unwrap()
    }

    /// Starts the end of a host.
    pub fn start(&mut self, host: char) {
        self.start_by(host, &[]);
    }

    /// The same by a program that becomes it, with arguments.
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
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children.push((host, child));
    }

    /// Starts another program in the network of a host; returns the file with what it prints.
    pub fn start_program(&mut self, host: char, words: &[String]) -> PathBuf {
        let file = self.directory.join(format!("program{}.log", self.children.len()));
        let log = File::create(&file).unwrap();
        let child = Command::new("ip")
            .args(["netns", "exec", &self.host(host)])
            .args(words)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children.push((host, child));
        file
    }

    /// What a program has printed so far.
    pub fn said(&self, file: &Path) -> String {
        std::fs::read_to_string(file).unwrap_or_default()
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

    /// Ends an end as a service manager does, and waits until it is gone.
    pub fn terminate(&mut self, host: char) -> ExitStatus {
        self.signal(host, Signal::TERM);
        self.wait(host)
    }

    /// Waits until an end is gone of itself.
    pub fn wait(&mut self, host: char) -> ExitStatus {
        let at = self.children.iter().rposition(|(of, _)| *of == host).expect("it was started");
        self.children.remove(at).1.wait().unwrap()
    }

    /// Ends an end as a user does, and waits until it is gone.
    pub fn down(&mut self, host: char) {
        succeed(PROGRAM, &["down", "--interface", &self.device(host)]);
        assert!(self.wait(host).success(), "{}", self.log(&end(host)));
    }

    /// Undoes what a killed end has left; gives what `down` says.
    pub fn clean(&self, host: char) -> String {
        let (name, device) = (self.host(host), self.device(host));
        succeed("ip", &["netns", "exec", &name, PROGRAM, "down", "--interface", &device])
    }

    /// Status of an end; null while there is none.
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

    /// Runs a program in the network of a host: its exit code, and what it printed.
    pub fn run(&self, host: char, arguments: &[&str]) -> (Option<i32>, String) {
        let done =
            Command::new("ip").args(["netns", "exec", &self.host(host)]).args(arguments).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// `reload` of an end: its exit code, and what it says.
    pub fn reload(&self, host: char) -> (Option<i32>, String) {
        self.run(host, &[PROGRAM, "reload", "--interface", &self.device(host)])
    }

    /// Sends a signal to an end.
    pub fn signal(&self, host: char, signal: Signal) {
        let pid = Pid::from_raw(self.pid(host) as i32).expect("no process has number 0");
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// A sysctl of a host, by its name below /proc/sys.
    pub fn sysctl(&self, host: char, name: &str) -> String {
        let file = Path::new("/proc/sys").join(name);
        let read = move || std::fs::read_to_string(file).unwrap().trim().to_owned();
        self.within(host, read).join().unwrap()
    }

    pub fn set_sysctl(&self, host: char, name: &str, value: &'static str) {
        let file = Path::new("/proc/sys").join(name);
        self.within(host, move || std::fs::write(file, value).unwrap()).join().unwrap();
    }

    pub fn paths_up(&self) -> usize {
        let status = self.status('c');
        let paths = status["sessions"][0]["paths"].as_array().cloned().unwrap_or_default();
        paths.iter().filter(|path| path["up"] == true).count()
    }

    /// Both ends, with both paths.
    pub fn start_both(&mut self) {
        self.start('s');
        self.start('c');
        until("session with two paths", Duration::from_secs(15), || self.is_open() && self.paths_up() == 2);
    }

    /// Does something in the network of a host.
    pub fn within<T: Send + 'static>(
        &self,
        host: char,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let file = File::open(format!("/run/netns/{}", self.host(host))).unwrap();
        std::thread::spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            task()
        })
    }

    /// Answers datagrams inside the tunnel at the server, for ever.
    pub fn echo(&self, address: &'static str) {
        let (ready, is_ready) = std::sync::mpsc::channel();
        drop(self.within('s', move || {
            let socket = UdpSocket::bind(address).unwrap();
            ready.send(()).unwrap();
            let mut buffer = [0; 2048];
            while let Ok((size, from)) = socket.recv_from(&mut buffer) {
                let _ = socket.send_to(&buffer[..size], from);
            }
        }));
        is_ready.recv().unwrap();
    }

    /// Sends a datagram through the tunnel and waits for the answer, at most so long.
    pub fn ping(&self, address: &'static str, longest: Duration) -> Option<Duration> {
        let task = move || {
            let to: SocketAddr = address.parse().unwrap();
            let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
            socket.set_read_timeout(Some(longest)).unwrap();
            let start = Instant::now();
            socket.send_to(b"hello", to).ok()?;
            let mut buffer = [0; 16];
            socket.recv_from(&mut buffer).ok()?;
            Some(start.elapsed())
        };
        self.within('c', task).join().unwrap()
    }

    /// Pings one after the other while something goes on: what that gives, how many were sent, how many answered.
    pub fn pings_during<T>(&self, task: JoinHandle<T>, address: &'static str) -> (T, u32, u32) {
        let (mut asked, mut answered) = (0, 0);
        while !task.is_finished() {
            asked += 1;
            answered += u32::from(self.ping(address, Duration::from_millis(200)).is_some());
        }
        (task.join().unwrap(), asked, answered)
    }

    /// Lets nothing through an uplink, in both directions and without anybody being told, or everything again.
    pub fn cut(&self, uplink: u32, cut: bool) {
        let action = if cut { "add" } else { "del" };
        for host in ['c', 's'] {
            let name = self.host(host);
            let device = format!("{host}{uplink}");
            let mut arguments = vec!["netns", "exec", &name, "tc", "qdisc", action, "dev", &device, "root"];
            if cut {
                // a token bucket that is smaller than any packet
                arguments.extend(["tbf", "rate", "8kbit", "burst", "10", "limit", "1"]);
            }
            succeed("ip", &arguments);
        }
    }

    /// Memory of an end in bytes.
    pub fn memory(&self, host: char) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.pid(host))).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
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
        if std::thread::panicking() {
            eprintln!("server:\n{}\nclient:\n{}", self.log("server"), self.log("client"));
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
