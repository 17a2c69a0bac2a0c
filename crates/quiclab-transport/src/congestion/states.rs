//! States that each congestion control reports, for references by name.

use super::{CongestionControl, Phase, SlowStartExit};
use quiclab_core::RecoveryState;

impl CongestionControl {
    /// Names of the states of a sender with this control and this algorithm of the start: those of the phases that it can be
    /// in, and [`RecoveryState::RECOVERY`] unless its window never changes.
    #[must_use]
    pub fn states(self, start: SlowStartExit) -> Vec<&'static str> {
        use Phase::{
            C4Cruising, C4Initial, C4Probing, C4Pushing, C4Recovery, C4Resuming, CongestionAvoidance,
            ConservativeSlowStart, Drain, Fixed, ProbeBandwidth, ProbeCruise, ProbeDown, ProbeRefill,
            ProbeRtt, ProbeUp, SlowStart, Startup,
        };
        let phases: &[Phase] = match self {
            Self::Prague => &[SlowStart, CongestionAvoidance],
            Self::BbrLinux | Self::BbrChromium => &[Startup, Drain, ProbeBandwidth, ProbeRtt],
            Self::BbrPicoquic => &[SlowStart, Startup, Drain, ProbeBandwidth, ProbeRtt],
            Self::BbrV3 => &[Startup, Drain, ProbeDown, ProbeCruise, ProbeRefill, ProbeUp, ProbeRtt],
            Self::C4 => &[C4Initial, C4Resuming, C4Recovery, C4Cruising, C4Probing, C4Pushing],
            Self::Fixed => &[Fixed],
            // all others have a window
            _ if start == SlowStartExit::HystartPlusPlus => {
                &[SlowStart, ConservativeSlowStart, CongestionAvoidance]
            }
            _ => &[SlowStart, CongestionAvoidance],
        };
        let names = phases.iter().map(|phase| phase.name());
        let reduces = self != Self::Fixed;
        names.chain(reduces.then_some(RecoveryState::RECOVERY)).collect()
    }
}
