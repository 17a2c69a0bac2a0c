//! Test cases of the draft's appendix on a link of 20 Mbit/s and 40 ms (BDP: 81 packets of 1250 bytes), and the arithmetic of
//! losses by hand.

use super::*;
use crate::congestion::link_by_hand::{Link, MSS, Seen};
use crate::recovery::delivery_rate::SentState;

fn bbr(seed: u64) -> BbrV3 {
    BbrV3::new(MSS, 10 * MSS, Offload::Quic, RandomStream::new(seed, "bbr"))
}

/// Runs until the state is `state`, for at most `time`.
fn reach(link: &mut Link, bbr: &mut BbrV3, state: State, time: Duration) {
    let end = link.now + time;
    while bbr.state != state {
        assert!(link.now < end, "{state:?} was not reached by {}: {:?}", link.now, bbr.state);
        link.run(bbr, Duration::from_millis(1), |_| {});
    }
}

/// Phases in their order, each with the time at which it began.
fn phases(link: &mut Link, bbr: &mut BbrV3, time: Duration) -> Vec<(Phase, Time)> {
    let mut found: Vec<(Phase, Time)> = Vec::new();
    link.run(bbr, time, |seen: &Seen| {
        if found.last().map(|last| last.0) != Some(seen.phase) {
            found.push((seen.phase, seen.now));
        }
    });
    found
}

/// "Exiting STARTUP on Bandwidth Plateau", "Exiting DRAIN Based on Inflight", "Exiting PROBE_DOWN on Inflight": the estimate is
/// within 2 % of the link's rate.
#[test]
fn startup_ends_at_the_plateau_and_drain_at_the_bdp() {
    let mut link = Link::new(20, 40);
    let mut bbr = bbr(1);
    reach(&mut link, &mut bbr, State::Drain, Duration::from_secs(2));
    assert!(bbr.full_pipe.is_reached() && bbr.full_pipe.is_full_now());
    assert_eq!(bbr.gains(), (DRAIN_PACING_GAIN, DEFAULT_CWND_GAIN));
    let (capacity, bw) = (link.capacity(), bbr.data_rate.max_bw());
    assert!((capacity * 98 / 100..=capacity * 102 / 100).contains(&bw), "{bw} of {capacity}");
    // the window limits the queue to a BDP
    assert!(bbr.control.cwnd() <= 2 * link.bdp() + 20 * MSS);
    let mut drained = None;
    link.run(&mut bbr, Duration::from_secs(1), |seen: &Seen| {
        if seen.phase != Phase::Drain && drained.is_none() {
            drained = Some(seen.in_flight);
        }
    });
    let in_flight = drained.expect("DRAIN ends");
    // PROBE_DOWN ends with the same acknowledgement: there is no more than the BDP in flight
    assert!(in_flight <= link.bdp() + 2 * MSS, "{in_flight} of {}", link.bdp());
    assert_eq!(bbr.state, State::ProbeCruise);
}

/// DOWN, CRUISE, REFILL for a round, UP until the rate stops growing; a probe each 2 to 3 s, or 63 rounds of
/// 40 ms; cruising at 99 % of the bandwidth, without a queue.
#[test]
fn the_cycle_probes_every_two_to_three_seconds() {
    let mut link = Link::new(20, 40);
    let mut bbr = bbr(1);
    reach(&mut link, &mut bbr, State::ProbeCruise, Duration::from_secs(3));
    let capacity = link.capacity();
    let found = phases(&mut link, &mut bbr, Duration::from_millis(4500));
    use Phase::{ProbeCruise, ProbeDown, ProbeRefill, ProbeUp};
    let names: Vec<_> = found.iter().map(|(phase, _)| *phase).collect();
    assert!(names.starts_with(&[ProbeCruise, ProbeRefill, ProbeUp, ProbeDown, ProbeCruise]), "{names:?}");
    let refills: Vec<_> =
        found.iter().filter(|(phase, _)| *phase == ProbeRefill).map(|(_, at)| *at).collect();
    let round = link.base_rtt();
    let up = found.iter().find(|(phase, _)| *phase == ProbeUp).expect("a probe").1;
    assert!((round..=round * 2).contains(&up.since(refills[0])), "one round of REFILL");
    for pair in refills.windows(2) {
        let interval = pair[1].since(pair[0]);
        assert!((Duration::from_secs(2)..=Duration::from_millis(3400)).contains(&interval), "{interval}");
    }
    reach(&mut link, &mut bbr, State::ProbeCruise, Duration::from_secs(2));
    let rate = bbr.control.pacing_rate();
    assert!((capacity * 97 / 100..=capacity).contains(&rate), "{rate} of {capacity}");
}

/// "Entering and Exiting PROBE_RTT": after 5 s without a smaller RTT half a BDP for 200 ms and a round, then CRUISE.
#[test]
fn probe_rtt_comes_every_five_seconds() {
    let mut link = Link::new(20, 40);
    let mut bbr = bbr(1);
    let mut least = u64::MAX;
    let mut probes: Vec<Time> = Vec::new();
    let mut last = (Phase::Startup, Time::ZERO);
    let mut durations = Vec::new();
    link.run(&mut bbr, Duration::from_secs(18), |seen: &Seen| {
        if seen.phase != last.0 {
            if seen.phase == Phase::ProbeRtt {
                probes.push(seen.now);
            }
            if last.0 == Phase::ProbeRtt {
                durations.push(seen.now.since(last.1));
                assert_eq!(seen.phase, Phase::ProbeCruise);
            }
            last = (seen.phase, seen.now);
        }
        if seen.phase == Phase::ProbeRtt {
            least = least.min(seen.in_flight);
        }
    });
    assert_eq!(probes.len(), 3, "{probes:?}");
    assert!(durations.iter().all(|time| *time >= PROBE_RTT_DURATION), "{durations:?}");
    assert!(durations.iter().all(|time| *time <= PROBE_RTT_DURATION + link.base_rtt() * 4), "{durations:?}");
    assert!(least <= link.bdp() / 2 + MSS, "{least}");
}

/// A buffer of a quarter of the BDP: startup ends by its losses, which set `inflight_longterm`, and later
/// probes end there. Losses stay at the threshold of 2 %, whereas version 1 keeps losing packets.
#[test]
fn losses_bound_what_is_in_flight() {
    let mut link = Link::new(20, 40);
    link.buffer = link.bdp() / 4;
    let mut bbr = bbr(1);
    let (mut lost, mut delivered, mut ups) = (0, 0, 0);
    let mut phase = Phase::Startup;
    link.run(&mut bbr, Duration::from_secs(5), |_| {});
    let before = link.lost();
    let mut first = None;
    link.run(&mut bbr, Duration::from_secs(30), |seen: &Seen| {
        first.get_or_insert(seen.delivered);
        ups += u32::from(seen.phase == Phase::ProbeUp && phase != Phase::ProbeUp);
        (phase, delivered) = (seen.phase, seen.delivered);
    });
    lost += link.lost() - before;
    let bound = bbr.data_volume.longterm().expect("losses have set it");
    // 1.25 BDP fit
    assert!((link.bdp()..=link.bdp() * 3 / 2).contains(&bound), "{bound} of {}", link.bdp());
    assert!(ups >= 8, "{ups}");
    delivered -= first.expect("something is delivered");
    assert!(lost * 100 < delivered * 2, "{lost} of {delivered}");
    assert!(delivered > link.capacity() * 28, "the link is used");
}

/// Stamps of RTTs are relative to the connection, not to the run.
#[test]
fn a_flow_that_begins_late_does_not_begin_with_probe_rtt() {
    let mut link = Link::new(20, 40);
    link.now = Time::ZERO + Duration::from_secs(20);
    let mut bbr = bbr(1);
    let found = phases(&mut link, &mut bbr, Duration::from_secs(2));
    let names: Vec<_> = found.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(names[..2], [Phase::Startup, Phase::Drain]);
    assert!(!names.contains(&Phase::ProbeRtt), "{names:?}");
}

/// "Increasing Bandwidth 10x": within some cycles.
#[test]
fn ten_times_the_bandwidth_is_found() {
    let mut link = Link::new(10, 40);
    let mut bbr = bbr(1);
    link.run(&mut bbr, Duration::from_secs(4), |_| {});
    link.rate = DataRate::from_mbps(100);
    link.run(&mut bbr, Duration::from_secs(20), |_| {});
    let (capacity, bw) = (link.capacity(), bbr.data_rate.max_bw());
    assert!(bw * 100 >= capacity * 95, "{bw} of {capacity}");
}

/// "Decreasing Bandwidth 10x": the filter drops the old bandwidth after two cycles.
#[test]
fn a_tenth_of_the_bandwidth_is_accepted() {
    let mut link = Link::new(100, 40);
    link.buffer = link.bdp();
    let mut bbr = bbr(1);
    link.run(&mut bbr, Duration::from_secs(4), |_| {});
    link.rate = DataRate::from_mbps(10);
    link.run(&mut bbr, Duration::from_secs(20), |_| {});
    let (capacity, bw) = (link.capacity(), bbr.data_rate.max_bw());
    assert!((capacity * 95 / 100..=capacity * 110 / 100).contains(&bw), "{bw} of {capacity}");
}

/// "Correctly Managing Sub-Packet BDPs": four packets are in flight.
#[test]
fn four_packets_are_the_floor() {
    let mut link = Link::new(1, 2);
    let mut bbr = bbr(1);
    link.run(&mut bbr, Duration::from_secs(4), |_| {});
    assert!(link.bdp() < 2 * MSS && bbr.control.cwnd() >= MIN_PIPE_CWND * MSS);
    let (capacity, rate) = (link.capacity(), bbr.control.pacing_rate());
    assert!((capacity / 2..=capacity * 5 / 4).contains(&rate), "{rate} of {capacity}");
}

fn lost(bytes: u64, in_flight: u64, total_lost: u64) -> LostPacket {
    let state = SentState { in_flight, ..SentState::default() };
    LostPacket { bytes, state, total_lost, end: 1, ..LostPacket::default() }
}

/// Of 100 packets in flight, the third lost is above 2 %: 99 packets before it, two of them lost, and
/// (2 % x 99 - 2) / 98 % of a packet is below 0.
#[test]
fn a_probe_that_loses_too_much_sets_the_bound_and_ends() {
    let mut bbr = bbr(1);
    bbr.state = State::ProbeUp;
    bbr.full_pipe.set_reached();
    bbr.probe_cycle.start_up();
    bbr.handle_lost_packet(&lost(MSS, 100 * MSS, 2 * MSS));
    assert_eq!((bbr.state, bbr.data_volume.longterm()), (State::ProbeUp, None), "2 % are tolerated");
    bbr.handle_lost_packet(&lost(MSS, 100 * MSS, 3 * MSS));
    assert_eq!((bbr.state, bbr.data_volume.longterm()), (State::ProbeDown, Some(99 * MSS)));
    assert!(bbr.probe_cycle.was_too_high() && !bbr.probe_cycle.is_probe_sample());
    // another loss, and the start of recovery: the state before the first loss is kept
    bbr.handle_lost_packet(&lost(MSS, 100 * MSS, 4 * MSS));
    bbr.on_congestion(&CongestionEvent::default());
    // "Handling Spurious Fast Recovery": the probe restarts, and the bound is restored
    bbr.on_spurious(Time::ZERO);
    assert_eq!((bbr.state, bbr.data_volume.longterm()), (State::ProbeRefill, None));
}

/// Once in a round: 70 % of the window and of the bandwidth, or the amounts delivered.
#[test]
fn losses_while_cruising_lower_the_short_term_bounds() {
    let mut bbr = bbr(1);
    bbr.state = State::ProbeCruise;
    bbr.control.grow_cwnd(90 * MSS, 100 * MSS, true, 0);
    bbr.data_rate.update_max_bw(1_000_000, false);
    bbr.data_rate.update_latest(600_000);
    bbr.data_volume.update_latest(80 * MSS);
    bbr.handle_lost_packet(&lost(MSS, 100 * MSS, MSS));
    bbr.loss_round.update(0, 80 * MSS);
    bbr.update_congestion_signals();
    assert_eq!((bbr.data_rate.shortterm(), bbr.data_volume.shortterm()), (Some(700_000), Some(80 * MSS)));
    bbr.handle_lost_packet(&lost(MSS, 100 * MSS, 2 * MSS));
    bbr.state = State::ProbeRefill;
    bbr.reset_short_term_model();
    bbr.update_congestion_signals();
    assert_eq!(bbr.data_rate.shortterm(), None, "not while probing");
}
