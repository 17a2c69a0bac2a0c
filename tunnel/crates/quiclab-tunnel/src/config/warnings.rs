//! Warnings about values of a configuration that are valid, but route packets in a way that is probably not
//! intended.

use super::{Client, Config, Server};
use quiclab_core::FieldPath;

/// Returns one sentence for each, with its field.
pub(super) fn warnings(config: &Config) -> Vec<String> {
    let server = config.server.iter().flat_map(|server| of_server(server).chain(of_masquerade(server)));
    server.chain(config.client.iter().filter_map(of_client)).collect()
}

/// Routes of a family in which clients get no address.
fn of_server(server: &Server) -> impl Iterator<Item = String> {
    let pools = [("IPv4", "pool_ipv4", server.pool_ipv4), ("IPv6", "pool_ipv6", server.pool_ipv6)];
    server.announce.iter().enumerate().filter_map(move |(index, route)| {
        let (family, field, pool) = pools[usize::from(!route.is_ipv4())];
        let path = FieldPath::from("server.announce").child(index);
        pool.is_none().then(|| {
            format!(
                "{path}: clients that accept {route} make it unreachable: they get no {family} address, as `{field}` is not set"
            )
        })
    })
}

/// Packets of clients that this machine would translate, and does not forward.
fn of_masquerade(server: &Server) -> Option<String> {
    (server.masquerade && !server.forward).then(|| {
        "server.masquerade: packets of clients are translated only if this machine forwards them, which `forward = true` switches on".to_owned()
    })
}

/// All destinations of one family through the tunnel, and none of the other.
fn of_client(client: &Client) -> Option<String> {
    let all = |ipv4: bool| client.routes.iter().any(|route| route.is_ipv4() == ipv4 && route.length() == 0);
    let none = |ipv4: bool| client.routes.iter().all(|route| route.is_ipv4() != ipv4);
    let (other, route) = match (all(true) && none(false), all(false) && none(true)) {
        (true, _) => ("IPv6", "::/0"),
        (_, true) => ("IPv4", "0.0.0.0/0"),
        _ => return None,
    };
    (!client.kill_switch).then(|| {
        format!(
            "client.routes: {other} leaves outside the tunnel; \"{route}\" sends it through the tunnel, or nowhere if the server assigns no {other} address"
        )
    })
}
