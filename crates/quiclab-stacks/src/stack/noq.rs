//! noq: `noq-proto` 1.4, a fork of quinn with Multipath QUIC (draft-ietf-quic-multipath-21), behind
//! [`Stack`](crate::library::Stack), where it differs from quinn. Without the option `multipath` the
//! connection is that of RFC 9000, on path 0; with it, `paths` opens, ranks and closes paths as an
//! application of noq does.

use super::{family, paths::Paths};
use crate::controller::{InFlightCounter, mirrored};
use crate::crypto_observer::observed_crypto;
use crate::lab_controller::lab_controller;
use crate::library::{SeededIds, Snapshot};
use adapter::Adapter;
use bytes::{Bytes, BytesMut};
use noq_proto as proto;
use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
use noq_proto::{
    Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId, SendStream,
    ServerConfig, Transmit,
};
use quiclab_core::{OptionInfo, Problem, RecoveryState, StackAbilities, StackInfo};
use quiclab_transport::{EndpointRequest, NativeStack, options};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

#[path = "adapter.rs"]
#[allow(clippy::duplicate_mod, reason = "the types of the two libraries differ, and their names do not")]
mod adapter;

const NAME: &str = "noq";
/// Name of the library as a Rust crate.
#[cfg(test)]
const MODULE: &str = "noq_proto";

static INFO: LazyLock<StackInfo> = LazyLock::new(|| {
    let own = [
        OptionInfo::option(
            "multipath",
            String::leak(options::EndpointConfig::meaning("multipath")),
            "none: one path",
            family::TRANSPORT,
        ),
        OptionInfo::fixed(
            "scheduler of several paths, acknowledgements on them",
            "the first path by ID that is available and has room; backup paths only if no path is available, however long it \
             has not answered; all acknowledgements on the first that is available",
            "connection/mod.rs scheduling_info, poll_transmit",
        ),
        OptionInfo::fixed(
            "pacer",
            "1.25 cwnd per smoothed RTT, bursts of 2 ms but 10 to 256 datagrams, of 10 ms at most",
            "connection/pacing.rs",
        ),
        OptionInfo::fixed(
            "spurious loss, with its own congestion control",
            "undone by cubic, not by newreno",
            "congestion/new_reno.rs, congestion/cubic.rs",
        ),
        OptionInfo::fixed(
            "slow start of the stack's own congestion control",
            "without HyStart",
            "congestion/new_reno.rs, congestion/cubic.rs",
        ),
        OptionInfo::fixed(
            "pacing with quiclab's congestion control",
            "at the rate and in the bursts that the control asks for, as BBR does, else as with its own",
            "congestion.rs, connection/pacing.rs",
        ),
    ];
    family::info(
        NAME,
        "1.4.0",
        "noq-proto, a fork of quinn-proto with Multipath QUIC (draft 21); on several paths with `multipath`",
        &own,
        [true, true],
    )
});

/// Entry of noq in the catalogue.
pub(crate) struct NoqStack;

impl NativeStack for NoqStack {
    fn info(&self) -> &'static StackInfo {
        &INFO
    }

    fn validate(&self, config: &options::EndpointConfig) -> Result<StackAbilities, Problem> {
        family::validate(&INFO, config)
    }

    fn instead(&self, option: &str) -> &'static str {
        family::instead(option)
    }

    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn quiclab_core::Endpoint>, Problem> {
        family::build(&INFO, request, Adapter::new)
    }
}

// packets are shown with their path; carriers use path 0 only
observed_crypto!(noq_proto, connection ID ConnectionId, receiver &Self, path path_id: noq_proto::PathId);

mirrored! {
    noq_proto,

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.gauge.add_in_flight(u64::from(bytes));
        self.inner.on_packet_sent(now, bytes, number);
    }
    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }
    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        number: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.gauge.min_rtt(rtt.min());
        self.inner.on_ack(now, sent, bytes, number, app_limited, rtt);
    }
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        ecn: bool,
        lost_bytes: u64,
        largest_lost: u64,
    ) {
        self.congestion(now, sent, lost_bytes);
        self.inner.on_congestion_event(now, sent, persistent, ecn, lost_bytes, largest_lost);
    }
    fn on_packet_lost(&mut self, bytes: u16, number: u64, now: Instant) {
        self.inner.on_packet_lost(bytes, number, now);
    }
    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }
    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: std::time::Duration) {
        self.inner.on_ack_frequency_update(threshold, max_ack_delay);
    }
}

lab_controller! {
    noq_proto,
    // bytes/s; the pacer follows both
    |lab, metrics| {
        metrics.pacing_rate = lab.controller.pacing_rate().map(|rate| rate.bits_per_second() / 8);
        metrics.send_quantum = lab.controller.send_quantum();
    },

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, _: u64) {
        self.sent(now, u64::from(bytes));
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: u64, _: bool, rtt: &RttEstimator) {
        self.acknowledged(now, sent, bytes, rtt.get());
    }
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        _: bool,
        lost_bytes: u64,
        _: u64,
    ) {
        self.lab().on_congestion(now, sent, persistent, lost_bytes);
    }
    fn on_spurious_congestion_event(&mut self) {
        self.lab().on_spurious();
    }
}

fn set_id_generator(config: &mut EndpointConfig, ids: SeededIds) {
    config.cid_generator(Arc::new(move || Box::new(ids.clone())));
}

fn token_key(_secret: &[u8]) -> Arc<dyn HandshakeTokenKey> {
    Arc::new(NoTokenLog)
}

fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, false)
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    tuple: FourTuple,
    ecn: Option<EcnCodepoint>,
    datagram: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, tuple, ecn, datagram, answer)
}

/// Transmits a datagram; the congestion controller counts the bytes in flight.
fn transmit(
    connection: &mut Connection,
    now: Instant,
    datagram: &mut Vec<u8>,
    _gauge: &InFlightCounter,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, datagram)
}

/// Writes `data` and returns the number of bytes taken; 0 if the stream is blocked, or stopped by the peer.
fn write(mut stream: SendStream<'_>, data: Bytes) -> usize {
    stream.write_chunks(&mut &mut [data][..]).unwrap_or(0)
}

fn snapshot(connection: &mut Connection, gauge: &InFlightCounter) -> Snapshot {
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
            spurious_losses: None, // it counts spurious congestion events, not packets
            congestion_events: gauge.congestion_events(),
        },
        packets_sent: stats.sent_packets,
        datagrams_received: stats.udp_rx.datagrams,
        lost_bytes: stats.lost_bytes,
        ack_frames_sent: stats.frame_tx.acks,
        ack_frames_received: stats.frame_rx.acks,
    }
}

/// Token log that neither issues nor accepts address-validation tokens: no Retry, no NEW_TOKEN.
struct NoTokenLog;

impl HandshakeTokenKey for NoTokenLog {
    fn seal(&self, _nonce: u128, _data: &mut Vec<u8>) -> Result<(), CryptoError> {
        Err(CryptoError)
    }
    fn open<'a>(&self, _nonce: u128, _data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        Err(CryptoError)
    }
}
