//! Profiles: the values of published QUIC stacks, each with its source. One file for each stack.
//!
//! [`FIELDS`] and the list of options (`options/quic.rs`) define values; a profile has their amounts and the source of
//! each. The configuration of a profile and the rows of its documentation both come from these. An option of QUIC that a
//! profile does not list has its default. A release that differs in a few values names the profile that it is based on.
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
mod fields;
mod ngtcp2;
mod picoquic;
mod quic_go;
mod quinn;
mod rfc9002;

use super::config::{AckPing, Config, WindowCheck};
use crate::congestion::Flavour;
use crate::options::{QuicValues, Tls, TlsVersion};
use crate::profile::{self, OptionRow};
use crate::tls_messages::NEW_SESSION_TICKET;
use fields::{EMPTY, FIELDS, Field};
use quiclab_core::ByteCount;

/// Profile of an endpoint that names none: plain RFC values, since an endpoint that stands for no stack in
/// particular should behave as the RFCs say, and stay as it is when stacks change.
pub const DEFAULT_PROFILE: &str = "rfc9002";

/// All profiles; the default first, then by stack, the oldest release first.
const PROFILES: [&Profile; 10] = [
    &rfc9002::RFC9002,
    &aioquic::AIOQUIC_0_8_8,
    &aioquic::AIOQUIC,
    &chromium::GQUIC37,
    &chromium::QUIC1,
    &ngtcp2::NGTCP2_2020,
    &ngtcp2::NGTCP2_2022,
    &picoquic::PICOQUIC,
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
    values: &'static [Value],
}

/// What a field is worth in a profile.
struct Value {
    /// The field in [`Config`], as in [`Field::key`].
    key: &'static str,
    set: fn(&mut Config),
    source: &'static str,
}

impl Profile {
    /// The value of `field`, of this profile or of what it is based on.
    fn value(&self, field: &Field) -> &Value {
        let common = || COMMON.iter().find(|value| value.key == field.key);
        let value = self.own(field.key).or_else(common);
        value.unwrap_or_else(|| panic!("profile `{}` has no `{}`", self.name, field.key))
    }

    /// The value of an option of QUIC; `None`: its default.
    fn quic_value(&self, option: &profile::Field<QuicValues>) -> Option<&Value> {
        self.own(&format!("quic.{}", option.name))
    }

    /// The value that it lists itself, or that its base does.
    fn own(&self, key: &str) -> Option<&Value> {
        let own = self.values.iter().find(|value| value.key == key);
        own.or_else(|| self.base?.own(key))
    }

    fn config(&self) -> Config {
        let mut config = EMPTY;
        for field in FIELDS {
            (self.value(field).set)(&mut config);
        }
        for value in QuicValues::FIELDS.iter().filter_map(|option| self.quic_value(option)) {
            (value.set)(&mut config);
        }
        config.initial_window = config.fixed.initial_window.bytes(config.datagram_size);
        config
    }
}

/// `value!(field = value, "source")`, with `fixed.field` for what no option changes.
macro_rules! value {
    (quic.$field:ident = $value:expr, $source:expr) => {
        Value {
            key: concat!("quic.", stringify!($field)),
            set: |config| config.quic.$field = $value,
            source: $source,
        }
    };
    ($($field:ident).+ = $value:expr, $source:expr) => {
        Value {
            key: stringify!($($field).+),
            set: |config| config.$($field).+ = $value,
            source: $source,
        }
    };
}
use value;

/// What holds where a profile says nothing else: what the RFCs say, for a stack whose own way was not read.
const COMMON: &[Value] = &[
    value!(fixed.window_check = WindowCheck::Fits, "RFC 9002 section 7 (assumed)"),
    value!(fixed.tickets = bytes(2 * NEW_SESSION_TICKET), "OpenSSL 3 SSL_CTX_set_num_tickets: two (assumed)"),
    value!(fixed.flavour = Flavour::Quic, "RFC 9438"),
    value!(fixed.forgets_lost = false, "RFC 9002 appendix A.7 does not say (assumed)"),
    value!(fixed.growth_before_losses = false, "RFC 9002 appendix A.7 (assumed)"),
    value!(fixed.streams_when_half_left = false, "as quinn-proto 0.11 (assumed)"),
    value!(fixed.acks_only_when_due = false, "RFC 9000 section 13.2.1: SHOULD bundle (assumed)"),
    value!(
        fixed.ack_ping = AckPing::After(20),
        "RFC 9000 section 13.2.4: periodically (assumed: each twentieth, as quic-go and Chromium)"
    ),
    value!(fixed.stream_length_always = false, "RFC 9000 section 19.8: optional (assumed)"),
    value!(fixed.one_stream_frame = false, "RFC 9000 section 12.4: several (assumed)"),
    value!(fixed.new_connection_ids = 1, "RFC 9000 section 5.1.1: at least one more than in use (assumed)"),
    value!(fixed.kept_packets = 10, "Chromium kDefaultMaxUndecryptablePackets (assumed)"),
    value!(fixed.restarts_handshake = false, "only aioquic is known to do it"),
    value!(fixed.pads_server = true, "RFC 9000 section 14.1"),
    value!(fixed.pads_to_full = false, "RFC 9000 section 14.1: at least 1200 (assumed)"),
];

const fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}

const fn kib(count: u64) -> ByteCount {
    bytes(count * 1024)
}

/// The same in all profiles: see above.
const FRESH: Tls =
    Tls { version: TlsVersion::Tls13, resumption: false, certificate: bytes(3000), early_data: None };
const FRESH_SOURCE: &str = "the same in all profiles: set by quiclab";
/// A property that no stack has one of.
const ONE_PATH: &str = "no multi-path in this stack: set by quiclab";

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
    let row = |field: &Field| OptionRow {
        field: field.option,
        meaning: field.meaning.to_owned(),
        value: (field.print)(&config),
        source: profile.value(field).source,
    };
    let quic_row = |option: &profile::Field<QuicValues>| OptionRow {
        field: Some(String::leak(format!("quic.{}", option.name))),
        meaning: option.phrase(),
        value: (option.print)(&config.quic),
        source: profile.quic_value(option).map_or(option.source, |value| value.source),
    };
    Some(FIELDS.iter().map(row).chain(QuicValues::FIELDS.iter().map(quic_row)).collect())
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
