//! Options of endpoints: the types that scenarios, the VPN and Python share. Each option is defined here once, or
//! with the mechanism that it configures.

mod endpoint;
mod quic;
mod tcp;
mod tls;
mod workload;

pub use crate::acknowledgement::Acknowledgement;
pub use crate::congestion::{CongestionControl, SlowStartExit};
pub use crate::pacing::Pacing;
pub use crate::recovery::rtt::RttVariation;
pub use endpoint::{AckFrequency, Controller, EndpointConfig, Http2Options};
pub use quic::{FlowControl, QuicOptions, QuicVersion, StreamScheduler};
pub use tcp::{RateReduction, TcpLossDetection, TcpMetrics, TcpOptions};
pub use tls::{EarlyData, Tls, TlsVersion};
pub use workload::{MOST_ORIGINS, ObjectKind, PageObjects, PageResource, PingProtocol, Priorities, Workload};
