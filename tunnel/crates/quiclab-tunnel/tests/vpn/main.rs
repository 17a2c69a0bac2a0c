//! The VPN between two hosts with two uplinks each. Requires root; otherwise skipped with a message.

mod addresses;
mod clients;
mod confinement;
#[cfg(feature = "connect-ip")]
mod connect_ip;
mod dns;
mod exits;
mod faults;
mod forwarding;
mod keys;
mod lab;
mod leaks;
mod mtu;
mod neighbours;
mod outage;
mod relay;
mod reload;
mod router;
mod sniffer;
mod soak;
mod strangers;
mod table;
mod top;

use lab::{Lab, until, wait};
use quiclab_tunnel::folders::STATE_DIRECTORY;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const IPV4: &str = "10.77.0.1:7";
const IPV6: &str = "[fd77::1]:7";
const SECOND: Duration = Duration::from_secs(1);

/// A TCP flow from the client to the server that never ends; counts received bytes.
fn flow(lab: &Lab) -> (Arc<AtomicU64>, Arc<AtomicBool>) {
    let (arrived, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (counter, ended) = (arrived.clone(), stop.clone());
    let listener = lab.listener('s', "10.77.0.1:9");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count) = stream.read(&mut buffer) {
            if count == 0 {
                return;
            }
            counter.fetch_add(count as u64, Ordering::Relaxed);
        }
    });
    drop(lab.within('c', move || {
        let mut stream = TcpStream::connect("10.77.0.1:9").unwrap();
        let block = vec![7; 1 << 16];
        while !ended.load(Ordering::Relaxed) && stream.write_all(&block).is_ok() {}
    }));
    (arrived, stop)
}

/// Waits until `bytes` more have arrived.
fn more(arrived: &AtomicU64, bytes: u64, what: &str) -> Duration {
    let before = arrived.load(Ordering::Relaxed);
    until(what, || arrived.load(Ordering::Relaxed) >= before + bytes)
}

#[test]
fn both_families_pass_and_everything_is_undone() {
    let Some(mut lab) = Lab::new() else { return };
    let routes =
        |lab: &Lab| (lab.ip('c', "route show"), lab.ip('s', "route show"), lab.ip('c', "-6 route show"));
    lab.ip('c', "route add 10.99.0.0/16 via 10.1.1.1");
    let before = routes(&lab);
    let forwarding = |lab: &Lab| {
        lab.within('s', || {
            std::fs::read_to_string("/proc/thread-self/net/../../sys/net/ipv4/ip_forward")
                .or_else(|_| std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward"))
                .unwrap()
        })
        .join()
        .unwrap()
    };
    let forwarded = forwarding(&lab);
    lab.start_both();
    lab.echo('s', IPV4);
    until("address of IPv6", || lab.within('s', || UdpSocket::bind(IPV6).is_ok()).join().unwrap());
    lab.echo('s', IPV6);
    for address in [IPV4, IPV6] {
        until("an answer", || lab.ping(address, SECOND).is_some());
    }
    // the replaced route leads through the tunnel
    let route = lab.ip('c', "route show 10.99.0.0/16");
    assert!(route.contains(&lab.device('c')) && !route.contains("via"), "{route}");
    assert_eq!(forwarding(&lab).trim(), "1");
    // nobody, with CAP_NET_ADMIN (12) alone
    let process = std::fs::read_to_string(format!("/proc/{}/status", lab.pid('s'))).unwrap();
    assert!(
        process.contains("CapEff:\t0000000000001000") && process.contains("CapPrm:\t0000000000001000"),
        "{process}"
    );
    assert!(!process.contains("Uid:\t0\t"), "{process}");
    let metrics = lab.metrics();
    assert!(
        metrics.starts_with("HTTP/1.1 200 OK\r\n")
            && metrics.contains("quiclab_tunnel_session_open{session=\"laptop\"} 1")
            && metrics.contains("quiclab_tunnel_path_mtu_bytes{session=\"laptop\",path=\"1\"} "),
        "{metrics}"
    );
    lab.down('c');
    lab.down('s');
    assert_eq!(routes(&lab), before);
    assert_eq!(forwarding(&lab), forwarded);
    assert!(!lab.ip('c', "link show").contains(&lab.device('c')));
}

#[test]
fn what_a_killed_server_has_left_is_undone_by_down() {
    let Some(mut lab) = Lab::new() else { return };
    lab.ip('c', "route add 10.99.0.0/16 via 10.1.1.1");
    let before = lab.ip('c', "route show");
    lab.start_both();
    lab.kill('c');
    assert_ne!(lab.ip('c', "route show"), before, "the route that gave way is missing");
    let said = lab.clean('c');
    assert_eq!(said, "reverted the changes of a killed tunnel: 1\n");
    assert_eq!(lab.ip('c', "route show"), before);
}

#[test]
fn a_path_is_cut_under_load() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    let (arrived, stop) = flow(&lab);
    more(&arrived, 5_000_000, "load");
    lab.cut(1, true);
    // one second is allowed; then it continues as before
    wait(SECOND);
    let took = more(&arrived, 2_000_000, "throughput on the other path");
    assert!(took < SECOND, "2 MB on the other path in {took:?}, one second after the cut");
    until("the path is known to be down", || lab.paths_up() == 1);
    lab.cut(1, false);
    until("the path is back", || lab.paths_up() == 2);
    stop.store(true, Ordering::Relaxed);
}

#[test]
fn both_paths_are_cut_for_ten_seconds() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    lab.echo('s', IPV4);
    until("an answer", || lab.ping(IPV4, SECOND).is_some());
    lab.cut(1, true);
    lab.cut(2, true);
    wait(10 * SECOND);
    assert!(lab.ping(IPV4, Duration::from_millis(100)).is_none());
    lab.cut(1, false);
    lab.cut(2, false);
    let took = until("an answer", || lab.ping(IPV4, Duration::from_millis(50)).is_some());
    assert!(took < 2 * SECOND, "back after {took:?}");
}

#[test]
fn the_server_is_restarted() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    lab.echo('s', IPV4);
    until("an answer", || lab.ping(IPV4, SECOND).is_some());
    lab.kill('s');
    lab.start('s');
    let took = until("an answer of the new server", || {
        lab.ping("10.77.0.1:7", Duration::from_millis(100)).is_some()
    });
    assert!(took < 10 * SECOND, "back after {took:?}");
    // the state of the server for its next start is in the lab, not on the machine
    let secret = format!("{}.secret", lab.device('s'));
    assert!(lab.directory.join(&secret).exists());
    assert!(!Path::new(STATE_DIRECTORY).join(&secret).exists());
}

/// Changes the client's addresses on both uplinks; `connections` carry the session before and after.
fn the_client_moves(mut lab: Lab, connections: u64) {
    lab.start_both();
    lab.echo('s', IPV4);
    let inside = |lab: &Lab| lab.status('c')["sessions"][0]["addresses"].clone();
    let assigned = inside(&lab);
    let carried = |lab: &Lab| ['c', 's'].map(|host| lab.status(host)["sessions"][0]["connections"].clone());
    assert_eq!(carried(&lab), [connections, connections]);
    for uplink in 1..=2 {
        lab.ip('c', &format!("addr add 10.1.{uplink}.9/24 dev c{uplink}"));
        lab.ip('c', &format!("addr del 10.1.{uplink}.2/24 dev c{uplink}"));
        // the second one of the same network is removed with the first, unless the kernel promotes it
        let _ = std::process::Command::new("ip")
            .args([
                "-n",
                &lab.host('c'),
                "addr",
                "add",
                &format!("10.1.{uplink}.9/24"),
                "dev",
                &format!("c{uplink}"),
            ])
            .output();
    }
    let took = until("an answer", || lab.ping(IPV4, Duration::from_millis(100)).is_some());
    assert!(took < 5 * SECOND, "back after {took:?}");
    until("both paths", || lab.paths_up() == 2);
    let log = lab.log("server");
    assert_eq!(log.matches("session open").count(), 1, "the session goes on: {log}");
    assert_eq!(inside(&lab), assigned);
    assert_eq!(carried(&lab), [connections, connections]);
}

#[test]
fn the_address_of_the_client_changes() {
    let Some(lab) = Lab::new() else { return };
    the_client_moves(lab, 2);
}

#[test]
fn the_address_of_the_client_changes_with_one_connection_for_both_paths() {
    let Some(lab) = Lab::new() else { return };
    lab.edit("client.toml", "version = 1", "version = 1\ncarrier = \"multipath\"");
    the_client_moves(lab, 1);
}

#[test]
fn a_peer_with_a_wrong_key_is_refused() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    lab.echo('s', IPV4);
    lab.down('c');
    lab.edit("client.toml", "client.key", "other.key");
    until("the server has forgotten the client", || lab.status('s')["values"]["connections"] == 0.0);
    lab.start('c');
    let new = lab.keys[2].clone();
    until("a refusal", || {
        lab.log("server").contains("refused: a key does not match") && lab.log("client").contains("refused")
    });
    // the server's log has the offered key, the client's its own
    let (server, client) = (lab.log("server"), lab.log("client"));
    let offered = format!("add `public_key = \\\"{new}\\\"` to a peer in `server.peers`");
    assert!(server.contains(&offered), "{server}");
    assert!(client.contains(&format!("`server.peers` at the server must have {new}")), "{client}");
    assert!(!lab.is_open());
    assert_eq!(lab.status('s')["sessions"].as_array().unwrap().len(), 0);
    // conversely: the server has another key than the client expects
    lab.kill('c');
    let (before, log) = (lab.keys[0].clone(), lab.log("client").len());
    lab.edit("client.toml", &before, &lab.keys[1]);
    lab.start('c');
    until("a refusal", || lab.log("client")[log..].contains("refused"));
    let told = format!("`client.server_key` at the client, if it has one, must be {before}");
    until("the server tells its key", || lab.log("server").contains(&told));
    let client = lab.log("client")[log..].to_owned();
    assert!(client.contains("`client.server_key` must be the key of the server"), "{client}");
    lab.kill('c');
    until("nothing is kept", || lab.status('s')["values"]["connections"] == 0.0);
}

/// Sends `count` random datagrams to the server, at most 100 000 per second: a busy machine takes longer.
fn junk(lab: &Lab, count: u64) -> std::thread::JoinHandle<()> {
    lab.within('c', move || {
        let socket = UdpSocket::bind("10.1.1.2:0").unwrap();
        socket.connect("10.1.1.1:4433").unwrap();
        let mut packet = [0u8; 64];
        let (mut state, mut sent) = (1u64, 0u64);
        let start = Instant::now();
        while sent < count {
            // 1000 every 10 ms
            let due = (start.elapsed().as_secs_f64() * 100_000.0) as u64;
            while sent < due.min(count) {
                for byte in &mut packet {
                    // xorshift64
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    *byte = state as u8;
                }
                // like long headers of QUIC, short ones and other bytes
                packet[0] = match sent % 3 {
                    0 => packet[0] | 0xc0,
                    1 => packet[0] & 0x3f | 0x40,
                    _ => packet[0],
                };
                let _ = socket.send(&packet);
                sent += 1;
            }
            std::thread::yield_now();
        }
    })
}

/// Whether the service continues during a flood. Both share the machine: if it is busy, a socket may drop packets of either.
fn is_served((asked, answered): (u32, u32)) -> bool {
    asked > 0 && answered * 2 >= asked
}

#[test]
fn random_datagrams_do_not_stop_the_service() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    lab.echo('s', IPV4);
    let before = lab.memory('s');
    let flood = junk(&lab, 300_000);
    let ((), asked, answered) = lab.pings_during(flood, IPV4);
    let grown = lab.memory('s').saturating_sub(before);
    eprintln!("300,000 random datagrams; {answered} of {asked} answered; memory grew by {grown} bytes");
    assert!(is_served((asked, answered)), "{answered} of {asked}");
    assert!(grown < 32 << 20);
    assert_eq!(lab.paths_up(), 2);
}

#[test]
fn ten_thousand_flows_take_bounded_memory() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    let before = lab.memory('c');
    // a busy machine's device drops most packets that arrive faster than they are read: repeat until enough
    // enter
    let entered = |lab: &Lab| lab.status('c')["sessions"][0]["values"]["entered_packets"].as_f64().unwrap();
    for _ in 0..40 {
        lab.within('c', || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            for port in 10_000..20_000 {
                let _ = socket.send_to(&[0; 1000], ("10.77.0.1", port));
            }
        })
        .join()
        .unwrap();
        if entered(&lab) > 20_000.0 {
            break;
        }
    }
    until("they have left", || lab.status('c')["sessions"][0]["backlog_packets"] == 0);
    let grown = lab.memory('c').saturating_sub(before);
    let status = lab.status('c');
    eprintln!("memory grew by {grown} bytes; {}", status["sessions"][0]["values"]);
    assert!(entered(&lab) > 10_000.0);
    // the discipline's limit is 32 MiB, and as much again for packets in transit
    assert!(grown < 64 << 20, "{grown}");
}
