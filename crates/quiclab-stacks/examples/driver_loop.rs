//! The transfer of the example `bare_loop`, through the endpoints of this crate: the difference is the cost
//! of the driver.
//!
//! Arguments: the stack, `quinn` by default, and the number of megabytes. Prints
//! `{"data_packets":..,"cpu_seconds":..,"network_seconds":..}`.

use quiclab_core::{
    ByteCount, DataRate, Duration, Endpoint, EndpointIdentity, FiveTuple, FlowId, Outputs, Packet, Port,
    Protocol, Role, Time,
};
use quiclab_stacks::STACKS;
use quiclab_transport::EndpointRequest;
use quiclab_transport::options::{CongestionControl, EndpointConfig, Workload};
use quiclab_transport::stack::build;
use std::collections::VecDeque;

const RATE: DataRate = DataRate::from_mbps(20);
const DELAY: Duration = Duration::from_millis(10);
const QUEUE_PACKETS: usize = 100;

/// Serialises at a rate behind a drop-tail queue, then delays.
#[derive(Default)]
struct Link {
    /// Times at which the packets in the queue, including the one in service, have been serialised.
    departures: VecDeque<Time>,
    /// Packets in propagation, each with its time of arrival.
    arrivals: VecDeque<(Time, Box<Packet>)>,
}

impl Link {
    fn send(&mut self, now: Time, packet: Box<Packet>) {
        while self.departures.front().is_some_and(|departure| *departure <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() == QUEUE_PACKETS {
            return;
        }
        let departure = self.departures.back().copied().unwrap_or(now) + RATE.time_for(packet.size);
        self.departures.push_back(departure);
        self.arrivals.push_back((departure + DELAY, packet));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let stack = arguments.next().unwrap_or_else(|| "quinn".to_owned());
    let megabytes = arguments.next().map_or(100, |argument| argument.parse().expect("a number of megabytes"));
    let size = ByteCount::from_bytes(megabytes * 1_000_000);
    let start_cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let config = EndpointConfig {
        stack: Some(stack),
        congestion_control: Some(CongestionControl::Newreno),
        datagram_size: Some(ByteCount::from_bytes(1280)),
        ..EndpointConfig::default()
    };
    let workload =
        Workload::Download { size: Some(size), duration: None, request: ByteCount::from_bytes(100) };
    let tuple = FiveTuple::new(
        Protocol::Udp,
        "192.0.2.1:443".parse().expect("an address"),
        "192.0.2.2:50000".parse().expect("an address"),
    );
    let build = |name: &str, role, tuple| {
        let identity = EndpointIdentity { name: name.to_owned(), flow: FlowId(0), role, tuple, paths: 1 };
        let request = EndpointRequest::new(identity, &config, &workload, Time::ZERO, 1);
        build(STACKS, request).unwrap_or_else(|error| panic!("{error}"))
    };
    // [0] is the server, [1] the client; links[0] leads to the client
    let mut ends: [Box<dyn Endpoint>; 2] =
        [build("server", Role::Server, tuple), build("client", Role::Client, tuple.reverse())];
    let mut links = [Link::default(), Link::default()];
    let mut out = Outputs::default();
    let mut sent = 0;
    let mut now = Time::ZERO;
    while ends[1].progress().finished.is_none() {
        let arrivals = [1, 0].map(|link: usize| links[link].arrivals.front().map(|(time, _)| *time));
        let wakes = [ends[0].next_wake(), ends[1].next_wake()];
        now =
            arrivals.into_iter().chain(wakes).flatten().min().expect("a download always waits for something");
        let end =
            usize::from(arrivals[1] == Some(now) || (arrivals[0] != Some(now) && wakes[1] == Some(now)));
        if arrivals[end] == Some(now) {
            let (_, packet) = links[1 - end].arrivals.pop_front().expect("it was just seen");
            ends[end].receive(now, Port(0), packet, &mut out);
        } else {
            ends[end].wake(now, &mut out);
        }
        sent += if end == 0 { out.packets.len() } else { 0 };
        for (_, packet) in out.packets.drain(..) {
            links[end].send(now, packet);
        }
    }
    assert_eq!(ends[1].progress().delivered_bytes, size.bytes());
    let end_cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = |time: rustix::time::Timespec| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    println!(
        "{{\"data_packets\":{sent},\"cpu_seconds\":{:.6},\"network_seconds\":{:.6}}}",
        seconds(end_cpu) - seconds(start_cpu),
        now.as_nanos() as f64 / 1e9
    );
}
