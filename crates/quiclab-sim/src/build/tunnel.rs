//! The ends of tunnels, each on its host.

use super::{BuildError, BuildOptions};
use quiclab_core::tunnel::{PacketStores, Tunnel, TunnelConfig, TunnelElement};
use quiclab_core::{EndpointIdentity, FiveTuple, Host, Node, RandomStream, Role, Topology};
use quiclab_scenario::{Scenario, Tunnel as TunnelScenario};
use quiclab_transport::CarrierRequest;

/// Maximum number of records of sojourn times that an end keeps: half a minute at 200 Mbit/s fits, an hour at
/// 1 Gbit/s does not.
const MAX_SOJOURNS: usize = 1_000_000;

/// Adds both ends of each tunnel.
pub(super) fn build(
    topology: &mut Topology,
    scenario: &Scenario,
    seed: u64,
    options: &BuildOptions<'_>,
) -> Result<(), BuildError> {
    for (name, tunnel) in &scenario.tunnels {
        let flow = scenario.tunnel_id(name).expect("it is one of them");
        let depots = PacketStores::default();
        for (role, depots) in [(Role::Server, depots.clone()), (Role::Client, depots.reversed())] {
            let end = match role {
                Role::Server => "server",
                Role::Client => "client",
            };
            let element = Scenario::tunnel_end(name, role);
            let request = CarrierRequest {
                role,
                kind: tunnel.carrier,
                paths: tunnel.paths.len(),
                windows: &tunnel.windows,
                datagram_sizes: &tunnel.datagram_sizes,
                config: &tunnel.end(role),
                seed,
                name: &element,
            };
            let carrier = options
                .stacks
                .carrier(&request)
                .map_err(|problem| BuildError::of(&["tunnels", name, end], problem))?;
            let config = config(tunnel, scenario.record.sojourns);
            let random = RandomStream::new(seed, &format!("{element}.queue"));
            let core = Tunnel::with_packet_stores(config, depots, random);
            let tuple = FiveTuple::default();
            let identity =
                EndpointIdentity { name: element.clone(), flow, role, tuple, paths: tunnel.paths.len() };
            let end = TunnelElement::new(core, carrier, flow, role, identity.first_packet_id());
            let node: Node = match tunnel.end(role).host.map(|host| &scenario.hosts[&host]) {
                Some(host) => Node::Element(Box::new(Host::new(host, seed, &element, Box::new(end)))),
                None => Node::Element(Box::new(end)),
            };
            topology.add(element, node);
        }
    }
    Ok(())
}

fn config(tunnel: &TunnelScenario, sojourns: bool) -> TunnelConfig {
    TunnelConfig {
        queue: tunnel.queue.clone(),
        scheduler: tunnel.scheduler.clone(),
        pipeline: tunnel.pipeline,
        mtu: tunnel.mtu,
        resequencing: tunnel.resequencing,
        repair: tunnel.repair,
        // each packet is a separate decision: virtual time needs no batches
        batch: 1,
        ecn: tunnel.ecn,
        keep_sojourns: if sojourns { MAX_SOJOURNS } else { 0 },
    }
}
