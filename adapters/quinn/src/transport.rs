//! Options of quinn's transport.

use clap::{Args, ValueEnum};
use quinn::congestion::{CubicConfig, NewRenoConfig};
use quinn::{TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

/// Largest count of requests, each a stream.
const STREAMS: u32 = 100_000;

/// Congestion controls of quinn.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CongestionControl {
    Newreno,
    Cubic,
}

/// Options of both ends; what is left out has quinn's default.
#[derive(Args, Clone, Debug)]
pub struct TransportArguments {
    /// Congestion control.
    #[arg(long)]
    congestion_control: CongestionControl,
    /// Initial congestion window in bytes.
    #[arg(long)]
    initial_window: Option<u64>,
    /// UDP payload in bytes, from the start and for good; without it, 1200 and path MTU discovery.
    #[arg(long)]
    datagram_size: Option<u16>,
    /// RTT assumed before the first sample, in milliseconds.
    #[arg(long)]
    initial_rtt: Option<u64>,
    /// Packets of reordering before one is declared lost.
    #[arg(long)]
    packet_threshold: Option<u32>,
    /// Multiple of the RTT before a packet is declared lost.
    #[arg(long)]
    time_threshold: Option<f32>,
    /// Flow-control window of each stream in bytes.
    #[arg(long)]
    stream_receive_window: Option<u32>,
    /// Flow-control window of the connection in bytes.
    #[arg(long)]
    connection_receive_window: Option<u32>,
    /// Most bytes sent and not acknowledged.
    #[arg(long)]
    send_window: Option<u64>,
}

impl TransportArguments {
    /// quinn's configuration.
    pub fn config(&self) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        config.max_concurrent_bidi_streams(VarInt::from_u32(STREAMS)).max_idle_timeout(None);
        match self.congestion_control {
            CongestionControl::Newreno => {
                let mut control = NewRenoConfig::default();
                self.initial_window.map(|window| control.initial_window(window));
                config.congestion_controller_factory(Arc::new(control));
            }
            CongestionControl::Cubic => {
                let mut control = CubicConfig::default();
                self.initial_window.map(|window| control.initial_window(window));
                config.congestion_controller_factory(Arc::new(control));
            }
        }
        if let Some(size) = self.datagram_size {
            config.initial_mtu(size).min_mtu(size).mtu_discovery_config(None);
        }
        if let Some(rtt) = self.initial_rtt {
            config.initial_rtt(Duration::from_millis(rtt));
        }
        if let Some(threshold) = self.packet_threshold {
            config.packet_threshold(threshold);
        }
        if let Some(threshold) = self.time_threshold {
            config.time_threshold(threshold);
        }
        if let Some(window) = self.stream_receive_window {
            config.stream_receive_window(VarInt::from_u32(window));
        }
        if let Some(window) = self.connection_receive_window {
            config.receive_window(VarInt::from_u32(window));
        }
        if let Some(window) = self.send_window {
            config.send_window(window);
        }
        Arc::new(config)
    }
}
