//! A session: the tunnel to one peer, with its permitted sources and its addresses inside.
//!
//! | module | |
//! | --- | --- |
//! | here | packets that enter and leave, and the status |
//! | `outage` | times without a path |
//! | `sizes` | sizes of packets that pass |
//! | `carrier` | bytes by path |

mod carrier;
mod outage;
mod sizes;

use carrier::{CountingCarrier, PathCounts};
use outage::Outage;
use sizes::PacketSizes;

use crate::kept::KeptPackets;
use crate::protocol::Assigned;
use crate::status::{FlowStatus, MtuSearchState, PathStatus, SessionCounts, SessionStatus};
use crate::tun::Tun;
use bytes::BytesMut;
use quiclab_carrier::{PublicKey, SessionId, TunnelEndpoint};
use quiclab_core::ip::{self, IcmpRateLimiter, IpPrefix};
use quiclab_core::tunnel::{Carrier, Emitted, Tunnel, TunnelConfig};
use quiclab_core::{ByteCount, DropReason, Metrics, Packet, Payload, RandomStream, Time};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum number of consecutive send passes: pieces fit, unless the largest datagram shrinks meanwhile.
const MAX_PASSES: usize = 3;

/// The session of one peer.
pub struct Session {
    /// Its number in the endpoint.
    pub id: SessionId,
    /// Key of the peer.
    pub peer: PublicKey,
    /// Name of the peer in log and status.
    pub name: String,
    /// Time since which it is open; `None` if it is not, or has no addresses yet.
    pub open: Option<Time>,
    /// Whether its peer uses CONNECT-IP.
    pub connect_ip: bool,
    /// Addresses of the client of this session.
    pub assigned: Vec<Assigned>,
    /// Permitted sources of received packets; `None`: any except this end (a client trusts its server).
    pub allowed: Option<Vec<IpPrefix>>,
    /// Addresses and networks of this end, a client: permitted destinations of received packets, and sources of this machine's.
    /// `None`: any (a server).
    pub own: Option<Vec<IpPrefix>>,
    tunnel: Tunnel,
    emitted: Emitted,
    mtu: u16,
    sizes: PacketSizes,
    /// Longest unfragmented packet, as last logged.
    logged_mtu: Option<u16>,
    /// The server's addresses inside, as far as they are known.
    router: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    budget: IcmpRateLimiter,
    paths: Vec<PathCounts>,
    /// Packets of this machine in an outage.
    kept: KeptPackets,
    outage: Option<Outage>,
    counts: SessionCounts,
}

impl Session {
    /// Creates a session that is not open yet.
    #[must_use]
    pub fn new(
        now: Time,
        id: SessionId,
        peer: PublicKey,
        name: String,
        config: TunnelConfig,
        seed: u64,
    ) -> Self {
        let mtu = u16::try_from(config.mtu.bytes()).unwrap_or(u16::MAX);
        Self {
            id,
            peer,
            name,
            open: None,
            connect_ip: false,
            assigned: Vec::new(),
            allowed: Some(Vec::new()),
            own: None,
            tunnel: Tunnel::of_bytes(config, RandomStream::new(seed, "tunnel")),
            emitted: Emitted::default(),
            mtu,
            sizes: PacketSizes { whole: mtu, certain: mtu, is_final: false },
            logged_mtu: None,
            router: (None, None),
            budget: IcmpRateLimiter::new(now),
            paths: Vec::new(),
            kept: KeptPackets::default(),
            outage: None,
            counts: SessionCounts::default(),
        }
    }

    /// Restarts the session after QUIC has opened it again: numbers begin again at both ends. Packets that
    /// wait to be sent stay.
    pub fn restart(&mut self) {
        self.tunnel.restart();
    }

    /// Opens the session, with these addresses at the client.
    pub fn opened(&mut self, now: Time, assigned: Vec<Assigned>, mtu: u16) {
        self.open = Some(now);
        self.mtu = mtu;
        self.sizes = PacketSizes {
            whole: self.sizes.whole.min(mtu),
            certain: self.sizes.certain.min(mtu),
            is_final: false,
        };
        // errors come from the peer: a machine drops packets with its own source address
        let is_client = self.own.is_some();
        let of_other = |assigned: &Assigned| if is_client { assigned.server } else { Some(assigned.address) };
        self.router = (None, None);
        for address in assigned.iter().filter_map(of_other) {
            match address {
                IpAddr::V4(address) => self.router.0 = Some(address),
                IpAddr::V6(address) => self.router.1 = Some(address),
            }
        }
        self.assigned = assigned;
    }

    /// Whether its flows may continue when it is open again.
    #[must_use]
    pub fn was_open(&self) -> bool {
        !self.assigned.is_empty()
    }

    /// Enqueues a packet of this machine for the peer.
    pub fn enqueue(&mut self, now: Time, mut bytes: BytesMut, tun: &mut Tun) {
        if self.open.is_none() && !self.was_open() {
            self.counts.closed += 1;
            return;
        }
        if !self.is_own(&bytes) {
            self.counts.foreign += 1;
            return;
        }
        if let Some(outage) = self.outage {
            if let Some(error) = ip::no_way(&bytes, self.router_for(&bytes))
                && self.budget.take(now)
            {
                self.counts.unreachable += 1;
                tun.write_bytes(&error);
            }
            if outage.is_long(now) {
                self.keep(bytes);
                return;
            }
        }
        ip::clamp_mss(&mut bytes, self.sizes.whole);
        self.tunnel.enqueue(now, of_bytes(now, bytes), &mut self.emitted);
    }

    /// Delivers received packets, and sends all that can be sent; to be called after every event.
    pub fn run(&mut self, now: Time, endpoint: &mut TunnelEndpoint, tun: &mut Tun) {
        self.follow_outage(now, endpoint);
        // no later event would send the pieces of a fragmented packet
        for _ in 0..MAX_PASSES {
            if !self.pass(now, endpoint, tun) {
                return;
            }
        }
    }

    /// Performs a send pass; returns whether there are new packets to send.
    fn pass(&mut self, now: Time, endpoint: &mut TunnelEndpoint, tun: &mut Tun) -> bool {
        let Some(carrier) = endpoint.carrier(self.id) else { return false };
        // before addresses are assigned, the peer would drop waiting packets
        let mut carrier = CountingCarrier { carrier, paths: &mut self.paths, is_held: self.open.is_none() };
        self.tunnel.run(now, &mut carrier, &mut self.emitted);
        self.measure(endpoint);
        let mut inner = std::mem::take(&mut self.emitted.inner);
        for mut packet in inner.drain(..) {
            let Payload::Ip(bytes) = &mut packet.payload else { continue };
            match ip::parse(bytes) {
                Err(_) => self.counts.malformed += 1,
                Ok(header) if !self.may_send(header.source) => self.counts.spoofed += 1,
                Ok(header) if !contains(&self.own, header.destination) => self.counts.misdirected += 1,
                Ok(_) => {
                    ip::clamp_mss(bytes, self.sizes.whole);
                    tun.write(&packet);
                }
            }
        }
        // its memory is for the next pass
        self.emitted.inner = inner;
        let mut again = false;
        for (reason, packet) in std::mem::take(&mut self.emitted.dropped) {
            if reason == DropReason::TooLarge {
                again |= self.too_big(now, *packet, tun);
            }
        }
        again
    }

    /// Updates the sizes of packets that pass.
    fn measure(&mut self, endpoint: &mut TunnelEndpoint) {
        let count = endpoint.carrier(self.id).map_or(0, |carrier| carrier.paths());
        let paths = (0..count).filter_map(|path| endpoint.path_mtu(self.id, path));
        self.sizes = PacketSizes::of_paths(paths, self.tunnel.overhead(), self.mtu, self.sizes);
        if self.sizes.is_final && self.logged_mtu != Some(self.sizes.whole) {
            self.logged_mtu = Some(self.sizes.whole);
            let (peer, mtu) = (self.name.as_str(), self.sizes.whole);
            tracing::info!(session = self.id.0, peer, mtu, "longest packet inside that passes whole");
        }
    }

    /// Whether the peer may send from an address.
    fn may_send(&self, source: IpAddr) -> bool {
        contains(&self.allowed, source) && (self.own.is_none() || !contains(&self.own, source))
    }

    /// Whether a packet of this machine is from this end.
    fn is_own(&self, packet: &[u8]) -> bool {
        self.own.is_none() || ip::parse(packet).is_ok_and(|header| contains(&self.own, header.source))
    }

    /// Handles a packet that is too big for a path: fragments it if it permits that, else reports to its sender.
    /// Returns whether there are pieces to send.
    fn too_big(&mut self, now: Time, packet: Packet, tun: &mut Tun) -> bool {
        let Payload::Ip(bytes) = packet.payload else { return false };
        self.counts.too_big += 1;
        if let Some(pieces) = ip::fragment(&bytes, self.sizes.whole) {
            for piece in pieces {
                self.tunnel.enqueue(now, of_bytes(now, BytesMut::from(&piece[..])), &mut self.emitted);
            }
            return true;
        }
        if self.budget.take(now)
            && let Some(error) = ip::too_big(&bytes, self.sizes.certain, self.router_for(&bytes))
        {
            tun.write_bytes(&error);
        }
        false
    }

    /// Source address of an error about a packet: with CONNECT-IP, where the server's address is unknown, its destination,
    /// so that it passes source filters.
    fn router_for(&self, packet: &[u8]) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        let destination = ip::parse(packet).map(|header| header.destination);
        match (self.router, destination) {
            ((None, other), Ok(IpAddr::V4(address))) => (Some(address), other),
            ((other, None), Ok(IpAddr::V6(address))) if !address.is_multicast() => (other, Some(address)),
            (router, _) => router,
        }
    }

    /// Time at which [`Session::run`] must be called without an event.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        let outage = self.outage.filter(|outage| !outage.emptied).map(|outage| outage.since + Outage::LONG);
        self.tunnel.next_wake().into_iter().chain(outage).min()
    }

    /// Status of the session.
    pub fn status(&mut self, now: Time, endpoint: &mut TunnelEndpoint, names: &[String]) -> SessionStatus {
        let mut of_tunnel = Metrics::default();
        self.tunnel.statistics(now, &mut of_tunnel);
        let (fragmented, incomplete) = endpoint.fragmented(self.id);
        let counts = SessionCounts { fragmented, incomplete, ..self.counts };
        let outside: Vec<_> = {
            let count = endpoint.carrier(self.id).map_or(0, |carrier| carrier.paths());
            (0..count)
                .map(|path| (endpoint.addresses(self.id, path), endpoint.path_mtu(self.id, path)))
                .collect()
        };
        let mut paths = Vec::new();
        if let Some(carrier) = endpoint.carrier(self.id) {
            self.tunnel.sample(now, &carrier, &mut of_tunnel);
            for (path, (addresses, mtu)) in outside.into_iter().enumerate() {
                let state = carrier.state(now, path);
                let counts = self.paths.get(path).copied().unwrap_or_default();
                paths.push(PathStatus {
                    path,
                    name: names.get(path).cloned().unwrap_or_else(|| path.to_string()),
                    up: state.usable,
                    local: addresses.map(|(local, _)| local),
                    remote: addresses.map(|(_, remote)| remote),
                    mtu_bytes: mtu.map(|mtu| mtu.bytes),
                    mtu_search: mtu.map(|mtu| MtuSearchState::of(mtu.searching)),
                    rtt_ms: state.srtt.as_ms_f64(),
                    window_bytes: state.window.bytes(),
                    in_flight_bytes: state.in_flight.bytes(),
                    rate_mbps: state.rate.map(|rate| rate.as_mbps_f64()),
                    loss: state.loss.value(),
                    sent_bytes: counts.sent,
                    received_bytes: counts.received,
                });
            }
        }
        let (backlog, totals, flows) =
            (self.tunnel.backlog(), self.tunnel.queue_totals(), self.tunnel.waiting_flows());
        let of_tunnel = of_tunnel.named().into_iter().map(|(name, value)| (name.into_owned(), value));
        let mtu = ("mtu_bytes".to_owned(), f64::from(self.sizes.whole));
        SessionStatus {
            session: self.id.0,
            name: self.name.clone(),
            public_key: if self.peer == PublicKey::NONE { String::new() } else { self.peer.to_string() },
            open: self.open.is_some(),
            open_seconds: self.open.map_or(0.0, |since| now.since(since).as_secs_f64()),
            addresses: self.assigned.iter().map(|assigned| assigned.address).collect(),
            connections: endpoint.connections_of(self.id) as u64,
            carrier: endpoint.carrier_kind(self.id),
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes.bytes(),
            queue_sent_packets: totals.served,
            queue_sojourn_seconds: totals.sojourn_nanos as f64 / 1e9,
            waiting_flows: flows.len() as u64,
            flows: FlowStatus::longest(now, flows),
            values: of_tunnel.chain(counts.values()).chain([mtu]).collect(),
            paths,
        }
    }
}

/// Whether an address is in one of some networks; `None`: in any.
fn contains(networks: &Option<Vec<IpPrefix>>, address: IpAddr) -> bool {
    networks.as_ref().is_none_or(|networks| networks.iter().any(|prefix| prefix.contains(address)))
}

fn of_bytes(now: Time, bytes: BytesMut) -> Box<Packet> {
    let ecn = ip::parse(&bytes).map(|header| header.ecn).unwrap_or_default();
    Box::new(Packet {
        size: ByteCount::from_bytes(bytes.len() as u64),
        ecn,
        created: now,
        payload: Payload::Ip(bytes),
        ..Packet::default()
    })
}
