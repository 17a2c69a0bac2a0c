//! Names of values as they are written in scenarios.

use crate::options::{
    Acknowledgement, CongestionControl, Controller, EarlyData, FlowControl, Pacing, QuicVersion,
    RateReduction, RttVariation, SlowStartExit, StreamScheduler, TcpLossDetection, TcpMetrics, TlsVersion,
};

/// A value that scenarios name.
pub(crate) trait Named {
    fn name(&self) -> &'static str;
}

/// The name of `value`; of a pacing or an acknowledgement policy, its kind.
pub(crate) fn name(value: &impl Named) -> &'static str {
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
    TcpMetrics { Self::None => "none", Self::FromRunBefore => "from_run_before" }
    Controller { Self::Stack => "stack", Self::Quiclab => "quiclab" }
    QuicVersion { Self::V1 => "v1", Self::Gquic37 => "gquic-37" }
    Acknowledgement {
        Self::Every { .. } => "every",
        Self::Timer { .. } => "timer",
        Self::RttFraction { .. } => "rtt_fraction",
        Self::AsAsked { .. } => "as_asked",
    }
    RttVariation { Self::Rfc9002 => "rfc9002", Self::FromMinimum => "from_minimum" }
    FlowControl {
        Self::Fixed => "fixed",
        Self::DoubleWhenHalfUsed => "double_when_half_used",
        Self::DoubleWithinTwoRtts => "double_within_two_rtts",
    }
    StreamScheduler {
        Self::Fifo => "fifo",
        Self::RoundRobin => "round_robin",
        Self::Priority => "priority",
        Self::PriorityInBatches => "priority_in_batches",
    }
    EarlyData { Self::Accepted => "accepted", Self::Rejected => "rejected" }
    TlsVersion { Self::Tls12 => "1.2", Self::Tls13 => "1.3" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_those_that_scenarios_read() {
        fn check<T: Named + serde::Serialize>(values: &[T]) {
            for value in values {
                assert_eq!(json!(value), json!(name(value)));
            }
        }
        check(&CongestionControl::ALL);
        check(&SlowStartExit::ALL);
        check(&[TcpMetrics::None, TcpMetrics::FromRunBefore]);
        check(&[QuicVersion::V1, QuicVersion::Gquic37]);
        check(&[RttVariation::Rfc9002, RttVariation::FromMinimum]);
        check(&[FlowControl::Fixed, FlowControl::DoubleWhenHalfUsed, FlowControl::DoubleWithinTwoRtts]);
        check(&[StreamScheduler::Fifo, StreamScheduler::RoundRobin, StreamScheduler::Priority]);
        check(&[StreamScheduler::PriorityInBatches]);
        check(&[EarlyData::Accepted, EarlyData::Rejected]);
        check(&[TlsVersion::Tls12, TlsVersion::Tls13]);
        for policy in [
            Acknowledgement::Every { packets: 2, delay: quiclab_core::Duration::ZERO },
            Acknowledgement::Timer { delay: quiclab_core::Duration::ZERO },
            Acknowledgement::AsAsked { delay: quiclab_core::Duration::ZERO },
        ] {
            assert_eq!(json!(policy)["kind"], json!(name(&policy)));
        }
    }
}
