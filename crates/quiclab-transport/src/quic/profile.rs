//! Profiles: the values of published QUIC stacks, each with its source. One file for each stack.
//!
//! `options/quic.rs` and `config.rs` define values with their defaults; a profile has those that were read in
//! a stack, or assumed, with the source of each. The configuration of a profile and the rows of its
//! documentation both come from these. A release that differs in a few values names its base profile.
//!
//! A source names file, function or constant and version. "Assumed" means that a value could not be read, and
//! gives the reason for it. Three things are equal in all profiles, for a comparison of stacks and not of
//! set-ups: the certificate chain (3000 B: a leaf and an intermediate with ECDSA keys and their signatures;
//! the test certificates of the stacks have 300 B to 1500 B), no resumption, and TLS 1.3.
//!
//! Not modelled, of all stacks: path MTU discovery (`datagram_size` is its result), Retry, spurious-loss
//! undo, skipped packet numbers, and GREASE. The module of each stack lists further omissions.

mod aioquic;
mod chromium;
mod ngtcp2;
mod picoquic;
mod quic_go;
mod quinn;
mod rfc9002;

use super::config::{AckOfAckPolicy, Config, Fixed, InitialWindow, TimeoutLosses, WindowCheck, bytes, kib};
use crate::congestion::Flavour;
use crate::options::{
    Acknowledgement, CongestionControl, FlowControl, Pacing, QuicValues, QuicVersion, RttVariation,
    SlowStartExit, StreamScheduler,
};
use crate::profile::{OptionRow, UNLIMITED, Value, table, value};
use quiclab_core::Duration;

/// Profile of an endpoint that names none: plain RFC values, since an endpoint that represents no stack in
/// particular should behave as in the RFCs, and not change when stacks do.
pub const DEFAULT_PROFILE: &str = "rfc9002";

/// All profiles; the default first, then by stack, the oldest release first.
const PROFILES: [&Profile; 12] = [
    &rfc9002::RFC9002,
    &aioquic::AIOQUIC_0_8_8,
    &aioquic::AIOQUIC,
    &aioquic::AIOQUIC_1_7_2,
    &chromium::GQUIC37,
    &chromium::QUIC1,
    &ngtcp2::NGTCP2_2020,
    &ngtcp2::NGTCP2_2022,
    &picoquic::PICOQUIC,
    &picoquic::PQUIC,
    &quic_go::QUIC_GO,
    &quinn::QUINN,
];

/// Published stack.
struct Profile {
    name: &'static str,
    /// Stack that it represents, in a sentence.
    description: &'static str,
    /// Profile with the values that [`Profile::values`] does not have.
    base: Option<&'static Profile>,
    values: &'static [Value<Config>],
}

impl Profile {
    /// Value that it lists itself, or that its base lists.
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

/// Declares a profile: `profile! { /// Meaning. NAME: "name", "description"; field = value, "source"; ... }`,
/// with `, base OTHER` after the description if it differs from another profile in a few values.
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

/// Description of the profile `name`; `None` if there is no such profile.
#[must_use]
pub fn description(name: &str) -> Option<&'static str> {
    by_name(name).map(|profile| profile.description)
}

/// Values of the profile `name`; `None` if there is no such profile.
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

/// Configuration of the profile `name`; `None` if there is no such profile.
pub(super) fn find(name: &str) -> Option<Config> {
    by_name(name).map(Profile::config)
}

fn by_name(name: &str) -> Option<&'static Profile> {
    PROFILES.into_iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests;
