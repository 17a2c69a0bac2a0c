//! Resets and STOP_SENDING by hand.

use super::*;

fn reset_frame(id: u64, final_size: u64) -> QuicFrame {
    QuicFrame::ResetStream { stream_id: id, error_code: 0, final_size }
}

#[test]
fn a_reset_gives_up_what_is_in_flight() {
    let mut streams = client();
    let id = streams.open(false).unwrap();
    streams.write(id, 5000);
    data(&mut streams, 1002); // 1000 bytes, then 998
    data(&mut streams, 1002);
    streams.on_lost(&sent(id, 0, 1000, false));
    streams.reset(id);
    assert_eq!((streams.unacked, data(&mut streams, 1000)), (0, None));
    assert_eq!(control(&mut streams), [reset_frame(2, 1998)]);
    streams.on_lost(&sent(id, 1000, 998, false));
    streams.on_acked(&sent(id, 1000, 998, false));
    streams.write(id, 10);
    streams.finish(id);
    streams.reset(id);
    assert!(!streams.wants_to_send());
    streams.on_lost(&SentFrame::ResetStream { id });
    assert_eq!(control(&mut streams), [reset_frame(2, 1998)]);
    streams.on_acked(&SentFrame::ResetStream { id });
    assert_eq!((streams.table.iter().count(), events(&mut streams)), (0, vec![]));
}

/// The connection counts all bytes up to the final size: 10 000 - 500 remain, and as they are not read, their
/// credit is returned at once.
#[test]
fn a_reset_by_the_peer_settles_its_bytes() {
    let mut server = pair(&config(1000, 10_000, 10)).1;
    arrive(&mut server, &stream(2, 100, 100, false)).unwrap();
    arrive(&mut server, &reset_frame(2, 500)).unwrap();
    assert_eq!(events(&mut server), [StreamEvent::Reset { id: StreamId(2) }]);
    assert_eq!((server.window.remaining(), server.window.announcement()), (9500, 10_500));
    assert_eq!(server.table.iter().count(), 0);
    arrive(&mut server, &stream(2, 0, 100, false)).unwrap(); // late
    assert_eq!(events(&mut server), []);
}

#[test]
fn a_reset_after_everything_has_arrived_changes_nothing() {
    let mut server = pair(&config(1000, 10_000, 10)).1;
    arrive(&mut server, &stream(0, 0, 100, true)).unwrap();
    arrive(&mut server, &reset_frame(0, 100)).unwrap();
    let id = StreamId(0);
    assert_eq!(events(&mut server), [StreamEvent::Received { id, bytes: 100, end: true }]);
}

#[test]
fn a_request_to_stop_is_answered_with_a_reset() {
    let mut streams = client();
    let id = streams.open(true).unwrap();
    streams.write(id, 5000);
    data(&mut streams, 1002);
    arrive(&mut streams, &QuicFrame::StopSending { stream_id: 0, error_code: 0 }).unwrap();
    arrive(&mut streams, &QuicFrame::StopSending { stream_id: 0, error_code: 0 }).unwrap();
    assert_eq!(events(&mut streams), [StreamEvent::Stopped { id }]);
    assert_eq!(control(&mut streams), [reset_frame(0, 1000)]);
    // the other direction continues
    arrive(&mut streams, &stream(0, 0, 10, true)).unwrap();
    assert_eq!(events(&mut streams), [StreamEvent::Received { id, bytes: 10, end: true }]);
}

#[test]
fn who_stops_is_told_nothing_more_and_gives_the_credit_back() {
    let mut server = pair(&config(1000, 1600, 10)).1;
    let id = StreamId(0);
    arrive(&mut server, &stream(0, 100, 100, false)).unwrap();
    server.stop(id);
    server.stop(id);
    // 200 of 1600 are an eighth
    let stop = QuicFrame::StopSending { stream_id: 0, error_code: 0 };
    assert_eq!(control(&mut server), [QuicFrame::MaxData { maximum: 1800 }, stop.clone()]);
    server.on_lost(&SentFrame::StopSending { id });
    assert_eq!(control(&mut server), [stop]);
    arrive(&mut server, &stream(0, 300, 200, false)).unwrap();
    assert_eq!(control(&mut server), [QuicFrame::MaxData { maximum: 2100 }]);
    arrive(&mut server, &reset_frame(0, 600)).unwrap();
    assert_eq!(events(&mut server), []);
    server.on_lost(&SentFrame::StopSending { id });
    assert_eq!(control(&mut server), [], "nothing is left to stop");
    server.finish(id);
    data(&mut server, 100);
    server.on_acked(&sent(id, 0, 0, true));
    assert_eq!(server.table.iter().count(), 0);
}
