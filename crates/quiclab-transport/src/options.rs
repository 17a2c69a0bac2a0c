//! Options of endpoints: the types that scenarios, the VPN and Python share. Each option is defined here once, or
//! with the mechanism that it configures.

mod control;
mod endpoint;
mod multipath;
mod quic;
pub(crate) mod table;
mod tcp;
mod tls;
mod workload;

pub use crate::acknowledgement::{Acknowledgement, TcpAckRule};
pub use crate::congestion::{
    BbrConstants, CongestionControl, CubicConstants, NewRenoConstants, SavedPath, SlowStartExit,
};
pub use crate::pacing::Pacing;
pub use crate::recovery::rtt::RttVariation;
pub use control::check as check_control;
pub(crate) use control::{Control, check_ecn_beta};
pub(crate) use endpoint::Http2Values;
pub use endpoint::{AckFrequency, Controller, EndpointConfig, Http2Options};
pub use multipath::{AckPath, Multipath, PathAction, PathChange, PathPlan, PathStatus, PlannedPath};
pub(crate) use quic::QuicValues;
pub use quic::{FlowControl, QuicOptions, QuicVersion, StreamScheduler};
pub(crate) use table::values;
pub(crate) use tcp::TcpValues;
pub use tcp::{RateReduction, TcpEcn, TcpLossDetection, TcpMetrics, TcpOptions};
pub use tls::{EarlyData, Tls, TlsVersion};
pub use workload::{
    LiveDelivery, MAX_ORIGINS, MediaControl, ObjectKind, PageObjects, PageResource, PingProtocol, Priorities,
    Workload,
};
