//! Transports whose parts can be exchanged: congestion control, loss recovery, pacing and
//! acknowledgement policies, and TCP made of them. Pure: everything takes `now`.
//!
//! ```text
//! quic           lab-quic: profiles of QUIC stacks, options, the parts of a connection
//! tcp            lab-tcp: connection, sender, receiver, TLS flights, profiles
//! datagram       lab-udp: constant-rate and on-off datagrams, ping
//! media          video over RTP, its rate controlled by SCReAM
//! workload       what an application does with a byte stream, or with the streams of QUIC
//! http           a web page: browser and server, HTTP/2 and HTTP/3
//! congestion     windows and rates: NewReno, CUBIC, BBR, fixed; what ends slow start
//! recovery       RTT, RACK-TLP, QUIC's thresholds and PTO, PRR, delivery rate
//! pacing         when the next packet may leave
//! acknowledgement  when a receiver acknowledges
//! operations     computations that a plugin can exchange
//! ```

pub mod acknowledgement;
mod catalogue;
pub mod congestion;
mod datagram;
mod error;
mod http;
mod media;
mod names;
pub mod operations;
pub mod options;
pub mod pacing;
mod profile;
pub mod quic;
mod range_set;
pub mod recovery;
pub mod tcp;
mod tls_messages;
mod workload;

pub use catalogue::stacks;
pub use error::Error;

use operations::Operations;
pub use profile::OptionRow;

use crate::options::{EndpointConfig, Workload};
use quiclab_core::{Endpoint, EndpointIdentity, StackInfo, Time, TransportObserver};

/// TCP, its parts exchangeable.
pub const LAB_TCP: &str = "lab-tcp";
/// QUIC, its parts exchangeable.
pub const LAB_QUIC: &str = "lab-quic";
/// UDP without any control.
pub const LAB_UDP: &str = "lab-udp";

enum Stack {
    Quic,
    Tcp,
    Udp,
}

fn find(config: &EndpointConfig) -> Result<Stack, Error> {
    match config.stack.as_deref() {
        Some(LAB_QUIC) => Ok(Stack::Quic),
        Some(LAB_TCP) => Ok(Stack::Tcp),
        Some(LAB_UDP) => Ok(Stack::Udp),
        name => Err(Error::UnknownStack {
            name: name.unwrap_or_default().to_owned(),
            allowed: format!("`{LAB_QUIC}`, `{LAB_TCP}`, `{LAB_UDP}`"),
        }),
    }
}

/// Checks a configuration without building an endpoint.
///
/// # Errors
/// If the stack is unknown or does not take a value; the message says what is allowed.
pub fn validate(config: &EndpointConfig) -> Result<(), Error> {
    match find(config)? {
        Stack::Quic => quic::validate(config),
        Stack::Tcp => tcp::validate(config),
        Stack::Udp => datagram::validate(config),
    }
}

/// Whether a connection of an endpoint can use several paths: QUIC of version 1 can.
///
/// # Errors
/// As [`validate`].
pub fn has_multipath(config: &EndpointConfig) -> Result<bool, Error> {
    match find(config)? {
        Stack::Quic => quic::has_multipath(config),
        Stack::Tcp | Stack::Udp => Ok(false),
    }
}

/// Builds one end of a flow on the stack that `config` names.
///
/// A client connects at `start`. All random numbers come from the stream named after the endpoint in
/// the run with `seed`. An observer changes nothing. `operations` are what plugins exchange.
///
/// # Errors
/// If the configuration, the workload or an exchanged operation cannot be run; the message says what is allowed.
pub fn build(
    identity: EndpointIdentity,
    config: &EndpointConfig,
    workload: &Workload,
    start: Time,
    seed: u64,
    observer: Option<Box<dyn TransportObserver>>,
    operations: Operations,
) -> Result<Box<dyn Endpoint>, Error> {
    let stack = find(config)?;
    let named = |info: &&StackInfo| Some(info.name) == config.stack.as_deref();
    operations.check(stacks().iter().find(named).expect("every stack is in the catalogue"))?;
    match stack {
        Stack::Quic => quic::build(&identity, config, workload, start, seed, observer, operations),
        Stack::Tcp => tcp::build(&identity, config, workload, start, seed, observer),
        Stack::Udp => datagram::build(&identity, config, workload, start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_another_crate_is_refused_with_the_names_of_these() {
        let config = EndpointConfig { stack: Some("quinn".to_owned()), ..EndpointConfig::default() };
        assert_eq!(
            validate(&config).unwrap_err().to_string(),
            "stack: `quinn` is not a known stack; allowed is `lab-quic`, `lab-tcp`, `lab-udp`"
        );
        assert!(validate(&EndpointConfig::default()).unwrap_err().to_string().starts_with("stack: ``"));
    }
}
