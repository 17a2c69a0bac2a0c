//! Routes, interfaces and their addresses, by rtnetlink (rtnetlink(7)), one request at a time.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use quiclab_core::ip::IpPrefix;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;

/// Longer than any datagram of a dump from the kernel.
const BUFFER_BYTES: usize = 1 << 16;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Whether it is up and has a carrier.
    pub running: bool,
    /// Its addresses, without those that other hosts do not reach (link-local of IPv6) or that are not checked yet.
    pub addresses: Vec<IpAddr>,
}

/// A socket of rtnetlink.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

/// Whether a route drops its packets (`blackhole`, `unreachable`, `prohibit`).
pub(super) fn leads_nowhere(route: &RouteMessage) -> bool {
    matches!(route.header.kind, RouteType::BlackHole | RouteType::Unreachable | RouteType::Prohibit)
}

impl Netlink {
    /// Opens the socket in the network of the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Sends a request to the kernel, and returns its answers or its error.
    pub(super) fn request(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (mut answers, mut single) = (Vec::new(), flags & (NLM_F_DUMP | NLM_F_ACK) == 0);
        loop {
            let size = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            let mut rest = &self.buffer[..size];
            while rest.len() >= 16 {
                let length = u32::from_ne_bytes(rest[..4].try_into().expect("four bytes")) as usize;
                if length < 16 || length > rest.len() {
                    return Err(io::Error::other("the answer of the kernel is truncated"));
                }
                let (message, next) = rest.split_at(length);
                rest = next.get(length.next_multiple_of(4) - length..).unwrap_or_default();
                let Ok(answer) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message) else {
                    continue;
                };
                if answer.header.sequence_number != self.sequence {
                    continue;
                }
                match answer.payload {
                    NetlinkPayload::Error(error) => match error.code {
                        None => return Ok(answers),
                        Some(_) => return Err(error.to_io()),
                    },
                    NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                    _ => {}
                }
                single = single && answers.is_empty();
                if flags & (NLM_F_DUMP | NLM_F_ACK) == 0 && !single {
                    return Ok(answers);
                }
            }
        }
    }

    /// All interfaces by name.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn interfaces(&mut self) -> io::Result<BTreeMap<String, Interface>> {
        let mut names = BTreeMap::new();
        let mut all = BTreeMap::new();
        for answer in self.request(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP)? {
            let RouteNetlinkMessage::NewLink(link) = answer else { continue };
            let name = link.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::IfName(name) => Some(name.clone()),
                _ => None,
            });
            let Some(name) = name else { continue };
            let running = link.header.flags.contains(LinkFlags::Up | LinkFlags::Running);
            names.insert(link.header.index, name.clone());
            all.insert(name, Interface { index: link.header.index, running, addresses: Vec::new() });
        }
        for answer in self.request(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)? {
            let RouteNetlinkMessage::NewAddress(message) = answer else { continue };
            let Some(interface) = names.get(&message.header.index).and_then(|name| all.get_mut(name)) else {
                continue;
            };
            interface.addresses.extend(usable_address(&message));
        }
        Ok(all)
    }

    /// Names of the interfaces that have an address or a route by router advertisement (RFC 4861, RFC 4862).
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn advertised_interfaces(&mut self) -> io::Result<BTreeSet<String>> {
        use netlink_packet_route::address::AddressFlags;
        let names: BTreeMap<u32, String> =
            self.interfaces()?.into_iter().map(|(name, interface)| (interface.index, name)).collect();
        let mut asked = RouteMessage::default();
        asked.header.address_family = AddressFamily::Inet6;
        let mut indices = BTreeSet::new();
        for answer in self.request(RouteNetlinkMessage::GetRoute(asked), NLM_F_DUMP)? {
            let RouteNetlinkMessage::NewRoute(route) = answer else { continue };
            let out = route.attributes.iter().find_map(|attribute| match attribute {
                RouteAttribute::Oif(index) => Some(*index),
                _ => None,
            });
            indices.extend(out.filter(|_| route.header.protocol == RouteProtocol::Ra));
        }
        for answer in self.request(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)? {
            let RouteNetlinkMessage::NewAddress(message) = answer else { continue };
            // one with a lifetime
            let dynamic = message.header.family == AddressFamily::Inet6
                && message.attributes.iter().any(|attribute| {
                    matches!(attribute, AddressAttribute::Flags(flags) if !flags.contains(AddressFlags::Permanent))
                });
            indices.extend(dynamic.then_some(message.header.index));
        }
        Ok(indices.iter().filter_map(|index| names.get(index).cloned()).collect())
    }

    /// Routes `destination` through a device: by a new route, or in place of an unreachable one or of that to a network of it.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn add_route(&mut self, destination: IpPrefix, device: u32) -> io::Result<()> {
        self.replace(&through(destination, device))
    }

    /// The opposite of [`Netlink::add_route`].
    ///
    /// # Errors
    /// If the kernel refuses it: there is none.
    pub fn remove_route(&mut self, destination: IpPrefix, device: u32) -> io::Result<()> {
        self.remove(&through(destination, device))
    }

    /// Adds the described route; false if an equal one exists, which another program owns.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn add(&mut self, route: &RouteMessage) -> io::Result<bool> {
        let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        match self.request(RouteNetlinkMessage::NewRoute(route.clone()), flags) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(io::Error::new(error.kind(), format!("a route cannot be set: {error}"))),
            Ok(_) => Ok(true),
        }
    }

    /// Adds the described route, and atomically replaces one to the same destination with the same metric.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn replace(&mut self, route: &RouteMessage) -> io::Result<()> {
        let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        match self.request(RouteNetlinkMessage::NewRoute(route.clone()), flags) {
            Err(error) => Err(io::Error::new(error.kind(), format!("a route cannot be set: {error}"))),
            Ok(_) => Ok(()),
        }
    }

    /// Removes a route as it is described.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn remove(&mut self, route: &RouteMessage) -> io::Result<()> {
        self.request(RouteNetlinkMessage::DelRoute(route.clone()), NLM_F_ACK).map(drop)
    }

    /// Routes of the main table to exactly `destination`, at the metric of quiclab's routes, through other devices
    /// than `device`, or without a next hop.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn routes_to(&mut self, destination: IpPrefix, device: u32) -> io::Result<Vec<RouteMessage>> {
        let mut asked = RouteMessage::default();
        asked.header.address_family = family(destination.network());
        let ours = if destination.is_ipv4() { 0 } else { METRIC_IPV6 };
        let answers = self.request(RouteNetlinkMessage::GetRoute(asked), NLM_F_DUMP)?;
        let routes = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        });
        let same = |route: &RouteMessage| {
            let (mut to, mut metric, mut out, mut table) = (None, 0, None, u32::from(route.header.table));
            for attribute in &route.attributes {
                match attribute {
                    RouteAttribute::Destination(RouteAddress::Inet(address)) => {
                        to = Some(IpAddr::V4(*address))
                    }
                    RouteAttribute::Destination(RouteAddress::Inet6(address)) => {
                        to = Some(IpAddr::V6(*address))
                    }
                    RouteAttribute::Priority(priority) => metric = *priority,
                    RouteAttribute::Oif(index) => out = Some(*index),
                    RouteAttribute::Table(number) => table = *number,
                    _ => {}
                }
            }
            let everything = destination.length() == 0 && to.is_none();
            table == u32::from(RouteHeader::RT_TABLE_MAIN)
                && (route.header.kind == RouteType::Unicast || leads_nowhere(route))
                && route.header.destination_prefix_length == destination.length()
                && (everything || to == Some(destination.network()))
                && metric == ours
                && out != Some(device)
        };
        Ok(routes.filter(same).collect())
    }

    /// Host route to `host` along the current route to it; `None` if it is on this machine or on a directly
    /// connected network.
    ///
    /// # Errors
    /// If the kernel refuses it, or has no route.
    pub fn way_to(&mut self, host: IpAddr) -> io::Result<Option<RouteMessage>> {
        let mut asked = RouteMessage::default();
        asked.header.address_family = family(host);
        asked.header.destination_prefix_length = IpPrefix::host(host).length();
        asked.attributes.push(RouteAttribute::Destination(route_address(host)));
        let answers = self.request(RouteNetlinkMessage::GetRoute(asked), 0)?;
        let Some(RouteNetlinkMessage::NewRoute(answer)) = answers.into_iter().next() else { return Ok(None) };
        let mut way = empty(IpPrefix::host(host));
        let kept = |attribute: &RouteAttribute| {
            matches!(attribute, RouteAttribute::Oif(_) | RouteAttribute::Gateway(_) | RouteAttribute::Via(_))
        };
        way.attributes.extend(answer.attributes.into_iter().filter(kept));
        let has_gateway = way.attributes.iter().any(|attribute| {
            !matches!(
                attribute,
                RouteAttribute::Oif(_) | RouteAttribute::Destination(_) | RouteAttribute::Priority(_)
            )
        });
        if answer.header.kind != RouteType::Unicast {
            return Ok(None);
        }
        way.header.scope =
            if has_gateway || !host.is_ipv4() { RouteScope::Universe } else { RouteScope::Link };
        Ok(Some(way))
    }
}

/// Default metric of the kernel for IPv6 (IP6_RT_PRIO_USER).
const METRIC_IPV6: u32 = 1024;

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}

/// A route of the main table to `destination`, without a next hop.
fn empty(destination: IpPrefix) -> RouteMessage {
    let mut route = RouteMessage::default();
    route.header.address_family = family(destination.network());
    route.header.destination_prefix_length = destination.length();
    route.header.table = RouteHeader::RT_TABLE_MAIN;
    route.header.protocol = RouteProtocol::Static;
    route.header.scope = RouteScope::Universe;
    route.header.kind = RouteType::Unicast;
    route.attributes.push(RouteAttribute::Destination(route_address(destination.network())));
    route
}

fn through(destination: IpPrefix, device: u32) -> RouteMessage {
    let mut route = empty(destination);
    if destination.is_ipv4() {
        route.header.scope = RouteScope::Link;
    }
    route.attributes.push(RouteAttribute::Oif(device));
    route
}

/// A route through a device that applies while there is none with the kernel's or quiclab's metric.
pub(super) fn held(destination: IpPrefix, device: u32) -> RouteMessage {
    let mut route = through(destination, device);
    let metric = if destination.is_ipv4() { 1 } else { METRIC_IPV6 + 1 };
    route.attributes.push(RouteAttribute::Priority(metric));
    route
}

/// A route that makes `destination` unreachable, with an error to senders.
pub(super) fn unreachable(destination: IpPrefix) -> RouteMessage {
    let mut route = empty(destination);
    route.header.kind = RouteType::Unreachable;
    route
}

fn usable_address(message: &AddressMessage) -> Option<IpAddr> {
    use netlink_packet_route::address::AddressHeaderFlags as Flags;
    if message.header.flags.intersects(Flags::Tentative | Flags::Dadfailed) {
        return None;
    }
    // on point-to-point links `Address` is the peer's address, `Local` the own one
    let mut found = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(address) => found = Some(*address),
            AddressAttribute::Address(address) => found = found.or(Some(*address)),
            _ => {}
        }
    }
    found.filter(|address| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => !address.is_unicast_link_local(),
    })
}
