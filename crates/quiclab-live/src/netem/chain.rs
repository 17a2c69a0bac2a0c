//! The devices of a link in the kernel: TUN, namespaces that route, Ethernet pairs between them, TUN.
//!
//!     this process -> TUN `enter` [namespace 0: `hop`] -> [namespace 1: `leave` with the last stage] -> this process
//!
//! Each namespace forwards all incoming packets to its only output, which has the stage's queueing
//! disciplines. Neighbour entries are static, so that no packet waits for ARP; offloads are off, so that no
//! packets are merged.

use super::ethtool;
use super::plan::{ETHERNET_BYTES, Plan, Qdisc};
use super::rtnetlink;
use super::{cake, dualpi2, red};
use crate::command::succeed;
use crate::namespace::Namespace;
use quiclab_core::queue::DeviceMtu;
use std::io;
use std::path::Path;
use tun_rs::{DeviceBuilder, SyncDevice};

/// MTU of the stages: the largest packet of a host with all headers.
const MTU: u16 = 9000;
/// Disciplines that `tc` does not support, or not with all their values.
const BY_RTNETLINK: [rtnetlink::Discipline; 3] = [cake::DISCIPLINE, dualpi2::DISCIPLINE, red::DISCIPLINE];
/// Number of packets that the output buffers until they are read: none may be lost there.
const READ_QUEUE_PACKETS: u32 = 30_000;
const ENTER: &str = "enter";
const HOP: &str = "hop";
const LEAVE: &str = "leave";
/// Handle of the discipline with the filters, which counts their drops.
const POLICED: &str = "ffff:";

/// The stages of a link. They disappear with their namespaces.
pub struct Chain {
    namespaces: Vec<Namespace>,
    /// Device at which markers enter.
    pub enter: SyncDevice,
    /// Device at which they leave.
    pub leave: SyncDevice,
}

impl Chain {
    /// Sets up the stages.
    ///
    /// # Errors
    /// If the kernel refuses a step.
    pub fn new(plan: &Plan) -> io::Result<Self> {
        let namespaces = (0..plan.hops.len()).map(|_| Namespace::new()).collect::<io::Result<Vec<_>>>()?;
        for namespace in &namespaces {
            namespace.within(forwarding)?;
        }
        let last = namespaces.len() - 1;
        let mtu = plan.mtu;
        let enter = namespaces[0].within(|| tun(ENTER))?;
        let mut policer = plan.policer.clone();
        for (pair, qdiscs) in namespaces.windows(2).zip(&plan.hops) {
            let policer = policer.take();
            let next = pair[1].within(|| rustix::thread::gettid().as_raw_nonzero());
            let qdiscs = qdiscs.clone();
            pair[0].within(move || {
                let next = next.to_string();
                let pair = "link add hop address 02:00:00:00:00:01 mtu 9000 type veth peer name from_hop \
                            address 02:00:00:00:00:02 mtu 9000 netns";
                ip(&[&pair.split_whitespace().collect::<Vec<_>>()[..], &[&next]].concat())?;
                ethtool::offloads_off(HOP)?;
                disciplines(HOP, &qdiscs, mtu, ETHERNET_BYTES.unsigned_abs())?;
                policed(HOP, policer.as_deref())?;
                ip(&["link", "set", HOP, "up"])?;
                ip(&["address", "add", "169.254.0.1/30", "dev", HOP])?;
                let neighbour =
                    "neighbour replace 169.254.0.2 lladdr 02:00:00:00:00:02 dev hop nud permanent";
                ip(&neighbour.split_whitespace().collect::<Vec<_>>())?;
                ip(&["route", "replace", "default", "via", "169.254.0.2", "dev", HOP])
            })?;
            pair[1].within(|| {
                ethtool::offloads_off("from_hop")?;
                ip(&["link", "set", "from_hop", "up"])
            })?;
        }
        let qdiscs = plan.hops[last].clone();
        let leave = namespaces[last].within(move || {
            let leave = tun(LEAVE)?;
            disciplines(LEAVE, &qdiscs, mtu, 0)?;
            policed(LEAVE, policer.as_deref())?;
            ip(&["route", "replace", "default", "dev", LEAVE])?;
            io::Result::Ok(leave)
        })?;
        Ok(Self { namespaces, enter, leave })
    }

    /// Numbers of packets that the stages have dropped, and that are in them, from `tc -s qdisc`.
    ///
    /// # Errors
    /// If `tc` fails.
    pub fn counts(&self) -> io::Result<Counts> {
        let mut counts = Counts::default();
        for namespace in &self.namespaces {
            // a child that `tc` does not know would appear in the JSON as a note
            for handle in ["1:", POLICED] {
                let text =
                    namespace.within(|| succeed("tc", &["-s", "-j", "qdisc", "show", "handle", handle]))?;
                counts.add(&text)?;
            }
        }
        Ok(counts)
    }
}

/// Counters of the disciplines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets dropped at random or by a full queue.
    pub dropped: u64,
    /// Of these, acknowledgements that a filter dropped.
    pub filtered_acks: u64,
    /// Packets waiting in the disciplines.
    pub held: u64,
}

impl Counts {
    /// Adds the root disciplines of a listing, and the drops of filters: a parent counts the drops of its
    /// child.
    fn add(&mut self, json: &str) -> io::Result<()> {
        let listed: Vec<serde_json::Value> = serde_json::from_str(json)?;
        for qdisc in listed.iter().filter(|qdisc| qdisc["root"] == true || qdisc["kind"] == "clsact") {
            self.dropped += qdisc["drops"].as_u64().unwrap_or(0);
            self.held += qdisc["qlen"].as_u64().unwrap_or(0);
            let classes = qdisc["tins"].as_array().into_iter().flatten();
            self.filtered_acks += classes.filter_map(|class| class["ack_drops"].as_u64()).sum::<u64>();
        }
        Ok(())
    }
}

/// Whether the kernel has netem: tries to create one.
///
/// # Errors
/// If `tc` is not available, or there are no namespaces.
pub fn has_netem() -> io::Result<bool> {
    let probe = Namespace::new()?;
    let added = probe.within(|| succeed("tc", &["qdisc", "add", "dev", "lo", "root", "netem", "limit", "1"]));
    match added {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => Ok(false),
    }
}

/// Makes the namespace of the calling thread a router without reverse-path filter and redirects.
fn forwarding() -> io::Result<()> {
    let set = |name: &str, value: &str| {
        std::fs::write(Path::new("/proc/sys/net").join(name), value)
            .map_err(|error| io::Error::new(error.kind(), format!("sysctl net/{name} = {value}: {error}")))
    };
    for scope in ["all", "default"] {
        set(&format!("ipv4/conf/{scope}/rp_filter"), "0")?;
        set(&format!("ipv4/conf/{scope}/send_redirects"), "0")?;
        // a kernel may be without IPv6
        let _ = set(&format!("ipv6/conf/{scope}/disable_ipv6"), "1");
    }
    set("ipv4/ip_forward", "1")
}

fn tun(name: &str) -> io::Result<SyncDevice> {
    let tun = DeviceBuilder::new()
        .name(name)
        .mtu(MTU)
        .build_sync()
        .map_err(|error| io::Error::new(error.kind(), format!("TUN device `{name}`: {error}")))?;
    tun.set_nonblocking(true)?;
    ip(&["link", "set", name, "txqueuelen", &READ_QUEUE_PACKETS.to_string(), "up"])?;
    Ok(tun)
}

fn ip(arguments: &[&str]) -> io::Result<()> {
    succeed("ip", arguments).map(drop)
}

/// Puts a policer in front of the disciplines of a device.
fn policed(device: &str, policer: Option<&[String]>) -> io::Result<()> {
    let Some(policer) = policer else { return Ok(()) };
    succeed("tc", &["qdisc", "add", "dev", device, "clsact"])?;
    let filter = ["filter", "add", "dev", device].into_iter().chain(policer.iter().map(String::as_str));
    succeed("tc", &filter.collect::<Vec<_>>()).map(drop)
}

/// Adds queueing disciplines to a device, whose MTU excludes a header of `header_bytes`.
fn disciplines(device: &str, qdiscs: &[Qdisc], mtu: DeviceMtu, header_bytes: u64) -> io::Result<()> {
    let set_mtu = |mtu: u64| ip(&["link", "set", device, "mtu", &mtu.to_string()]);
    if let DeviceMtu::AtCreation(mtu) | DeviceMtu::Always(mtu) = mtu {
        set_mtu(mtu.bytes().saturating_sub(header_bytes))?;
    }
    for qdisc in qdiscs {
        let (parent, rest) = match &qdisc[..] {
            [is_child, parent, rest @ ..] if is_child == "parent" => (Some(parent.as_str()), rest),
            qdisc => (None, qdisc.get(1..).unwrap_or_default()),
        };
        if let [_, handle, name, options @ ..] = rest
            && let Some(discipline) =
                BY_RTNETLINK.into_iter().find(|discipline| discipline.name == name.as_str())
        {
            rtnetlink::add(&discipline, device, parent, handle, options)?;
            continue;
        }
        let mut arguments = vec!["qdisc", "add", "dev", device];
        arguments.extend(qdisc.iter().map(String::as_str));
        succeed("tc", &arguments)?;
    }
    if matches!(mtu, DeviceMtu::AtCreation(_)) { set_mtu(u64::from(MTU)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_roots_and_filters_are_counted() {
        let text = r#"[{"kind":"netem","handle":"1:","root":true,"drops":7,"qlen":3},
            {"kind":"pfifo","handle":"10:","parent":"1:1","drops":7,"qlen":3},
            {"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","drops":2,"qlen":0},
            {"kind":"cake","handle":"1:","root":true,"drops":5,"qlen":0,"tins":[{"drops":1,"ack_drops":4}]},
            {"kind":"noqueue","handle":"0:","root":true}]"#;
        let mut counts = Counts::default();
        counts.add(text).unwrap();
        assert_eq!(counts, Counts { dropped: 14, filtered_acks: 4, held: 3 });
    }
}
