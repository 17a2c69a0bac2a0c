//! The client: its paths follow the interfaces of the machine, and the machine gets the addresses that the server assigns.

use super::{Daemon, ExitReason};
use crate::config::Client;
use crate::protocol::Assignment;
use crate::system::Machine;
use crate::uplinks::Uplinks;
use quiclab_core::ip::IpPrefix;
use quiclab_core::{Duration, Time};
use quiclab_stacks::carrier::SessionId;
use std::collections::BTreeMap;

/// Wait before interfaces that could not be read are read again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

impl Daemon {
    /// Opens the session of a client over all of its paths.
    pub(super) fn connect(&mut self, now: Time) -> Result<(), String> {
        let client = self.config.client.clone().expect("this is a client");
        let mut uplinks = Uplinks::new(&client);
        let interfaces = self.machine.interfaces().map_err(|error| error.to_string())?;
        let moved: BTreeMap<_, _> = uplinks.follow(&interfaces, &mut self.sockets).into_iter().collect();
        let local = |index| moved.get(&index).copied().unwrap_or_else(|| uplinks.unspecified_address(index));
        let paths = client.paths.iter().enumerate();
        let addresses: Vec<_> = paths.map(|(index, path)| (local(index), path.server)).collect();
        let id = self.endpoint.connect(now, &addresses).map_err(|error| error.to_string())?;
        self.add_session(now, id, client.server_key, "server".to_owned());
        self.uplinks = Some((uplinks, id));
        Ok(())
    }

    /// Moves paths to new sockets after changes of interfaces.
    pub(super) fn follow_interfaces(&mut self, now: Time) {
        self.retry_interfaces = None;
        let Some((uplinks, session)) = &mut self.uplinks else { return };
        let interfaces = match self.machine.interfaces() {
            Ok(interfaces) => interfaces,
            Err(error) => {
                tracing::warn!(%error, "interfaces cannot be read");
                self.retry_interfaces = Some(now + RETRY_INTERVAL);
                return;
            }
        };
        for (path, local) in uplinks.follow(&interfaces, &mut self.sockets) {
            if let Err(error) = self.endpoint.rebind_path(now, *session, path, local) {
                tracing::warn!(path, %error, "path cannot be moved");
            }
        }
    }

    /// Gives the device the addresses and routes that the server assigns.
    pub(super) fn assigned(
        &mut self,
        now: Time,
        id: SessionId,
        assignment: Assignment,
    ) -> Result<(), String> {
        let (Some(session), Some(client)) = (self.sessions.get_mut(&id), &self.config.client) else {
            return Ok(());
        };
        let networks = assignment.addresses.iter().map(|assigned| assigned.network);
        if let Some(sentence) = outside(networks, client, &self.config.interface, &mut self.machine)? {
            self.end = Some(ExitReason::Failed(sentence));
            return Ok(());
        }
        let mtu = assignment.mtu.min(self.config.mtu);
        let mut routes = client.routes.clone();
        if client.accept_routes {
            routes.extend(assignment.routes.iter().filter(|route| !client.routes.contains(route)));
        }
        // only families with an address: packets of the other one would get no answer
        let has = |four: bool| assignment.addresses.iter().any(|assigned| assigned.address.is_ipv4() == four);
        routes.retain(|route| has(route.is_ipv4()));
        let networks: Vec<_> = assignment.addresses.iter().map(|assigned| assigned.network).collect();
        routes.retain(|route| !networks.contains(route));
        let addresses: Vec<_> = assignment
            .addresses
            .iter()
            .map(|assigned| (assigned.address, assigned.network.length()))
            .collect();
        for path in client.paths.iter().filter(|path| path.interface.is_none() && path.local.is_none()) {
            if routes.iter().any(|route| route.contains(path.server.ip())) {
                self.machine.keep_way(path.server.ip()).map_err(|error| error.to_string())?;
            }
        }
        let set = self
            .machine
            .set_mtu(mtu)
            .and_then(|()| self.machine.set_addresses(&addresses))
            .and_then(|()| self.machine.set_routes(&routes));
        if let Err(error) = set {
            self.end = Some(ExitReason::Failed(format!("the machine cannot be set up: {error}")));
            return Ok(());
        }
        session.allowed = None;
        session.opened(now, assignment.addresses, mtu);
        tracing::info!(session = id.0, addresses = ?addresses, mtu, "addresses set");
        Ok(())
    }
}

/// Why networks cannot be inside the tunnel: an address of a server or of this machine is in one of them.
fn outside(
    mut networks: impl Iterator<Item = IpPrefix>,
    client: &Client,
    interface: &str,
    machine: &mut Machine,
) -> Result<Option<String>, String> {
    let interfaces = machine.interfaces().map_err(|error| error.to_string())?;
    let own = interfaces.iter().filter(|(name, _)| *name != interface);
    let own =
        own.flat_map(|(name, found)| found.addresses.iter().map(move |address| (name.as_str(), *address)));
    let servers = client.paths.iter().map(|path| (path.name.as_str(), path.server.ip()));
    let taken: Vec<_> = own.chain(servers).collect();
    Ok(networks.find_map(|network| {
        let (name, address) = taken.iter().find(|(_, address)| network.contains(*address))?;
        Some(format!("the server assigns {network}, where {address} ({name}) is outside the tunnel"))
    }))
}
