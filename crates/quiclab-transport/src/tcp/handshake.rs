//! The three-way handshake: negotiation of options, and retransmission of SYN and SYN-ACK.
//!
//! | | RFC | Linux | here |
//! | --- | --- | --- | --- |
//! | timeout | 1 s, doubled (RFC 6298 section 5) | since 6.5, the first four of a SYN are not doubled | by profile |
//! | attempts | at least 3 min (RFC 9293 section 3.8.3) | 6 more SYN (10 since 6.5), 5 more SYN-ACK | as Linux |
//! | ticks | none | timers end at ticks of the kernel: a second with a multiple of 64 of them | as Linux |
//! | RTT after a retransmission | none (RFC 6298 section 3) | by the echo of the timestamp, in milliseconds | as Linux |
//! | window after a loss | one segment (RFC 5681 section 3.1) | after a timeout and a second retransmission | as Linux since 5.2 |
//! | window scale | any | from the maximum receive buffer, including `rmem_max` | as Linux |

use super::config::{Config, UNSCALED_WINDOW, payload};
use super::receiver::Receiver;
use super::sender::timestamp;
use crate::options::{TcpEcn, TcpValues};
use crate::recovery::tcp_rtt::MAX_RTO;
use crate::ticks::Ticks;
use quiclab_core::{Duration, SegmentOptions, Time};

/// `tcp_syn_retries` and `tcp_synack_retries` (Documentation/networking/ip-sysctl.rst).
const SYN_RETRIES: u32 = 6;
const SYN_ACK_RETRIES: u32 = 5;
/// Age of an echo in milliseconds at which it gives no RTT (`tcp_rtt_tsopt_us`: microseconds in an `int`).
const OLDEST_ECHO: u32 = i32::MAX as u32 / 1000;
/// MSS of a peer that announces none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// Options of a SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    mss: u16,
    window_scale: Option<u8>,
    sack: bool,
    timestamps: bool,
}

impl Offer {
    /// Options that this end offers.
    pub(super) fn new(config: &TcpValues) -> Self {
        Self {
            mss: u16::try_from(config.mss.bytes()).unwrap_or(u16::MAX),
            window_scale: config.window_scaling.then(|| Receiver::window_scale(config)),
            sack: config.sack,
            timestamps: config.timestamps,
        }
    }

    /// Options that the SYN of a peer offers.
    pub(super) fn of_peer(options: Option<&SegmentOptions>) -> Self {
        match options {
            Some(&SegmentOptions::Syn { mss, window_scale, sack, timestamps, .. }) => {
                Self { mss, window_scale, sack, timestamps }
            }
            _ => Self { mss: DEFAULT_MSS, window_scale: None, sack: false, timestamps: false },
        }
    }

    /// Response to an offer: an option that was not offered "MUST NOT" be sent (RFC 7323 sections 2.2 and
    /// 3.2, RFC 2018 section 2 for options that a SYN permits); each end announces its own MSS.
    pub(super) fn answer(self, peer: Self) -> Self {
        Self {
            mss: self.mss,
            window_scale: self.window_scale.filter(|_| peer.window_scale.is_some()),
            sack: self.sack && peer.sack,
            timestamps: self.timestamps && peer.timestamps,
        }
    }

    /// Options of a SYN or SYN-ACK, with or without the AccECN option.
    pub(super) fn options(self, accecn: bool) -> SegmentOptions {
        let Self { mss, window_scale, sack, timestamps } = self;
        SegmentOptions::Syn { mss, window_scale, sack, timestamps, accecn }
    }
}

/// Options in effect: those offered by both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Payload of a full segment in bytes.
    pub(super) payload: u64,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) window_scaling: bool,
    pub(super) ecn: TcpEcn,
}

impl Agreed {
    pub(super) fn new(config: &TcpValues, peer: Offer, ecn: TcpEcn) -> Self {
        let own = Offer::new(config);
        let timestamps = own.timestamps && peer.timestamps;
        Self {
            payload: payload(u64::from(own.mss.min(peer.mss)), timestamps),
            sack: own.sack && peer.sack,
            timestamps,
            window_scaling: own.window_scale.is_some() && peer.window_scale.is_some(),
            ecn,
        }
    }
}

/// Window of a SYN: half of the buffer in whole segments, and not scaled (Linux
/// `tcp_select_initial_window` since 4.20; RFC 7323 section 2.2: "MUST NOT be scaled").
pub(super) fn syn_window(config: &TcpValues, payload: u64) -> u32 {
    let window = (config.receive_buffer.bytes() / 2).min(UNSCALED_WINDOW);
    u32::try_from(window - window % payload.min(window.max(1))).expect("at most 65535")
}

/// Effect of the timeout of a SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// Not due yet.
    NotDue,
    /// It is retransmitted.
    Again,
    /// The peer does not respond: the connection fails.
    GiveUp,
}

/// Retransmission of a SYN or SYN-ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmission {
    sent: Time,
    deadline: Time,
    rto: Duration,
    ticks: Ticks,
    /// Number of timeouts so far, which limit the retries (`num_timeout`).
    timeouts: u32,
    /// Number of responses to a repeated SYN.
    answers: u32,
    linear: u32,
    most: u32,
}

impl Retransmission {
    /// State after a SYN sent `now`.
    pub(super) fn of_syn(config: &Config, now: Time) -> Self {
        let linear = config.fixed.linear_syns;
        Self::new(&config.tcp, linear, SYN_RETRIES + linear, now)
    }

    /// State after a SYN-ACK sent `now`.
    pub(super) fn of_syn_ack(config: &Config, now: Time) -> Self {
        Self::new(&config.tcp, 0, SYN_ACK_RETRIES, now)
    }

    /// Makes the state; the first `linear` timeouts are not doubled.
    fn new(config: &TcpValues, linear: u32, most: u32, now: Time) -> Self {
        let (rto, ticks) = (config.initial_rto, Ticks::new(config.kernel_hz));
        Self { sent: now, deadline: ticks.end(now, rto), rto, ticks, timeouts: 0, answers: 0, linear, most }
    }

    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    pub(super) fn expire(&mut self, now: Time) -> Expiry {
        if now < self.deadline {
            return Expiry::NotDue;
        }
        if self.timeouts == self.most {
            return Expiry::GiveUp;
        }
        self.timeouts += 1;
        if self.timeouts > self.linear {
            self.rto = (self.rto * 2).min(MAX_RTO);
        }
        self.deadline = self.ticks.end(now, self.rto);
        Expiry::Again
    }

    /// Handles an early retransmission because the peer's SYN arrived again: the timer restarts, and it does
    /// not count as a retry (`tcp_check_req`, `tcp_rtx_synack`).
    pub(super) fn repeat(&mut self, now: Time) {
        self.answers += 1;
        self.deadline = self.ticks.end(now, self.rto);
    }

    /// Whether it was retransmitted.
    pub(super) fn is_retransmitted(&self) -> bool {
        self.timeouts + self.answers > 0
    }

    /// Number of timeouts so far.
    pub(super) fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// RTT of the handshake completed `now` by a segment that echoes the timestamp `echo`, if timestamps are
    /// used. If it was sent more than once, only the echo identifies the acknowledged one (Karn, RFC 6298
    /// section 3; `tcp_ack_update_rtt`, `tcp_rtt_tsopt_us`): in whole milliseconds, at least one; an echo of
    /// more than half an hour ago is ignored.
    pub(super) fn rtt(&self, now: Time, echo: Option<u32>) -> Option<Duration> {
        if !self.is_retransmitted() {
            return Some(now.since(self.sent));
        }
        let age = echo.map(|echo| timestamp(now).wrapping_sub(echo)).filter(|age| *age < OLDEST_ECHO);
        age.map(|age| Duration::from_millis(u64::from(age).max(1)))
    }

    /// Whether the connection starts with a window of one segment. RFC 5681 section 3.1 requires it after any
    /// lost SYN or SYN-ACK; Linux, with its RTO of 1 s, after a timeout and more than one retransmission,
    /// including responses to a repeated SYN (`total_retrans` of `tcp_init_transfer`). An ACK that echoes the
    /// first timestamp shows that the timeout was spurious (`tcp_try_undo_spurious_syn`). Before 5.2, which
    /// is not modelled, no timeout was needed, and a spurious one counted.
    pub(super) fn starts_with_one_segment(&self, echo: Option<u32>) -> bool {
        let spurious = echo == Some(timestamp(self.sent));
        self.timeouts > 0 && self.timeouts + self.answers > 1 && !spurious
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::profile;

    fn times(mut timer: Retransmission) -> (Vec<u64>, u64) {
        let mut sent = Vec::new();
        loop {
            let now = timer.deadline();
            assert_eq!(timer.expire(now.min(Time::from_nanos(now.as_nanos() - 1))), Expiry::NotDue);
            let seconds = now.as_nanos() / 1_000_000_000;
            match timer.expire(now) {
                Expiry::Again => sent.push(seconds),
                Expiry::GiveUp => return (sent, seconds),
                Expiry::NotDue => unreachable!("it is due"),
            }
        }
    }

    fn linux(hz: Option<u32>, linear_syns: u32) -> Config {
        let mut config = profile::find("linux-5.15").unwrap();
        (config.tcp.kernel_hz, config.fixed.linear_syns) = (hz, linear_syns);
        config
    }

    /// ip-sysctl.rst: six retries end after 127 s; with four linear timeouts the last of ten is sent at
    /// 67 s and the attempt ends at 131 s; five retries of a SYN-ACK: 31 s and 63 s.
    #[test]
    fn syn_and_syn_ack_are_sent_again_when_linux_does() {
        let syn = |linear| times(Retransmission::of_syn(&linux(None, linear), Time::ZERO));
        assert_eq!(syn(0), (vec![1, 3, 7, 15, 31, 63], 127));
        assert_eq!(syn(4), (vec![1, 2, 3, 4, 5, 7, 11, 19, 35, 67], 131));
        let syn_ack = Retransmission::of_syn_ack(&linux(None, 0), Time::ZERO);
        assert_eq!(times(syn_ack), (vec![1, 3, 7, 15, 31], 63));
    }

    /// Linux `tcp_check_req`: a repeated SYN is responded to, and restarts the timer; five timeouts remain,
    /// 1, 2, 4, 8 and 16 s apart, and the connection fails 32 s later.
    #[test]
    fn a_syn_that_comes_again_uses_no_retry_up() {
        let mut syn_ack = Retransmission::of_syn_ack(&linux(None, 0), Time::ZERO);
        let at = |half_seconds: u64| Time::from_nanos(half_seconds * 500_000_000);
        (1..=20).for_each(|half_seconds| syn_ack.repeat(at(half_seconds)));
        assert_eq!((syn_ack.rtt(at(21), None), syn_ack.starts_with_one_segment(None)), (None, false));
        assert_eq!(times(syn_ack), (vec![11, 13, 17, 25, 41], 73));
    }

    #[test]
    fn only_the_second_retransmission_costs_the_initial_window() {
        let mut syn = Retransmission::of_syn(&linux(None, 0), Time::from_nanos(7_000_000));
        let now = Time::from_nanos(37_000_000);
        assert_eq!(syn.rtt(now, Some(7)), Some(Duration::from_millis(30)));
        syn.expire(syn.deadline());
        assert_eq!((syn.rtt(now, None), syn.starts_with_one_segment(None)), (None, false));
        syn.expire(syn.deadline());
        assert!(syn.starts_with_one_segment(None));
        // the third one was acknowledged, or the first one, and both others were sent in vain
        assert!(syn.starts_with_one_segment(Some(3007)));
        assert!(!syn.starts_with_one_segment(Some(7)));
        let answered = Time::from_nanos(3_037_900_000);
        assert_eq!(syn.rtt(answered, Some(3007)), Some(Duration::from_millis(30)));
        assert_eq!(syn.rtt(answered, Some(3037)), Some(Duration::from_millis(1)));
        assert_eq!(syn.rtt(answered, Some(3038)), None);
    }

    #[test]
    fn options_in_effect_are_those_of_both_ends() {
        let config = profile::find("linux-5.15").unwrap().tcp;
        let own = Offer::new(&config);
        // 6 MiB: ilog2 22, less 15
        let all = Offer { mss: 1460, window_scale: Some(7), sack: true, timestamps: true };
        assert_eq!(own, all);
        let agreed =
            Agreed { payload: 1448, sack: true, timestamps: true, window_scaling: true, ecn: TcpEcn::Off };
        assert_eq!(Agreed::new(&config, all, TcpEcn::Off), agreed);
        let plain = Offer { mss: 1000, window_scale: None, sack: false, timestamps: false };
        assert_eq!(own.answer(plain), Offer { mss: 1460, ..plain });
        let agreed =
            Agreed { payload: 1000, sack: false, timestamps: false, window_scaling: false, ecn: TcpEcn::Off };
        assert_eq!(Agreed::new(&config, plain, TcpEcn::Off), agreed);
        assert_eq!(Agreed::new(&config, Offer::of_peer(None), TcpEcn::Off).payload, 536);
    }

    /// Linux 4.20 and later: 131072 / 2 limited to 65535, in segments of 1460: 44 of them.
    #[test]
    fn the_window_of_a_syn_is_that_of_linux() {
        let config = profile::find("linux-5.15").unwrap().tcp;
        assert_eq!((syn_window(&config, 1460), syn_window(&config, 1448)), (64_240, 65_160));
    }
}
