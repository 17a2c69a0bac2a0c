//! Frames that a peer must not send cause an error, never a panic.

use super::*;
use proptest::prelude::*;

/// Server with one own stream of each kind (1, 3), windows of 1000 and 1500, and a limit of 2 streams.
fn server() -> Streams {
    let mut server = pair(&config(1000, 1500, 2)).1;
    assert_eq!((server.open(true), server.open(false)), (Some(StreamId(1)), Some(StreamId(3))));
    server
}

fn error(frames: &[QuicFrame]) -> StreamError {
    let mut server = server();
    let (last, others) = frames.split_last().unwrap();
    others.iter().for_each(|frame| arrive(&mut server, frame).unwrap());
    arrive(&mut server, last).unwrap_err()
}

fn reset(id: u64, final_size: u64) -> QuicFrame {
    QuicFrame::ResetStream { stream_id: id, error_code: 0, final_size }
}

#[test]
fn limits_are_enforced() {
    let stream_limit = StreamError::FlowControl { limit: 1000 };
    let connection_limit = StreamError::FlowControl { limit: 1500 };
    assert_eq!(error(&[stream(0, 1000, 1, false)]), stream_limit);
    assert_eq!(error(&[stream(0, u64::MAX, 1, false)]), stream_limit);
    assert_eq!(error(&[reset(0, 1001)]), stream_limit);
    assert_eq!(error(&[stream(0, 999, 1, false), stream(4, 500, 1, false)]), connection_limit);
    assert_eq!(error(&[stream(0, 999, 1, false), reset(4, 501)]), connection_limit);
    assert_eq!(error(&[stream(8, 0, 1, false)]), StreamError::StreamLimit { id: 8, limit: 2 });
    let id = UNIDIRECTIONAL_STREAMS * 4 + 2;
    assert_eq!(error(&[stream(id, 0, 1, false)]), StreamError::StreamLimit { id, limit: 100 });
    let blocked = QuicFrame::StreamDataBlocked { stream_id: u64::MAX - 3, limit: 0 };
    assert!(matches!(error(&[blocked]), StreamError::StreamLimit { limit: 2, .. }));
}

/// A limit that was decided but not yet sent does not count.
#[test]
fn only_limits_that_were_told_count() {
    let mut server = server();
    arrive(&mut server, &stream(0, 0, 1000, false)).unwrap();
    let limit = StreamError::FlowControl { limit: 1000 };
    assert_eq!(arrive(&mut server, &stream(0, 1000, 1, false)), Err(limit));
    assert_eq!(control(&mut server).len(), 2);
    assert_eq!(arrive(&mut server, &stream(0, 1000, 1, false)), Ok(()));
}

#[test]
fn a_final_size_is_final() {
    let changed = StreamError::FinalSize { id: 0 };
    assert_eq!(error(&[stream(0, 0, 10, true), stream(0, 10, 1, false)]), changed);
    assert_eq!(error(&[stream(0, 5, 5, true), stream(0, 0, 9, true)]), changed);
    assert_eq!(error(&[stream(0, 5, 5, true), stream(0, 5, 6, true)]), changed);
    assert_eq!(error(&[stream(0, 5, 5, true), reset(0, 11)]), changed);
    assert_eq!(error(&[stream(0, 5, 5, false), stream(0, 0, 9, true)]), changed);
    assert_eq!(error(&[stream(0, 5, 5, false), reset(0, 9)]), changed);
    assert_eq!(error(&[reset(0, 9), stream(0, 9, 1, false)]), changed);
}

#[test]
fn frames_have_their_direction_and_need_a_stream() {
    for (frame, id) in [
        (stream(3, 0, 1, false), 3),
        (reset(3, 0), 3),
        (QuicFrame::StreamDataBlocked { stream_id: 3, limit: 0 }, 3),
        (QuicFrame::StopSending { stream_id: 2, error_code: 0 }, 2),
        (QuicFrame::MaxStreamData { stream_id: 2, maximum: 5 }, 2),
        // not opened by this end
        (stream(5, 0, 1, false), 5),
        (QuicFrame::MaxStreamData { stream_id: 7, maximum: 5 }, 7),
        (QuicFrame::StopSending { stream_id: 5, error_code: 0 }, 5),
    ] {
        assert_eq!(error(&[frame]), StreamError::StreamState { id });
    }
}

#[test]
fn errors_are_told_in_words() {
    let text = StreamError::StreamLimit { id: 8, limit: 2 }.to_string();
    assert_eq!(text, "the peer opened stream 8, more than the limit of 2 streams allows");
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..20, 990u64..1010, 1490u64..1510, Just(u64::MAX), Just(1 << 62), any::<u64>()]
}

fn frame() -> impl Strategy<Value = QuicFrame> {
    let id = prop_oneof![8 => 0u64..12, 1 => any::<u64>()];
    (0u8..9, id, number(), any::<u16>(), any::<bool>()).prop_map(|(kind, stream_id, value, length, flag)| {
        match kind {
            0 | 1 => stream(stream_id, value, length % 300, flag),
            2 => reset(stream_id, value),
            3 => QuicFrame::StopSending { stream_id, error_code: value },
            4 => QuicFrame::MaxData { maximum: value },
            5 => QuicFrame::MaxStreamData { stream_id, maximum: value },
            6 => QuicFrame::MaxStreams { bidirectional: flag, maximum: value },
            7 => QuicFrame::StreamDataBlocked { stream_id, limit: value },
            _ => QuicFrame::StreamsBlocked { bidirectional: flag, limit: value },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// All sequences of frames, with actions of this end in between, also after an error.
    #[test]
    fn nothing_makes_it_panic(frames in prop::collection::vec((frame(), 0u8..6), 1..60)) {
        let mut server = server();
        server.write(StreamId(1), u64::MAX);
        let mut in_flight = Vec::new();
        for (frame, action) in frames {
            let _ = arrive(&mut server, &frame);
            match action {
                0 => in_flight.extend(server.next_control(Time::ZERO, 100)),
                1 => in_flight.extend(server.next_data(100)),
                2 => in_flight.drain(..).for_each(|(_, sent)| server.on_acked(&sent)),
                3 => in_flight.iter().for_each(|(_, sent)| server.on_lost(sent)),
                4 => {
                    for event in events(&mut server) {
                        if let StreamEvent::Received { id, .. } = event {
                            server.write(id, 500);
                            server.finish(id);
                        }
                    }
                }
                _ => server.stop(StreamId(0)),
            }
        }
        let wants = server.wants_to_send();
        let next = server.next_control(Time::ZERO, 100).or_else(|| server.next_data(100));
        prop_assert_eq!(wants, next.is_some());
    }
}
