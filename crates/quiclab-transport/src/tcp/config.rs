//! Complete configuration of one end of a TCP connection: values of a release of Linux, with the overrides of
//! a scenario. The defaults are those of the oldest profile; `profile.rs` has the changes since.

use crate::congestion::Constants;
use crate::options::values;
use crate::options::{BbrConstants, CubicConstants, NewRenoConstants};
use crate::options::{CongestionControl, EndpointConfig, Pacing, SavedPath, SlowStartExit, TcpValues, Tls};
use quiclab_core::{ByteCount, Duration};

/// Maximum window without scaling (RFC 9293 section 3.1: 16 bits).
pub(super) const UNSCALED_WINDOW: u64 = 65_535;
/// Default initial window in segments (RFC 6928; Linux `TCP_INIT_CWND`).
pub(super) const INITIAL_SEGMENTS: u64 = 10;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

values! {
    /// A complete configuration: options of [`EndpointConfig`], which has their meanings.
    pub struct Config of EndpointConfig;

    congestion_control: CongestionControl =
        CongestionControl::Cubic, "net/ipv4/Kconfig DEFAULT_TCP_CONG; 2.6.19";
    emulated_connections: u32 = 1, "Linux has no such option";
    slow_start_exit: SlowStartExit =
        SlowStartExit::HystartLinux, "net/ipv4/tcp_cubic.c hystart, hystart_detect; 2.6.29";
    saved_path: SavedPath, or "none" = None, "a first connection";
    max_jump: ByteCount, or "none" = None, "Linux has none";
    newreno: NewRenoConstants, or "those of Linux" = None, "no other";
    cubic: CubicConstants, or "those of Linux" = None, "no other";
    bbr: BbrConstants, or "those of Linux" = None, "no other";
    ecn_beta: f64, or "as for losses" = None, "Linux has no such option";
    pacing: Pacing =
        Pacing::None, "include/net/sock.h SK_PACING_NONE; tcp_bbr.c asks for SK_PACING_NEEDED";
    initial_window: ByteCount, or "10 segments" = None, "include/net/tcp.h TCP_INIT_CWND; RFC 6928; 2.6.39";
    tls: Tls, or "none" = None, "the kernel sends none";
    .. { tcp: TcpValues, fixed: Fixed }
}

values! {
    /// Properties of a kernel that no option changes.
    pub(crate) struct Fixed;

    /// Number of timeouts of a SYN that are not doubled.
    linear_syns: u32 = 0, "RFC 6298 section 5.5";
    /// BBR takes an RTT that equals its smallest one as a new measurement of it.
    equal_rtt_renews: bool = true, "net/ipv4/tcp_bbr.c bbr_update_min_rtt";
    /// TCP gives each packet its departure time, from which pacing, fq and RTTs count.
    departure_times: bool = false, "net/ipv4/tcp_output.c tcp_internal_pacing; net/sched/sch_fq.c fq_dequeue";
    /// The timer of fq may be late by this.
    fq_timer_slack: Duration = Duration::ZERO, "net/sched/sch_fq.c fq_dequeue";
    /// Part of a burst that depends on the smallest RTT: it halves with every 2^n microseconds, n being this number.
    burst_rtt_log: u32, or "none" = None, "net/ipv4/tcp_output.c tcp_tso_autosize";
    /// The last segment of each burst of two or more carries PSH.
    push_bursts: bool = false, "net/ipv4/tcp_output.c __tcp_transmit_skb";
    /// An application that waits for room in the send buffer gets more after each burst that leaves the window unfilled, not
    /// only at acknowledgements.
    space_checked_when_sent: bool = false, "net/ipv4/tcp_output.c tcp_event_new_data_sent";
    /// An skb of writes that is to leave and is shorter than a burst is filled up with what follows it.
    fills_when_sent: bool = false, "net/ipv4/tcp_output.c tcp_write_xmit";
    /// A full segment with PSH is acknowledged when the application reads it.
    acknowledge_full_pushes: bool = false, "net/ipv4/tcp_input.c tcp_measure_rcv_mss";
    /// The receive window follows the memory that packets take, and the receive buffer what one RTT brings.
    measured_window: bool = false, "include/net/tcp.h tcp_win_from_space, sysctl tcp_adv_win_scale 1";
    /// Data out of order also show the size of segments and the memory of a packet.
    measures_out_of_order: bool = false, "net/ipv4/tcp_input.c tcp_data_queue_ofo";
    /// Maximum wait of merged acknowledgements, as a share of the RTT in percent.
    compressed_ack_percent: u32 = 5, "net/ipv4/tcp_input.c __tcp_ack_snd_check";
    /// The slow-start threshold is saved for the next connection.
    saves_ssthresh: bool = true, "net/ipv4/tcp_metrics.c tcp_update_metrics";
}

impl Config {
    /// Constants of the congestion control that a scenario sets.
    pub(crate) fn constants(&self) -> Constants {
        Constants {
            newreno: self.newreno.unwrap_or_default(),
            cubic: self.cubic.unwrap_or_default(),
            bbr: self.bbr.unwrap_or_default(),
        }
    }
}

/// Payload of a full segment in bytes: the MSS less the timestamps option, if it is used.
pub(super) fn payload(mss: u64, timestamps: bool) -> u64 {
    mss - if timestamps { TIMESTAMPS } else { 0 }
}

/// Length of the header of a segment of data in bytes.
pub(super) const fn header(timestamps: bool) -> u64 {
    20 + if timestamps { TIMESTAMPS } else { 0 }
}

/// Test configuration with other options of TCP.
#[cfg(test)]
pub(crate) fn test_config_with(change: impl FnOnce(&mut TcpValues)) -> Config {
    let mut config = test_config();
    change(&mut config.tcp);
    config
}

/// Linux 5.15 with NewReno and exact timers, for tests of the parts.
#[cfg(test)]
pub(crate) fn test_config() -> Config {
    let config = super::profile::find("linux-5.15").expect("it is a profile");
    let tcp = TcpValues { kernel_hz: None, ..config.tcp.clone() };
    Config {
        congestion_control: CongestionControl::Newreno,
        slow_start_exit: SlowStartExit::None,
        tcp,
        ..config
    }
}
