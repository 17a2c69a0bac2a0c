//! The UDP sockets of the paths: batches in both directions (GSO, GRO, recvmmsg), ECN, and the destination address.
//!
//! Datagrams have DF set, and the MTU in ICMP messages is ignored: quinn-udp sets IP_PMTUDISC_PROBE and
//! IPV6_PMTUDISC_PROBE. A datagram beyond the MTU of the device is refused (EMSGSIZE), as if it were lost.

use quiclab_carrier::Outgoing;
use quiclab_core::{Ecn, FiveTuple, Packet, PacketMemory, Payload, Protocol, Time};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use rustix::net::sockopt;
use socket2::{Domain, Socket as RawSocket, Type};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum number of bytes that the kernel accepts at once (UDP without jumbograms, minus headers of IPv6).
const MAX_BATCH: usize = 65_000;
const RECEIVE_BYTES: usize = 65_535;
/// Buffers of the kernel: a burst of 10 ms at 1 Gbit/s is 1.25 MB, and the kernel also counts its own memory.
const BUFFER_BYTES: usize = 4 << 20;
/// Maximum number of consecutive reads from a socket before others have their turn.
const TURNS: usize = 2;

/// A socket.
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Local address for QUIC; the IP address may be unspecified.
    local: SocketAddr,
    /// Whether the kernel reports the local address of each packet (a server), or it is always `local` (a path
    /// of a client).
    told: bool,
}

impl Socket {
    /// Binds a socket, to an interface if there is one.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn bind(local: SocketAddr, interface: Option<&str>, told: bool) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::for_address(local), Type::DGRAM.nonblocking().cloexec(), None)?;
        if local.is_ipv6() {
            raw.set_only_v6(true)?;
        }
        if let Some(interface) = interface {
            raw.bind_device(Some(interface.as_bytes()))?;
        }
        raw.bind(&local.into())?;
        // with CAP_NET_ADMIN this may exceed the limits of the machine
        if sockopt::set_socket_recv_buffer_size_force(&raw, BUFFER_BYTES).is_err() {
            raw.set_recv_buffer_size(BUFFER_BYTES)?;
        }
        if sockopt::set_socket_send_buffer_size_force(&raw, BUFFER_BYTES).is_err() {
            raw.set_send_buffer_size(BUFFER_BYTES)?;
        }
        let socket: UdpSocket = raw.into();
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let local = SocketAddr::new(local.ip(), socket.local_addr()?.port());
        Ok(Self { socket, state, local, told })
    }

    /// Enables segmentation offload again: quinn-udp concludes from EINVAL that the kernel has none.
    fn renew(&mut self) {
        if self.state.max_gso_segments() == 1
            && let Ok(state) = UdpSocketState::new(UdpSockRef::from(&self.socket))
        {
            self.state = state;
        }
    }

    /// Address to which it is bound.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Counters of the sockets.
#[derive(Clone, Copy, Debug, Default)]
pub struct UdpCounts {
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Datagrams received.
    pub received_packets: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Datagrams that the kernel did not accept, or that had no socket.
    pub unsent: u64,
}

/// All sockets, by slots: a path of a client may currently have none.
pub struct Sockets {
    slots: Vec<Option<Socket>>,
    buffers: [Vec<u8>; BATCH_SIZE],
    memory: PacketMemory,
    batch: Batch,
    /// Counters of the datagrams.
    pub counts: UdpCounts,
}

/// Datagrams of one size to one destination.
#[derive(Default)]
struct Batch {
    slot: usize,
    destination: Option<SocketAddr>,
    source: Option<IpAddr>,
    ecn: Ecn,
    bytes: Vec<u8>,
    segment: usize,
    count: usize,
    /// Whether the last one was shorter, so that none may follow it.
    closed: bool,
}

impl Sockets {
    /// Creates `count` slots without sockets.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self {
            slots: (0..count).map(|_| None).collect(),
            buffers: std::array::from_fn(|_| vec![0; RECEIVE_BYTES]),
            memory: PacketMemory::default(),
            batch: Batch::default(),
            counts: UdpCounts::default(),
        }
    }

    /// Sets or removes the socket of a slot.
    pub fn set(&mut self, slot: usize, socket: Option<Socket>) {
        self.flush();
        self.slots[slot] = socket;
    }

    /// The sockets with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Socket)> {
        self.slots.iter().enumerate().filter_map(|(slot, socket)| Some((slot, socket.as_ref()?)))
    }

    /// Reads the datagrams that have arrived at a slot's socket, each as a packet.
    pub fn receive(&mut self, now: Time, slot: usize, mut each: impl FnMut(Packet)) {
        let Some(socket) = self.slots[slot].as_ref() else { return };
        for _ in 0..TURNS {
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let mut slices = self.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
            let count = match socket.state.recv(UdpSockRef::from(&socket.socket), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // no datagram, or an error of an earlier packet (ICMP), which is reported once
                Err(_) => return,
            };
            for (meta, buffer) in metas.iter().zip(&self.buffers).take(count) {
                let ip = meta.dst_ip.filter(|_| socket.told).unwrap_or(socket.local.ip());
                let local = SocketAddr::new(ip, socket.local.port());
                let tuple = FiveTuple::new(Protocol::Udp, meta.addr, local);
                for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    self.counts.received_packets += 1;
                    self.counts.received_bytes += datagram.len() as u64;
                    let payload = self.memory.copy(datagram);
                    each(Packet::of_datagram(now, tuple, from_codepoint(meta.ecn), payload));
                }
            }
            if count < BATCH_SIZE {
                return;
            }
        }
    }

    /// Sends a packet, or several in segments, with the next [`Sockets::flush`] at the latest.
    pub fn send(&mut self, outgoing: &Outgoing) {
        let Outgoing { packet, segment, mtu_probe } = outgoing;
        let Payload::Bytes(bytes) = &packet.payload else { return };
        let (local, destination) = (packet.tuple.source(), packet.tuple.destination());
        let Some(slot) = self.slot_of(local) else {
            self.counts.unsent += 1;
            return;
        };
        let source = Some(local.ip()).filter(|ip| !ip.is_unspecified());
        for datagram in bytes.chunks(segment.map_or(bytes.len().max(1), usize::from)) {
            self.push(slot, destination, source, packet.ecn, datagram);
        }
        // a device whose MTU it exceeds would refuse later datagrams with it
        self.batch.closed |= mtu_probe;
    }

    fn slot_of(&self, local: SocketAddr) -> Option<usize> {
        let same = |socket: &Socket| {
            socket.local.port() == local.port()
                && (socket.local.ip() == local.ip()
                    || socket.local.is_ipv4() == local.is_ipv4()
                        && (socket.local.ip().is_unspecified() || local.ip().is_unspecified()))
        };
        self.iter().find(|(_, socket)| same(socket)).map(|(slot, _)| slot)
    }

    fn push(
        &mut self,
        slot: usize,
        destination: SocketAddr,
        source: Option<IpAddr>,
        ecn: Ecn,
        datagram: &[u8],
    ) {
        let batch = &self.batch;
        let most = self.slots[slot].as_ref().map_or(1, |socket| socket.state.max_gso_segments());
        let joins = batch.destination == Some(destination)
            && (batch.slot, batch.source, batch.ecn) == (slot, source, ecn)
            && !batch.closed
            && datagram.len() <= batch.segment
            && batch.count < most
            && batch.bytes.len() + datagram.len() <= MAX_BATCH;
        if !joins {
            self.flush();
            let batch = &mut self.batch;
            (batch.slot, batch.destination, batch.source, batch.ecn) = (slot, Some(destination), source, ecn);
            batch.segment = datagram.len();
        }
        let batch = &mut self.batch;
        batch.bytes.extend_from_slice(datagram);
        batch.count += 1;
        batch.closed = datagram.len() < batch.segment;
    }

    /// Passes waiting datagrams to the kernel.
    pub fn flush(&mut self) {
        let batch = &mut self.batch;
        let Some(destination) = batch.destination.take() else { return };
        if let Some(socket) = &mut self.slots[batch.slot] {
            let counts = &mut self.counts;
            let mut send = |socket: &Socket, contents: &[u8], count: usize| {
                let transmit = Transmit {
                    destination,
                    ecn: to_codepoint(batch.ecn),
                    contents,
                    segment_size: (count > 1).then_some(batch.segment),
                    src_ip: batch.source,
                };
                let sent = socket.state.try_send(UdpSockRef::from(&socket.socket), &transmit);
                if sent.is_ok() {
                    counts.sent_packets += count as u64;
                    counts.sent_bytes += contents.len() as u64;
                }
                sent
            };
            match send(socket, &batch.bytes, batch.count) {
                Ok(()) => {}
                // the MTU of the device has shrunk below a segment: all were refused, also those that fit
                Err(error) if batch.count > 1 && is_too_long(&error) => {
                    socket.renew();
                    let datagrams = batch.bytes.chunks(batch.segment);
                    let unsent = datagrams.filter(|datagram| send(socket, datagram, 1).is_err()).count();
                    self.counts.unsent += unsent as u64;
                }
                // the interface is down, the buffer full: for QUIC this is a loss like any other
                Err(_) => self.counts.unsent += batch.count as u64,
            }
        }
        batch.bytes.clear();
        (batch.count, batch.closed) = (0, false);
    }
}

/// Whether the error is about a datagram or a segment that exceeds the MTU of the device (for segments, EINVAL before
/// Linux 6.14).
fn is_too_long(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [Errno::MSGSIZE, Errno::INVAL].iter().any(|errno| number == Some(errno.raw_os_error()))
}

fn from_codepoint(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

fn to_codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
