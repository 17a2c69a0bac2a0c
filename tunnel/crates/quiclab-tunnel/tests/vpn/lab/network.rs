//! Network of the hosts: devices, addresses, routes, cuts, sysctls.

use super::{Lab, succeed};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread::JoinHandle;

impl Lab {
    /// Adds the network of a host. Its TCP uses Reno, not the default of the machine: BBR of Linux leaves the
    /// tunnel's queue empty, and after an outage some of its flows leave one hole unsent for ten seconds and
    /// longer, although all data beyond it were acknowledged. Namespaces permit Reno everywhere.
    pub fn add_namespace(&self, host: char) {
        succeed("ip", &["netns", "add", &self.host(host)]);
        self.ip(host, "link set lo up");
        self.set_sysctl(host, "net/ipv4/tcp_congestion_control", "reno");
    }

    /// Puts two routers between the hosts of uplink 1, so that its MTU can be limited where neither end sees it:
    /// [`Lab::limit`]. Without `icmp` they drop packets silently.
    pub fn route(&mut self, icmp: bool) {
        self.ip('c', "link del c1");
        for host in ['m', 'n'] {
            self.add_namespace(host);
        }
        for [near, far] in
            [[('c', "c1"), ('m', "mc")], [('m', "mn"), ('n', "nm")], [('n', "ns"), ('s', "s1")]]
        {
            let (a, b) = (self.host(near.0), self.host(far.0));
            let pair = format!("link add {} netns {a} type veth peer name {} netns {b}", near.1, far.1);
            succeed("ip", &pair.split(' ').collect::<Vec<_>>());
        }
        for (host, device, network, number, other, gateway) in [
            ('c', "c1", 1, 2, 3, 1),
            ('m', "mc", 1, 1, 0, 0),
            ('m', "mn", 2, 1, 3, 2),
            ('n', "nm", 2, 2, 1, 1),
            ('n', "ns", 3, 2, 0, 0),
            ('s', "s1", 3, 1, 1, 2),
        ] {
            self.ip(host, &format!("addr add 10.4.{network}.{number}/24 dev {device}"));
            self.ip(host, &format!("addr add fd04:{network}::{number}/64 dev {device} nodad"));
            self.ip(host, &format!("link set {device} up"));
            if gateway > 0 {
                self.ip(host, &format!("route add 10.4.{other}.0/24 via 10.4.{network}.{gateway}"));
                self.ip(host, &format!("route add fd04:{other}::/64 via fd04:{network}::{gateway}"));
            }
        }
        for host in ['m', 'n'] {
            let forwarding = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
            for setting in forwarding {
                succeed("ip", &["netns", "exec", &self.host(host), "sysctl", "-q", "-w", setting]);
            }
            for family in ["-4", "-6"].into_iter().filter(|_| !icmp) {
                // packets that are not from another host
                self.ip(host, &format!("{family} rule add iif lo blackhole"));
            }
        }
        self.edit("client.toml", "10.1.1.1:4433", "10.4.3.1:4433");
    }

    /// Limits the packets that the routers forward to this length, in both directions.
    pub fn limit(&self, mtu: u16) {
        self.ip('m', &format!("link set mn mtu {mtu}"));
        self.ip('n', &format!("link set nm mtu {mtu}"));
    }

    pub fn ip(&self, host: char, arguments: &str) -> String {
        let host = self.host(host);
        succeed("ip", &[&["-n", &host][..], &arguments.split(' ').collect::<Vec<_>>()].concat())
    }

    /// Adds a third host, with a device `eth0` of its own to `to`, in the network 10.`network`.0.0/24 and
    /// fd`network`::/64 (two digits): it is .2, the other end .1.
    pub fn add_host(&self, host: char, to: char, device: &str, network: u8) {
        let (near, far) = (self.host(to), self.host(host));
        self.add_namespace(host);
        let pair = format!("link add {device} netns {near} type veth peer name eth0 netns {far}");
        succeed("ip", &pair.split(' ').collect::<Vec<_>>());
        for (host, device, number) in [(to, device, 1), (host, "eth0", 2)] {
            self.ip(host, &format!("addr add 10.{network}.0.{number}/24 dev {device}"));
            self.ip(host, &format!("addr add fd{network:02}::{number}/64 dev {device} nodad"));
            self.ip(host, &format!("link set {device} up"));
        }
    }

    /// Blocks an uplink silently in both directions, or unblocks it.
    pub fn cut(&self, uplink: u32, cut: bool) {
        let action = if cut { "add" } else { "del" };
        for host in ['c', 's'] {
            let name = self.host(host);
            let device = format!("{host}{uplink}");
            let mut arguments = vec!["netns", "exec", &name, "tc", "qdisc", action, "dev", &device, "root"];
            if cut {
                // a token bucket that is smaller than any packet
                arguments.extend(["tbf", "rate", "8kbit", "burst", "10", "limit", "1"]);
            }
            succeed("ip", &arguments);
        }
    }

    /// Value of a sysctl of a host, by its name below /proc/sys.
    pub fn sysctl(&self, host: char, name: &str) -> String {
        let file = Path::new("/proc/sys").join(name);
        let read = move || std::fs::read_to_string(file).unwrap().trim().to_owned();
        self.within(host, read).join().unwrap()
    }

    pub fn set_sysctl(&self, host: char, name: &str, value: &'static str) {
        let file = Path::new("/proc/sys").join(name);
        self.within(host, move || std::fs::write(file, value).unwrap()).join().unwrap();
    }

    /// Runs a task in the network of a host.
    pub fn within<T: Send + 'static>(
        &self,
        host: char,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let file = File::open(format!("/run/netns/{}", self.host(host))).unwrap();
        std::thread::spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            task()
        })
    }
}
