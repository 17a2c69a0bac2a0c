//! quinn: `quinn-proto` 0.11 behind [`Stack`](super::Stack), as far as it differs from noq.

use super::{SeededIds, Snapshot, adapter::adapter};
use crate::controller::Gauge;
use bytes::{Bytes, BytesMut};
use quiclab_core::RecoveryState;
use quinn_proto::crypto::HandshakeTokenKey;
use quinn_proto::{
    Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FrameStats, SendStream, ServerConfig,
    Transmit,
};
use ring::hkdf;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

adapter!(
    /// One end of a quinn connection.
    Quinn, quinn, quinn_proto
);

fn set_id_generator(config: &mut EndpointConfig, ids: SeededIds) {
    config.cid_generator(move || Box::new(ids.clone()));
}

fn token_key(secret: &[u8]) -> Arc<dyn HandshakeTokenKey> {
    Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(secret))
}

fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, false, None)
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    datagram: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, remote, None, ecn, datagram, answer)
}

fn transmit(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
    gauge: &Gauge,
) -> Option<Transmit> {
    let transmit = connection.poll_transmit(now, 1, datagram)?;
    gauge.sent(now, transmit.size as u64, eliciting_frames(&connection.stats().frame_tx));
    Some(transmit)
}

/// Returns 0 if the stream is blocked, or stopped by the peer.
fn write(mut stream: SendStream<'_>, data: Bytes) -> usize {
    stream.write_chunks(&mut [data]).map_or(0, |written| written.bytes)
}

fn snapshot(connection: &mut Connection, gauge: &Gauge) -> Snapshot {
    let stats = connection.stats();
    let sampled = |duration: Duration| gauge.sampled().then_some(duration.as_nanos() as u64);
    let metrics = connection.congestion_state().metrics();
    let cwnd_bytes = metrics.congestion_window;
    let ssthresh_bytes = metrics.ssthresh.filter(|&ssthresh| ssthresh != u64::MAX);
    Snapshot {
        recovery: RecoveryState {
            cwnd_bytes,
            ssthresh_bytes,
            in_flight_bytes: Some(gauge.in_flight()),
            srtt_ns: sampled(stats.path.rtt),
            min_rtt_ns: sampled(stats.path.min_rtt),
            pacing_rate_bps: metrics.pacing_rate, // bit/s here
            phase: Some(gauge.phase(cwnd_bytes, ssthresh_bytes)),
            lost_packets: stats.path.lost_packets,
            spurious_losses: None,
            congestion_events: gauge.congestion_events(),
        },
        packets_sent: stats.path.sent_packets,
        datagrams_received: stats.udp_rx.datagrams,
        lost_bytes: stats.path.lost_bytes,
        ack_frames_sent: stats.frame_tx.acks,
        ack_frames_received: stats.frame_rx.acks,
    }
}

/// Frames other than ACK and CONNECTION_CLOSE (quinn does not count PADDING).
fn eliciting_frames(frames: &FrameStats) -> u64 {
    frames.stream
        + frames.crypto
        + frames.max_data
        + frames.max_stream_data
        + frames.ping
        + frames.immediate_ack
        + frames.ack_frequency
        + frames.new_connection_id
        + frames.retire_connection_id
        + frames.reset_stream
        + frames.stop_sending
        + frames.data_blocked
        + frames.stream_data_blocked
        + frames.streams_blocked_bidi
        + frames.streams_blocked_uni
        + frames.max_streams_bidi
        + frames.max_streams_uni
        + frames.new_token
        + frames.path_challenge
        + frames.path_response
        + frames.datagram
        + u64::from(frames.handshake_done)
}
