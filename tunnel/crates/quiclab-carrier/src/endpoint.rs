//! Endpoints of noq and their configuration.
//!
//! | setting | value | why |
//! | --- | --- | --- |
//! | initial and smallest MTU | 1200 bytes of UDP payload | the smallest that QUIC allows (RFC 9000 section 14): the handshake works on any path; see `path_mtu` |
//! | initial MTU without MTU discovery | that of the path | no path of a simulation carries less |
//! | `max_udp_payload_size` (transport parameter) | that of the client's path | the server uses the smaller of both MTUs |
//! | `default_path_max_idle_timeout` | none | noq abandons a loaded path under load in one direction |
//! | streams | one bidirectional | the control stream; with CONNECT-IP those of HTTP/3 |
//! | key of stateless resets | from the identity and `installation` | a restarted server is recognised immediately, and no other one with its key is mistaken for it |
//! | migration | allowed at servers | RFC 9000 section 9: roaming clients |

use super::config::{PathConfig, TunnelEndpointConfig};
use super::connect_ip::{ConnectIpConfig, Http3Streams};
use super::connection::std_time;
use super::control::{self, Group};
use super::gated_controller::GatedControllerFactory;
use super::ids::OwnIds;
use super::keys::KnownPeers;
use super::path_mtu::{self, MIN_UDP_PAYLOAD};
use super::randomness::{Randomness, Source};
use super::send_pass::SEND_BUFFER;
use super::tls;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
use noq_proto::{
    ClientConfig, ConnectionId, Endpoint, EndpointConfig, NoneTokenLog, ServerConfig, TimeSource,
    TransportConfig,
};
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{Duration, Role, Time};
use quiclab_stacks::library::{ID_LENGTH, SeededIds};
use ring::{aead, hkdf, hmac};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

/// RTT before there is a sample; RFC 9002 section 6.2.2 recommends 333 ms, and a lost first packet waits three
/// times as long.
pub(crate) const INITIAL_RTT: Duration = Duration::from_millis(100);
const SUITE: &str = "the provider has TLS_AES_128_GCM_SHA256";
/// UDP payload of an IPv4 packet of 1500 bytes.
const LARGEST_SEGMENT: u16 = 1472;
/// Maximum number of paths of a multipath connection.
const MULTIPATH_PATHS: u32 = 8;

/// Minimum length of a stateless reset (RFC 9000 section 10.3).
const SMALLEST_RESET: usize = 21;

/// Protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TunnelProtocol {
    /// The tunnel's own protocol.
    Own,
    /// CONNECT-IP.
    ConnectIp,
}

/// Time for address-validation tokens: that of the endpoint.
pub(crate) struct TunnelEndpointClock(AtomicU64);

impl TunnelEndpointClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(0)))
    }
    pub(crate) fn set(&self, now: Time) {
        self.0.store(now.as_nanos(), Relaxed);
    }
}

impl TimeSource for TunnelEndpointClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(self.0.load(Relaxed))
    }
}

/// Seals address-validation tokens: AES-256-GCM under a key derived from a nonce by HKDF, as in noq.
struct TokenKey(hkdf::Prk);

impl TokenKey {
    fn key(&self, nonce: u128) -> Result<aead::LessSafeKey, CryptoError> {
        let mut key = [0; 32];
        let info = nonce.to_le_bytes();
        let info = [&info[..]];
        let expanded = self.0.expand(&info, hkdf::HKDF_SHA256).map_err(|_| CryptoError)?;
        expanded.fill(&mut key).map_err(|_| CryptoError)?;
        Ok(aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_256_GCM, &key).map_err(|_| CryptoError)?))
    }
}

impl HandshakeTokenKey for TokenKey {
    fn seal(&self, nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        let once = aead::Nonce::assume_unique_for_key([0; 12]); // each key is used once
        self.key(nonce)?.seal_in_place_append_tag(once, aead::Aad::empty(), data).map_err(|_| CryptoError)
    }
    fn open<'a>(&self, nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let once = aead::Nonce::assume_unique_for_key([0; 12]);
        let opened = self.key(nonce)?.open_in_place(once, aead::Aad::empty(), data);
        opened.map(|data| &*data).map_err(|_| CryptoError)
    }
}

/// Keys from which connection IDs and the key of stateless resets are derived: the same after a restart of
/// this end, and different for each other end and each protocol, because an endpoint would reset connections
/// of another one with the same keys (RFC 9000 section 21.11).
fn identities(config: &TunnelEndpointConfig, source: &mut Source) -> [hmac::Key; 2] {
    let derived =
        |key: &hmac::Key, from: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(key, from).as_ref());
    let mut own = hmac::Key::new(hmac::HMAC_SHA256, config.secret_key.as_bytes());
    if config.randomness == Randomness::System {
        let installation = config.installation.unwrap_or_else(|| source.draw());
        own = derived(&own, &[&b"quiclab tunnel: installation"[..], &installation].concat());
    }
    let second = derived(&own, b"quiclab tunnel: CONNECT-IP");
    [own, second]
}

/// Largest UDP payload of a path to `remote`.
pub(crate) fn payload(mtu: u16, remote: &SocketAddr) -> u16 {
    mtu.saturating_sub(super::send_pass::headers(remote) as u16) // at most 48
}

/// Factory of endpoints and configurations.
pub(crate) struct EndpointFactory {
    pub(crate) config: TunnelEndpointConfig,
    pub(crate) source: Source,
    client: Arc<QuicClientConfig>,
    server: Arc<QuicServerConfig>,
    /// Configuration of connections of CONNECT-IP, if it is configured.
    http3_server: Option<Arc<QuicServerConfig>>,
    pub(crate) time: Arc<TunnelEndpointClock>,
    /// Secret of address-validation tokens, for all server configurations of this endpoint.
    token_secret: [u8; 32],
    /// Keys from which connection IDs and the key of stateless resets are derived, by protocol.
    identities: [hmac::Key; 2],
    /// Connection IDs that those identities issue.
    own_ids: [OwnIds; 2],
}

impl EndpointFactory {
    pub(crate) fn new(config: TunnelEndpointConfig) -> Self {
        let role = match config.role {
            Role::Client => "tunnel.client",
            Role::Server => "tunnel.server",
        };
        let (key, peers, randomness) = (&config.secret_key, &config.peers, config.randomness);
        let client = match &config.connect_ip {
            Some(http3) => http3.client(randomness),
            None => tls::client(key, peers, randomness),
        };
        let client = QuicClientConfig::try_from(client).expect(SUITE);
        let server = QuicServerConfig::try_from(tls::server(key, peers, randomness)).expect(SUITE);
        let mut source = Source::new(config.randomness, role);
        let identities = identities(&config, &mut source);
        Self {
            own_ids: identities.each_ref().map(OwnIds::new),
            identities,
            token_secret: source.draw(),
            source,
            client: Arc::new(client),
            server: Arc::new(server),
            http3_server: http3_server(&config, peers),
            time: TunnelEndpointClock::new(),
            config,
        }
    }

    /// Sets the peers that later connections accept.
    pub(crate) fn set_peers(&mut self, peers: KnownPeers) {
        let (key, randomness) = (&self.config.secret_key, self.config.randomness);
        if self.config.connect_ip.is_none() {
            let client = QuicClientConfig::try_from(tls::client(key, &peers, randomness)).expect(SUITE);
            self.client = Arc::new(client);
        }
        let server = QuicServerConfig::try_from(tls::server(key, &peers, randomness)).expect(SUITE);
        self.server = Arc::new(server);
        self.http3_server = http3_server(&self.config, &peers);
        self.config.peers = peers;
    }

    /// Sets the certificates of later connections of CONNECT-IP.
    pub(crate) fn set_connect_ip(&mut self, connect_ip: ConnectIpConfig) {
        if self.config.role == Role::Client {
            let client = connect_ip.client(self.config.randomness);
            self.client = Arc::new(QuicClientConfig::try_from(client).expect(SUITE));
        }
        self.config.connect_ip = Some(connect_ip);
        self.http3_server = http3_server(&self.config, &self.config.peers);
    }

    /// Creates an endpoint that receives UDP payloads of up to `payload` bytes.
    pub(crate) fn endpoint(&mut self, payload: u16, protocol: TunnelProtocol) -> Endpoint {
        let identity = self.identities[protocol as usize].clone();
        let reset_key = hmac::sign(&identity, b"quiclab tunnel: stateless reset");
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, reset_key.as_ref())));
        config.max_udp_payload_size(payload).expect("path MTUs are checked");
        match self.config.randomness {
            // not noq's default, whose key changes with a restart: earlier packets must be reset
            Randomness::System => {
                config.cid_generator(Arc::new(move || Box::new(OwnIds::new(&identity))));
            }
            Randomness::Seeded(_) => {
                let ids = SeededIds(self.source.stream("ids"));
                config.cid_generator(Arc::new(move || Box::new(ids.clone())));
                config.rng_seed(Some(self.source.draw()));
            }
        }
        let server = (self.config.role == Role::Server).then(|| {
            let any: SocketAddr = ([0, 0, 0, 0], 0).into();
            Arc::new(self.server(&any, TunnelProtocol::Own))
        });
        Endpoint::new(Arc::new(config), server, self.config.mtu_discovery)
    }

    /// The connection ID in the short header of a datagram that is long enough to be a stateless reset. `None` in a simulation, where IDs
    /// do not identify their issuer.
    pub(crate) fn short_id(&self, datagram: &[u8]) -> Option<[u8; ID_LENGTH]> {
        let short = datagram.len() >= SMALLEST_RESET && datagram[0] & 0x80 == 0;
        (short && self.config.randomness == Randomness::System)
            .then(|| datagram[1..].first_chunk().copied())?
    }

    /// Whether this end has issued a connection ID.
    pub(crate) fn issued(&self, protocol: TunnelProtocol, id: [u8; ID_LENGTH]) -> bool {
        self.own_ids[protocol as usize].issued(&id)
    }

    /// Configuration with which a server accepts a connection from `remote`.
    pub(crate) fn server(&mut self, remote: &SocketAddr, protocol: TunnelProtocol) -> ServerConfig {
        let master = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&self.token_secret);
        let tls = match (&self.http3_server, protocol) {
            (Some(http3), TunnelProtocol::ConnectIp) => http3,
            _ => &self.server,
        };
        let mut config = ServerConfig::new(tls.clone(), Arc::new(TokenKey(master)));
        let path = PathConfig { mtu: self.largest_mtu(), ..self.config.path(0) };
        let multipath = self.config.kind == CarrierKind::Multipath && protocol == TunnelProtocol::Own;
        let payload = payload(path.mtu, remote);
        let transport = self.transport(path, payload, &Group::default(), 0, protocol, multipath);
        config
            .transport_config(Arc::new(transport))
            .migration(true)
            .max_incoming(self.config.max_half_open)
            .incoming_buffer_size(8 << 10)
            .incoming_buffer_size_total(256 << 10)
            .time_source(self.time.clone());
        config.validation_token.log(Arc::new(NoneTokenLog)).sent(0);
        config
    }

    /// Bytes of a packet for the congestion control of a path whose largest UDP payload is `payload`. While the MTU is
    /// unknown, at most the value that RFC 9002 section 7.2 assumes: ten packets are at most 14 720 bytes.
    pub(crate) fn segment(&self, payload: u16) -> u16 {
        if self.config.mtu_discovery { payload.min(LARGEST_SEGMENT) } else { payload }
    }

    pub(crate) fn largest_mtu(&self) -> u16 {
        self.config.paths.iter().map(|path| path.mtu).max().unwrap_or(PathConfig::default().mtu)
    }

    /// Configuration with which a client connects on path `own`.
    pub(crate) fn client(
        &mut self,
        path: PathConfig,
        payload: u16,
        group: &Group,
        own: usize,
        multipath: bool,
    ) -> ClientConfig {
        let mut config = ClientConfig::new(self.client.clone());
        let first: [u8; quiclab_stacks::library::FIRST_DESTINATION_LENGTH] = self.source.draw();
        let first = ConnectionId::new(&first);
        let protocol = match self.config.connect_ip {
            Some(_) => TunnelProtocol::ConnectIp,
            None => TunnelProtocol::Own,
        };
        let transport = self.transport(path, payload, group, own, protocol, multipath);
        config.transport_config(Arc::new(transport)).initial_dst_cid_provider(Arc::new(move || first));
        config
    }

    /// The HTTP/3 of a connection, if it uses CONNECT-IP.
    pub(crate) fn http3(&self, protocol: TunnelProtocol) -> Option<Box<Http3Streams>> {
        let config = self.config.connect_ip.as_ref().filter(|_| protocol == TunnelProtocol::ConnectIp)?;
        Some(config.streams(self.config.role))
    }

    /// The name of the server for TLS: checked with CONNECT-IP only.
    pub(crate) fn server_name(&self) -> &str {
        self.config.connect_ip.as_ref().map_or(tls::SERVER_NAME, |config| config.host())
    }

    fn transport(
        &mut self,
        path: PathConfig,
        payload: u16,
        group: &Group,
        own: usize,
        protocol: TunnelProtocol,
        multipath: bool,
    ) -> TransportConfig {
        let (group, random) = (group.clone(), self.source.stream("congestion"));
        // noq sends no probe for a smaller step
        let discovery = self.config.mtu_discovery && payload >= MIN_UDP_PAYLOAD + path_mtu::MIN_STEP;
        let segment = self.segment(payload);
        let make = move || control::controller(path, segment, random.clone(), &group, own);
        let factory = GatedControllerFactory {
            make: Box::new(make),
            initial_rtt: INITIAL_RTT,
            mtu_discovery: discovery,
        };
        let initial_mtu = if discovery { MIN_UDP_PAYLOAD } else { payload };
        let (bidirectional, unidirectional): (u8, u8) = match (protocol, self.config.role) {
            (TunnelProtocol::Own, _) => (1, 0),
            // the control stream, two of QPACK and unknown ones (RFC 9114 section 6.2)
            (TunnelProtocol::ConnectIp, Role::Client) => (0, 8),
            (TunnelProtocol::ConnectIp, Role::Server) => (4, 8),
        };
        let mut config = TransportConfig::default();
        let idle = std_time(self.config.idle_timeout).try_into().expect("the idle timeout is checked");
        config
            .initial_mtu(initial_mtu)
            .min_mtu(initial_mtu)
            .mtu_discovery_config(discovery.then(|| path_mtu::search(payload)))
            .enable_segmentation_offload(self.config.segments > 1)
            .max_idle_timeout(Some(idle))
            .keep_alive_interval(None)
            .initial_rtt(std_time(INITIAL_RTT))
            .datagram_receive_buffer_size(Some(SEND_BUFFER))
            .datagram_send_buffer_size(SEND_BUFFER)
            .max_concurrent_bidi_streams(bidirectional.into())
            .max_concurrent_uni_streams(unidirectional.into())
            .stream_receive_window((128_u32 << 10).into())
            .receive_window((128_u32 << 10).into())
            .send_window(256 << 10)
            .congestion_controller_factory(Arc::new(factory));
        if multipath {
            config.max_concurrent_multipath_paths(MULTIPATH_PATHS);
        }
        config
    }
}

/// TLS of a server of CONNECT-IP, if this is one.
fn http3_server(config: &TunnelEndpointConfig, peers: &KnownPeers) -> Option<Arc<QuicServerConfig>> {
    let http3 = config.connect_ip.as_ref().filter(|_| config.role == Role::Server)?;
    let tls = http3.server(peers, config.randomness);
    Some(Arc::new(QuicServerConfig::try_from(tls).expect(SUITE)))
}
