//! Windows and numbers of streams by hand.

use super::*;

#[test]
fn a_stream_stops_at_its_limit_and_says_so_once() {
    let mut streams = pair(&config(1000, 10_000, 10)).0;
    let id = streams.open(true).unwrap();
    streams.write(id, 1500);
    assert_eq!(streams.credit(), 10_000);
    assert_eq!(data(&mut streams, 2000), Some((0, 0, 1000, false, false)));
    assert_eq!((streams.credit(), data(&mut streams, 2000)), (0, None));
    let blocked = QuicFrame::StreamDataBlocked { stream_id: 0, limit: 1000 };
    assert_eq!(control(&mut streams), std::slice::from_ref(&blocked));
    assert!(!streams.wants_to_send());
    streams.on_lost(&SentFrame::StreamDataBlocked { id });
    assert_eq!(control(&mut streams), [blocked]);
    arrive(&mut streams, &QuicFrame::MaxStreamData { stream_id: 0, maximum: 900 }).unwrap();
    assert!(!streams.wants_to_send(), "a limit never shrinks");
    arrive(&mut streams, &QuicFrame::MaxStreamData { stream_id: 0, maximum: 1200 }).unwrap();
    assert_eq!(data(&mut streams, 2000), Some((0, 1000, 200, false, false)));
    assert_eq!(control(&mut streams), [QuicFrame::StreamDataBlocked { stream_id: 0, limit: 1200 }]);
    // a report that is obsolete is not repeated
    arrive(&mut streams, &QuicFrame::MaxStreamData { stream_id: 0, maximum: 2000 }).unwrap();
    streams.on_lost(&SentFrame::StreamDataBlocked { id });
    assert_eq!(control(&mut streams), []);
}

/// Lost data and a lone end need no credit.
#[test]
fn the_connection_stops_new_data_of_all_streams() {
    let mut streams = pair(&config(1000, 1500, 10)).0;
    let ids = [(); 3].map(|()| streams.open(true).unwrap());
    streams.write(ids[0], 1000);
    streams.write(ids[1], 1000);
    assert_eq!(data(&mut streams, 2000), Some((0, 0, 1000, false, false)));
    assert_eq!(data(&mut streams, 2000), Some((4, 0, 500, false, false)));
    assert_eq!((streams.credit(), data(&mut streams, 2000)), (0, None));
    assert_eq!(control(&mut streams), [QuicFrame::DataBlocked { limit: 1500 }]);
    streams.finish(ids[2]);
    streams.on_lost(&sent(ids[0], 0, 1000, false));
    assert!(streams.wants_to_send());
    assert_eq!(data(&mut streams, 2000), Some((8, 0, 0, true, false)));
    assert_eq!(data(&mut streams, 2000), Some((0, 0, 1000, false, false)));
    assert!(!streams.wants_to_send());
    streams.on_lost(&SentFrame::DataBlocked);
    assert_eq!(control(&mut streams), [QuicFrame::DataBlocked { limit: 1500 }]);
    arrive(&mut streams, &QuicFrame::MaxData { maximum: 1600 }).unwrap();
    assert_eq!(data(&mut streams, 2000), Some((4, 500, 100, false, false)));
}

#[test]
fn the_send_window_bounds_what_is_not_acknowledged() {
    let config = Config { send_window: ByteCount::from_bytes(1500), ..config(10_000, 10_000, 10) };
    let mut streams = pair(&config).0;
    let id = streams.open(true).unwrap();
    streams.write(id, u64::MAX);
    assert_eq!(data(&mut streams, 1002), Some((0, 0, 1000, false, true)));
    assert_eq!(data(&mut streams, 1002), Some((0, 1000, 500, false, false)));
    assert!(!streams.wants_to_send());
    assert_eq!(streams.credit(), 8500, "it is not the peer who stops this end");
    streams.on_lost(&sent(id, 1000, 500, false));
    streams.on_acked(&sent(id, 0, 1000, false));
    assert_eq!(data(&mut streams, 2000), Some((0, 1000, 500, false, false)));
    assert_eq!(data(&mut streams, 1004), Some((0, 1500, 1000, false, true)));
    assert!(!streams.wants_to_send());
    streams.reset(id);
    assert_eq!(streams.unacked, 0);
}

/// An eighth of 800 and of 1600: 100 and 200.
#[test]
fn credit_is_given_back_as_data_are_read() {
    let mut server = pair(&config(800, 1600, 10)).1;
    arrive(&mut server, &stream(0, 0, 99, false)).unwrap();
    assert!(!server.wants_to_send());
    arrive(&mut server, &stream(0, 99, 1, false)).unwrap();
    assert_eq!(control(&mut server), [QuicFrame::MaxStreamData { stream_id: 0, maximum: 900 }]);
    arrive(&mut server, &stream(0, 100, 100, true)).unwrap();
    // the stream has ended
    assert_eq!(control(&mut server), [QuicFrame::MaxData { maximum: 1800 }]);
    server.on_lost(&SentFrame::MaxStreamData { id: StreamId(0), maximum: 900 });
    server.on_lost(&SentFrame::MaxData { maximum: 1800 });
    assert_eq!(control(&mut server), [QuicFrame::MaxData { maximum: 1800 }]);
}

#[test]
fn frames_wait_for_room() {
    let mut server = pair(&config(800, 1600, 10)).1;
    arrive(&mut server, &stream(0, 0, 200, false)).unwrap();
    assert_eq!(server.next_control(Time::ZERO, 2), None);
    assert_eq!(server.next_control(Time::ZERO, 3).unwrap().0, QuicFrame::MaxData { maximum: 1800 });
    assert!(server.wants_to_send());
    assert_eq!(server.next_control(Time::ZERO, 3), None);
    assert!(server.next_control(Time::ZERO, 4).is_some());
}

#[test]
fn streams_open_within_the_limit_and_are_given_back() {
    let (mut client, mut server) = pair(&config(1000, 10_000, 2));
    let ids = [(); 2].map(|()| client.open(true).unwrap());
    assert_eq!(client.open(true), None);
    assert!(client.open(false).is_some());
    assert_eq!(control(&mut client), [QuicFrame::StreamsBlocked { bidirectional: true, limit: 2 }]);
    arrive(&mut server, &stream(ids[1].0, 0, 10, true)).unwrap();
    assert_eq!(server.table.iter().count(), 2, "the lower one exists too");
    server.finish(ids[1]);
    assert_eq!(data(&mut server, 100), Some((4, 0, 0, true, false)));
    assert_eq!(control(&mut server), []);
    server.on_acked(&sent(ids[1], 0, 0, true));
    assert_eq!(control(&mut server), [QuicFrame::MaxStreams { bidirectional: true, maximum: 3 }]);
    server.on_lost(&SentFrame::MaxStreams { bidirectional: true, maximum: 3 });
    assert_eq!(control(&mut server), [QuicFrame::MaxStreams { bidirectional: true, maximum: 3 }]);
    arrive(&mut client, &QuicFrame::MaxStreams { bidirectional: true, maximum: 3 }).unwrap();
    assert_eq!(events(&mut client), [StreamEvent::Available]);
    assert_eq!(client.open(true), Some(StreamId(8)));
}

#[test]
fn nothing_is_sent_before_the_peer_is_known() {
    let mut client = Streams::new(&test_config(), Role::Client, None);
    assert_eq!(client.open(true), None);
    assert!(!client.wants_to_send());
    client.on_parameters(&parameters(&Streams::new(&test_config(), Role::Server, None)));
    assert_eq!(events(&mut client), [StreamEvent::Available]);
    assert!(client.open(true).is_some());
    // a server may receive a request before it knows its limits: not in QUIC, but without failure
    let mut server = Streams::new(&test_config(), Role::Server, None);
    arrive(&mut server, &stream(0, 0, 10, true)).unwrap();
    server.write(StreamId(0), 10);
    server.finish(StreamId(0));
    assert!(!server.wants_to_send());
    server.on_parameters(&parameters(&client));
    assert_eq!(data(&mut server, 100), Some((0, 0, 10, true, false)));
}

/// The window of the stream doubles to 1600: the connection's becomes 2400.
#[test]
fn a_window_that_grows_takes_the_connection_with_it() {
    let mut config = config(800, 1000, 10);
    config.quic.flow_control = FlowControl::DoubleWithinTwoRtts;
    let mut server = pair(&config).1;
    arrive(&mut server, &stream(0, 0, 401, false)).unwrap();
    let expected = [
        QuicFrame::MaxData { maximum: 401 + 2400 },
        QuicFrame::MaxStreamData { stream_id: 0, maximum: 401 + 1600 },
    ];
    assert_eq!(control(&mut server), expected);
}

/// gQUIC 37 has no MAX_STREAMS, STREAMS_BLOCKED and STOP_SENDING.
#[test]
fn each_end_counts_streams_where_no_frame_tells() {
    let mut gquic = config(1000, 10_000, 1);
    gquic.quic.version = QuicVersion::Gquic37;
    let (mut client, mut server) = pair(&gquic);
    for index in 0..50 {
        let id = client.open(true).unwrap();
        assert_eq!((id.index(), client.open(true)), (index, None));
        client.finish(id);
        data(&mut client, 100);
        client.on_acked(&sent(id, 0, 0, true));
        arrive(&mut server, &stream(id.0, 0, 0, true)).unwrap();
        server.finish(id);
        data(&mut server, 100);
        server.on_acked(&sent(id, 0, 0, true));
        arrive(&mut client, &stream(id.0, 0, 0, true)).unwrap();
        assert!(events(&mut client).contains(&StreamEvent::Available));
        assert!(!client.wants_to_send() && !server.wants_to_send());
    }
    let id = client.open(true).unwrap();
    client.stop(id);
    assert_eq!(control(&mut client), []);
    let far = stream(4 * 100, 0, 0, true);
    assert_eq!(arrive(&mut server, &far), Err(StreamError::StreamLimit { id: 400, limit: 50 + 1 + 10 }));
}
