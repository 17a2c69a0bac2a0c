//! quinn: `quinn-proto` 0.11 behind [`Stack`](crate::library::Stack), where it differs from noq.

use super::family;
use crate::controller::{InFlightCounter, mirrored};
use crate::crypto_observer::observed_crypto;
use crate::lab_controller::lab_controller;
use crate::library::{Parts, SeededIds, Snapshot};
use adapter::Adapter;
use bytes::{Bytes, BytesMut};
use quiclab_core::{OptionInfo, Problem, RecoveryState, StackAbilities, StackInfo};
use quiclab_transport::{EndpointRequest, NativeStack, options};
use quinn_proto as proto;
use quinn_proto::crypto::HandshakeTokenKey;
use quinn_proto::{
    Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event, FrameStats, SendStream,
    ServerConfig, Transmit, TransportConfig,
};
use ring::hkdf;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

#[path = "adapter.rs"]
#[allow(clippy::duplicate_mod, reason = "the types of the two libraries differ, and their names do not")]
mod adapter;

const NAME: &str = "quinn";
/// Name of the library as a Rust crate.
#[cfg(test)]
const MODULE: &str = "quinn_proto";

static INFO: LazyLock<StackInfo> = LazyLock::new(|| {
    let own = [
        OptionInfo::fixed(
            "pacer",
            "1.25 cwnd per smoothed RTT, bursts of 2 ms but 10 to 256 datagrams",
            "connection/pacing.rs",
        ),
        OptionInfo::fixed(
            "spurious loss, with its own congestion control",
            "not undone",
            "congestion/new_reno.rs, congestion/cubic.rs",
        ),
        OptionInfo::fixed(
            "slow start of the stack's own congestion control",
            "without HyStart",
            "congestion/new_reno.rs, congestion/cubic.rs",
        ),
        OptionInfo::fixed(
            "pacing with quiclab's congestion control",
            "as with its own: a rate that the control asks for, as BBR does, is ignored",
            "congestion.rs, connection/pacing.rs",
        ),
    ];
    family::info(
        NAME,
        "0.11.19",
        "quinn-proto, the QUIC implementation in Rust that quinn runs on tokio; here in virtual time",
        &own,
        [false, false],
    )
});

/// Entry of quinn in the catalogue.
pub(crate) struct QuinnStack;

impl NativeStack for QuinnStack {
    fn info(&self) -> &'static StackInfo {
        &INFO
    }

    fn validate(&self, config: &options::EndpointConfig) -> Result<StackAbilities, Problem> {
        family::validate(&INFO, config)
    }

    fn warning(&self, config: &options::EndpointConfig) -> Option<String> {
        let control = config.congestion_control.filter(|control| control.family().paces());
        let start = config.slow_start_exit.filter(|exit| *exit == options::SlowStartExit::RapidStart);
        let name = control.map(|control| control.name()).or(start.map(|_| "rapid-start"))?;
        Some(format!(
            "quinn ignores the rate that `{name}` asks for: it paces at 1.25 windows per smoothed RTT"
        ))
    }

    fn instead(&self, option: &str) -> &'static str {
        family::instead(option)
    }

    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn quiclab_core::Endpoint>, Problem> {
        family::build(&INFO, request, Adapter::new)
    }
}

observed_crypto!(quinn_proto, connection ID &ConnectionId, receiver Arc<Self>, path);

mirrored! {
    quinn_proto,

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        self.congestion(now, sent, lost_bytes);
        self.inner.on_congestion_event(now, sent, persistent, lost_bytes);
    }
}

lab_controller! {
    quinn_proto,
    // no rate: the pacer would not follow it
    |lab, metrics| {},

    // `on_sent` does not report which packets count as in flight: `InFlightCounter::sent` calls
    // `LabController::sent`
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        self.acknowledged(now, sent, bytes, rtt.get());
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        self.lab().on_congestion(now, sent, persistent, lost_bytes);
    }
}

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

/// Paths of a connection: quinn has one.
struct Paths;

impl Paths {
    fn new(_parts: &Parts) -> Self {
        Self
    }

    fn configure(_config: &mut TransportConfig, _multipath: &options::Multipath) {
        unreachable!("the catalogue has no such option of quinn");
    }

    fn tuple(&self, remote: SocketAddr, _path: u8) -> SocketAddr {
        remote
    }

    fn of(&self, _transmit: &Transmit) -> u8 {
        0
    }

    fn on_event(&mut self, _connection: &mut Connection, _event: &Event) {}

    fn manage(&mut self, _connection: &mut Connection, _now: Instant) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

fn transmit(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
    gauge: &InFlightCounter,
) -> Option<Transmit> {
    let transmit = connection.poll_transmit(now, 1, datagram)?;
    gauge.sent(now, transmit.size as u64, eliciting_frames(&connection.stats().frame_tx));
    Some(transmit)
}

/// Writes `data` and returns the number of bytes taken; 0 if the stream is blocked, or stopped by the peer.
fn write(mut stream: SendStream<'_>, data: Bytes) -> usize {
    stream.write_chunks(&mut [data]).map_or(0, |written| written.bytes)
}

fn snapshot(connection: &mut Connection, gauge: &InFlightCounter) -> Snapshot {
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

/// Number of frames other than ACK and CONNECTION_CLOSE (quinn does not count PADDING).
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
