//! Ten clients at one server for a long time, with a fault in each round: `make tunnel-soak`, an hour.
//!
//! Each client sends over TCP as fast as its link permits, and a datagram that the server answers. A link
//! fails in each round, and in some a client is killed, a client's address changes, or the server reloads its
//! configuration. It prints one line of JSON per round:
//!
//! | value | |
//! | --- | --- |
//! | `seconds` | since the beginning |
//! | `goodput_mbps` | of all clients, over the round |
//! | `longest_gap_ms` | the longest time without an answer of clients without a fault in this round or the one before |
//! | `longest_gap_disturbed_ms` | of the others |
//! | `server_kib`, `client_kib` | resident memory: of the server, of the largest client |
//! | `server_descriptors` | open files of the server |
//! | `server_cpu_seconds` | processor time of the server over the round |

use super::SECOND;
use super::clients::{MIN_SHARE, add_clients};
use super::lab::{CLIENTS, Lab, end, until, wait};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Environment variable with the duration in seconds; if unset, [`SHORT`].
const SECONDS: &str = "QUICLAB_SOAK_SECONDS";
const SHORT: u64 = 24;
/// Rates of the links, in Mbit/s.
const RATES: [u32; CLIENTS.len()] = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
/// Maximum length of a round.
const LONGEST_ROUND: Duration = Duration::from_secs(30);
/// A link is down for 1/CUT of a round.
const CUT: u32 = 6;
/// Memory may differ by this many bytes between the halves of the time.
const MEMORY_TOLERANCE: u64 = 2 << 20;

/// Answers of the server that a client has received.
struct Answers {
    last: Instant,
    longest_gap: Duration,
}

impl Answers {
    fn new() -> Self {
        Self { last: Instant::now(), longest_gap: Duration::ZERO }
    }

    fn answer(&mut self) {
        self.longest_gap = self.longest_gap.max(self.last.elapsed());
        self.last = Instant::now();
    }

    /// Returns the longest time without an answer, including the current one, and resets it.
    fn take_longest_gap_ms(&mut self) -> u64 {
        let longest = std::mem::take(&mut self.longest_gap).max(self.last.elapsed());
        longest.as_millis() as u64
    }
}

/// Progress of a client.
#[derive(Clone)]
struct Client {
    host: char,
    address: String,
    answers: Arc<Mutex<Answers>>,
}

impl Client {
    /// Starts to send.
    fn start(lab: &Lab, host: char) -> Self {
        let mut address = String::new();
        until("a session", || {
            let status = lab.status(host);
            address = status["sessions"][0]["addresses"][0].as_str().unwrap_or_default().to_owned();
            !address.is_empty()
        });
        let client = Self { host, address, answers: Arc::new(Mutex::new(Answers::new())) };
        drop(lab.within(host, || {
            loop {
                if let Ok(mut stream) = TcpStream::connect("10.77.0.1:9") {
                    let _ = stream.set_write_timeout(Some(20 * SECOND));
                    while stream.write_all(&[7; 1 << 16]).is_ok() {}
                }
                std::thread::park_timeout(SECOND / 10);
            }
        }));
        let answers = client.answers.clone();
        drop(lab.within(host, move || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.set_read_timeout(Some(SECOND / 5)).unwrap();
            loop {
                if socket.send_to(b"x", "10.77.0.1:7").is_err() {
                    std::thread::park_timeout(SECOND / 20);
                } else if socket.recv(&mut [0; 8]).is_ok() {
                    answers.lock().unwrap().answer();
                    std::thread::park_timeout(SECOND / 20);
                }
            }
        }));
        client
    }
}

/// Bytes that the server's listener has received, by the address of the client.
type Received = Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>;

fn listen(lab: &Lab) -> Received {
    let received = Received::default();
    let counters = received.clone();
    let listener = lab.listener('s', "10.77.0.1:9");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let from: IpAddr = stream.peer_addr().unwrap().ip();
            let counter = counters.lock().unwrap().entry(from.to_string()).or_default().clone();
            stream.set_read_timeout(Some(60 * SECOND)).unwrap();
            std::thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    counter.fetch_add(count as u64, Ordering::Relaxed);
                }
            });
        }
    });
    received
}

fn bytes(received: &Received, client: &Client) -> u64 {
    let counters = received.lock().unwrap();
    counters.get(&client.address).map_or(0, |counter| counter.load(Ordering::Relaxed))
}

/// Processor time of an end in seconds (proc(5): `utime` and `stime`, in hundredths).
fn cpu_seconds(lab: &Lab, host: char) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", lab.pid(host))).unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

fn descriptors(lab: &Lab, host: char) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", lab.pid(host))).unwrap().count()
}

/// Causes a fault in a round, in addition to a failed link; returns the affected clients.
fn disturb(lab: &mut Lab, round: usize, addresses: &mut [u8; CLIENTS.len()]) -> Vec<char> {
    let mut disturbed = vec![CLIENTS[round % CLIENTS.len()]];
    if round % 3 == 1 {
        let host = CLIENTS[round / 3 % CLIENTS.len()];
        lab.kill(host);
        lab.start(host);
        disturbed.push(host);
    }
    if round % 4 == 2 {
        let number = round / 4 % CLIENTS.len();
        let (host, network) = (CLIENTS[number], 10 + number);
        let old = addresses[number];
        addresses[number] = 5 - old; // 2, 3, 2, ...
        lab.ip(host, &format!("addr del 10.{network}.0.{old}/24 dev eth0"));
        lab.ip(host, &format!("addr add 10.{network}.0.{}/24 dev eth0", addresses[number]));
        disturbed.push(host);
    }
    if round % 5 == 3 {
        let (from, to) = if round % 10 == 3 { ("false", "true") } else { ("true", "false") };
        lab.edit("server.toml", &format!("isolate_clients = {from}"), &format!("isolate_clients = {to}"));
        assert_eq!(lab.reload('s').0, Some(0));
    }
    disturbed
}

/// Sets the rate of a client's link: none, or its rate again.
fn set_line(lab: &Lab, host: char, cut: bool) {
    let number = CLIENTS.iter().position(|of| *of == host).expect("a client");
    let line = if cut {
        "tbf rate 8kbit burst 10 limit 1".to_owned() // a token bucket that is smaller than any packet
    } else {
        format!("tbf rate {}mbit burst 64kb latency 50ms", RATES[number])
    };
    for (of, device) in [(host, "eth0".to_owned()), ('s', format!("s{host}"))] {
        let name = lab.host(of);
        for (action, with) in [("del", ""), ("add", line.as_str())] {
            let words = format!("-n {name} qdisc {action} dev {device} root {with}");
            super::lab::succeed("tc", &words.split_whitespace().collect::<Vec<_>>());
        }
    }
}

#[test]
fn ten_clients_for_as_long_as_asked() {
    let seconds = std::env::var(SECONDS).map_or(SHORT, |text| text.parse().expect("a number of seconds"));
    let Some(mut lab) = Lab::new() else { return };
    let round_time = LONGEST_ROUND.min(Duration::from_secs(seconds) / 6);
    add_clients(&lab, &RATES);
    lab.edit("server.toml", "forward = true", "forward = true\nisolate_clients = false");
    lab.start('s');
    CLIENTS.into_iter().for_each(|host| lab.start(host));
    until("the server", || lab.status('s')["uptime_seconds"].is_number());
    let received = listen(&lab);
    lab.echo('s', "10.77.0.1:7");
    let clients = CLIENTS.map(|host| Client::start(&lab, host));
    until("load", || clients.iter().all(|client| bytes(&received, client) > 500_000));
    let totals = || clients.each_ref().map(|client| bytes(&received, client));
    let (start, first) = (Instant::now(), totals());
    let (mut before, mut cpu, mut last_disturbed) = (first, cpu_seconds(&lab, 's'), Vec::new());
    let (mut memory, mut files, mut addresses) = (Vec::new(), Vec::new(), [2; CLIENTS.len()]);
    let longest_gap_ms = |client: &Client| client.answers.lock().unwrap().take_longest_gap_ms();
    clients.iter().map(longest_gap_ms).for_each(drop); // without the start
    for round in 0.. {
        let began = Instant::now();
        let disturbed = disturb(&mut lab, round, &mut addresses);
        set_line(&lab, disturbed[0], true);
        wait(round_time / CUT);
        set_line(&lab, disturbed[0], false);
        wait(round_time.saturating_sub(began.elapsed()));
        let (now, spent) = (totals(), cpu_seconds(&lab, 's'));
        let mut gaps = [0; 2];
        for client in &clients {
            let of = disturbed.contains(&client.host) || last_disturbed.contains(&client.host);
            let gap = longest_gap_ms(client);
            gaps[usize::from(of)] = gap.max(gaps[usize::from(of)]);
        }
        let sum = now.iter().zip(before).map(|(now, before)| now - before).sum::<u64>();
        memory.push(lab.memory('s'));
        files.push(descriptors(&lab, 's'));
        let line = serde_json::json!({
            "seconds": start.elapsed().as_secs(),
            "goodput_mbps": sum as f64 * 8e-6 / began.elapsed().as_secs_f64(),
            "longest_gap_ms": gaps[0],
            "longest_gap_disturbed_ms": gaps[1],
            "server_kib": memory[round] >> 10,
            "client_kib": CLIENTS.iter().map(|host| lab.memory(*host)).max().unwrap() >> 10,
            "server_descriptors": files[round],
            "server_cpu_seconds": spent - cpu,
        });
        println!("{line}");
        (before, cpu, last_disturbed) = (now, spent, disturbed);
        if start.elapsed().as_secs() >= seconds {
            break;
        }
    }
    let elapsed = start.elapsed().as_secs_f64();
    for ((now, first), (rate, host)) in totals().iter().zip(first).zip(RATES.iter().zip(CLIENTS)) {
        let share = (now - first) as f64 * 8e-6 / elapsed / f64::from(*rate);
        eprintln!("client {host}: {share:.2} of {rate} Mbit/s");
        // the cost of the cuts and kills of a short time is unknown; in the long run they cost 1/CUT in ten rounds
        assert!(seconds == SHORT || (MIN_SHARE..1.02).contains(&share), "{host}: {share} of {rate} Mbit/s");
    }
    let (ended, last) = (Instant::now(), totals());
    for ((client, last), rate) in clients.iter().zip(last).zip(RATES) {
        until("an answer at the end", || client.answers.lock().unwrap().last > ended);
        let second = (f64::from(rate) * 1e6 / 8.0 * MIN_SHARE) as u64;
        until("a second's worth of each line at the end", || bytes(&received, client) > last + second);
    }
    let half = |of: &[u64]| (of.len() / 2, of.to_vec());
    let (middle, memory) = half(&memory);
    let most = |of: &[u64]| of.iter().copied().max().unwrap();
    let (early, late) = (most(&memory[..middle]), most(&memory[middle..]));
    assert!(late <= early + MEMORY_TOLERANCE, "memory of the server: {early}, then {late} bytes");
    let (early, late) = (files[..middle].iter().max(), files[middle..].iter().max());
    assert!(late <= early, "open files of the server: {early:?}, then {late:?}");
    for host in CLIENTS.into_iter().chain(['s']) {
        assert!(!lab.log(&end(host)).contains("panicked"), "{}", lab.log(&end(host)));
        lab.signal(host, Signal::TERM);
    }
    for host in CLIENTS.into_iter().chain(['s']) {
        assert!(lab.wait(host).success(), "{}", lab.log(&end(host)));
        assert!(!lab.ip(host, "link").contains(&lab.device(host)));
    }
}
