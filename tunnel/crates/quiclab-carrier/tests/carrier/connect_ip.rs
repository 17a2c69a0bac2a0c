//! CONNECT-IP between two endpoints, and an end that floods its peer with capsules.

use crate::KINDS;
use crate::network::*;
use crate::throughput::window;
use quiclab_carrier::connect_ip::{ConnectIpConfig, ServerTrust};
use quiclab_carrier::{CloseReason, PublicKey, TunnelEvent};
use quiclab_connect_ip::capsule::{Capsule, CapsuleAddress, none};
use quiclab_connect_ip::message::Target;
use quiclab_core::Role;
use quiclab_core::tunnel::CarrierKind;
use quiclab_stacks::certificate;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Bytes before the key in the certificate of the stacks, which both ends have here (`openssl x509 -text`):
/// `SubjectPublicKeyInfo` (RFC 8410 section 4).
const SPKI: [u8; 12] = *b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
/// Records that an end may send at one time.
const BURST: usize = 256;

fn own() -> PublicKey {
    let (certificate, _) = certificate();
    let at = certificate.windows(SPKI.len()).position(|bytes| bytes == SPKI).unwrap() + SPKI.len();
    PublicKey::from_bytes(certificate[at..at + 32].try_into().unwrap())
}

fn connect_ip(role: Role) -> ConnectIpConfig {
    let target = Target { authority: "vpn.example".to_owned(), path: "/tunnel".to_owned() };
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certificate().1));
    let mut config = ConnectIpConfig::new(target, vec![CertificateDer::from(certificate().0)], key).unwrap();
    match role {
        Role::Client => config.trust = Some(ServerTrust::Key(own())),
        Role::Server => config.ports = vec![server_address(0).port()],
    }
    config
}

/// Both ends with an open session.
fn network() -> Network {
    network_of(CarrierKind::Connections)
}

fn network_of(kind: CarrierKind) -> Network {
    let mut setup = Setup::new(kind, window(62_500), &[Link::mbps(100, 10, 500)]);
    setup.connect_ip = Some(connect_ip);
    let mut network = setup.network();
    let mut known = network.now;
    network.ends[SERVER].endpoint.set_peers(known, [own()].into_iter().collect());
    network.establish();
    known = network.now;
    network.ends.iter_mut().for_each(|end| end.events.clear());
    assert!(known < at(1000), "{known}");
    network
}

fn request(number: u64) -> Capsule {
    Capsule::AddressRequest(vec![CapsuleAddress { request: number, prefix: none(true) }])
}

fn send(network: &mut Network, who: usize, capsules: impl Iterator<Item = Capsule>) {
    let session = network.ends[who].session.unwrap();
    capsules.for_each(|capsule| network.ends[who].endpoint.send_capsule(session, &capsule).unwrap());
    network.pump(who);
}

fn capsules(end: &End) -> usize {
    end.events.iter().filter(|(_, event)| matches!(event, TunnelEvent::Capsule { .. })).count()
}

fn closed(end: &End) -> Option<&CloseReason> {
    end.events.iter().find_map(|(_, event)| match event {
        TunnelEvent::SessionClosed { reason, .. } => Some(reason),
        _ => None,
    })
}

#[test]
fn a_flood_of_capsules_ends_the_session() {
    for (who, other) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        // 65,000 in 128 KB, the flow control window of a stream
        for capsule in [Capsule::AddressAssign(Vec::new()), Capsule::Datagram(b"\0"[..].into())] {
            let mut network = network();
            send(&mut network, who, std::iter::repeat_n(capsule, 65_000));
            network.run_until(network.now + ms(300));
            let end = &network.ends[other];
            let told =
                CloseReason::Remote("too many frames, capsules or streams without a packet".to_owned());
            assert_eq!(closed(end), Some(&told), "{:?}", end.events.len());
            assert!(capsules(end) <= BURST, "{}", capsules(end));
            let at_sender = closed(&network.ends[who]);
            assert!(
                matches!(at_sender, Some(CloseReason::Remote(reason)) if reason.contains("too many frames")),
                "{at_sender:?}"
            );
        }
    }
}

#[test]
fn capsules_that_are_needed_pass() {
    let mut network = network();
    send(&mut network, CLIENT, (1..=200).map(request));
    network.run_until(network.now + ms(300));
    assert_eq!((closed(&network.ends[SERVER]), capsules(&network.ends[SERVER])), (None, 200));
    // some per second, indefinitely
    for second in 0..20 {
        send(&mut network, CLIENT, (1..=30).map(|number| request(1000 * second + number)));
        network.run_until(network.now + ms(1000));
    }
    assert_eq!((closed(&network.ends[SERVER]), capsules(&network.ends[SERVER])), (None, 800));
}

/// Its addresses are those of the session, in which capsules and packets pass as before.
#[test]
fn the_session_goes_on_when_the_path_moves() {
    for kind in KINDS {
        let mut network = network_of(kind);
        let sessions = |network: &Network| network.ends.each_ref().map(|end| end.endpoint.sessions());
        let before = sessions(&network);
        let session = network.ends[CLIENT].session.unwrap();
        let moved = "10.3.0.77:4433".parse().unwrap();
        let now = network.now;
        network.ends[CLIENT].endpoint.rebind_path(now, session, 0, moved).unwrap();
        network.pump(CLIENT);
        network.run_until(now + ms(500));
        send(&mut network, CLIENT, (1..=3).map(request));
        send(&mut network, SERVER, (4..=5).map(request));
        network.run_until(now + ms(1000));
        assert_eq!(sessions(&network), before, "{kind:?}");
        assert_eq!(network.ends.each_ref().map(capsules), [2, 3], "{kind:?}");
        let addresses = network.ends[SERVER].endpoint.addresses(before[SERVER][0], 0);
        assert_eq!(addresses, Some((server_address(0), moved)), "{kind:?}");
        for end in &network.ends {
            let changed = |event: &TunnelEvent| !matches!(event, TunnelEvent::Capsule { .. });
            assert!(!end.events.iter().any(|(_, event)| changed(event)), "{kind:?}: {:?}", end.events);
        }
    }
}

#[test]
fn packets_in_capsules_are_no_flood() {
    let mut network = network();
    // context 0 and the header of IPv4 at least; sent as fast as the link takes them
    let packet = [&[0][..], &[0x45; 40]].concat();
    send(&mut network, CLIENT, std::iter::repeat_n(Capsule::Datagram(packet.into()), 20_000));
    network.run_until(network.now + ms(3000));
    assert_eq!((closed(&network.ends[SERVER]), network.ends[SERVER].packets), (None, 20_000));
}
