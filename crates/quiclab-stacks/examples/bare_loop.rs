//! Baseline for the overhead of the driver: two bare quinn-proto endpoints in the smallest possible loop.
//!
//! The same transfer as a scenario with one flow: 100 MB, datagrams of 1280 bytes, NewReno, both
//! ways 20 Mbit/s, 10 ms and drop-tail queues of 100 packets, TLS_AES_128_GCM_SHA256. Prints
//! `{"data_packets":..,"cpu_seconds":..,"network_seconds":..}`; data packets are those of the
//! server. An argument is the number of megabytes.

use bytes::{Bytes, BytesMut};
use quinn_proto::congestion::NewRenoConfig;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ReadError, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{cipher_suite, default_provider, kx_group};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DATAGRAM: u16 = 1280;
const HEADERS: u64 = 28;
const RATE_BITS_PER_SECOND: u64 = 20_000_000;
const DELAY: Duration = Duration::from_millis(10);
const QUEUE_PACKETS: usize = 100;
const WRITE: usize = 65_536;
static BODY: [u8; WRITE] = [0; WRITE];

/// Serialises at a rate behind a drop-tail queue, then delays.
#[derive(Default)]
struct Link {
    /// Times at which the packets in the queue, including the one in service, have been serialised.
    departures: VecDeque<Instant>,
    /// Packets in propagation, each with its time of arrival.
    arrivals: VecDeque<(Instant, BytesMut)>,
}

impl Link {
    fn send(&mut self, now: Instant, datagram: &[u8]) {
        while self.departures.front().is_some_and(|departure| *departure <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() == QUEUE_PACKETS {
            return;
        }
        let nanos = ((datagram.len() as u64 + HEADERS) * 8_000_000_000).div_ceil(RATE_BITS_PER_SECOND);
        let start = self.departures.back().copied().unwrap_or(now);
        let departure = start + Duration::from_nanos(nanos);
        self.departures.push_back(departure);
        self.arrivals.push_back((departure + DELAY, BytesMut::from(datagram)));
    }
}

struct Peer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    buffer: Vec<u8>,
    sent: u64,
}

impl Peer {
    fn receive(&mut self, now: Instant, datagram: BytesMut) {
        match self.endpoint.handle(now, self.remote, None, None, datagram, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut self.buffer, None).ok();
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    fn poll(&mut self) -> Option<Event> {
        let (handle, connection) = self.connection.as_mut()?;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        connection.poll()
    }

    fn transmit(&mut self, now: Instant, link: &mut Link) {
        let Some((_, connection)) = &mut self.connection else { return };
        self.buffer.clear();
        while connection.poll_transmit(now, 1, &mut self.buffer).is_some() {
            link.send(now, &self.buffer);
            self.sent += 1;
            self.buffer.clear();
        }
    }

    /// Handles timers that are due; returns whether there were any.
    fn wake(&mut self, now: Instant) -> bool {
        let due = self.deadline().is_some_and(|deadline| deadline <= now);
        if let Some((_, connection)) = self.connection.as_mut().filter(|_| due) {
            connection.handle_timeout(now);
        }
        due
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout()
    }
}

/// Returns whether the download is complete.
fn client(peer: &mut Peer, now: Instant, received: &mut u64) -> bool {
    while let Some(event) = peer.poll() {
        let Some((_, connection)) = &mut peer.connection else { continue };
        match event {
            Event::Connected => {
                let id = connection.streams().open(Dir::Bi).expect("the server allows a stream");
                let mut stream = connection.send_stream(id);
                stream.write(&BODY[..100]).expect("the stream is new");
                stream.finish().expect("the stream is new");
            }
            Event::Stream(StreamEvent::Readable { id }) => {
                let mut stream = connection.recv_stream(id);
                let mut chunks = stream.read(true).expect("the stream is open");
                loop {
                    match chunks.next(usize::MAX) {
                        Ok(Some(chunk)) => *received += chunk.bytes.len() as u64,
                        Ok(None) => {
                            let _ = chunks.finalize();
                            connection.close(now, VarInt::from_u32(0), Bytes::new());
                            return true;
                        }
                        Err(ReadError::Blocked) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
                let _ = chunks.finalize();
            }
            _ => {}
        }
    }
    false
}

fn server(peer: &mut Peer, stream: &mut Option<StreamId>, left: &mut u64) {
    while let Some(event) = peer.poll() {
        let Some((_, connection)) = &mut peer.connection else { continue };
        if let Event::Stream(StreamEvent::Opened { .. }) = event {
            *stream = connection.streams().accept(Dir::Bi);
        }
        let Some(id) = *stream else { continue };
        while *left > 0 {
            let size = (*left).min(WRITE as u64) as usize;
            let written = connection.send_stream(id).write_chunks(&mut [Bytes::from_static(&BODY[..size])]);
            let written = written.map_or(0, |written| written.bytes);
            *left -= written as u64;
            if *left == 0 {
                connection.send_stream(id).finish().expect("the stream is open");
            }
            if written == 0 {
                break;
            }
        }
    }
}

fn main() {
    let megabytes =
        std::env::args().nth(1).map_or(100, |argument| argument.parse().expect("a number of megabytes"));
    let bytes: u64 = megabytes * 1_000_000;
    let start_cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    #[allow(clippy::disallowed_methods, reason = "an arbitrary epoch of virtual time")]
    let epoch = Instant::now();
    let (mut server_end, mut client_end) = peers(epoch);
    let (mut down, mut up) = (Link::default(), Link::default());
    let (mut received, mut left, mut stream) = (0, bytes, None);
    let mut now = epoch;
    client_end.transmit(now, &mut up);
    loop {
        let arrivals = [&up, &down].map(|link| link.arrivals.front().map(|(time, _)| *time));
        let timers = [server_end.deadline(), client_end.deadline()];
        let next = arrivals.into_iter().chain(timers).flatten().min();
        now = next.expect("a download always waits for something").max(now);
        let (client_called, server_called) = match (arrivals[1] == Some(now), arrivals[0] == Some(now)) {
            (true, _) => {
                let (_, datagram) = down.arrivals.pop_front().expect("it was just seen");
                client_end.receive(now, datagram);
                (true, false)
            }
            (false, true) => {
                let (_, datagram) = up.arrivals.pop_front().expect("it was just seen");
                server_end.receive(now, datagram);
                (false, true)
            }
            (false, false) => {
                let called = [&mut client_end, &mut server_end].map(|peer| peer.wake(now));
                (called[0], called[1])
            }
        };
        let mut done = false;
        if client_called {
            done = client(&mut client_end, now, &mut received);
            client_end.transmit(now, &mut up);
        }
        if server_called {
            server(&mut server_end, &mut stream, &mut left);
            server_end.transmit(now, &mut down);
        }
        if done {
            break;
        }
    }
    assert_eq!(received, bytes);
    let end_cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = |time: rustix::time::Timespec| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    println!(
        "{{\"data_packets\":{},\"cpu_seconds\":{:.6},\"network_seconds\":{:.6}}}",
        server_end.sent,
        seconds(end_cpu) - seconds(start_cpu),
        (now - epoch).as_secs_f64()
    );
}

fn peers(now: Instant) -> (Peer, Peer) {
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![kx_group::X25519],
        ..default_provider()
    });
    let mut transport = TransportConfig::default();
    transport.initial_mtu(DATAGRAM).min_mtu(DATAGRAM).mtu_discovery_config(None);
    transport.enable_segmentation_offload(false);
    transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
    let transport = Arc::new(transport);
    let mut config = EndpointConfig::default();
    config.rng_seed(Some([1; 32]));
    let config = Arc::new(config);

    let certificate = CertificateDer::from(&include_bytes!("../src/certificate/certificate.der")[..]);
    let key =
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(&include_bytes!("../src/certificate/key.der")[..]));
    let tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3 is supported")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("key and certificate belong together");
    let crypto = QuicServerConfig::try_from(tls).expect("the suite is there");
    let mut server = ServerConfig::with_crypto(Arc::new(crypto));
    server.transport_config(transport.clone());

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("the certificate is well-formed");
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3 is supported")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let crypto = QuicClientConfig::try_from(tls).expect("the suite is there");
    let mut client = ClientConfig::new(Arc::new(crypto));
    client.transport_config(transport);

    let (server_address, client_address): (SocketAddr, SocketAddr) =
        ("192.0.2.1:443".parse().expect("an address"), "192.0.2.2:50000".parse().expect("an address"));
    let peer =
        |endpoint, connection, remote| Peer { endpoint, connection, remote, buffer: Vec::new(), sent: 0 };
    let mut endpoint = Endpoint::new(config.clone(), None, false, None);
    let connection =
        endpoint.connect(now, client, server_address, "quiclab.test").expect("the address is valid");
    let server = Endpoint::new(config, Some(Arc::new(server)), false, None);
    (peer(server, None, client_address), peer(endpoint, Some(connection), server_address))
}
