//! Congestion control, slow start and pacing of an endpoint, which depend on each other.

use super::{BbrConstants, CubicConstants, NewRenoConstants};
use super::{CongestionControl, EndpointConfig, Pacing, SavedPath, SlowStartExit};
use crate::congestion::Family;
use crate::error::{Error, conflict};
use quiclab_core::problem::{ensure, name_of, quoted};
use quiclab_core::{ByteCount, FieldPath, Problem, ProblemKind};

/// Fields of a configuration that hold them.
pub(crate) struct Control<'a> {
    pub(crate) congestion_control: &'a mut CongestionControl,
    pub(crate) emulated_connections: &'a mut u32,
    pub(crate) slow_start_exit: &'a mut SlowStartExit,
    pub(crate) saved_path: &'a mut Option<SavedPath>,
    pub(crate) max_jump: &'a mut Option<ByteCount>,
    pub(crate) ecn_beta: &'a mut Option<f64>,
    pub(crate) constants:
        (&'a mut Option<NewRenoConstants>, &'a mut Option<CubicConstants>, &'a mut Option<BbrConstants>),
    pub(crate) pacing: &'a mut Pacing,
}

impl Control<'_> {
    /// Replaces those of a profile by those of `options`. A congestion control that controls a rate has
    /// `rate_pacing` if neither of them has a pacer.
    ///
    /// # Errors
    /// If an option conflicts with the congestion control.
    pub(crate) fn take(self, options: &EndpointConfig, rate_pacing: Pacing) -> Result<(), Error> {
        let Self { congestion_control, emulated_connections, slow_start_exit, .. } = self;
        let Self { saved_path, max_jump, ecn_beta, constants, pacing, .. } = self;
        if let Some(control) = options.congestion_control {
            *congestion_control = control;
            if control.family() != Family::Window {
                (*slow_start_exit, *emulated_connections) = (SlowStartExit::None, 1);
            }
            if control.family().paces() && *pacing == Pacing::None {
                *pacing = rate_pacing;
            }
        }
        check(*congestion_control, options)?;
        *emulated_connections = options.emulated_connections.unwrap_or(*emulated_connections);
        *slow_start_exit = options.slow_start_exit.unwrap_or(*slow_start_exit);
        *pacing = options.pacing.unwrap_or(*pacing);
        *saved_path = options.saved_path.or(*saved_path);
        *max_jump = options.max_jump.or(*max_jump);
        *ecn_beta = options.ecn_beta.or(*ecn_beta);
        (*constants.0, *constants.1, *constants.2) = (options.newreno, options.cubic, options.bbr);
        let beta = options.newreno.and_then(|set| set.beta.or(set.slow_start_beta));
        if let Some(beta) = beta {
            ensure(*emulated_connections == 1, || {
                conflict("newreno", beta, "none").because(format!(
                    "`emulated_connections` is {emulated_connections}, and it is a value of one"
                ))
            })?;
        }
        if let Some(part) = options.ecn_beta {
            ensure(*emulated_connections == 1, || {
                conflict("ecn_beta", part, "none").because(format!(
                    "`emulated_connections` is {emulated_connections}, and it is a value of one"
                ))
            })?;
        }
        check_start(*congestion_control, *slow_start_exit, options)?;
        ensure(!slow_start_exit.needs_pacing() || *pacing != Pacing::None, || {
            conflict("pacing.kind", "\"none\"", "another kind of pacing").because(format!(
                "`slow_start_exit` is \"{}\", which paces its jump",
                name_of(slow_start_exit)
            ))
        })
    }
}

/// Checks that `options` have the values that an algorithm of the start needs, and no others.
///
/// # Errors
/// If a value is missing, or has no effect.
fn check_start(
    control: CongestionControl,
    exit: SlowStartExit,
    options: &EndpointConfig,
) -> Result<(), Error> {
    let (resumes, jumps) = (exit == SlowStartExit::CarefulResume, exit == SlowStartExit::JumpStart);
    let may_resume = resumes || control == CongestionControl::C4;
    let named = format!("`slow_start_exit` is \"{}\"", name_of(&exit));
    let missing =
        |field, expected: &str| Problem::new(ProblemKind::Conflict, field, expected).because(named.clone());
    ensure(!resumes || options.saved_path.is_some(), || {
        missing("saved_path", "the window and RTT of an earlier connection")
    })?;
    ensure(!jumps || options.max_jump.is_some(), || missing("max_jump", "the window to jump to"))?;
    if let Some(saved) = options.saved_path.filter(|_| !may_resume) {
        let value = format!("{{ window = \"{}\", rtt = \"{}\" }}", saved.window, saved.rtt);
        return Err(conflict("saved_path", value, "none")
            .because(format!("{named} and `congestion_control` is \"{}\", not \"c4\"", name_of(&control))));
    }
    match options.max_jump.filter(|_| !resumes && !jumps) {
        Some(most) => Err(conflict("max_jump", quoted(most), "none").because(named)),
        None => Ok(()),
    }
}

/// Checks that a separate reduction for marks is set only with ECN: `on` is whether ECN is used, by the
/// option `field` with the value `value`.
///
/// # Errors
/// If ECN is off.
pub(crate) fn check_ecn_beta(
    options: &EndpointConfig,
    on: bool,
    field: &str,
    value: &str,
) -> Result<(), Error> {
    match options.ecn_beta.filter(|_| !on) {
        Some(part) => Err(conflict("ecn_beta", part, "none").because(format!("`{field}` is {value}"))),
        None => Ok(()),
    }
}

/// Checks that constants belong to the congestion control in use.
///
/// # Errors
/// If one belongs to another, or the control has no such constant.
fn check_constants(control: CongestionControl, options: &EndpointConfig) -> Result<(), Error> {
    let is_bbr = matches!(
        control,
        CongestionControl::BbrLinux
            | CongestionControl::BbrChromium
            | CongestionControl::BbrPicoquic
            | CongestionControl::BbrV3
    );
    let other = |field: &'static str| {
        conflict(field, "constants", "none")
            .because(format!("`congestion_control` is \"{}\"", control.name()))
    };
    let newreno = control == CongestionControl::Newreno;
    ensure(newreno || options.newreno.is_none(), || other("newreno"))?;
    ensure(control == CongestionControl::Cubic || options.cubic.is_none(), || other("cubic"))?;
    ensure(is_bbr || options.bbr.is_none(), || other("bbr"))?;
    let gain = options.bbr.and_then(|set| set.probe_rtt_cwnd_gain);
    match gain.filter(|_| control != CongestionControl::BbrV3) {
        Some(gain) => Err(Problem::conflict(FieldPath::new(["bbr", "probe_rtt_cwnd_gain"]), gain, "none")
            .because(format!("`{}` keeps four packets in ProbeRTT", control.name()))),
        None => Ok(()),
    }
}

/// Checks that the options of an endpoint are compatible with its congestion control.
///
/// # Errors
/// If one is not.
pub fn check(control: CongestionControl, options: &EndpointConfig) -> Result<(), Error> {
    let named = format!("congestion control `{}`", control.name());
    let window = control.family() == Family::Window;
    if let Some(connections) = options.emulated_connections {
        ensure(window || connections == 1, || {
            conflict("emulated_connections", connections, "1")
                .because(format!("{named} stands for one connection"))
        })?;
    }
    if let Some(part) = options.ecn_beta {
        ensure(window, || {
            conflict("ecn_beta", part, "none").because(format!("{named} has no such reduction for marks"))
        })?;
    }
    check_constants(control, options)?;
    if let Some(exit) = options.slow_start_exit {
        let scalable = control.family() == Family::Scalable && !exit.needs_window_control();
        ensure(window || scalable || exit == SlowStartExit::None, || {
            conflict("slow_start_exit", quoted(name_of(&exit)), "\"none\"")
                .because(format!("{named} has no such exit of slow start"))
        })?;
    }
    ensure(!control.family().paces() || options.pacing != Some(Pacing::None), || {
        conflict("pacing.kind", "\"none\"", "another kind of pacing")
            .because(format!("{named} controls its rate by pacing"))
    })
}
