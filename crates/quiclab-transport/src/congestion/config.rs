//! Names of congestion controls and of exits from slow start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// NewReno (RFC 9002 section 7, RFC 6582); Linux calls it reno.
    Newreno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// BBR version 1 as in Linux 5.15 and later.
    BbrLinux,
    /// BBR version 1 as in Chromium's QUIC.
    BbrChromium,
    /// BBR version 1 as in picoquic.
    BbrPicoquic,
    /// A window that stays what `initial_window` says.
    Fixed,
    /// Coupled over several paths: linked increases (RFC 6356).
    Lia,
    /// Coupled over several paths: opportunistic linked increases.
    Olia,
    /// Coupled over several paths: balanced linked adaptation.
    Balia,
}

impl CongestionControl {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Newreno,
        Self::Cubic,
        Self::BbrLinux,
        Self::BbrChromium,
        Self::BbrPicoquic,
        Self::Fixed,
        Self::Lia,
        Self::Olia,
        Self::Balia,
    ];

    /// Name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
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
    }

    /// Whether it changes its window by AIMD: it can stand for several connections, and has a slow start to leave.
    #[must_use]
    pub const fn is_window_based(self) -> bool {
        matches!(self, Self::Newreno | Self::Cubic)
    }

    /// Whether it is coupled over the paths of a connection or session.
    #[must_use]
    pub const fn is_coupled(self) -> bool {
        matches!(self, Self::Lia | Self::Olia | Self::Balia)
    }

    /// Whether it is one of the variants of BBR, which control a rate.
    #[must_use]
    pub const fn is_bbr(self) -> bool {
        matches!(self, Self::BbrLinux | Self::BbrChromium | Self::BbrPicoquic)
    }
}

/// What ends slow start before a loss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartExit {
    /// Nothing.
    None,
    /// HyStart as in Linux: ACK train and delay.
    HystartLinux,
    /// HyStart as in Chromium: delay only, from a window of 16 packets on.
    HystartChromium,
    /// HyStart++ (RFC 9406).
    HystartPlusPlus,
    /// aioquic's: five RTT samples a quarter above the smallest.
    Aioquic,
}

impl SlowStartExit {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::None, Self::HystartLinux, Self::HystartChromium, Self::HystartPlusPlus, Self::Aioquic];

    /// Name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::HystartLinux => "hystart-linux",
            Self::HystartChromium => "hystart-chromium",
            Self::HystartPlusPlus => "hystart-plus-plus",
            Self::Aioquic => "aioquic",
        }
    }
}
