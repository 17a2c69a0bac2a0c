//! noq: `noq-proto` 1.4, a fork of quinn with Multipath QUIC (draft-ietf-quic-multipath-21), behind
//! [`Stack`](super::Stack), as far as it differs from quinn. Several paths stay off: the connection
//! is that of RFC 9000, on path 0.

use super::{SeededIds, Snapshot, adapter::adapter};
use crate::controller::Gauge;
use bytes::{Bytes, BytesMut};
use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
use noq_proto::{
    Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId, SendStream,
    ServerConfig, Transmit,
};
use quiclab_core::RecoveryState;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

adapter!(
    /// One end of a noq connection.
    Noq, noq, noq_proto
);

fn set_id_generator(config: &mut EndpointConfig, ids: SeededIds) {
    config.cid_generator(Arc::new(move || Box::new(ids.clone())));
}

fn token_key(_secret: &[u8]) -> Arc<dyn HandshakeTokenKey> {
    Arc::new(NoTokens)
}

fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, false)
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    datagram: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::from_remote(remote), ecn, datagram, answer)
}

/// The congestion controller adds what is in flight.
fn transmit(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
    _gauge: &Gauge,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, datagram)
}

/// Returns 0 if the stream is blocked, or stopped by the peer.
fn write(mut stream: SendStream<'_>, data: Bytes) -> usize {
    stream.write_chunks(&mut &mut [data][..]).unwrap_or(0)
}

fn snapshot(connection: &mut Connection, gauge: &Gauge) -> Snapshot {
    let stats = connection.stats();
    let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
    let metrics = connection.congestion_state(PathId::ZERO).map(|controller| controller.metrics());
    let srtt_ns = gauge.sampled().then_some(path.rtt.as_nanos() as u64);
    let metrics = metrics.unwrap_or_default();
    let ssthresh_bytes = metrics.ssthresh.filter(|&ssthresh| ssthresh != u64::MAX);
    Snapshot {
        recovery: RecoveryState {
            cwnd_bytes: path.cwnd,
            ssthresh_bytes,
            in_flight_bytes: Some(gauge.in_flight()),
            srtt_ns,
            min_rtt_ns: gauge.min_rtt_ns().or(srtt_ns),
            pacing_rate_bps: metrics.pacing_rate.map(|bytes_per_second| bytes_per_second.saturating_mul(8)),
            phase: Some(gauge.phase(path.cwnd, ssthresh_bytes)),
            lost_packets: stats.lost_packets,
            spurious_losses: None, // it counts congestion events that were, not packets
            congestion_events: gauge.congestion_events(),
        },
        packets_sent: stats.sent_packets,
        datagrams_received: stats.udp_rx.datagrams,
        lost_bytes: stats.lost_bytes,
        ack_frames_sent: stats.frame_tx.acks,
        ack_frames_received: stats.frame_rx.acks,
    }
}

/// Address-validation tokens are neither issued nor accepted: no Retry, no NEW_TOKEN.
struct NoTokens;

impl HandshakeTokenKey for NoTokens {
    fn seal(&self, _nonce: u128, _data: &mut Vec<u8>) -> Result<(), CryptoError> {
        Err(CryptoError)
    }
    fn open<'a>(&self, _nonce: u128, _data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        Err(CryptoError)
    }
}
