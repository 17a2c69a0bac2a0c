//! Settings of an analysis: values that users write and read, and the same values as integers.

use quiclab_core::problem::ensure;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use serde::Deserialize;

/// Nanoseconds of a second and of a millisecond.
pub(super) const SECOND_NS: f64 = 1e9;
pub(super) const MILLISECOND_NS: f64 = 1e6;

/// Settings of an analysis. Missing fields have their defaults.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Rate of the bottleneck [Mbit/s], for expected intervals.
    pub bottleneck_mbps: Option<f64>,
    /// Rate of the captured link [Mbit/s], for its utilisation.
    pub link_mbps: Option<f64>,
    /// Pacing gains whose intervals are expected.
    pub gains: Vec<f64>,
    /// Half the width of a window around an expected interval [ms].
    pub window_ms: f64,
    /// Packets that follow each other no later than this are of one burst [ms].
    pub burst_gap_ms: f64,
    /// A burst no later than this after an ACK is clocked by it [ms].
    pub clocked_ms: f64,
    /// Time excluded at the start of each flow [s].
    pub skip_s: f64,
    /// Time after which packets of each flow are excluded [s].
    pub until_s: Option<f64>,
    /// Step of the rate over time [s]; longer where there would be more than 5000.
    pub rate_step_s: f64,
    /// Largest frame of one packet [bytes].
    pub frame_limit_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bottleneck_mbps: None,
            link_mbps: None,
            gains: vec![1.0],
            window_ms: 0.1,
            burst_gap_ms: 0.1,
            clocked_ms: 0.1,
            skip_s: 0.0,
            until_s: None,
            rate_step_s: 0.1,
            // Ethernet of 1500 bytes, its header and a VLAN tag
            frame_limit_bytes: 1518,
        }
    }
}

impl Settings {
    /// Reads settings.
    ///
    /// # Errors
    /// If it is no JSON object of these fields, or a value is out of range.
    pub fn from_json(text: &str) -> Result<Self, Problem> {
        let settings: Self = serde_json::from_str(text).map_err(|error| {
            Problem::new(ProblemKind::Syntax, "", "settings of an analysis").because(error.to_string())
        })?;
        let positive = [
            ("bottleneck_mbps", settings.bottleneck_mbps),
            ("link_mbps", settings.link_mbps),
            ("rate_step_s", Some(settings.rate_step_s)),
            ("until_s", settings.until_s),
        ];
        for (field, value) in positive.into_iter().filter_map(|(field, value)| Some((field, value?))) {
            let expected = "a number above 0, at most 1e9";
            ensure(value > 0.0 && value <= 1e9, || Problem::value(field, value, expected))?;
        }
        let times = [
            ("window_ms", settings.window_ms),
            ("burst_gap_ms", settings.burst_gap_ms),
            ("clocked_ms", settings.clocked_ms),
            ("skip_s", settings.skip_s),
        ];
        for (field, value) in times {
            let expected = "a number from 0 to 1e9";
            ensure((0.0..=1e9).contains(&value), || Problem::value(field, value, expected))?;
        }
        let count = settings.gains.len();
        ensure(count <= 16, || Problem::value("gains", format!("{count} numbers"), "at most 16 numbers"))?;
        for (index, gain) in settings.gains.iter().enumerate() {
            let path = FieldPath::from("gains").child(index);
            let expected = "a number above 0, at most 1000";
            ensure(*gain > 0.0 && *gain <= 1000.0, || Problem::value(path, gain, expected))?;
        }
        Ok(settings)
    }

    /// Maximum gap within a burst in whole nanoseconds.
    pub(super) fn burst_gap_ns(&self) -> u64 {
        nanoseconds(self.burst_gap_ms * MILLISECOND_NS)
    }

    /// Maximum time after an ACK that counts as clocked, in whole nanoseconds.
    pub(super) fn clocked_ns(&self) -> u64 {
        nanoseconds(self.clocked_ms * MILLISECOND_NS)
    }

    /// Period of a flow that counts, in nanoseconds since its first packet.
    pub(super) fn counted_ns(&self) -> std::ops::Range<u64> {
        nanoseconds(self.skip_s * SECOND_NS)
            ..self.until_s.map_or(u64::MAX, |until| nanoseconds(until * SECOND_NS))
    }

    /// Step of the rate over time in whole nanoseconds.
    pub(super) fn rate_step_ns(&self) -> u64 {
        nanoseconds(self.rate_step_s * SECOND_NS).max(1)
    }
}

/// Rounds to whole nanoseconds; values out of range are clamped, NaN becomes 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
fn nanoseconds(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_what_is_refused() {
        assert_eq!(Settings::from_json("{}"), Ok(Settings::default()));
        let settings = Settings::from_json(r#"{"skip_s": 5, "until_s": 6.5, "burst_gap_ms": 0.25}"#).unwrap();
        assert_eq!(settings.counted_ns(), 5_000_000_000..6_500_000_000);
        assert_eq!((settings.burst_gap_ns(), settings.rate_step_ns()), (250_000, 100_000_000));
        for (text, path, kind) in [
            (r#"{"bottleneck_mbps": 0}"#, "bottleneck_mbps", ProblemKind::OutOfRange),
            (r#"{"window_ms": -1}"#, "window_ms", ProblemKind::OutOfRange),
            (r#"{"gains": [1, 0]}"#, "gains.1", ProblemKind::OutOfRange),
            (r#"{"gain": 1}"#, "", ProblemKind::Syntax),
        ] {
            let problem = Settings::from_json(text).unwrap_err();
            assert_eq!((problem.path.to_string().as_str(), problem.kind), (path, kind));
        }
    }
}
