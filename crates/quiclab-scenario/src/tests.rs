//! Tests of loading, validation, wiring and printing of scenarios.

mod bad_input;
mod examples;
mod networks;
mod plugins;
mod random;
mod repeat;
mod schema;
mod tunnels;
mod wires;

use super::{NetworkText, Scenario};
use quiclab_config::{ConfigError, Document};
use quiclab_core::{MarkFeedback, OPERATIONS, Problem, StackAbilities, StackProtocol};
use quiclab_transport::EndOf;
use quiclab_transport::options::{CongestionControl, EndpointConfig, SlowStartExit, Workload};
use std::path::PathBuf;

/// The scenarios of the repository by file name.
fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Supports `quinn`, `noq`, `lab-quic`, which has several paths, as `noq` has with `multipath`, `lab-tcp` and
/// `lab-udp`; profiles of `lab-tcp` and `lab-quic` only, computations of `noq` only.
fn some_stacks(end: &EndpointConfig, _: EndOf) -> Result<StackAbilities, Problem> {
    let stack = end.stack.as_deref().unwrap_or_default();
    let (protocol, workloads): (_, &[_]) = match stack {
        "quinn" | "noq" => (StackProtocol::Quic, &["download", "page", "live"]),
        "lab-quic" => (StackProtocol::Quic, Workload::ON_STREAMS),
        "lab-tcp" => (StackProtocol::Tcp, Workload::ON_BYTES),
        "lab-udp" => (StackProtocol::Udp, &["datagrams", "ping", "media"]),
        _ => return Err(Problem::unknown("stack", stack, ["quinn", "noq", "lab-tcp", "lab-udp"])),
    };
    if let (Some(threshold), "lab-tcp") = (end.packet_threshold, stack) {
        return Err(Problem::unsupported("packet_threshold", "lab-tcp", "").got(threshold));
    }
    let operations = if stack == "noq" { &OPERATIONS[..] } else { &[] };
    let own = stack == "lab-quic";
    let abilities = StackAbilities {
        protocol,
        workloads: workloads.into(),
        operations,
        multipath: own || stack == "noq" && end.multipath.is_some(),
        proprietary: own,
        mark_feedback: MarkFeedback::None,
        needs_mark_feedback: MarkFeedback::None,
        states: if protocol == StackProtocol::Udp {
            (&[]).into()
        } else {
            let control = end.congestion_control.unwrap_or(CongestionControl::Cubic);
            control.states(SlowStartExit::None).into()
        },
    };
    match &end.profile {
        None => Ok(abilities),
        Some(profile) if stack == "lab-tcp" && profile.starts_with("linux-") => Ok(abilities),
        Some(_) if stack == "lab-quic" => Ok(abilities),
        Some(profile) => Err(Problem::no_profiles(stack, profile)),
    }
}

/// The named path of the repository, or the network of the tests, `test.toml`.
fn named_path(name: &str) -> Result<NetworkText, Problem> {
    let file = format!("{name}.toml");
    if name == "test.toml" {
        return Ok(NetworkText { text: networks::NETWORK.to_owned(), file: name.to_owned() });
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/quiclab/scenario");
    match std::fs::read_to_string(folder.join(&file)) {
        Ok(text) => Ok(NetworkText { text, file }),
        Err(_) => Err(Problem::unknown("network", name, ["paths/wifi-bad"])),
    }
}

fn load(text: &str, sets: &[(&str, &str)]) -> Result<Scenario, ConfigError> {
    let sets: Vec<_> = sets.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    let document = Document::from_toml(text, "s.toml", &[])?;
    Scenario::load(&Scenario::expanded(document, &sets, &named_path)?, &some_stacks)
}
