//! Probes of a network: echoes, and a burst of numbered datagrams at a given rate.
//!
//! | probe | report of the client |
//! | --- | --- |
//! | ping | minimum and mean round-trip time of the echoes |
//! | datagrams | rate of the arrivals; packets that were in the network's queue when it dropped the first one |
//!
//! Both ends share `CLOCK_MONOTONIC`: a datagram carries its number and its sending time.

use clap::Args;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

/// Port of the server.
const PORT: u16 = 4434;
/// Number and time of sending.
const HEADER: usize = 16;
/// Longest payload of UDP.
const MAX_PAYLOAD_BYTES: usize = 65_507;
/// Receive buffer that a client asks for, in bytes.
const RECEIVE_BUFFER: usize = 1 << 24;
/// Time without datagrams after which a client has received all.
const SILENCE: Duration = Duration::from_millis(1500);
/// Pause between two checks of a burst for due datagrams.
const PAUSE: Duration = Duration::from_micros(200);
/// First word of a request for a burst; all other datagrams are echoed.
const BURST: &str = "burst";

/// Options of `probe-server`.
#[derive(Args)]
pub struct ServerArguments {
    /// Address to listen at.
    #[arg(long)]
    address: IpAddr,
}

/// Options of `probe-client`.
#[derive(Args)]
pub struct ClientArguments {
    /// Address of the server.
    #[arg(long)]
    address: IpAddr,
    /// Echoes to ask for.
    #[arg(long)]
    count: Option<u32>,
    /// Time between two of them, in seconds.
    #[arg(long, default_value_t = 0.02)]
    interval: f64,
    /// Rate of the burst's payload, in bit/s.
    #[arg(long)]
    rate: Option<f64>,
    /// Payload of a datagram, in bytes.
    #[arg(long, default_value_t = 64)]
    size: usize,
    /// How long the burst is sent, in seconds.
    #[arg(long, default_value_t = 1.0)]
    duration: f64,
}

/// A datagram of a burst that arrived, times in seconds.
#[derive(Clone, Copy)]
struct Arrival {
    number: u64,
    sent: f64,
    arrived: f64,
}

/// Answers until it is ended.
pub fn server(arguments: &ServerArguments) -> ExitCode {
    told(serve(arguments.address))
}

/// Probes and prints a line of JSON.
pub fn client(arguments: &ClientArguments) -> ExitCode {
    told(probe(arguments))
}

fn told(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "quiclab-live: the probe failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(address: IpAddr) -> io::Result<()> {
    let socket = UdpSocket::bind((address, PORT))?;
    let mut buffer = vec![0; MAX_PAYLOAD_BYTES];
    loop {
        let (length, peer) = socket.recv_from(&mut buffer)?;
        let request = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
        let mut words = request.split_whitespace();
        if words.next() == Some(BURST) {
            let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
            if let [interval, size, count] = numbers[..] {
                burst(
                    &socket,
                    peer,
                    interval,
                    (size as usize).clamp(HEADER, MAX_PAYLOAD_BYTES),
                    count as u64,
                )?;
            }
        } else {
            socket.send_to(&buffer[..length], peer)?;
        }
    }
}

/// Sends `count` datagrams, one every `interval` seconds.
fn burst(socket: &UdpSocket, peer: SocketAddr, interval: f64, size: usize, count: u64) -> io::Result<()> {
    let mut datagram = vec![0; size];
    let start = now();
    for number in 0..count {
        while now() < start + interval * number as f64 {
            std::thread::sleep(PAUSE);
        }
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        datagram[8..HEADER].copy_from_slice(&now().to_be_bytes());
        socket.send_to(&datagram, peer)?;
    }
    Ok(())
}

fn probe(arguments: &ClientArguments) -> io::Result<()> {
    let socket = UdpSocket::bind(match arguments.address {
        IpAddr::V4(_) => "0.0.0.0:0",
        IpAddr::V6(_) => "[::]:0",
    })?;
    // a bearer may deliver much at once; the kernel grants what its limit allows
    let _ = set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
    socket.connect((arguments.address, PORT))?;
    let started = now();
    let (bytes, statistics) = match (arguments.count, arguments.rate) {
        (Some(count), _) => ping(&socket, count, arguments.interval, arguments.size.max(HEADER))?,
        (None, Some(rate)) => {
            let size = arguments.size.clamp(HEADER, MAX_PAYLOAD_BYTES);
            let count = (rate * arguments.duration / (8.0 * size as f64)).ceil();
            let request = format!("{BURST} {} {size} {count}", 8.0 * size as f64 / rate);
            socket.send(request.as_bytes())?;
            let arrivals = listen(&socket, count as u64)?;
            (arrivals.len() * size, figures(&arrivals, size, count as u64))
        }
        (None, None) => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither --count nor --rate is given"));
        }
    };
    let nanoseconds = |time: f64| (time * 1e9) as u64;
    let line = json!({
        "started_ns": nanoseconds(started), "finished_ns": nanoseconds(now()), "bytes": bytes,
        "statistics": statistics,
    });
    writeln!(io::stdout(), "{line}")
}

fn ping(
    socket: &UdpSocket,
    count: u32,
    interval: f64,
    size: usize,
) -> io::Result<(usize, Map<String, Value>)> {
    socket.set_read_timeout(Some(SILENCE))?;
    let mut times = Vec::new();
    let mut buffer = vec![0; size];
    for number in 0..u64::from(count) {
        let sent = now();
        buffer[..8].copy_from_slice(&number.to_be_bytes());
        socket.send(&buffer)?;
        while socket.recv(&mut buffer).is_ok() {
            if buffer[..8] == number.to_be_bytes() {
                times.push(1e3 * (now() - sent));
                break;
            }
        }
        std::thread::sleep(Duration::from_secs_f64(interval));
    }
    let mut statistics = Map::new();
    statistics.insert("answered".to_owned(), times.len().into());
    if let Some(least) = times.iter().copied().reduce(f64::min) {
        statistics.insert("rtt_min_ms".to_owned(), least.into());
        statistics.insert("rtt_mean_ms".to_owned(), (times.iter().sum::<f64>() / times.len() as f64).into());
    }
    Ok((times.len() * size, statistics))
}

fn listen(socket: &UdpSocket, count: u64) -> io::Result<Vec<Arrival>> {
    socket.set_read_timeout(Some(SILENCE))?;
    let mut arrivals = Vec::new();
    let mut buffer = vec![0; MAX_PAYLOAD_BYTES];
    while let Ok(length) = socket.recv(&mut buffer) {
        if length < HEADER {
            continue;
        }
        let field = |at: usize| <[u8; 8]>::try_from(&buffer[at..at + 8]).expect("eight bytes");
        let number = u64::from_be_bytes(field(0));
        arrivals.push(Arrival { number, sent: f64::from_be_bytes(field(8)), arrived: now() });
        if number + 1 == count {
            break;
        }
    }
    Ok(arrivals)
}

/// Results of a burst of datagrams of `size` bytes, given in the order of arrival.
fn figures(arrivals: &[Arrival], size: usize, count: u64) -> Map<String, Value> {
    let mut found = Map::new();
    found.insert("datagrams_sent".to_owned(), count.into());
    found.insert("datagrams_received".to_owned(), arrivals.len().into());
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else { return found };
    let took = last.arrived - first.arrived;
    if arrivals.len() < 2 || took <= 0.0 {
        return found;
    }
    let service = took / (arrivals.len() - 1) as f64;
    found.insert("rate_mbps".to_owned(), (8e-6 * size as f64 / service).into());
    // the first missing one, with a sending time extrapolated from the one before it
    let mut numbers: Vec<_> = arrivals.iter().map(|arrival| arrival.number).collect();
    numbers.sort_unstable();
    let lost = (0..).zip(&numbers).find(|(wanted, number)| wanted != *number).map(|(wanted, _)| wanted);
    let least = arrivals.iter().map(|arrival| arrival.arrived - arrival.sent).fold(f64::INFINITY, f64::min);
    let pace = (last.sent - first.sent) / last.number.saturating_sub(first.number).max(1) as f64;
    let before =
        |lost: u64| arrivals.iter().find(|arrival| arrival.number + 1 == lost).map(|found| found.sent);
    if let Some(lost) = lost
        && let Some(sent) = before(lost).map(|sent| sent + pace)
    {
        // after the serialiser a packet takes as long as the fastest one, minus its own service
        let left = |arrival: &Arrival| arrival.arrived - (least - service);
        let waiting = arrivals.iter().filter(|arrival| arrival.number < lost && left(arrival) > sent).count();
        found.insert("queue_packets".to_owned(), waiting.into());
    }
    found
}

/// CLOCK_MONOTONIC in seconds; a double has it to a microsecond for two centuries.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue of three packets and a service of 10 ms; packets arrive at it 4.5 ms apart, and the sixth is dropped.
    #[test]
    fn a_queue_is_counted_at_the_first_drop() {
        let arrival = |number: u64, arrived: f64| Arrival { number, sent: 0.0045 * number as f64, arrived };
        let delay = 0.1;
        let kept = [0, 1, 2, 3, 4, 6].into_iter().zip(1_i32..);
        let arrivals: Vec<_> = kept.map(|(n, turn)| arrival(n, delay + 0.01 * f64::from(turn))).collect();
        let found = figures(&arrivals, 1250, 7);
        assert!((found["rate_mbps"].as_f64().expect("a number") - 1.0).abs() < 1e-9);
        // at 22.5 ms two had been served: of five, three were there
        assert_eq!(found["queue_packets"], 3);
    }

    #[test]
    fn nothing_follows_from_nothing() {
        assert_eq!(figures(&[], 1000, 5)["datagrams_received"], 0);
    }
}
