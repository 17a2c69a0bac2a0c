//! The ends of slow start before a loss, by their names in scenarios.

use super::hystart_aioquic::RttRise;
use super::hystart_chromium::HystartChromium;
use super::hystart_linux::{AckTrain, HystartLinux};
use super::hystart_picoquic::DelayTest;
use super::hystart_plus_plus::HystartPlusPlus;
use super::slow_start::{NoSlowStartExit, SlowStartPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Algorithm that ends slow start before a loss.
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
    /// picoquic's: seven RTT samples a quarter above the smallest, seven times.
    Picoquic,
}

impl SlowStartExit {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::HystartLinux,
        Self::HystartChromium,
        Self::HystartPlusPlus,
        Self::Aioquic,
        Self::Picoquic,
    ];

    /// Its policy; `paced` says whether the sender paces, which HyStart of Linux and HyStart++ consider.
    pub(super) fn policy(self, paced: bool) -> Box<dyn SlowStartPolicy> {
        match self {
            Self::None => Box::new(NoSlowStartExit),
            Self::HystartLinux => Box::new(HystartLinux::new(AckTrain::Cushioned { paced })),
            Self::HystartChromium => Box::new(HystartChromium::default()),
            Self::Aioquic => Box::new(RttRise::default()),
            Self::Picoquic => Box::new(DelayTest::default()),
            Self::HystartPlusPlus => Box::new(HystartPlusPlus::new(paced)),
        }
    }
}
