//! Routes through the device, unreachable routes, and routes to servers, which must not lead through it.

use super::{Machine, netlink};
use quiclab_core::ip::IpPrefix;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

impl Machine {
    /// Routes exactly the destinations `through` through the device, in addition to its own networks; those in
    /// `unreachable` become unreachable, so that no other route takes their packets.
    ///
    /// A default route becomes two halves, which take precedence over any default route without changing it: sockets
    /// bound to an interface still use that. Another route to the same destination is removed until the end.
    ///
    /// # Errors
    /// If the kernel refuses one.
    pub fn set_routes(&mut self, through: &[IpPrefix], unreachable: &[IpPrefix]) -> io::Result<()> {
        let wanted = |routes: &[IpPrefix]| routes.iter().flat_map(|route| halves(*route)).collect();
        let (through, unreachable): (BTreeSet<IpPrefix>, BTreeSet<IpPrefix>) =
            (wanted(through), wanted(unreachable));
        // new ones first: a destination may be in an old route and in a new one
        for &route in &through {
            if !self.routes.contains(&route) {
                if !self.unreachable.remove(&route) {
                    self.replace_routes_to(route)?;
                }
                self.netlink.add_route(route, self.index)?;
                self.routes.insert(route);
            }
        }
        for &route in &unreachable {
            if !self.unreachable.contains(&route) {
                self.add_unreachable(route)?;
                self.unreachable.insert(route);
            }
        }
        for gone in self.routes.difference(&through) {
            let _ = self.netlink.remove_route(*gone, self.index);
        }
        self.routes = through;
        for gone in self.unreachable.difference(&unreachable) {
            let _ = self.netlink.remove(&netlink::unreachable(*gone));
        }
        self.unreachable = unreachable;
        Ok(())
    }

    /// Makes a destination unreachable, whether its packets have gone through the device or not.
    fn add_unreachable(&mut self, route: IpPrefix) -> io::Result<()> {
        let message = netlink::unreachable(route);
        if self.routes.remove(&route) {
            self.journal.note_added_route(&message)?;
            return self.netlink.replace(&message);
        }
        self.replace_routes_to(route)?;
        self.journal.note_added_route(&message)?;
        if !self.netlink.add(&message)? {
            // the administrator's: it must not be removed
            self.journal.forget_last()?;
        }
        Ok(())
    }

    /// Whether there are unreachable destinations.
    #[must_use]
    pub fn has_unreachable_routes(&self) -> bool {
        !self.unreachable.is_empty()
    }

    /// Removes routes of others to the same destination until the end. An unreachable one stays until a route through the
    /// device replaces it.
    fn replace_routes_to(&mut self, route: IpPrefix) -> io::Result<()> {
        let is_own = self.ways.iter().any(|(server, is_added)| *is_added && IpPrefix::host(*server) == route);
        for other in self.netlink.routes_to(route, self.index)? {
            // a route of this program is not restored
            if !is_own {
                self.journal.note_removed_route(&other)?;
            }
            if !netlink::leads_nowhere(&other) {
                self.netlink.remove(&other)?;
            }
        }
        Ok(())
    }

    /// Keeps the current route to a server, whatever routes lead through the device: for paths that are not bound to an
    /// interface.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn keep_way(&mut self, server: IpAddr) -> io::Result<()> {
        if self.ways.contains_key(&server) {
            return Ok(());
        }
        if let Some(way) = self.netlink.way_to(server)? {
            self.journal.note_added_route(&way)?;
            let is_added = self.netlink.add(&way)?;
            if !is_added {
                // the administrator's: it must not be removed
                self.journal.forget_last()?;
            }
            self.ways.insert(server, is_added);
        }
        Ok(())
    }
}

/// Splits a default route into two routes that are more specific than any default route.
fn halves(route: IpPrefix) -> Vec<IpPrefix> {
    if route.length() > 0 {
        return vec![route];
    }
    let texts = if route.is_ipv4() { ["0.0.0.0/1", "128.0.0.0/1"] } else { ["::/1", "8000::/1"] };
    texts.map(|text| text.parse().expect("two halves are two ranges")).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_route_becomes_two_halves() {
        let texts = |route: &str| -> Vec<String> {
            halves(route.parse().unwrap()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts("0.0.0.0/0"), ["0.0.0.0/1", "128.0.0.0/1"]);
        assert_eq!(texts("::/0"), ["::/1", "8000::/1"]);
        assert_eq!(texts("10.0.0.0/8"), ["10.0.0.0/8"]);
    }
}
