//! Random options of an end, from all options of lab-quic.

use crate::case::bytes;
use crate::path::pick;
use quiclab_core::{ByteCount, DataRate, Duration, RandomStream};
use quiclab_transport::STACKS;
use quiclab_transport::options::{
    AckFrequency, AckPath, Acknowledgement, CongestionControl, EndpointConfig, FlowControl, Multipath,
    Pacing, QuicOptions, QuicVersion, RttVariation, SlowStartExit, StreamScheduler, Tls, Workload,
};
use quiclab_transport::stack::validate;

pub(crate) const SERVER: usize = 0;
pub(crate) const CLIENT: usize = 1;

/// Draws options of an end; incompatible ones are drawn again.
pub(crate) fn draw(
    random: &mut RandomStream,
    version: QuicVersion,
    role: usize,
    tiny: bool,
    workload: &Workload,
    idle_timeout: Duration,
    tls: &Tls,
) -> EndpointConfig {
    for _ in 0..1000 {
        let mut config = end(random, version, tiny);
        let quic = config.quic.get_or_insert_default();
        (quic.version, quic.idle_timeout) = (Some(version), Some(idle_timeout));
        config.tls = Some(tls.clone());
        if matches!(workload, Workload::Download { size: None, .. }) && role == SERVER {
            // no rate limits the path: a window must
            config.send_window = Some(bytes(pick(random, &[1_000, 20_000])));
        }
        if validate(STACKS, &config).is_ok() {
            return config;
        }
    }
    panic!("no thousandth of the options is valid");
}

/// Enables path management in half of the cases, if both ends support it.
pub(crate) fn manage_paths(number: u64, ends: &mut [EndpointConfig; 2]) {
    let mut random = RandomStream::new(number, "multipath");
    let random = &mut random;
    if random.uniform() < 0.5 {
        return;
    }
    let mut managed = ends.clone();
    for end in &mut managed {
        end.multipath = Some(Multipath {
            initial_max_path_id: pick(random, &[0, 1, 2, 7]),
            acknowledgements: maybe(random, &[AckPath::Same, AckPath::LowestRtt]),
            idle_timeout: maybe(random, &[ms(1_000), ms(60_000)]),
            keep_alive: maybe(random, &[ms(200), ms(900)]),
        });
    }
    if managed.iter().all(|end| validate(STACKS, end).is_ok()) {
        *ends = managed;
    }
}

/// Draws one of `choices`, or `None` in half of the cases.
fn maybe<T: Copy>(random: &mut RandomStream, choices: &[T]) -> Option<T> {
    (random.uniform() < 0.5).then(|| pick(random, choices))
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn sizes<const N: usize>(sizes: [u64; N]) -> [ByteCount; N] {
    sizes.map(bytes)
}

fn end(random: &mut RandomStream, version: QuicVersion, tiny: bool) -> EndpointConfig {
    use CongestionControl::{Cubic, Newreno};
    let profiles: Vec<_> = quiclab_transport::quic::profiles().collect();
    let control = maybe(random, CongestionControl::ALL);
    let windowed = control.is_some_and(|control| matches!(control, Newreno | Cubic));
    let datagram = pick(random, &[1200, 1200, 1252, 1472, 1472, 4_000, 20_000, 65_507]);
    let windows = if tiny { sizes([1, 7, 100, 3_000]) } else { sizes([1_500, 5_000, 60_000, 1 << 20]) };
    let frequency = AckFrequency {
        ack_eliciting_threshold: pick(random, &[0, 1, 10, 1_000]),
        max_ack_delay: maybe(random, &[ms(1), ms(20), ms(200)]),
        reordering_threshold: pick(random, &[0, 1, 3, 100]),
    };
    EndpointConfig {
        stack: Some("lab-quic".into()),
        profile: Some(pick(random, &profiles).into()),
        congestion_control: control,
        datagram_size: Some(bytes(datagram)),
        initial_window: maybe(random, &sizes([datagram, 2 * datagram, 10 * datagram, 1 << 20])),
        stream_receive_window: maybe(random, &windows),
        connection_receive_window: maybe(random, &windows),
        send_window: maybe(random, &windows),
        packet_threshold: maybe(random, &[3, 10, 1_000]),
        time_threshold: maybe(random, &[1.0, 1.125, 3.0]),
        initial_rtt: maybe(random, &[ms(1), ms(100), ms(2_000)]),
        ack_frequency: maybe(random, &[frequency]).filter(|_| version == QuicVersion::V1),
        emulated_connections: maybe(random, &[1, 2, 100]).filter(|_| windowed),
        slow_start_exit: maybe(random, &SlowStartExit::ALL).filter(|_| windowed),
        pacing: pacing(random),
        quic: Some(quic(random, tiny)),
        ..EndpointConfig::default()
    }
}

fn quic(random: &mut RandomStream, tiny: bool) -> QuicOptions {
    let windows = if tiny { sizes([7, 3_000, 1 << 20]) } else { sizes([60_000, 1 << 20, 1 << 30]) };
    let flag = |random: &mut RandomStream| maybe(random, &[true, false]);
    QuicOptions {
        connection_id: maybe(random, &sizes([0, 1, 8, 20])),
        packet_number: maybe(random, &sizes([1, 2, 3, 4])).filter(|length| length.bytes() > 1),
        acknowledgement: acknowledgement(random),
        ack_ranges: maybe(random, &[1, 2, 32, 1_000]),
        max_ack_delay: maybe(random, &[ms(1), ms(25), ms(300)]),
        adaptive_packet_threshold: flag(random),
        adaptive_time_threshold: flag(random),
        rtt_variation: maybe(
            random,
            &[RttVariation::Rfc9002, RttVariation::FromMinRtt, RttVariation::QuarterMinRtt],
        ),
        persistent_congestion: flag(random),
        probe_packets: maybe(random, &[1, 2]),
        window_validation: flag(random),
        max_window: maybe(random, &sizes([1 << 14, 1 << 20])),
        pacing_before_rtt: flag(random),
        max_streams: maybe(random, &[1, 2, 100]),
        flow_control: maybe(
            random,
            &[FlowControl::Fixed, FlowControl::DoubleWhenHalfUsed, FlowControl::DoubleWithinTwoRtts],
        ),
        max_stream_receive_window: maybe(random, &windows),
        max_connection_receive_window: maybe(random, &windows),
        stream_scheduler: maybe(
            random,
            &[StreamScheduler::Fifo, StreamScheduler::RoundRobin, StreamScheduler::Priority],
        ),
        amplification_factor: maybe(random, &[0, 1, 3, 10]),
        datagram_congestion_control: flag(random),
        datagram_back_off: flag(random),
        path_scheduler: maybe(
            random,
            &["round_robin", "strict_round_robin", "lowest_rtt", "blest", "ecf", "earliest_arrival"],
        )
        .map(|kind| kind.parse().expect("it needs no field")),
        ..QuicOptions::default()
    }
}

fn acknowledgement(random: &mut RandomStream) -> Option<Acknowledgement> {
    let delay = pick(random, &[ms(0), ms(1), ms(25), ms(100)]);
    let packets = pick(random, &[1, 2, 10, 1_000]);
    let fraction = pick(random, &[0.01, 0.25, 1.0]);
    let from_packet = pick(random, &[0, 10, 100]);
    maybe(
        random,
        &[
            Acknowledgement::Every { packets, delay },
            Acknowledgement::Timer { delay },
            Acknowledgement::RttFraction { fraction, packets, delay, from_packet },
            Acknowledgement::AsRequested { delay },
        ],
    )
}

fn pacing(random: &mut RandomStream) -> Option<Pacing> {
    let factor = pick(random, &[0.1, 1.25, 10.0]);
    let burst_packets = pick(random, &[1, 2, 10, u32::MAX]);
    let max_rate = maybe(random, &[DataRate::from_bits_per_second(100_000)]);
    let burst_share = pick(random, &[0.01, 0.25, 1.0]);
    let bucket = Pacing::LeakyBucket {
        factor,
        slow_start_factor: maybe(random, &[0.5, 2.0]),
        burst_packets,
        burst_share: maybe(random, &[burst_share]),
        burst_time: maybe(random, &[ms(2)]),
        idle_burst_packets: maybe(random, &[1, 10]),
        wait_for_full_burst: random.uniform() < 0.3,
    };
    maybe(
        random,
        &[
            Pacing::None,
            bucket,
            Pacing::Even { factor },
            Pacing::Quantum { factor, burst_packets, quantum: ms(2) },
            Pacing::TimeBucket { factor, burst_packets, burst_share },
            Pacing::Linux { max_rate },
            Pacing::Fq { max_rate },
        ],
    )
}
