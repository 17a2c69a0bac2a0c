//! Pages from several servers: a connection to each, as browsers have with HTTP/2 and HTTP/3; all ends at one
//! side of a flow form one endpoint.
//!
//! A connection is opened when the first resource of its server is wanted. Connections share the flow's
//! routes and, if there is one, the host: one browser, and one machine with all servers. They differ in the
//! client's port, by which queues and this endpoint assign packets, and in bits 32 to 39 of packet ids.
//!
//! | | a browser | here |
//! | --- | --- | --- |
//! | opening in advance (`preconnect`, speculation) | some | none |
//! | name resolution | before each connection | takes no time |
//! | servers with one address and certificate | may share a connection (RFC 9113 section 9.1.1) | separate connections |
//! | a connection that fails | the page continues without its resources | the page fails |

use super::PageEnds;
use super::browser::lock;
use crate::error::Error;
use crate::options::Workload;
use quiclab_core::{
    Counters, Element, Endpoint, EndpointIdentity, FiveTuple, Metrics, Outputs, Packet, PageClient, Port,
    Progress, RandomStream, RequestTimes, Role, SavedTcpMetrics, Time, WarmStart,
};
use std::net::SocketAddr;

quiclab_core::metrics! {
    /// Connections of a page load.
    pub static ORIGINS: OriginsMetrics = Flow, "client of `page` with several origins or connections" {
        /// Connections that were begun.
        connections: Counter, End;
    }
}

/// Shift of the connection number in packet ids: 2^32 packets for each connection.
const CONNECTION_SHIFT: u32 = 32;
/// Endpoint with several connections; see the module documentation.
struct Origins {
    role: Role,
    ends: PageEnds,
    /// Connections by origin.
    connections: Vec<Box<dyn Endpoint>>,
    /// Whether the client has started to open each connection.
    begun: Vec<bool>,
    /// Client port of the first connection.
    first_port: u16,
    /// Number of ports of a connection: one for each path.
    ports: u16,
}

/// Builds one side of a page with `resources`: a connection to each of its servers. `random` is that of the
/// page. `connection` makes the end of a connection from its identity, the common parts of the page's ends,
/// and the number of its server.
///
/// # Errors
/// If a value of the page is not allowed; errors of `connection`.
pub fn build(
    identity: &EndpointIdentity,
    workload: &Workload,
    random: RandomStream,
    mut connection: impl FnMut(&EndpointIdentity, &PageEnds, usize) -> Result<Box<dyn Endpoint>, Error>,
) -> Result<Box<dyn Endpoint>, Error> {
    let ends = PageEnds::new(workload, random)?;
    let connections = (0..ends.page.origins)
        .map(|origin| connection(&identity_of(identity, origin), &ends, origin))
        .collect::<Result<Vec<_>, _>>()?;
    let mut begun = vec![false; connections.len()];
    begun[0] = true;
    let first_port = client_of(identity.role, &identity.tuple).port();
    Ok(Box::new(Origins {
        role: identity.role,
        ends,
        connections,
        begun,
        first_port,
        ports: identity.paths as u16,
    }))
}

/// Identity of a connection; that of the first is the flow's.
fn identity_of(identity: &EndpointIdentity, origin: usize) -> EndpointIdentity {
    if origin == 0 {
        return identity.clone();
    }
    let tuple = &identity.tuple;
    let first_port = (origin * identity.paths) as u16;
    let shifted = |address: SocketAddr| SocketAddr::new(address.ip(), address.port() + first_port);
    let (source, destination) = match identity.role {
        Role::Client => (shifted(tuple.source()), tuple.destination()),
        Role::Server => (tuple.source(), shifted(tuple.destination())),
    };
    EndpointIdentity {
        name: format!("{}.origin{origin}", identity.name),
        tuple: FiveTuple::new(tuple.protocol(), source, destination),
        ..identity.clone()
    }
}

/// Address of the client in the packets that an end sends.
fn client_of(role: Role, sent: &FiveTuple) -> SocketAddr {
    match role {
        Role::Client => sent.source(),
        Role::Server => sent.destination(),
    }
}

impl Origins {
    /// Runs a connection and numbers the packets that it sends.
    fn act(&mut self, origin: usize, out: &mut Outputs, act: impl FnOnce(&mut dyn Endpoint, &mut Outputs)) {
        let before = out.packets.len();
        act(self.connections[origin].as_mut(), out);
        for (_, packet) in &mut out.packets[before..] {
            packet.id += (origin as u64) << CONNECTION_SHIFT;
        }
    }

    /// Wakes the connections for which others have created work.
    fn settle(&mut self, now: Time, out: &mut Outputs) {
        loop {
            let woken = lock(&self.ends.visit).next_woken();
            let Some(origin) = woken else { return };
            self.begun[origin] = true;
            self.act(origin, out, |connection, out| connection.wake(now, out));
        }
    }

    /// Existing connections with their origins.
    fn open(&self) -> impl Iterator<Item = (usize, &dyn Endpoint)> {
        let is_open = |origin: &usize| self.role == Role::Server || self.begun[*origin];
        (0..self.connections.len()).filter(is_open).map(|origin| (origin, self.connections[origin].as_ref()))
    }
}

impl Element for Origins {
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        // as the peer sends it
        let client = client_of(self.role, &packet.tuple.reverse());
        let origin = usize::from(client.port().wrapping_sub(self.first_port) / self.ports);
        // misrouted background traffic: the first connection counts it
        let origin = if origin < self.connections.len() { origin } else { 0 };
        self.act(origin, out, |connection, out| connection.receive(now, port, packet, out));
        self.settle(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        let is_due =
            |(_, connection): &(usize, &dyn Endpoint)| connection.next_wake().is_some_and(|at| at <= now);
        let due: Vec<usize> = self.open().filter(is_due).map(|(origin, _)| origin).collect();
        for origin in due {
            self.act(origin, out, |connection, out| connection.wake(now, out));
        }
        lock(&self.ends.visit).wake(now);
        self.settle(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let delays = lock(&self.ends.visit).deadline();
        self.open().filter_map(|(_, connection)| connection.next_wake()).chain(delays).min()
    }

    fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.connections.iter().for_each(|connection| sum += connection.counters());
        sum
    }

    fn statistics(&mut self, now: Time, out: &mut Metrics) {
        self.report(out, |connection, out| connection.statistics(now, out));
        if self.role == Role::Client {
            out.count(&ORIGINS.connections, self.begun.iter().filter(|begun| **begun).count() as u64);
        }
    }

    fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.report(out, |connection, out| connection.sample(now, out));
    }
}

impl Origins {
    /// Reports the values of the first connection, with the sums of counts.
    fn report(&mut self, out: &mut Metrics, report: impl Fn(&mut dyn Endpoint, &mut Metrics)) {
        let (first, others) = self.connections.split_first_mut().expect("there is one for the HTML");
        let mut sums = Metrics::default();
        report(first.as_mut(), &mut sums);
        for connection in others {
            let mut values = Metrics::default();
            report(connection.as_mut(), &mut values);
            sums.add(&values);
        }
        out.append(sums);
    }
}

impl Endpoint for Origins {
    fn progress(&self) -> Progress {
        let mut sum = Progress::default();
        for progress in self.connections.iter().map(|connection| connection.progress()) {
            sum.delivered_bytes += progress.delivered_bytes;
            sum.failed |= progress.failed;
            // the servers' are those of the last one
            sum.started = [sum.started, progress.started].into_iter().flatten().min();
            sum.finished = sum.finished.max(progress.finished);
        }
        sum
    }

    fn failure(&self) -> Option<&str> {
        self.connections.iter().find_map(|connection| connection.failure())
    }

    fn page_client(&self) -> Option<&dyn PageClient> {
        (self.role == Role::Client).then_some(self as _)
    }

    fn warm_start(&mut self) -> Option<&mut dyn WarmStart> {
        self.connections[0].warm_start().is_some().then_some(self as _)
    }
}

impl PageClient for Origins {
    fn requests(&self) -> Vec<RequestTimes> {
        self.connections[0].page_client().map(PageClient::requests).unwrap_or_default()
    }

    fn reads_packets(&self) -> bool {
        self.connections[0].page_client().is_some_and(PageClient::reads_packets)
    }

    fn occupied_until(&self) -> Time {
        // one browser: the same for all
        self.connections[0].page_client().map_or(Time::ZERO, PageClient::occupied_until)
    }
}

/// Metrics belong to a pair of addresses, which all connections share.
impl WarmStart for Origins {
    fn saved_metrics(&mut self) -> SavedTcpMetrics {
        self.connections[0].warm_start().map(WarmStart::saved_metrics).unwrap_or_default()
    }

    fn load_metrics(&mut self, metrics: SavedTcpMetrics) {
        for connection in self.connections.iter_mut().filter_map(|connection| connection.warm_start()) {
            connection.load_metrics(metrics);
        }
    }
}

#[cfg(test)]
#[path = "origins_tests.rs"]
mod tests;
