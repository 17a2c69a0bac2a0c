//! Addresses of connections: the client's address and port encode the number of a connection.

use quiclab_core::{EndpointIdentity, FiveTuple, Role};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// First port of clients: those below are privileged.
const FIRST_PORT: u16 = 1024;
/// Number of connections per address of a client.
const PER_ADDRESS: u32 = 60_000;

/// Source and destination of the packets of the end of connection `number`. The second octet of the client's
/// address is incremented when its ports are used up.
pub(super) fn tuple(identity: &EndpointIdentity, number: u32) -> FiveTuple {
    let tuple = &identity.tuple;
    let shifted = |client: SocketAddr| {
        let IpAddr::V4(address) = client.ip() else { unreachable!("addresses of flows are of IPv4") };
        let [net, second, third, host] = address.octets();
        let second = second + (number / PER_ADDRESS) as u8;
        let port = FIRST_PORT + (number % PER_ADDRESS) as u16;
        SocketAddr::new(Ipv4Addr::new(net, second, third, host).into(), port)
    };
    let (source, destination) = match identity.role {
        Role::Client => (shifted(tuple.source()), tuple.destination()),
        Role::Server => (tuple.source(), shifted(tuple.destination())),
    };
    FiveTuple::new(tuple.protocol(), source, destination)
}

/// Number of the connection of a packet with this tuple, as it arrives at an end; `None` if it belongs to
/// none.
pub(super) fn number(identity: &EndpointIdentity, arriving: &FiveTuple) -> Option<u32> {
    let (client, first) = match identity.role {
        Role::Client => (arriving.destination(), identity.tuple.source()),
        Role::Server => (arriving.source(), identity.tuple.destination()),
    };
    let (IpAddr::V4(address), IpAddr::V4(first)) = (client.ip(), first.ip()) else { return None };
    let ([a, second, c, d], [a_first, second_first, c_first, d_first]) = (address.octets(), first.octets());
    if [a, c, d] != [a_first, c_first, d_first] {
        return None;
    }
    let port = u32::from(client.port().checked_sub(FIRST_PORT)?);
    let address = u32::from(second.checked_sub(second_first)?);
    (port < PER_ADDRESS).then_some(address * PER_ADDRESS + port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::{FlowId, Protocol};

    fn identity(role: Role) -> EndpointIdentity {
        let server = SocketAddr::new(Ipv4Addr::new(10, 1, 0, 7).into(), 443);
        let client = SocketAddr::new(Ipv4Addr::new(10, 2, 0, 7).into(), 50_000);
        let tuple = match role {
            Role::Server => FiveTuple::new(Protocol::Tcp, server, client),
            Role::Client => FiveTuple::new(Protocol::Tcp, client, server),
        };
        EndpointIdentity { name: "web".to_owned(), flow: FlowId(7), role, tuple, paths: 1 }
    }

    #[test]
    fn each_end_finds_the_number_in_what_its_peer_sends() {
        let (server, client) = (identity(Role::Server), identity(Role::Client));
        for connection in [0, 1, 59_999, 60_000, 999_999] {
            assert_eq!(number(&client, &tuple(&server, connection)), Some(connection));
            assert_eq!(number(&server, &tuple(&client, connection)), Some(connection));
            assert_eq!(tuple(&server, connection), tuple(&client, connection).reverse());
        }
        assert_eq!(tuple(&client, 60_001).source().to_string(), "10.3.0.7:1025");
        // background traffic between the addresses of another flow
        let mut other = identity(Role::Server);
        other.tuple = FiveTuple::default();
        assert_eq!(number(&client, &other.tuple), None);
    }
}
