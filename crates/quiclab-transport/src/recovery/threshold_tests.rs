use super::*;
use crate::testing::ms as at;
use proptest::prelude::*;
use std::collections::BTreeMap;

const RTT: Duration = Duration::from_millis(80);

fn packet(millis: u64) -> SentPacket {
    SentPacket {
        time: at(millis),
        bytes: 1200,
        ack_eliciting: true,
        ecn_capable: false,
        position: 0,
        state: SentState::default(),
    }
}

/// Space with packets 0 to `count` - 1, one each millisecond.
fn sent(count: u64, thresholds: Thresholds) -> LossDetection {
    let mut space = LossDetection::<()>::new(thresholds);
    for number in 0..count {
        space.on_sent(number, packet(number), ());
    }
    space
}

fn ack(space: &mut LossDetection, now: u64, ranges: &[RangeInclusive<u64>]) -> (AckSummary, Vec<u64>) {
    let mut numbers = Vec::new();
    let summary = space.on_ack(at(now), ranges.iter().cloned(), RTT, |acked, ()| numbers.push(acked.number));
    (summary.expect("all were sent"), numbers)
}

fn detect(space: &mut LossDetection, now: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    space.detect_lost(at(now), RTT, |lost, ()| numbers.push(lost.number));
    numbers
}

/// Section 6.1.1: with a threshold of 3, with packet 4 acknowledged 0 and 1 are lost. 2 and 3 wait for 9/8 x
/// 80 ms.
#[test]
fn packets_are_lost_by_number_then_by_time() {
    let mut space = sent(6, Thresholds::default());
    assert_eq!(ack(&mut space, 81, &[4..=4]).1, [4]);
    assert_eq!(detect(&mut space, 81), [0, 1]);
    assert_eq!(space.loss_time(), Some(at(92)));
    assert_eq!(detect(&mut space, 91), [0u64; 0]);
    assert_eq!(detect(&mut space, 92), [2]);
    assert_eq!((space.loss_time(), space.in_flight()), (Some(at(93)), 2400));
    assert_eq!(detect(&mut space, 93), [3]);
    // 5 is after the largest acknowledged
    assert_eq!((space.loss_time(), space.in_flight()), (None, 1200));
    assert_eq!(detect(&mut space, 9999), [0u64; 0]);
}

/// Section 6.1.2: max(kTimeThreshold x RTT, kGranularity).
#[test]
fn the_loss_delay_is_a_multiple_of_the_rtt_and_a_millisecond_at_least() {
    let delay = |time, rtt| {
        LossDetection::<()>::new(Thresholds { time, ..Thresholds::default() })
            .loss_delay(Duration::from_nanos(rtt))
    };
    assert_eq!(delay(1.125, 80_000_000), Duration::from_millis(90));
    assert_eq!(delay(1.25, 80_000_000), Duration::from_millis(100));
    assert_eq!(delay(1.125, 800_000), Duration::from_millis(1));
    assert_eq!(delay(1.125, 80_000_001), Duration::from_nanos(90_000_002)); // 10 000 000.125 rounds up
}

#[test]
fn an_acknowledgement_counts_once_and_gives_a_sample_of_its_largest_packet() {
    let mut space = sent(5, Thresholds::default());
    let (summary, numbers) = ack(&mut space, 80, &[3..=4, 0..=1]);
    assert_eq!(numbers, [3, 4, 0, 1]);
    assert_eq!(summary, AckSummary { packets: 4, rtt_sample_of: Some(at(4)), spurious: 0 });
    // the largest is not new: no sample (section 5.1)
    let (summary, numbers) = ack(&mut space, 80, &[0..=4]);
    assert_eq!((summary.rtt_sample_of, numbers), (None, vec![2]));
    assert_eq!((space.in_flight(), space.last_ack_eliciting()), (0, None));
}

#[test]
fn what_is_not_ack_eliciting_gives_no_sample() {
    let mut space = LossDetection::<()>::new(Thresholds::default());
    space.on_sent(0, SentPacket { ack_eliciting: false, bytes: 0, ..packet(0) }, ());
    assert_eq!(space.last_ack_eliciting(), None);
    assert_eq!(ack(&mut space, 80, &[0..=0]).0.rtt_sample_of, None);
}

#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut space = sent(3, Thresholds::default());
    let result = space.on_ack(at(9), [0..=3].into_iter(), RTT, |_, ()| panic!("nothing is taken in"));
    assert_eq!(result, Err(UnsentPacketAcked { number: 3, next: 3 }));
    assert_eq!(space.in_flight(), 3600);
}

#[test]
fn skipped_numbers_are_neither_acknowledged_nor_lost() {
    let mut space = LossDetection::<()>::new(Thresholds::default());
    for number in [0, 1, 5, 9] {
        space.on_sent(number, packet(number), ());
    }
    assert_eq!(ack(&mut space, 90, &[0..=0, 2..=4, 9..=9]).1, [0, 9]);
    assert_eq!(detect(&mut space, 90), [1, 5]);
    assert_eq!(space.in_flight(), 0);
}

/// Chromium: 10 is declared lost when 13 is acknowledged, and acknowledged when 17 is the largest: the
/// threshold becomes 17 - 10 + 1 = 8.
#[test]
fn an_adaptive_packet_threshold_becomes_what_would_have_sufficed() {
    let mut space = sent(40, Thresholds { adaptive_packets: true, ..Thresholds::default() });
    ack(&mut space, 80, &[0..=9, 11..=13]);
    assert_eq!(detect(&mut space, 80), [10]);
    ack(&mut space, 81, &[14..=17]);
    let (summary, numbers) = ack(&mut space, 82, &[10..=18]);
    assert_eq!((summary.spurious, numbers), (1, vec![10, 18]));
    assert_eq!(space.packet_threshold(), 8);
    // 26 - 19 = 7 is not enough any more, 27 - 19 = 8 is
    ack(&mut space, 83, &[20..=26]);
    assert_eq!(detect(&mut space, 83), [0u64; 0]);
    ack(&mut space, 84, &[27..=27]);
    assert_eq!(detect(&mut space, 84), [19]);
}

/// 1/8 of 80 ms: lost at 90 ms. For an acknowledgement after 105 ms, 1/4 gives 100 ms, 1/2 gives 120 ms.
#[test]
fn an_adaptive_time_threshold_widens_until_it_suffices() {
    let mut space = sent(3, Thresholds { adaptive_time: true, ..Thresholds::default() });
    ack(&mut space, 85, &[1..=1]);
    assert_eq!(detect(&mut space, 90), [0]);
    ack(&mut space, 105, &[0..=0]);
    assert_eq!(space.loss_delay(RTT), Duration::from_millis(120));
    // it does not grow beyond one RTT more
    space.adapt(0, Duration::from_secs(9), RTT);
    assert_eq!(space.loss_delay(RTT), Duration::from_millis(160));
}

#[test]
fn fixed_thresholds_stay_what_they_are() {
    let mut space = sent(9, Thresholds::default());
    ack(&mut space, 85, &[8..=8]);
    assert_eq!(detect(&mut space, 85), [0, 1, 2, 3, 4, 5]);
    assert_eq!(ack(&mut space, 700, &[0..=8]).0.spurious, 6);
    assert_eq!((space.packet_threshold(), space.loss_delay(RTT)), (3, Duration::from_millis(90)));
    assert_eq!(space.in_flight(), 0);
}

#[test]
fn forgotten_losses_are_not_recognised() {
    let mut space = sent(9, Thresholds::default());
    ack(&mut space, 85, &[8..=8]);
    detect(&mut space, 85);
    space.forget_lost(at(3));
    let (summary, numbers) = ack(&mut space, 86, &[0..=8]);
    assert_eq!((summary.spurious, numbers), (3, vec![3, 4, 5, 6, 7]));
}

/// RFC 9002 section 7.6.2: packets between two losses.
#[test]
fn a_loss_follows_another_unless_something_between_was_acknowledged() {
    fn follows(space: &mut LossDetection, now: u64) -> Vec<(u64, bool)> {
        let mut result = Vec::new();
        space.detect_lost(at(now), RTT, |lost, ()| result.push((lost.number, lost.follows)));
        result
    }
    let mut space = LossDetection::<()>::new(Thresholds::default());
    // 4 is skipped
    for number in (0..4).chain(5..16) {
        space.on_sent(number, packet(number), ());
    }
    ack(&mut space, 80, &[0..=0, 6..=6]);
    assert_eq!(follows(&mut space, 80), [(1, true), (2, true), (3, true)]);
    // 5 follows 3, in another detection; 7 does not follow 5, 6 is acknowledged
    ack(&mut space, 81, &[10..=10]);
    assert_eq!(follows(&mut space, 81), [(5, true), (7, false)]);
    // also if the packets between have left the queue
    ack(&mut space, 82, &[1..=12]);
    ack(&mut space, 83, &[15..=15]);
    assert_eq!(follows(&mut space, 9000), [(13, false), (14, true)]);
}

#[test]
fn discarding_returns_what_was_in_flight() {
    let mut space = sent(5, Thresholds::default());
    ack(&mut space, 80, &[1..=1]);
    detect(&mut space, 80);
    assert!(space.loss_time().is_some());
    assert_eq!(space.discard(), 4800);
    assert_eq!((space.in_flight(), space.loss_time(), space.last_ack_eliciting()), (0, None, None));
}

/// RFC 9002 section 7.6.3, in seconds: packets 2 to 8 are declared lost when 9 is acknowledged.
#[test]
fn the_example_of_persistent_congestion() {
    use crate::recovery::persistent::PersistentCongestion;
    let mut space = LossDetection::<()>::new(Thresholds::default());
    let send =
        |space: &mut LossDetection, number, seconds: u64| space.on_sent(number, packet(seconds * 1000), ());
    send(&mut space, 1, 0);
    send(&mut space, 2, 1);
    ack(&mut space, 1200, &[1..=1]);
    detect(&mut space, 1200);
    for (number, seconds) in [(3, 2), (4, 3), (5, 4), (6, 5), (7, 6), (8, 8), (9, 12)] {
        send(&mut space, number, seconds);
    }
    ack(&mut space, 12_200, &[9..=9]);
    let (mut run, mut lost, mut established) = (PersistentCongestion::default(), Vec::new(), Vec::new());
    let rtt = Duration::from_millis(200); // 8 was sent more than 9/8 of it ago
    // the example presumes a sample before packet 2: packet 1 gives one only at 1.2
    let first_sample = Some(at(0));
    space.detect_lost(at(12_200), rtt, |loss, ()| {
        lost.push(loss.number);
        let sent = loss.packet.time;
        if run.on_lost(sent, true, loss.follows, first_sample, Duration::from_secs(6)) {
            established.push(loss.number);
        }
    });
    assert_eq!((lost, established), ((2..=8).collect(), vec![8]));
}

#[derive(Clone, Debug)]
enum Step {
    Send {
        skip: u64,
        bytes: u64,
        ack_eliciting: bool,
    },
    /// Acknowledges some of the last packets, selected by bits.
    Ack {
        back: u64,
        bits: u32,
    },
    Wait {
        micros: u64,
    },
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u64..3, 40u64..1500, any::<bool>())
            .prop_map(|(skip, bytes, ack_eliciting)| Step::Send { skip: skip / 2, bytes, ack_eliciting }),
        3 => (0u64..40, any::<u32>()).prop_map(|(back, bits)| Step::Ack { back, bits }),
        3 => (0u64..60_000).prop_map(|micros| Step::Wait { micros }),
        1 => Just(Step::Forget),
    ]
}

/// State of a packet in the model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Outstanding,
    Lost,
    Acked,
}

proptest! {
    /// Comparison with a map of all packets: each is acknowledged at most once and lost at most once,
    /// acknowledged after its loss only as spurious; bytes in flight are those of the outstanding ones; after
    /// a detection exactly those are lost that section 6.1 defines as lost.
    #[test]
    fn packets_are_conserved_and_lost_as_defined(
        adaptive in any::<bool>(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let thresholds = Thresholds { adaptive_packets: adaptive, adaptive_time: adaptive, ..Thresholds::default() };
        let mut space = LossDetection::<()>::new(thresholds);
        let mut model = BTreeMap::<u64, (SentPacket, Fate)>::new();
        let (mut now, mut next, mut largest) = (Time::ZERO, 0, None::<u64>);
        let mut forgotten_before = Time::ZERO;
        for step in steps {
            match step {
                Step::Send { skip, bytes, ack_eliciting } => {
                    let packet = SentPacket { time: now, bytes, ack_eliciting, ..SentPacket::default() };
                    space.on_sent(next + skip, packet, ());
                    model.insert(next + skip, (packet, Fate::Outstanding));
                    next += skip + 1;
                }
                Step::Ack { back, bits } => {
                    let start = next.saturating_sub(back);
                    let numbers: Vec<u64> = (start..next)
                        .filter(|number| model.contains_key(number) && bits >> (number % 32) & 1 == 1)
                        .collect();
                    let ranges = numbers.iter().rev().map(|number| *number..=*number);
                    let mut seen = Vec::new();
                    let summary = space.on_ack(now, ranges, RTT, |acked, ()| seen.push(*acked)).unwrap();
                    prop_assert_eq!(summary.packets as usize, seen.len());
                    for acked in &seen {
                        let (packet, fate) = model.get_mut(&acked.number).unwrap();
                        prop_assert!(numbers.contains(&acked.number));
                        prop_assert!(*fate != Fate::Acked, "acknowledged once");
                        prop_assert_eq!((acked.packet, acked.spurious), (*packet, *fate == Fate::Lost));
                        *fate = Fate::Acked;
                    }
                    // packets not reported had been acknowledged, or lost and removed
                    for number in &numbers {
                        let (packet, fate) = model[number];
                        let forgotten = fate == Fate::Lost && packet.time < forgotten_before;
                        prop_assert!(fate == Fate::Acked || forgotten);
                    }
                    largest = largest.max(numbers.last().copied());
                }
                Step::Wait { micros } => now += Duration::from_micros(micros),
                Step::Forget => {
                    space.forget_lost(now);
                    forgotten_before = now;
                }
            }
            let (delay, threshold) = (space.loss_delay(RTT), space.packet_threshold());
            let is_lost = |number: u64, packet: &SentPacket| {
                largest.is_some_and(|largest| {
                    number < largest && (largest - number >= threshold || packet.time + delay <= now)
                })
            };
            let due: Vec<u64> = model
                .iter()
                .filter(|(number, (packet, fate))| *fate == Fate::Outstanding && is_lost(**number, packet))
                .map(|(number, _)| *number)
                .collect();
            let mut lost = Vec::new();
            space.detect_lost(now, RTT, |loss, ()| lost.push(loss.number));
            prop_assert_eq!(&lost, &due);
            for number in lost {
                model.get_mut(&number).unwrap().1 = Fate::Lost;
            }
            let outstanding = || model.iter().filter(|(_, (_, fate))| *fate == Fate::Outstanding);
            let waiting = outstanding().find(|(number, _)| largest.is_some_and(|largest| **number < largest));
            prop_assert_eq!(space.loss_time(), waiting.map(|(_, (packet, _))| packet.time + delay));
            let in_flight: u64 = outstanding().map(|(_, (packet, _))| packet.bytes).sum();
            prop_assert_eq!(space.in_flight(), in_flight);
            let elicits = outstanding().any(|(_, (packet, _))| packet.ack_eliciting);
            prop_assert_eq!(space.last_ack_eliciting().is_some(), elicits);
        }
    }
}

#[test]
fn the_oldest_of_some_packets_is_declared_lost_whatever_the_thresholds_say() {
    let mut space = sent(4, Thresholds::default());
    ack(&mut space, 10, &[0..=0]);
    let mut lost = Vec::new();
    space.lose(1, |packet, ()| packet.ack_eliciting, |packet, ()| lost.push(packet.number));
    assert_eq!((lost, space.outstanding().count()), (vec![1], 2));
}
