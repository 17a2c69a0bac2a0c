//! The stacks of this crate with their profiles, for `quiclab stack list` and `stack show`.

use crate::{LAB_TCP, LAB_UDP, tcp};
use quiclab_core::{OptionInfo, ProfileInfo, StackInfo, StackProtocol};
use std::sync::LazyLock;

/// All stacks.
#[must_use]
pub fn stacks() -> &'static [StackInfo] {
    static STACKS: LazyLock<[StackInfo; 2]> = LazyLock::new(|| {
        [
            StackInfo {
                name: LAB_TCP,
                version: env!("CARGO_PKG_VERSION"),
                description: "TCP as Linux speaks it, a model of exact sizes on the wire; every part can be exchanged",
                protocol: StackProtocol::Tcp,
                workloads: &["download", "request_response"],
                options: options(tcp::DEFAULT_PROFILE),
                profiles: profiles(),
                operations: &[],
            },
            StackInfo {
                name: LAB_UDP,
                version: env!("CARGO_PKG_VERSION"),
                description: "Datagrams without any control: constant rate, on and off, ping",
                protocol: StackProtocol::Udp,
                workloads: &["datagrams", "ping"],
                options: &[],
                profiles: &[],
                operations: &[],
            },
        ]
    });
    &*STACKS
}

fn profiles() -> &'static [ProfileInfo] {
    let profile = |name| ProfileInfo { name, description: description(name), options: options(name) };
    Vec::leak(tcp::profiles().map(profile).collect())
}

/// The values of a profile. They are made once and live as long as the process.
fn options(profile: &str) -> &'static [OptionInfo] {
    let rows = tcp::rows(profile).expect("the profile is one of the list");
    let option = |row: tcp::OptionRow| OptionInfo {
        option: row.field,
        meaning: row.meaning,
        default: String::leak(row.value),
        source: row.source,
    };
    Vec::leak(rows.into_iter().map(option).collect())
}

fn description(profile: &str) -> &'static str {
    let release = profile.trim_start_matches("linux-");
    String::leak(format!("TCP of Linux {release} with the defaults of its kernel"))
}
