//! STREAM frames by hand.

use super::*;

/// Type 1, stream ID 1, offset 0 none: 98 bytes of 100 are data. At offset 98 the offset takes 2 bytes, the
/// remaining 52 bytes and their length 53: Length field. 3 bytes and the end: a frame of FIN alone has a
/// length.
#[test]
fn a_frame_takes_all_the_room_or_says_how_long_it_is() {
    let mut streams = client();
    let id = streams.open(true).unwrap();
    streams.write(id, 150);
    assert_eq!(data(&mut streams, 100), Some((0, 0, 98, false, true)));
    assert_eq!(data(&mut streams, 100), Some((0, 98, 52, false, false)));
    assert_eq!(data(&mut streams, 100), None);
    assert!(!streams.wants_to_send());
    streams.finish(id);
    assert_eq!(data(&mut streams, 3), None);
    assert_eq!(data(&mut streams, 4), Some((0, 150, 0, true, true)), "type, ID, offset: 4 bytes");
    assert_eq!(data(&mut streams, 100), None);
}

/// 96 bytes of data and a header of 2 in a room of 99: a Length field of 2 bytes does not fit.
#[test]
fn a_frame_that_is_a_byte_too_short_goes_without_length() {
    let mut streams = client();
    let id = streams.open(true).unwrap();
    streams.write(id, 96);
    streams.finish(id);
    assert_eq!(data(&mut streams, 2), None, "no room for a byte");
    assert_eq!(data(&mut streams, 99), Some((0, 0, 96, true, true)));
    let id = streams.open(true).unwrap();
    streams.write(id, 96);
    assert_eq!(data(&mut streams, 100), Some((4, 0, 96, false, false)));
}

#[test]
fn an_endless_stream_fills_every_packet() {
    let mut streams = client();
    let id = streams.open(false).unwrap();
    streams.write(id, u64::MAX);
    streams.write(id, 10);
    let mut offset = 0;
    for _ in 0..1000 {
        let (_, at, length, fin, last) = data(&mut streams, 1200).unwrap();
        assert_eq!((at, fin, last), (offset, false, true));
        offset += u64::from(length);
        streams.on_acked(&sent(id, at, length, false));
    }
    assert_eq!(streams.unacked, 0);
    // no datagram is as long; a length has 16 bits
    assert_eq!(data(&mut streams, 200_000).unwrap().2, 65_535 - 1 - 1 - 4);
}

#[test]
fn lost_data_go_before_new_ones_and_what_arrived_all_the_same_is_not_sent_again() {
    let mut streams = client();
    let id = streams.open(true).unwrap();
    streams.write(id, 10_000);
    for _ in 0..4 {
        data(&mut streams, 1004); // 1002, then 1000 bytes each
    }
    streams.on_lost(&sent(id, 1002, 1000, false));
    streams.on_lost(&sent(id, 3002, 1000, false));
    streams.on_acked(&sent(id, 1002, 1000, false)); // spurious
    assert_eq!(data(&mut streams, 504), Some((0, 3002, 500, false, true)));
    streams.on_acked(&sent(id, 3002, 1000, false));
    assert_eq!(data(&mut streams, 1004), Some((0, 4002, 1000, false, true)));
    // the second copy is lost, but the first has arrived
    streams.on_lost(&sent(id, 3002, 500, false));
    assert_eq!(data(&mut streams, 1004), Some((0, 5002, 1000, false, true)));
}

#[test]
fn the_end_is_sent_again_with_its_data_or_alone() {
    let mut streams = client();
    let id = streams.open(false).unwrap();
    streams.write(id, 100);
    streams.finish(id);
    assert_eq!(data(&mut streams, 1000), Some((2, 0, 100, true, false)));
    streams.on_lost(&sent(id, 0, 100, true));
    assert_eq!(data(&mut streams, 52), Some((2, 0, 50, false, true)));
    assert_eq!(data(&mut streams, 1000), Some((2, 50, 50, true, false)));
    streams.on_acked(&sent(id, 0, 50, false));
    streams.on_lost(&sent(id, 50, 50, true));
    streams.on_acked(&sent(id, 50, 50, false)); // the data by another copy, without the end
    assert_eq!(data(&mut streams, 1000), Some((2, 100, 0, true, false)));
    assert_eq!(events(&mut streams), []);
    streams.on_acked(&sent(id, 100, 0, true));
    assert_eq!(events(&mut streams), [StreamEvent::Acknowledged { id }]);
    assert_eq!(streams.table.iter().count(), 0);
    // late acknowledgements or losses of it have no effect
    streams.on_acked(&sent(id, 50, 50, true));
    streams.on_lost(&sent(id, 50, 50, true));
    streams.write(id, 5);
    streams.reset(id);
    assert!(!streams.wants_to_send() && events(&mut streams).is_empty());
}

#[test]
fn a_gap_in_one_stream_holds_up_no_other() {
    let (_, mut server) = pair(&config(10_000, 100_000, 10));
    arrive(&mut server, &stream(0, 100, 100, true)).unwrap();
    arrive(&mut server, &stream(4, 0, 50, false)).unwrap();
    arrive(&mut server, &stream(4, 50, 50, true)).unwrap();
    let received = |id, bytes, end| StreamEvent::Received { id: StreamId(id), bytes, end };
    assert_eq!(events(&mut server), [received(4, 50, false), received(4, 50, true)]);
    arrive(&mut server, &stream(0, 0, 100, false)).unwrap();
    assert_eq!(events(&mut server), [received(0, 200, true)]);
}

#[test]
fn an_oldest_datagram_is_sent_again_for_a_probe() {
    let mut streams =
        pair(&Config { datagram_size: ByteCount::from_bytes(1200), ..config(99_999, 99_999, 9) }).0;
    assert!(!streams.probe(true, 1204));
    let id = streams.open(false).unwrap();
    streams.write(id, 5000);
    streams.finish(id);
    while data(&mut streams, 1004).is_some() {}
    streams.on_acked(&sent(id, 0, 1002, false));
    streams.on_lost(&sent(id, 1002, 1000, false));
    assert!(streams.probe(true, 1204));
    assert_eq!(streams.unacked, 5000 - 1002);
    // 1002 to 2002 was lost, 2002 to 3202 is the probe
    assert_eq!(data(&mut streams, 9999), Some((2, 1002, 2200, false, false)));
    // the second probe of the timeout continues there, the third, too; then no data are left
    for (offset, length, fin) in [(3202, 1200, false), (4402, 598, true)] {
        assert!(streams.probe(false, 1204));
        assert_eq!(data(&mut streams, 9999), Some((2, offset, length, fin, false)));
    }
    assert!(!streams.probe(false, 1204));
    assert!(streams.probe(true, 1204), "it begins again");
    assert_eq!(data(&mut streams, 9999), Some((2, 1002, 1200, false, false)));
    streams.on_acked(&sent(id, 1002, 3998, false));
    streams.begin_probes();
    assert!(streams.probe(true, 1204), "the end is in flight");
    assert_eq!(data(&mut streams, 1000), Some((2, 5000, 0, true, false)));
}

#[test]
fn schedulers_order_streams() {
    use crate::options::StreamScheduler::{Fifo, Priority as ByPriority, RoundRobin};
    let open = |stream_scheduler| {
        let mut config = config(1 << 20, 1 << 30, 100);
        config.quic.stream_scheduler = stream_scheduler;
        let mut streams = pair(&config).0;
        for index in 0..3 {
            let id = streams.open(true).unwrap();
            streams.write(id, 2500);
            // 0: urgency 3; 4 and 8: urgency 1, incremental
            let priority = Priority { urgency: 1, incremental: true };
            streams.set_priority(id, if index > 0 { priority } else { Priority::default() });
        }
        streams
    };
    assert_eq!(order(&mut open(Fifo), 10), [0, 0, 0, 4, 4, 4, 8, 8, 8]);
    assert_eq!(order(&mut open(RoundRobin), 10), [0, 4, 8, 0, 4, 8, 0, 4, 8]);
    assert_eq!(order(&mut open(ByPriority), 10), [4, 8, 4, 8, 4, 8, 0, 0, 0]);
    let mut changed = open(ByPriority);
    assert_eq!(order(&mut changed, 1), [4]);
    changed.set_priority(StreamId(0), Priority { urgency: 0, incremental: false });
    assert_eq!(order(&mut changed, 10), [0, 0, 0, 8, 4, 8, 4, 8]);
}

/// Lost data wait for the turn of their stream.
#[test]
fn the_order_of_streams_holds_for_lost_data_too() {
    let mut streams = client();
    let ids = [(); 2].map(|()| streams.open(true).unwrap());
    ids.iter().for_each(|id| streams.write(*id, u64::MAX));
    assert_eq!(order(&mut streams, 3), [0, 4, 0]);
    streams.on_lost(&sent(ids[0], 0, 998, false));
    let next: Vec<_> =
        (0..3).map(|_| data(&mut streams, 1000).unwrap()).map(|frame| (frame.0, frame.1)).collect();
    assert_eq!(next, [(4, 998), (0, 0), (4, 1994)]);
}

#[test]
fn a_thousand_streams_take_turns() {
    let mut streams = client();
    for _ in 0..1000 {
        let id = streams.open(true).unwrap();
        streams.write(id, u64::MAX);
    }
    for _ in 0..3 {
        assert!(order(&mut streams, 1000).into_iter().eq((0..1000).map(|index| 4 * index)));
    }
}

#[test]
fn memory_does_not_grow_with_streams_that_are_over() {
    let (mut client, mut server) = pair(&config(1000, 2000, 10));
    for index in 0..20_000u64 {
        let id = client.open(true).unwrap_or_else(|| panic!("{index}"));
        client.write(id, 100);
        client.finish(id);
        exchange(&mut client, &mut server);
        server.write(id, 300);
        server.finish(id);
        exchange(&mut server, &mut client);
        exchange(&mut client, &mut server);
        assert!(events(&mut server).len() >= 2);
        assert!(events(&mut client).contains(&StreamEvent::Received { id, bytes: 300, end: true }));
        assert!(client.table.capacity() <= 4 && server.table.capacity() <= 4);
    }
    assert_eq!((client.fresh, client.blocked, server.unacked), (0, 0, 0));
    assert!(client.control.is_empty() && server.control.is_empty());
}

/// Delivers and acknowledges all frames that `from` has to send.
fn exchange(from: &mut Streams, to: &mut Streams) {
    while from.wants_to_send() {
        let next = from.next_control(Time::ZERO, 1000).or_else(|| from.next_data(1000));
        let (frame, sent) = next.expect("it wants to send");
        arrive(to, &frame).unwrap();
        from.on_acked(&sent);
    }
}
