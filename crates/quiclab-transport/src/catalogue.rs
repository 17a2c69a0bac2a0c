//! The stacks of this crate with their profiles, for `quiclab stack list` and `stack show`.

use crate::profile::OptionRow;
use crate::{LAB_QUIC, LAB_TCP, LAB_UDP, quic, tcp};
use quiclab_core::{OPERATIONS, OptionInfo, ProfileInfo, StackInfo, StackProtocol};
use std::sync::LazyLock;

/// All stacks.
#[must_use]
pub fn stacks() -> &'static [StackInfo] {
    static STACKS: LazyLock<[StackInfo; 3]> = LazyLock::new(|| {
        [
            StackInfo {
                name: LAB_QUIC,
                version: env!("CARGO_PKG_VERSION"),
                description: "QUIC as published stacks speak it, a model of exact sizes on the wire; every part can be exchanged",
                protocol: StackProtocol::Quic,
                workloads: &["download", "request_response", "page", "datagrams", "ping"],
                options: options(quic::rows(quic::DEFAULT_PROFILE)),
                profiles: profiles(quic::profiles(), quic::rows, |name| {
                    quic::description(name).expect("it is one of the list")
                }),
                operations: &OPERATIONS,
                multipath: true,
            },
            StackInfo {
                name: LAB_TCP,
                version: env!("CARGO_PKG_VERSION"),
                description: "TCP as Linux speaks it, a model of exact sizes on the wire; every part can be exchanged",
                protocol: StackProtocol::Tcp,
                workloads: &["download", "request_response", "page"],
                options: options(tcp::rows(tcp::DEFAULT_PROFILE)),
                profiles: profiles(tcp::profiles(), tcp::rows, kernel),
                operations: &[],
                multipath: false,
            },
            StackInfo {
                name: LAB_UDP,
                version: env!("CARGO_PKG_VERSION"),
                description: "Datagrams without any control: constant rate, on and off, ping; media over RTP with SCReAM",
                protocol: StackProtocol::Udp,
                workloads: &["datagrams", "ping", "media"],
                options: &[],
                profiles: &[],
                operations: &[],
                multipath: false,
            },
        ]
    });
    &*STACKS
}

fn profiles(
    names: impl Iterator<Item = &'static str>,
    rows: fn(&str) -> Option<Vec<OptionRow>>,
    description: fn(&str) -> &'static str,
) -> &'static [ProfileInfo] {
    let profile = |name| ProfileInfo { name, description: description(name), options: options(rows(name)) };
    Vec::leak(names.map(profile).collect())
}

/// The values of a profile. They are made once and live as long as the process.
fn options(rows: Option<Vec<OptionRow>>) -> &'static [OptionInfo] {
    let rows = rows.expect("the profile is one of the list");
    let option = |row: OptionRow| OptionInfo {
        option: row.field,
        meaning: row.meaning,
        default: String::leak(row.value),
        source: row.source,
    };
    Vec::leak(rows.into_iter().map(option).collect())
}

fn kernel(profile: &str) -> &'static str {
    let release = profile.trim_start_matches("linux-");
    String::leak(format!("TCP of Linux {release} with the defaults of its kernel"))
}
