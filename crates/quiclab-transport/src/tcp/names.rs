//! Names of values as they are written in scenarios.

use quiclab_core::scenario::{
    CongestionControl, Controller, Pacing, RateReduction, SlowStartExit, TcpLossDetection,
};

/// A value that scenarios name.
pub(super) trait Named {
    fn name(&self) -> &'static str;
}

/// The name of `value`; of a pacing, its kind.
pub(super) fn name(value: &impl Named) -> &'static str {
    value.name()
}

macro_rules! names {
    ($($type:ident { $($variant:pat => $name:literal),+ $(,)? })+) => {$(
        impl Named for $type {
            fn name(&self) -> &'static str {
                match self { $($variant => $name),+ }
            }
        }
    )+};
}

names! {
    CongestionControl {
        Self::Newreno => "newreno",
        Self::Cubic => "cubic",
        Self::BbrLinux => "bbr-linux",
        Self::BbrChromium => "bbr-chromium",
        Self::BbrPicoquic => "bbr-picoquic",
        Self::Fixed => "fixed",
        Self::Lia => "lia",
        Self::Olia => "olia",
        Self::Balia => "balia",
    }
    SlowStartExit {
        Self::None => "none",
        Self::HystartLinux => "hystart-linux",
        Self::HystartChromium => "hystart-chromium",
        Self::HystartPlusPlus => "hystart-plus-plus",
        Self::Aioquic => "aioquic",
    }
    Pacing {
        Self::None => "none",
        Self::LeakyBucket { .. } => "leaky_bucket",
        Self::Even { .. } => "even",
        Self::Quantum { .. } => "quantum",
        Self::TimeBucket { .. } => "time_bucket",
        Self::Linux { .. } => "linux",
        Self::Fq { .. } => "fq",
    }
    TcpLossDetection {
        Self::DuplicateAcks => "duplicate_acks",
        Self::DuplicateAcksAndRack => "duplicate_acks_and_rack",
        Self::Rack => "rack",
    }
    RateReduction { Self::None => "none", Self::Prr => "prr", Self::PrrSafeAck => "prr_safe_ack" }
    Controller { Self::Stack => "stack", Self::Quiclab => "quiclab" }
}
