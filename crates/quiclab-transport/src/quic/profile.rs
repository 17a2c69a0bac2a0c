//! Profiles: the values of published QUIC stacks, each with its source. One file for each stack.
//!
//! `options/quic.rs` and `config.rs` define values with their defaults; a profile has those that were read in a
//! stack, or assumed, with the source of each. The configuration of a profile and the rows of its documentation
//! both come from these. A release that differs in a few values names the profile that it is based on.
//!
//! A source names file, function or constant and version. "Assumed" says that a value could not be read, and
//! why it is what it is. Three things are the same everywhere, for a comparison of stacks and not of set-ups:
//! the certificate chain (3000 B: a leaf and an intermediate with ECDSA keys and their signatures; the test
//! certificates that come with the stacks have 300 B to 1500 B), no resumption, and TLS 1.3.
//!
//! Not modelled, of all stacks: path MTU discovery (`datagram_size` is what it finds), Retry, spurious-loss
//! undo, skipped packet numbers, and GREASE. What else is not, the module of each stack says.

mod aioquic;
mod chromium;
mod ngtcp2;
mod picoquic;
mod quic_go;
mod quinn;
mod rfc9002;

use super::config::{AckOfAckPolicy, Config, Fixed, InitialWindow, WindowCheck, bytes, kib};
use crate::congestion::Flavour;
use crate::options::{
    Acknowledgement, CongestionControl, FlowControl, Pacing, QuicValues, QuicVersion, RttVariation,
    SlowStartExit, StreamScheduler,
};
use crate::profile::{OptionRow, UNLIMITED, Value, table, value};
use quiclab_core::Duration;

/// Profile of an endpoint that names none: plain RFC values, since an endpoint that stands for no stack in
/// particular should behave as the RFCs say, and stay as it is when stacks change.
pub const DEFAULT_PROFILE: &str = "rfc9002";

/// All profiles; the default first, then by stack, the oldest release first.
const PROFILES: [&Profile; 11] = [
    &rfc9002::RFC9002,
    &aioquic::AIOQUIC_0_8_8,
    &aioquic::AIOQUIC,
    &chromium::GQUIC37,
    &chromium::QUIC1,
    &ngtcp2::NGTCP2_2020,
    &ngtcp2::NGTCP2_2022,
    &picoquic::PICOQUIC,
    &picoquic::PQUIC,
    &quic_go::QUIC_GO,
    &quinn::QUINN,
];

/// A published stack.
struct Profile {
    name: &'static str,
    /// What it stands for, in a sentence.
    description: &'static str,
    /// Where the values are that [`Profile::values`] does not have.
    base: Option<&'static Profile>,
    values: &'static [Value<Config>],
}

impl Profile {
    /// The value that it lists itself, or that its base does.
    fn value(&self, key: &str) -> Option<&Value<Config>> {
        let own = self.values.iter().find(|value| value.key == key);
        own.or_else(|| self.base?.value(key))
    }

    fn config(&self) -> Config {
        let mut config = self.base.map_or(Config::DEFAULTS, Self::config);
        for value in self.values {
            (value.set)(&mut config);
        }
        config
    }
}

/// `profile! { /// What. NAME: "name", "description"; field = value, "source"; ... }`, with `, base OTHER` after the
/// description where it differs from another profile in a few values.
macro_rules! profile {
    (
        $(#[$doc:meta])+
        $NAME:ident: $name:literal, $description:literal $(, base $base:ident)?;
        $($field:ident $(.$inner:ident)? = $value:expr, $source:literal;)*
    ) => {
        $(#[$doc])+
        pub(super) const $NAME: Profile = Profile {
            name: $name,
            description: $description,
            base: [$(Some(&$base),)? None][0],
            values: &[$(value!($field $(.$inner)? = $value, $source)),*],
        };
    };
}
use profile;

/// Names of all profiles, the default first.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.name)
}

/// What the profile `name` stands for; `None` if there is no such profile.
#[must_use]
pub fn description(name: &str) -> Option<&'static str> {
    by_name(name).map(|profile| profile.description)
}

/// What the profile `name` sets; `None` if there is no such profile.
#[must_use]
pub fn rows(name: &str) -> Option<Vec<OptionRow>> {
    let profile = by_name(name)?;
    let config = profile.config();
    let source = |key: &str| profile.value(key).map(|value| value.source);
    let rows = table("", Config::FIELDS, &config, source)
        .chain(table("quic.", QuicValues::FIELDS, &config.quic, source))
        .chain(table("fixed.", Fixed::FIELDS, &config.fixed, source));
    Some(rows.collect())
}

/// The configuration of the profile `name`; `None` if there is no such profile.
pub(super) fn find(name: &str) -> Option<Config> {
    by_name(name).map(Profile::config)
}

fn by_name(name: &str) -> Option<&'static Profile> {
    PROFILES.into_iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests;
