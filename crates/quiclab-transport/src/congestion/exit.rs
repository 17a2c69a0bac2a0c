//! Algorithms of the start of a connection, by their names in scenarios.

use super::careful_resume::{CarefulResume, SavedPath};
use super::hystart_aioquic::RttRise;
use super::hystart_chromium::HystartChromium;
use super::hystart_linux::{AckTrain, HystartLinux};
use super::hystart_picoquic::DelayTest;
use super::hystart_plus_plus::HystartPlusPlus;
use super::jump_start::JumpStart;
use super::rapid_start::RapidStart;
use super::search::Search;
use super::slow_start::{NoSlowStartExit, SlowStartPolicy};
use quiclab_core::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the sender for an algorithm of the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Whether the sender paces.
    pub(super) paced: bool,
    /// Initial window in bytes.
    pub(super) initial_window: u64,
    /// RTT of the handshake; `None`: not known.
    pub(super) handshake_rtt: Option<Duration>,
    /// Path of an earlier connection; `None`: there was none.
    pub(super) saved_path: Option<SavedPath>,
    /// Maximum window of a jump in bytes; `None`: no limit, or no jump.
    pub(super) max_jump: Option<u64>,
}

/// Algorithm of the start: what ends slow start before a loss, or takes its place.
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
    /// SEARCH (draft-chung-ccwg-search-09): delivery falls behind what was sent; the window becomes what the path holds. Only
    /// with `newreno` and `cubic`.
    Search,
    /// Rapid Start (draft-kazuho-ccwg-rapid-start-02): threefold growth until a queue builds up; at the first loss the window
    /// converges to what is delivered. Only with `newreno` and `cubic`.
    RapidStart,
    /// Careful Resume (RFC 9959): half the window of an earlier connection, `saved_path`, paced over an RTT and then validated.
    /// Only with `newreno` and `cubic`, and with pacing.
    CarefulResume,
    /// Jump Start as in quicly: `max_jump` bytes at once, paced over the first RTT, without history. Only with `newreno` and
    /// `cubic`, and with pacing.
    JumpStart,
}

impl SlowStartExit {
    /// All algorithms.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::HystartLinux,
        Self::HystartChromium,
        Self::HystartPlusPlus,
        Self::Aioquic,
        Self::Picoquic,
        Self::Search,
        Self::RapidStart,
        Self::CarefulResume,
        Self::JumpStart,
    ];

    /// Whether only a control of the family [`Family::Window`](super::Family::Window) has it.
    #[must_use]
    pub const fn needs_window_control(self) -> bool {
        matches!(self, Self::Search | Self::RapidStart | Self::CarefulResume | Self::JumpStart)
    }

    /// Whether the sender must pace.
    #[must_use]
    pub const fn needs_pacing(self) -> bool {
        matches!(self, Self::CarefulResume | Self::JumpStart)
    }

    /// Policy of the algorithm: HyStart of Linux and HyStart++ consider whether the sender paces.
    ///
    /// # Panics
    /// If a required value is missing, for which options are checked.
    pub(super) fn policy(self, start: Start) -> Box<dyn SlowStartPolicy> {
        let Start { paced, initial_window, saved_path, max_jump, handshake_rtt } = start;
        match self {
            Self::None => Box::new(NoSlowStartExit),
            Self::HystartLinux => Box::new(HystartLinux::new(AckTrain::Cushioned { paced })),
            Self::HystartChromium => Box::new(HystartChromium::default()),
            Self::Aioquic => Box::new(RttRise::default()),
            Self::Picoquic => Box::new(DelayTest::default()),
            Self::HystartPlusPlus => Box::new(HystartPlusPlus::new(paced)),
            Self::Search => Box::new(Search::new(initial_window)),
            Self::RapidStart => Box::new(RapidStart::new(initial_window)),
            Self::CarefulResume => {
                let saved = saved_path.expect("Careful Resume has a saved path");
                Box::new(CarefulResume::new(saved, max_jump, initial_window))
            }
            Self::JumpStart => {
                let jump = max_jump.expect("Jump Start has a window to jump to");
                Box::new(JumpStart::new(jump, handshake_rtt, initial_window))
            }
        }
    }
}
