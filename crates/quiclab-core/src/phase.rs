//! Phases of congestion controls.

/// Defines the phases: name, colour of figures and, as comment, the meaning of each. Their order is that of their
/// numbers.
macro_rules! phases {
    ($($(#[doc = $meaning:literal])+ $phase:ident: $name:literal, $colour:literal;)+) => {
        /// Present phase of a congestion control; `phase` of the time series.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Phase {
            $($(#[doc = $meaning])+ $phase,)+
        }

        impl Phase {
            /// All phases in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$phase),+];

            /// The name in results, qlog and events.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$phase => $name,)+
                }
            }

            /// The colour of figures: a name of their palette. Phases that grow or search are green, those that drain orange,
            /// those near the operating point blue.
            #[must_use]
            pub const fn colour(self) -> &'static str {
                match self {
                    $(Self::$phase => $colour,)+
                }
            }

            /// The meaning, in one line.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$phase => concat!($($meaning),+).trim(),)+
                }
            }
        }
    };
}

phases! {
    /// Exponential growth.
    SlowStart: "slow_start", "green";
    /// Slow start that HyStart++ has slowed down (RFC 9406 section 4.2).
    ConservativeSlowStart: "conservative_slow_start", "sky";
    /// Slow growth.
    CongestionAvoidance: "congestion_avoidance", "blue";
    /// BBR: search for the bandwidth.
    Startup: "startup", "green";
    /// BBR: draining the queue of the startup phase.
    Drain: "drain", "orange";
    /// BBR: probing for bandwidth.
    ProbeBandwidth: "probe_bw", "blue";
    /// BBR: probing for the minimum RTT.
    ProbeRtt: "probe_rtt", "purple";
    /// The window does not change.
    Fixed: "fixed", "grey";
    /// BBR version 3: below the bandwidth, to drain the queue of a probe.
    ProbeDown: "probe_bw_down", "orange";
    /// BBR version 3: at the bandwidth.
    ProbeCruise: "probe_bw_cruise", "blue";
    /// BBR version 3: at the bandwidth, without the short-term bounds of losses.
    ProbeRefill: "probe_bw_refill", "sky";
    /// BBR version 3: above the bandwidth.
    ProbeUp: "probe_bw_up", "green";
    /// C4: search for the rate.
    C4Initial: "c4_initial", "green";
    /// C4: at the rate of an earlier connection.
    C4Resuming: "c4_resuming", "sky";
    /// C4: below the nominal rate, until what was sent before is acknowledged.
    C4Recovery: "c4_recovery", "orange";
    /// C4: at the nominal rate.
    C4Cruising: "c4_cruising", "blue";
    /// C4: a little above the nominal rate.
    C4Probing: "c4_probing", "purple";
    /// C4: above the nominal rate, after a probe that succeeded.
    C4Pushing: "c4_pushing", "vermillion";
}

#[allow(clippy::derivable_impls, reason = "the list has no place for the attribute of a variant")]
impl Default for Phase {
    fn default() -> Self {
        Self::SlowStart
    }
}

impl Phase {
    /// Number in time series.
    #[must_use]
    pub const fn number(self) -> u64 {
        self as u64
    }

    /// The phase with this number; `None` if there is none.
    #[must_use]
    pub fn of_number(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The phase that window and slow-start threshold imply, for NewReno and CUBIC of stacks that do not report it (RFC 9002
    /// section 7.3).
    #[must_use]
    pub fn of_window(cwnd_bytes: u64, ssthresh_bytes: Option<u64>) -> Self {
        let slow_start = ssthresh_bytes.is_none_or(|threshold| cwnd_bytes < threshold);
        if slow_start { Self::SlowStart } else { Self::CongestionAvoidance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "slow start [...] any time the congestion window is below the slow start threshold" (RFC 9002
    /// section 7.3.1); at the threshold, congestion avoidance (section 7.3.3).
    #[test]
    fn the_threshold_parts_slow_start_from_congestion_avoidance() {
        assert_eq!(Phase::of_window(12_000, None), Phase::SlowStart);
        assert_eq!(Phase::of_window(11_999, Some(12_000)), Phase::SlowStart);
        assert_eq!(Phase::of_window(12_000, Some(12_000)), Phase::CongestionAvoidance);
    }

    #[test]
    fn a_number_is_that_of_one_phase_with_a_name_of_its_own() {
        for (number, phase) in Phase::ALL.iter().enumerate() {
            assert_eq!((phase.number(), Phase::of_number(number as u64)), (number as u64, Some(*phase)));
            assert_eq!(Phase::ALL.iter().filter(|other| other.name() == phase.name()).count(), 1);
        }
        assert_eq!(Phase::of_number(Phase::ALL.len() as u64), None);
    }
}
