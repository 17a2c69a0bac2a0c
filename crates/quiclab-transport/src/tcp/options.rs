//! Options of an endpoint on lab-tcp: a profile with the overrides of a scenario, validated.

use super::LAB_TCP;
use super::config::{Config, payload};
use super::profile::{self, DEFAULT_PROFILE, profiles};
use crate::congestion::Family;
use crate::error::{Error, conflict};
use crate::options::{
    CongestionControl, Control, EndpointConfig, Pacing, SlowStartExit, TcpEcn, TcpOptions, TcpValues, Tls,
    check_ecn_beta,
};
use quiclab_core::problem::{ensure, name_of, quoted};
use quiclab_core::{ByteCount, Problem};

const MAX_WINDOW: ByteCount = ByteCount::from_bytes(1 << 30);

/// Complete configuration of `options`.
pub(super) fn resolve(options: &EndpointConfig) -> Result<Config, Error> {
    let profile = options.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
    let mut config =
        profile::find(profile).ok_or_else(|| Problem::unknown("profile", profile, profiles()))?;
    if let Some(tcp) = &options.tcp {
        check_tcp(tcp, &mut config.tcp)?;
    }
    check_tls(options.tls.as_ref())?;
    config.tls = options.tls.clone();
    check_control(options, &mut config)?;
    Ok(config)
}

fn check_tls(tls: Option<&Tls>) -> Result<(), Error> {
    ensure(tls.is_none_or(|tls| tls.early_data.is_none()), || {
        Problem::unsupported("tls.early_data", LAB_TCP, "only QUIC sends data in its first flight")
    })
}

/// Checks `options` and applies them to `values`.
fn check_tcp(options: &TcpOptions, values: &mut TcpValues) -> Result<(), Error> {
    values.take(options);
    if !values.sack {
        ensure(options.dsack != Some(true), || {
            conflict("tcp.dsack", "true", "false").because("without `tcp.sack` nothing can be reported")
        })?;
        values.dsack = false;
    }
    ensure(values.receive_buffer <= values.max_receive_buffer, || {
        let expected = format!("at most `tcp.max_receive_buffer`, \"{}\"", values.max_receive_buffer);
        conflict("tcp.receive_buffer", values.receive_buffer, expected)
    })?;
    ensure(values.min_delayed_ack <= values.max_delayed_ack, || {
        let expected = format!("at most `tcp.max_delayed_ack`, \"{}\"", values.max_delayed_ack);
        conflict("tcp.min_delayed_ack", values.min_delayed_ack, expected)
    })?;
    ensure(values.reordering <= values.max_reordering, || {
        let expected = format!("at least `tcp.reordering`, {}", values.reordering);
        conflict("tcp.max_reordering", values.max_reordering, expected)
    })
}

/// Checks congestion control and pacing, and their combination.
fn check_control(options: &EndpointConfig, config: &mut Config) -> Result<(), Error> {
    if let Some(control) = options.congestion_control {
        ensure(control.family() != Family::Coupled, || {
            conflict("congestion_control", quoted(control.name()), "a congestion control for one path")
        })?;
        if control.family().counts_marks() {
            let asked = options.tcp.as_ref().and_then(|tcp| tcp.ecn);
            let needed = control.family().needs_marks();
            let fits = |ecn| matches!(ecn, TcpEcn::Dctcp | TcpEcn::Accurate) || ecn == TcpEcn::Off && !needed;
            ensure(asked.is_none_or(fits), || {
                let expected =
                    if needed { "\"dctcp\" or \"accurate\"" } else { "\"off\", \"dctcp\" or \"accurate\"" };
                conflict("tcp.ecn", quoted(name_of(&config.tcp.ecn)), expected)
                    .because(format!("congestion control `{}` needs the number of marks", control.name()))
            })?;
            config.tcp.ecn = asked.unwrap_or(if needed { TcpEcn::Dctcp } else { TcpEcn::Off });
        }
        // a separate module in Linux: only CUBIC has HyStart
        if control != CongestionControl::Cubic {
            config.slow_start_exit = SlowStartExit::None;
        }
    }
    let control = Control {
        congestion_control: &mut config.congestion_control,
        emulated_connections: &mut config.emulated_connections,
        slow_start_exit: &mut config.slow_start_exit,
        saved_path: &mut config.saved_path,
        max_jump: &mut config.max_jump,
        ecn_beta: &mut config.ecn_beta,
        constants: (&mut config.newreno, &mut config.cubic, &mut config.bbr),
        pacing: &mut config.pacing,
    };
    control.take(options, Pacing::Linux { max_rate: None })?;
    check_ecn_beta(options, config.tcp.ecn.is_on(), "tcp.ecn", "\"off\"")?;
    if let Some(window) = options.initial_window {
        let packet = ByteCount::from_bytes(payload(config.tcp.mss.bytes(), config.tcp.timestamps));
        ensure((packet..=MAX_WINDOW).contains(&window), || {
            let expected = format!("a size from \"{packet}\", one segment, to \"{MAX_WINDOW}\"");
            conflict("initial_window", quoted(window), expected)
        })?;
        config.initial_window = Some(window);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{EarlyData, SavedPath, TlsVersion};
    use quiclab_core::{Duration, ProblemKind};

    /// Path and kind of the problem of a valid configuration after `change`.
    fn problem(change: impl FnOnce(&mut EndpointConfig)) -> (String, ProblemKind) {
        let mut config = EndpointConfig { stack: Some("lab-tcp".to_owned()), ..EndpointConfig::default() };
        change(&mut config);
        let problem = resolve(&config).expect_err("it is to be rejected");
        (problem.path.to_string(), problem.kind)
    }

    fn tcp(change: impl FnOnce(&mut TcpOptions)) -> (String, ProblemKind) {
        let mut options = TcpOptions::default();
        change(&mut options);
        problem(|config| config.tcp = Some(options))
    }

    const fn bytes(bytes: u64) -> Option<ByteCount> {
        Some(ByteCount::from_bytes(bytes))
    }

    #[test]
    fn options_that_do_not_go_together_are_rejected() {
        use CongestionControl::{BbrLinux, Fixed, Lia};
        use ProblemKind::{Conflict, UnknownName, Unsupported};
        let early = Tls {
            version: TlsVersion::Tls13,
            resumption: true,
            certificate: ByteCount::from_bytes(3000),
            early_data: Some(EarlyData::Accepted),
        };
        for (found, path, kind) in [
            (problem(|config| config.profile = Some("linux-2.4".to_owned())), "profile", UnknownName),
            (problem(|config| config.tls = Some(early)), "tls.early_data", Unsupported),
            (problem(|config| config.congestion_control = Some(Lia)), "congestion_control", Conflict),
            (
                problem(|config| {
                    (config.congestion_control, config.pacing) = (Some(BbrLinux), Some(Pacing::None));
                }),
                "pacing.kind",
                Conflict,
            ),
            (
                problem(|config| {
                    (config.congestion_control, config.emulated_connections) = (Some(Fixed), Some(2));
                }),
                "emulated_connections",
                Conflict,
            ),
            (
                problem(|config| {
                    config.congestion_control = Some(BbrLinux);
                    config.slow_start_exit = Some(SlowStartExit::HystartPlusPlus);
                }),
                "slow_start_exit",
                Conflict,
            ),
            (problem(|config| config.initial_window = bytes(1447)), "initial_window", Conflict),
            (tcp(|tcp| (tcp.sack, tcp.dsack) = (Some(false), Some(true))), "tcp.dsack", Conflict),
            (tcp(|tcp| tcp.max_reordering = Some(2)), "tcp.max_reordering", Conflict),
            (tcp(|tcp| tcp.receive_buffer = bytes(64 << 20)), "tcp.receive_buffer", Conflict),
            (
                tcp(|tcp| tcp.min_delayed_ack = Some(Duration::from_millis(300))),
                "tcp.min_delayed_ack",
                Conflict,
            ),
        ] {
            assert_eq!(found, (path.to_owned(), kind));
        }
    }

    /// TCP does not pace unless configured.
    #[test]
    fn a_start_with_a_jump_needs_its_values_and_pacing() {
        use SlowStartExit::{CarefulResume, JumpStart, RapidStart, Search};
        let saved = Some(SavedPath { window: ByteCount::from_bytes(1), rtt: Duration::from_millis(1) });
        for (exit, control, saved_path, max_jump, path) in [
            (CarefulResume, CongestionControl::Cubic, None, None, "saved_path"),
            (JumpStart, CongestionControl::Cubic, None, None, "max_jump"),
            (CarefulResume, CongestionControl::Cubic, saved, None, "pacing.kind"),
            (JumpStart, CongestionControl::Newreno, None, bytes(1), "pacing.kind"),
            (RapidStart, CongestionControl::Cubic, saved, None, "saved_path"),
            (Search, CongestionControl::Cubic, None, bytes(1), "max_jump"),
            (Search, CongestionControl::Dctcp, None, None, "slow_start_exit"),
            (RapidStart, CongestionControl::BbrLinux, None, None, "slow_start_exit"),
        ] {
            let found = problem(|config| {
                (config.slow_start_exit, config.congestion_control) = (Some(exit), Some(control));
                (config.saved_path, config.max_jump) = (saved_path, max_jump);
            });
            assert_eq!(found, (path.to_owned(), ProblemKind::Conflict), "{exit:?}");
        }
    }

    #[test]
    fn a_saved_path_names_what_has_no_use_for_it() {
        let config = EndpointConfig {
            stack: Some("lab-tcp".to_owned()),
            saved_path: Some(SavedPath { window: ByteCount::from_bytes(1), rtt: Duration::from_millis(1) }),
            ..EndpointConfig::default()
        };
        let found = resolve(&config).expect_err("CUBIC does not resume").to_string();
        assert!(
            found.contains(
                "`slow_start_exit` is \"hystart-linux\" and `congestion_control` is \"cubic\", not \"c4\""
            ),
            "{found}"
        );
    }

    #[test]
    fn overrides_replace_fields_one_by_one() {
        let plain = EndpointConfig { stack: Some("lab-tcp".to_owned()), ..EndpointConfig::default() };
        let default = resolve(&plain).unwrap();
        assert_eq!(default, profile::find("linux-7").unwrap());
        let options = TcpOptions { sack: Some(false), mss: bytes(536), ..TcpOptions::default() };
        let found = resolve(&EndpointConfig { tcp: Some(options), ..plain.clone() }).unwrap();
        let tcp = TcpValues {
            sack: false,
            dsack: false, // there is nothing to report with
            mss: ByteCount::from_bytes(536),
            ..default.tcp.clone()
        };
        let expected = Config { tcp, ..default.clone() };
        assert_eq!(found, expected);
        let control = |control| {
            let config = EndpointConfig { congestion_control: Some(control), ..plain.clone() };
            let found = resolve(&config).unwrap();
            (found.slow_start_exit, found.pacing)
        };
        use CongestionControl::{BbrLinux, Cubic, Newreno};
        assert_eq!(control(Cubic), (SlowStartExit::HystartLinux, Pacing::None));
        assert_eq!(control(Newreno), (SlowStartExit::None, Pacing::None));
        assert_eq!(control(BbrLinux), (SlowStartExit::None, Pacing::Linux { max_rate: None }));
    }
}
