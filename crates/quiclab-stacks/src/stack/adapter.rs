//! Common code of quinn and noq: [`Stack`] in terms of an API that noq has kept from quinn.
//!
//! The types have the same names and are different types, so this file is compiled twice: as a module of each stack's
//! module, from which it takes (`super`) its library as `proto`, its `NAME`, its `INFO` and the differences:
//!
//! | function | difference |
//! | --- | --- |
//! | `set_id_generator` | type of the factory of connection IDs |
//! | `token_key` | the key of address-validation tokens, which are not used |
//! | `endpoint` | noq takes the seed from the configuration only |
//! | `handle` | noq takes the addresses of both ends as one value |
//! | `Paths` | path of a datagram, and actions of a client with several |
//! | `transmit` | noq reports the bytes in flight to its congestion controller; for quinn they must be counted |
//! | `write` | the type of a list of chunks, and of the number of bytes written |
//! | `snapshot` | noq has recovery state and statistics by path |

use super::observed::Observed;
use super::proto;
use super::proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use super::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use super::proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, NoneTokenLog,
    ReadError, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, crypto,
};
use crate::controller::{CountingController, InFlightCounter};
use crate::lab_controller::LabController;
use crate::library::{
    Connection as LibraryConnection, Event, ID_LENGTH, MAX_DATAGRAM_BYTES, Parts, Read, SeededIds, Seeds,
    Snapshot, Stack, StreamDirection,
};
use crate::options::{Options, std_duration};
use crate::tls;
use bytes::{Bytes, BytesMut};
use quiclab_core::{Ecn, RecoveryState, Role};
use quiclab_transport::options::CongestionControl;
use ring::hmac;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Endpoint of one connection.
pub(crate) struct Adapter {
    endpoint: Endpoint,
    /// Configuration that [`Stack::connect`] takes; `None` for servers.
    client: Option<ClientConfig>,
    remote: SocketAddr,
    paths: super::Paths,
    /// Connection; `None` before it is opened or accepted.
    connection: Option<(ConnectionHandle, Connection)>,
    gauge: Arc<InFlightCounter>,
}

impl Adapter {
    pub(crate) fn new(options: &Options, parts: Parts) -> Self {
        let paths = super::Paths::new(&parts);
        let seeds = Seeds::draw(parts.random);
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &seeds.reset_key)));
        let ids = SeededIds(seeds.ids);
        config.rng_seed(Some(seeds.generator));
        super::set_id_generator(&mut config, ids);
        config.max_udp_payload_size(MAX_DATAGRAM_BYTES).expect("the limit of UDP is allowed");

        let gauge = Arc::new(InFlightCounter::new(LabController::new(options, parts.congestion_random)));
        let transport = Arc::new(transport(options, &gauge));
        let suite = "the provider has TLS_AES_128_GCM_SHA256";
        let (mut client, mut server) = (None, None);
        match parts.role {
            Role::Client => {
                let tls = QuicClientConfig::try_from(tls::client(parts.observation.as_ref())).expect(suite);
                let mut config = ClientConfig::new(match parts.observation {
                    Some(observation) => {
                        Arc::new(Observed::<dyn crypto::ClientConfig> { observation, inner: Arc::new(tls) })
                    }
                    None => Arc::new(tls),
                });
                let destination = ConnectionId::new(&seeds.first_destination);
                config.transport_config(transport).initial_dst_cid_provider(Arc::new(move || destination));
                client = Some(config);
            }
            Role::Server => {
                let tls = QuicServerConfig::try_from(tls::server(parts.observation.as_ref())).expect(suite);
                let crypto: Arc<dyn crypto::ServerConfig> = match parts.observation {
                    Some(observation) => {
                        Arc::new(Observed::<dyn crypto::ServerConfig> { observation, inner: Arc::new(tls) })
                    }
                    None => Arc::new(tls),
                };
                let mut config = ServerConfig::new(crypto, super::token_key(&seeds.token_key));
                config.transport_config(transport).time_source(Arc::new(FixedClock));
                config.validation_token.log(Arc::new(NoneTokenLog)).sent(0);
                server = Some(Arc::new(config));
            }
        }
        let endpoint = super::endpoint(config, server);
        Self { endpoint, client, remote: parts.remote, paths, connection: None, gauge }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("streams exist in a connection only").1
    }
}

impl LibraryConnection for Adapter {
    type Stream = StreamId;
    type Moment = Instant;

    fn id(stream: StreamId) -> u64 {
        stream.into()
    }

    fn open(&mut self, direction: StreamDirection) -> Option<StreamId> {
        self.connection().streams().open(dir(direction))
    }

    fn accept(&mut self, direction: StreamDirection) -> Option<StreamId> {
        self.connection().streams().accept(dir(direction))
    }

    fn set_priority(&mut self, stream: StreamId, priority: i32) {
        let _ = self.connection().send_stream(stream).set_priority(priority); // fails if it is closed
    }

    fn write(&mut self, stream: StreamId, data: Bytes) -> usize {
        super::write(self.connection().send_stream(stream), data)
    }

    fn finish(&mut self, stream: StreamId) {
        let _ = self.connection().send_stream(stream).finish(); // fails if the peer has stopped it
    }

    fn reset(&mut self, stream: StreamId) {
        // fails if it is closed
        let _ = self.connection().send_stream(stream).reset(VarInt::from_u32(0));
    }

    fn read(&mut self, stream: StreamId, mut show: impl FnMut(&[u8])) -> Read {
        let mut read = Read::default();
        let mut receive = self.connection().recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else {
            return Read { ended: true, ..Read::default() };
        };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    read.bytes += chunk.bytes.len() as u64;
                    show(&chunk.bytes);
                }
                Ok(None) => break read.ended = true,
                Err(ReadError::Reset(_)) => {
                    (read.ended, read.reset) = (true, true);
                    break;
                }
                Err(ReadError::Blocked) => break,
            }
        }
        let _ = chunks.finalize(); // the driver transmits in any case
        read
    }

    fn send_datagram(&mut self, data: Bytes) -> Result<(), usize> {
        let mut datagrams = self.connection().datagrams();
        let most = datagrams.max_size().unwrap_or(0);
        datagrams.send(data, true).map_err(|_| most)
    }

    fn waiting_datagrams(&mut self) -> u64 {
        (DATAGRAM_BUFFER - self.connection().datagrams().send_buffer_space()) as u64
    }

    fn receive_datagram(&mut self) -> Option<Bytes> {
        self.connection().datagrams().recv()
    }

    fn close(&mut self, now: Instant) {
        self.connection().close(now, VarInt::from_u32(0), Bytes::new());
    }

    fn recovery(&mut self) -> RecoveryState {
        self.snapshot().recovery
    }
}

impl Stack for Adapter {
    const NAME: &'static str = super::NAME;

    fn connect(&mut self, now: Instant) {
        let config = self.client.take().expect("clients connect once");
        let connection = self.endpoint.connect(now, config, self.remote, tls::SERVER_NAME);
        self.connection = Some(connection.expect("the remote address was checked"));
    }

    fn receive(
        &mut self,
        now: Instant,
        path: u8,
        ecn: Ecn,
        datagram: BytesMut,
        answer: &mut Vec<u8>,
    ) -> bool {
        match super::handle(
            &mut self.endpoint,
            now,
            self.paths.tuple(self.remote, path),
            code_point(ecn),
            datagram,
            answer,
        ) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(own, _)| *own == handle) {
                    connection.handle_event(event);
                }
                false
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_some() => {
                self.endpoint.ignore(incoming); // a copy of the first packet, after the end
                false
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => return error.response.is_some(),
                }
                false
            }
            Some(DatagramEvent::Response(_)) => true,
            None => false,
        }
    }

    fn deadline(&mut self) -> Option<Instant> {
        let timer = self.connection.as_mut()?.1.poll_timeout();
        [timer, self.paths.deadline()].into_iter().flatten().min()
    }

    fn wake(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
            self.paths.manage(connection, now);
        }
    }

    fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<(Ecn, u8)> {
        let (_, connection) = self.connection.as_mut()?;
        let transmit = super::transmit(connection, now, datagram, &self.gauge)?;
        let ecn = match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        Some((ecn, self.paths.of(&transmit)))
    }

    fn poll(&mut self) -> Option<Event<StreamId>> {
        let (handle, connection) = self.connection.as_mut()?;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        loop {
            let event = connection.poll()?;
            self.paths.on_event(connection, &event);
            return Some(match event {
                proto::Event::Connected => Event::Connected,
                proto::Event::Stream(StreamEvent::Opened { .. }) => Event::Opened,
                proto::Event::Stream(StreamEvent::Available { .. }) => Event::Available,
                proto::Event::DatagramReceived => Event::Datagram,
                proto::Event::Stream(StreamEvent::Readable { id }) => Event::Readable(id),
                proto::Event::Stream(StreamEvent::Writable { id }) => Event::Writable(id),
                proto::Event::Stream(StreamEvent::Finished { id }) => Event::Acknowledged(id),
                proto::Event::ConnectionLost { reason: ConnectionError::ApplicationClosed(_) } => {
                    Event::ClosedByPeer
                }
                proto::Event::ConnectionLost { reason } => Event::Lost(reason.to_string()),
                _ => continue,
            });
        }
    }

    fn is_handshaking(&self) -> bool {
        self.connection.as_ref().is_none_or(|(_, connection)| connection.is_handshaking())
    }

    fn snapshot(&mut self) -> Snapshot {
        match &mut self.connection {
            Some((_, connection)) => super::snapshot(connection, &self.gauge),
            None => Snapshot::default(),
        }
    }
}

const fn dir(direction: StreamDirection) -> Dir {
    match direction {
        StreamDirection::Bidirectional => Dir::Bi,
        StreamDirection::Unidirectional => Dir::Uni,
    }
}

/// Maximum bytes of queued datagrams: the default of both libraries.
const DATAGRAM_BUFFER: usize = 1024 * 1024;

/// Fixed wall-clock time for the lifetimes of tokens, as for TLS.
struct FixedClock;

impl proto::TimeSource for FixedClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(tls::NOW)
    }
}

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.next())
    }
    fn cid_len(&self) -> usize {
        ID_LENGTH
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

const fn code_point(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn transport(options: &Options, gauge: &Arc<InFlightCounter>) -> TransportConfig {
    let varint =
        |value: u64| VarInt::from_u64(value).expect("options are checked to be variable-length integers");
    let mut config = TransportConfig::default();
    config.initial_mtu(options.datagram_size).min_mtu(options.datagram_size).mtu_discovery_config(None);
    config.enable_segmentation_offload(false).datagram_send_buffer_size(DATAGRAM_BUFFER);
    config.congestion_controller_factory(Arc::new(CountingController::new(
        controller(options, gauge.lab()),
        gauge.clone(),
    )));
    if let Some(window) = options.stream_receive_window {
        config.stream_receive_window(varint(window));
    }
    if let Some(window) = options.connection_receive_window {
        config.receive_window(varint(window));
    }
    if let Some(window) = options.send_window {
        config.send_window(window);
    }
    if let Some(threshold) = options.packet_threshold {
        config.packet_threshold(threshold);
    }
    if let Some(threshold) = options.time_threshold {
        config.time_threshold(threshold);
    }
    if let Some(rtt) = options.initial_rtt {
        config.initial_rtt(rtt);
    }
    if let Some(multipath) = &options.multipath {
        super::Paths::configure(&mut config, multipath);
    }
    if let Some(asked) = options.ack_frequency {
        let mut frequency = AckFrequencyConfig::default();
        frequency
            .ack_eliciting_threshold(asked.ack_eliciting_threshold.into())
            .reordering_threshold(asked.reordering_threshold.into())
            .max_ack_delay(asked.max_ack_delay.map(std_duration));
        config.ack_frequency_config(Some(frequency));
    }
    config
}

fn controller(options: &Options, lab: Option<&LabController>) -> Arc<dyn ControllerFactory + Send + Sync> {
    if let Some(lab) = lab {
        return Arc::new(lab.clone());
    }
    match options.congestion_control {
        Some(CongestionControl::Newreno) => {
            let mut config = NewRenoConfig::default();
            options.initial_window.map(|window| config.initial_window(window));
            Arc::new(config)
        }
        // CUBIC is the default of both
        Some(CongestionControl::Cubic) | None => {
            let mut config = CubicConfig::default();
            options.initial_window.map(|window| config.initial_window(window));
            Arc::new(config)
        }
        Some(other) => unreachable!("{other:?} is one of quiclab's: Options::new says so"),
    }
}

#[cfg(test)]
mod library {
    use super::proto::TransportConfig;
    use super::proto::congestion::{CubicConfig, NewRenoConfig};

    #[test]
    fn version_and_defaults_are_those_of_the_library() {
        let controls = [format!("{:?}", NewRenoConfig::default()), format!("{:?}", CubicConfig::default())];
        let transport = format!("{:?}", TransportConfig::default());
        crate::stack::family::check_library(&super::super::INFO, super::super::MODULE, &transport, &controls);
    }
}
