//! Configuration of QUIC and of the tunnel in front of it.

use crate::config::{Config, Server, Settings};
use crate::installation;
use quiclab_carrier::{PathConfig, Randomness, TunnelEndpointConfig};
use quiclab_core::tunnel::{Pipeline, TunnelConfig, TunnelEcn};
use quiclab_core::{ByteCount, Role};

/// Maximum number of datagrams that leave together on a path (UDP GSO): 16 of them take 0.2 ms at 1 Gbit/s.
const BATCH: usize = 16;

/// Creates the endpoint of QUIC.
#[must_use]
pub fn hub_config(settings: &Settings) -> TunnelEndpointConfig {
    let config = &settings.config;
    let role = if config.server.is_some() { Role::Server } else { Role::Client };
    let (key, peers) = (settings.key.clone(), config.known_peers());
    let mut out = TunnelEndpointConfig::new(role, key, peers, Randomness::System);
    out.installation = config.server.as_ref().map(|_| installation::secret(&config.interface));
    out.kind = config.carrier_kind();
    out.connect_ip.clone_from(&settings.connect_ip);
    out.idle_timeout = config.idle_timeout;
    out.keep_alive = config.keep_alive;
    out.segments = BATCH;
    out.mtu_discovery = true;
    out.paths = match (&config.server, &config.client) {
        // the largest value of all clients: each uses its own
        (Some(server), _) => {
            let Server { congestion_control, window, mtu, .. } = *server;
            vec![PathConfig { congestion_control, window, mtu }]
        }
        (None, Some(client)) => client
            .paths
            .iter()
            .map(|path| PathConfig {
                congestion_control: path.congestion_control,
                window: path.window,
                mtu: path.mtu,
            })
            .collect(),
        (None, None) => Vec::new(),
    };
    out
}

/// Creates the tunnel in front of it, with or without numbered packets.
#[must_use]
pub fn tunnel_config(config: &Config, numbered: bool) -> TunnelConfig {
    TunnelConfig {
        queue: config.queue.clone(),
        scheduler: config.scheduler.clone(),
        pipeline: Pipeline::Direct,
        mtu: ByteCount::from_bytes(config.mtu.into()),
        resequencing: Some(config.resequencing).filter(|_| numbered),
        repair: numbered,
        batch: BATCH,
        ecn: TunnelEcn::Separate,
        keep_sojourns: 0,
    }
}
