//! Cases with values at the limits of the allowed ranges.

use crate::path::{Path, pick};
use crate::{Case, download};
use quiclab_core::{ByteCount, DataRate, Duration, RandomStream};
use quiclab_transport::options::{
    CongestionControl, EndpointConfig, Pacing, RateReduction, SlowStartExit, TcpLossDetection, TcpOptions,
    Workload,
};

const fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}

/// Case of this number. Loss is moderate, as the subject is not the arrival of SYNs.
pub(crate) fn case(number: u64) -> Case {
    let mut random = RandomStream::new(number, "extreme");
    let path = Path::draw(&mut random);
    let path = Path { loss: path.loss / 4.0, ..path };
    let workload = workload(&mut random);
    let (server, client) = (config(&mut random), config(&mut random));
    Case { number, path, workload, server, client }
}

/// Sizes are small: with a window of one packet each of 76 bytes takes a round trip.
fn workload(random: &mut RandomStream) -> Workload {
    if random.uniform() < 0.5 {
        return download(1 + (random.uniform() * 40_000.0) as u64);
    }
    Workload::RequestResponse {
        count: pick(random, &[1, 2, 10]),
        request: bytes(pick(random, &[1, 300, 9_000])),
        response: bytes(pick(random, &[1, 536, 2_000, 20_000])),
        pause: Duration::from_millis(pick(random, &[0, 1, 300, 5_000])),
    }
}

fn pacing(random: &mut RandomStream, bbr: bool) -> Pacing {
    let rate = Some(DataRate::from_bits_per_second(100_000));
    let factor = pick(random, &[0.1, 1.25, 10.0]);
    let burst_packets = pick(random, &[1, 10, u32::MAX]);
    let kinds = [
        Pacing::leaky_bucket(factor, burst_packets),
        Pacing::Even { factor },
        Pacing::Quantum { factor, burst_packets, quantum: Duration::from_millis(2) },
        Pacing::Linux { max_rate: None },
        Pacing::Linux { max_rate: rate },
        Pacing::Fq { max_rate: None },
        Pacing::Fq { max_rate: rate },
        Pacing::None,
    ];
    pick(random, &kinds[..if bbr { 7 } else { 8 }])
}

fn config(random: &mut RandomStream) -> EndpointConfig {
    use CongestionControl::{BbrChromium, BbrLinux, BbrPicoquic, Cubic, Fixed, Newreno};
    let control = pick(random, &[Newreno, Cubic, Fixed, Fixed, BbrLinux, BbrChromium, BbrPicoquic]);
    let windowed = matches!(control, Newreno | Cubic);
    let bbr = !windowed && control != Fixed;
    let exit = pick(
        random,
        &[SlowStartExit::HystartLinux, SlowStartExit::HystartChromium, SlowStartExit::HystartPlusPlus],
    );
    let mss = pick(random, &[88, 536, 1460, 9_148]);
    let receive = pick(random, &[4_096, 4_097, 8_192, 20_000, 131_072, 65_535 << 14]);
    let connections = pick(random, &[1, 2, 300, u32::MAX]);
    let window = pick(random, &[mss, 2 * mss, 10 * mss, 1 << 20]);
    let flag = |random: &mut RandomStream| random.uniform() < 0.7;
    let sack = flag(random);
    let detections =
        [TcpLossDetection::Rack, TcpLossDetection::DuplicateAcks, TcpLossDetection::DuplicateAcksAndRack];
    let detection = pick(random, &detections);
    let reductions = [RateReduction::PrrSafeAck, RateReduction::Prr, RateReduction::None];
    let delay = pick(random, &[0, 1, 40, 200]);
    EndpointConfig {
        congestion_control: Some(control),
        emulated_connections: windowed.then_some(connections),
        slow_start_exit: windowed.then_some(exit),
        initial_window: flag(random).then_some(bytes(window)),
        pacing: Some(pacing(random, bbr)),
        tcp: Some(TcpOptions {
            mss: Some(bytes(mss)),
            timestamps: Some(flag(random)),
            sack: Some(sack),
            dsack: Some(flag(random) && sack),
            window_scaling: Some(flag(random)),
            receive_buffer: Some(bytes(receive)),
            max_receive_buffer: Some(bytes(pick(random, &[receive, receive.max(6_291_456)]))),
            max_send_buffer: Some(bytes(pick(random, &[4_096, 16_384, 65_535 << 14]))),
            min_rto: Some(Duration::from_millis(pick(random, &[1, 200, 5_000]))),
            reordering: Some(pick(random, &[3, 3, 100])),
            tail_loss_probe: Some(flag(random) && sack),
            frto: Some(flag(random)),
            undo: Some(flag(random)),
            restart_after_idle: Some(flag(random)),
            loss_detection: Some(detection).filter(|_| sack),
            rate_reduction: Some(pick(random, &reductions)),
            min_delayed_ack: Some(Duration::from_millis(delay)),
            max_delayed_ack: Some(Duration::from_millis(pick(random, &[delay, 500]))),
            quick_acks: Some(pick(random, &[0, 16, u32::MAX])),
            compressed_acks: Some(pick(random, &[0, 44, u32::MAX])),
            compressed_ack_delay: Some(Duration::from_millis(pick(random, &[0, 1, 100]))),
            gso_segments: Some(pick(random, &[1, 2, 16, 65_535])),
            ..TcpOptions::default()
        }),
        ..Case::plain_config()
    }
}
