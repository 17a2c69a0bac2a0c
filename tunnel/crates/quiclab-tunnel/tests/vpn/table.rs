//! Measures the cost of each fault: `make tunnel-faults`, which writes tunnel/docs/faults.md. Prints a line of JSON for
//! each.
//!
//! During each fault a flow of TCP goes through the tunnel (as fast as its sender writes: 16 KiB every 5 ms),
//! and a datagram every 2 ms.
//!
//! | value | |
//! | --- | --- |
//! | `gap_ms` | longest time without a datagram |
//! | `goodput_mbps` | mean of the flow, the fault included |
//! | `memory_kib` | growth of both processes |

use super::faults::move_client;
use super::lab::{Lab, until, wait};
use super::outage::stream;
use super::strangers::Flood;
use super::{SECOND, junk};
use rustix::process::Signal;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time of the measurement after the beginning of a fault.
const WINDOW: Duration = Duration::from_secs(12);

/// Arrivals of a datagram every 2 ms, from the client to the server.
fn probe(lab: &Lab, stop: &Arc<AtomicBool>) -> Arc<Mutex<Vec<Instant>>> {
    let arrivals: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let (own, stop) = (arrivals.clone(), stop.clone());
    let socket = lab.socket('s', "10.77.0.1:8");
    std::thread::spawn(move || {
        while socket.recv(&mut [0; 8]).is_ok() {
            own.lock().unwrap().push(Instant::now());
        }
    });
    drop(lab.within('c', move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        while !stop.load(Ordering::Relaxed) {
            let _ = socket.send_to(b"x", "10.77.0.1:8");
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }));
    arrivals
}

/// Runs a fault between two ends with two paths, of which `left` are up at the end, and prints its cost: `kind` is its table.
fn measure_as(
    kind: &str,
    name: &str,
    left: usize,
    set_up: impl FnOnce(&mut Lab),
    fault: impl FnOnce(&mut Lab),
) {
    let Some(mut lab) = Lab::new() else { return };
    set_up(&mut lab);
    if lab.has_session('s') {
        until("paths", || lab.is_open() && lab.paths_up() == 2);
    } else {
        lab.start_both();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let arrivals = probe(&lab, &stop);
    let flow = stream(&lab, 'c', 's', "10.77.0.1:9");
    let bytes = || flow.load(Ordering::Relaxed);
    until("load", || bytes() > 3_000_000);
    let memory = |lab: &Lab| lab.memory('c') + lab.memory('s');
    let (before, from, start) = (memory(&lab), bytes(), Instant::now());
    fault(&mut lab);
    wait(WINDOW.saturating_sub(start.elapsed()));
    let (elapsed, goodput) = (start.elapsed(), bytes() - from);
    stop.store(true, Ordering::Relaxed);
    let end = Instant::now();
    let times: Vec<_> = arrivals.lock().unwrap().iter().copied().filter(|time| *time >= start).collect();
    let next = times.iter().skip(1).copied().chain([end]);
    let gaps = times.iter().zip(next).map(|(one, next)| next.duration_since(*one));
    let first = times.first().copied().unwrap_or(end).duration_since(start);
    let gap = gaps.chain([first]).max().unwrap_or(elapsed);
    let line = serde_json::json!({
        "table": kind,
        "fault": name,
        "gap_ms": gap.as_secs_f64() * 1e3,
        "goodput_mbps": goodput as f64 * 8.0 / elapsed.as_secs_f64() / 1e6,
        "memory_kib": memory(&lab).saturating_sub(before) >> 10,
        "paths_up": lab.paths_up(),
    });
    println!("{line}");
    assert_eq!(lab.paths_up(), left, "{name}");
    assert!(end.duration_since(*times.last().expect("datagrams arrive")) < SECOND, "{name}: it goes on");
}

fn measure(name: &str, left: usize, set_up: impl FnOnce(&mut Lab), fault: impl FnOnce(&mut Lab)) {
    measure_as("faults", name, left, set_up, fault);
}

/// Starts a NAT before the server: the server sees path 1 as a socket that is replaced by another one on request.
fn translate(lab: &Lab) -> Arc<Mutex<UdpSocket>> {
    lab.edit("client.toml", "10.1.1.1:4433", "10.1.1.1:4434");
    let socket = || {
        let far = UdpSocket::bind("10.1.1.1:0").unwrap();
        far.connect("10.1.1.1:4433").unwrap();
        far.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        far
    };
    let far = lab.within('s', move || Arc::new(Mutex::new(socket()))).join().unwrap();
    let current = far.clone();
    let near = lab.socket('s', "10.1.1.1:4434");
    let client: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
    let (known, back, to_client) = (client.clone(), far.clone(), near.try_clone().unwrap());
    std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        loop {
            let socket = back.lock().unwrap().try_clone().unwrap();
            let client = *known.lock().unwrap();
            if let (Ok(size), Some(client)) = (socket.recv(&mut buffer), client) {
                let _ = to_client.send_to(&buffer[..size], client);
            }
        }
    });
    std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((size, from)) = near.recv_from(&mut buffer) {
            *client.lock().unwrap() = Some(from);
            let _ = current.lock().unwrap().send(&buffer[..size]);
        }
    });
    far
}

/// Replaces the socket of a NAT by another one, which has another port.
fn give_another_port(lab: &Lab, far: &Mutex<UdpSocket>) {
    let socket = lab.socket('s', "10.1.1.1:0");
    socket.connect("10.1.1.1:4433").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    *far.lock().unwrap() = socket;
}

/// A fault that may follow another one: name, number of remaining paths, effect on a network with a NAT on path 1.
type Fault = (&'static str, usize, fn(&mut Lab, &Mutex<UdpSocket>));

const IN_TURN: [Fault; 5] = [
    ("the client's addresses change", 2, |lab, _| move_client(lab)),
    ("a NAT gives one path another port", 2, |lab, far| give_another_port(lab, far)),
    ("one line carries nothing, without a sign", 1, |lab, _| lab.cut(2, true)),
    ("the server is killed and started again", 2, |lab, _| {
        lab.kill('s');
        lab.start('s');
    }),
    ("the client is stopped for 3 s", 2, |lab, _| {
        lab.signal('c', Signal::STOP);
        wait(3 * SECOND);
        lab.signal('c', Signal::CONT);
    }),
];

/// Each fault after each other one, which may leave a changed state, such as other connection IDs. Recovery
/// that takes longer than the window, such as the idle timeout, fails.
#[test]
#[ignore = "make tunnel-faults: several minutes"]
fn pairs() {
    for (first, left_by_first, one) in IN_TURN {
        for (second, left_by_second, other) in IN_TURN {
            if first == second {
                continue;
            }
            let far = Arc::new(Mutex::new(None));
            let (set, left) = (far.clone(), left_by_first.min(left_by_second));
            measure_as(
                "pairs",
                &format!("{first}, then {second}"),
                left,
                move |lab| *set.lock().unwrap() = Some(translate(lab)),
                |lab| {
                    let far = far.lock().unwrap().clone().expect("it is set up");
                    one(lab, &far);
                    wait(2 * SECOND);
                    other(lab, &far);
                },
            );
        }
    }
}

#[test]
#[ignore = "make tunnel-faults: several minutes"]
fn faults() {
    let nothing = |_: &mut Lab| {};
    measure("none", 2, nothing, nothing);
    measure("one line is unplugged", 1, nothing, |lab| drop(lab.ip('c', "link set c1 down")));
    measure("both lines are unplugged for 3 s", 2, nothing, |lab| {
        for (state, time) in [("down", 3 * SECOND), ("up", Duration::ZERO)] {
            for uplink in 1..=2 {
                lab.ip('c', &format!("link set c{uplink} {state}"));
            }
            wait(time);
        }
    });
    measure("one line carries nothing, without a sign", 1, nothing, |lab| lab.cut(1, true));
    measure("both lines carry nothing for 5 s", 2, nothing, |lab| {
        (1..=2).for_each(|uplink| lab.cut(uplink, true));
        wait(5 * SECOND);
        (1..=2).for_each(|uplink| lab.cut(uplink, false));
    });
    measure("the MTU of one line falls to 1300 bytes", 2, |lab| lab.route(false), |lab| lab.limit(1300));
    measure("the client's addresses change", 2, nothing, |lab| move_client(lab));
    let translated = Arc::new(Mutex::new(None));
    let set = translated.clone();
    measure(
        "a NAT gives one path another port",
        2,
        move |lab| *set.lock().unwrap() = Some(translate(lab)),
        move |lab| give_another_port(lab, translated.lock().unwrap().as_ref().unwrap()),
    );
    measure("the server is killed and started again", 2, nothing, |lab| {
        lab.kill('s');
        lab.start('s');
    });
    measure("the client's clock jumps: it is stopped for 3 s", 2, nothing, |lab| {
        lab.signal('c', Signal::STOP);
        wait(3 * SECOND);
        lab.signal('c', Signal::CONT);
    });
    let full = ["sh", "-c", "exec \"$@\" 2>/dev/full", "sh"];
    measure(
        "no room for the log, and one line carries nothing",
        1,
        move |lab| {
            lab.start_by('s', &full);
            lab.start_by('c', &full);
            until("session", || lab.has_session('s'));
        },
        |lab| lab.cut(1, true),
    );
    measure("100 000 junk datagrams in a second", 2, nothing, |lab| {
        drop(junk(lab, 100_000 * WINDOW.as_secs()))
    });
    let flood = Arc::new(Mutex::new(None));
    let held = flood.clone();
    measure("1000 Initial packets in a second from one host", 2, nothing, move |lab| {
        *held.lock().unwrap() = Some(Flood::start(lab));
    });
    drop(flood);
}
