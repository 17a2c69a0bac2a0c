//! noq: `noq-proto` 1.4, a fork of quinn with Multipath QUIC (draft-ietf-quic-multipath-21), behind
//! [`Stack`]. Several paths stay off: the connection is that of RFC 9000, on path 0.

use super::{Event, ID_LENGTH, LARGEST_DATAGRAM, Parts, Read, SeededIds, Seeds, Snapshot, Stack};
use crate::controller::{Gauge, Mirrored};
use crate::crypto_observer::noq::Observed;
use crate::options::{Options, std_duration};
use crate::tls;
use bytes::{Bytes, BytesMut};
use noq_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, FourTuple,
    NoneTokenLog, PathId, ReadError, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use quiclab_core::scenario::CongestionControl;
use quiclab_core::{Ecn, RecoveryState, Role};
use ring::hmac;
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// One end of a noq connection.
pub(crate) struct Noq {
    endpoint: Endpoint,
    /// Taken by [`Stack::connect`]; `None` for servers.
    client: Option<ClientConfig>,
    path: FourTuple,
    /// `None` before the connection is opened or accepted. In a cell because noq's statistics take
    /// `&mut self`.
    connection: Option<(ConnectionHandle, RefCell<Connection>)>,
    gauge: Arc<Gauge>,
}

impl Noq {
    pub(crate) fn new(options: &Options, parts: Parts) -> Self {
        let seeds = Seeds::draw(parts.random);
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &seeds.reset_key)));
        let ids = SeededIds(seeds.ids);
        config.rng_seed(Some(seeds.generator)).cid_generator(Arc::new(move || Box::new(ids.clone())));
        config.max_udp_payload_size(LARGEST_DATAGRAM).expect("the limit of UDP is allowed");

        let gauge = Arc::new(Gauge::default());
        let transport = Arc::new(transport(options, &gauge));
        let suite = "the provider has TLS_AES_128_GCM_SHA256";
        let (mut client, mut server) = (None, None);
        match parts.role {
            Role::Client => {
                let tls = QuicClientConfig::try_from(tls::client(parts.observation.as_ref())).expect(suite);
                let mut config = ClientConfig::new(match parts.observation {
                    Some(observation) => Arc::new(Observed::<dyn noq_proto::crypto::ClientConfig> {
                        observation,
                        inner: Arc::new(tls),
                    }),
                    None => Arc::new(tls),
                });
                let destination = ConnectionId::new(&seeds.first_destination);
                config.transport_config(transport).initial_dst_cid_provider(Arc::new(move || destination));
                client = Some(config);
            }
            Role::Server => {
                let tls = QuicServerConfig::try_from(tls::server(parts.observation.as_ref())).expect(suite);
                let crypto: Arc<dyn noq_proto::crypto::ServerConfig> = match parts.observation {
                    Some(observation) => Arc::new(Observed::<dyn noq_proto::crypto::ServerConfig> {
                        observation,
                        inner: Arc::new(tls),
                    }),
                    None => Arc::new(tls),
                };
                let mut config = ServerConfig::new(crypto, Arc::new(NoTokens));
                config.transport_config(transport).time_source(Arc::new(FixedTime));
                config.validation_token.log(Arc::new(NoneTokenLog)).sent(0);
                server = Some(Arc::new(config));
            }
        }
        let endpoint = Endpoint::new(Arc::new(config), server, false);
        Self { endpoint, client, path: FourTuple::from_remote(parts.remote), connection: None, gauge }
    }

    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("streams exist in a connection only").1.get_mut()
    }
}

impl Stack for Noq {
    type Stream = StreamId;

    fn connect(&mut self, now: Instant) {
        let config = self.client.take().expect("clients connect once");
        let connection = self.endpoint.connect(now, config, self.path.remote(), tls::SERVER_NAME);
        let (handle, connection) = connection.expect("the remote address was checked");
        self.connection = Some((handle, RefCell::new(connection)));
    }

    fn receive(&mut self, now: Instant, ecn: Ecn, datagram: BytesMut, answer: &mut Vec<u8>) -> bool {
        match self.endpoint.handle(now, self.path, code_point(ecn), datagram, answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(own, _)| *own == handle) {
                    connection.get_mut().handle_event(event);
                }
                false
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_some() => {
                self.endpoint.ignore(incoming); // a copy of the first packet, after the end
                false
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, answer, None) {
                    Ok((handle, connection)) => self.connection = Some((handle, RefCell::new(connection))),
                    Err(error) => return error.response.is_some(),
                }
                false
            }
            Some(DatagramEvent::Response(_)) => true,
            None => false,
        }
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.get_mut().poll_timeout()
    }

    fn wake(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.get_mut().handle_timeout(now);
        }
    }

    fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Ecn> {
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.get_mut().poll_transmit(now, NonZeroUsize::MIN, datagram)?;
        Some(match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        })
    }

    fn poll(&mut self) -> Option<Event<StreamId>> {
        let (handle, connection) = self.connection.as_mut()?;
        let connection = connection.get_mut();
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        loop {
            return Some(match connection.poll()? {
                noq_proto::Event::Connected => Event::Connected,
                noq_proto::Event::Stream(StreamEvent::Opened { .. }) => Event::Opened,
                noq_proto::Event::Stream(StreamEvent::Readable { id }) => Event::Readable(id),
                noq_proto::Event::Stream(StreamEvent::Writable { id }) => Event::Writable(id),
                noq_proto::Event::Stream(StreamEvent::Finished { id }) => Event::Acknowledged(id),
                noq_proto::Event::ConnectionLost { reason: ConnectionError::ApplicationClosed(_) } => {
                    Event::ClosedByPeer
                }
                noq_proto::Event::ConnectionLost { reason } => Event::Lost(reason.to_string()),
                _ => continue,
            });
        }
    }

    fn is_handshaking(&self) -> bool {
        self.connection.as_ref().is_none_or(|(_, connection)| connection.borrow().is_handshaking())
    }

    fn open(&mut self) -> Option<StreamId> {
        self.connection().streams().open(Dir::Bi)
    }

    fn accept(&mut self) -> Option<StreamId> {
        self.connection().streams().accept(Dir::Bi)
    }

    fn write(&mut self, stream: StreamId, data: Bytes) -> usize {
        let written = self.connection().send_stream(stream).write_chunks(&mut &mut [data][..]);
        written.unwrap_or(0) // blocked, or stopped by the peer
    }

    fn finish(&mut self, stream: StreamId) {
        let _ = self.connection().send_stream(stream).finish(); // fails if the peer has stopped it
    }

    fn reset(&mut self, stream: StreamId) {
        let _ = self.connection().send_stream(stream).reset(VarInt::from_u32(0)); // fails if it is closed
    }

    fn read(&mut self, stream: StreamId) -> Read {
        let mut read = Read::default();
        let mut receive = self.connection().recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else {
            return Read { bytes: 0, ended: true };
        };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => read.bytes += chunk.bytes.len() as u64,
                Ok(None) | Err(ReadError::Reset(_)) => break read.ended = true,
                Err(ReadError::Blocked) => break,
            }
        }
        let _ = chunks.finalize(); // the driver transmits in any case
        read
    }

    fn close(&mut self, now: Instant) {
        self.connection().close(now, VarInt::from_u32(0), Bytes::new());
    }

    fn snapshot(&self) -> Snapshot {
        let Some((_, connection)) = &self.connection else {
            return Snapshot::default();
        };
        let mut connection = connection.borrow_mut();
        let stats = connection.stats();
        let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
        let metrics = connection.congestion_state(PathId::ZERO).map(|controller| controller.metrics());
        let srtt_ns = self.gauge.sampled().then_some(path.rtt.as_nanos() as u64);
        Snapshot {
            recovery: RecoveryState {
                cwnd_bytes: path.cwnd,
                ssthresh_bytes: metrics
                    .and_then(|metrics| metrics.ssthresh)
                    .filter(|&ssthresh| ssthresh != u64::MAX),
                in_flight_bytes: Some(self.gauge.in_flight()),
                srtt_ns,
                min_rtt_ns: self.gauge.min_rtt_ns().or(srtt_ns),
                lost_packets: stats.lost_packets,
                congestion_events: self.gauge.congestion_events(),
            },
            packets_sent: stats.sent_packets,
            datagrams_received: stats.udp_rx.datagrams,
            lost_bytes: stats.lost_bytes,
            ack_frames_sent: stats.frame_tx.acks,
            ack_frames_received: stats.frame_rx.acks,
        }
    }
}

/// Address-validation tokens are neither issued nor accepted: no Retry, no NEW_TOKEN.
struct NoTokens;

impl HandshakeTokenKey for NoTokens {
    fn seal(&self, _nonce: u128, _data: &mut Vec<u8>) -> Result<(), CryptoError> {
        Err(CryptoError)
    }
    fn open<'a>(&self, _nonce: u128, _data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        Err(CryptoError)
    }
}

/// Wall-clock time of token lifetimes, as for TLS.
struct FixedTime;

impl noq_proto::TimeSource for FixedTime {
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

fn transport(options: &Options, gauge: &Arc<Gauge>) -> TransportConfig {
    let varint =
        |value: u64| VarInt::from_u64(value).expect("options are checked to be variable-length integers");
    let mut config = TransportConfig::default();
    config.initial_mtu(options.datagram_size).min_mtu(options.datagram_size).mtu_discovery_config(None);
    config.enable_segmentation_offload(false);
    config.congestion_controller_factory(Arc::new(Mirrored::new(controller(options), gauge.clone())));
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

fn controller(options: &Options) -> Arc<dyn ControllerFactory + Send + Sync> {
    match options.congestion_control {
        Some(CongestionControl::Newreno) => {
            let mut config = NewRenoConfig::default();
            options.initial_window.map(|window| config.initial_window(window));
            Arc::new(config)
        }
        // CUBIC is noq's default
        Some(CongestionControl::Cubic) | None => {
            let mut config = CubicConfig::default();
            options.initial_window.map(|window| config.initial_window(window));
            Arc::new(config)
        }
    }
}
