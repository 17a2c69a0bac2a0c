//! The three variants on a link of 20 Mbit/s and 40 ms (BDP: 81 packets of 1250 bytes), and their
//! differences.

use super::chromium::{self, BbrChromium};
use super::linux::{self, BbrLinux};
use super::picoquic::{self, BbrPicoquic};
use super::{Idle, ProbeRttLimited};
use crate::congestion::constants::BbrConstants;
use crate::congestion::link_by_hand::{Link, MSS, Seen};
use crate::congestion::{Ack, CongestionEvent, Controller, Phase, RecoveryPhase};
use crate::recovery::delivery_rate::RateSample;
use quiclab_core::{Duration, RandomStream, Time};

const VARIANTS: [&str; 3] = ["linux", "chromium", "picoquic"];
const INITIAL_WINDOW: u64 = 10 * MSS;

fn controller(variant: &str, seed: u64) -> Box<dyn Controller> {
    let random = RandomStream::new(seed, "bbr");
    match variant {
        "linux" => Box::new(BbrLinux::new(MSS, INITIAL_WINDOW, random)),
        "chromium" => Box::new(BbrChromium::new(MSS, INITIAL_WINDOW, random)),
        _ => Box::new(BbrPicoquic::new(MSS, INITIAL_WINDOW, random)),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An acknowledgement of one packet: 1 MB/s, 40 ms, a new round each time.
fn ack(now_ms: u64, in_flight: u64) -> Ack {
    let rtt = Some(Duration::from_millis(40));
    Ack {
        now: Time::ZERO + Duration::from_millis(now_ms),
        acked_bytes: MSS,
        acked_packets: 1,
        rtt,
        srtt: rtt,
        min_rtt: rtt,
        prior_in_flight: in_flight + MSS,
        in_flight,
        acked_position: now_ms,
        next_position: now_ms + 1,
        may_grow: true,
        rate: Some(RateSample {
            delivered: 40_000,
            interval: rtt,
            prior_delivered: now_ms * 1000,
            total_delivered: now_ms * 1000,
            ..RateSample::default()
        }),
        ..Ack::default()
    }
}

fn event(now_ms: u64, in_flight: u64) -> CongestionEvent {
    let now = Time::ZERO + Duration::from_millis(now_ms);
    CongestionEvent { now, in_flight, next_position: now_ms, ecn: false, persistent: false }
}

#[test]
fn gains_are_those_of_the_sources() {
    // 256 x 2885 / 1000 = 738.56, rounded down, + 1; 256 x 1000 / 2885 = 88.7
    assert_eq!((linux::HIGH_GAIN, linux::DRAIN_GAIN), (739, 88));
    assert_eq!(linux::CYCLE_GAINS, [320, 192, 256, 256, 256, 256, 256, 256]);
    assert_eq!(chromium::HIGH_GAIN, 2.885);
    assert_eq!(chromium::HIGH_CWND_GAIN, 2.0);
    assert_eq!(chromium::CYCLE_GAINS[..3], [1.25, 0.75, 1.0]);
    // 2 / ln 2, and 1.25 second to last
    assert!((picoquic::HIGH_GAIN * std::f64::consts::LN_2 - 2.0).abs() < 1e-12);
    assert_eq!(picoquic::CYCLE_GAINS[5..], [1.0, 1.25, 0.75]);
}

/// 10 packets in 1 ms: 12.5 MB/s x 2 x 0.99; in 100 ms: 125 kB/s x 2.
#[test]
fn gains_of_a_scenario_replace_those_of_the_source() {
    let set = BbrConstants { startup_pacing_gain: Some(2.0), ..BbrConstants::default() };
    let random = || RandomStream::new(1, "bbr");
    let linux = BbrLinux::new(MSS, INITIAL_WINDOW, random()).with(&set).pacing_rate().unwrap();
    assert!((24_740_000..=24_750_000).contains(&(linux.bits_per_second() / 8)), "{linux:?}");
    let chromium = BbrChromium::new(MSS, INITIAL_WINDOW, random()).with(&set).pacing_rate().unwrap();
    assert_eq!(chromium.bits_per_second() / 8, 250_000);
}

#[test]
fn the_first_pacing_rate_is_the_high_gain_times_the_window_per_rtt() {
    // Linux: 10 packets in 1 ms: 12.5 MB/s x 739/256 x 0.99 = 35.72 MB/s; fixed point rounds down
    let rate = controller("linux", 1).pacing_rate().unwrap().bits_per_second() / 8;
    assert!((35_710_000..=35_724_000).contains(&rate), "{rate}");
    // Chromium: 10 packets in 100 ms: 125 kB/s x 2.885
    let rate = controller("chromium", 1).pacing_rate().unwrap().bits_per_second() / 8;
    assert_eq!(rate, 360_625);
    assert!(controller("picoquic", 1).pacing_rate().is_none());
    // Linux with the first RTT of 40 ms: 10 packets / 40 ms are 312.5 kB/s, less than the 1 MB/s measured;
    // 1 MB/s x 739/256 x 0.99 = 2.858 MB/s
    let mut linux = controller("linux", 1);
    linux.on_ack(&ack(40, 9 * MSS));
    let rate = linux.pacing_rate().unwrap().bits_per_second() / 8;
    assert!((2_855_000..=2_858_000).contains(&rate), "{rate}");
}

#[test]
fn startup_finds_the_bandwidth_and_drain_empties_the_queue() {
    for variant in VARIANTS {
        let mut link = Link::new(20, 40);
        let (bdp, capacity) = (link.bdp(), link.capacity());
        let mut controller = controller(variant, 1);
        let mut phases: Vec<Phase> = Vec::new();
        let mut drained = None;
        let mut rate = 0;
        link.run(&mut *controller, seconds(3), |seen: &Seen| {
            if phases.last() != Some(&seen.phase) {
                phases.push(seen.phase);
                if seen.phase == Phase::ProbeBandwidth {
                    drained = Some((seen.now, seen.in_flight));
                }
            }
            rate = seen.rate;
        });
        assert_eq!(phases, [Phase::Startup, Phase::Drain, Phase::ProbeBandwidth], "{variant}");
        let (when, in_flight) = drained.expect("PROBE_BW is reached");
        // the BDP, three quanta of two packets (1 ms at 2.5 MB/s), and rounding; Linux subtracts the packets
        // that leave the pacer meanwhile
        assert!(in_flight <= bdp + 10 * MSS, "{variant}: {in_flight} of {bdp}");
        // doubling from 10 to 81 packets: 3 rounds and the first; 3 without growth, each of a queue up to
        // 2.885 BDP deep; drain about one more: not more than 20 RTT
        assert!(when <= Time::ZERO + link.base_rtt() * 20, "{variant}: {when}");
        // at least one phase of the cycle at the bandwidth
        assert!((capacity * 70 / 100..=capacity * 130 / 100).contains(&rate), "{variant}: {rate}");
    }
}

/// 20 packets above the BDP are too many to end DRAIN, unless the pacer delays the next one while they are
/// delivered.
#[test]
fn what_departs_later_finds_fewer_packets_in_the_network() {
    let mut link = Link::new(20, 40);
    let mut draining = BbrLinux::new(MSS, INITIAL_WINDOW, RandomStream::new(7, "bbr"));
    let mut now = Time::ZERO;
    while draining.phase() != Phase::Drain {
        link.run(&mut draining, Duration::from_millis(1), |seen| now = seen.now);
    }
    let packet = Duration::from_secs(1) * MSS / link.capacity();
    let in_flight = link.capacity() * 40 / 1000 + 20 * MSS;
    for (wait, phase) in [(0, Phase::Drain), (20, Phase::ProbeBandwidth)] {
        let mut linux = draining.clone();
        let millis = now.since(Time::ZERO).as_nanos() / 1_000_000;
        let arrived = ack(millis, in_flight);
        linux.on_ack(&Ack { departure: arrived.now + packet * wait, ..arrived });
        assert_eq!(linux.phase(), phase);
    }
}

#[test]
fn probing_changes_the_pacing_rate_in_the_order_of_the_cycle() {
    for variant in VARIANTS {
        let mut link = Link::new(20, 40);
        let capacity = link.capacity();
        let mut controller = controller(variant, 7);
        link.run(&mut *controller, seconds(2), |_| {});
        // runs of equal gain: (gain in hundredths, start)
        let margin = if variant == "linux" { 0.99 } else { 1.0 };
        let mut runs: Vec<(u64, Time)> = Vec::new();
        link.run(&mut *controller, seconds(4), |seen| {
            assert_eq!(seen.phase, Phase::ProbeBandwidth);
            let gain = seen.rate as f64 / margin / capacity as f64;
            let hundredths = [75, 100, 125]
                .into_iter()
                .find(|step| (gain - f64::from(*step) / 100.0).abs() < 0.03)
                .unwrap_or_else(|| panic!("{variant}: gain {gain}"));
            let hundredths = u64::try_from(hundredths).expect("positive");
            if runs.last().is_none_or(|run| run.0 != hundredths) {
                runs.push((hundredths, seen.now));
            }
        });
        runs.remove(0); // begun before
        assert!(runs.len() > 9, "{variant}: three cycles and more in 4 s of 40 ms");
        let rtt = link.base_rtt();
        for pair in runs.windows(2) {
            let ((gain, start), (next, end)) = (pair[0], pair[1]);
            let expected = match gain {
                125 => 75,
                75 => 100,
                _ => 125,
            };
            assert_eq!(next, expected, "{variant}");
            let length = end.since(start);
            match gain {
                // six phases that end with the first acknowledgement (0.5 ms) more than an RTT after their
                // start; picoquic: one to six
                100 if variant != "picoquic" => {
                    assert!(length > rtt * 6 && length < rtt * 6 + Duration::from_millis(6), "{length}");
                }
                100 => assert!(length > rtt && length < rtt * 6 + Duration::from_millis(6), "{length}"),
                // at least an RTT; the queue of 1.25 takes one more until it is in flight
                125 => assert!(length > rtt && length < rtt * 3, "{variant}: {length}"),
                // ends when drained, or after an RTT (picoquic: and drained)
                _ => assert!(length < rtt * 2, "{variant}: {length}"),
            }
        }
    }
}

#[test]
fn nothing_is_lost_of_the_goodput_in_steady_state_and_the_queue_is_bounded() {
    for variant in VARIANTS {
        let mut link = Link::new(20, 40);
        let mut controller = controller(variant, 3);
        let (mut first, mut last) = (None, 0);
        let most = link.bdp() * 2 + 16 * MSS;
        link.run(&mut *controller, seconds(2), |_| {});
        link.run(&mut *controller, seconds(30), |seen| {
            first.get_or_insert(seen.delivered);
            last = seen.delivered;
            // window of 2 BDP, three quanta and the even number
            assert!(seen.in_flight <= most, "{variant}: {} of {most}", seen.in_flight);
        });
        let goodput = (last - first.expect("something is delivered")) / 30;
        assert!(goodput * 100 > link.capacity() * 90, "{variant}: {goodput} byte/s");
    }
}

#[test]
fn the_smallest_rtt_is_probed_ten_seconds_after_it_was_measured() {
    // 1 ms more from 1 s on makes sure that the first RTT is never met again (2.5 % of it)
    for variant in ["linux", "chromium"] {
        let mut link = Link::new(20, 40);
        link.detour = Some((Time::ZERO + seconds(1), Duration::from_millis(1)));
        let mut controller = controller(variant, 5);
        let (mut entered, mut low, mut left) = (None, None, None);
        let mut before = 0;
        link.run(&mut *controller, seconds(13), |seen| {
            if seen.phase == Phase::ProbeRtt {
                entered.get_or_insert(seen.now);
                assert_eq!(seen.window, 4 * MSS, "{variant}");
                if seen.in_flight <= 4 * MSS {
                    low.get_or_insert(seen.now);
                }
            } else if entered.is_none() {
                before = seen.window;
            } else if left.is_none() {
                left = Some((seen.now, seen.phase, seen.window));
            }
        });
        let entered = entered.expect("PROBE_RTT");
        // the minimum RTT is measured by the first packet or, in a drained queue, until 1 s
        let first = Time::ZERO + seconds(10);
        assert!(
            entered > first && entered < first + seconds(1) + link.base_rtt() * 4,
            "{variant}: {entered}"
        );
        let (low, (left, phase, window)) = (low.expect("drained"), left.expect("left"));
        assert!(left.since(low) >= Duration::from_millis(200), "{variant}");
        // 200 ms, a round, and an acknowledgement to notice it
        assert!(left.since(low) <= Duration::from_millis(200) + link.base_rtt() * 3, "{variant}");
        assert_eq!(phase, Phase::ProbeBandwidth, "{variant}");
        assert!(window + 20 * MSS >= before, "{variant}: {window} after {before}");
    }
}

#[test]
fn picoquic_takes_an_rtt_within_five_percent_for_the_smallest() {
    // first 40 ms; 41.9 ms are within 5 %, 42 ms are not: then 10 s, as 20 RTTs are less
    for (micros, probed_after) in [(41_900, None), (42_000, Some(10_100))] {
        let mut picoquic = controller("picoquic", 1);
        let mut probed = None;
        for step in 1..=250 {
            let mut ack = ack(100 * step, 4 * MSS);
            if step > 1 {
                ack.rtt = Some(Duration::from_micros(micros));
            }
            picoquic.on_ack(&ack);
            if picoquic.phase() == Phase::ProbeRtt {
                probed.get_or_insert(100 * step);
                assert_eq!(picoquic.window(), 4 * MSS);
            }
        }
        // more than 10 s after the sample at 100 ms: at 10.2 s
        assert_eq!(probed, probed_after.map(|after| after + 100), "{micros} us");
    }
}

#[test]
fn a_shallow_buffer_costs_packets_but_not_the_rate() {
    // a quarter of the BDP has room for the excess of 1.25; startup overflows it
    for variant in VARIANTS {
        let mut link = Link::new(20, 40);
        link.buffer = link.bdp() / 4;
        let mut controller = controller(variant, 11);
        let mut lossy = false;
        link.run(&mut *controller, seconds(3), |seen| lossy |= seen.recovery == RecoveryPhase::Recovery);
        assert!(lossy, "{variant}: startup sends 2.885 times what the link takes");
        let (mut first, mut last) = (None, 0);
        link.run(&mut *controller, seconds(6), |seen| {
            first.get_or_insert(seen.delivered);
            last = seen.delivered;
        });
        let goodput = (last - first.expect("something is delivered")) / 6;
        assert!(goodput * 100 > link.capacity() * 90, "{variant}: {goodput}");
    }
}

#[test]
fn picoquic_starts_slowly_on_long_paths_and_stops_when_the_rtt_rises() {
    let mut link = Link::new(20, 200);
    let bdp = link.bdp();
    let mut controller = controller("picoquic", 1);
    let mut phases = vec![Phase::Startup];
    let mut exit = 0;
    link.run(&mut *controller, seconds(10), |seen| {
        if phases.last() != Some(&seen.phase) {
            phases.push(seen.phase);
            exit = if seen.phase == Phase::Drain { seen.window } else { exit };
        }
    });
    assert_eq!(phases[..3], [Phase::Startup, Phase::SlowStart, Phase::Drain][..]);
    // more than a quarter of an RTT queued, less than doubled twice
    assert!(exit > bdp && exit < bdp * 4, "{exit} of {bdp}");
}

#[test]
fn linux_conserves_packets_for_a_round_and_restores_the_window() {
    let mut linux = BbrLinux::new(MSS, 100 * MSS, RandomStream::new(1, "bbr"));
    linux.on_ack(&ack(40, 99 * MSS));
    let before = linux.window();
    linux.on_congestion(&event(50, 60 * MSS));
    let mut first = ack(51, 60 * MSS);
    first.phase = RecoveryPhase::Recovery;
    first.lost_bytes = 3 * MSS;
    linux.on_ack(&first);
    assert_eq!(linux.window(), 61 * MSS, "what is in flight and what was acknowledged");
    let mut second = ack(52, 60 * MSS);
    second.phase = RecoveryPhase::Recovery;
    // sent before recovery: the round is not over
    second.rate.as_mut().expect("a sample").prior_delivered = 50_000;
    linux.on_ack(&second);
    assert_eq!(linux.window(), 61 * MSS);
    linux.on_ack(&ack(100, 50 * MSS));
    assert!(linux.window() >= before, "{} after {before}", linux.window());
}

#[test]
fn linux_restores_the_window_after_a_spurious_timeout() {
    let mut linux = BbrLinux::new(MSS, 100 * MSS, RandomStream::new(1, "bbr"));
    linux.on_ack(&ack(40, 99 * MSS));
    let before = linux.window();
    linux.on_timeout(&event(300, 2 * MSS), true);
    assert_eq!(linux.window(), 3 * MSS, "what is in flight and one");
    linux.on_spurious(Time::ZERO + Duration::from_millis(310));
    assert_eq!(linux.window(), before);
}

#[test]
fn timeouts_leave_chromium_alone_and_cut_picoquic_to_two_packets() {
    let mut chromium = controller("chromium", 1);
    chromium.on_ack(&ack(40, 9 * MSS));
    let before = chromium.window();
    chromium.on_timeout(&event(300, 0), true);
    assert_eq!(chromium.window(), before);
    let mut picoquic = controller("picoquic", 1);
    picoquic.on_ack(&ack(40, 9 * MSS));
    picoquic.on_timeout(&event(300, 0), true);
    assert_eq!((picoquic.window(), picoquic.phase()), (2 * 1536, Phase::Drain));
}

#[test]
fn chromium_conserves_and_then_grows_until_a_round_without_losses() {
    let mut chromium = BbrChromium::new(MSS, 100 * MSS, RandomStream::new(1, "bbr"));
    chromium.on_ack(&ack(40, 99 * MSS));
    let mut lossy = ack(50, 60 * MSS);
    (lossy.lost_bytes, lossy.next_position) = (3 * MSS, 1000);
    let mut in_startup = chromium.clone();
    in_startup.on_ack(&lossy);
    assert!(in_startup.window() >= 100 * MSS, "no recovery in startup");
    // three rounds without growth
    for now_ms in [42, 44, 46] {
        chromium.on_ack(&ack(now_ms, 99 * MSS));
    }
    assert_eq!(chromium.phase(), Phase::Drain);
    chromium.on_ack(&lossy);
    assert_eq!(chromium.window(), 61 * MSS, "in flight and acknowledged");
    chromium.on_ack(&ack(60, 59 * MSS));
    assert_eq!(chromium.window(), 61 * MSS, "conservation until position 1000");
    chromium.on_ack(&ack(1001, 59 * MSS));
    assert_eq!(chromium.window(), 80_000, "a round without losses: twice the BDP of 40 kB");
}

/// Rounds without growth: eight acknowledgements that each declare a packet lost end startup when the losses
/// exceed 2 % of the bytes in flight.
#[test]
fn losses_in_a_round_without_growth_end_the_startup_of_chromium() {
    for (losses, in_flight, phase) in
        [(8, 99, Phase::Drain), (7, 99, Phase::Startup), (8, 500, Phase::Startup)]
    {
        let mut chromium = BbrChromium::new(MSS, 100 * MSS, RandomStream::new(1, "bbr"));
        let mut first = ack(40, 99 * MSS);
        first.next_position = 60;
        chromium.on_ack(&first);
        for step in 0..8 {
            let mut lossy = ack(41 + step, in_flight * MSS);
            lossy.lost_bytes = if step < losses { MSS } else { 0 };
            chromium.on_ack(&lossy);
            assert_eq!(chromium.phase(), Phase::Startup, "in the round");
        }
        chromium.on_ack(&ack(61, in_flight * MSS));
        assert_eq!(chromium.phase(), phase, "{losses} losses of {in_flight} packets");
    }
}

#[test]
fn the_cycle_never_begins_with_three_quarters() {
    for variant in ["linux", "chromium"] {
        let mut starts = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let mut link = Link::new(20, 40);
            let mut controller = controller(variant, seed);
            let (mut previous, mut start) = (Phase::Startup, None);
            let capacity = link.capacity();
            link.run(&mut *controller, seconds(1), |seen| {
                if previous == Phase::Drain && seen.phase == Phase::ProbeBandwidth {
                    start.get_or_insert(seen.rate * 100 / capacity);
                }
                previous = seen.phase;
            });
            let gain = start.expect("PROBE_BW");
            assert!(gain >= 95, "{variant}: {gain} %");
            starts.insert(gain >= 115);
        }
        // 1 of 7 begins with 1.25: none of 40 with probability (6/7)^40 = 0.2 %
        assert_eq!(starts.len(), 2, "{variant}: both 1 and 1.25 occur");
    }
}

#[test]
fn packets_sent_while_marked_count_as_limited() {
    let mut limited = ProbeRttLimited::default();
    assert!(!limited.covers(0));
    limited.mark(1000, 400);
    limited.mark(1200, 400);
    assert!(!limited.covers(999) && limited.covers(1000) && limited.covers(1600) && !limited.covers(1601));
    limited.mark(9000, 400);
    assert!(!limited.covers(1600) && limited.covers(9400));
}

#[test]
fn idling_is_neither_the_windows_nor_the_pacers_silence() {
    let at = |millis| Time::ZERO + Duration::from_millis(millis);
    let spacing = Duration::from_millis(10);
    let mut idle = Idle::default();
    assert!(!idle.on_sent(at(0), 0, spacing), "the first packet restarts nothing");
    assert!(!idle.on_sent(at(10), 0, spacing), "the pacer held it back");
    idle.on_ack(at(60));
    assert!(!idle.on_sent(at(60), 0, spacing), "the window held it back");
    assert!(!idle.on_sent(at(90), MSS, spacing), "something is in flight");
    assert!(idle.on_sent(at(101), 0, spacing));
}

/// A path whose queue empties gives the same minimum RTT repeatedly. Since 5.10 such samples do not renew it:
/// after ten seconds BBR probes the round trip; before, it did not while they arrived.
#[test]
fn an_equal_rtt_puts_off_probing_in_old_kernels_only() {
    let probes = |equal_renews| {
        let mut linux =
            BbrLinux::new(MSS, 100 * MSS, RandomStream::new(1, "bbr")).renewed_by_equal_rtt(equal_renews);
        (1..=150).any(|tenth| {
            linux.on_ack(&ack(tenth * 100, 50 * MSS));
            linux.phase() == Phase::ProbeRtt
        })
    };
    assert_eq!((probes(true), probes(false)), (false, true));
}

/// 739/256 times the initial window in an RTT, less 1 %, from the first packet on.
#[test]
fn linux_begins_with_the_rtt_of_the_handshake() {
    let rate = |rtt| {
        let linux = BbrLinux::new(MSS, 10 * MSS, RandomStream::new(1, "bbr")).after_handshake(rtt);
        linux.pacing_rate().expect("BBR paces").bits_per_second()
    };
    let expected = |micros: u64| 8 * 10 * MSS * 1_000_000 / micros * 739 / 256 * 99 / 100;
    let close = |rate: u64, expected: u64| rate.abs_diff(expected) < expected / 1000;
    assert!(close(rate(Some(Duration::from_millis(40))), expected(40_000)));
    assert!(close(rate(None), expected(1000)), "one millisecond is assumed");
}
