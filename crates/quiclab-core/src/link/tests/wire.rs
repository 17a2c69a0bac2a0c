//! Framing, MTU and the limit of a delay in a whole link, computed by hand.

use super::*;

/// A link of ATM cells at 8 Mbit/s: 1488 B take 1643 us and 62 B take 106 us; a policer of 53 B passes one cell only.
#[test]
fn framing_counts_for_serialisation_and_policer() {
    let framing = Some(crate::link::Framing { kind: crate::link::FramingKind::Atm, ..Default::default() });
    let config = || crate::link::LinkConfig { framing, ..byte_per_microsecond(QueueConfig::default()) };
    let mut atm = link(&config());
    let mut out = Outputs::default();
    for size in [1488, 62] {
        atm.receive(
            Time::ZERO,
            Port(0),
            Box::new(Packet { size: bytes(size), ..Packet::default() }),
            &mut out,
        );
    }
    let mut left = Vec::new();
    while let Some(now) = atm.next_wake() {
        atm.wake(now, &mut out);
        left.extend(out.packets.drain(..).map(|_| now.as_nanos() / 1000));
    }
    assert_eq!(left, [1643, 1643 + 106]);
    let policer = Some(crate::link::Policer { rate: DataRate::from_mbps(1), burst: bytes(53) });
    let mut policed = link(&crate::link::LinkConfig { policer, ..config() });
    let mut drops = Outputs { record_drops: true, ..Outputs::default() };
    for size in [49, 48] {
        policed.receive(
            Time::ZERO,
            Port(0),
            Box::new(Packet { size: bytes(size), ..Packet::default() }),
            &mut drops,
        );
    }
    assert_eq!(drops.drops.len(), 1);
}

/// A packet larger than the MTU is discarded, or has additional headers on the wire and is lost with any of its
/// fragments.
#[test]
fn a_packet_above_the_mtu_is_dropped_or_cut() {
    let config = |above_mtu| crate::link::LinkConfig {
        mtu: Some(bytes(1280)),
        above_mtu,
        ..byte_per_microsecond(QueueConfig::default())
    };
    let send = |link: &mut Link, size: u64| {
        let mut out = Outputs { record_drops: true, ..Outputs::default() };
        link.receive(
            Time::ZERO,
            Port(0),
            Box::new(Packet { size: bytes(size), ..Packet::default() }),
            &mut out,
        );
        out.drops.iter().map(|(reason, _)| *reason).collect::<Vec<_>>()
    };
    let mut hole = link(&config(crate::link::AboveMtu::Drop));
    assert_eq!(send(&mut hole, 1280), []);
    assert_eq!(send(&mut hole, 1281), [DropReason::TooLarge]);
    let mut cutting = link(&config(crate::link::AboveMtu::Fragment));
    assert_eq!(send(&mut cutting, 1500), []);
    assert_eq!(cutting.next_wake(), Some(Time::from_nanos(1_520_000)));
    // the loss of each fragment is drawn: of four in a row one is the third packet of the list
    let loss = Some(Loss::Listed { packets: vec![2] });
    let mut lossy = link(&crate::link::LinkConfig { loss, ..config(crate::link::AboveMtu::Fragment) });
    assert_eq!(send(&mut lossy, 5000), [DropReason::Loss]);
}

/// Without a rate, packets at 0, 1, 2 ms and so on are in transit for 10 ms, five at most: each window of 10 ms passes
/// five, and one that arrives as another leaves finds its slot.
#[test]
fn a_delay_has_a_limit_of_packets() {
    for reorder in [false, true] {
        let delay = Delay { mean: Duration::from_millis(10), limit_packets: Some(5), ..Delay::default() };
        let mut limited = link(&crate::link::LinkConfig { delay, ..Default::default() });
        if reorder {
            limited.flight = crate::link::flight::Flight::new(true);
        }
        let mut out = Outputs { record_drops: true, ..Outputs::default() };
        for ms in 0..30 {
            let now = Time::ZERO + Duration::from_millis(ms);
            limited.receive(now, Port(0), Box::new(Packet { id: ms, ..Packet::default() }), &mut out);
        }
        let dropped: Vec<u64> = out
            .drops
            .iter()
            .map(|(reason, packet)| {
                assert_eq!(*reason, DropReason::DelayFull);
                packet.id
            })
            .collect();
        assert_eq!(dropped, (0..30).filter(|ms| ms % 10 >= 5).collect::<Vec<_>>());
        let mut statistics = Metrics::default();
        limited.statistics(Time::ZERO + Duration::from_millis(30), &mut statistics);
        assert_eq!(statistics.get("dropped_delay_full_packets"), Some(15.0));
    }
}
