//! 0-RTT: remembered limits, accepted and rejected.

use super::*;

fn limits(stream: u64, connection: u64, max_streams: u64) -> TransportParameters {
    parameters(&Streams::new(&config(stream, connection, max_streams), Role::Server, None))
}

/// Client that has sent two streams of 600 bytes, and a reset, under remembered limits.
fn early() -> Streams {
    let mut client = Streams::new(&test_config(), Role::Client, Some(&limits(1000, 5000, 3)));
    for _ in 0..2 {
        let id = client.open(true).unwrap();
        client.write(id, 600);
        client.finish(id);
    }
    let id = client.open(true).unwrap();
    client.reset(id);
    assert_eq!(control(&mut client), [QuicFrame::ResetStream { stream_id: 8, error_code: 0, final_size: 0 }]);
    assert_eq!(data(&mut client, 1000), Some((0, 0, 600, true, false)));
    assert_eq!(data(&mut client, 1000), Some((4, 0, 600, true, false)));
    assert!(!client.wants_to_send());
    client
}

#[test]
fn accepted_limits_only_grow() {
    let mut client = early();
    client.on_parameters(&limits(2000, 4000, 4));
    assert!(!client.wants_to_send());
    assert_eq!(client.credit(), 5000 - 1200);
    assert!(client.open(true).is_some());
    assert_eq!(client.open(true), None);
}

/// One stream is allowed, 500 bytes of it.
#[test]
fn everything_is_sent_again_within_the_new_limits() {
    for parameters_first in [true, false] {
        let mut client = early();
        let new = limits(500, 5000, 1);
        if parameters_first {
            client.on_parameters(&new);
        }
        client.on_early_data_rejected();
        if !parameters_first {
            assert!(!client.wants_to_send());
            client.on_parameters(&new);
        }
        assert_eq!(data(&mut client, 1000), Some((0, 0, 500, false, false)));
        assert_eq!(data(&mut client, 1000), None);
        assert_eq!(control(&mut client), [QuicFrame::StreamDataBlocked { stream_id: 0, limit: 500 }]);
        assert_eq!((client.unacked, client.open(true)), (500, None));
        control(&mut client);
        // the others may follow
        arrive(&mut client, &QuicFrame::MaxStreams { bidirectional: true, maximum: 2 }).unwrap();
        assert_eq!(data(&mut client, 1000), Some((4, 0, 500, false, false)));
        arrive(&mut client, &QuicFrame::MaxStreams { bidirectional: true, maximum: 3 }).unwrap();
        let reset = QuicFrame::ResetStream { stream_id: 8, error_code: 0, final_size: 0 };
        assert!(control(&mut client).contains(&reset));
        arrive(&mut client, &QuicFrame::MaxStreamData { stream_id: 0, maximum: 1000 }).unwrap();
        assert_eq!(data(&mut client, 1000), Some((0, 500, 100, true, false)));
    }
}
