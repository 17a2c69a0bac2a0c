//! Helpers of the tests of this folder.

use super::*;
use crate::testing::ms;
use quiclab_core::Metrics;
use std::collections::BTreeMap;

/// Sets fields of a live workload.
macro_rules! live {
    ($workload:expr, $($field:ident = $value:expr),+ $(,)?) => {
        if let crate::options::Workload::Live { $($field),+, .. } = $workload {
            $(*$field = $value;)+
        }
    };
}
pub(super) use live;

pub(super) fn ms_of(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// 1 Mbit/s, 10 frames a second for a second, 12 500 B each; a deadline of 100 ms.
pub(super) fn workload(change: impl FnOnce(&mut Workload)) -> Workload {
    let mut workload = Workload::Live {
        rate: DataRate::from_mbps(1),
        min_rate: None,
        max_rate: None,
        frame_rate: 10,
        key_frame_interval: Duration::from_secs(1),
        key_frame_ratio: 1,
        size_variation_percent: 15,
        deadline: ms_of(100),
        drop_late: false,
        delivery: LiveDelivery::Streams,
        packet_size: ByteCount::from_bytes(1000),
        duration: Duration::from_secs(1),
    };
    change(&mut workload);
    workload
}

pub(super) fn parameters(change: impl FnOnce(&mut Workload)) -> Parameters {
    Parameters::new(&workload(change)).expect("it is live")
}

/// Source with a frame of 12 500 B at 0, 100, ... 900 ms.
fn source(parameters: &Parameters) -> Source {
    Source::new(*parameters, RandomStream::new(1, "main.sender.frames"))
}

fn even(workload: &mut Workload) {
    live!(workload, size_variation_percent = 0);
}

/// Metrics of an application.
fn metrics(report: impl FnOnce(&mut Metrics)) -> BTreeMap<String, f64> {
    let mut out = Metrics::default();
    report(&mut out);
    out.named().into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
}

mod streams {
    use super::*;
    use crate::workload::testing::{Call, Recorder};
    use crate::workload::{Priority, StreamApplication, StreamId};

    fn id(index: u64) -> StreamId {
        StreamId::new(index, true, false)
    }

    fn sent(index: u64, bytes: u64) -> [Call; 4] {
        let id = id(index);
        [Call::Open(id), Call::Priority(id, Priority::default()), Call::Write(id, bytes), Call::Finish(id)]
    }

    fn server(change: impl FnOnce(&mut Workload)) -> on_streams::Server {
        let parameters = parameters(change);
        on_streams::Server::new(parameters, source(&parameters))
    }

    #[test]
    fn each_frame_is_a_stream_whose_label_is_its_capture() {
        let mut server = server(even);
        let mut streams = Recorder::new(Role::Server);
        server.connected(ms(10), &mut streams);
        assert_eq!((streams.take(), server.deadline()), (sent(0, 12_500).to_vec(), Some(ms(110))));
        server.wake(ms(109), &mut streams);
        assert_eq!(streams.take(), []);
        server.wake(ms(110), &mut streams);
        assert_eq!(streams.take(), sent(1, 12_500));
        assert_eq!(streams.labels[&id(1)], ms(110).as_nanos());
    }

    /// Two streams are allowed: the third frame waits for another one; its capture time does not change.
    #[test]
    fn a_frame_without_a_stream_waits_for_one() {
        let mut server = server(even);
        let mut streams = Recorder::new(Role::Server);
        streams.limit = 2;
        server.connected(ms(0), &mut streams);
        server.wake(ms(100), &mut streams);
        streams.take();
        server.wake(ms(200), &mut streams);
        assert_eq!(streams.take(), []);
        streams.limit = 3;
        server.available(ms(250), &mut streams);
        assert_eq!((streams.take(), streams.labels[&id(2)]), (sent(2, 12_500).to_vec(), ms(200).as_nanos()));
    }

    /// A deadline of 150 ms: frame 0 is acknowledged, frame 1 is not at 250 ms.
    #[test]
    fn late_frames_are_reset_if_asked() {
        let drop =
            |drop| move |workload: &mut Workload| live!(workload, drop_late = drop, deadline = ms_of(150));
        for is_dropped in [true, false] {
            let mut server = server(drop(is_dropped));
            let mut streams = Recorder::new(Role::Server);
            server.connected(ms(0), &mut streams);
            server.wake(ms(100), &mut streams);
            server.acknowledged(ms(120), id(0));
            server.wake(ms(200), &mut streams);
            streams.take();
            assert_eq!(server.deadline(), Some(ms(if is_dropped { 250 } else { 300 })));
            server.wake(ms(250), &mut streams);
            let expected = if is_dropped { vec![Call::Reset(id(1))] } else { vec![] };
            assert_eq!(streams.take(), expected);
            let dropped = metrics(|out| server.statistics(out))["dropped_frames"];
            assert_eq!(dropped, f64::from(u8::from(is_dropped)));
        }
    }

    /// Ten frames: one after 100 ms (not late), one after 101 ms (late), one is reset, seven are missing. The
    /// last is captured at 900 ms, the flow ends at 1 s, and the client waits for 3 s.
    #[test]
    fn the_client_counts_what_is_complete_late_and_missing() {
        let mut client = client::Client::new(&parameters(even));
        let mut streams = Recorder::new(Role::Client);
        client.start(ms(0));
        client.connected(ms(0), &mut streams);
        streams.arrived = (0..3).map(|frame| (id(frame), ms(100 * frame).as_nanos())).collect();
        client.received(ms(60), id(0), 12_000, false, &mut streams);
        client.received(ms(100), id(0), 500, true, &mut streams);
        client.received(ms(201), id(1), 12_500, true, &mut streams);
        client.received(ms(205), id(2), 1_000, false, &mut streams);
        client.reset_by_peer(ms(300), id(2), &mut streams);
        assert_eq!(client.deadline(), Some(ms(4000)));
        client.wake(ms(4000), &mut streams);
        assert_eq!((streams.take(), client.deadline()), (vec![Call::Close], None));
        let progress = client.outcome().progress;
        assert_eq!((progress.finished, progress.delivered_bytes), (Some(ms(1000)), 26_000));
        let found = metrics(|out| client.statistics(out));
        assert_eq!(
            (found["complete_frames"], found["late_frames"], found["missing_frames"]),
            (2.0, 1.0, 8.0)
        );
        assert_eq!((found["late_share"], found["frame_delay_ms_max"]), (0.9, 101.0));
    }

    #[test]
    fn the_client_waits_no_longer_when_all_frames_are_there() {
        let short = |workload: &mut Workload| live!(workload, duration = ms_of(100));
        let mut client = client::Client::new(&parameters(short));
        let mut streams = Recorder::new(Role::Client);
        client.connected(ms(0), &mut streams);
        streams.arrived.insert(id(0), ms(20).as_nanos());
        client.received(ms(70), id(0), 12_500, true, &mut streams);
        assert_eq!(client.deadline(), Some(ms(100)));
        client.wake(ms(100), &mut streams);
        assert_eq!(streams.take(), [Call::Close]);
    }
}

mod datagrams {
    use super::*;
    use crate::workload::testing::{Call, Recorder};
    use crate::workload::{Datagram, StreamApplication};

    fn in_datagrams(workload: &mut Workload) {
        live!(workload, size_variation_percent = 0, delivery = LiveDelivery::Datagrams);
    }

    /// 12 500 B in 12 datagrams of 1000 B and one of 500 B.
    #[test]
    fn a_frame_is_cut_into_datagrams_and_complete_with_the_last() {
        let parameters = parameters(in_datagrams);
        let mut server = on_datagrams::Server::new(parameters, source(&parameters));
        let mut streams = Recorder::new(Role::Server);
        server.connected(ms(0), &mut streams);
        let numbers: Vec<Call> = (0..13).map(|index| Call::Datagram(index << 16 | 13, false)).collect();
        assert_eq!(streams.take(), numbers);
        let frame = Frame { number: 0, captured: ms(0), length: 12_500 };
        let sizes: Vec<u64> = parameters.datagrams(&frame).collect();
        assert_eq!((sizes.len(), sizes[0], sizes[12], sizes.iter().sum()), (13, 1000, 500, 12_500));

        let mut client = client::Client::new(&parameters);
        client.connected(ms(0), &mut streams);
        for index in [0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 11] {
            assert_eq!(metrics(|out| client.statistics(out))["complete_frames"], 0.0);
            let size = ByteCount::from_bytes(sizes[index as usize]);
            client.datagram(ms(50 + index), Datagram::new(size, index << 16 | 13, ms(0)), &mut streams);
        }
        let found = metrics(|out| client.statistics(out));
        assert_eq!((found["complete_frames"], found["frame_delay_ms_max"]), (1.0, 61.0));
    }
}

mod bytes {
    use super::*;
    use crate::workload::{Application, Command};
    use quiclab_core::{Contents, MediaFrame};

    /// Frames of 20 000 B: a record of 16 384 B and one of 3 616 B.
    #[test]
    fn frames_follow_each_other_in_records() {
        let large = |workload: &mut Workload| {
            live!(workload, size_variation_percent = 0, rate = DataRate::from_bits_per_second(1_600_000));
        };
        let parameters = parameters(large);
        let mut server = on_bytes::Server::new(parameters, source(&parameters));
        let mut client = on_bytes::Client::new(&parameters);
        assert_eq!(server.connected(ms(0)), Command::Wait);
        client.connected(ms(0));
        let media = |millis| Contents::Media(MediaFrame { captured: ms(millis), length: 20_000 });
        server.wake(ms(100));
        let records: Vec<_> = std::iter::from_fn(|| server.pull(ms(100), 16_384)).collect();
        let (first, second) = (16_384, 3_616);
        let nothing = Contents::default;
        let expected = [(first, media(0)), (second, nothing()), (first, media(100)), (second, nothing())];
        assert_eq!(records, expected);
        for (millis, (bytes, contents)) in [60, 80, 170, 190].into_iter().zip(&records) {
            client.read(ms(millis), *bytes, contents);
        }
        let found = metrics(|out| client.statistics(out));
        assert_eq!((found["complete_frames"], found["frame_delay_ms_min"]), (2.0, 80.0));
        assert_eq!((found["frame_delay_ms_max"], found["late_frames"]), (90.0, 0.0));
    }

    /// Frames 0 to 3 are captured; nothing of 1 and 2 is written at 301 ms, when 0 and 1 are late (deadline
    /// 150 ms): a part of frame 0 is written, so the rest follows.
    #[test]
    fn what_is_not_begun_at_its_deadline_is_left_out() {
        let drop = |workload: &mut Workload| live!(workload, drop_late = true, deadline = ms_of(150));
        let parameters = parameters(drop);
        let mut server = on_bytes::Server::new(parameters, source(&parameters));
        server.connected(ms(0));
        let (written, _) = server.pull(ms(0), 1_000).expect("a record");
        assert_eq!(written, 1_000);
        server.wake(ms(301));
        let (_, rest) = server.pull(ms(301), 16_384).expect("a record");
        assert_eq!(rest, Contents::default(), "the rest of frame 0");
        let (_, next) = server.pull(ms(301), 16_384).expect("a record");
        assert!(matches!(next, Contents::Media(frame) if frame.captured == ms(200)), "{next:?}");
        assert_eq!(metrics(|out| server.statistics(out))["dropped_frames"], 1.0);
    }

    /// Frames are missing 3 s after the end: the client does not wait for data that the server still has.
    #[test]
    fn the_client_aborts_what_it_waits_for_no_longer() {
        let mut client = on_bytes::Client::new(&parameters(even));
        client.connected(ms(0));
        assert_eq!((client.wake(ms(3999)), client.wake(ms(4000))), (Command::Wait, Command::Abort));
        assert_eq!((client.outcome().progress.finished, client.deadline()), (Some(ms(1000)), None));
    }
}
