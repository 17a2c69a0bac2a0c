//! Two handshakes that exchange all their data, one direction per half round trip.

use super::super::config::test_config;
use super::*;
use crate::options::EarlyData;
use proptest::prelude::*;
use quiclab_core::ByteCount;

const LEVELS: [Level; 3] = [Level::Initial, Level::Handshake, Level::Application];
const SPACES: [PacketSpace; 4] =
    [PacketSpace::Initial, PacketSpace::Handshake, PacketSpace::ZeroRtt, PacketSpace::OneRtt];
const BOTH: [QuicVersion; 2] = [QuicVersion::V1, QuicVersion::Gquic37];
const ALL_EARLY: [Option<EarlyData>; 3] = [None, Some(EarlyData::Accepted), Some(EarlyData::Rejected)];

fn config(version: QuicVersion, resumption: bool, early_data: Option<EarlyData>) -> Config {
    let mut config = test_config();
    config.quic.version = version;
    config.datagram_size = ByteCount::from_bytes(1350);
    config.tls.resumption = resumption;
    config.tls.early_data = early_data;
    config
}

/// Size of pieces in which all data arrive at once.
const WHOLE: u64 = 1 << 30;

/// Parameters that distinguish the ends.
fn parameters(role: Role) -> TransportParameters {
    let max_data = match role {
        Role::Client => 1000,
        Role::Server => 1_000_000,
    };
    TransportParameters { max_data, connection_id_length: 8, ..TransportParameters::default() }
}

/// Endpoint, and the bytes of each level that it has sent.
struct End {
    handshake: Handshake,
    sent: [u64; 3],
}

impl End {
    fn new(config: &Config, role: Role) -> Self {
        Self { handshake: Handshake::new(config, role, parameters(role)), sent: [0; 3] }
    }

    /// Sends all data; the peer receives them in pieces of `piece` bytes. Returns the bytes by level.
    fn send(&mut self, peer: &mut Self, piece: u64) -> [u64; 3] {
        let mut bytes = [0; 3];
        let space = LEVELS.map(|level| self.handshake.space(level));
        for (index, level) in LEVELS.into_iter().enumerate() {
            while self.sent[index] < self.handshake.queued(level) {
                assert!(self.handshake.can_send(space[index]));
                assert!(peer.handshake.can_receive(space[index]), "the peer has keys of {space:?} by then");
                let next = (self.sent[index] + piece).min(self.handshake.queued(level));
                bytes[index] += next - self.sent[index];
                self.sent[index] = next;
                peer.handshake.on_received(level, next, self.handshake.parameters(level));
            }
        }
        bytes
    }

    /// All queries of the state.
    fn state(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let handshake = &self.handshake;
        (
            SPACES.map(|space| (handshake.can_send(space), handshake.can_receive(space))),
            LEVELS.map(|level| (handshake.queued(level), handshake.space(level))),
            (handshake.is_complete(), handshake.early_data(), handshake.clone().take_peer_parameters()),
        )
    }
}

/// Result of an exchange with a request.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Half round trips until the client has first sent the request, and until the response has arrived.
    asked: u32,
    answered: u32,
    /// Bytes of each flight, by level.
    flights: Vec<[u64; 3]>,
}

fn exchange(client: &Config, server: &Config) -> Outcome {
    let (mut client, mut server) = (End::new(client, Role::Client), End::new(server, Role::Server));
    let (mut asked, mut has_request, mut request) = (None, false, None);
    let mut flights = Vec::new();
    for half in 0..20 {
        if half % 2 == 0 {
            let rejected = request == Some(PacketSpace::ZeroRtt)
                && client.handshake.early_data() == EarlyState::Rejected;
            let sends = request.is_none() || rejected;
            let can = [PacketSpace::OneRtt, PacketSpace::ZeroRtt]
                .into_iter()
                .find(|&space| sends && client.handshake.can_send(space));
            if can.is_some() {
                request = can;
                asked = asked.or(Some(half));
            }
            flights.push(client.send(&mut server, WHOLE));
            has_request |= can.is_some_and(|space| server.handshake.can_receive(space));
        } else {
            let answers = has_request && server.handshake.can_send(PacketSpace::OneRtt);
            flights.push(server.send(&mut client, WHOLE));
            if answers && client.handshake.can_receive(PacketSpace::OneRtt) {
                assert!(client.handshake.is_complete());
                return Outcome { asked: asked.unwrap(), answered: half + 1, flights };
            }
        }
    }
    panic!("no answer: {flights:?}")
}

fn same(version: QuicVersion, resumption: bool, early_data: Option<EarlyData>) -> Outcome {
    let config = config(version, resumption, early_data);
    exchange(&config, &config)
}

/// ClientHello 300; ServerHello 90; EncryptedExtensions 15 and the parameters, Certificate 18 + 3000,
/// CertificateVerify 80, Finished 52; two tickets of 233. Parameters of the server: 4, original ID 2 + 8,
/// source ID 2 + 8, token 2 + 16, max_data 2 + 4, active_connection_id_limit 3, max_ack_delay 3: 54.
#[test]
fn tls() {
    let extensions = 15 + (4 + 10 + 10 + 18 + 6 + 3 + 3);
    let flight = extensions + 18 + 3000 + 80 + 52;
    let full = same(QuicVersion::V1, false, None);
    let expected = vec![[300, 0, 0], [90, flight, 0], [0, 52, 0], [0, 0, 466]];
    assert_eq!(full, Outcome { asked: 2, answered: 4, flights: expected });
    // the ticket of 208 is offered: 4 + 2 + 214 + 2 + 49 = 271; the server selects it: 6; no certificate
    let resumed = same(QuicVersion::V1, true, None);
    let expected = vec![[571, 0, 0], [96, extensions + 52, 0], [0, 52, 0], [0, 0, 466]];
    assert_eq!(resumed, Outcome { asked: 2, answered: 4, flights: expected });
    // early_data is an empty extension of 4; the server echoes it if it accepts. The response is sent with
    // its first flight.
    let accepted = same(QuicVersion::V1, true, Some(EarlyData::Accepted));
    let expected = vec![[575, 0, 0], [96, extensions + 4 + 52, 0]];
    assert_eq!(accepted, Outcome { asked: 0, answered: 2, flights: expected });
    let rejected = same(QuicVersion::V1, true, Some(EarlyData::Rejected));
    let expected = vec![[575, 0, 0], [96, extensions + 52, 0], [0, 52, 0], [0, 0, 466]];
    assert_eq!(rejected, Outcome { asked: 0, answered: 4, flights: expected });
}

/// Inchoate CHLO 1350 - 50, REJ 395 + 3000, full CHLO 1024 (300 + 296 is less), SHLO 284.
#[test]
fn quic_crypto() {
    let initial = |flights: &[u64]| flights.iter().map(|&bytes| [bytes, 0, 0]).collect();
    let full = same(QuicVersion::Gquic37, false, None);
    assert_eq!(full, Outcome { asked: 2, answered: 4, flights: initial(&[1300, 3395, 1024, 284]) });
    let cached = same(QuicVersion::Gquic37, true, Some(EarlyData::Accepted));
    assert_eq!(cached, Outcome { asked: 0, answered: 2, flights: initial(&[1024, 284]) });
    let confirmed = same(QuicVersion::Gquic37, true, None);
    assert_eq!(confirmed, Outcome { asked: 2, answered: 4, flights: initial(&[1024, 284, 0, 0]) });
    // the client has the chain: two hashes of 8 with their types, and an end
    let rejected = same(QuicVersion::Gquic37, true, Some(EarlyData::Rejected));
    assert_eq!(rejected, Outcome { asked: 0, answered: 4, flights: initial(&[1024, 395 + 19, 1024, 284]) });
    // 5000 + 72 is not below 3 * 1300 - 166: one more round trip
    let mut long = config(QuicVersion::Gquic37, false, None);
    long.tls.certificate = ByteCount::from_bytes(5000);
    let flights = initial(&[1300, 307, 1300, 5395, 1024, 284]);
    assert_eq!(exchange(&long, &long), Outcome { asked: 4, answered: 6, flights });
}

/// Hellos and windows are those of two profiles; only `tls` is equal.
#[test]
fn ends_of_different_profiles_understand_each_other() {
    for version in BOTH {
        let client = config(version, false, None);
        let mut server = client.clone();
        server.fixed.client_hello = ByteCount::from_bytes(1500);
        server.datagram_size = ByteCount::from_bytes(1200);
        server.quic.connection_id = ByteCount::from_bytes(0);
        assert_eq!(exchange(&client, &server), exchange(&client, &client), "{version:?}");
        assert_eq!(exchange(&server, &client).answered, 4, "{version:?}");
    }
}

/// RFC 9001 section 5.7: "a server MUST NOT process 1-RTT data before the handshake is complete".
#[test]
fn a_tls_server_sends_before_it_receives() {
    let config = config(QuicVersion::V1, false, None);
    let (mut client, mut server) = (End::new(&config, Role::Client), End::new(&config, Role::Server));
    let one = PacketSpace::OneRtt;
    let keys = |end: &End| (end.handshake.can_send(one), end.handshake.can_receive(one));
    assert_eq!((keys(&client), keys(&server)), ((false, false), (false, false)));
    client.send(&mut server, WHOLE);
    assert_eq!((keys(&server), server.handshake.is_complete()), ((true, false), false));
    assert_eq!(server.handshake.take_peer_parameters().unwrap().max_data, 1000);
    assert_eq!(server.handshake.take_peer_parameters(), None, "taken once");
    server.send(&mut client, WHOLE);
    assert_eq!((keys(&client), client.handshake.is_complete()), ((true, true), true));
    assert_eq!(client.handshake.take_peer_parameters().unwrap().max_data, 1_000_000);
    client.send(&mut server, WHOLE);
    assert_eq!((keys(&server), server.handshake.is_complete()), ((true, true), true));
}

/// The client learns the state of 0-RTT with EncryptedExtensions (15 + 54 + 4 = 73 B); 1-RTT keys are
/// available with Finished.
#[test]
fn early_data_are_decided_before_the_flight_ends() {
    for (early, state, extensions) in
        [(EarlyData::Accepted, EarlyState::Accepted, 73), (EarlyData::Rejected, EarlyState::Rejected, 69)]
    {
        let config = config(QuicVersion::V1, true, Some(early));
        let (mut client, mut server) = (End::new(&config, Role::Client), End::new(&config, Role::Server));
        assert_eq!(server.handshake.early_data(), EarlyState::Pending);
        client.send(&mut server, WHOLE);
        assert_eq!(server.handshake.early_data(), state);
        let parameters = server.handshake.parameters(Level::Handshake);
        let client = &mut client.handshake;
        client.on_received(Level::Initial, 96, server.handshake.parameters(Level::Initial));
        client.on_received(Level::Handshake, extensions - 1, parameters);
        assert_eq!((client.early_data(), client.take_peer_parameters()), (EarlyState::Pending, None));
        client.on_received(Level::Handshake, extensions, parameters);
        assert_eq!((client.early_data(), client.is_complete()), (state, false));
        assert_eq!(client.can_send(PacketSpace::ZeroRtt), early == EarlyData::Accepted);
        assert!(client.take_peer_parameters().is_some());
    }
}

/// Frames that arrive twice, or repeat a known end of a message, change nothing.
#[test]
fn repetitions_change_nothing() {
    for version in BOTH {
        let config = config(version, false, None);
        let (mut client, mut server) = (End::new(&config, Role::Client), End::new(&config, Role::Server));
        client.send(&mut server, WHOLE);
        let before = server.state();
        server.handshake.on_received(Level::Initial, 7, client.handshake.parameters(Level::Initial));
        server.handshake.on_received(Level::Initial, client.sent[0], None);
        assert_eq!(server.state(), before, "{version:?}");
    }
}

fn any_config() -> impl Strategy<Value = Config> {
    (any::<bool>(), any::<bool>(), 0..3usize, 1..8000u64, 200..1600u64).prop_map(
        |(gquic, resumption, early, certificate, hello)| {
            let early = ALL_EARLY[early].filter(|_| resumption);
            let mut config = config(BOTH[usize::from(gquic)], resumption, early);
            config.tls.certificate = ByteCount::from_bytes(certificate);
            config.fixed.client_hello = ByteCount::from_bytes(hello);
            config
        },
    )
}

proptest! {
    /// The state of an end depends on the bytes received, not on their division: pieces of any size, whole
    /// flights.
    #[test]
    fn pieces_do_not_matter(config in any_config(), pieces in proptest::collection::vec(1..2000u64, 8)) {
        let ends = || [End::new(&config, Role::Client), End::new(&config, Role::Server)];
        let ([mut client, mut server], [mut whole_client, mut whole_server]) = (ends(), ends());
        for (half, &piece) in pieces.iter().enumerate() {
            if half % 2 == 0 {
                let bytes = client.send(&mut server, piece);
                prop_assert_eq!(bytes, whole_client.send(&mut whole_server, WHOLE));
            } else {
                let bytes = server.send(&mut client, piece);
                prop_assert_eq!(bytes, whole_server.send(&mut whole_client, WHOLE));
            }
            prop_assert_eq!(client.state(), whole_client.state());
            prop_assert_eq!(server.state(), whole_server.state());
        }
        prop_assert!(client.handshake.is_complete() && server.handshake.is_complete());
    }

    /// Keys remain available, except those of 0-RTT that the server rejects; crypto streams only grow.
    #[test]
    fn keys_stay(config in any_config(), piece in 1..3000u64) {
        let mut ends = [End::new(&config, Role::Client), End::new(&config, Role::Server)];
        for half in 0..8 {
            let before: Vec<_> = ends.iter().map(|end| end.handshake.clone()).collect();
            let [client, server] = &mut ends;
            if half % 2 == 0 { client.send(server, piece) } else { server.send(client, piece) };
            for (before, now) in before.iter().zip(&ends) {
                let now = &now.handshake;
                for space in SPACES {
                    let rejected = space == PacketSpace::ZeroRtt && now.early_data() == EarlyState::Rejected;
                    prop_assert!(now.can_send(space) || !before.can_send(space) || rejected);
                    prop_assert!(now.can_receive(space) || !before.can_receive(space));
                }
                prop_assert!(now.is_complete() || !before.is_complete());
                prop_assert!(LEVELS.iter().all(|&level| now.queued(level) >= before.queued(level)));
            }
        }
    }
}
