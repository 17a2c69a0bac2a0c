//! Random applications over a bad channel: in all cases, each stream is received once and in order, no limit
//! is exceeded, and no state remains at the end.

use super::channel::Channel;
use super::*;
use crate::options::{QuicVersion, StreamScheduler};
use proptest::prelude::*;

fn any_config() -> impl Strategy<Value = Config> {
    let rules = prop_oneof![
        Just(FlowControl::Fixed),
        Just(FlowControl::DoubleWhenHalfUsed),
        Just(FlowControl::DoubleWithinTwoRtts),
    ];
    let schedulers = prop_oneof![
        Just(StreamScheduler::Fifo),
        Just(StreamScheduler::RoundRobin),
        Just(StreamScheduler::Priority),
    ];
    let windows = (50u64..4000, 50u64..6000, 0u64..8000, 0u64..8000, 100u64..8000);
    (rules, schedulers, windows, 1u64..7).prop_map(
        |(flow_control, stream_scheduler, windows, max_streams)| {
            let (stream, connection, most_stream, most_connection, send) = windows;
            let base = config(stream, connection, max_streams);
            Config {
                quic: QuicValues {
                    flow_control,
                    stream_scheduler,
                    max_stream_receive_window: ByteCount::from_bytes(most_stream),
                    max_connection_receive_window: ByteCount::from_bytes(most_connection),
                    ..base.quic
                },
                send_window: ByteCount::from_bytes(send),
                datagram_size: ByteCount::from_bytes(300),
                ..base
            }
        },
    )
}

fn any_version() -> impl Strategy<Value = QuicVersion> {
    prop_oneof![3 => Just(QuicVersion::V1), 1 => Just(QuicVersion::Gquic37)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_stream_comes_out_once_and_in_order(
        (mut client, mut server) in (any_config(), any_config()),
        version in any_version(),
        seed in any::<u64>(),
        steps in 0usize..600,
    ) {
        (client.quic.version, server.quic.version) = (version, version);
        let mut ends =
            [Streams::new(&client, Role::Client, None), Streams::new(&server, Role::Server, None)];
        let told = [parameters(&ends[1]), parameters(&ends[0])];
        ends.iter_mut().zip(&told).for_each(|(end, told)| end.on_parameters(told));
        let mut channel = Channel::new(ends, seed);
        (0..steps).for_each(|_| channel.step());
        channel.finish();
    }

    /// 0-RTT under outdated limits, rejected before or after the new ones are known.
    #[test]
    fn rejected_early_data_come_out_once_and_in_order(
        (mut client, mut server, earlier) in (any_config(), any_config(), any_config()),
        version in any_version(),
        seed in any::<u64>(),
        (early_steps, steps) in (0usize..60, 0usize..300),
        parameters_first in any::<bool>(),
    ) {
        (client.quic.version, server.quic.version) = (version, version);
        let remembered = parameters(&Streams::new(&earlier, Role::Server, None));
        let ends = [
            Streams::new(&client, Role::Client, Some(&remembered)),
            Streams::new(&server, Role::Server, None),
        ];
        let told = [parameters(&ends[1]), parameters(&ends[0])];
        let mut channel = Channel::new(ends, seed);
        for step in 0..early_steps {
            channel.application(0);
            if step % 3 == 0 {
                channel.send(0);
            }
        }
        channel.drop_all();
        if parameters_first {
            channel.ends[0].on_parameters(&told[0]);
        }
        channel.ends[0].on_early_data_rejected();
        channel.ends[0].on_parameters(&told[0]);
        channel.ends[1].on_parameters(&told[1]);
        (0..steps).for_each(|_| channel.step());
        channel.finish();
    }
}
