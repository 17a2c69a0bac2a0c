//! Capture of packets from the client's uplinks: frames that arrive at the server's host with a MAC address of
//! the client.

use super::lab::{Lab, until};
use quiclab_tunnel::system::MARK;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeSet;
use std::io::Read;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// ETH_P_ALL of linux/if_ether.h, in network byte order.
const ALL: i32 = (3_u16).to_be() as i32;
const MAC: usize = 6;
/// First bytes of the datagrams of [`Sniffer::settle`].
const MARKER: &[u8] = b"marker ";

/// Collects the packets that the client sends outside, from the start of the test to its end.
pub struct Sniffer(Arc<Mutex<BTreeSet<String>>>);

impl Sniffer {
    pub fn start(lab: &Lab) -> Self {
        let macs = [1, 2].map(|uplink| {
            let shown = lab.ip('c', &format!("-br link show dev c{uplink}"));
            let mac = shown.split_whitespace().nth(2).unwrap().to_owned();
            mac.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect::<Vec<u8>>()
        });
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (ready, is_ready) = std::sync::mpsc::channel();
        let found = seen.clone();
        drop(lab.within('s', move || {
            let mut socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(ALL))).unwrap();
            ready.send(()).unwrap();
            let mut frame = [0; 2048];
            while let Ok(length) = socket.read(&mut frame) {
                if length > 2 * MAC + 2 && macs.iter().any(|mac| frame[MAC..2 * MAC] == mac[..]) {
                    found.lock().unwrap().insert(describe(&frame[2 * MAC..length]));
                }
            }
        }));
        is_ready.recv().unwrap();
        Self(seen)
    }

    /// Waits until earlier frames have been captured: a datagram of the tunnel itself follows them on each uplink.
    pub fn settle(&self, lab: &Lab) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let marker = format!("marker {}", NEXT.fetch_add(1, Ordering::Relaxed));
        let bytes = marker.clone().into_bytes();
        let send = move || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket2::SockRef::from(&socket).set_mark(MARK).unwrap();
            for server in ["10.1.1.1:4433", "10.1.2.1:4433"] {
                socket.send_to(&bytes, server).unwrap();
            }
        };
        lab.within('c', send).join().unwrap();
        until("the markers have arrived", || {
            let seen = self.seen();
            ["10.1.1.1", "10.1.2.1"].iter().all(|server| seen.contains(&format!("{marker} {server}")))
        });
    }

    /// Packets that have left so far, each kind and destination once.
    pub fn seen(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().clone()
    }

    /// Packets that have left, without messages that a link needs (ARP for neighbours of the uplinks, NDP, MLD) and
    /// datagrams of the tunnel.
    pub fn leaked(&self) -> BTreeSet<String> {
        let allowed = |packet: &String| {
            let of_test = packet.as_bytes().starts_with(MARKER);
            let of_link = ["arp 10.1.", "icmpv6 133 ", "icmpv6 135 ", "icmpv6 136 ", "icmpv6 143 "];
            let of_tunnel = ["udp 10.1.1.1:4433", "udp 10.1.2.1:4433"];
            of_test
                || of_link.iter().any(|kind| packet.starts_with(kind))
                || of_tunnel.contains(&packet.as_str())
        };
        self.seen().into_iter().filter(|packet| !allowed(packet)).collect()
    }
}

/// Kind and destination of a packet after its EtherType.
fn describe(frame: &[u8]) -> String {
    let packet = &frame[2..];
    let v4 = |at: usize| packet[at..at + 4].iter().map(u8::to_string).collect::<Vec<_>>().join(".");
    let v6 = |at: usize| std::net::Ipv6Addr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap());
    let upper = |protocol: u8, header: usize, to: String, colon: bool| {
        let to = if colon { format!("[{to}]") } else { to };
        match protocol {
            17 if packet[header + 8..].starts_with(MARKER) => {
                format!("{} {to}", String::from_utf8_lossy(&packet[header + 8..]))
            }
            6 | 17 => {
                let port = u16::from_be_bytes([packet[header + 2], packet[header + 3]]);
                format!("{} {to}:{port}", if protocol == 6 { "tcp" } else { "udp" })
            }
            58 => format!("icmpv6 {} {to}", packet[header]),
            other => format!("protocol {other} {to}"),
        }
    };
    match (u16::from_be_bytes([frame[0], frame[1]]), packet.len()) {
        (0x0806, 28..) => format!("arp {}", v4(24)),
        (0x0800, 24..) => upper(packet[9], usize::from(packet[0] & 15) * 4, v4(16), false),
        // MLD has a hop-by-hop header of 8 bytes in front
        (0x86dd, 52..) if packet[6] == 0 => upper(packet[40], 48, v6(24).to_string(), true),
        (0x86dd, 44..) => upper(packet[6], 40, v6(24).to_string(), true),
        (kind, _) => format!("ethertype {kind:04x}"),
    }
}
